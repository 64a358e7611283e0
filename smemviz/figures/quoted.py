"""Times that others published for the same products, each with its hardware, and ours beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from smemviz.figures.labels import duration
from smemviz.language import N_, _
from smemviz.model.matmul import Size
from smemviz.sweep_file import CUBLAS, LOOPS, Point, Sweep

RTX_3080 = N_("GeForce RTX 3080, kernel time by events")
V100 = N_("V100, start-up, allocation and copies included")
V100_AGAIN = N_("V100, allocation and copies included")
NOT_PRINTED = N_("no time published")
NOT_NAMED = N_("hardware not named")


@dataclass(frozen=True)
class Quoted:
    """A published time in milliseconds, None where only the work was described; ``kernel`` is ours for that work.

    ``note`` says what has to be known to compare the two. Texts are in English, to be translated where they are shown.
    """

    work: str
    size: Size
    kernel: str
    milliseconds: float | None
    hardware: str
    note: str = ""


_ONE = N_("One core of the authors' host; ours is three nested loops, compiled, on one core.")
_SECOND = N_(
    "Integers; allocation and copies included, start-up was paid by the run before: compare with ours with copies."
)
_FIRST = N_(
    "Integers; start-up, allocation and copies included: compare with ours from scratch, which is of float32. Theirs "
    "was the first of its run."
)
_512, _1024 = Size(512, 512, 512), Size(1024, 1024, 1024)
_ODD, _2000 = Size(228, 240, 112), Size(2000, 2000, 2000)

QUOTED = (
    Quoted(N_("on the host"), _512, LOOPS, None, NOT_NAMED),
    Quoted(N_("naive"), _512, "naive", None, NOT_NAMED),
    Quoted(N_("shared memory, with bounds"), _512, "tiled_any", None, NOT_NAMED),
    Quoted("cuBLAS sgemm", _512, CUBLAS, None, NOT_NAMED),
    Quoted(N_("on the host"), _1024, LOOPS, 3065.07, N_("the RTX 3080's host"), _ONE),
    Quoted(N_("naive"), _1024, "naive", 1.3591, RTX_3080),
    Quoted(N_("tiled for any size"), _1024, "tiled_any", 0.994368, RTX_3080),
    Quoted(N_("on the host"), _ODD, LOOPS, 3.40378, N_("the RTX 3080's host"), _ONE),
    Quoted(N_("naive"), _ODD, "naive", 0.028288, RTX_3080),
    Quoted(N_("tiled for any size"), _ODD, "tiled_any", 0.019456, RTX_3080),
    Quoted(N_("on the host"), _2000, LOOPS, 23042.4, N_("the V100's host"), _ONE),
    Quoted(N_("naive"), _2000, "naive", 432.435, V100, _FIRST),
    Quoted(N_("integers by tiles"), _2000, "tiled_integer", 25.7345, V100_AGAIN, _SECOND),
)  # fmt: skip

FAILED_LAUNCH = N_(
    "The same V100 program printed 345.838 ms for the naive product when its launch had failed with an invalid "
    "configuration: so much of its 432.435 ms is start-up and copies, and no kernel time."
)


@dataclass(frozen=True)
class Beside:
    """A published time and ours for the same work: the kernel, with copies, and from scratch, each as text.

    ``skipped`` says, in English as it was recorded, why ours was not measured.
    """

    quoted: Quoted
    published: str
    kernel: str
    copies: str
    scratch: str
    skipped: str = ""


def beside(sweep: Sweep | None, tile: int) -> tuple[Beside, ...]:
    """Put our times beside the published ones, measured with tiles of ``tile``."""
    found: dict[tuple[str, Size], Point] = {}
    for point in sweep.points if sweep else ():
        if point.tile in (None, tile):
            found[point.kernel, point.size] = point
    return tuple(_beside(quoted, found, sweep) for quoted in QUOTED)


def _beside(quoted: Quoted, found: Mapping[tuple[str, Size], Point], sweep: Sweep | None) -> Beside:
    published = _(NOT_PRINTED) if quoted.milliseconds is None else duration(quoted.milliseconds * 1000)
    point = found.get((quoted.kernel, quoted.size))
    if point is None or point.time is None or sweep is None:
        return Beside(quoted, published, _("not measured"), "", "", (point and point.skipped) or "")
    time = point.time
    if time.whole_us is None:
        return Beside(quoted, published, duration(time.median_us), "", "")
    scratch = time.whole_us + 1e6 * (sweep.start_up_s + (time.compile_s or 0))
    return Beside(quoted, published, duration(time.median_us), duration(time.whole_us), duration(scratch))
