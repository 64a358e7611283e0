"""The lessons in their order."""

from __future__ import annotations

from smemviz.errors import InputError
from smemviz.lessons.banks import BANK, COLUMN, ROW, SHARED_WORD
from smemviz.lessons.barriers import BARRIER, RACE
from smemviz.lessons.impact import COMPILER
from smemviz.lessons.lesson import Lesson
from smemviz.lessons.mapping import REDUCTION, SWIZZLE
from smemviz.lessons.pads import BY_HAND, PADDING, RECTANGLE
from smemviz.lessons.start import LANES, WHY
from smemviz.lessons.traffic import SECTORS, TILES

LESSONS = (
    *(WHY, LANES, SECTORS, BARRIER, RACE, TILES),
    *(BANK, ROW, COLUMN, SHARED_WORD, PADDING, RECTANGLE, BY_HAND, SWIZZLE, REDUCTION, COMPILER),
)


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
