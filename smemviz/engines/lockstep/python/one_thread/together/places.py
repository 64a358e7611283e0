"""The compiled loops over what threads noted; this imports Numba, so import it late."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from smemviz.model.counting.jit import compiled

Numbers = NDArray[Any]


@compiled
def count_turns(
    groups: Numbers,
    mark: int,
    loop: Numbers,
    inside: Numbers,
    loops: int,
    prefix: Numbers,
    turn: Numbers,
    most: Numbers,
) -> None:
    """Find for each group the turn of the loops of one level, 0 outside of them.

    ``prefix`` is the place of each group as far as the levels further out tell it, and becomes that place and
    ``loop``, of so many ``loops``; ``most`` is the last turn at each of those. ``mark`` stands where a turn begins, one
    less where a loop does.
    """
    now = 0
    for i in range(len(groups)):
        group = groups[i]
        if group == mark:
            now += 1
        elif group == mark - 1:
            now = 0
        elif group >= 0:
            place = prefix[i] * loops + loop[group]
            prefix[i] = place
            turn[i] = now if inside[group] else 0
            most[place] = max(most[place], turn[i])


@compiled
def see(
    groups: Numbers, prefix: Numbers, first: Numbers, length: Numbers, numbers: Numbers, several: int, there: Numbers
) -> None:
    """Find at which places there are accesses; ``several`` is how many have numbers."""
    for i in range(len(groups)):
        group = groups[i]
        if group >= 0:
            for entry in range(first[group], first[group] + length[group]):
                there[prefix[i] * several + numbers[entry]] = True


@compiled
def place(
    groups: Numbers,
    prefix: Numbers,
    noted: Numbers,
    stored: Numbers,
    whole: Numbers,
    tables: tuple[Numbers, ...],
    offset: Numbers,
    shift: Numbers,
    row_of: Numbers,
    number: Numbers,
    addresses: Numbers,
    values: Numbers,
    bits: Numbers,
) -> None:
    """Put what a thread did in the rows of its requests; ``whole`` is what goes into ``bits``, where there is any."""
    first, length, names, numbers, which, scale, size, base, stores = tables
    begin, store = 0, 0
    several = len(size)
    for i in range(len(groups)):
        group = groups[i]
        if group < 0:
            continue
        for entry in range(first[group], first[group] + length[group]):
            access = numbers[entry]
            row = row_of[prefix[i] * several + access]
            element = (noted[begin + which[entry]] + offset[entry] - shift[access]) // scale[access]
            number[row] = access
            addresses[row] = element * size[access] + base[access]
            if stores[access]:
                values[row] = stored[store]
                if len(whole):
                    bits[row] = whole[store]
                store += 1
        begin += names[group]


@compiled
def meet(cells: Numbers, touches: Numbers, owner: Numbers) -> bool:
    """Tell whether a thread touches a cell that another one accesses; both (threads, k), ``owner`` is nobody of any."""
    for own in (True, False):
        for thread in range(len(cells)):
            for k in range(len(touches)):
                cell = cells[thread, k]
                if cell < 0 or touches[k] != own:
                    continue
                if owner[cell] >= 0 and owner[cell] != thread:
                    return True
                if own:
                    owner[cell] = thread
    return False


@compiled
def note_first(
    addresses: Numbers,
    bits: Numbers,
    number: Numbers,
    chosen: Numbers,
    start: int,
    shift: int,
    cells: int,
    before: Numbers,
    stamps: Numbers,
    first: Numbers,
) -> None:
    """Note where each thread touches a cell first by an access of some, and where first with other bits.

    Addresses, bits and ``first`` are (threads, k). A cell is ``2 ** shift`` bytes, the first begins at ``start``; there
    are so many ``cells``. ``before`` and ``stamps`` are for each access and cell what was in it, and by whom: nobody.
    """
    for thread in range(len(addresses)):
        once = 2 * thread + 1
        for k in range(len(number)):
            address = addresses[thread, k]
            if address < 0 or not chosen[number[k]]:
                continue
            place = number[k] * cells + ((address - start) >> shift)
            if stamps[place] < once:
                stamps[place] = once
                before[place] = bits[thread, k]
                first[thread, k] = True
            elif stamps[place] == once and before[place] != bits[thread, k]:
                stamps[place] = once + 1
                first[thread, k] = True


@compiled
def sizes_of_turns(groups: Numbers, names: Numbers) -> tuple[int, int]:
    """Return how many groups and marks there are, and items, if every turn is noted that is like others."""
    many, items, i = 0, 0, 0
    while i < len(groups):
        if groups[i] == -1:
            many += 2 * groups[i + 3]
            items += groups[i + 3] * names[groups[i + 2]]
            i += 5
            continue
        if groups[i] >= 0:
            items += names[groups[i]]
        many += 1
        i += 1
    return many, items


@compiled
def spread_turns(groups: Numbers, noted: Numbers, names: Numbers, all_groups: Numbers, all_noted: Numbers) -> None:
    """Note every turn: items that grow evenly stand behind the others, the first of each and then the last of each."""
    g, n, i, at = 0, 0, 0, 0
    while i < len(groups):
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
