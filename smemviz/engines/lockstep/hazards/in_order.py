"""What threads did to an allocation one request after the other, noted at once: as each would be by itself.

This imports Numba, so import it late.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from smemviz.model.counting.jit import compiled, inlined
from smemviz.recordings.data import WARP_SIZE

Numbers = NDArray[Any]
LOAD, STORE, UPDATE = range(3)
UNKNOWN, KNOWN, FINAL = range(3)  # what there is to say of a race
_SEVERAL = -1


class Did(NamedTuple):
    """Accesses of cells in their order, all (k,): those of a ``row`` were made at once, in the order of the threads.

    ``before`` is what was in the cell, and ``after`` what a store has stored.
    """

    row: Numbers
    site: Numbers
    thread: Numbers
    cell: Numbers
    before: Numbers
    after: Numbers


class State(NamedTuple):
    """What is known of the cells of an allocation; (3, cells) is by the kind of access.

    ``numbers`` are the last executions by the owner, ``low`` and ``high`` who did something to a cell of several
    threads, by the executions ``low_by`` and ``high_by``. ``seen`` is the last row that touched a cell, ``content``
    what was in it before, ``last`` the place of the last access. ``marked`` tells what was done to cells of several.
    """

    owner: Numbers
    numbers: Numbers
    low: Numbers
    high: Numbers
    low_by: Numbers
    high_by: Numbers
    seen: Numbers
    content: Numbers
    last: Numbers
    marked: Numbers


class Order(NamedTuple):
    """What orders threads, and what is known of races: ``first`` is how many threads are before those of the batch.

    ``block`` tells of each thread of the batch in which block of it that is. ``warp_synced`` is empty where no warp has
    passed a barrier. ``effect`` is that of each site, ``races`` what there is to say of two of them, and ``benign`` of
    which it was said that two threads store the same there. The execution that stored last in cells of several threads
    before all this is that of ``stored_cell`` and ``stored_thread``.
    """

    first: int
    block: Numbers
    synced: Numbers
    warp_synced: Numbers
    grid_synced: int
    is_ordered: bool
    effect: Numbers
    races: Numbers
    benign: Numbers
    executed: Numbers
    stored_cell: Numbers
    stored_thread: Numbers


@compiled
def note(did: Did, state: State, order: Order, base: int, begin: int, several: Numbers, stored: Numbers) -> int:
    """Note rows from place ``begin`` on; return the place of the first of which there is something to say, or the end.

    Of that row only who owns the cells is noted; ``several`` tells which of them have several threads. Row r has the
    number ``base`` + r. ``stored`` is the number of the execution that stored last in cells of several threads, and
    where it begins and ends, -1 of one before all this.
    """
    i = last = begin
    any_several = False
    while i < len(did.row):
        j = i
        while j < len(did.row) and did.row[j] == did.row[i]:
            j += 1
        effect, number = order.effect[did.site[i]], base + did.row[i]
        if effect != STORE and _are_among(did, last, i, j, several):
            for k in range(i, j):
                if not several[k]:
                    state.numbers[effect, did.cell[k]] = number
            if any_several:
                _mark(did, state, order, number, i, j, effect, several)
            last, i = i, j
            continue
        any_several = False
        for k in range(i, j):
            cell, thread = did.cell[k], did.thread[k]
            owner = state.owner[cell]
            if owner == 0:
                state.owner[cell] = thread
            elif owner != thread and owner != _SEVERAL:
                _hand_over(state, cell, owner)
        for k in range(i, j):
            cell = did.cell[k]
            several[k] = state.owner[cell] == _SEVERAL
            any_several |= several[k]
            if not several[k]:
                state.numbers[effect, cell] = number
            elif state.seen[cell] != number:
                state.seen[cell], state.content[cell], state.last[cell] = number, did.before[k], -1
        if any_several:
            if _has_something_to_say(did, state, order, base, i, j, effect, several, stored):
                return i
            _mark(did, state, order, number, i, j, effect, several)
            if effect == STORE:
                stored[0], stored[1], stored[2] = number, i, j
        last, i = i, j
    return i


@inlined
def _are_among(did: Did, last: int, i: int, j: int, several: Numbers) -> bool:
    """Tell whether a row does again some of what the row before it did, which began at place ``last``.

    Then there is no more to say of it, and the same cells have ``several`` threads.
    """
    if last == i or did.site[last] != did.site[i]:
        return False
    k = i
    for before in range(last, i):
        if k < j and did.thread[before] == did.thread[k] and did.cell[before] == did.cell[k]:
            several[k] = several[before] > 0
            k += 1
    return k == j


@inlined
def _hand_over(state: State, cell: int, owner: int) -> None:
    """Make a cell that of several threads, with what its owner did."""
    for effect in range(3):
        number = state.numbers[effect, cell]
        if number > 0:
            state.marked[effect] = True
            state.low[effect, cell], state.high[effect, cell] = owner, owner
            state.low_by[effect, cell], state.high_by[effect, cell] = number, number
    state.owner[cell] = _SEVERAL


@inlined
def _has_something_to_say(
    did: Did,
    state: State,
    order: Order,
    base: int,
    i: int,
    j: int,
    effect: int,
    several: Numbers,
    stored: Numbers,
) -> bool:
    site = did.site[i]
    for k in range(i, j):
        if not several[k]:
            continue
        cell, thread = did.cell[k], did.thread[k]
        for earlier in range(3):
            if earlier == effect and effect != STORE:
                continue
            for is_high in range(1 if earlier == STORE else 2):
                other = state.high[earlier, cell] if is_high else state.low[earlier, cell]
                then = state.high_by[earlier, cell] if is_high else state.low_by[earlier, cell]
                if other == 0 or other == thread:
                    continue
                if effect == STORE and earlier == STORE and state.content[cell] == did.after[k]:
                    is_worth_a_word = not order.benign[site] and _are_apart(other, thread)
                    if is_worth_a_word and _are_unordered(order, other, then, thread):
                        return True
                    continue
                if not _is_new(order, order.executed[then], site, other, thread):
                    continue
                if earlier == STORE and effect != STORE and _has_stored_too(did, order, stored, cell, thread, then):
                    continue
                if _are_unordered(order, other, then, thread):
                    return True
        if effect == STORE:
            before = state.last[cell]
            if before >= 0:
                other = did.thread[before]
                if did.after[before] != did.after[k]:
                    if _is_new(order, site, site, other, thread):
                        return True
                elif not order.benign[site] and _are_apart(other, thread):
                    return True
            state.last[cell] = k
    return False


@inlined
def _is_new(order: Order, earlier: int, site: int, other: int, thread: int) -> bool:
    """Tell whether there is something to say of a race that is not said yet."""
    known = order.races[earlier, site]
    return known == UNKNOWN or (known == KNOWN and _block(order, other) != _block(order, thread))


@inlined
def _block(order: Order, thread: int) -> int:
    """Return which block of the batch a thread is in, -1 for one that came before."""
    place = thread - 1 - order.first
    return int(order.block[place]) if place >= 0 else -1


@inlined
def _are_apart(other: int, thread: int) -> bool:
    """Tell whether two threads are of two warps."""
    return (other - 1) // WARP_SIZE != (thread - 1) // WARP_SIZE


@inlined
def _has_stored_too(did: Did, order: Order, stored: Numbers, cell: int, thread: int, then: int) -> bool:
    """Tell whether a thread took part in the last execution that stored in cells of several threads."""
    if then != stored[0]:
        return False
    cells, threads = did.cell[stored[1] : stored[2]], did.thread[stored[1] : stored[2]]
    if stored[1] < 0:
        cells, threads = order.stored_cell, order.stored_thread
    took_part = False
    for k in range(len(cells)):
        took_part |= cells[k] == cell and threads[k] == thread
    return took_part


@inlined
def _are_unordered(order: Order, other: int, then: int, thread: int) -> bool:
    """Tell whether nothing orders what a thread does now after what another did."""
    if other == 0 or other == thread or then <= order.grid_synced:
        return False
    block = _block(order, thread)
    if _block(order, other) != block:
        return True
    if then <= order.synced[block]:
        return False
    if len(order.warp_synced) and not _are_apart(other, thread):
        passed = order.warp_synced[other - 1 - order.first], order.warp_synced[thread - 1 - order.first]
        return bool(then > min(passed[0], passed[1]))
    return True


@inlined
def _mark(did: Did, state: State, order: Order, number: int, i: int, j: int, effect: int, several: Numbers) -> None:
    """Note a row of which there is nothing to say."""
    if effect == STORE:
        for k in range(i, j):
            cell = did.cell[k]
            if several[k] and state.content[cell] != did.after[k]:
                for other in (LOAD, UPDATE):
                    state.low[other, cell], state.high[other, cell] = 0, 0
    elif order.is_ordered and state.marked[effect]:
        for k in range(i, j):
            cell, thread = did.cell[k], did.thread[k]
            low = _are_unordered(order, state.low[effect, cell], state.low_by[effect, cell], thread)
            high = _are_unordered(order, state.high[effect, cell], state.high_by[effect, cell], thread)
            if several[k] and not low and not high:
                several[k] = 2
        for k in range(i, j):
            if several[k] == 2:
                state.low[effect, did.cell[k]], state.high[effect, did.cell[k]] = 0, 0
    state.marked[effect] = True
    for k in range(i, j):
        if not several[k]:
            continue
        cell, thread = did.cell[k], did.thread[k]
        if effect == STORE or state.low[effect, cell] == 0 or thread <= state.low[effect, cell]:
            state.low[effect, cell], state.low_by[effect, cell] = thread, number
        if effect != STORE and thread >= state.high[effect, cell]:
            state.high[effect, cell], state.high_by[effect, cell] = thread, number
