"""Whether requests may be mistakes of the kernel: races, and shared memory that is read before it is written.

Of each cell of memory that one thread alone has touched, all at one time, or that several have only loaded, a number
says who, how and when. Of others marks say which thread loaded, stored and updated it last, and when: of several
threads that nothing orders, only that there are several. That does for telling that all is well; what is not,
``hazards`` says.
"""

from typing import Any

import numpy as np

from smemviz.engines.lockstep.ptx.compiled import state as s
from smemviz.engines.lockstep.ptx.compiled.moving import ALL_LANES, lowest
from smemviz.model.counting.jit import borrowed, compiled, inlined

_LANES = 32
# Cells of global memory: marks take 36 bytes each, and room for all is used where there are any.
_MOST_MARKED = 24 << 20
_SEVERAL_BLOCKS = -1
_SEVERAL = -2  # threads of the block -2 - number
_SEVERAL_WARPS = -1
_NO_WARP, _ANY_WARP = -2, -3
_PHASE_BITS = 8
_EPOCH_BITS = 20  # of the barriers that a thread has passed
# Columns of a mark: the thread, counted from 1 through the grid; barriers and phases that it had passed; its warp.
_THREAD, _WHEN, _WARP, _COLUMNS = 0, 1, 2, 3
MARK_COLUMNS = 3 * _COLUMNS  # of a load, a store and an update
# Bits of the number of a cell: what was done, a load, a store, an update; whether it has marks; when; and the thread.
# It is negative for several threads that have loaded, with the first thread of their warp, or 0 for several warps.
_DONE, _HAS_MARKS, _AT_WHEN, _AT_THREAD = 15, 1 << 3, 4, 32
_MOST_THREADS = (1 << 31) - 1
_SEVERAL_LOADED = -1 << 63


@inlined
def _is_apart(mark: Any, at: int, thread: int, first: int, block: int, warp: int, now: int, slots: int) -> bool:
    """Whether another thread made a mark, and nothing orders the two; ``first`` is the first thread of the block."""
    who = mark[at + _THREAD]
    if who == 0 or who == thread:
        return False
    if who != _SEVERAL - block and not first <= who < first + slots:
        return True
    when = mark[at + _WHEN]
    if when >> _PHASE_BITS < now >> _PHASE_BITS:
        return False
    return not (mark[at + _WARP] == warp and when < now)


@compiled
def _is_well(
    mark: Any, seen: int, effect: int, thread: int, first: int, block: int, now: int, slots: int, may_repeat: int
) -> bool:
    """Make a mark for an access to what ``seen`` tells others touch too; returns whether all is well.

    A store of what is there already does no harm: ``may_repeat`` is its warp, where another thread of that may have
    stored it, ``_ANY_WARP`` or ``_NO_WARP``.
    """
    warp = (thread - 1) // _LANES
    if not seen & _HAS_MARKS:
        who, when = seen >> _AT_THREAD & _MOST_THREADS, seen >> _AT_WHEN & (1 << _PHASE_BITS + _EPOCH_BITS) - 1
        for other in range(3):
            at = other * _COLUMNS
            mark[at + _THREAD] = 0 if not seen >> other & 1 else who if seen >= 0 else _SEVERAL - block
            mark[at + _WHEN], mark[at + _WARP] = when, (who - 1) // _LANES
    at = effect * _COLUMNS
    several = False
    for other in range(3):
        its = other * _COLUMNS
        if not _is_apart(mark, its, thread, first, block, warp, now, slots):
            continue
        several |= other == effect
        if other == s.STORE and effect == s.STORE:
            if may_repeat != _ANY_WARP and may_repeat != mark[its + _WARP]:
                return False
        elif other != effect:
            return False
    if several:
        who = mark[at + _THREAD]
        is_here = who == _SEVERAL - block or first <= who < first + slots
        mark[at + _THREAD] = _SEVERAL - block if is_here else _SEVERAL_BLOCKS
        if mark[at + _WARP] != warp:
            mark[at + _WARP] = _SEVERAL_WARPS
        mark[at + _WHEN] = max(now, mark[at + _WHEN])
    else:
        mark[at + _THREAD], mark[at + _WHEN], mark[at + _WARP] = thread, now, warp
    return True


