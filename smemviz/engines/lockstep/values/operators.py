"""Python's operators on scalars and on one element per thread, with Numba's types.

Integer division by zero gives 0 and is no exception, as on the device (H200); integers wrap at 64 bits.
"""

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.values.typing import (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
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
from smemviz.model.layout.formulas import BINARY, COMPARE

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
_QUOTIENTS: dict[type[ast.AST], Callable[[int, int], Any]] = {
    ast.FloorDiv: lambda a, b: 0 if b == 0 or (b == -1 and a == INT64_MIN) else a // b,
    ast.Mod: lambda a, b: a % b if b else 0,
}
PYTHON_INTEGERS: dict[type[ast.AST], Callable[[int, int], Any]] = dict(
    [*BINARY.items(), *COMPARE.items(), *_QUOTIENTS.items()]
)
del PYTHON_INTEGERS[ast.RShift]  # which is by any distance
_FLOATS = (float, np.float64)  # one number each, with which Python is faster than NumPy
_OF_FLOATS: dict[type[ast.AST], Callable[[float, float], float]] = {
    op: BINARY[op] for op in (ast.Add, ast.Sub, ast.Mult)
}
SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.MatMult: "@",
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
COMPARISONS = tuple(COMPARE)
_MOST_SQUARED = 0x10000
_LARGE = 2.0**500
_rules: dict[tuple[type[ast.AST], Dtype, Dtype], Rule] = {}


class NoRuleError(TypeError):
    """An operator that Numba does not have for these types; ``args[0]`` says which."""


def binary(op: type[ast.AST], left: Value, right: Value) -> Value:
    """Apply a binary operator or a comparison.

    Raises:
        NoRuleError: when there is none for the types.
        NotAScalarError: when a side is no number.
    """
    if type(left) is int and type(right) is int and op in PYTHON_INTEGERS:
        result = PYTHON_INTEGERS[op](left, right)
        return result if INT64_MIN <= result <= INT64_MAX else wrap(result)
    if type(left) in _FLOATS and type(right) in _FLOATS and op in _OF_FLOATS:
        return _OF_FLOATS[op](left, right)
    left_dtype, right_dtype = dtype_of(left), dtype_of(right)
    left_type, right_type, function = _rules.get((op, left_dtype, right_dtype)) or rule_of(op, left_dtype, right_dtype)
    if left_dtype is not left_type:
        left = cast(left, left_type)
    if right_dtype is not right_type:
        right = cast(right, right_type)
    # With an array NumPy is faster on an array without axes than on a number.
    if type(left) is np.ndarray:
        if type(right) is not np.ndarray:
            right = np.array(right, right_type)
    elif type(right) is np.ndarray:
        left = np.array(left, left_type)
    return function(left, right)


def rule_of(op: type[ast.AST], left: Dtype, right: Dtype) -> Rule:
    """Return how an operator is applied to two types.

    Raises:
        NoRuleError: when it is not.
    """
    rule = _rules.get((op, left, right))
    if rule is None:
        rule = _rules[op, left, right] = _find_rule(op, left, right)
    return rule


def _find_rule(op: type[ast.AST], left: Dtype, right: Dtype) -> Rule:
    if op in COMPARISONS:
        if left.kind == "c" or right.kind == "c":
            if op not in (ast.Eq, ast.NotEq):
                raise NoRuleError(_describe(op, left, right))
            both = arithmetic(left, right)
        else:
            both = comparison(left, right)
        return both, both, _UFUNCS[op]
    if op in (ast.LShift, ast.RShift):
        return _shift_rule(op, left, right)
    if op in (ast.BitAnd, ast.BitOr, ast.BitXor):
        if left.kind not in "biu" or right.kind not in "biu":
            raise NoRuleError(_describe(op, left, right))
        both = BOOL if left == right == BOOL else integer_result(left, right)
        return both, both, _UFUNCS[op]
    if op is ast.Pow:
        return _power_rule(left, right)
    if op in (ast.FloorDiv, ast.Mod):
        both = remainder(left, right)
        if both.kind == "c":
            raise NoRuleError(_describe(op, left, right))
        if both.kind == "f":
            part = 0 if op is ast.FloorDiv else 1
            return both, both, lambda a, b: _float_divmod(a, b)[part].astype(both)[()]
        if op is ast.FloorDiv:
            return both, both, _floor_divide if both == INT64 else np.floor_divide
        return both, both, np.remainder
    if op not in _UFUNCS:
        raise NoRuleError(_describe(op, left, right))
    both = quotient(left, right) if op is ast.Div else arithmetic(left, right)
    return both, both, _complex_product if op is ast.Mult and both.kind == "c" else _UFUNCS[op]


def _complex_product(a: Any, b: Any) -> Any:
    """Multiply complex numbers, every product rounded: what NumPy does depends on the processor."""
    if type(a) is complex and type(b) is complex:
        return a * b
    result = np.empty(np.broadcast(a, b).shape, np.result_type(a, b))
    result.real = a.real * b.real - a.imag * b.imag
    result.imag = a.real * b.imag + a.imag * b.real
    return result[()]


def _shift_rule(op: type[ast.AST], left: Dtype, right: Dtype) -> Rule:
    if left.kind not in "biu" or right.kind not in "biu":
        raise NoRuleError(_describe(op, left, right))
    wide = UINT64 if left.kind == "u" else INT64
    function = np.left_shift if op is ast.LShift else np.right_shift

    def shift(a: Any, b: Any) -> Any:
        # The device looks at the lower 32 bits of the count; 64 and more shift everything out.
        return function(np.asarray(a, wide), np.asarray(b).astype(np.uint32).astype(wide))[()]

    return wide, right, shift


def _power_rule(left: Dtype, right: Dtype) -> Rule:
    if right.kind in "biu" and left.kind in "biuf":
        base = integer_result(left, right) if left.kind in "biu" else FLOAT32 if left == FLOAT16 else left
        exponent = UINT64 if right.kind == "u" else INT64
        return base, exponent, lambda a, b: power(np.asarray(a, base), np.asarray(b, exponent))[()]
    both = arithmetic(left, right)
    both = FLOAT32 if both == FLOAT16 else both
    return both, both, np.power


def power(base: NDArray[Any], exponent: NDArray[Any]) -> NDArray[Any]:
    """Raise to integers as Numba does: by squaring in the base's type, beyond 65,536 by ``pow`` of floats.

    An integer to a negative power is 0, but 1 and -1 keep their size; 0 gives the lowest integer of the type.
    """
    base, exponent = np.broadcast_arrays(base, exponent)
    negative = exponent < 0
    count = np.where(negative, -exponent, exponent)
    by_squaring = (count >= 0) & (count <= _MOST_SQUARED)
    left = np.where(by_squaring, count, 0)
    result = np.ones(base.shape, base.dtype)
    factor = base.copy()
    while left.any():
        result = np.where(left & 1 == 1, result * factor, result)
        left = left >> 1
        factor = factor * factor
    if not by_squaring.all():
        result = np.where(by_squaring, result, cast(np.power(cast(base, FLOAT64), cast(exponent, FLOAT64)), base.dtype))
    if negative.any():
        if base.dtype.kind == "f":
            result = np.where(negative & by_squaring, (1 / result).astype(base.dtype), result)
        else:
            inverted = np.where(base == 0, np.iinfo(base.dtype).min, np.where(np.abs(base) == 1, result, 0))
            result = np.where(negative, inverted, result)
    return result.astype(base.dtype)


def _floor_divide(a: Any, b: Any) -> Any:
    """Divide integers, rounding down; the lowest number by -1 gives 0, as Numba has it."""
    result = np.floor_divide(a, b)
    return np.where((a == INT64_MIN) & (b == -1), 0, result)[()]


def _float_divmod(a: Any, b: Any) -> tuple[Any, Any]:
    """Divide floats as the device does (H200), where the remainder is ``a - trunc(a / b) * b``, rounded once.

    So it is NaN for an infinite divisor, and any number where the quotient is beyond the float's digits.
    """
    a, b = np.asarray(a), np.asarray(b)  # numbers of Python refuse to be divided by 0
    rest = _multiplied_off(a, np.trunc(a / b), b)
    whole = (a - rest) / b
    opposite = (rest != 0) & ((b < 0) != (rest < 0))
    rest = np.where(opposite, rest + b, np.where(rest == 0, np.copysign(0, b), rest))
    whole = np.where(opposite, whole - 1, whole)
    floor = np.floor(whole)
    floor = np.where(whole - floor > 0.5, floor + 1, floor)
    floor = np.where(whole == 0, np.copysign(0, a / b), floor)
    return np.where(b == 0, a / b, floor), rest


def _multiplied_off(a: Any, x: Any, y: Any) -> Any:
    """Return ``a - x * y`` for ``x * y`` close to ``a``, the product not rounded."""
    if dtype_of(a) == FLOAT32:
        return (np.float64(a) - np.float64(x) * np.float64(y)).astype(FLOAT32)
    # Dekker's product: x * y == high + low, each half of x and y exact in 26 bits, which is made room for above.
    scale = np.where(np.isfinite(y) & (np.abs(y) > _LARGE), 1 / _LARGE, 1.0)
    a, y = a * scale, y * scale
    high = x * y
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    low = ((x_high * y_high - high) + x_high * y_low + x_low * y_high) + x_low * y_low
    return ((a - high) - low) / scale


def _halves(x: Any) -> tuple[Any, Any]:
    """Return two halves of the digits of a float64, whose sum it is (Dekker)."""
    scaled = x * (2.0**27 + 1)
    high = scaled - (scaled - x)
    return high, x - high


def unary(op: type[ast.unaryop], value: Value) -> Value:
    """Apply a unary operator; ``not`` gives a boolean, the others 64 bits for integers.

    Raises:
        NoRuleError: when there is none for the type.
        NotAScalarError: when the operand is no number.
    """
    if op is ast.USub and type(value) in _FLOATS:
        return -value
    if op is ast.Not:
        test = truth(value)
        return ~test if isinstance(test, np.ndarray) else not test
    dtype = dtype_of(value)
    if op is ast.Invert and dtype == BOOL:
        return ~value if isinstance(value, np.ndarray) else not value
    if dtype == BOOL:
        value = cast(value, INT64)
    elif op is ast.Invert and dtype.kind not in "iu":
        raise NoRuleError(f"~ on {dtype}")
    if op is ast.USub:
        value = wrap(-value) if type(value) is int else np.negative(value)
    elif op is ast.Invert:
        value = ~value
    # In the operand's own width first: the opposite of an unsigned 32-bit 1 is 4294967295.
    return cast(value, UINT64 if dtype.kind == "u" else INT64) if dtype.kind in "iu" else value


def truth(value: Value) -> Value:
    """Return a value as a condition: a Python bool, or an array of booleans."""
    if isinstance(value, np.ndarray):
        return value if value.dtype == BOOL else value != 0
    if value is not None and not isinstance(value, tuple | str):
        dtype_of(value)
    return bool(value)


def _describe(op: type[ast.AST], left: Dtype, right: Dtype) -> str:
    return f"{left} {SYMBOLS.get(op, op.__name__)} {right}"
