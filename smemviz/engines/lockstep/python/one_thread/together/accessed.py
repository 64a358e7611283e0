"""The compiled loops over accesses of threads whose requests are known; this imports Numba, so import it late."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.model.counting.jit import compiled

Numbers = NDArray[Any]


@compiled
def find_cells(
    begin: Numbers, number: Numbers, addresses: Numbers, times: Numbers, shift: int, start: Numbers, cells: Numbers
) -> tuple[Numbers, Numbers]:
    """Find which cells accesses touch, as ``meet`` does; return the accesses' numbers and where each thread begins."""
    begin_of, number_of = np.zeros(len(begin), np.int64), np.empty(len(cells), np.int32)
    count = 0
    for thread in range(len(begin) - 1):
        for i in range(begin[thread], begin[thread + 1]):
            for more in range(times[number[i]]):
                cells[count], number_of[count] = (addresses[i] >> shift) - start[thread] + more, number[i]
                count += 1
        begin_of[thread + 1] = count
    return number_of, begin_of


@compiled
def meet(
    begin: Numbers,
    number: Numbers,
    addresses: Numbers,
    times: Numbers,
    shift: int,
    start: Numbers,
    touches: Numbers,
    owner: Numbers,
) -> bool:
    """Tell whether a thread does something to a cell that does not go with what another does, in any order.

    A cell is ``2 ** shift`` bytes, an access is to ``times`` of them, and ``start`` is for each thread the first one.
    ``touches`` is 1 of what goes with nothing; what has the same other number goes together. ``owner`` is -1 of each:
    it becomes this number and 256 times the thread, or the number of threads for several.
    """
    threads = len(begin) - 1
    for thread in range(threads):
        for i in range(begin[thread], begin[thread + 1]):
            access = number[i]
            cell = (addresses[i] >> shift) - start[thread]
            own = touches[access]
            for at in range(cell, cell + times[access]):
                of_cell = owner[at]
                if of_cell == -1:
                    owner[at] = (thread << 8) + own
                elif of_cell >> 8 == thread:
                    if of_cell & 255 != own:
                        owner[at] = (thread << 8) + 1
                elif own != 1 and of_cell & 255 == own:
                    owner[at] = (threads << 8) + own
                else:
                    return True
    return False


@compiled
def note_first(
    begin: Numbers,
    rows: Numbers,
    number: Numbers,
    addresses: Numbers,
    stores: Numbers,
    first_store: Numbers,
    bits: Numbers,
    pieces: Numbers,
    start: int,
    shift: int,
    cells: int,
    before: Numbers,
    stamps: Numbers,
    ends: Numbers,
    seen: Numbers,
    found: Numbers,
) -> int:
    """Find where each thread touches a cell first by an access of some, and where first with other bits.

    Each access has ``pieces`` of 8 bytes, or one of fewer; none if it is not asked for. ``found`` becomes these pieces
    in the order of their rows: the access, the thread, the bits, and which piece it is; ``seen`` the same thread after
    thread; return how many. A cell is ``2 ** shift`` bytes, the first begins at ``start``; there are so
    many ``cells``. ``before`` and ``stamps`` are for each access and cell what was in it, and by whom: nobody;
    ``ends`` are 0 of each row and behind the last.
    """
    many = 0
    for thread in range(len(begin) - 1):
        once, store = 2 * thread + 1, first_store[thread]
        for i in range(begin[thread], begin[thread + 1]):
            access = number[i]
            for piece in range(pieces[access]):
                new = np.uint64(0)
                if stores[access]:
                    new = bits[store]
                    store += 1
                at = access * cells + ((addresses[i] + 8 * piece - start) >> shift)
                if stamps[at] < once:
                    stamps[at] = once
                    before[at] = new
                elif stamps[at] == once and before[at] != new:
                    stamps[at] = once + 1
                else:
                    continue
                seen[0, many], seen[1, many], seen[2, many], seen[3, many] = i, thread, new, piece
                ends[rows[i] + 1] += 1
                many += 1
    for row in range(len(ends) - 1):
        ends[row + 1] += ends[row]
    for k in range(many):
        row = rows[seen[0, k]]
        to = ends[row]
        for part in range(4):
            found[part, to] = seen[part, k]
        ends[row] += 1
    return many


@compiled
def requests_of(
    threads: Numbers,
    begin: Numbers,
    rows: Numbers,
    number: Numbers,
    valued: Numbers,
    low: int,
    high: int,
    now: Numbers,
) -> tuple[Numbers, Numbers, bool]:
    """Find the requests of some threads, of one warp, from row ``low`` to ``high``.

    Returns the number of the access of each, for each row which of the requests it is, and whether of any it is
    ``valued`` what it stores.
    ``now`` is what comes next of each thread, and moves on.
    """
    access_of, which = np.full(high - low, -1, np.int32), np.zeros(high - low, np.int32)
    for thread in threads:
        i = now[thread]
        while i < begin[thread + 1] and rows[i] < high:
            access_of[rows[i] - low] = number[i]
            i += 1
        now[thread] = i
    many = 0
    any_valued = False
    for row in range(high - low):
        access = access_of[row]
        if access >= 0:
            any_valued |= valued[access]
            which[row] = many
            access_of[many] = access
            many += 1
    return access_of[:many], which, any_valued


@compiled
def write_requests(
    threads: Numbers,
    lanes: Numbers,
    begin: Numbers,
    rows: Numbers,
    number: Numbers,
    addresses: Numbers,
    items: Numbers,
    values: Numbers,
    low: int,
    which: Numbers,
    now: Numbers,
    next_store: Numbers,
    table: Numbers,
    stored: Numbers,
) -> None:
    """Write down the requests that ``requests_of`` has found: addresses in a table and values in another one, if any.

    Each access has noted so many ``items`` of what it stores, of which the first is the value.
    ``now`` and ``next_store`` are what comes next of each thread, and move on.
    """
    table[:] = -1
    stored[:] = np.nan
    high = low + len(which)
    for place in range(len(threads)):
        thread, lane = threads[place], lanes[place]
        i, store = now[thread], next_store[thread]
        while i < begin[thread + 1] and rows[i] < high:
            row = which[rows[i] - low]
            table[row, lane] = addresses[i]
            if items[number[i]]:
                if len(stored):
                    stored[row, lane] = values[store]
                store += items[number[i]]
            i += 1
        now[thread], next_store[thread] = i, store
