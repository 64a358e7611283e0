"""Arithmetic in the text of a loop: numbers of known types, converted and combined.

Sums and products of integers are wrapped where somebody looks at them, and not before: what is beyond 64 bits makes no
difference below. Numbers in single precision are Python's: of two of them, what an operator gives in double precision
and rounded to single is what it gives in single precision. Of complex ones every product is rounded before the sum.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from smemviz.engines.lockstep.python.one_thread.atoms import NEAR, Atom, Span, combined, full
from smemviz.engines.lockstep.python.one_thread.text import powers, singles
from smemviz.engines.lockstep.python.one_thread.text.writer import Writer
from smemviz.engines.lockstep.python.one_thread.values import is_known, known, open_value, type_of
from smemviz.engines.lockstep.values.operators import (
    COMPARISONS,
    PYTHON_INTEGERS,
    SYMBOLS,
    NoRuleError,
    binary,
    rule_of,
)
from smemviz.engines.lockstep.values.typing import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    UINT64,
    Dtype,
    cast,
)

_SIGNS, _BITS, ORDERS = (
    {op: SYMBOLS[op] for op in ops}
    for ops in ((ast.Add, ast.Sub, ast.Mult), (ast.BitAnd, ast.BitOr, ast.BitXor), COMPARISONS)
)
_EXACT = 2**53  # up to here every integer is a float64
_FAR = 2.0**62
_POWERS = {INT64: powers.power_of_integer, FLOAT64: powers.power_of_double, FLOAT32: powers.power_of_single}
# Divisors are above the first and below the second, quotients below the third.
_DIVIDED = {FLOAT64: (1e-250, 1e250, 2.0**50), FLOAT32: (1e-30, 1e30, 2.0**20)}
_MOST_SQUARED = 64  # the highest power that is written as products


def settled(writer: Writer, atom: Atom) -> Atom:
    """Return a value as it is: an integer within its type, a number in single precision rounded."""
    if atom.settled:
        return atom
    dtype = atom.dtype
    assert dtype is not None
    if atom.loose and dtype == COMPLEX64:
        return writer.let(f"{writer.constant(singles.rounded)}({atom.text})", dtype)
    if atom.loose:
        return writer.rounded(atom.text)
    (low, high), (least, most) = full(dtype), atom.within
    name = writer.let(atom.text, dtype).text
    if least < low and most > high:
        outside = f"not {low} <= {name} <= {high}"
    else:
        outside = f"{name} < {low}" if least < low else f"{name} > {high}"
    back = f"({name} - {low}) % {high - low + 1} + {low}" if low else f"{name} & {high}"
    writer.put(f"if {outside}: {name} = {back}")
    return Atom(name, dtype, (low, high))


def value(writer: Writer, node: ast.expr) -> Atom:
    """Write an expression; return what it is worth."""
    return settled(writer, writer.write(node))


def simple(writer: Writer, atom: Atom) -> Atom:
    """Return a value as it is, under a name if it has none, so that it may be written several times."""
    atom = settled(writer, atom)
    return atom if atom.is_simple else replace(atom, text=writer.let(atom.text, atom.dtype).text)


def converted(writer: Writer, atom: Atom, dtype: Dtype) -> Atom:
    """Convert a number of a known type to another; it may have to be settled then."""
    own = atom.dtype
    assert own is not None
    if own == dtype:
        return atom
    if own.kind in "iu" and dtype.kind in "iu":
        if dtype.itemsize <= own.itemsize:  # what is beyond its own type makes no difference in the other
            return Atom(_marked(atom, own, dtype), dtype, atom.within)
        (low, high), atom = full(own), settled(writer, atom)
        return Atom(_marked(atom, own, dtype), dtype, (max(low, atom.within[0]), min(high, atom.within[1])))
    if own == FLOAT64 and dtype == FLOAT32:
        near = float(np.float32(float(atom.text))) if atom.is_number else math.inf
        return Atom(repr(near), dtype) if math.isfinite(near) else Atom(atom.text, dtype, loose=True)
    if (own, dtype) == (COMPLEX128, COMPLEX64):
        return Atom(atom.text, dtype, loose=True)
    if own.kind != "c" and dtype.kind == "c":
        part = settled(writer, converted(writer, atom, FLOAT32 if dtype == COMPLEX64 else FLOAT64))
        return Atom(f"complex({part.text})", dtype)
    atom = settled(writer, atom)
    text = atom.text
    if own.kind in "biu" and dtype == FLOAT64:
        return Atom(repr(float(text.strip("()"))) if atom.is_literal else f"float({text})", dtype)
    if own.kind == dtype.kind and own.kind in "fc" and own.itemsize < dtype.itemsize:
        return Atom(text, dtype)
    if own == BOOL and dtype.kind in "iu":
        return Atom(f"int({text})", dtype, (0, 1))
    if own.kind in "iu" and dtype == FLOAT32:
        low, high = atom.within
        if low >= -_EXACT and high <= _EXACT:
            return Atom(f"float({text})", dtype, loose=True)
        atom = simple(writer, atom)
        exact = closed(f"{writer.constant(np.float32)}({atom.text})", dtype)
        inside = f"-{_EXACT} <= {atom.text} <= {_EXACT}"
        return writer.let(f"{exact} if {inside} else {_cast(writer, atom, dtype)}", dtype)
    if dtype == BOOL:
        return Atom(f"({text} != 0)", BOOL)
    if own in (FLOAT64, FLOAT32) and dtype.kind in "iu":
        return _cut_off(writer, simple(writer, atom), dtype)
    return writer.let(_cast(writer, atom, dtype), dtype)


def _marked(atom: Atom, own: Dtype, dtype: Dtype) -> str:
    """Return the text of an integer of another type, for machine code with whether it has no sign in 64 bits."""
    if UINT64 not in (own, dtype) or atom.is_literal:
        return atom.text
    return f"(+{atom.text})" if dtype == UINT64 else f"int({atom.text})"


def _cut_off(writer: Writer, atom: Atom, dtype: Dtype) -> Atom:
    """Write what a float is without the digits behind its point; what is far is saturated elsewhere."""
    low, high = full(dtype)
    ends = (-_FAR, _FAR) if dtype.itemsize == 8 else (float(low), float(high))
    if dtype.itemsize < 4:
        ends = 0.0, float(high)
    inside = f"{max(ends[0], 0.0) if low == 0 else ends[0]} <= {atom.text} <= {ends[1]}"
    text = f"(int({atom.text}) if {inside} else int({_cast(writer, atom, dtype)}))"
    made = writer.let(f"+{text}" if dtype == UINT64 else text, dtype)
    return replace(made, span=(low, high))


def _cast(writer: Writer, atom: Atom, dtype: Dtype) -> str:
    return closed(f"{writer.constant(cast)}({writer.opened(atom)}, {writer.constant(dtype)})", dtype)


def literal(writer: Writer, value: object) -> Atom | None:
    """Return a number that is the same throughout."""
    dtype = type_of(value)
    if dtype is None:
        return None
    number = known(open_value(value, 0), dtype)
    if dtype.kind in "iu" and dtype != UINT64:
        low, high = full(dtype)
        text = f"({number})" if number < 0 else repr(number)
        return Atom(text, dtype, (number, number)) if low <= number <= high else None
    if dtype.kind == "f" and math.isfinite(number):
        return Atom(f"({number!r})" if str(number)[0] == "-" else repr(number), dtype)
    return Atom(f"(+{writer.constant(number)})" if dtype == UINT64 else writer.constant(number), dtype)


def closed(text: str, dtype: Dtype) -> str:
    """Return the text of a number of NumPy as one of a known type."""
    python = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}[dtype.kind]
    return f"+{python}({text})" if dtype == UINT64 else f"{python}({text})"


def operate(writer: Writer, node: ast.AST, op: type[ast.AST], left: Atom, right: Atom) -> Atom:
    """Write a binary operator or a comparison of two numbers."""
    left_dtype, right_dtype = left.dtype, right.dtype
    try:
        if left_dtype is None or right_dtype is None:
            raise NoRuleError
        left_type, right_type, function = rule_of(op, left_dtype, right_dtype)
        dtype = type_of(binary(op, left_dtype.type(1), right_dtype.type(1)))
    except NoRuleError:
        dtype = None
    if left_dtype is None or right_dtype is None or dtype is None or not (is_known(left_type) and is_known(right_type)):
        sides = f"{writer.opened(settled(writer, left))}, {writer.opened(settled(writer, right))}"
        return writer.let(f"{writer.runner}.apply({writer.constant(node)}, {writer.constant(op)}, {sides})", None)
    is_whole = op is ast.Pow and right_type in (INT64, UINT64) and dtype == left_type
    if is_whole and right.is_literal and 0 < right.within[0] <= _MOST_SQUARED:
        return _power(writer, node, converted(writer, left, left_type), right.within[0])
    a, b = converted(writer, left, left_type), converted(writer, right, right_type)
    made = _combined(writer, op, a, b, dtype)
    if made is not None:
        return made
    a, b = settled(writer, a), settled(writer, b)
    if op in ORDERS and left_type == right_type:
        return Atom(f"({a.text} {ORDERS[op]} {b.text})", BOOL)
    if left_type == right_type == dtype:
        made = _arithmetic(writer, op, a, b, dtype)
        if made is not None:
            return made
    if is_whole and right_type == INT64 and left_type in _POWERS:
        return writer.let(closed(f"{writer.constant(_POWERS[left_type])}({a.text}, {b.text})", dtype), dtype)
    if op in (ast.FloorDiv, ast.Mod) and dtype in _DIVIDED:
        return _divided(writer, op, simple(writer, a), simple(writer, b), function)
    if op in (ast.LShift, ast.RShift):
        return _shifted(writer, op, simple(writer, a), simple(writer, b), function)
    writer.is_dear |= not isinstance(function, np.ufunc)
    text = f"{writer.constant(function)}({writer.opened(a)}, {writer.opened(b)})"
    return writer.let(closed(text, dtype), dtype)


def _power(writer: Writer, node: ast.AST, factor: Atom, exponent: int) -> Atom:
    """Write a power by squaring."""
    result = None
    while True:
        factor = simple(writer, factor)
        if exponent & 1:
            result = factor if result is None else operate(writer, node, ast.Mult, result, factor)
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result
        factor = operate(writer, node, ast.Mult, factor, factor)


def _divided(writer: Writer, op: type[ast.AST], a: Atom, b: Atom, function: Callable[..., object]) -> Atom:
    """Write ``//`` or ``%`` of floats where Python gives what the device does: their quotient has digits to spare."""
    dtype, sign = a.dtype, "//" if op is ast.FloorDiv else "%"
    assert dtype is not None
    low, high, most = _DIVIDED[dtype]
    far = closed(f"{writer.constant(function)}({writer.opened(a)}, {writer.opened(b)})", dtype)
    near = f"{low!r} < abs({b.text}) < {high!r} and abs({a.text}) < abs({b.text}) * {most!r}"
    return Atom(f"({a.text} {sign} {b.text} if {near} else {far})", dtype, loose=dtype == FLOAT32)


