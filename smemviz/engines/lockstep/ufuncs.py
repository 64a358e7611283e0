"""NumPy's functions of numbers, ``cmath`` and ``operator``, with the types that Numba gives them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from smemviz.engines.lockstep.operators import NoRuleError, binary, unary
from smemviz.engines.lockstep.rules import Rule, plain
from smemviz.engines.lockstep.typing import COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, Value, cast, dtype_of

_UFUNCS = [
    "absolute",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "conjugate",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "divide",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "greater",
    "greater_equal",
    "hypot",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "power",
    "rad2deg",
    "radians",
    "reciprocal",
    "remainder",
    "right_shift",
    "rint",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "spacing",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
]

_OPERATORS: dict[str, type[ast.AST]] = {
    "add": ast.Add,
    "and_": ast.BitAnd,
    "eq": ast.Eq,
    "floordiv": ast.FloorDiv,
    "ge": ast.GtE,
    "gt": ast.Gt,
    "le": ast.LtE,
    "lshift": ast.LShift,
    "lt": ast.Lt,
    "mod": ast.Mod,
    "mul": ast.Mult,
    "ne": ast.NotEq,
    "or_": ast.BitOr,
    "pow": ast.Pow,
    "rshift": ast.RShift,
    "sub": ast.Sub,
    "truediv": ast.Div,
    "xor": ast.BitXor,
}
_OPERATORS |= {
    f"i{name.rstrip('_')}": op for name, op in _OPERATORS.items() if hasattr(operator, f"i{name.rstrip('_')}")
}
_UNARY: dict[str, type[ast.unaryop]] = {"invert": ast.Invert, "neg": ast.USub, "not_": ast.Not, "pos": ast.UAdd}

_COMPLEX: dict[str, Callable[[Any], Any]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "log10": np.log10,
    "phase": np.angle,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}


def _ufunc(function: np.ufunc) -> Callable[..., Value]:
    """NumPy's own choice of types: an element's type counts, not its value."""

    def rule(*x: Value) -> Value:
        try:
            return function(*(np.asarray(value, dtype_of(value)) for value in x))[()]
        except TypeError:
            raise NoRuleError(f"np.{function.__name__} of {', '.join(str(dtype_of(value)) for value in x)}") from None

    return rule


def _as_complex(x: Value) -> Value:
    dtype = dtype_of(x)
    return cast(x, COMPLEX64 if dtype in (COMPLEX64, FLOAT32) else COMPLEX128)


def _complex(function: Callable[[Any], Any]) -> Callable[[Value], Value]:
    def rule(z: Value) -> Value:
        found = function(np.asarray(_as_complex(z)))
        return found[()] if isinstance(found, np.ndarray) else found

    return rule


def _log(z: Value, base: Value = None) -> Value:
    found = np.log(_as_complex(z))
    return found if base is None else found / np.log(_as_complex(base))


def _polar(z: Value) -> Value:
    z = _as_complex(z)
    return np.abs(z), np.angle(z)


def _rect(r: Value, phi: Value) -> Value:
    both = FLOAT32 if dtype_of(r) == dtype_of(phi) == FLOAT32 else FLOAT64
    r, phi = cast(r, both), cast(phi, both)
    found = np.asarray(r * np.cos(phi) + 1j * (r * np.sin(phi)))
    return found.astype(COMPLEX64 if both == FLOAT32 else COMPLEX128)[()]


def _binary(op: type[ast.AST]) -> Callable[[Value, Value], Value]:
    return lambda x, y: binary(op, x, y)


def _unary(op: type[ast.unaryop]) -> Callable[[Value], Value]:
    return lambda x: unary(op, x)


CALLS: dict[str, Rule] = {f"numpy.{name}": plain(_ufunc(getattr(np, name)), getattr(np, name).nin) for name in _UFUNCS}
CALLS |= {f"cmath.{name}": plain(_complex(function), 1) for name, function in _COMPLEX.items()}
CALLS |= {
    "cmath.log": plain(_log, 1, 2),
    "cmath.polar": plain(_polar, 1),
    "cmath.rect": plain(_rect, 2),
    "numpy.abs": CALLS["numpy.absolute"],
}
CALLS |= {f"operator.{name}": plain(_binary(op), 2) for name, op in _OPERATORS.items()}
CALLS |= {f"operator.{name}": plain(_unary(op), 1) for name, op in _UNARY.items()}
CONSTANTS = {"numpy.pi": np.pi, "numpy.e": np.e, "numpy.inf": np.inf, "numpy.nan": np.nan}
CONSTANTS |= {"cmath.pi": np.pi, "cmath.e": np.e, "cmath.inf": np.inf, "cmath.nan": np.nan}
