"""The compiled loops over requests; the only module of the model that imports Numba, so import it late."""

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core.ccallback import CFunc
from numba.core.cgutils import voidptr_t
from numba.core.sigutils import normalize_signature
from numba.extending import intrinsic
from numpy.typing import NDArray

from smemviz.model.counting import loops

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F, **options: bool) -> F:
    """Compile without holding the GIL, and keep the machine code on disk where there is a place for it.

    Threads of our own then do what ``parallel=True`` would at a fifth of the compile time, and without its
    thread pool, which must not be entered from two threads of a web server at once.
    """
    try:
        made = numba.njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # neither the package's directory nor the user's cache can be written
        return cast(F, numba.njit(nogil=True, **options)(function))
    _date_by_folder(made._cache, function)
    try:
        made._cache._cache_file._load_index()
    except (ImportError, AttributeError):  # an older version left it, and classes that it names have moved
        with suppress(AttributeError):
            made._cache.flush()
    return cast(F, made)


def _date_by_folder(cache: Any, function: Any) -> None:
    """Let what is kept on disk be of its whole folder: Numba looks at the file of a function, not at what it calls."""
    with suppress(AttributeError, ValueError):
        cache._cache_file._source_stamp = _date_of(Path(function.__code__.co_filename).parent)


@lru_cache
def _date_of(folder: Path) -> tuple[float, int]:
    files = [path.stat() for path in folder.glob("*.py")]
    return max(file.st_mtime for file in files), sum(file.st_size for file in files)


def called_by_address(function: Any, signature: str) -> Any:
    """Compile what other machine code calls, at the ``address`` of the result."""
    made: Any = CFunc(function, normalize_signature(signature), {}, {"nopython": True})
    with suppress(RuntimeError):  # there is no place to keep it
        made.enable_caching()
    _date_by_folder(made._cache, function)
    made.compile()
    return made


def inlined(function: F) -> F:
    """Compile into those that call it: to be called with many arrays takes longer than what it does."""
    return compiled(function, forceinline=True)


@intrinsic  # type: ignore[untyped-decorator]
def pointer(typing_context: Any, address: Any) -> Any:
    """Return an address as a pointer, of which an array is made."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], voidptr_t)

    return numba.types.voidptr(address), codegen


@inlined
def borrowed(array: Any) -> Any:
    """Return an array as one whose rows nobody counts as references to it, which takes as long as a short loop."""
    return numba.carray(pointer(array.ctypes.data), array.shape, array.dtype)


_names = dict(vars(loops))


def _of_loops(function: F, make: Callable[[F], F] = compiled) -> F:
    """Compile a function of ``loops``, which calls others that are compiled already."""
    made = make(cast(F, FunctionType(function.__code__, _names)))
    _names[function.__name__] = made
    return made


_of_loops(loops.lanes_pair_up)
_first_active = _of_loops(loops.first_active)
_slot = _of_loops(loops.slot_of)
_is_moved = _of_loops(loops.is_moved)
_of_loops(loops.unit_of, inlined)
serve_rows = _of_loops(loops.serve_rows)


@compiled
def count_alike(
    rows: NDArray[np.int64],
    sites: NDArray[np.int64],
    begin: int,
    units: NDArray[np.int64],
    kept: NDArray[np.int64],
    kept_sites: NDArray[np.int64],
    times: NDArray[np.int64],
    slots: NDArray[np.int64],
    found: NDArray[np.int64],
) -> int:
    """Count each row as one that is kept, if it is that moved by whole units of its site, else keep it.

    Rows of the site -1 are not counted.
    ``slots`` are ``PATTERNS`` for each site, -1 where no row is kept, and ``found`` (1,) is how many are. Returns the
    number of the first row that is not counted, as there is no room to keep it.
    """
    rows, kept = borrowed(rows), borrowed(kept)
    for r in range(begin, rows.shape[0]):
        row, site = rows[r], sites[r]
        if site < 0:
            continue
        start = _first_active(row)
        slot = site * loops.PATTERNS + _slot(row, start, units[site])
        at = slots[slot]
        if at >= 0 and start >= 0:
            by = start - _first_active(kept[at])
            if by & ((1 << units[site]) - 1) == 0 and _is_moved(row, kept[at], by, 32):
                times[at] += 1
                continue
        at = found[0]
        if at == len(times):
            return r
        kept[at, :] = row
        kept_sites[at], times[at], slots[slot], found[0] = site, 1, at, at + 1
    return len(rows)