def _shifted(writer: Writer, op: type[ast.AST], a: Atom, b: Atom, function: Callable[..., object]) -> Atom:
    """Write a shift by less than 64 bits, or what is done else."""
    assert a.dtype is not None
    low, high = a.within
    span = combined("*", a.within, (1, 1 << 63))
    if op is ast.RShift:
        span = min(low, 0 if low >= 0 else -1), max(high, 0)
    far = closed(f"{writer.constant(function)}({writer.opened(a)}, {writer.opened(b)})", a.dtype)
    return Atom(f"({a.text} {SYMBOLS[op]} {b.text} if 0 <= {b.text} < 64 else {far})", a.dtype, span)


def _combined(writer: Writer, op: type[ast.AST], a: Atom, b: Atom, dtype: Dtype) -> Atom | None:
    """Write what integers of 64 bits give that need not be wrapped before."""
    if a.dtype != dtype or dtype not in (INT64, UINT64):
        return None
    if op in _SIGNS and b.dtype == dtype:
        span = combined(_SIGNS[op], a.within, b.within)
        if span is None:
            a, b = settled(writer, a), settled(writer, b)
            span = combined(_SIGNS[op], a.within, b.within)
        step = None
        if op is not ast.Mult and NEAR[0] <= b.within[0] and b.within[1] <= NEAR[1]:
            step = a.text, max(abs(end) for end in b.within)
        beside = None
        if op is not ast.Mult and a.text.isidentifier() and b.is_literal:
            beside = a.text, b.within[0] if op is ast.Add else -b.within[0]
        return Atom(f"({a.text} {_SIGNS[op]} {b.text})", dtype, span, step=step, beside=beside)
    if op is ast.BitAnd and b.dtype == dtype and b.is_literal and b.within[0] >= 0:
        return Atom(f"({a.text} & {b.text})", dtype, (0, b.within[1]))
    if op is ast.Mod and b.dtype == dtype and b.is_literal and b.within[0] > 0 and b.within[0].bit_count() == 1:
        return Atom(f"({a.text} % {b.text})", dtype, (0, b.within[0] - 1))
    if op is ast.LShift and b.within[0] >= 0 and b.within[1] < 64 and b.dtype.kind in "iu":  # type: ignore[union-attr]
        span = combined("*", a.within, (1 << b.within[0], 1 << b.within[1]))
        return None if span is None else Atom(f"({a.text} << {b.text})", dtype, span)
    return None


