"""The compiled loop over requests; the only module of the model that imports Numba, so import it late."""

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

from smemviz.model.hardware.hardware import Rule

MISTAKE = -1

_SLOTS = 512  # of a hash table that holds the words of a phase: at most 4 for each lane of a warp
PATTERNS = 64  # rows that are remembered, as most requests are like one before that lies elsewhere
_NEW_ROWS = 64  # rows in vain, more than not, before none is kept any more

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


def in_python(function: Any) -> Any:
    """Return a compiled function of this module as Python runs it, on arrays of Python's integers where they grow."""
    names = {name: getattr(value, "py_func", value) for name, value in globals().items()}
    return FunctionType(function.py_func.__code__, names)


@compiled
def _lanes_pair_up(row: NDArray[np.int64], distance: int) -> bool:
    """Whether every active lane has an inactive partner at ``lane ^ distance``, or one with its address."""
    for lane in range(32):
        address = row[lane]
        partner = row[lane ^ distance]
        if address >= 0 and partner >= 0 and address != partner:
            return False
    return True


@compiled
def _first_active(row: NDArray[np.int64]) -> int:
    """Return the address of the first lane that is on, -1 where all are off."""
    for lane in range(32):
        if row[lane] >= 0:
            return int(row[lane])
    return -1


@compiled
def _slot(row: NDArray[np.int64], start: int, unit: int) -> int:
    """Return where a row would be kept, the same for one that lies as far from whole units elsewhere."""
    slot = start & ((1 << unit) - 1)
    for lane in (1, 7, 31):
        if row[lane] >= 0:
            slot = 5 * slot + row[lane] - start
    return int((slot ^ slot >> 5) & (PATTERNS - 1))


@compiled
def _is_moved(row: NDArray[np.int64], known: NDArray[np.int64], by: int, lanes: int) -> bool:
    """Whether a row is another one, all of whose addresses are so much higher."""
    other = 0
    for lane in range(lanes):  # without a way out, so that it becomes vector code
        a, b = row[lane], known[lane]
        other |= (a - b != by) | ((a ^ b) < 0) if (a & b) >= 0 else 0
    return other == 0


@inlined
def unit_of(rule: Rule) -> int:
    """Return the power of two of the bytes that a request may move by and cost the same."""
    return rule.word_shift if (rule.banks << rule.word_shift) == (1 << rule.row_shift) else rule.row_shift


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

    ``slots`` are ``PATTERNS`` for each site, -1 where no row is kept, and ``found`` (1,) is how many are. Returns the
    number of the first row that is not counted, as there is no room to keep it.
    """
    rows, kept = borrowed(rows), borrowed(kept)
    for r in range(begin, rows.shape[0]):
        row, site = rows[r], sites[r]
        start = _first_active(row)
        slot = site * PATTERNS + _slot(row, start, units[site])
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


@compiled
def serve_rows(
    rows: NDArray[np.int64],
    rule: Rule,
    wavefronts: NDArray[np.int64],
    ideal: NDArray[np.int64],
    degree: NDArray[np.int64],
    assignment: NDArray[np.int64],
) -> None:
    """Serve each row of 32 addresses, phase by phase, and fill in what it took.

    A row with a negative or misaligned address gets ``MISTAKE`` wavefronts. ``assignment`` is (n, 32, words) filled
    with -1, or empty when nobody asks for it. A wavefront that a phase takes more has, by convention, the second half
    of what its last lanes ask for.

    A row that is one of those remembered, moved by whole words, takes as much: every bank becomes another. Where words
    of several rows of banks are served together it has to be moved by as much as these.
    """
    power_of_two = rule.banks & (rule.banks - 1) == 0  # a division is slow, and only a drawing needs it
    keep = assignment.size > 0
    known = np.zeros((PATTERNS, 32), np.int64)
    known_first = np.full(PATTERNS, -1, np.int64)
    known_at = np.zeros(PATTERNS, np.int64)
    memory = _NEW_ROWS if power_of_two and not keep else 0
    unit = unit_of(rule)
    keys = np.zeros(_SLOTS, np.int64)
    phase_of = np.zeros(_SLOTS, np.int64)
    turn = np.zeros(_SLOTS, np.int64)
    queue = np.zeros(rule.banks, np.int64)
    phase = 0
    for r in range(rows.shape[0]):
        row = rows[r]
        lowest = 0
        bits = 0
        for lane in range(rule.lanes):
            lowest = min(lowest, row[lane])
            bits |= max(0, row[lane])
        if lowest < -1 or bits & (rule.width - 1):
            wavefronts[r] = MISTAKE
            continue
        start = _first_active(row)
        if memory > 0 and start >= 0:
            slot = _slot(row, start, unit)
            by = start - known_first[slot]
            if known_first[slot] >= 0 and by & ((1 << unit) - 1) == 0 and _is_moved(row, known[slot], by, rule.lanes):
                at = known_at[slot]
                wavefronts[r], ideal[r], degree[r] = wavefronts[at], ideal[at], degree[at]
                memory = min(memory + 1, _NEW_ROWS)
                continue
            known_first[slot] = start
            known_at[slot] = r
            for lane in range(32):  # as one assignment it takes three seconds longer to compile
                known[slot, lane] = row[lane]
            memory -= 1
        lanes = rule.phase_lanes
        if rule.merges and (_lanes_pair_up(row, 1) or _lanes_pair_up(row, 2)):
            lanes *= 2
        total = 0
        phases = 0
        most = 0
        for first_word in range(0, rule.words, rule.phase_words):
            for first_lane in range(0, rule.lanes, lanes):
                phase += 1
                queue[:] = 0
                longest = 0
                for lane in range(first_lane, min(first_lane + lanes, rule.lanes)):
                    first = row[lane]
                    if first < 0:
                        continue
                    for word in range(first_word, first_word + rule.phase_words):
                        address = first + (word << rule.word_shift)
                        bank = address >> rule.word_shift
                        bank = bank & (rule.banks - 1) if power_of_two else bank % rule.banks
                        key = (address >> rule.row_shift) * rule.banks + bank
                        slot = ((key * 0x9E3779B1) >> 16) & (_SLOTS - 1)
                        new = True
                        if rule.shares:
                            while phase_of[slot] == phase:
                                if keys[slot] == key:
                                    new = False
                                    break
                                slot = (slot + 1) & (_SLOTS - 1)
                        if new:
                            keys[slot] = key
                            phase_of[slot] = phase
                            turn[slot] = queue[bank]
                            queue[bank] += 1
                            longest = max(longest, queue[bank])
                        if keep:
                            assignment[r, lane, word] = total + turn[slot]
                if longest == 0:
                    continue
                if keep and rule.more_ways:
                    last = total + longest - 1
                    for lane in range(first_lane, first_lane + lanes):
                        for word in range(rule.words // 2, rule.words):
                            if assignment[r, lane, word] == last:
                                assignment[r, lane, word] += rule.more_ways
                longest += rule.more_ways
                total += longest
                most = max(most, longest)
                phases += 1 + rule.more_ways
        wavefronts[r] = total
        ideal[r] = phases
        degree[r] = most
