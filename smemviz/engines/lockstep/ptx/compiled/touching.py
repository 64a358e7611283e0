"""What compiled kernels call: to touch memory, which is read and written by its address, and for words of other lanes.

Whatever looks like a mistake in the kernel, or is not one for sure, ends the run as suspect: the machine in
``ptx.machine`` then says what it is.
"""

from typing import Any

import numba
import numpy as np

from smemviz.engines.lockstep.ptx.compiled import state as s
from smemviz.engines.lockstep.ptx.compiled.moving import (
    ALL_LANES,
    LANES,
    double_at,
    float_at,
    get,
    lowest,
    move,
    moved_otherwise,
    number_at,
    ones,
    put,
    put_double,
    put_float,
    put_number,
    put_short,
    shape_of,
    short_at,
)
from smemviz.model.counting.jit import called_by_address, compiled, inlined, pointer

_SHARED_WINDOW, _LOCAL_WINDOW, _WINDOW_END = 1 << 40, 2 << 40, 3 << 40
_NO_ADDRESS = 1 << 62
_CALLED = "int64(int64, int64, int64)"
_FEW = 8  # lanes, that go one by one


@compiled
def _space_of(address: int) -> int:
    if address >= _WINDOW_END or address < _SHARED_WINDOW:
        return s.GLOBAL
    return s.SHARED_SPACE if address < _LOCAL_WINDOW else s.LOCAL_SPACE


@compiled
def _combined(update: int, old: Any, value: Any) -> Any:
    """Return what an update of numbers leaves."""
    if update == s.ADD:
        return old + value
    if update == s.MIN:
        return value if value < old else old  # so what is not a number stays
    if update == s.MAX:
        return value if value > old else old
    return value


@compiled
def _combined_bits(update: int, old: np.uint64, value: np.uint64, other: np.uint64) -> np.uint64:
    """Return what an update of bits, or of unsigned numbers, leaves."""
    one, none = np.uint64(1), np.uint64(0)
    if update == s.SWAP:
        return other if old == value else old
    if update == s.INCREMENT:
        return none if old >= value else old + one
    if update == s.DECREMENT:
        return value if old == none or old > value else old - one
    if update == s.AND:
        return old & value
    if update == s.OR:
        return old | value
    if update == s.XOR:
        return old ^ value
    return np.uint64(_combined(update, old, value))


@compiled
def _change(operation: Any, place: int, first: int, second: int) -> None:
    """Change an element in memory; its operands are in memory too, and the old element takes the first one's place."""
    width, kind, update = operation[s.WIDTH], operation[s.TYPE], operation[s.UPDATE]
    old = get(place, width)
    if kind == s.FLOAT and width == 4 and update != s.EXCHANGE:
        put_float(place, np.float32(_combined(update, float_at(place), float_at(first))))
    elif kind == s.FLOAT and update != s.EXCHANGE:
        put_double(place, _combined(update, double_at(place), double_at(first)))
    elif kind == s.SIGNED and width == 4:
        put_short(place, np.int32(_combined(update, short_at(place), short_at(first))))
    elif kind == s.SIGNED:
        put_number(place, np.int64(_combined(update, number_at(place), number_at(first))))
    else:
        put(place, width, _combined_bits(update, old, get(first, width), get(second, width)))
    put(first, width, old)


@inlined
def _operation_of(state: Any, number: int) -> Any:
    place = state[s.OPERATIONS] + 8 * s.OPERATION_COLUMNS * number
    return numba.carray(pointer(place), (s.OPERATION_COLUMNS,), np.int64)


@inlined
def _pattern_of(state: Any, number: int) -> Any:
    place = state[s.PATTERNS] + 8 * s.PATTERN_COLUMNS * number
    return numba.carray(pointer(place), (s.PATTERN_COLUMNS,), np.int64)