def _arithmetic(writer: Writer, op: type[ast.AST], a: Atom, b: Atom, dtype: Dtype) -> Atom | None:
    """Write an operator on two numbers of one type where Python has it."""
    if op is ast.Mult and dtype == COMPLEX64:
        return writer.let(f"{writer.constant(singles.product)}({a.text}, {b.text})", dtype)
    if op in _SIGNS and dtype.kind in "fc" and dtype != FLOAT16:
        return Atom(f"({a.text} {_SIGNS[op]} {b.text})", dtype, loose=dtype in (FLOAT32, COMPLEX64))
    if op in _BITS and dtype.kind in "biu":
        return Atom(f"({a.text} {_BITS[op]} {b.text})", dtype, _of_bits(op, a, b))
    if op is ast.Div and dtype in (FLOAT64, FLOAT32):
        return _quotient(writer, a, b, dtype)
    if op in (ast.FloorDiv, ast.Mod) and dtype in (INT64, UINT64):
        sign, function = "//" if op is ast.FloorDiv else "%", PYTHON_INTEGERS.get(op)
        if b.within[0] > 0:
            return Atom(f"({a.text} {sign} {b.text})", dtype, _of_division(op, a.within, b.within))
        a, b = simple(writer, a), simple(writer, b)
        if b.is_literal and (b.within[1] < -1 or (op is ast.Mod and b.within[1] < 0)):
            return _divided_downwards(writer, op, a, -b.within[0])
        far = closed(f"{writer.constant(function)}({a.text}, {b.text})", dtype)
        return Atom(f"({a.text} {sign} {b.text} if {b.text} > 0 else {far})", dtype, full(dtype))
    if op is ast.RShift and dtype in (INT64, UINT64) and b.within[0] >= 0 and b.within[1] < 64:
        low, high = a.within
        return Atom(f"({a.text} >> {b.text})", dtype, (min(low, low >> b.within[0]), max(high, high >> b.within[0])))
    return None


