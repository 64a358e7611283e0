"""Memory that compiled kernels read and write by its address: single numbers, and what all lanes of a warp ask for."""

from typing import Any

import numba
import numpy as np
from numba.core import cgutils
from numba.extending import intrinsic

from smemviz.engines.lockstep.ptx.compiled import state as s
from smemviz.model.counting.jit import compiled, inlined

LANES = 32
ALL_LANES = (1 << LANES) - 1
_GROUP = 8  # lanes that vector code moves words of


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


_byte, _half, word_at, _long = (_reading(getattr(numba.types, f"uint{bits}")) for bits in (8, 16, 32, 64))
_put_byte, _put_half, put_word, _put_long = (_writing(getattr(numba.types, f"uint{bits}")) for bits in (8, 16, 32, 64))
short_at, number_at = _reading(numba.types.int32), _reading(numba.types.int64)
put_short, put_number = _writing(numba.types.int32), _writing(numba.types.int64)
float_at, double_at = _reading(numba.types.float32), _reading(numba.types.float64)
put_float, put_double = _writing(numba.types.float32), _writing(numba.types.float64)


@intrinsic  # type: ignore[untyped-decorator]
def lowest(typing_context: Any, bits: Any) -> Any:
    """Return the number of the lowest bit that is set; there is one."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.true_bit)

    return numba.types.int64(numba.types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def ones(typing_context: Any, bits: Any) -> Any:
    """Return how many bits are set."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return numba.types.int64(numba.types.int64), codegen


_WORDS = cgutils.ir.VectorType(cgutils.ir.IntType(32), _GROUP)
_NUMBERS = cgutils.ir.VectorType(cgutils.ir.IntType(64), LANES)


def _vector_at(builder: Any, address: Any, kind: Any) -> Any:
    return builder.inttoptr(address, kind.as_pointer())


def _splat(builder: Any, value: Any, kind: Any) -> Any:
    nothing = cgutils.ir.Constant(kind, cgutils.ir.Undefined)
    one = builder.insert_element(nothing, value, cgutils.int32_t(0))
    of_first = cgutils.ir.Constant(cgutils.ir.VectorType(cgutils.int32_t, kind.count), [0] * kind.count)
    return builder.shuffle_vector(one, nothing, of_first)


# What follows is vector code, which loops of a known short length never become.


@intrinsic  # type: ignore[untyped-decorator]
def moved_otherwise(typing_context: Any, addresses: Any, known: Any, by: Any) -> Any:
    """Return bits of the lanes' addresses, at an address, that are not ``by`` more than others, 0 for none."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one, other = (builder.load(_vector_at(builder, at, _NUMBERS), align=8) for at in arguments[:2])
        odd = builder.sub(builder.sub(one, other), _splat(builder, arguments[2], _NUMBERS))
        name = f"llvm.vector.reduce.or.v{LANES}i64"
        kind = cgutils.ir.FunctionType(_NUMBERS.element, [_NUMBERS])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [odd])

    return numba.types.int64(addresses, known, by), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _copy_words(typing_context: Any, source: Any, target: Any) -> Any:
    """Copy words of a group of lanes that lie side by side; return bits of those that change something."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _vector_at(builder, arguments[1], _WORDS)
        value = builder.load(_vector_at(builder, arguments[0], _WORDS), align=4)
        change = builder.icmp_unsigned("!=", value, builder.load(place, align=4))
        builder.store(value, place, align=4)
        return builder.zext(builder.bitcast(change, cgutils.ir.IntType(_GROUP)), cgutils.ir.IntType(64))

    return numba.types.int64(source, target), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _fill_words(typing_context: Any, value: Any, target: Any) -> Any:
    """Give a group of lanes that lie side by side one word."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = _splat(builder, arguments[0], _WORDS)
        builder.store(whole, _vector_at(builder, arguments[1], _WORDS), align=4)
        return context.get_dummy_value()

    return numba.types.void(value, target), codegen


@compiled
def get(address: int, width: int) -> Any:
    """Return the bits at an address."""
    if width == 4:
        return np.uint64(word_at(address))
    if width == 8:
        return _long(address)
    return np.uint64(_half(address)) if width == 2 else np.uint64(_byte(address))


@compiled
def put(address: int, width: int, value: np.uint64) -> None:
    """Leave bits at an address."""
    if width == 4:
        put_word(address, np.uint32(value))
    elif width == 8:
        _put_long(address, value)
    elif width == 2:
        _put_half(address, np.uint16(value))
    else:
        _put_byte(address, np.uint8(value))


@inlined
def shape_of(addresses: Any, width: int) -> Any:
    """Return how the lanes of each group lie to each other."""
    apart = same = np.int64(0)
    for lane in range(LANES):
        by = addresses[lane] - addresses[lane & -_GROUP]
        apart |= by - width * (lane & _GROUP - 1)
        same |= by
    return s.SIDE_BY_SIDE if apart == 0 else s.SAME_PLACE if same == 0 else s.APART


@compiled
def move(
    kind: int, width: int, count: int, mask: Any, base: int, stride: int, touched: Any, values: int, shape: int
) -> Any:
    """Load or store what some lanes ask for, all in one piece of memory; returns the lanes that changed something."""
    changed = np.int64(0)
    if width == 4 and count == 1 and not stride:  # which is most of what there is
        if mask == ALL_LANES and shape == s.ANY_SHAPE:
            shape = shape_of(touched, 4)
        if shape == s.SIDE_BY_SIDE:
            for group in range(0, LANES, _GROUP):
                place, value_at = base + touched[group], values + 4 * group
                if kind == s.LOAD:
                    _copy_words(place, value_at)
                else:
                    changed |= _copy_words(value_at, place) << group
            return changed
        if shape == s.SAME_PLACE and kind == s.LOAD:
            for group in range(0, LANES, _GROUP):
                _fill_words(word_at(base + touched[group]), values + 4 * group)
            return changed
        if mask == ALL_LANES and kind == s.LOAD:
            for lane in range(LANES):
                put_word(values + 4 * lane, word_at(base + touched[lane]))
            return changed
        while mask:
            lane = lowest(mask)
            mask &= mask - 1
            if kind == s.LOAD:
                put_word(values + 4 * lane, word_at(base + touched[lane]))
            else:
                value, place = word_at(values + 4 * lane), base + touched[lane]
                changed |= np.int64(word_at(place) != value) << lane
                put_word(place, value)
        return changed
    while mask:
        lane = lowest(mask)
        mask &= mask - 1
        place = base + touched[lane] + stride * lane
        for piece in range(count):
            value_at = values + width * (piece * LANES + lane)
            if kind == s.LOAD:
                put(value_at, width, get(place + width * piece, width))
            else:
                value = get(value_at, width)
                changed |= (get(place + width * piece, width) != value) << lane
                put(place + width * piece, width, value)
    return changed