@inlined
def _range(addresses: Any, mask: int, window: int, touched: Any) -> Any:
    """Return the lowest and the highest address of some lanes and the bits that any has; note them as a request."""
    low, high, bits = np.int64(_NO_ADDRESS), np.int64(-1), np.int64(0)
    if ones(mask) <= _FEW:
        for lane in range(LANES):
            touched[lane] = -1
        while mask:
            lane = lowest(mask)
            mask &= mask - 1
            touched[lane] = address = addresses[lane] - window
            low, high, bits = min(low, address), max(high, address), bits | address
        return low, high, bits
    for lane in range(LANES):
        on = -(mask >> lane & 1)  # without a branch, so that it becomes vector code
        address = (addresses[lane] - window) & on
        low = min(low, address | (~on & _NO_ADDRESS))
        high = max(high, address | ~on)
        bits |= address
        touched[lane] = address | ~on
    return low, high, bits


@compiled
def _learn(
    state: Any,
    number: int,
    addresses: Any,
    window: int,
    bounds: Any,
    base: int,
    site: int,
    shared: Any,
    watched: Any,
) -> Any:
    """Keep a request of all lanes as the pattern of its operation; returns its row, -1 where it is not worth it.

    ``bounds`` are of its lowest and highest address and of the memory that they are in, which is at ``base``.
    """
    pattern, operation = _pattern_of(state, number), _operation_of(state, number)
    size = operation[s.WIDTH] * operation[s.COUNT]
    row = state[s.LEARNT]
    if pattern[s.CREDIT] <= 0 or row >= s.MOST_PATTERNS:
        return np.int64(-1)
    kept = numba.carray(pointer(state[s.PATTERN_ROWS] + 8 * LANES * row), (LANES,), np.int64)
    for lane in range(LANES):
        kept[lane] = addresses[lane] - window
    put_number(state[s.PATTERN_TIMES] + 8 * row, np.int64(1))
    put_number(state[s.PATTERN_SITES] + 8 * row, np.int64(site))
    low, high, start, end = bounds
    unit = number_at(state[s.UNITS] + 8 * site)
    pattern[s.ROW], pattern[s.WINDOW], pattern[s.IS_SHARED], pattern[s.LOOKED_AT] = row, window, shared, watched
    pattern[s.FIRST_FROM] = start - (low - kept[0]) + window
    pattern[s.FIRST_TO] = end - size - (high - kept[0]) + window
    pattern[s.BASE] = base - window
    pattern[s.APART_BY] = ((1 << unit) - 1) | (min(size, 16) - 1)
    pattern[s.SHAPE] = shape_of(addresses, size)
    pattern[s.CREDIT] -= 1
    state[s.LEARNT] = row + 1
    return row


@inlined
def _note(
    state: Any, row: int, warp: int, site: int, changed: int, number: int, its_pattern: Any, lanes: Any, watched: Any
) -> None:
    """Note what is known of a request, the last one, but for its addresses."""
    known = numba.carray(pointer(state[s.META] + 8 * s.META_COLUMNS * row), (s.META_COLUMNS,), np.int64)
    of_warp = numba.carray(pointer(state[s.WARPS] + 8 * s.WARP_COLUMNS * warp), (s.WARP_COLUMNS,), np.int64)
    known[s.SITE], known[s.OF_BLOCK], known[s.OF_WARP] = site, state[s.BLOCK], warp
    known[s.STEP], known[s.EPOCH], known[s.PHASE] = of_warp[s.STEPS], of_warp[s.EPOCHS], of_warp[s.PHASES]
    known[s.CHANGED], known[s.OPERATION], known[s.PATTERN] = changed, number, its_pattern
    known[s.LANES], known[s.WATCHED] = lanes, watched
    of_warp[s.STEPS] += 1
    state[s.ROWS] = row + 1


