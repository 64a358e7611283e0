"""What others published of the work that kernels of the gallery do, and what was recorded for it, as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

from smemviz.figures.matter import clock_mhz
from smemviz.model.summary import SiteSummary, summarize
from smemviz.recording import Launch, Recording

_NOT_NAMED = "hardware not named"
_NSIGHT = "Nsight Compute on compute capability 7.5 or later"
_EIGHT_BYTE_BANKS = ((3, 5), 8)

_CHASES = (
    ("registers", "register", "1 cycle", "Ours is a product that waits for the one before it."),
    ("shared memory", "shared_memory", "5 cycles", ""),
    ("constant memory", "constant_memory", "5 cycles", ""),
    ("L1", "l1_cache", "", ""),
    ("L2", "l2_cache", "", ""),
    ("global memory", "global_memory", "500 cycles", "Ours is past L2."),
)
_TRANSPOSING = (
    ("set_row_read_col", "conflicts on the load only"),
    ("set_row_read_col_dyn", "conflicts on the load only"),
    ("set_row_read_col_pad", "no conflict"),
    ("set_row_read_col_dyn_pad", "no conflict"),
)


@dataclass(frozen=True)
class Published:
    """A figure that was published, on what, and ours for the same; ``note`` says why they differ where they do."""

    what: str
    published: str
    hardware: str
    ours: str
    note: str = ""


_SCOPES = Published(
    "declared in the file or in the kernel",
    "either, in CUDA C++",
    "",
    "in the kernel",
    "Numba declares shared arrays in functions only; in CUDA C++ the scope decides who knows the name, and no address.",
)


def published(recording: Recording) -> tuple[Published, ...]:
    """Return what was published of a kernel file of the gallery beside what its recording holds; () of another file."""
    rows = _FILES.get(PurePath(recording.file).stem)
    try:
        return rows(recording) if rows else ()
    except KeyError:  # a file of the same name that holds other kernels
        return ()


def _latencies(recording: Recording) -> tuple[Published, ...]:
    return tuple(
        Published(f"one step, {what}", said or "none", _NOT_NAMED if said else "", _cycles(recording, kernel), note)
        for what, kernel, said, note in _CHASES
    )


def _cycles(recording: Recording, kernel: str) -> str:
    """Return the cycles of a step: the short chase taken off the long one, at the clock that both ran at."""
    times = [launch.time for launch in recording.launches if launch.kernel == kernel]
    long, short = (float(str(recording.constants[name])) for name in ("LONG", "SHORT"))
    match times:
        case [first, second] if first and second and (mhz := clock_mhz(first)):
            return f"{(second.median_us - first.median_us) * mhz / (long - short):.0f} cycles"
    return "not measured"


def _square(recording: Recording) -> tuple[Published, ...]:
    by_columns, by_rows = recording["set_col_read_col"].time, recording["set_row_read_row"].time
    slower = f"{by_columns.median_us / by_rows.median_us:.2g} times" if by_columns and by_rows else "not measured"
    said = (("set_row_read_row", "32 and 32"), ("set_col_read_col", "1,024 and 1,024"), *_TRANSPOSING)
    return (
        *(
            Published(f"{kernel}, wavefronts of store and load", text, _NSIGHT, _store_and_load(recording[kernel]))
            for kernel, text in said
        ),
        Published("time by columns against time by rows", "about 2 times", "the same", slower, "Ours are medians."),
        _declared(recording, "set_row_read_col", "set_row_read_col_dyn", "no difference"),
        _SCOPES,
    )


def _reverse(recording: Recording) -> tuple[Published, ...]:
    return _declared(recording, "static_reverse", "dynamic_reverse", "none"), _SCOPES


def _declared(recording: Recording, static: str, dynamic: str, said: str) -> Published:
    """Compare what the two ways to declare a shared array cost."""
    one, other = (_store_and_load(recording[kernel]) for kernel in (static, dynamic))
    ours = "no difference" if one == other else f"{one} against {other}"
    where = _NSIGHT if said != "none" else ""
    return Published(f"{static} against {dynamic}, wavefronts", said, where, ours, f"Static declaration: {one}.")


def _rectangle(recording: Recording) -> tuple[Published, ...]:
    older = summarize(recording["set_col_read_col"], *_EIGHT_BYTE_BANKS)[0]
    note = f"{_each(older)} is what the 8-byte banks of 3.x make of it; with 4-byte banks all 16 rows lie in 2 banks."
    said = (
        ("set_row_read_row", "1 and 1", ""),
        ("set_col_read_col", "8 and 8", note),
        *((kernel, text, "") for kernel, text in _TRANSPOSING),
    )
    return tuple(
        Published(f"{kernel}, wavefronts per store and load", text, _NSIGHT, _each_of(recording[kernel]), why)
        for kernel, text, why in said
    )


def _store_and_load(launch: Launch) -> str:
    return " and ".join(f"{row.wavefronts:,}" for row in _shared(launch))


def _each_of(launch: Launch) -> str:
    return " and ".join(map(_each, _shared(launch)))


def _each(row: SiteSummary) -> str:
    return f"{(row.wavefronts or 0) // row.requests}"


def _shared(launch: Launch) -> list[SiteSummary]:
    return [row for site, row in zip(launch.sites, summarize(launch), strict=True) if site.space == "shared"]


_FILES: dict[str, Callable[[Recording], tuple[Published, ...]]] = {
    "latency": _latencies,
    "square": _square,
    "rectangle": _rectangle,
    "reverse": _reverse,
}
