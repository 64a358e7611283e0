"""Whether requests may be mistakes of the kernel: races, and shared memory that is read before it is written.

Of each cell of memory it is kept which thread loaded, stored and updated it last, and when: of several threads that
nothing orders, only that there are several. That does for telling that all is well; what is not, ``hazards`` says.
"""

from __future__ import annotations

from typing import Any

from smemviz.engines.lockstep.ptx.compiled import state as s
from smemviz.model.counting.jit import compiled, inlined

_LANES = 32
_SEVERAL_BLOCKS = -1
_SEVERAL = -2  # threads of the block -2 - number
_SEVERAL_WARPS = -1
_PHASE_BITS = 12
_MOST_BARRIERS = 1 << 31 - _PHASE_BITS  # marks are of 32 bits
# Columns of a mark: the thread, counted from 1 through the grid; barriers and phases that it had passed; its warp.
_THREAD, _WHEN, _WARP, _COLUMNS = 0, 1, 2, 3
MARK_COLUMNS = 3 * _COLUMNS  # of a load, a store and an update


@inlined
def _is_apart(mark: Any, at: int, thread: int, block: int, warp: int, now: int, slots: int, of_block: bool) -> bool:
    """Whether another thread made a mark, and nothing orders the two; marks in shared memory are ``of_block``."""
    who = mark[at + _THREAD]
    if who == 0 or who == thread:
        return False
    if who == _SEVERAL_BLOCKS:
        return not of_block
    if (-who + _SEVERAL if who < 0 else (who - 1) // slots) != block:
        return not of_block
    when = mark[at + _WHEN]
    if when >> _PHASE_BITS < now >> _PHASE_BITS:
        return False
    return not (mark[at + _WARP] == warp and when < now)


@inlined
def _note(mark: Any, at: int, thread: int, block: int, warp: int, now: int, slots: int, of_block: bool) -> None:
    """Make a mark."""
    if _is_apart(mark, at, thread, block, warp, now, slots, of_block):
        who = mark[at + _THREAD]
        same_block = who != _SEVERAL_BLOCKS and (-who + _SEVERAL if who < 0 else (who - 1) // slots) == block
        mark[at + _THREAD] = _SEVERAL - block if same_block else _SEVERAL_BLOCKS
        if mark[at + _WARP] != warp:
            mark[at + _WARP] = _SEVERAL_WARPS
        mark[at + _WHEN] = max(now, mark[at + _WHEN])
    else:
        mark[at + _THREAD], mark[at + _WHEN], mark[at + _WARP] = thread, now, warp


@compiled
def settle(
    state: Any,
    meta: Any,
    addresses: Any,
    operations: Any,
    memory: Any,
    shared_marks: Any,
    written: Any,
    global_marks: Any,
    all_rows: bool,
) -> bool:
    """Look at the requests since the last barrier; returns whether all is well.

    ``all_rows`` looks at loads too where nothing has been stored yet.
    """
    slots, shared_start = state[s.SLOTS], state[s.SHARED_START]
    for row in range(state[s.SETTLED], state[s.ROWS]):
        known = meta[row]
        number = known[s.OPERATION]
        of_block = number >= 0
        if of_block and not all_rows and not state[s.STORES] and not state[s.UNWRITTEN]:
            continue
        operation = operations[number if of_block else ~number]
        kind = operation[s.KIND]
        # In global memory others see at once what is volatile; in shared memory that is a race all the same.
        effect = s.CHANGE if operation[s.STRONG] and not of_block else kind
        shift = state[s.CELL_SHIFT] if of_block else state[s.GLOBAL_SHIFT]
        parts = max(1, operation[s.WIDTH] * operation[s.COUNT] >> shift)
        block, warp = known[s.OF_BLOCK], known[s.OF_WARP]
        if known[s.EPOCH] >= _MOST_BARRIERS:
            return False
        now = known[s.EPOCH] << _PHASE_BITS | min(known[s.PHASE], (1 << _PHASE_BITS) - 1)
        for lane in range(_LANES):
            address = addresses[row, lane]
            if address < 0:
                continue
            changed = known[s.CHANGED] >> lane & 1
            if of_block:
                first = (address >> shift) - (shared_start >> shift)
                marks = shared_marks
            else:
                allocation = (address - s.FIRST_ADDRESS) >> 32
                offset = memory[allocation, s.MARKS]
                if offset < 0:
                    continue
                first = offset + ((address - memory[allocation, s.START]) >> shift)
                marks = global_marks
            thread = block * slots + warp * _LANES + lane + 1
            for cell in range(first, first + parts):
                if of_block and not written[cell]:
                    if kind != s.STORE and operation[s.UPDATE] != s.EXCHANGE:
                        return False
                    written[cell] = True
                    state[s.UNWRITTEN] -= 1
                mark = marks[cell]
                for other in range(3):
                    if other == effect and other != s.STORE:
                        continue
                    at = other * _COLUMNS
                    if not _is_apart(mark, at, thread, block, warp, now, slots, of_block):
                        continue
                    # To store what another has stored does no harm; in global memory, threads of two warps are told of.
                    of_warp = mark[at + _WARP] == warp and (mark[at + _THREAD] - 1) // slots == block
                    if other != s.STORE or effect != s.STORE or changed or not (of_block or of_warp):
                        return False
                _note(mark, effect * _COLUMNS, thread, block, warp, now, slots, of_block)
    state[s.SETTLED] = state[s.ROWS]
    return True