@inlined
def _is_as_before(state: Any, number: int, addresses: Any) -> bool:
    """Let all lanes touch memory and count that, if they ask for what the operation's pattern has, moved."""
    pattern = _pattern_of(state, number)
    its_row, at = pattern[s.ROW], addresses[0]
    if its_row < 0 or at < pattern[s.FIRST_FROM] or at > pattern[s.FIRST_TO]:
        return False
    kept = state[s.PATTERN_ROWS] + 8 * LANES * its_row
    by = at - number_at(kept)
    if (by - pattern[s.WINDOW]) & pattern[s.APART_BY] | moved_otherwise(addresses.ctypes.data, kept, by):
        return False
    operation = _operation_of(state, number)
    kind, shared, row = operation[s.KIND], pattern[s.IS_SHARED], state[s.ROWS]
    values, base = state[s.SCRATCH] + s.FIRST, pattern[s.BASE]
    changed = move(
        kind, operation[s.WIDTH], operation[s.COUNT], ALL_LANES, base, 0, addresses, values, pattern[s.SHAPE]
    )
    if changed:
        state[s.IN_VAIN] = 0
        state[s.CHANGES] += 1
    if shared and kind != s.LOAD:
        state[s.STORES] = 1
    watched = np.int64(pattern[s.LOOKED_AT])
    put_number(state[s.ADDRESSES] + 8 * LANES * row, at - pattern[s.WINDOW])
    _note(state, row, state[s.WARP], -1, changed, number if shared else ~number, its_row, np.int64(ALL_LANES), watched)
    times = state[s.PATTERN_TIMES] + 8 * its_row
    put_number(times, number_at(times) + 1)
    pattern[s.CREDIT] = s.MOST_CREDIT
    return True