def _divided_downwards(writer: Writer, op: type[ast.AST], a: Atom, size: int) -> Atom:
    """Write ``//`` or ``%`` by an integer below 0 of some size."""
    (low, high), rest = a.within, writer.let(f"{a.text} % {size}", INT64).text
    if op is ast.Mod:
        return Atom(f"({rest} - {size} if {rest} else 0)", INT64, (1 - size, 0))
    return Atom(f"(-({a.text} // {size}) - (1 if {rest} else 0))", INT64, (-(high // size) - 1, -(low // size)))


def _of_bits(op: type[ast.AST], a: Atom, b: Atom) -> Span | None:
    if a.dtype == BOOL:
        return None
    if min(a.within[0], b.within[0]) >= 0:
        high = max(a.within[1], b.within[1])
        return 0, min(a.within[1], b.within[1]) if op is ast.BitAnd else (1 << high.bit_length()) - 1
    return full(a.dtype) if a.dtype is not None else None


def _of_division(op: type[ast.AST], left: Span, right: Span) -> Span:
    """Return the span of a quotient, or of a remainder, by what is above 0."""
    if op is ast.Mod:
        return 0, min(left[1], right[1] - 1) if left[0] >= 0 else right[1] - 1
    return min(left[0], left[0] // right[1]), max(0, left[1])


def _quotient(writer: Writer, a: Atom, b: Atom, dtype: Dtype) -> Atom:
    loose = dtype == FLOAT32
    if b.is_number and float(b.text):
        return Atom(f"({a.text} / {b.text})", dtype, loose=loose)
    a, b = simple(writer, a), simple(writer, b)
    far = f"float({writer.constant(np.true_divide)}({a.text}, {b.text}))"
    return Atom(f"({a.text} / {b.text} if {b.text} else {far})", dtype, loose=loose)
