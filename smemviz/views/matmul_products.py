"""The matrix products of one size as data, a row per kernel, and times that others published beside ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from smemviz.i18n import N_, _
from smemviz.model.counting.matmul import Counted, intensity, scaled, shares
from smemviz.recordings.sweep import CUBLAS, LOOPS, Point, Size, Sweep, Traffic
from smemviz.wording.labels import duration, items, names, number, percent

Where = Literal["lockstep", "card", "scaled"]

MERGED = N_(
    "Shares of shared memory count the loads of the source; the compiler merges neighbouring ones, so that they may "
    "exceed 100 %."
)
HALVES = N_(
    "Some kernels move 16 bytes as a complex number: one instruction does so in shared memory, but two of 8 bytes in "
    "global memory, where the hardware counts twice the requests, and twice the sectors, that stand here."
)
# Read from the machine code that ptxas 13.0 makes of paired_lanes for 9.0: 64 multiply-adds in all, 128 registers.
HELD_BACK = N_(
    "Why the fastest kernel here stays below cuBLAS: paired_lanes takes 128 registers per thread, so only 16 warps fit "
    "on a multiprocessor to hide latency, an occupancy of 25 %; its loop over k is not unrolled, so each step waits "
    "for its own loads from shared memory; and Numba offers neither asynchronous copies nor 16-byte loads from global "
    "memory."
)
REGISTERS = N_(
    "Registers count beside conflicts. tiled_transposed_swizzled has no conflict, but the bound of its inner loop, "
    "min(TILE, a.shape[1] - first), keeps the compiler from unrolling it. Bounded by TILE like the others, it was "
    "measured at 4096 on an H200 with 31.97 ms instead of 48.78 ms in tiles of 8, and 23.09 ms instead of 33.26 ms in "
    "tiles of 16. In tiles of 32, unrolling takes 64 registers per thread instead of 32: one block of 1,024 threads "
    "fits a multiprocessor instead of two, and it takes 28.32 ms instead of 26.41 ms."
)
NO_INTEGER_BLAS = N_("cuBLAS multiplies no 32-bit integers, so the kernels of integers have no ratio to it.")
_NAMES = {LOOPS: N_("three loops")}  # of what is timed beside the kernels; the others are called alike everywhere
RTX_3080 = N_("GeForce RTX 3080, kernel time by events")
V100 = N_("V100, start-up, allocation and copies included")
V100_AGAIN = N_("V100, allocation and copies included")
NOT_PRINTED = N_("no time published")
NOT_NAMED = N_("hardware not named")
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
FAILED_LAUNCH = N_(
    'The same V100 program printed 345.838 ms for the naive product when its launch had failed with "invalid '
    'configuration argument": so much of its 432.435 ms is start-up, allocation and two of the three copies, and no '
    "kernel time. So its 17 times between the two products is mostly start-up."
)


@dataclass(frozen=True)
class Product:
    """One kernel at one size: what was counted and what was measured of it; ``counted`` says where.

    Counts may be scaled from a smaller size that was counted in lockstep, where they follow from it.
    ``formula`` is how many elements it should load, None where its grid is not known. ``of_cublas`` is its rate against
    that of cuBLAS on the same card. ``filled`` is the size up to which zeros filled its matrices, where they did.
    """

    kernel: str
    size: Size
    moved: Traffic | None
    counted: Where | None
    formula: int | None
    point: Point | None
    of_cublas: float | None
    filled: Size | None = None

    @property
    def intensity(self) -> float | None:
        """Operations per byte moved between global memory and the threads."""
        return intensity(self.size, self.moved) if self.moved else None

    def ratio_text(self) -> str:
        """Say how fast it is against cuBLAS, which was timed in float32; another type stands for itself."""
        if self.of_cublas is not None:
            return percent(self.of_cublas)
        if self.point and self.point.time and self.point.dtype != "float32":
            return self.point.dtype
        return _("not known")

    def error_text(self) -> str:
        """Say how far it is from the product in float64."""
        if self.point is None or self.point.error is None:
            return _("not measured")
        return _("exact") if self.point.error == 0 else error_of(self.point)


def error_of(point: Point) -> str:
    """Write the largest error that was measured, and the largest element that it is an error of."""
    # TRANSLATORS: 1.5e-04 of 100: the largest error, and the largest element of the product.
    return _("{error:.1e} of {largest}", error=point.error, largest=number(point.largest or 0))


def name_of(kernel: str) -> str:
    """Name a kernel, or what is timed beside the kernels."""
    return _(_NAMES[kernel]) if kernel in _NAMES else kernel


def products(size: Size, tile: int, lockstep: Mapping[str, Counted], sweep: Sweep | None) -> tuple[Product, ...]:
    """Put together what is known of each kernel at a size and tile.

    ``lockstep`` was counted here, at this size or a smaller one; counts are taken or scaled from there, else from the
    card.
    """
    points = points_at(sweep, size, tile) if sweep else {}
    cublas = points.get(CUBLAS)
    names = [*lockstep, *(name for name in points if name not in lockstep and points[name].tile is not None)]
    return tuple(_product(name, size, lockstep.get(name), points.get(name), cublas) for name in names)


def _product(kernel: str, size: Size, known: Counted | None, point: Point | None, cublas: Point | None) -> Product:
    moved, counted, grid, filled = _counts(size, known, point)
    formula = None
    if moved and grid:
        formula = (filled or size).loads(grid[0], grid[1]) if moved.shares else size.loads()
    same = point and cublas and point.rate and cublas.rate and point.dtype == cublas.dtype
    ratio = point.rate / cublas.rate if same and point and cublas and point.rate and cublas.rate else None
    return Product(kernel, size, moved, counted, formula, point, ratio, filled)


def _counts(
    size: Size, known: Counted | None, point: Point | None
) -> tuple[Traffic | None, Where | None, tuple[int, ...], Size | None]:
    """Return what a kernel moves at a size, where that was counted, its grid, and the size of its filled matrices."""
    if known and known.size == size:
        return known.moved, "lockstep", known.grid, known.filled
    if known:
        grid = point.grid if point else tuple(size.m // known.size.m * blocks for blocks in known.grid[:2])
        moved = scaled(known, size, grid)
        if moved:  # of whole blocks, which nothing has to fill
            return moved, "scaled", grid, None
    return (point.moved, "card", point.grid, point.filled) if point and point.moved else (None, None, (), None)


def points_at(sweep: Sweep, size: Size, tile: int) -> dict[str, Point]:
    """Return what was measured of a size with tiles of ``tile``, by kernel, and of what has no tile."""
    return {point.kernel: point for point in sweep.points if point.size == size and point.tile in (None, tile)}


def nearest_ceiling(product: Product, sweep: Sweep) -> tuple[str, float] | None:
    """Return the ceiling that a kernel comes closest to, and how close; None where nothing is known."""
    if product.point is None or product.point.time is None:
        return None
    rates = {ceiling.name: ceiling.rate for ceiling in sweep.ceilings}
    if product.point.dtype != "float32":
        rates.pop("float32", None)
    used = shares(product.size, product.moved, product.point.time.median_us * 1e-6, rates)
    return max(used.items(), key=lambda pair: pair[1], default=None)


def filled_note(rows: Sequence[Product]) -> str:
    """Say which kernels got matrices filled with zeros, and that those are counted; "" where none did."""
    kernels: dict[Size, list[str]] = {}
    for row in rows:
        if row.filled:
            kernels.setdefault(row.filled, []).append(row.kernel)
    if not kernels:
        return ""
    filled = (
        _("to {size} for {kernels}", size=size.name, kernels=names(*of_size)) for size, of_size in kernels.items()
    )
    return _(
        "Kernels without bounds checks get their matrices filled up with zeros, {filled}. The zeros are counted too.",
        filled=items(*filled),
    )


def _unbroken(share: float) -> str:
    return percent(share).replace(" ", "\N{NO-BREAK SPACE}")


def headline(rows: Sequence[Product], tile: int) -> str:
    """Say the one thing to know: how near the fastest comes to cuBLAS, or else what tiles save."""
    by_name = {row.kernel: row for row in rows}
    rated = [row for row in rows if row.of_cublas is not None]
    if rated:
        best = max(rated, key=lambda row: row.of_cublas or 0)
        share = _unbroken(best.of_cublas or 0)
        naive = by_name.get("naive")
        if naive is None or naive.of_cublas is None:
            return _("{kernel} reaches {share} of cuBLAS", kernel=best.kernel, share=share)
        return _(
            "{kernel} reaches {share} of cuBLAS, {slow_kernel} {slow_share}",
            kernel=best.kernel,
            share=share,
            slow_kernel=naive.kernel,
            slow_share=_unbroken(naive.of_cublas),
        )
    naive, tiled = by_name.get("naive"), by_name.get("tiled")
    if naive and tiled and naive.moved and tiled.moved and tiled.moved.load_sectors:
        fewer = number(naive.moved.load_sectors / tiled.moved.load_sectors)
        return _("Tiles of {tile} by {tile}: {times} times fewer sectors to load", tile=tile, times=fewer)
    return _("Matrix product of size {size}", size=rows[0].size.name) if rows else _("Nothing is known of this size")


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
