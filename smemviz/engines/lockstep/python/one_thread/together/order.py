"""What several threads did one after the other, in the order in which they do it in lockstep.

Every access of a thread has a place in that order: the turn of the outermost loop, where in its body, the turn of the
loop there, and so on. Accesses of several threads at one place are one request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from smemviz.engines.lockstep.python.one_thread.accesses import Accesses
from smemviz.engines.lockstep.python.one_thread.stored import bits_of
from smemviz.engines.lockstep.python.one_thread.together.places import place, places_of
from smemviz.engines.lockstep.python.one_thread.together.scratch import Scratch
from smemviz.engines.lockstep.python.one_thread.together.straight import each_turn

Loops = Sequence[tuple[int, int, int]]  # the level of each, the numbers of its first access and of the first behind it


@dataclass(frozen=True)
class Made:
    """What threads did, thread after thread, each in the order of its requests.

    What ``slots[i]`` did begins at ``begin[i]`` of what follows, and ends where the next one begins: ``rows`` are the
    requests, ``number`` the accesses in the text of the loop, and ``addresses``. ``values`` and ``bits`` are what was
    stored in shared memory, from ``first_store[i]`` on. ``times`` tells how often each access in the text was made.
    All this lasts until the next part is made.
    """

    slots: NDArray[np.int64]
    begin: NDArray[np.int64]
    times: NDArray[np.int64]
    rows: NDArray[np.int32]
    number: NDArray[np.int32]
    addresses: NDArray[np.int64]
    first_store: NDArray[np.int64]
    values: NDArray[np.float64]
    bits: NDArray[np.uint64]

    @property
    def count(self) -> int:
        """How many requests there are."""
        return int(self.rows.max()) + 1


def all_turns(run: Accesses) -> tuple[NDArray[np.int64], ...]:
    """Return the groups of a thread and what was noted, as if every turn had been."""
    groups, begin, noted, noted_begin = _noted([run], Scratch())
    groups, _, noted, _ = each_turn(groups, begin, noted, noted_begin, run.tables[2])
    return groups[groups >= 0], noted


def _noted(runs: Sequence[Accesses], scratch: Scratch) -> tuple[NDArray[np.int64], ...]:
    """Return the groups of threads and where those of each begin, and the same of what was noted."""
    did = [run.did for run in runs]
    groups = _joined([[groups for groups, _ in own] for own in did], scratch, "groups", np.int64)
    return *groups, *_joined([[noted for _, noted in own] for own in did], scratch, "noted", np.int64)


def in_lockstep(runs: Sequence[Accesses], loops: Loops, scratch: Scratch) -> Made | None:
    """Put in order what threads that run the same loops did, None where there is nothing."""
    first = runs[0]
    groups, begin, noted, noted_begin = _noted(runs, scratch)
    if not len(noted):
        return None
    starts, length, _, numbers, *_ = first.tables
    times, access_begin = np.zeros(len(first.what.site), np.int64), np.zeros_like(begin)
    places, turns = (scratch.array(name, len(groups), np.int32) for name in ("places", "turns"))
    places[:] = turns[:] = 0
    tables, where = (starts, length, numbers), _loops_of(first, loops)
    row_of = places_of(groups, begin, *where, *tables, times, places, turns, access_begin)
    rows, number = (scratch.array(name, int(access_begin[-1]), np.int32) for name in ("rows", "number"))
    addresses = scratch.array("addresses", len(rows), np.int64)
    add = np.array([run.added for run in runs])
    of_groups, made = (groups, begin, places, noted, noted_begin), (rows, number, addresses)
    place(*of_groups, where[2], first.tables, add, row_of, access_begin, *made)
    stored, first_store = _joined([[run.stored_values()] for run in runs], scratch, "stored", np.float64)
    bits = bits_of(
        first.what.dtypes,
        first.what.stores,
        first.what.valued,
        lambda: np.repeat(number, first.what.items[number]),
        stored,
        lambda: np.concatenate([run.stored_whole() for run in runs]),
    )
    slots = np.array([run.slot for run in runs])
    return Made(slots, access_begin, times, rows, number, addresses, first_store, stored, bits)


def _joined(
    arrays: Sequence[Sequence[NDArray[Any]]], scratch: Scratch, name: str, dtype: DTypeLike
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Join the arrays of each thread and those of all; return where those of each begin, and the end, too."""
    begin = np.zeros(len(arrays) + 1, np.int64)
    np.cumsum([sum(map(len, own)) for own in arrays], out=begin[1:])
    return scratch.joined(name, [array for own in arrays for array in own], dtype), begin


def _loops_of(first: Accesses, loops: Loops) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """Return for each level and group which loop it is in or between which ones, and whether it is in one.

    The last is how many loops and places between them each level has.
    """
    starts, _, _, numbers, *_ = first.tables
    access = numbers[starts]
    levels = max((level for level, _, _ in loops), default=0)
    which, inside = np.zeros((levels, len(access)), np.int64), np.zeros((levels, len(access)), np.bool_)
    several = np.ones(levels, np.int64)
    for level in range(levels):
        own = [(low, high) for at, low, high in loops if at == level + 1]
        begins = np.array(sorted({0, *(end for loop in own for end in loop)}))
        for low, high in own:
            inside[level] |= (low <= access) & (access < high)
        which[level], several[level] = np.searchsorted(begins, access, side="right") - 1, len(begins)
    return which, inside, several
