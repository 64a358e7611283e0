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

    The groups of all threads follow each other; of turns that are alike the place is that of the first one, and there
    is no loop in these. Of each level and group there is the ``loop`` that it is in, or a gap between loops, of
    ``several``, and whether it is ``inside`` of one. ``times`` becomes how often each access is made and ``begin_of``
    where those of each thread begin; ``places`` and ``turns`` are 0 of each group.
    """
    start, count = np.zeros(1, np.int32), 1
    for level in range(len(several)):
        loops, mark = several[level], -2 * (level + 1)  # of a turn that begins; one less of a loop
        most = np.zeros(count * loops, np.int32)
        for thread in range(len(begin) - 1):
            now, i = 0, begin[thread]
            while i < begin[thread + 1]:
                at, group = i, groups[i]
                i += 1
                if group >= 0:
                    place = (start[places[at]] + turns[at]) * loops + loop[level, group]
                    turn = now if inside[level, group] else 0
                    places[at], turns[at] = place, turn
                    most[place] = max(most[place], turn)
                elif group == mark:
                    now += 1
                elif group == mark - 1:
                    now = 0
                elif group == -1:
                    own, group, many = groups[i] == mark, groups[i + 1], groups[i + 2]
                    i += 4
                    if many:
                        place = (start[places[at]] + turns[at]) * loops + loop[level, group]
                        turn = now + own if inside[level, group] else 0
                        places[at], turns[at] = place, turn
                        now += many if own else 0
                        most[place] = max(most[place], now if inside[level, group] else 0)
        count = 0
        for place in range(len(most)):
            turn = most[place]
            most[place] = count
            count += turn + 1
        start = most
    row_of = np.zeros(count * len(times), np.int32)
    made = 0
    for thread in range(len(begin) - 1):
        i = begin[thread]
        while i < begin[thread + 1]:
            at, group, many, apart = i, groups[i], 1, 0
            i += 1
            if group == -1:
                apart, group, many = _apart(groups[i], several) * len(times), groups[i + 1], groups[i + 2]
                i += 4
            if group >= 0 and many:
                place = start[places[at]] + turns[at]
                places[at] = place
                made += many * length[group]
                for entry in range(first[group], first[group] + length[group]):
                    times[numbers[entry]] += many
                    row = place * len(times) + numbers[entry]
                    row_of[row] = 1
                    for _ in range(1, many):
                        row += apart
                        row_of[row] = 1
        begin_of[thread + 1] = made
    rows = 0
    for place in range(len(row_of)):
        there = row_of[place]
        row_of[place] = rows
        rows += there
    return row_of


@compiled
def _apart(mark: int, several: Numbers) -> int:
    """Return how far the places of turns are apart, by the mark of a turn: each has all gaps of the levels below."""
    apart = 1
    for level in range(-mark // 2, len(several)):
        apart *= several[level]
    return apart


@compiled
def place(
    groups: Numbers,
    begin: Numbers,
    places: Numbers,
    noted: Numbers,
    noted_begin: Numbers,
    several: Numbers,
    tables: tuple[Numbers, ...],
    add: Numbers,
    row_of: Numbers,
    begin_of: Numbers,
    rows: Numbers,
    number: Numbers,
    addresses: Numbers,
) -> None:
    """Tell the row, the number and the address of each access; ``add`` is for each thread and entry.

    Of turns that are alike what grows evenly stands behind the rest, the first of each item and then the last of each.
    """
    first, length, names, numbers, which, scale, size, base = tables
    accesses = len(size)
    for thread in range(len(begin) - 1):
        at, k, i = noted_begin[thread], begin_of[thread], begin[thread]
        while i < begin[thread + 1]:
            group, here = groups[i], places[i]
            i += 1
            if group >= 0:
                for entry in range(first[group], first[group] + length[group]):
                    access = numbers[entry]
                    element = noted[at + which[entry]] + add[thread, entry]
                    if scale[access] != 1:
                        element //= scale[access]
                    rows[k] = row_of[here * accesses + access]
                    number[k] = access
                    addresses[k] = element * size[access] + base[access]
                    k += 1
                at += names[group]
            elif group == -1:
                apart, group, many, evenly = _apart(groups[i], several), groups[i + 1], groups[i + 2], groups[i + 3]
                i += 4
                if many == 0:
                    continue
                even, entries = _ones(evenly), length[group]
                others = names[group] - even
                ends = at + many * others
                for entry in range(first[group], first[group] + entries):
                    access, item, to = numbers[entry], which[entry], k
                    before = _ones(evenly & ((1 << item) - 1))
                    source, step, by = at + item - before, others, 0
                    if evenly >> item & 1:
                        source, step = ends + before, 0
                        by = (noted[source + even] - noted[source]) // max(many - 1, 1)
                    for turn in range(many):
                        element = noted[source + step * turn] + by * turn + add[thread, entry]
                        if scale[access] != 1:
                            element //= scale[access]
                        rows[to] = row_of[(here + turn * apart) * accesses + access]
                        number[to] = access
                        addresses[to] = element * size[access] + base[access]
                        to += entries
                    k += 1
                k += (many - 1) * entries
                at = ends + 2 * even


@compiled
def _ones(bits: int) -> int:
    """Return how many bits are set."""
    many = 0
    while bits:
        bits &= bits - 1
        many += 1
    return many


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
