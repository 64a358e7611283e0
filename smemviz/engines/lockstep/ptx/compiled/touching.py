"""What compiled kernels call: to touch memory, which is read and written by its address, and for words of other lanes.

Whatever looks like a mistake in the kernel, or is not one for sure, ends the run as suspect: the machine in
``ptx.machine`` then says what it is.
"""

from typing import Any

import numba
import numpy as np
from numba.extending import intrinsic

from smemviz.engines.lockstep.ptx.compiled import state as s
from smemviz.model.counting.jit import called_by_address, compiled, inlined, pointer

_SHARED_WINDOW, _LOCAL_WINDOW, _WINDOW_END = 1 << 40, 2 << 40, 3 << 40
_LANES = 32
_ALL = (1 << _LANES) - 1
_NO_ADDRESS = 1 << 62
_CALLED = "int64(int64, int64, int64)"


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
def get(address: int, width: int) -> Any:
    """Return the bits at an address."""
    if width == 4:
        return np.uint64(_word(address))
    if width == 8:
        return _long(address)
    return np.uint64(_half(address)) if width == 2 else np.uint64(_byte(address))


@compiled
def put(address: int, width: int, value: np.uint64) -> None:
    """Leave bits at an address."""
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
        _put_float(place, np.float32(_combined(update, _float(place), _float(first))))
    elif kind == s.FLOAT and update != s.EXCHANGE:
        _put_double(place, _combined(update, _double(place), _double(first)))
    elif kind == s.SIGNED and width == 4:
        _put_short(place, np.int32(_combined(update, _short(place), _short(first))))
    elif kind == s.SIGNED:
        _put_number(place, np.int64(_combined(update, _number(place), _number(first))))
    else:
        put(place, width, _combined_bits(update, old, get(first, width), get(second, width)))
    put(first, width, old)


@inlined
def _range(addresses: Any, mask: int, window: int, touched: Any) -> Any:
    """Return the lowest and the highest address of some lanes and the bits that any has; note them as a request."""
    low, high, bits = np.int64(_NO_ADDRESS), np.int64(-1), np.int64(0)
    for lane in range(_LANES):
        on = -(mask >> lane & 1)  # without a branch, so that it becomes vector code
        address = (addresses[lane] - window) & on
        low = min(low, address | (~on & _NO_ADDRESS))
        high = max(high, address | ~on)
        bits |= address
        touched[lane] = address | ~on
    return low, high, bits


@compiled
def _move(kind: int, width: int, count: int, mask: Any, base: int, stride: int, touched: Any, values: int) -> Any:
    """Load or store what some lanes ask for, all in one piece of memory; returns the lanes that changed something."""
    changed = np.int64(0)
    if width == 4 and count == 1 and not stride:  # which is most of what there is
        if mask == _ALL and kind == s.LOAD:
            # Vector code wherever lanes read side by side, or all the same word.
            apart = same = np.int64(0)
            for lane in range(_LANES):
                apart |= touched[lane] - touched[0] - 4 * lane
                same |= touched[lane] - touched[0]
            place = base + touched[0]
            if apart == 0:
                for lane in range(_LANES):
                    _put_word(values + 4 * lane, _word(place + 4 * lane))
            elif same == 0:
                word = _word(place)
                for lane in range(_LANES):
                    _put_word(values + 4 * lane, word)
            else:
                for lane in range(_LANES):
                    _put_word(values + 4 * lane, _word(base + touched[lane]))
            return changed
        for lane in range(_LANES):
            if mask >> lane & 1:
                if kind == s.LOAD:
                    _put_word(values + 4 * lane, _word(base + touched[lane]))
                else:
                    value, place = _word(values + 4 * lane), base + touched[lane]
                    changed |= np.int64(_word(place) != value) << lane
                    _put_word(place, value)
        return changed
    for lane in range(_LANES):
        if not mask >> lane & 1:
            continue
        place = base + touched[lane] + stride * lane
        for piece in range(count):
            value_at = values + width * (piece * _LANES + lane)
            if kind == s.LOAD:
                put(value_at, width, get(place + width * piece, width))
            else:
                value = get(value_at, width)
                changed |= (get(place + width * piece, width) != value) << lane
                put(place + width * piece, width, value)
    return changed


