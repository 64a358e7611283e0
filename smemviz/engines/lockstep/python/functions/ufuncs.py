"""NumPy's functions of numbers, ``cmath`` and ``operator``, with the types that Numba gives them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python import access, operations
from smemviz.engines.lockstep.python.frame import Frame, short
from smemviz.engines.lockstep.python.functions import mathematics
from smemviz.engines.lockstep.python.functions.rules import Rule, plain
from smemviz.engines.lockstep.python.merging import kind_of
from smemviz.engines.lockstep.values.operators import KINDS, NoRuleError, binary, truth, unary
from smemviz.engines.lockstep.values.typing import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    FLOAT32,
    FLOAT64,
    Dtype,
    Value,
    cast,
    dtype_of,
)
from smemviz.messages import english

_UFUNCS = (  # those that numba-cuda compiles
    *("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "bitwise_and", "bitwise_or"),
    *("bitwise_xor", "conjugate", "cos", "cosh", "deg2rad", "degrees", "divide", "equal", "fmax", "fmin", "greater"),
    *("greater_equal", "hypot", "invert", "isnan", "left_shift", "less", "less_equal", "log", "log10", "log2"),
    *("logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "not_equal", "rad2deg"),
    *("radians", "right_shift", "sin", "sinh", "tan", "tanh"),
)

OPERATORS: dict[str, type[ast.AST]] = {
    "add": ast.Add,
    "and_": ast.BitAnd,
    "eq": ast.Eq,
    "floordiv": ast.FloorDiv,
    "ge": ast.GtE,
    "gt": ast.Gt,
    "is_": ast.Is,
    "is_not": ast.IsNot,
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
OPERATORS |= {f"i{name.rstrip('_')}": op for name, op in OPERATORS.items() if hasattr(operator, f"i{name.rstrip('_')}")}
_UNARY: dict[str, type[ast.unaryop]] = {"invert": ast.Invert, "neg": ast.USub, "pos": ast.UAdd}


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
            if function not in (np.isnat, np.isnan) and any(dtype_of(value).kind in KINDS for value in x):
                raise TypeError
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


def _parts(x: Value) -> tuple[Value, Value]:
    dtype = dtype_of(x)
    return (x, dtype.type(0)) if dtype.kind != "c" else (np.real(x), np.imag(x))


def _nan_to_num(x: Value) -> Value:
    """Return an integer as it is; Numba has it of numbers for no others."""
    if dtype_of(x).kind not in "iu":
        raise NoRuleError(f"np.nan_to_num of {dtype_of(x)}")
    return x


def _sinc(x: Value) -> Value:
    """Return the sine of pi x by pi x, in double precision; of 0 as of a number close to it, as Numba has it."""
    x = cast(x, COMPLEX128 if dtype_of(x).kind == "c" else FLOAT64)
    x = np.where(x == 0, 1e-20, x)[()] * np.pi
    return np.sin(x) / x


def _equal(x: Value, y: Value) -> Value:
    return binary(ast.Eq, x, y)


def _angle(z: Value, degrees: Value = None) -> Value:
    real, imaginary = _parts(z)
    radians = _ufunc(np.arctan2)(imaginary, real)
    if degrees is None:
        return radians
    return np.where(truth(degrees), cast(radians, FLOAT64) * (180 / np.pi), radians)[()]


def _log(z: Value, base: Value = None) -> Value:
    logarithm = np.log(_as_complex(z))
    return logarithm if base is None else logarithm / np.log(_as_complex(base))


def _polar(z: Value) -> Value:
    z = _as_complex(z)
    return np.abs(z), np.angle(z)


def _rect(r: Value, phi: Value) -> Value:
    both = FLOAT32 if dtype_of(r) == dtype_of(phi) == FLOAT32 else FLOAT64
    r, phi = cast(r, both), cast(phi, both)
    nothing = (r == 0) & ~np.isfinite(phi)
    r, turned = np.where(nothing, both.type(0), r), np.where(nothing, both.type(0), phi)
    # An infinite length times the sine of 0 is a zero here, not NaN.
    imaginary = np.where(turned == 0, turned * np.copysign(both.type(1), r), r * np.sin(turned))
    return complex_of(r * np.cos(turned), imaginary)


def complex_of(real: Value, imaginary: Value) -> Value:
    """Return the complex number of two floats of one type, their zeros signed as they are."""
    real, imaginary = np.broadcast_arrays(real, imaginary)
    numbers = np.empty(real.shape, COMPLEX64 if real.dtype == FLOAT32 else COMPLEX128)
    numbers.real, numbers.imag = real, imaginary
    return numbers[()]


def _binary(op: type[ast.AST]) -> Rule:
    """Return the rule of an operator as a function, which takes tuples and text where the operator does."""

    def run(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
        if issubclass(op, ast.cmpop):
            return operations.comparison(frame, node, op(), *arguments)
        return operations.apply(frame, node, op, *arguments)

    return Rule(run, 2, 2)


def _contains(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    return operations.comparison(frame, node, ast.In(), arguments[1], arguments[0])


def _unary(op: type[ast.unaryop]) -> Callable[[Value], Value]:
    return lambda x: unary(op, x)


def _truth(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    """Return whether a Boolean or a tuple of one type holds: Numba has ``operator.truth`` of nothing else."""
    (value,) = arguments
    frame.refuse_vector(node, value)
    if isinstance(value, tuple) and value and all(kind_of(item) == kind_of(value[0]) for item in value):
        return True
    if isinstance(value, tuple) or dtype_of(value) != BOOL:
        raise frame.none_of_numba(node, short(node), f"bool({short(node.args[0])})")
    return value


def _not(value: Value) -> Value:
    """Return what ``not`` gives; as a function Numba has it of numbers and text alone."""
    if not isinstance(value, str):
        dtype_of(value)
    return unary(ast.Not, value)


def _rule(function: np.ufunc) -> Rule:
    """Return the rule of a NumPy function: of numbers its value; with an array to store in, of all elements."""
    of_numbers = _ufunc(function)

    def run(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
        if len(arguments) == function.nin:
            return of_numbers(*arguments)
        return _into(frame, node, of_numbers, arguments)

    return Rule(run, function.nin, function.nin + 1)


def _into(frame: Frame, node: ast.Call, function: Callable[..., Value], arguments: list[Value]) -> None:
    """Compute every element of the last argument, one after the other, as each thread does on the GPU."""
    *inputs, out = arguments
    same = all(view.shape == out.shape for view in inputs if isinstance(view, View)) if isinstance(out, View) else False
    if not same or any(not isinstance(size, int) for size in out.shape):
        raise frame.refuse(node, english("{code}: arrays of other shapes", code=ast.unparse(node)))
    for index in np.ndindex(*out.shape):
        frame.machine.tick(frame.function.file, node.lineno)
        pairs = zip(inputs, node.args, strict=False)
        numbers = [
            access.load(frame, at, argument, index) if isinstance(argument, View) else argument
            for argument, at in pairs
        ]
        access.write(frame, node.args[-1], out, *access.locate(frame, node.args[-1], out, index), function(*numbers))


CALLS: dict[str, Rule] = {f"numpy.{name}": _rule(getattr(np, name)) for name in _UFUNCS}
CALLS |= {f"cmath.{name}": plain(_complex(function), 1) for name, function in OF_COMPLEX.items()}
CALLS |= {"cmath.log": plain(_log, 1, 2), "cmath.polar": plain(_polar, 1), "cmath.rect": plain(_rect, 2)}
CALLS |= {f"operator.{name}": _binary(op) for name, op in OPERATORS.items()}
CALLS["operator.contains"] = Rule(_contains, 2, 2)
CALLS |= {f"operator.{name}": plain(_unary(op), 1) for name, op in _UNARY.items()}
CALLS |= {"operator.not_": plain(_not, 1), "operator.truth": Rule(_truth, 1, 1)}
OF_NUMBERS: dict[str, Rule] = {  # of NumPy's functions those that Numba has on their own
    "numpy.nan_to_num": plain(_nan_to_num, 1),
    "numpy.angle": plain(_angle, 1, 2),
    "numpy.array_equal": plain(_equal, 2),
    "numpy.sinc": plain(_sinc, 1),
    "numpy.real": plain(lambda x: _parts(x)[0], 1),
    "numpy.imag": plain(lambda x: _parts(x)[1], 1),
    "numpy.isnat": plain(_ufunc(np.isnat), 1),
}
CONSTANTS: dict[str, complex] = {"numpy.pi": np.pi, "numpy.e": np.e, "numpy.inf": np.inf, "numpy.nan": np.nan}
CONSTANTS |= {"cmath.pi": np.pi, "cmath.e": np.e, "cmath.tau": 2 * np.pi, "cmath.inf": np.inf, "cmath.nan": np.nan}
CONSTANTS |= {"cmath.infj": complex(0, np.inf), "cmath.nanj": complex(0, np.nan)}
