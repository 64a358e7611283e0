"""``cuda.fp16``: arithmetic of half precision, each operation rounded once."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from smemviz.engines.lockstep.python.functions.rules import Rule, plain
from smemviz.engines.lockstep.values.operators import binary
from smemviz.engines.lockstep.values.typing import FLOAT16, FLOAT32, FLOAT64, Value, cast


def _rounded(function: Callable[..., Any]) -> Callable[..., Value]:
    """Compute in double precision, which holds what two halves make, and round to half."""
    return lambda *x: cast(function(*(np.float64(1) * cast(cast(v, FLOAT16), FLOAT64) for v in x)), FLOAT16)


def _in_single(function: Callable[[Any], Any]) -> Callable[[Value], Value]:
    return lambda x: cast(function(np.asarray(cast(cast(x, FLOAT16), FLOAT32))), FLOAT16)


def _test(op: type[ast.cmpop]) -> Callable[[Value, Value], Value]:
    return lambda x, y: binary(op, cast(x, FLOAT16), cast(y, FLOAT16))


_UNARY: dict[str, Callable[[Any], Any]] = {
    "habs": np.abs,
    "hneg": np.negative,
    "hceil": np.ceil,
    "hfloor": np.floor,
    "hrint": np.rint,
    "htrunc": np.trunc,
    "hsqrt": np.sqrt,
    "hrsqrt": lambda x: 1 / np.sqrt(x),
    "hrcp": lambda x: 1 / x,
    "hcos": np.cos,
    "hsin": np.sin,
    "hexp": np.exp,
    "hexp2": np.exp2,
    "hexp10": lambda x: np.power(np.float32(10), x),
    "hlog": np.log,
    "hlog2": np.log2,
    "hlog10": np.log10,
    "htanh": np.tanh,
    "htanh_approx": np.tanh,
}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "hadd": np.add,
    "hsub": np.subtract,
    "hmul": np.multiply,
    "hdiv": np.divide,
    "hmax": np.fmax,
    "hmin": np.fmin,
}
_TESTS: dict[str, type[ast.cmpop]] = {
    "heq": ast.Eq,
    "hne": ast.NotEq,
    "hge": ast.GtE,
    "hgt": ast.Gt,
    "hle": ast.LtE,
    "hlt": ast.Lt,
}

CALLS: dict[str, Rule] = {f"cuda.fp16.{name}": plain(_in_single(function), 1) for name, function in _UNARY.items()}
CALLS |= {f"cuda.fp16.{name}": plain(_rounded(function), 2) for name, function in _BINARY.items()}
CALLS |= {f"cuda.fp16.{name}": plain(_test(op), 2) for name, op in _TESTS.items()}
CALLS["cuda.fp16.hfma"] = plain(_rounded(lambda x, y, z: x * y + z), 3)
