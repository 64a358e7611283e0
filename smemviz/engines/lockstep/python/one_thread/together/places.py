"""The compiled loops over what threads noted; this imports Numba, so import it late."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.model.counting.jit import compiled

Numbers = NDArray[Any]


@compiled
def places_of(
    groups: Numbers,
    begin: Numbers,
    loop: Numbers,
    inside: Numbers,
    several: Numbers,
    first: Numbers,
    length: Numbers,
    numbers: Numbers,
    times: Numbers,
    places: Numbers,
    turns: Numbers,
    begin_of: Numbers,
) -> Numbers:
    """Find the place of each group in the order, as far as turns of loops tell it; return the row of each access there.

    The groups of all threads follow each other. Of each level and group there is the ``loop`` that it is in, or a gap
    between loops, of ``several``, and whether it is ``inside`` of one. ``times`` becomes how often each access is
    made and ``begin_of`` where those of each thread begin; ``places`` and ``turns`` are 0 of each group.
    """
    start, count = np.zeros(1, np.int32), 1
    for level in range(len(several)):
        loops, mark = several[level], -2 * (level + 1)  # of a turn that begins; one less of a loop
        most = np.zeros(count * loops, np.int32)
        for thread in range(len(begin) - 1):
            now = 0
            for i in range(begin[thread], begin[thread + 1]):
                group = groups[i]
                if group >= 0:
                    place = (start[places[i]] + turns[i]) * loops + loop[level, group]
                    turn = now if inside[level, group] else 0
                    places[i], turns[i] = place, turn
                    most[place] = max(most[place], turn)
                elif group == mark:
                    now += 1
                elif group == mark - 1:
                    now = 0
        count = 0
        for place in range(len(most)):
            turn = most[place]
            most[place] = count
            count += turn + 1
        start = most
    row_of = np.zeros(count * len(times), np.int32)
    made = 0
    for thread in range(len(begin) - 1):
        for i in range(begin[thread], begin[thread + 1]):
            group = groups[i]
            if group >= 0:
                place = start[places[i]] + turns[i]
                places[i] = place
                made += length[group]
                for entry in range(first[group], first[group] + length[group]):
                    times[numbers[entry]] += 1
                    row_of[place * len(times) + numbers[entry]] = 1
        begin_of[thread + 1] = made
    rows = 0
    for place in range(len(row_of)):
        there = row_of[place]
        row_of[place] = rows
        rows += there
    return row_of


@compiled
def place(
    groups: Numbers,
    begin: Numbers,
    places: Numbers,
    noted: Numbers,
    noted_begin: Numbers,
    tables: tuple[Numbers, ...],
    add: Numbers,
    row_of: Numbers,
    begin_of: Numbers,
    rows: Numbers,
    number: Numbers,
    addresses: Numbers,
) -> None:
    """Tell the row, the number and the address of each access; ``add`` is for each thread and entry."""
    first, length, names, numbers, which, scale, size, base = tables
    several = len(size)
    for thread in range(len(begin) - 1):
        at, k = noted_begin[thread], begin_of[thread]
        for i in range(begin[thread], begin[thread + 1]):
            group = groups[i]
            if group < 0:
                continue
            for entry in range(first[group], first[group] + length[group]):
                access = numbers[entry]
                element = noted[at + which[entry]] + add[thread, entry]
                if scale[access] != 1:
                    element //= scale[access]
                rows[k] = row_of[places[i] * several + access]
                number[k] = access
                addresses[k] = element * size[access] + base[access]
                k += 1
            at += names[group]


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
    """Tell whether a thread touches a cell that another one accesses.

    A cell is ``2 ** shift`` bytes, an access is to ``times`` of them, and ``start`` is for each thread the first one.
    ``owner`` is -1 of each: it becomes twice its thread, and 1 more where that touches it, or -2 for several threads.
    """
    for thread in range(len(begin) - 1):
        for i in range(begin[thread], begin[thread + 1]):
            access = number[i]
            cell = (addresses[i] >> shift) - start[thread]
            own = 1 if touches[access] else 0
            for at in range(cell, cell + times[access]):
                of_cell = owner[at]
                if of_cell == -1 or of_cell >> 1 == thread:
                    owner[at] = max(of_cell, 2 * thread + own)
                elif own or of_cell & 1:
                    return True
                else:
                    owner[at] = -2
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
    chosen: Numbers,
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

    ``found`` becomes these accesses in the order of their rows, the thread of each and its bits, and ``seen`` the same
    thread after thread; return how many. A cell is ``2 ** shift`` bytes, the first begins at ``start``; there are so
    many ``cells``. ``before`` and ``stamps`` are for each access and cell what was in it, and by whom: nobody;
    ``ends`` are 0 of each row and behind the last.
    """
    many = 0
    for thread in range(len(begin) - 1):
        once, store = 2 * thread + 1, first_store[thread]
        for i in range(begin[thread], begin[thread + 1]):
            access = number[i]
            if not chosen[access]:
                continue
            new = np.uint64(0)
            if stores[access]:
                new = bits[store]
                store += 1
            at = access * cells + ((addresses[i] - start) >> shift)
            if stamps[at] < once:
                stamps[at] = once
                before[at] = new
            elif stamps[at] == once and before[at] != new:
                stamps[at] = once + 1
            else:
                continue
            seen[0, many], seen[1, many], seen[2, many] = i, thread, new
            ends[rows[i] + 1] += 1
            many += 1
    for row in range(len(ends) - 1):
        ends[row + 1] += ends[row]
    for k in range(many):
        row = rows[seen[0, k]]
        to = ends[row]
        found[0, to], found[1, to], found[2, to] = seen[0, k], seen[1, k], seen[2, k]
        ends[row] += 1
    return many


