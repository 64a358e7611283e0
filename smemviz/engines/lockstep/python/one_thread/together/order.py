"""What several threads did one after the other, in the order in which they do it in lockstep.

Every access of a thread has a place in that order: the turn of the outermost loop, where in its body, the turn of the
loop there, and so on. Accesses of several threads at one place are one request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.python.one_thread.accesses import Accesses, NotTogetherError, turn_of
from smemviz.engines.lockstep.python.one_thread.together.places import count_turns, place, see
from smemviz.engines.lockstep.python.one_thread.together.straight import each_turn

_MOST_ENTRIES = 1 << 25  # of a row for each thread and a column for each request

Loops = Sequence[tuple[int, int, int]]  # the level of each, the numbers of its first access and of the first behind it


@dataclass(frozen=True)
class Made:
    """What threads did, a row a thread and a column a request; ``number`` (k,) tells of which access each request is.

    ``addresses`` (threads, k) are -1 where a thread takes no part. ``values`` and ``bits`` are what stores to shared
    memory stored, NaN and 0 of anything else.
    """

    slots: NDArray[np.int64]
    number: NDArray[np.int64]
    addresses: NDArray[np.int64]
    values: NDArray[np.float64]
    bits: NDArray[np.uint64]

    def rows_of(self, numbers: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the requests of some accesses."""
        among = np.zeros(max(int(self.number.max()), int(numbers.max(initial=0))) + 1, np.bool_)
        among[numbers] = True
        return np.flatnonzero(among[self.number])


def in_lockstep(runs: Sequence[Accesses], loops: Loops) -> Made | None:
    """Put in order what threads that run the same loops did, None where there is nothing.

    Raises:
        NotTogetherError: when threads have so little in common that this takes too much memory.
    """
    first = runs[0]
    done = [run.all_that_was_done() for run in runs]
    did = [(thread, *each_turn(*one, first.tables[2])) for thread, one in enumerate(done) if one is not None]
    if not did:
        return None
    starts, length, _, numbers, *_ = first.tables
    prefixes, count = _prefixes([groups for _, groups, _ in did], first, loops)
    several = len(first.site)
    there = np.zeros(count * several, np.bool_)
    for (_, groups, _), prefix in zip(did, prefixes, strict=True):
        see(groups, prefix, starts, length, numbers, several, there)
    row_of = np.cumsum(there) - 1
    rows = int(row_of[-1]) + 1
    if rows * len(runs) > _MOST_ENTRIES:
        raise NotTogetherError
    number = np.zeros(rows, np.int64)
    addresses, values = np.full((len(runs), rows), -1, np.int64), np.full((len(runs), rows), np.nan)
    wide = [access for access in np.flatnonzero(first.stores).tolist() if first.dtypes[access].str[1:] in ("i8", "u8")]
    bits = np.zeros(values.shape, np.uint64)
    for (thread, groups, noted), prefix in zip(did, prefixes, strict=True):
        run = runs[thread]
        stored = run.stored_values(), run.stored_whole() if wide else np.zeros(0, np.uint64)
        to = number, addresses[thread], values[thread], bits[thread]
        place(groups, prefix, noted, *stored, first.tables, *run.own_tables, row_of, *to)
    for access in np.flatnonzero(first.stores).tolist():
        if access not in wide:
            own, dtype = np.flatnonzero(number == access), first.dtypes[access]
            bits[:, own] = values[:, own].astype(dtype).view(f"u{dtype.itemsize}")
    return Made(np.array([run.slot for run in runs]), number, addresses, values, bits)


def _prefixes(
    groups: Sequence[NDArray[np.int64]], first: Accesses, loops: Loops
) -> tuple[list[NDArray[np.int64]], int]:
    """Return the places of each thread's groups in the order, as far as turns of loops tell them, and how many."""
    prefixes, count = [np.zeros(len(own), np.int64) for own in groups], 1
    for level in range(1, max((level for level, _, _ in loops), default=0) + 1):
        which, inside, several = _loops_of(first, [(low, high) for own, low, high in loops if own == level])
        turns = [np.zeros(len(own), np.int64) for own in groups]
        most = np.zeros(count * several, np.int64)
        for own, prefix, turn in zip(groups, prefixes, turns, strict=True):
            count_turns(own, turn_of(level), which, inside, several, prefix, turn, most)
        end = np.cumsum(most + 1)
        prefixes = [(end - most - 1).take(prefix) + turn for prefix, turn in zip(prefixes, turns, strict=True)]
        count = int(end[-1])
    return prefixes, count


def _loops_of(first: Accesses, loops: Sequence[tuple[int, int]]) -> tuple[NDArray[np.int64], NDArray[np.bool_], int]:
    """Return for each group which loop it is in or between which ones, whether it is in one, and how many these are."""
    starts, _, _, numbers, *_ = first.tables
    access = numbers[starts]
    begins = np.array(sorted({0, *(end for loop in loops for end in loop)}))
    inside = np.zeros(len(access), np.bool_)
    for low, high in loops:
        inside |= (low <= access) & (access < high)
    return np.searchsorted(begins, access, side="right") - 1, inside, len(begins)
