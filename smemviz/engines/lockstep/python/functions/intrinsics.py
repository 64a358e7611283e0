"""What CUDA has and Python has not: bits of integers, fused products, selections, half precision.

Each operation of half precision, ``cuda.fp16``, is rounded once.
"""

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from smemviz.engines.lockstep.python.functions.rules import Rule, plain
from smemviz.engines.lockstep.values.operators import NoRuleError, binary, truth
from smemviz.engines.lockstep.values.typing import (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT64,
    Dtype,
    Value,
    cast,
    dtype_of,
    real,
)

_UINT32, _UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)
_SELECTED = ("float64", "float32", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def _integer(name: str, x: Value) -> tuple[Any, Dtype]:
    """Return an integer as unsigned bits of its own width, and its type."""
    x = cast(x, INT8) if dtype_of(x) == BOOL else x
    dtype = dtype_of(x)
    if dtype.kind not in "iu":
        raise NoRuleError(f"cuda.{name} of {dtype}")
    return np.asarray(x, dtype).view(f"u{dtype.itemsize}"), dtype


def popc(x: Value) -> Value:
    """Count the bits that are set, in the operand's type."""
    bits, dtype = _integer("popc", x)
    return np.bitwise_count(bits).astype(dtype)[()]


def clz(x: Value) -> Value:
    """Count the zeros above the highest bit that is set, in the operand's type."""
    bits, dtype = _integer("clz", x)
    return (8 * dtype.itemsize - _length(bits)).astype(dtype)[()]


def ffs(x: Value) -> Value:
    """Return the position of the lowest bit that is set, from 1, and 0 where there is none; an unsigned 32-bit one."""
    bits, _ = _integer("ffs", x)
    return _length(bits & (~bits + bits.dtype.type(1))).astype(np.uint32)[()]


def _length(bits: Any) -> Any:
    """Return how many bits an unsigned number needs: below the highest one, all are filled and counted."""
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < 8 * bits.dtype.itemsize:
            bits = bits | (bits >> bits.dtype.type(shift))
    return np.bitwise_count(bits)


def brev(x: Value) -> Value:
    """Reverse the order of the bits: of 64 in an unsigned 64-bit integer, else of the lower 32."""
    _, dtype = _integer("brev", x)
    wide = _UINT64 if dtype == _UINT64 else _UINT32
    as_bytes = np.asarray(cast(x, wide), wide)[..., None].view(np.uint8)
    bits = np.unpackbits(as_bytes, axis=-1, bitorder="little")[..., ::-1]
    return np.packbits(bits, axis=-1, bitorder="little").view(wide)[..., 0][()]


def fma(x: Value, y: Value, z: Value) -> Value:
    """Return ``x * y + z``, rounded once: in single precision where all three fit it, else in double."""
    from smemviz.engines.lockstep.values.fused import fused

    both = _float(x, y, z)
    return fused(*(np.asarray(cast(v, both)) for v in (x, y, z)))


def _float(*values: Value) -> Dtype:
    """Return the float that numbers are brought to: single where all of them fit it."""
    fits = all(real(dtype_of(value)) != FLOAT64 for value in values)
    return FLOAT32 if fits else FLOAT64


def selp(test: Value, then: Value, otherwise: Value) -> Value:
    """Return ``then`` where ``test`` holds, else ``otherwise``; Numba wants both of one type."""
    dtype, second = dtype_of(then), dtype_of(otherwise)
    if dtype != second or dtype.name not in _SELECTED:
        raise NoRuleError(f"cuda.selp of {dtype} and {second}")
    holds = truth(test)
    if not isinstance(holds, np.ndarray):
        return then if holds else otherwise
    return np.where(holds, np.asarray(then, dtype), np.asarray(otherwise, dtype))


def _nanosleep(nanoseconds: Value) -> Value:
    """Do nothing: lockstep has no clock."""
    cast(nanoseconds, INT64)


CALLS: dict[str, Rule] = {
    "cuda.popc": plain(popc, 1),
    "cuda.clz": plain(clz, 1),
    "cuda.ffs": plain(ffs, 1),
    "cuda.brev": plain(brev, 1),
    "cuda.fma": plain(fma, 3),
    "cuda.cbrt": plain(lambda x: np.cbrt(cast(x, _float(x))), 1),
    "cuda.selp": plain(selp, 3),
    "cuda.nanosleep": plain(_nanosleep, 1),
}


def _rounded(function: Callable[..., Any]) -> Callable[..., Value]:
    """Compute in double precision, which holds what two halves make, and round to half."""
    return lambda *x: cast(function(*(np.float64(1) * cast(cast(v, FLOAT16), FLOAT64) for v in x)), FLOAT16)


def _in_single(function: Callable[[Any], Any]) -> Callable[[Value], Value]:
    return lambda x: cast(function(np.asarray(cast(cast(x, FLOAT16), FLOAT32))), FLOAT16)


def _test(op: type[ast.cmpop]) -> Callable[[Value, Value], Value]:
    return lambda x, y: binary(op, cast(x, FLOAT16), cast(y, FLOAT16))


_UNARY: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(np, name) for name in ("ceil", "floor", "rint", "trunc", "sqrt", "cos", "sin", "exp", "exp2")},
    **{name: getattr(np, name) for name in ("abs", "log", "log2", "log10", "tanh")},
    "neg": np.negative,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "rcp": lambda x: 1 / x,
    "exp10": lambda x: np.power(np.float32(10), x),
    "tanh_approx": np.tanh,
}
_BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.fmax, "min": np.fmin}
_TESTS = {"eq": ast.Eq, "ne": ast.NotEq, "ge": ast.GtE, "gt": ast.Gt, "le": ast.LtE, "lt": ast.Lt}

CALLS |= {f"cuda.fp16.h{name}": plain(_in_single(function), 1) for name, function in _UNARY.items()}
CALLS |= {f"cuda.fp16.h{name}": plain(_rounded(function), 2) for name, function in _BINARY.items()}
CALLS |= {f"cuda.fp16.h{name}": plain(_test(op), 2) for name, op in _TESTS.items()}
CALLS["cuda.fp16.hfma"] = plain(_rounded(lambda x, y, z: x * y + z), 3)