@inlined
def _loaded_too(seen: int, mine: int, first_of_warp: int) -> int:
    """Return the number of a cell that others had only loaded, when a thread loads it too; ``mine`` is of it alone."""
    who = seen >> _AT_THREAD & _MOST_THREADS
    its_warp = (who - 1 & -_LANES) + 1 if who else 0
    low = (1 << _AT_THREAD) - 1
    warp = its_warp if its_warp == first_of_warp else 0
    return _SEVERAL_LOADED | warp << _AT_THREAD | max(seen & low, mine & low)


@inlined
def _followed(seen: int, mine: int, effect: int, epoch: int, loads: bool, first_of_warp: int) -> int:
    """Return the number of a cell after an access, 0 where marks have to tell whether all is well.

    ``mine`` is that of a cell which the thread alone touches, now. What was before the ``epoch`` is over; ``loads`` may
    be of cells that others have loaded too.
    """
    by_one = 1 << effect
    fresh = (seen == 0) | (seen >> _AT_WHEN + _PHASE_BITS & (1 << _EPOCH_BITS) - 1 < epoch)
    same = ((seen ^ mine) >> _AT_WHEN == 0) & (seen & _HAS_MARKS == 0)
    own = ((seen ^ mine) >> _AT_THREAD == 0) & (seen & _DONE == by_one)
    together = loads & (seen & _DONE == by_one)
    if fresh | own:
        return mine
    if same:
        return seen | mine
    return _loaded_too(seen, mine, first_of_warp) if together else 0


@compiled
def _settle_neighbours(
    addresses: Any,
    first: int,
    shift: int,
    cells: Any,
    written: Any,
    unwritten: int,
    first_of_warp: int,
    now: int,
    effect: int,
    epoch: int,
    loads: bool,
) -> bool:
    """Settle a request of 32 lanes that touch a cell each, side by side, where all is well; returns whether it did.

    ``epoch`` and ``loads`` are as ``_followed`` has them.
    """
    odd = np.int64(0)
    for lane in range(_LANES):
        odd |= addresses[lane] - addresses[0] - (lane << shift)
    if odd:
        return False
    cells = cells[first : first + _LANES]
    if unwritten:
        written = written[first : first + _LANES]
        for lane in range(_LANES):
            odd |= not written[lane]
    base = first_of_warp << _AT_THREAD | now << _AT_WHEN | 1 << effect
    for lane in range(_LANES):
        odd |= _followed(cells[lane], base + (lane << _AT_THREAD), effect, epoch, loads, first_of_warp) == 0
    if odd:
        return False
    for lane in range(_LANES):
        cells[lane] = _followed(cells[lane], base + (lane << _AT_THREAD), effect, epoch, loads, first_of_warp)
    return True