def _access(state_at: int, number: int, mask: int) -> int:
    """Let some lanes of the warp that runs touch memory, and note the request; returns whether all is well.

    Their addresses and what they store are in the scratch memory, and what they load is there afterwards.
    """
    if mask == 0:
        return s.GO_ON
    state = numba.carray(pointer(state_at), (s.TABLE,), np.int64)
    operation = numba.carray(
        pointer(state[s.OPERATIONS] + 8 * s.OPERATION_COLUMNS * number), (s.OPERATION_COLUMNS,), np.int64
    )
    warp = state[s.WARP]
    addresses = numba.carray(pointer(state[s.SCRATCH] + s.AT), (_LANES,), np.int64)
    first, second = state[s.SCRATCH] + s.FIRST, state[s.SCRATCH] + s.SECOND
    kind, space, width, count = operation[s.KIND], operation[s.SPACE], operation[s.WIDTH], operation[s.COUNT]
    size = width * count
    row = state[s.ROWS]
    touched = numba.carray(pointer(state[s.ADDRESSES] + 8 * _LANES * row), (_LANES,), np.int64)
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
        memory = numba.carray(pointer(state[s.MEMORY]), (last + 1, s.ALLOCATION_COLUMNS), np.int64)
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
                    old = get(place, width)
                    _change(operation, place, first + width * lane, second + width * lane)
                    changed |= (old != get(place, width)) << lane
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
        stored = numba.carray(pointer(state[s.BITS] + 8 * _LANES * row), (_LANES,), np.uint64)
        if width == 4:
            for lane in range(_LANES):
                stored[lane] = _word(first + 4 * lane)
        else:
            for lane in range(_LANES):
                stored[lane] = get(first + width * lane, width)
    known = numba.carray(pointer(state[s.META] + 8 * s.META_COLUMNS * row), (s.META_COLUMNS,), np.int64)
    of_warp = numba.carray(pointer(state[s.WARPS] + 8 * s.WARP_COLUMNS * warp), (s.WARP_COLUMNS,), np.int64)
    known[s.SITE], known[s.OF_BLOCK], known[s.OF_WARP] = site, state[s.BLOCK], warp
    known[s.STEP], known[s.EPOCH], known[s.PHASE] = of_warp[s.STEPS], of_warp[s.EPOCHS], of_warp[s.PHASES]
    known[s.CHANGED], known[s.OPERATION] = changed, number if space == s.SHARED_SPACE else ~number
    of_warp[s.STEPS] += 1
    if space == s.SHARED_SPACE and kind != s.LOAD:
        state[s.STORES] = 1
    state[s.ROWS] = row + 1
    return s.GO_ON


access = called_by_address(_access, _CALLED)


def _permute(state_at: int, _: int, __: int) -> int:
    """Give each lane the word of another, from and to scratch memory."""
    scratch = _number(state_at + 8 * s.SCRATCH)
    words = numba.carray(pointer(scratch + s.FIRST), (_LANES,), np.uint32)
    sources = numba.carray(pointer(scratch + s.SECOND), (_LANES,), np.int32)
    before = words.copy()
    for lane in range(_LANES):
        words[lane] = before[sources[lane]]
    return 0


permute = called_by_address(_permute, _CALLED)


def _match(state_at: int, _: int, mask: int) -> int:
    """Give each lane the lanes that have its 64 bits, from and to scratch memory."""
    scratch = _number(state_at + 8 * s.SCRATCH)
    values = numba.carray(pointer(scratch + s.FIRST), (_LANES,), np.int64).copy()
    words = numba.carray(pointer(scratch + s.FIRST), (_LANES,), np.uint32)
    for lane in range(_LANES):
        same = 0
        for other in range(_LANES):
            same |= (values[other] == values[lane]) << other
        words[lane] = np.uint32(same & mask)
    return 0


match = called_by_address(_match, _CALLED)
