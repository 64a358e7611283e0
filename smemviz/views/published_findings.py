"""What others published of the work that kernels of the gallery do, and what was recorded for it, as text."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

from smemviz.i18n import N_, _, spoken
from smemviz.model.counting.costs import cached
from smemviz.model.counting.matmul import traffic
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.data import Launch, SiteSummary
from smemviz.recordings.recording import Recording
from smemviz.wording.explanations import Explaining
from smemviz.wording.impact import clock_mhz
from smemviz.wording.labels import count, duration, listed, number, percent, sentences

_NOT_NAMED = N_("hardware not named")
_NSIGHT = N_("Nsight Compute on compute capability 7.5 or later")
_KEPLER = Hardware((3, 5), 8)
_BOOK = N_("a book, of compute capability 3.x")

_CHASES = (
    (N_("one step, registers"), "register", 1, N_("Ours is a product that waits for the one before it.")),
    (
        N_("one step, shared memory"),
        "shared_memory",
        5,
        N_("A step is a load and the arithmetic of the next address, here and below."),
    ),
    (N_("one step, constant memory"), "constant_memory", 5, ""),
    (N_("one step, L1"), "l1_cache", None, ""),
    (N_("one step, L2"), "l2_cache", None, ""),
    (N_("one step, global memory"), "global_memory", 500, N_("Ours misses L2.")),
)
_TRANSPOSING = (
    ("set_row_read_col", N_("conflicts on the load only")),
    ("set_row_read_col_dyn", N_("conflicts on the load only")),
    ("set_row_read_col_pad", N_("no conflict")),
    ("set_row_read_col_dyn_pad", N_("no conflict")),
)


@dataclass(frozen=True)
class Published:
    """A figure that was published, on what, and ours for the same; ``note`` says why they differ where they do."""

    what: str
    published: str
    hardware: str
    ours: str
    note: str = ""


def published(recording: Recording) -> tuple[Published, ...]:
    """Return what was published of a kernel file of the gallery beside what its recording holds; () of another file."""
    rows = _FILES.get(PurePath(recording.file).stem)
    try:
        return rows(recording) if rows else ()
    except KeyError:  # a file of the same name that holds other kernels
        return ()


def _latencies(recording: Recording) -> tuple[Published, ...]:
    return tuple(
        Published(
            _(what),
            _("none") if printed is None else count(printed, "cycle"),
            "" if printed is None else _(_NOT_NAMED),
            _cycles(recording, kernel),
            _(note) if note else "",
        )
        for what, kernel, printed, note in _CHASES
    )


def _cycles(recording: Recording, kernel: str) -> str:
    measured = cycles(recording, kernel)
    return _("not measured") if measured is None else count(measured, "cycle")


def cycles(recording: Recording, kernel: str) -> int | None:
    """Return the cycles of a step: the short chase taken off the long one, at the clock that both ran at."""
    names = (kernel, f"{kernel}s")  # C++ keeps the word register for itself
    times = [launch.time for launch in recording.launches if launch.kernel in names]
    long, short = (recording.constants[name] for name in ("LONG", "SHORT"))
    match long, short, times:
        case int(), int(), [first, second] if first and second and long != short and (mhz := clock_mhz(first)):
            return round((second.median_us - first.median_us) * mhz / (long - short))
    return None


def _square(recording: Recording) -> tuple[Published, ...]:
    by_columns, by_rows = recording["set_col_read_col"].time, recording["set_row_read_row"].time
    slower = _("not measured")
    if by_columns and by_rows:
        slower = _("{times:.2g} times", times=by_columns.median_us / by_rows.median_us)
    texts = (
        ("set_row_read_row", listed(["32", "32"])),
        ("set_col_read_col", listed(["1,024", "1,024"])),
        *((kernel, _(text)) for kernel, text in _TRANSPOSING),
    )
    return (
        *(
            Published(
                _("{kernel}, wavefronts of store and load", kernel=kernel),
                text,
                _(_NSIGHT),
                _store_and_load(recording[kernel]),
            )
            for kernel, text in texts
        ),
        Published(
            _("time by columns against time by rows"), _("about 2 times"), _("the same"), slower, _("Ours are medians.")
        ),
        _declared(recording, "set_row_read_col", "set_row_read_col_dyn", _("no difference"), _(_NSIGHT)),
        _overhead(recording),
        _pad_of_one(recording),
        Published(
            _("indices of the square on a rectangle"),
            _("may violate memory"),
            "",
            _("out of bounds"),
            _("Found with BDIMY = 16 in each transpose that declares its tile by rows."),
        ),
        _scopes(recording),
    )


def _pad_of_one(recording: Recording) -> Published:
    """Count a pad of one element with banks of 8 bytes, and say which pad would do there."""
    launch = recording["set_row_read_col_pad"]
    store, load = (i for i in launch.sites_in("shared"))
    rows = summarize(launch, _KEPLER)
    return Published(
        _("{kernel} with banks of 64 bits, wavefronts of store and load", kernel=launch.kernel),
        _("one element is not always enough"),
        _("compute capability 3.x"),
        _listed([f"{rows[i].wavefronts:,}" for i in (store, load)]),
        _fix_on_kepler(launch, load, spoken()),
    )


@cached
def _fix_on_kepler(launch: Launch, site: int, _language: str) -> str:
    return Explaining(launch, _KEPLER).site(site).fix or ""


def _reverse(recording: Recording) -> tuple[Published, ...]:
    return _declared(recording, "static_reverse", "dynamic_reverse", _("none"), ""), _scopes(recording)


def _declared(recording: Recording, static: str, dynamic: str, printed: str, where: str) -> Published:
    """Compare what the two ways to declare a shared array cost."""
    static_wavefronts, dynamic_wavefronts = (_store_and_load(recording[kernel]) for kernel in (static, dynamic))
    return Published(
        _("{static} against {dynamic}, wavefronts", static=static, dynamic=dynamic),
        printed,
        where,
        _against(static_wavefronts, dynamic_wavefronts),
        _("Static declaration: {wavefronts}.", wavefronts=static_wavefronts),
    )


def _overhead(recording: Recording) -> Published:
    """Compare the times of the two ways to declare a shared array."""
    static, dynamic = recording["set_row_read_col"], recording["set_row_read_col_dyn"]
    note = ""
    if static.time and dynamic.time:
        note = _(
            "{share} more for the dynamic array.", share=percent(dynamic.time.median_us / static.time.median_us - 1)
        )
    return Published(
        _("{static} against {dynamic}, time", static=static.kernel, dynamic=dynamic.kernel),
        _("dynamic has little overhead"),
        _("the same"),
        _times(static, dynamic),
        note,
    )


def _times(one: Launch, other: Launch) -> str:
    if not (one.time and other.time):
        return _("not measured")
    return _against(duration(one.time.median_us), duration(other.time.median_us))


def _against(one: str, other: str) -> str:
    return _("no difference") if one == other else _("{one} against {other}", one=one, other=other)


def _scopes(recording: Recording) -> Published:
    """Say where a shared array can be declared, and what that changes where both ways are recorded."""
    declared = ("set_row_read_col", "set_row_read_col_dyn")
    ours = _("in the kernel")
    note = _(
        "Numba declares shared arrays in functions only; "
        "in CUDA C++ the scope decides who knows the name, and no address."
    )
    if {launch.kernel for launch in recording.launches}.issuperset(f"{kernel}_file" for kernel in declared):
        inside, outside = (
            [_store_and_load(recording[kernel + ending]) for kernel in declared] for ending in ("", "_file")
        )
        ours = _against(listed(outside), listed(inside))
        note = _(
            "Declared in the file: {static} with a static array, {dynamic} with a dynamic one.",
            static=outside[0],
            dynamic=outside[1],
        )
    return Published(_("declared in the file or in the kernel"), _("either, in CUDA C++"), "", ours, note)


def _rectangle(recording: Recording) -> tuple[Published, ...]:
    older = next(iter(summarize(recording["set_col_read_col"], _KEPLER)), None)
    note = sentences(
        _(
            "{wavefronts} is what compute capability 3.x counts, in either bank mode; since 5.0 the 32 rows that a "
            "warp reads lie in 2 banks: 16-way.",
            wavefronts=_each(older) if older else 0,
        ),
        _("The source repeats the figure of its book; its own GPU, of 7.5 or later, cannot have counted it."),
    )
    texts = (
        ("set_row_read_row", listed(["1", "1"]), _NSIGHT, ""),
        ("set_col_read_col", listed(["8", "8"]), _BOOK, note),
        *((kernel, _(text), _NSIGHT, "") for kernel, text in _TRANSPOSING),
    )
    return tuple(
        Published(
            _("{kernel}, wavefronts per store and load", kernel=kernel),
            text,
            _(where),
            _listed([_each(row) for row in _shared(recording[kernel])]),
            why,
        )
        for kernel, text, where, why in texts
    )


def _submatrix(recording: Recording) -> tuple[Published, ...]:
    alone, shared = recording["from_global_memory"], recording["by_sub_matrices"]
    before, after = traffic(alone), traffic(shared)
    side = int(str(recording.constants["TILE"]))
    claimed = _("1 / (block size x block size), here 1/{n}", n=side * side)
    elements = before.elements_loaded, after.elements_loaded
    hardware = tuple(_sectors_counted(launch) for launch in (alone, shared))
    return (
        Published(
            _("accesses to global memory with sub-matrices, elements"),
            claimed,
            _(_NOT_NAMED),
            _fraction_left(*elements),
            _("A block loads each element once for as many threads as it is wide: 1 / block size."),
        ),
        Published(
            _("accesses to global memory with sub-matrices, sectors"),
            claimed,
            _(_NOT_NAMED),
            _fraction_left(*hardware),
            _("Counted by the hardware. Lanes of a warp that ask for the same sector shared it before."),
        ),
        *_whole_strips(recording),
    )


def _whole_strips(recording: Recording) -> tuple[Published, ...]:
    """Compare all tiles of a block at once with one after the other, where that was recorded."""
    launches = {launch.kernel: launch for launch in recording.launches}
    tiles, strips = launches["by_sub_matrices"], launches.get("by_whole_strips")
    if strips is None:
        return ()
    one, other = (sum(row.wavefronts or 0 for row in _shared(launch)) for launch in (strips, tiles))
    return (
        Published(
            _("all of a height or width in shared memory instead of a tile, time"),
            _("as fast, and more memory"),
            _(_NOT_NAMED),
            _times(strips, tiles),
            _(
                "{bytes:,} bytes of shared memory instead of {fewer:,}, {one:,} wavefronts against {other:,}.",
                bytes=strips.shared_bytes,
                fewer=tiles.shared_bytes,
                one=one,
                other=other,
            ),
        ),
    )


def _sectors_counted(launch: Launch) -> int | None:
    """Return the sectors that the hardware counted for the loads of a launch, None where it was not asked."""
    loads = [i for i in launch.sites_in("global") if launch.sites[i].op == "load"]
    counted = [launch.hardware[i].sectors for i in loads] if launch.hardware else []
    return sum(n for n in counted if n is not None) if counted and None not in counted else None


def _fraction_left(before: int | None, after: int | None) -> str:
    if not before or not after:
        return _("not measured")
    return _("1/{times}, {before:,} → {after:,}", times=number(before / after), before=before, after=after)


def _store_and_load(launch: Launch) -> str:
    return _listed([f"{row.wavefronts:,}" for row in _shared(launch)])


def _listed(words: list[str]) -> str:
    return listed(words) if words else ""


def _each(row: SiteSummary) -> str:
    return f"{(row.wavefronts or 0) // max(row.requests, 1)}"


def _shared(launch: Launch) -> list[SiteSummary]:
    rows = summarize(launch)
    return [rows[i] for i in launch.sites_in("shared")]


_FILES: dict[str, Callable[[Recording], tuple[Published, ...]]] = {
    "latency": _latencies,
    "square": _square,
    "rectangle": _rectangle,
    "reverse": _reverse,
    "submatrix": _submatrix,
}
