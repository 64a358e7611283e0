"""The lessons in their order, and the kernels to fix after some of them: slow or wrong, and what each may cost then."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from smemviz.errors import InputError
from smemviz.i18n import N_
from smemviz.lessons.banks import BANK, COLUMN, ROW, SHARED_WORD
from smemviz.lessons.barriers import BARRIER, RACE, REUSE
from smemviz.lessons.hardware import COMPILER, OCCUPANCY
from smemviz.lessons.impact import MATTER
from smemviz.lessons.lesson import Lesson
from smemviz.lessons.mapping import REDUCTION, SWIZZLE
from smemviz.lessons.pads import BY_HAND, PADDING, RECTANGLE
from smemviz.lessons.start import LANES, WHY
from smemviz.lessons.tensor_copies import TENSOR_COPIES
from smemviz.lessons.traffic import SECTORS, TILES
from smemviz.lessons.triton_tiles import TRITON
from smemviz.paths import kernels_dir

CHAPTERS = (
    (N_("Banks and conflicts"), (WHY, LANES, BANK, ROW, COLUMN, SHARED_WORD)),
    (N_("Pads"), (PADDING, RECTANGLE, BY_HAND)),
    (N_("Swizzles"), (SWIZZLE, TRITON, TENSOR_COPIES)),
    (N_("Barriers"), (BARRIER, RACE, REDUCTION)),
    (N_("Global memory and tiles"), (SECTORS, TILES, REUSE)),
    (N_("What it costs"), (COMPILER, OCCUPANCY, MATTER)),
)
LESSONS = tuple(lesson for _chapter, lessons in CHAPTERS for lesson in lessons)


def lesson_of(name: str) -> Lesson:
    """Return a lesson by its slug, or by its number from 1.

    Raises:
        InputError: when there is none.
    """
    by_name = {lesson.slug: lesson for lesson in LESSONS} | {str(i): lesson for i, lesson in enumerate(LESSONS, 1)}
    if name not in by_name:
        names = ", ".join(f"{i} {lesson.slug}" for i, lesson in enumerate(LESSONS, 1))
        raise InputError(f"no lesson {name!r}; there are {names}")
    return by_name[name]


@dataclass(frozen=True)
class Task:
    """A kernel to fix, after the lesson of its slug.

    ``goal`` is a message that says what is asked; ``budget`` has the limits of a ``smem_budget``, and ``shared_bytes``
    is the most shared memory that a block may take, None for any.
    """

    slug: str
    kernel: str
    goal: str
    budget: Mapping[str, float]
    shared_bytes: int | None = None

    @cached_property
    def source(self) -> str:
        """The text that it begins with."""
        return (kernels_dir() / "tasks" / f"{self.slug}.py").read_text(encoding="utf-8")


TASKS = (
    Task(
        "padding",
        "transpose",
        N_(
            "No access to shared memory may have a conflict, and each access to global memory must move 4 sectors per "
            "request."
        ),
        {"findings": 0, "max_degree": 1, "sectors_per_request": 4},
    ),
    Task(
        "rectangles",
        "turn",
        N_("A pad of one word is not enough here. No access may take more wavefronts than necessary."),
        {"findings": 0, "excess": 0},
    ),
    Task(
        "swizzle",
        "transpose",
        N_("No conflict, 4 sectors per request, and no more shared memory than the tile itself: no pad."),
        {"findings": 0, "max_degree": 1, "sectors_per_request": 4},
        shared_bytes=4096,
    ),
    Task(
        "race",
        "stencil",
        N_("The result is right on most runs. Make it right on all of them, and keep the shared array."),
        {"findings": 0, "excess": 0},
    ),
    Task(
        "reduction",
        "add_up",
        N_("The same sums without a conflict."),
        {"findings": 0, "max_degree": 1},
    ),
)


def task_of(slug: str) -> Task:
    """Return the task after a lesson, by the lesson's slug.

    Raises:
        InputError: when there is none.
    """
    for task in TASKS:
        if task.slug == slug:
            return task
    raise InputError(f"no kernel to fix is called {slug!r}; there are {', '.join(task.slug for task in TASKS)}")
