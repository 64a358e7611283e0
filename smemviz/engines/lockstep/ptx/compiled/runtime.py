"""What compiled kernels call, and the loops that run a block of the grid: its warps in turn, each until it waits.

Memory is read and written by its address. Whatever looks like a mistake in the kernel, or is not one for sure, ends the
run as suspect: the machine in ``ptx.machine`` then says what it is.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import cgutils
from numba.extending import intrinsic

from smemviz.engines.lockstep.ptx.compiled import state as s
from smemviz.engines.lockstep.ptx.compiled.settling import settle
from smemviz.model.counting.jit import called_by_address, compiled

_SHARED_WINDOW, _LOCAL_WINDOW, _WINDOW_END = 1 << 40, 2 << 40, 3 << 40
_LANES = 32
_CALLED = "int64(int64, int64, int64)"
OF_BLOCK, OF_WARP = 1, 2  # what a lane waits at


@intrinsic  # type: ignore[untyped-decorator]
def _pointer(typing_context: Any, address: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return numba.types.voidptr(address), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _visit(
    typing_context: Any, kernel: Any, state: Any, at: Any, registers: Any, block: Any, mask: Any, limit: Any
) -> Any:
    """Call a compiled kernel at an address."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = cgutils.ir.IntType(64)
        kind = cgutils.ir.FunctionType(number, [number] * 6)
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    whole = numba.types.int64
    return whole(*[whole] * 7), codegen