@compiled
def requests_of(
    threads: Numbers,
    begin: Numbers,
    rows: Numbers,
    number: Numbers,
    stores: Numbers,
    low: int,
    high: int,
    now: Numbers,
) -> tuple[Numbers, Numbers, bool]:
    """Find the requests of some threads, of one warp, from row ``low`` to ``high``.

    Returns the number of the access of each, for each row which of the requests it is, and whether any stores.
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
    any_stores = False
    for row in range(high - low):
        access = access_of[row]
        if access >= 0:
            any_stores |= stores[access]
            which[row] = many
            access_of[many] = access
            many += 1
    return access_of[:many], which, any_stores


@compiled
def write_requests(
    threads: Numbers,
    lanes: Numbers,
    begin: Numbers,
    rows: Numbers,
    number: Numbers,
    addresses: Numbers,
    stores: Numbers,
    values: Numbers,
    low: int,
    which: Numbers,
    now: Numbers,
    next_store: Numbers,
    table: Numbers,
    stored: Numbers,
) -> None:
    """Write down the requests that ``requests_of`` has found: addresses in a table and values in another one, if any.

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
            if stores[number[i]]:
                if len(stored):
                    stored[row, lane] = values[store]
                store += 1
            i += 1
        now[thread], next_store[thread] = i, store


@compiled
def sizes_of_turns(groups: Numbers, begin: Numbers, names: Numbers) -> tuple[Numbers, Numbers]:
    """Return where groups and items of each thread begin if every turn is noted that is like others."""
    group_begin, noted_begin = np.zeros(len(begin), np.int64), np.zeros(len(begin), np.int64)
    many, items = 0, 0
    for thread in range(len(begin) - 1):
        i = begin[thread]
        while i < begin[thread + 1]:
            if groups[i] == -1:
                many += 2 * groups[i + 3]
                items += groups[i + 3] * names[groups[i + 2]]
                i += 5
                continue
            if groups[i] >= 0:
                items += names[groups[i]]
            many += 1
            i += 1
        group_begin[thread + 1], noted_begin[thread + 1] = many, items
    return group_begin, noted_begin


@compiled
def spread_turns(
    groups: Numbers,
    begin: Numbers,
    noted: Numbers,
    noted_begin: Numbers,
    names: Numbers,
    all_groups: Numbers,
    all_noted: Numbers,
) -> None:
    """Note every turn: items that grow evenly stand behind the others, the first of each and then the last of each."""
    g, n = 0, 0
    for thread in range(len(begin) - 1):
        i, at = begin[thread], noted_begin[thread]
        while i < begin[thread + 1]:
            group = groups[i]
            if group != -1:
                all_groups[g] = group
                g += 1
                i += 1
                if group >= 0:
                    for _ in range(names[group]):
                        all_noted[n] = noted[at]
                        n += 1
                        at += 1
                continue
            mark, group, turns, evenly = groups[i + 1], groups[i + 2], groups[i + 3], groups[i + 4]
            i += 5
            if turns == 0:
                continue
            several, even = names[group], 0
            for k in range(several):
                even += (evenly >> k) & 1
            ends = at + turns * (several - even)
            for turn in range(turns):
                all_groups[g], all_groups[g + 1] = mark, group
                g += 2
                place = ends
                for k in range(several):
                    if (evenly >> k) & 1:
                        first, last = noted[place], noted[place + even]
                        all_noted[n] = first if turns == 1 else first + (last - first) // (turns - 1) * turn
                        place += 1
                    else:
                        all_noted[n] = noted[at]
                        at += 1
                    n += 1
            at = ends + 2 * even