def _access(state_at: int, number: int, mask: int) -> int:
    """Let some lanes of the warp that runs touch memory, and note the request; returns whether all is well.

    Their addresses and what they store are in the scratch memory, and what they load is there afterwards.
    """
    if mask == 0:
        return s.GO_ON
    state = numba.carray(pointer(state_at), (s.TABLE,), np.int64)
    addresses = numba.carray(pointer(state[s.SCRATCH] + s.AT), (LANES,), np.int64)
    if state[s.LEARNS] and mask == ALL_LANES and _is_as_before(state, number, addresses):
        return s.GO_ON
    operation, warp = _operation_of(state, number), state[s.WARP]
    first, second = state[s.SCRATCH] + s.FIRST, state[s.SCRATCH] + s.SECOND
    kind, space, width, count = operation[s.KIND], operation[s.SPACE], operation[s.WIDTH], operation[s.COUNT]
    size = width * count
    row = state[s.ROWS]
    touched = numba.carray(pointer(state[s.ADDRESSES] + 8 * LANES * row), (LANES,), np.int64)
    window = 0
    if space == s.GENERIC:
        space = _space_of(addresses[lowest(mask)])  # of all lanes, or some would be out of bounds
        window = 0 if space == s.GLOBAL else _SHARED_WINDOW if space == s.SHARED_SPACE else _LOCAL_WINDOW
    low, high, bits = _range(addresses, mask, window, touched)
    if bits & (min(size, 16) - 1):
        return s.SUSPECT
    changed = 0
    stride = 0
    watched, lanes = np.int64(1), mask
    if space == s.GLOBAL:
        allocation, last = (low - s.FIRST_ADDRESS) >> 32, (high - s.FIRST_ADDRESS) >> 32
        if allocation < 0 or last >= state[s.ALLOCATIONS]:
            return s.SUSPECT
        memory = numba.carray(pointer(state[s.MEMORY]), (last + 1, s.ALLOCATION_COLUMNS), np.int64)
        start, end = memory[allocation, s.START], memory[allocation, s.START] + memory[allocation, s.NBYTES]
        base = memory[allocation, s.DATA] - start
        if allocation != last:  # lanes with memory of their own each
            while lanes:
                lane = lowest(lanes)
                lanes &= lanes - 1
                own = memory[(touched[lane] - s.FIRST_ADDRESS) >> 32]
                if touched[lane] < own[s.START] or touched[lane] + size > own[s.START] + own[s.NBYTES]:
                    return s.SUSPECT
            start, end, lanes = low, high + size, mask
        elif memory[allocation, s.MARKS] < 0:
            watched = np.int64(0)
    elif space == s.SHARED_SPACE:
        start, end = state[s.SHARED_START], state[s.SHARED_START] + state[s.SHARED_BYTES]
        base = state[s.SHARED] - start
    else:
        start, end = 0, state[s.LOCAL_BYTES]
        stride = end
        base = state[s.LOCAL] + warp * LANES * stride
    if low < start or high + size > end:
        return s.SUSPECT
    if kind == s.CHANGE or (space == s.GLOBAL and allocation != last):
        while lanes:
            lane = lowest(lanes)
            lanes &= lanes - 1
            if space == s.GLOBAL:
                own = memory[(touched[lane] - s.FIRST_ADDRESS) >> 32]
                base = own[s.DATA] - own[s.START]
            if kind == s.CHANGE:
                place = base + touched[lane] + stride * lane
                old = get(place, width)
                _change(operation, place, first + width * lane, second + width * lane)
                changed |= (old != get(place, width)) << lane
            else:
                changed |= move(kind, width, count, np.int64(1) << lane, base, stride, touched, first, s.ANY_SHAPE)
    else:
        changed = move(kind, width, count, mask, base, stride, touched, first, s.ANY_SHAPE)
    if changed and space != s.LOCAL_SPACE:
        state[s.IN_VAIN] = 0
        state[s.CHANGES] += 1
    site = operation[s.SHARED_SITE] if space == s.SHARED_SPACE else operation[s.GLOBAL_SITE]
    if space == s.LOCAL_SPACE or site < 0:
        return s.GO_ON
    if kind == s.STORE and count == 1 and space == s.SHARED_SPACE and not state[s.LEARNS]:
        stored = numba.carray(pointer(state[s.BITS] + 8 * LANES * row), (LANES,), np.uint64)
        lanes = mask
        while lanes:
            lane = lowest(lanes)
            lanes &= lanes - 1
            stored[lane] = get(first + width * lane, width)
    if space == s.SHARED_SPACE and kind != s.LOAD:
        state[s.STORES] = 1
    its_pattern = np.int64(-1)
    shared = space == s.SHARED_SPACE
    if state[s.LEARNS] and mask == ALL_LANES and kind != s.CHANGE and (shared or allocation == last):
        its_pattern = _learn(state, number, addresses, window, (low, high, start, end), base, site, shared, watched)
    its_site = site if its_pattern < 0 else -1
    _note(state, row, warp, its_site, changed, number if shared else ~number, its_pattern, mask, watched)
    return s.GO_ON


access = called_by_address(_access, _CALLED)


def _permute(state_at: int, _: int, __: int) -> int:
    """Give each lane the word of another, from and to scratch memory."""
    scratch = number_at(state_at + 8 * s.SCRATCH)
    words = numba.carray(pointer(scratch + s.FIRST), (LANES,), np.uint32)
    sources = numba.carray(pointer(scratch + s.SECOND), (LANES,), np.int32)
    before = words.copy()
    for lane in range(LANES):
        words[lane] = before[sources[lane]]
    return 0


permute = called_by_address(_permute, _CALLED)


def _match(state_at: int, _: int, mask: int) -> int:
    """Give each lane the lanes that have its 64 bits, from and to scratch memory."""
    scratch = number_at(state_at + 8 * s.SCRATCH)
    values = numba.carray(pointer(scratch + s.FIRST), (LANES,), np.int64).copy()
    words = numba.carray(pointer(scratch + s.FIRST), (LANES,), np.uint32)
    for lane in range(LANES):
        same = 0
        for other in range(LANES):
            same |= (values[other] == values[lane]) << other
        words[lane] = np.uint32(same & mask)
    return 0


match = called_by_address(_match, _CALLED)
