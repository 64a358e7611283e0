"""Times that others published for the same products, each with its hardware, and ours beside them."""

from __future__ import annotations

from dataclasses import dataclass

from smemviz.i18n import N_, _
from smemviz.recordings.sweep import CUBLAS, LOOPS, Point, Size, Sweep
from smemviz.wording.labels import duration

RTX_3080 = N_("GeForce RTX 3080, kernel time by events")
V100 = N_("V100, start-up, allocation and copies included")
V100_AGAIN = N_("V100, allocation and copies included")
NOT_PRINTED = N_("no time published")
NOT_NAMED = N_("hardware not named")


@dataclass(frozen=True)
class Quoted:
    """A published time in milliseconds, None where only the work was described; ``kernel`` is ours for that work.

    ``tile`` is theirs, and that of our kernel; None for what has no tile. ``note`` says what has to be known to compare
    the two, ``mistake`` names a kernel of mistakes.py that makes theirs. Texts are in English, to be translated where
    they are shown.
    """

    work: str
    size: Size
    kernel: str
    tile: int | None
    milliseconds: float | None
    hardware: str
    note: str = ""
    mistake: str = ""


_ONE_CORE = N_("One core of the authors' host; ours is three nested loops, compiled, on one core.")
_ONE_OF_54 = N_(
    "One core of the authors' host; ours is three nested loops, compiled, on one core. They call their naive product "
    "54 times faster than this; their two times give 53.3."
)
_COLUMN = N_(
    "The source calls ix, its index from threadIdx.x, the row number. It is the column, as in our kernel. The source "
    "launches blocks of 2 x 2, we of 32 x 32."
)
_CORNER = N_("The source launches blocks of 2 x 2 for tiles of 32 x 32, which leaves most of the product unwritten.")
_TRANSPOSED = N_(
    "The source stops its clock after the copy back, which the times of its own kernels leave out, and has cuBLAS "
    "write by columns: its C is transposed."
)
_FIRST = N_(
    "Integers; the first product of its run, so the start-up is in its time: compare with ours from scratch, which "
    "compiles as well."
)
_SECOND = N_(
    "Integers; allocation and copies included, start-up was paid by the run before: compare with ours with copies. Its "
    "own check passes because 2000 is 125 x 16: its last store has no bound."
)
_512, _1024 = Size(512, 512, 512), Size(1024, 1024, 1024)
_ODD, _2000 = Size(228, 240, 112), Size(2000, 2000, 2000)

QUOTED = (
    Quoted(N_("on the host"), _512, LOOPS, None, None, NOT_NAMED),
    Quoted(N_("naive"), _512, "naive", 32, None, NOT_NAMED, _COLUMN),
    Quoted(N_("shared memory, with bounds"), _512, "tiled_any", 32, None, NOT_NAMED, _CORNER, "corner_of_each_tile"),
    Quoted("cuBLAS sgemm", _512, CUBLAS, None, None, NOT_NAMED, _TRANSPOSED),
    Quoted(N_("on the host"), _1024, LOOPS, None, 3065.07, N_("the RTX 3080's host"), _ONE_CORE),
    Quoted(N_("naive"), _1024, "naive", 32, 1.3591, RTX_3080),
    Quoted(N_("tiled for any size"), _1024, "tiled_any", 32, 0.994368, RTX_3080),
    Quoted(N_("on the host"), _ODD, LOOPS, None, 3.40378, N_("the RTX 3080's host"), _ONE_CORE),
    Quoted(N_("naive"), _ODD, "naive", 32, 0.028288, RTX_3080),
    Quoted(N_("tiled for any size"), _ODD, "tiled_any", 32, 0.019456, RTX_3080),
    Quoted(N_("on the host"), _2000, LOOPS, None, 23042.4, N_("the V100's host"), _ONE_OF_54),
    Quoted(N_("naive"), _2000, "naive_integer", 16, 432.435, V100, _FIRST),
    Quoted(N_("integers by tiles"), _2000, "tiled_integer", 16, 25.7345, V100_AGAIN, _SECOND, "store_past_the_edge"),
)  # fmt: skip

FAILED_LAUNCH = N_(
    'The same V100 program printed 345.838 ms for the naive product when its launch had failed with "invalid '
    'configuration argument": so much of its 432.435 ms is start-up, allocation and two of the three copies, and no '
    "kernel time. So its 17 times between the two products is mostly start-up."
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


def beside(sweep: Sweep | None) -> tuple[Beside, ...]:
    """Put our times beside the published ones, measured with tiles as large as theirs."""
    points = {(point.kernel, point.size, point.tile): point for point in (sweep.points if sweep else ())}
    return tuple(_beside(quoted, points.get((quoted.kernel, quoted.size, quoted.tile)), sweep) for quoted in QUOTED)


def _beside(quoted: Quoted, point: Point | None, sweep: Sweep | None) -> Beside:
    published = _(NOT_PRINTED) if quoted.milliseconds is None else duration(quoted.milliseconds * 1000)
    if point is None or point.time is None or sweep is None:
        return Beside(quoted, published, _("not measured"), "", "", (point and point.skipped) or "")
    time = point.time
    if time.whole_us is None:
        return Beside(quoted, published, duration(time.median_us), "", "")
    scratch = time.whole_us + 1e6 * (sweep.start_up_s + (time.compile_s or 0))
    return Beside(quoted, published, duration(time.median_us), duration(time.whole_us), duration(scratch))
