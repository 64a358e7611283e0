"""Arithmetic in the text of a loop: numbers of known types, converted and combined."""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from smemviz.engines.lockstep.python.alone.values import is_known, type_of
from smemviz.engines.lockstep.python.alone.writer import MAX, MIN, Atom, Writer
from smemviz.engines.lockstep.values.operators import (
    COMPARISONS,
    SYMBOLS,
    NoRuleError,
    binary,
    of_python_integers,
    rule_of,
)
from smemviz.engines.lockstep.values.typing import BOOL, FLOAT32, FLOAT64, INT64, UINT64, Dtype, cast, wrap

_SIGNS, _BITS, ORDERS = (
    {op: SYMBOLS[op] for op in ops}
    for ops in ((ast.Add, ast.Sub, ast.Mult), (ast.BitAnd, ast.BitOr, ast.BitXor), COMPARISONS)
)
_EXACT = 2**53  # up to here every integer is a float64
_FAR = 2.0**62


def converted(writer: Writer, atom: Atom, dtype: Dtype) -> Atom:
    """Convert a number of a known type to another."""
    text, own = atom
    assert own is not None
    if own == dtype:
        return atom
    if own.kind in "biu" and dtype == FLOAT64:
        return (repr(float(text.strip("()"))), dtype) if is_literal(text) else writer.let(f"float({text})", dtype)
    if own == FLOAT32 and dtype == FLOAT64:
        return writer.let(f"float({text})", dtype)
    if own == FLOAT64 and dtype == FLOAT32:
        return writer.let(f"{writer.constant(np.float32)}({text})", dtype)
    if own.kind in "iu" and dtype.kind in "iu":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        if np.iinfo(own).min >= low and np.iinfo(own).max <= high:
            return text, dtype
        size = high - low + 1
        return _held(writer, text, dtype, low, high, lambda name: f"({name} - {low}) % {size} + {low}")
    if own == BOOL and dtype == INT64:
        return writer.let(f"int({text})", dtype)
    if own.kind in "iu" and dtype == FLOAT32:
        exact, far = f"{writer.constant(np.float32)}({text})", _cast(writer, atom, dtype)
        return writer.let(f"{exact} if -{_EXACT} <= {text} <= {_EXACT} else {far}", dtype)
    if own == FLOAT64 and dtype == INT64:
        return writer.let(f"int({text}) if -{_FAR} < {text} < {_FAR} else {_cast(writer, atom, dtype)}", dtype)
    return writer.let(_cast(writer, atom, dtype), dtype)


def _cast(writer: Writer, atom: Atom, dtype: Dtype) -> str:
    return closed(f"{writer.constant(cast)}({writer.opened(atom)}, {writer.constant(dtype)})", dtype)


def closed(text: str, dtype: Dtype) -> str:
    """Return the text of a number of NumPy as one of a known type."""
    if dtype == FLOAT32:
        return text
    python = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}[dtype.kind]
    return f"{python}({text})"


def _held(writer: Writer, text: str, dtype: Dtype, low: int, high: int, back: Callable[[str], str]) -> Atom:
    """Bring an integer into the range of its type."""
    name, _ = writer.let(text, dtype)
    writer.put(f"if not {low} <= {name} <= {high}: {name} = {back(name)}")
    return name, dtype


def wrapped(writer: Writer, text: str) -> Atom:
    """Give an integer a name, brought into 64 bits."""
    return _held(writer, text, INT64, MIN, MAX, lambda name: f"{writer.constant(wrap)}({name})")


def is_literal(text: str) -> bool:
    """Tell whether a text is an integer, perhaps in parentheses."""
    return text.lstrip("(-").rstrip(")").isdigit()


def operate(writer: Writer, node: ast.AST, op: type[ast.AST], left: Atom, right: Atom) -> Atom:
    """Write a binary operator or a comparison of two numbers."""
    one, other = left[1], right[1]
    try:
        if one is None or other is None:
            raise NoRuleError
        left_type, right_type, function = rule_of(op, one, other)
        dtype = type_of(binary(op, one.type(1), other.type(1)))
    except NoRuleError:
        dtype = None
    if one is None or other is None or dtype is None or not (is_known(left_type) and is_known(right_type)):
        sides = f"{writer.opened(left)}, {writer.opened(right)}"
        return writer.let(f"R.apply({writer.constant(node)}, {writer.constant(op)}, {sides})", None)
    if op is ast.Pow and right[0] == "2" and left_type in (INT64, FLOAT32, FLOAT64):  # what squaring comes to
        op, right, right_type = ast.Mult, left, left_type
    a, b = converted(writer, left, left_type)[0], converted(writer, right, right_type)[0]
    if op in ORDERS and left_type == right_type and left_type.kind != "c":
        return writer.let(f"{a} {ORDERS[op]} {b}", BOOL)
    if left_type == right_type == dtype:
        made = _arithmetic(writer, op, a, b, dtype)
        if made is not None:
            return made
    text = f"{writer.constant(function)}({writer.opened((a, left_type))}, {writer.opened((b, right_type))})"
    return writer.let(closed(text, dtype), dtype)


def _arithmetic(writer: Writer, op: type[ast.AST], a: str, b: str, dtype: Dtype) -> Atom | None:
    """Write an operator on two numbers of one type where Python has it, or NumPy for its own numbers."""
    if op in (ast.Add, ast.Sub) and dtype == INT64 and b.isdigit():  # leaves 64 bits at one end only
        name, _ = writer.let(f"{a} {_SIGNS[op]} {b}", INT64)
        left = f"{name} > {MAX}" if op is ast.Add else f"{name} < {MIN}"
        writer.put(f"if {left}: {name} = {writer.constant(wrap)}({name})")
        return name, INT64
    if op in _SIGNS and dtype == INT64:
        return wrapped(writer, f"{a} {_SIGNS[op]} {b}")
    if op in _SIGNS and dtype == UINT64:
        return writer.let(f"({a} {_SIGNS[op]} {b}) & {2**64 - 1}", dtype)
    if op in _SIGNS and dtype in (FLOAT32, FLOAT64):
        return writer.let(f"{a} {_SIGNS[op]} {b}", dtype)
    if op in _BITS and dtype.kind in "biu":
        return writer.let(f"{a} {_BITS[op]} {b}", dtype)
    if op is ast.Div and dtype == FLOAT64:
        return writer.let(f"{a} / {b} if {b} else float({writer.constant(np.true_divide)}({a}, {b}))", dtype)
    if op in (ast.FloorDiv, ast.Mod) and dtype == INT64:
        sign, function = "//" if op is ast.FloorDiv else "%", of_python_integers(op)
        return writer.let(f"{a} {sign} {b} if {b} > 0 else {writer.constant(function)}({a}, {b})", dtype)
    if op is ast.RShift and dtype == INT64 and is_literal(b) and 0 <= int(b.strip("()")) < 64:
        return writer.let(f"{a} >> {b}", dtype)
    return None
