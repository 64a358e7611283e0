"""Numbers in half precision in LLVM's language, by their bits: what NumPy makes of them, and rounds to them.

Half precision has 10 bits of a fraction below 5 of an exponent, double precision 52 below 11.
"""

from __future__ import annotations

from llvmlite import ir

HALF = ir.IntType(16)
_INT, _REAL = ir.IntType(64), ir.DoubleType()
_FURTHER = 42  # bits by which a fraction is longer in double precision
_MORE = 1008  # by which its exponents are larger
_SIGN, _INFINITE = 0x8000, 0x7C00
_SMALLEST = 2.0**-14  # with all bits of a fraction
_UNIT = 2.0**28  # in double precision the last bit beside it is 2**-24, as is that of what is smaller


def of_half(builder: ir.IRBuilder, half: ir.Value) -> ir.Value:
    """Return a number in half precision as a double."""
    bits = builder.zext(half, _INT)
    size = builder.shl(builder.and_(bits, _number(_SIGN - 1)), _number(_FURTHER))
    near = builder.fmul(builder.bitcast(size, _REAL), ir.Constant(_REAL, 2.0**_MORE))
    far = builder.or_(size, _number(0x7FF << 52))
    is_far = builder.icmp_unsigned("==", builder.and_(bits, _number(_INFINITE)), _number(_INFINITE))
    size = builder.select(is_far, far, builder.bitcast(near, _INT))
    sign = builder.shl(builder.and_(bits, _number(_SIGN)), _number(48))
    return builder.bitcast(builder.or_(size, sign), _REAL)


def to_half(builder: ir.IRBuilder, number: ir.Value) -> ir.Value:
    """Round a double to half precision."""
    bits = builder.bitcast(number, _INT)
    size = builder.and_(bits, _number(2**63 - 1))
    cut_off = builder.lshr(size, _number(_FURTHER))
    nearest = builder.add(builder.add(size, _number(2 ** (_FURTHER - 1) - 1)), builder.and_(cut_off, _number(1)))
    made = builder.sub(builder.lshr(nearest, _number(_FURTHER)), _number(_MORE << 10))
    made = builder.select(builder.icmp_signed(">", made, _number(_INFINITE)), _number(_INFINITE), made)
    unit = ir.Constant(_REAL, _UNIT)
    absolute = builder.bitcast(size, _REAL)
    beside = builder.sub(builder.bitcast(builder.fadd(absolute, unit), _INT), builder.bitcast(unit, _INT))
    made = builder.select(builder.fcmp_ordered("<", absolute, ir.Constant(_REAL, _SMALLEST)), beside, made)
    fraction = builder.and_(cut_off, _number(0x3FF))
    fraction = builder.select(builder.icmp_signed("==", fraction, _number(0)), _number(1), fraction)
    is_none = builder.fcmp_unordered("uno", number, number)
    made = builder.select(is_none, builder.or_(fraction, _number(_INFINITE)), made)
    sign = builder.and_(builder.lshr(bits, _number(48)), _number(_SIGN))
    return builder.trunc(builder.or_(made, sign), HALF)


def _number(value: int) -> ir.Value:
    return ir.Constant(_INT, value)
