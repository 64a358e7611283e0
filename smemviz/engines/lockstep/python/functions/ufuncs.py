"""NumPy's functions of numbers, ``cmath`` and ``operator``, with the types that Numba gives them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from smemviz.engines.lockstep.python.functions import mathematics
from smemviz.engines.lockstep.python.functions.rules import Rule, plain
from smemviz.engines.lockstep.values.operators import NoRuleError
from smemviz.engines.lockstep.values.typing import (
    COMPLEX64,
    COMPLEX128,
    FLOAT32,
    Dtype,
    Value,
    cast,
    dtype_of,
)

_UFUNCS = (  # those that numba-cuda compiles
    *("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "bitwise_and", "bitwise_or"),
    *("bitwise_xor", "conjugate", "cos", "cosh", "deg2rad", "degrees", "divide", "equal", "fmax", "fmin", "greater"),
    *("greater_equal", "hypot", "invert", "isnan", "left_shift", "less", "less_equal", "log", "log10", "log2"),
    *("logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "not_equal", "rad2deg"),
    *("radians", "right_shift", "sin", "sinh", "tan", "tanh"),
)


def exponential(z: Any) -> Any:
    """Return e to the power z; of minus infinity beside what is not finite, Python's zero."""
    power = np.exp(z)
    if not isinstance(z, np.ndarray) and z.real > -np.inf:  # most of one thread's, and much faster
        return power
    return np.where(np.isneginf(z.real) & ~np.isfinite(z.imag), 0, power).astype(power.dtype)


_OF_COMPLEX_TOO = ("cos", "cosh", "isfinite", "isinf", "isnan", "log10", "sin", "sinh", "sqrt", "tan", "tanh")
OF_COMPLEX: dict[str, Callable[[Any], Any]] = {
    **mathematics.INVERSE,
    **{name: getattr(np, name) for name in _OF_COMPLEX_TOO},
    "exp": exponential,
    "phase": np.angle,
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
    return cast(x, complex_type(dtype_of(x)))


def complex_type(dtype: Dtype) -> Dtype:
    """Return the type in which ``cmath`` computes with a number."""
    return COMPLEX64 if dtype in (COMPLEX64, FLOAT32) else COMPLEX128


def _complex(function: Callable[[Any], Any]) -> Callable[[Value], Value]:
    def rule(z: Value) -> Value:
        value = function(np.asarray(_as_complex(z)))
        return value[()] if isinstance(value, np.ndarray) else value

    return rule


def _log(z: Value, base: Value = None) -> Value:
    logarithm = np.log(_as_complex(z))
    return logarithm if base is None else logarithm / np.log(_as_complex(base))


def complex_of(real: Value, imaginary: Value) -> Value:
    """Return the complex number of two floats of one type, their zeros signed as they are."""
    real, imaginary = np.broadcast_arrays(real, imaginary)
    numbers = np.empty(real.shape, COMPLEX64 if real.dtype == FLOAT32 else COMPLEX128)
    numbers.real, numbers.imag = real, imaginary
    return numbers[()]


CALLS: dict[str, Rule] = {f"numpy.{name}": plain(_ufunc(getattr(np, name)), getattr(np, name).nin) for name in _UFUNCS}
CALLS |= {f"cmath.{name}": plain(_complex(function), 1) for name, function in OF_COMPLEX.items()}
CALLS["cmath.log"] = plain(_log, 1, 2)
CONSTANTS: dict[str, complex] = {"numpy.pi": np.pi, "numpy.e": np.e, "numpy.inf": np.inf, "numpy.nan": np.nan}
CONSTANTS |= {"cmath.pi": np.pi, "cmath.e": np.e, "cmath.tau": 2 * np.pi, "cmath.inf": np.inf, "cmath.nan": np.nan}
CONSTANTS |= {"cmath.infj": complex(0, np.inf), "cmath.nanj": complex(0, np.nan)}
