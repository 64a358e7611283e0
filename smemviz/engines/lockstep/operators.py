"""Python's operators on scalars and on one element per thread, with Numba's types.

Integer division by zero gives 0 and is no exception, as on the device; integers wrap at 64 bits.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from smemviz.engines.lockstep.typing import (
    BOOL,
    FLOAT16,
    FLOAT32,
    INT64,
    INT64_MAX,
    INT64_MIN,
    UINT64,
    Dtype,
    Value,
    arithmetic,
    cast,
    comparison,
    dtype_of,
    integer_result,
    quotient,
    remainder,
    wrap,
)

# A rule is the types that both sides are brought to, and the function that then applies.
Rule = tuple[Dtype, Dtype, Callable[[Any, Any], Any]]

_UFUNCS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.true_divide,
    ast.BitAnd: np.bitwise_and,
    ast.BitOr: np.bitwise_or,
    ast.BitXor: np.bitwise_xor,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}
# Python's own integers are faster than NumPy's; what leaves 64 bits is wrapped.
_PYTHON_INTEGERS: dict[type[ast.AST], Callable[[int, int], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.FloorDiv: lambda a, b: a // b if b else 0,
    ast.Mod: lambda a, b: a % b if b else 0,
}
_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Not: "not",
}
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_rules: dict[tuple[type[ast.AST], Dtype, Dtype], Rule] = {}


class NoRuleError(TypeError):
    """An operator that Numba does not have for these types; ``args[0]`` says which."""


def binary(op: type[ast.AST], left: Value, right: Value) -> Value:
    """Apply a binary operator or a comparison.

    Raises:
        NoRuleError: when there is none for the types.
        NotAScalarError: when a side is no number.
    """
    if type(left) is int and type(right) is int and op in _PYTHON_INTEGERS:
        result = _PYTHON_INTEGERS[op](left, right)
        return result if INT64_MIN <= result <= INT64_MAX else wrap(result)
    one, other = dtype_of(left), dtype_of(right)
    rule = _rules.get((op, one, other))
    if rule is None:
        rule = _rules[op, one, other] = _find_rule(op, one, other)
    left_type, right_type, function = rule
    if one is not left_type:
        left = cast(left, left_type)
    if other is not right_type:
        right = cast(right, right_type)
    return function(left, right)


def _find_rule(op: type[ast.AST], one: Dtype, other: Dtype) -> Rule:
    if op in _COMPARISONS:
        if one.kind == "c" or other.kind == "c":
            if op not in (ast.Eq, ast.NotEq):
                raise NoRuleError(_describe(op, one, other))
            both = arithmetic(one, other)
        else:
            both = comparison(one, other)
        return both, both, _UFUNCS[op]
    if op in (ast.LShift, ast.RShift):
        return _shift_rule(op, one, other)
    if op in (ast.BitAnd, ast.BitOr, ast.BitXor):
        if one.kind not in "biu" or other.kind not in "biu":
            raise NoRuleError(_describe(op, one, other))
        both = BOOL if one == other == BOOL else integer_result(one, other)
        return both, both, _UFUNCS[op]
    if op is ast.Pow:
        return _power_rule(one, other)
    if op in (ast.FloorDiv, ast.Mod):
        both = remainder(one, other)
        if both.kind == "c":
            raise NoRuleError(_describe(op, one, other))
        return both, both, np.floor_divide if op is ast.FloorDiv else np.remainder
    both = quotient(one, other) if op is ast.Div else arithmetic(one, other)
    return both, both, _UFUNCS[op]


def _shift_rule(op: type[ast.AST], one: Dtype, other: Dtype) -> Rule:
    if one.kind not in "biu" or other.kind not in "biu":
        raise NoRuleError(_describe(op, one, other))
    wide = UINT64 if one.kind == "u" else INT64
    function = np.left_shift if op is ast.LShift else np.right_shift

    def shift(a: Any, b: Any) -> Any:
        return function(np.asarray(a, wide), np.asarray(b).astype(wide))[()]

    return wide, other, shift


def _power_rule(one: Dtype, other: Dtype) -> Rule:
    if one.kind in "biu" and other.kind in "biu":
        both = integer_result(one, other)
        return both, both, lambda a, b: integer_power(np.asarray(a, both), np.asarray(b, both))[()]
    if one.kind == "f" and other.kind in "biu":
        base = FLOAT32 if one == FLOAT16 else one
        # A float to an integer power is multiplied out in the base's own type.
        return base, INT64 if other.kind != "u" else UINT64, lambda a, b: _float_power(a, b, base)
    both = arithmetic(one, other)
    both = FLOAT32 if both == FLOAT16 else both
    return both, both, np.power


def _float_power(base: Any, exponent: Any, dtype: Dtype) -> Any:
    wide = np.power(np.asarray(base, np.float64), np.asarray(exponent, np.float64))
    return wide.astype(dtype)[()]


def integer_power(base: np.ndarray[Any, Any], exponent: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Raise integers to integers by squaring, wrapping; a negative exponent gives 0, or 1 and -1 for those bases."""
    base, exponent = np.broadcast_arrays(base, exponent)
    negative = exponent < 0
    count = np.where(negative, 0, exponent)
    result = np.ones(base.shape, base.dtype)
    factor = base.copy()
    while count.any():
        result = np.where(count & 1, result * factor, result)
        count = count >> 1
        factor = factor * factor
    if negative.any():
        one = np.where(exponent % 2 == 0, 1, base)
        result = np.where(negative, np.where(np.abs(base) == 1, one, 0), result)
    return result.astype(base.dtype)


def unary(op: type[ast.unaryop], value: Value) -> Value:
    """Apply a unary operator; ``not`` gives a boolean, the others 64 bits for integers.

    Raises:
        NoRuleError: when there is none for the type.
        NotAScalarError: when the operand is no number.
    """
    if op is ast.Not:
        test = truth(value)
        return ~test if isinstance(test, np.ndarray) else not test
    dtype = dtype_of(value)
    if op is ast.Invert and dtype == BOOL:
        return ~value if isinstance(value, np.ndarray) else not value
    if dtype.kind in "biu":
        value = cast(value, UINT64 if dtype.kind == "u" else INT64)
    elif op is ast.Invert:
        raise NoRuleError(f"~ on {dtype}")
    if op is ast.USub:
        return wrap(-value) if type(value) is int else np.negative(value)
    return ~value if op is ast.Invert else value


def truth(value: Value) -> Value:
    """Return a value as a condition: a Python bool, or an array of booleans."""
    if isinstance(value, np.ndarray):
        return value if value.dtype == BOOL else value != 0
    if isinstance(value, tuple):
        return bool(value)
    dtype_of(value)
    return bool(value)


def _describe(op: type[ast.AST], one: Dtype, other: Dtype) -> str:
    return f"{one} {_SYMBOLS[op]} {other}"


def symbol(op: type[ast.AST]) -> str:
    """Return an operator as it is written."""
    return _SYMBOLS.get(op, op.__name__)
