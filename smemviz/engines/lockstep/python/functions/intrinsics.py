"""The arithmetic that CUDA has and Python has not: bits of integers, fused products, selections."""

from __future__ import annotations

from typing import Any

import numpy as np

from smemviz.engines.lockstep.python.functions.rules import Rule, plain
from smemviz.engines.lockstep.values.operators import NoRuleError, halves, truth
from smemviz.engines.lockstep.values.typing import (
    BOOL,
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
    both = _float(x, y, z)
    a, b, c = (np.asarray(cast(v, both)) for v in (x, y, z))
    return (_fma_single if both == FLOAT32 else _fma_double)(a, b, c)[()]


def _float(*values: Value) -> Dtype:
    """Return the float that numbers are brought to: single where all of them fit it."""
    fits = all(real(dtype_of(value)) != FLOAT64 for value in values)
    return FLOAT32 if fits else FLOAT64


def _fma_single(x: Any, y: Any, z: Any) -> Any:
    """Add in double precision, where the product is exact, rounding to odd so that the last rounding is the only one.

    Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008.
    """
    product = x.astype(np.float64) * y.astype(np.float64)
    return _odd_sum(product, z.astype(np.float64)).astype(np.float32)


def _odd_sum(a: Any, b: Any) -> Any:
    """Return a + b, rounded to odd: the neighbour with an odd last bit where the sum is not exact."""
    total = a + b
    back = total - a
    error = (a - (total - back)) + (b - back)
    bits = total.view(np.int64)
    # One step towards the error, in the order of the bit patterns, where the last bit is even.
    step = np.where((error > 0) == (total > 0), 1, -1)
    move = np.isfinite(total) & (error != 0) & np.isfinite(error) & (bits & 1 == 0)
    return np.where(move, bits + step, bits).view(np.float64)


def _fma_double(x: Any, y: Any, z: Any) -> Any:
    """Multiply and add with the error of each; the double of Boldo and Melquiond's scheme."""
    high = x * y
    low = _product_error(x, y, high)
    # z + high as a pair, then the two small parts, rounded to odd, so that only the last sum rounds.
    total = z + high
    back = total - z
    error = (z - (total - back)) + (high - back)
    result = total + _odd_sum(error, np.asarray(low))
    return np.where(np.isfinite(result) & np.isfinite(low), result, x * y + z)


def _product_error(x: Any, y: Any, high: Any) -> Any:
    """Return ``x * y - high`` exactly (Dekker)."""
    (x_high, x_low), (y_high, y_low) = halves(x), halves(y)
    return ((x_high * y_high - high) + x_high * y_low + x_low * y_high) + x_low * y_low


def _cbrt(x: Value) -> Value:
    return np.cbrt(cast(x, _float(x)))


def selp(test: Value, one: Value, other: Value) -> Value:
    """Return ``one`` where ``test`` holds, else ``other``; Numba wants both of one type."""
    dtype, second = dtype_of(one), dtype_of(other)
    if dtype != second or dtype.name not in _SELECTED:
        raise NoRuleError(f"cuda.selp of {dtype} and {second}")
    holds = truth(test)
    if not isinstance(holds, np.ndarray):
        return one if holds else other
    return np.where(holds, np.asarray(one, dtype), np.asarray(other, dtype))


def _nanosleep(nanoseconds: Value) -> Value:
    """Do nothing: lockstep has no clock."""
    cast(nanoseconds, INT64)


CALLS: dict[str, Rule] = {
    "cuda.popc": plain(popc, 1),
    "cuda.clz": plain(clz, 1),
    "cuda.ffs": plain(ffs, 1),
    "cuda.brev": plain(brev, 1),
    "cuda.fma": plain(fma, 3),
    "cuda.cbrt": plain(_cbrt, 1),
    "cuda.selp": plain(selp, 3),
    "cuda.nanosleep": plain(_nanosleep, 1),
}