def _reading(kind: Any) -> Any:
    """Return what reads one number of a type of Numba at an address."""

    @intrinsic  # type: ignore[untyped-decorator]
    def read(typing_context: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            whole = context.get_value_type(kind)
            return builder.load(builder.inttoptr(arguments[0], whole.as_pointer()), align=kind.bitwidth // 8)

        return kind(address), codegen

    return read


def _writing(kind: Any) -> Any:
    """Return what writes one number of a type of Numba at an address."""

    @intrinsic  # type: ignore[untyped-decorator]
    def write(typing_context: Any, address: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            whole = context.get_value_type(kind)
            place = builder.inttoptr(arguments[0], whole.as_pointer())
            builder.store(arguments[1], place, align=kind.bitwidth // 8)
            return context.get_dummy_value()

        return numba.types.void(address, kind), codegen

    return write


_byte, _half, _word, _long = (_reading(getattr(numba.types, f"uint{bits}")) for bits in (8, 16, 32, 64))
_put_byte, _put_half, _put_word, _put_long = (_writing(getattr(numba.types, f"uint{bits}")) for bits in (8, 16, 32, 64))
_short, _number = _reading(numba.types.int32), _reading(numba.types.int64)
_put_short, _put_number = _writing(numba.types.int32), _writing(numba.types.int64)
_float, _double = _reading(numba.types.float32), _reading(numba.types.float64)
_put_float, _put_double = _writing(numba.types.float32), _writing(numba.types.float64)


@compiled
def _space_of(address: int) -> int:
    if address >= _WINDOW_END or address < _SHARED_WINDOW:
        return s.GLOBAL
    return s.SHARED_SPACE if address < _LOCAL_WINDOW else s.LOCAL_SPACE


@compiled
def _get(address: int, width: int) -> Any:
    if width == 4:
        return np.uint64(_word(address))
    if width == 8:
        return _long(address)
    return np.uint64(_half(address)) if width == 2 else np.uint64(_byte(address))


@compiled
def _put(address: int, width: int, value: np.uint64) -> None:
    if width == 4:
        _put_word(address, np.uint32(value))
    elif width == 8:
        _put_long(address, value)
    elif width == 2:
        _put_half(address, np.uint16(value))
    else:
        _put_byte(address, np.uint8(value))


@compiled
def _combined(update: int, old: Any, value: Any) -> Any:
    """Return what an update of numbers leaves."""
    if update == s.ADD:
        return old + value
    if update == s.MIN:
        return min(old, value)
    if update == s.MAX:
        return max(old, value)
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
    old = _get(place, width)
    if kind == s.FLOAT and width == 4 and update != s.EXCHANGE:
        _put_float(place, np.float32(_combined(update, _float(place), _float(first))))
    elif kind == s.FLOAT and update != s.EXCHANGE:
        _put_double(place, _combined(update, _double(place), _double(first)))
    elif kind == s.SIGNED and width == 4:
        _put_short(place, np.int32(_combined(update, _short(place), _short(first))))
    elif kind == s.SIGNED:
        _put_number(place, np.int64(_combined(update, _number(place), _number(first))))
    else:
        _put(place, width, _combined_bits(update, old, _get(first, width), _get(second, width)))
    _put(first, width, old)


@compiled
def _range(addresses: Any, mask: int, window: int, touched: Any) -> Any:
    """Return the lowest and the highest address of some lanes and the bits that any has; note them as a request."""
    low, high, bits = np.int64(1) << 62, np.int64(-1), np.int64(0)
    for lane in range(_LANES):
        address = addresses[lane] - window
        on = mask >> lane & 1
        low = min(low, address if on else low)
        high = max(high, address if on else high)
        bits |= address if on else 0
        touched[lane] = address if on else -1
    return low, high, bits


@compiled
def _move(kind: int, width: int, count: int, mask: Any, base: int, stride: int, touched: Any, values: int) -> int:
    """Load or store what some lanes ask for, all in one piece of memory; returns the lanes that changed something."""
    changed = 0
    if width == 4 and count == 1 and kind == s.LOAD and not stride:
        for lane in range(_LANES):
            if mask >> lane & 1:
                _put_word(values + 4 * lane, _word(base + touched[lane]))
        return 0
    for lane in range(_LANES):
        if not mask >> lane & 1:
            continue
        place = base + touched[lane] + stride * lane
        for piece in range(count):
            value_at = values + width * (piece * _LANES + lane)
            if kind == s.LOAD:
                _put(value_at, width, _get(place + width * piece, width))
            else:
                value = _get(value_at, width)
                changed |= (_get(place + width * piece, width) != value) << lane
                _put(place + width * piece, width, value)
    return changed


def _access(state_at: int, number: int, mask: int) -> int:
    """Let some lanes of the warp that runs touch memory, and note the request; returns whether all is well.

    Their addresses and what they store are in the scratch memory, and what they load is there afterwards.
    """
    if mask == 0:
        return s.GO_ON
    state = numba.carray(_pointer(state_at), (s.TABLE,), np.int64)
    operation = numba.carray(
        _pointer(state[s.OPERATIONS] + 8 * s.OPERATION_COLUMNS * number), (s.OPERATION_COLUMNS,), np.int64
    )
    warp = state[s.WARP]
    addresses = numba.carray(_pointer(state[s.SCRATCH] + s.AT), (_LANES,), np.int64)
    first, second = state[s.SCRATCH] + s.FIRST, state[s.SCRATCH] + s.SECOND
    kind, space, width, count = operation[s.KIND], operation[s.SPACE], operation[s.WIDTH], operation[s.COUNT]
    size = width * count
    row = state[s.ROWS]
    touched = numba.carray(_pointer(state[s.ADDRESSES] + 8 * _LANES * row), (_LANES,), np.int64)
    low, high, bits = _range(addresses, mask, 0, touched)
    if space == s.GENERIC:
        space = _space_of(low)
        if _space_of(high) != space:
            return s.SUSPECT
        if space != s.GLOBAL:
            window = _SHARED_WINDOW if space == s.SHARED_SPACE else _LOCAL_WINDOW
            low, high, bits = _range(addresses, mask, window, touched)
    if bits & (min(size, 16) - 1):
        return s.SUSPECT
    changed = 0
    stride = 0
    if space == s.GLOBAL:
        allocation, last = (low - s.FIRST_ADDRESS) >> 32, (high - s.FIRST_ADDRESS) >> 32
        if allocation < 0 or last >= state[s.ALLOCATIONS]:
            return s.SUSPECT
        memory = numba.carray(_pointer(state[s.MEMORY]), (last + 1, s.ALLOCATION_COLUMNS), np.int64)
        start, end = memory[allocation, s.START], memory[allocation, s.START] + memory[allocation, s.NBYTES]
        base = memory[allocation, s.DATA] - start
        if allocation != last:  # lanes with memory of their own each
            for lane in range(_LANES):
                if mask >> lane & 1:
                    own = memory[(touched[lane] - s.FIRST_ADDRESS) >> 32]
                    if touched[lane] < own[s.START] or touched[lane] + size > own[s.START] + own[s.NBYTES]:
                        return s.SUSPECT
            start, end = low, high + size
    elif space == s.SHARED_SPACE:
        start, end = state[s.SHARED_START], state[s.SHARED_START] + state[s.SHARED_BYTES]
        base = state[s.SHARED] - start
    else:
        start, end = 0, state[s.LOCAL_BYTES]
        stride = end
        base = state[s.LOCAL] + warp * _LANES * stride
    if low < start or high + size > end:
        return s.SUSPECT
    if kind == s.CHANGE or (space == s.GLOBAL and allocation != last):
        for lane in range(_LANES):
            if mask >> lane & 1:
                if space == s.GLOBAL:
                    own = memory[(touched[lane] - s.FIRST_ADDRESS) >> 32]
                    base = own[s.DATA] - own[s.START]
                if kind == s.CHANGE:
                    place = base + touched[lane] + stride * lane
                    old = _get(place, width)
                    _change(operation, place, first + width * lane, second + width * lane)
                    changed |= (old != _get(place, width)) << lane
                else:
                    changed |= _move(kind, width, count, np.int64(1) << lane, base, stride, touched, first)
    else:
        changed = _move(kind, width, count, mask, base, stride, touched, first)
    if changed and space != s.LOCAL_SPACE:
        state[s.IN_VAIN] = 0
        state[s.CHANGES] += 1
    site = operation[s.SHARED_SITE] if space == s.SHARED_SPACE else operation[s.GLOBAL_SITE]
    if space == s.LOCAL_SPACE or site < 0:
        return s.GO_ON
    if kind == s.STORE and count == 1 and space == s.SHARED_SPACE:
        stored = numba.carray(_pointer(state[s.BITS] + 8 * _LANES * row), (_LANES,), np.uint64)
        for lane in range(_LANES):
            stored[lane] = _get(first + width * lane, width)
    known = numba.carray(_pointer(state[s.META] + 8 * s.META_COLUMNS * row), (s.META_COLUMNS,), np.int64)
    of_warp = numba.carray(_pointer(state[s.WARPS] + 8 * s.WARP_COLUMNS * warp), (s.WARP_COLUMNS,), np.int64)
    known[s.SITE], known[s.OF_BLOCK], known[s.OF_WARP] = site, state[s.BLOCK], warp
    known[s.STEP], known[s.EPOCH], known[s.PHASE] = of_warp[s.STEPS], of_warp[s.EPOCHS], of_warp[s.PHASES]
    known[s.CHANGED], known[s.OPERATION] = changed, number if space == s.SHARED_SPACE else ~number
    of_warp[s.STEPS] += 1
    if space == s.SHARED_SPACE and kind != s.LOAD:
        state[s.STORES] = 1
    state[s.ROWS] = row + 1
    return s.GO_ON


access = called_by_address(_access, _CALLED)


@compiled
def _begin(
    state: Any, at: Any, why: Any, registers: Any, shared: Any, local: Any, written: Any, warps: Any, free: Any
) -> None:
    """Set up the next block of the grid."""
    block = state[s.BLOCK]
    for axis in range(3):
        state[s.AXES + 3 + axis] = block % state[s.AXES + axis]
        block //= state[s.AXES + axis]
    for warp in range(at.shape[0]):
        for lane in range(_LANES):
            at[warp, lane] = 0 if warp * _LANES + lane < state[s.THREADS] else state[s.END]
    why[:] = 0
    registers[:] = 0
    shared[:] = 0
    local[:] = 0
    warps[:] = 0
    written[:] = free
    state[s.UNWRITTEN] = len(free) - free.sum()
    state[s.STARTED], state[s.STORES], state[s.LATEST_EXIT], state[s.WAITS_AT] = 1, 0, -1, -1


@compiled
def _pass_barrier(
    state: Any, at: Any, why: Any, places: Any, tests: Any, registers: Any, warps: Any, operations: Any
) -> bool:
    """Let a block pass its barrier where all its threads have come; returns whether all is well."""
    number = -1
    last = np.int64(0)
    total = yes = 0
    for warp in range(at.shape[0]):
        for lane in range(_LANES):
            if at[warp, lane] >= state[s.END]:
                continue
            barrier = operations[places[warp, lane]]
            if number >= 0 and (operations[last, s.PLACE] != barrier[s.PLACE] or why[warp, lane] != number):
                return False
            number, last = why[warp, lane], np.int64(places[warp, lane])
            total += 1
            yes += tests[warp] >> lane & 1
    if number < OF_BLOCK or state[s.LATEST_EXIT] > state[s.WAITS_AT]:
        return False
    barrier = operations[last]
    reduction, result = barrier[s.REDUCTION], barrier[s.RESULT]
    value = yes if reduction == s.COUNTS else yes == total if reduction == s.ALL else yes > 0
    for warp in range(at.shape[0]):
        passing = 0
        for lane in range(_LANES):
            passing |= (why[warp, lane] != 0) << lane
            if why[warp, lane] and reduction and barrier[s.IS_COUNT]:
                _put(registers[warp].ctypes.data + result + 4 * lane, 4, np.uint64(value))
            why[warp, lane] = 0
        if reduction and not barrier[s.IS_COUNT]:
            where = registers[warp].ctypes.data + result
            kept = np.int64(_get(where, 4)) & ~passing
            _put(where, 4, np.uint64(kept | (passing if value else 0)))
        warps[warp, s.EPOCHS] += passing != 0
        warps[warp, s.PHASES] = 0
    tests[:] = 0
    state[s.STORES], state[s.LATEST_EXIT], state[s.WAITS_AT] = 0, -1, -1
    return True


@compiled
def _pass_of_warp(state: Any, at: Any, why: Any) -> bool:
    """Let a warp pass its barrier where all its threads have come; returns whether it does."""
    waits = False
    for lane in range(_LANES):
        if at[lane] < state[s.END]:
            if why[lane] != OF_WARP:
                return False
            waits = True
    why[:] = 0
    return waits


@compiled
def _run_warp(
    kernel: int, warp: int, state: Any, at: Any, why: Any, places: Any, tests: Any, registers: Any, warps: Any
) -> Any:
    """Run a warp until it waits for others, or has ended: of its threads those at the lowest block go first."""
    end = state[s.END]
    state[s.WARP], state[s.IN_VAIN] = warp, 0
    while True:
        lowest, limit = end, end
        for lane in range(_LANES):
            if not why[lane]:
                lowest = min(lowest, at[lane])
        if lowest >= end:
            if not _pass_of_warp(state, at, why):
                return s.GO_ON
            warps[warp, s.PHASES] += 1
            continue
        mask = 0
        for lane in range(_LANES):
            if not why[lane]:
                if at[lane] == lowest:
                    mask |= 1 << lane
                else:
                    limit = min(limit, at[lane])
        fuel = state[s.FUEL]
        result = _visit(
            np.int64(kernel),
            np.int64(state.ctypes.data),
            np.int64(at.ctypes.data),
            np.int64(registers.ctypes.data),
            np.int64(lowest),
            np.int64(mask),
            np.int64(limit),
        )
        warps[warp, s.VISITS] += fuel - state[s.FUEL]
        if result == s.WAIT or result == s.WAIT_WARP:
            barrier = state[s.BARRIER]
            for lane in range(_LANES):
                if mask >> lane & 1:
                    why[lane] = OF_WARP if result == s.WAIT_WARP else OF_BLOCK + state[s.NUMBER_OF_BARRIER]
                    places[lane] = barrier
            if result == s.WAIT:
                tests[warp] |= state[s.TEST] & mask
                state[s.WAITS_AT] = max(state[s.WAITS_AT], state[s.LAST])
        elif result != s.GO_ON:
            return result
        else:
            for lane in range(_LANES):
                if mask >> lane & 1 and at[lane] >= end:
                    state[s.LATEST_EXIT] = max(state[s.LATEST_EXIT], state[s.LAST])


@compiled
def run_blocks(
    kernel: int,
    state: Any,
    at: Any,
    why: Any,
    places: Any,
    tests: Any,
    registers: Any,
    shared: Any,
    local: Any,
    written: Any,
    free: Any,
    warps: Any,
    meta: Any,
    addresses: Any,
    operations: Any,
    memory: Any,
    shared_marks: Any,
    global_marks: Any,
    last: int,
) -> Any:
    """Run blocks of the grid from where the state says, up to the ``last`` or until Python is asked."""
    while state[s.BLOCK] < last:
        if not state[s.STARTED]:
            _begin(state, at, why, registers, shared, local, written, warps, free)
        for warp in range(at.shape[0]):
            result = _run_warp(kernel, warp, state, at[warp], why[warp], places[warp], tests, registers[warp], warps)
            if result != s.GO_ON:
                return result
        if not settle(state, meta, addresses, operations, memory, shared_marks, written, global_marks, False):
            return s.SUSPECT
        if at.min() >= state[s.END]:
            state[s.STARTED] = 0
            state[s.BLOCK] += 1
            if state[s.ROWS] >= state[s.ROWS_LIMIT] // 2:
                return s.ASK
        elif not _pass_barrier(state, at, why, places, tests, registers, warps, operations):
            return s.SUSPECT
    return s.DONE


def _permute(state_at: int, _: int, __: int) -> int:
    """Give each lane the word of another, from and to scratch memory."""
    scratch = _number(state_at + 8 * s.SCRATCH)
    words = numba.carray(_pointer(scratch + s.FIRST), (_LANES,), np.uint32)
    sources = numba.carray(_pointer(scratch + s.SECOND), (_LANES,), np.int32)
    before = words.copy()
    for lane in range(_LANES):
        words[lane] = before[sources[lane]]
    return 0


permute = called_by_address(_permute, _CALLED)


def _match(state_at: int, _: int, mask: int) -> int:
    """Give each lane the lanes that have its 64 bits, from and to scratch memory."""
    scratch = _number(state_at + 8 * s.SCRATCH)
    values = numba.carray(_pointer(scratch + s.FIRST), (_LANES,), np.int64).copy()
    words = numba.carray(_pointer(scratch + s.FIRST), (_LANES,), np.uint32)
    for lane in range(_LANES):
        same = 0
        for other in range(_LANES):
            same |= (values[other] == values[lane]) << other
        words[lane] = np.uint32(same & mask)
    return 0


match = called_by_address(_match, _CALLED)
