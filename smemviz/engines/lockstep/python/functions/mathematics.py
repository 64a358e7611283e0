"""The functions of ``math`` with the types that numba-cuda gives them.

``floor``, ``ceil`` and ``trunc`` give floats on the device. Half precision is kept where numba-cuda keeps it and
computed in single precision where it does not. Integers are computed in double precision.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from smemviz.engines.lockstep.values.operators import NoRuleError
from smemviz.engines.lockstep.values.typing import (
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    Dtype,
    Value,
    arithmetic,
    cast,
    dtype_of,
)

Function = Callable[..., Value]


def _not_a_number(*x: float) -> float:
    return math.nan


def _gamma_pole(x: float) -> float:
    return math.copysign(math.inf, x) if x == 0 else math.nan


@dataclass(frozen=True)
class OfPython:
    """A function of Python's ``math`` for one number; what overflows is infinite."""

    function: Callable[..., float]
    at_pole: Callable[..., float]

    def __call__(self, *x: float) -> float:
        try:
            return self.function(*x)
        except OverflowError:
            return math.inf
        except ValueError:
            return self.at_pole(*x)


def elementwise(
    function: Callable[..., float], count: int = 1, at_pole: Callable[..., float] = _not_a_number
) -> Callable[..., Any]:
    """Apply a function of Python's ``math`` to every element; what overflows is infinite."""
    return _of_every(OfPython(function, at_pole), count)


def _of_every(function: OfPython, count: int) -> Callable[..., Any]:
    every = np.frompyfunc(function, count, 1)
    return lambda *x: np.asarray(every(*x), dtype=np.asarray(x[0]).dtype)[()]


def _real(x: Value) -> Dtype:
    """Return the type of an argument; ``cmath`` is for complex ones."""
    dtype = dtype_of(x)
    if dtype.kind == "c":
        raise NoRuleError(f"math function of {dtype}")
    return dtype


def _unary(function: Callable[[Any], Any], *, half: bool = False) -> Function:
    def rule(x: Value) -> Value:
        dtype = _real(x)
        if dtype == FLOAT16 and not half:
            dtype = FLOAT32
        return function(cast(x, dtype if dtype.kind == "f" else FLOAT64))

    return rule


def _binary(function: Callable[[Any, Any], Any]) -> Function:
    def rule(x: Value, y: Value) -> Value:
        both = _pair(_real(x), _real(y))
        return function(cast(x, both), cast(y, both))

    return rule


def _pair(left: Dtype, right: Dtype) -> Dtype:
    """Return the type two arguments are brought to: single where both fit it."""
    both = arithmetic(left, right) if "f" in (left.kind, right.kind) else FLOAT64
    return FLOAT32 if both == FLOAT16 else both


def _test(function: Callable[[Any], Any], of_integer: bool) -> Function:
    def rule(x: Value) -> Value:
        if _real(x).kind in "biu":
            return np.full(x.shape, of_integer) if isinstance(x, np.ndarray) else of_integer
        return function(x)

    return rule


def _frexp(x: Value) -> Value:
    mantissa, exponent = np.frexp(cast(x, _pair(_real(x), FLOAT16)))
    return mantissa, cast(exponent, INT32)


def _modf(x: Value) -> Value:
    dtype = _real(x)
    return np.modf(cast(x, FLOAT32 if dtype == FLOAT32 else FLOAT64))


INVERSE: dict[str, Function] = {
    f"a{name}": getattr(np, f"arc{name}") for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")
}
OF_PYTHON = {
    "math.erf": OfPython(math.erf, _not_a_number),
    "math.erfc": OfPython(math.erfc, _not_a_number),
    "math.gamma": OfPython(math.gamma, _gamma_pole),
    "math.lgamma": OfPython(math.lgamma, lambda x: math.inf),
    "math.remainder": OfPython(math.remainder, _not_a_number),
}
_IN_HALF = ("ceil", "cos", "exp", "exp2", "fabs", "floor", "log", "log10", "log2", "sin", "sqrt", "tanh", "trunc")
_IN_SINGLE = ("cosh", "degrees", "expm1", "log1p", "radians", "sinh", "tan")
UNARY: dict[str, Function] = {
    **{f"math.{name}": _unary(function) for name, function in INVERSE.items()},
    **{f"math.{name}": _unary(getattr(np, name), half=True) for name in _IN_HALF},
    **{f"math.{name}": _unary(getattr(np, name)) for name in _IN_SINGLE},
    **{name: _unary(_of_every(OF_PYTHON[name], 1)) for name in OF_PYTHON if name != "math.remainder"},
    "math.isfinite": _test(np.isfinite, True),
    "math.isinf": _test(np.isinf, False),
    "math.isnan": _test(np.isnan, False),
    "math.frexp": _frexp,
    "math.modf": _modf,
}
BINARY: dict[str, Function] = {
    "math.atan2": _binary(np.arctan2),
    "math.ldexp": lambda x, exponent: np.ldexp(cast(x, _pair(_real(x), FLOAT16)), cast(exponent, INT32)),
    "math.pow": _binary(np.power),
    "math.remainder": _binary(_of_every(OF_PYTHON["math.remainder"], 2)),
    **{f"math.{name}": _binary(getattr(np, name)) for name in ("copysign", "fmod", "hypot", "nextafter")},
}
CONSTANTS = {name: getattr(math, name.partition(".")[2]) for name in ("math.pi", "math.e", "math.tau")}
CONSTANTS |= {"math.inf": math.inf, "math.nan": math.nan}
