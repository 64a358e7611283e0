"""The last lesson: whether a conflict matters. It asks for a share of time that was measured on an H200."""

from itertools import pairwise
from typing import NamedTuple

from smemviz.errors import RecordingError
from smemviz.figures.drawing.style import ThemeName
from smemviz.figures.lessons import Bar, lesson_bars
from smemviz.i18n import N_, _
from smemviz.lessons.lesson import Knob, Lesson, Option, Panel, Question, Stage, Text, Values
from smemviz.lessons.scenes import by_recording, code_of, recorded
from smemviz.recordings.data import Launch
from smemviz.recordings.measured import Timing
from smemviz.recordings.recording import Recording
from smemviz.wording.impact import clock_mhz
from smemviz.wording.labels import duration, percent

# Of each file a kernel with conflicts, and one that does the same without.
_PAIRS = {
    "square": ("set_row_read_col", "set_row_read_col_pad"),
    "transpose": ("tile", "padded_tile"),
    "rectangle": ("set_row_read_col", "set_row_read_col_pad"),
    "reduce": ("neighbours_by_close_threads", "halves"),
}
_LIMITS = (0, 5, 20, 50, 100)  # percent, between the answers that are offered


class _Timed(NamedTuple):
    launch: Launch
    time: Timing
    mhz: float


def _timed(recording: Recording, kernel: str) -> _Timed:
    launch = recording[kernel]
    mhz = clock_mhz(launch.time) if launch.time else None
    if launch.time is None or mhz is None:
        raise RecordingError(f"{recording.file}: the time of {kernel} is not in the recording")
    return _Timed(launch, launch.time, mhz)


def _answer(share: float) -> str:
    """Return the option that a share of the time belongs to, by its lower limit."""
    return str(max(limit for limit in _LIMITS[:-1] if 100 * share >= limit))


def _option(low: int, high: int) -> Option:
    if low == 0:
        return Option(str(low), _("under {limit} %", limit=high))
    if high == 100:
        return Option(str(low), _("over {limit} %", limit=low))
    return Option(str(low), _("{low} to {high} %", low=low, high=high))


def _saved(values: Values) -> Stage:
    recording = recorded(values["FILE"])
    slow, fast = (_timed(recording, kernel) for kernel in _PAIRS[values["FILE"]])
    blocks = slow.launch.grid[0] * slow.launch.grid[1] * slow.launch.grid[2]
    excess = sum(row.excess or 0 for row in slow.launch.summary()) // blocks
    before_us, after_us = slow.time.median_us, fast.time.median_us
    lost_us = excess / slow.mhz
    right = _answer(1 - after_us / before_us)

    def hint(answer: str) -> str:
        if int(answer) > int(right):
            return _("A cycle for each excess wavefront: {excess:,} at {mhz:,.0f} MHz are {lost}. The rest of {time} "
                     "is the launch and the way to global memory, which remain.", excess=excess, mhz=slow.mhz,
                     lost=duration(lost_us), time=duration(before_us))  # fmt: skip
        return _("A cycle for each excess wavefront: {excess:,} at {mhz:,.0f} MHz are {lost}. Which part of {time} "
                 "is that?", excess=excess, mhz=slow.mhz, lost=duration(lost_us), time=duration(before_us))  # fmt: skip

    because = _("{fast} took {after}, {share} less. {excess:,} cycles at {mhz:,.0f} MHz are {lost}, {most} of "
                "{before}. An empty kernel takes {floor}; most of the rest is latency.",
                fast=fast.launch.kernel, after=duration(after_us), share=percent(1 - after_us / before_us),
                excess=excess, mhz=slow.mhz, lost=duration(lost_us), most=percent(lost_us / before_us),
                before=duration(before_us), floor=duration(slow.time.floor_us))  # fmt: skip
    gpu = recording.device.name if recording.device else ""
    question = _("On an {gpu}, {kernel} took {time}. Each block has a multiprocessor of its own and {excess:,} "
                 "excess wavefronts; a wavefront takes a cycle, at {mhz:,.0f} MHz. {fast} does the same without a "
                 "conflict. How much less time did it take?", gpu=gpu, kernel=slow.launch.kernel,
                 time=duration(before_us), excess=excess, mhz=slow.mhz, fast=fast.launch.kernel)  # fmt: skip

    def panels(theme: ThemeName) -> tuple[Panel, ...]:
        bars = [
            Bar(slow.launch.kernel, round(1000 * before_us)),
            Bar(fast.launch.kernel, round(1000 * after_us), answers=True),
            Bar(_("an empty kernel"), round(1000 * slow.time.floor_us)),
        ]
        figure = lesson_bars(bars, "", _("time in ns"), because, theme=theme)
        return (Panel(_("Measured times"), figure, because),)

    return Stage(
        Question("choice", question, tuple(_option(*limits) for limits in pairwise(_LIMITS))), frozenset([right]),
        hint, because, by_recording(recording), panels, lambda theme: code_of(recording, slow.launch, theme),
    )  # fmt: skip


MATTER = Lesson(
    "matter",
    N_("Does it matter?"),
    N_("Estimate from its excess how much time a conflict can cost."),
    7,
    (
        Text(N_("A wavefront takes a cycle of shared memory. So the wavefronts in excess say how much time conflicts "
                "can cost at most. They cost it only where a kernel waits for shared memory.")),
        Text(N_("The rest of the time stays: the launch, the wait for global memory, the arithmetic. Compare before "
                "you optimize: excess in cycles with the time of the kernel.")),
    ),
    (Knob("FILE", tuple(_PAIRS), "square", N_("Kernel file")),),
    _saved,
    ({}, {"FILE": "rectangle"}, {"FILE": "reduce"}),
    ("50", "5", "0"),
    "file=square&kernel=set_row_read_col",
    builds_on=("padding", "occupancy"),
)  # fmt: skip
