"""What several threads did one after the other, in the order in which they do it in lockstep.

Every access of a thread has a place in that order: the turn of the outermost loop, where in its body, the turn of the
loop there, and so on. Accesses of several threads at one place are one request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.python.one_thread.accesses import Accesses, place_in_order

_SPARE = 8  # entries of a table for each number in it, with which it still is faster than sorting


@dataclass(frozen=True)
class Made:
    """What threads did, a row a request and a column a thread; ``number`` (k,) tells of which access each request is.

    ``addresses`` (k, threads) are -1 where a thread takes no part. ``values`` and ``bits`` are what stores to shared
    memory stored, NaN and 0 of anything else; without such a store there are no bits.
    """

    slots: NDArray[np.int64]
    number: NDArray[np.int64]
    addresses: NDArray[np.int64]
    values: NDArray[np.float64]
    bits: NDArray[np.uint64] | None

    def rows_of(self, numbers: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the rows of some accesses."""
        among = np.zeros(max(int(self.number.max()), int(numbers.max(initial=0))) + 1, np.bool_)
        among[numbers] = True
        return np.flatnonzero(among[self.number])


def in_lockstep(runs: Sequence[Accesses], loops: Sequence[tuple[int, int, int]]) -> Made | None:
    """Put in order what threads that run the same loops did, None where there is nothing."""
    did = [run.all_that_was_done() for run in runs]
    if all(one is None for one in did):
        return None
    slots = np.array([run.slot for run in runs])
    threads: list[int] = []
    columns: list[tuple[NDArray[Any], ...]] = []
    keys: list[list[NDArray[np.int64]]] = []
    for thread, (run, done) in enumerate(zip(runs, did, strict=True)):
        if done is None:
            continue
        groups, noted = done
        length = np.where(groups < 0, 0, run.length[np.maximum(groups, 0)])
        numbers, places = run.done_in(groups[groups >= 0], noted)
        values = np.full(len(numbers), np.nan)
        values[run.stores[numbers]] = run.stored
        threads.append(thread)
        columns.append((numbers, run.addresses(numbers, places), values, run.bits(numbers, values, run.stored)))
        keys.append(place_in_order(groups, length, numbers, loops))
    rows, count = _rows([np.concatenate(parts) for parts in zip(*keys, strict=True)])
    number = np.zeros(count, np.int64)
    addresses = np.full((count, len(slots)), -1, np.int64)
    values = np.full((count, len(slots)), np.nan)
    bits = np.zeros((count, len(slots)), np.uint64) if runs[0].stores.any() else None
    begin = 0
    for thread, (numbers, at, made, kept) in zip(threads, columns, strict=True):
        row, begin = rows[begin : begin + len(numbers)], begin + len(numbers)
        number[row] = numbers
        addresses[row, thread] = at
        values[row, thread] = made
        if bits is not None:
            bits[row, thread] = kept
    return Made(slots, number, addresses, values, bits)


def _rows(columns: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], int]:
    """Return the number of each place in the order, without gaps, and how many there are."""
    rows, count = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        size = int(column.max(initial=0)) + 1
        if size > 1:
            rows, count = _numbered(rows * size + column, count * size)
    return _numbered(rows, count)


def _numbered(keys: NDArray[np.int64], most: int) -> tuple[NDArray[np.int64], int]:
    """Number what is below ``most`` in its order, without gaps; -1 stays. Return how many there are, too."""
    if most > _SPARE * keys.size:
        found, which = np.unique(keys, return_inverse=True)
        none = int(len(found) > 0 and found[0] < 0)
        return which.reshape(keys.shape) - none, len(found) - none
    there = np.zeros(most + 1, np.bool_)
    there[keys] = True
    there[-1] = False
    which = np.cumsum(there) - 1
    which[-1] = -1
    return which[keys], int(which[-2]) + 1 if most else 0


def dense(keys: NDArray[np.int64], most: int) -> tuple[NDArray[np.int64], int]:
    """Return numbers below ``most`` for use in a table: as they are where one of as many entries costs little."""
    return (keys, most) if most <= _SPARE * keys.size else _numbered(keys, most)