@compiled
def settle(
    state: Any,
    meta: Any,
    addresses: Any,
    operations: Any,
    memory: Any,
    shared_cells: Any,
    shared_marks: Any,
    written: Any,
    global_cells: Any,
    global_marks: Any,
    patterns: Any,
    all_rows: Any,
) -> bool:
    """Look at the requests since the last barrier; returns whether all is well.

    ``all_rows`` looks at loads too where nothing has been stored yet.
    """
    meta, addresses, operations, memory = borrowed(meta), borrowed(addresses), borrowed(operations), borrowed(memory)
    shared_cells, global_cells, written = borrowed(shared_cells), borrowed(global_cells), borrowed(written)
    shared_marks, global_marks, patterns = borrowed(shared_marks), borrowed(global_marks), borrowed(patterns)
    slots, shared_start = state[s.SLOTS], state[s.SHARED_START]
    for row in range(state[s.SETTLED], state[s.ROWS]):
        number, epoch = meta[row, s.OPERATION], meta[row, s.EPOCH]
        of_block, lanes = number >= 0, meta[row, s.LANES]
        if not meta[row, s.WATCHED]:
            continue
        if of_block and all_rows == 0 and not state[s.STORES] and not state[s.UNWRITTEN]:
            continue
        if meta[row, s.PATTERN] >= 0:  # of which the address of the first lane is there
            kept = patterns[meta[row, s.PATTERN]]
            by = addresses[row, 0] - kept[0]
            for lane in range(_LANES):
                addresses[row, lane] = kept[lane] + by
        if epoch >= 1 << _EPOCH_BITS:
            return False
        operation = operations[number if of_block else ~number]
        kind = operation[s.KIND]
        # In global memory others see at once what is volatile; in shared memory that is a race all the same.
        effect = s.CHANGE if operation[s.STRONG] and not of_block else kind
        shift = state[s.CELL_SHIFT] if of_block else state[s.GLOBAL_SHIFT]
        parts = max(1, operation[s.WIDTH] * operation[s.COUNT] >> shift)
        block, changed = meta[row, s.OF_BLOCK], meta[row, s.CHANGED]
        first_thread = block * slots + 1
        first_of_warp = first_thread + meta[row, s.OF_WARP] * _LANES
        now = epoch << _PHASE_BITS | min(meta[row, s.PHASE], (1 << _PHASE_BITS) - 1)
        cells, marks = (shared_cells, shared_marks) if of_block else (global_cells, global_marks)
        known_allocation, offset, start = np.int64(-1), np.int64(0), shared_start >> shift
        its = addresses[row]
        over: Any = epoch if of_block else np.int64(0)  # what is in shared memory since before a barrier
        loads = of_block and effect == s.LOAD
        if parts == 1 and lanes == ALL_LANES:
            first, unwritten = (its[0] >> shift) - start, state[s.UNWRITTEN]
            if not of_block:
                piece = memory[(its[0] - s.FIRST_ADDRESS) >> 32]
                first, unwritten = piece[s.MARKS] + ((its[0] - piece[s.START]) >> shift), 0
            if first >= 0 and _settle_neighbours(
                its, first, shift, cells, written, unwritten, first_of_warp, now, effect, over, loads
            ):
                continue
        while lanes:
            lane = lowest(lanes)
            lanes &= lanes - 1
            address = its[lane]
            if kind == s.LOAD and 0 < lane < _LANES - 1 and its[lane - 1] == address == its[lane + 1]:
                continue
            first = (address >> shift) - start
            if not of_block:
                allocation = (address - s.FIRST_ADDRESS) >> 32
                if allocation != known_allocation:
                    known_allocation, offset = allocation, memory[allocation, s.MARKS]
                    start = memory[allocation, s.START]
                if offset < 0:
                    continue
                first = offset + ((address - start) >> shift)
            thread = first_of_warp + lane
            mine = thread << _AT_THREAD | now << _AT_WHEN | 1 << effect
            for cell in range(first, first + parts):
                if of_block and not written[cell]:
                    if kind != s.STORE and operation[s.UPDATE] != s.EXCHANGE:
                        return False
                    written[cell] = True
                    state[s.UNWRITTEN] -= 1
                seen = cells[cell]
                after = _followed(seen, mine, effect, over, loads, first_of_warp)
                if after:
                    cells[cell] = after
                    continue
                if not of_block and not seen & _HAS_MARKS:
                    state[s.MARKED] += 1
                    if state[s.MARKED] > _MOST_MARKED:
                        return False
                repeats = _NO_WARP if changed >> lane & 1 else _ANY_WARP if of_block else (thread - 1) // _LANES
                if not _is_well(marks[cell], seen, effect, thread, first_thread, block, now, slots, repeats):
                    return False
                cells[cell] = mine | _HAS_MARKS
    state[s.SETTLED] = state[s.ROWS]
    return True


@compiled
def touch_apart(cells: Any, others: Any) -> bool:
    """Add the cells of global memory that other blocks have touched; returns whether none is stored by one of both."""
    stores = 1 << s.STORE | 1 << s.CHANGE | _HAS_MARKS
    for cell in range(len(cells)):
        if others[cell]:
            if cells[cell] and (cells[cell] | others[cell]) & stores:
                return False
            cells[cell] |= others[cell]
    return True
