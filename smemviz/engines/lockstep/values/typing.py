"""Numba's rules of typing for CUDA: what two types make together, for scalars and for one element per thread.

A value is a Python or NumPy scalar when it is the same in all threads, else an array with one element per thread.
Python's ``int`` stands for int64, ``float`` for float64, ``bool`` for boolean. The rules are those of numba-cuda's
typing templates; the tests hold them against ``numba.njit`` and, where it is installed, numba-cuda itself.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.values.masks import NothingHereError, Optional
from smemviz.messages import english

Value = Any
Dtype = np.dtype[Any]

BOOL = np.dtype(np.bool_)
INT8, INT32, INT64 = (np.dtype(t) for t in (np.int8, np.int32, np.int64))
UINT8, UINT64 = np.dtype(np.uint8), np.dtype(np.uint64)
FLOAT16, FLOAT32, FLOAT64 = (np.dtype(t) for t in (np.float16, np.float32, np.float64))
COMPLEX64, COMPLEX128 = np.dtype(np.complex64), np.dtype(np.complex128)

_PYTHON: dict[type, Dtype] = {bool: BOOL, int: INT64, float: FLOAT64, complex: COMPLEX128}
_COMPLEX: dict[Dtype, Dtype] = {FLOAT16: COMPLEX64, FLOAT32: COMPLEX64, FLOAT64: COMPLEX128}

_NAMES = {
    "NoneType": english("nothing"),
    "View": english("an array"),
    "str": english("text"),
}

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
_WRAP = 2**64


class NotAScalarError(TypeError):
    """A tuple, an array or nothing where arithmetic needs a number; ``args[0]`` names it."""


def dtype_of(value: Value) -> Dtype:
    """Return the type of a scalar or of one thread's element.

    Raises:
        NotAScalarError: for anything else.
        NothingHereError: for a number in some threads only.
    """
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype  # type: ignore[no-any-return]
    python = _PYTHON.get(kind)
    if python is not None:
        return python
    if isinstance(value, np.generic):
        return value.dtype
    if kind is Optional:
        raise NothingHereError
    raise NotAScalarError(_NAMES.get(kind.__name__) or f"a {kind.__name__.lower()}")


def cast(value: Value, dtype: Dtype) -> Value:
    """Convert to a type as the device does: integers wrap, floats are cut off and stay at the ends of the range."""
    own = dtype_of(value)
    if own == dtype:
        return value
    if own.kind == "f" and dtype.kind in "iu":
        converted = _float_to_integer(np.asarray(value, own), dtype)
        return converted if isinstance(value, np.ndarray) else converted[()]
    if isinstance(value, np.ndarray):
        return value.astype(dtype)
    if dtype == INT64 and own.kind in "biu":
        return wrap(int(value))
    return np.asarray(value, own).astype(dtype)[()]


def _float_to_integer(values: NDArray[Any], dtype: Dtype) -> NDArray[Any]:
    """Convert as the hardware does (H200): saturating at 32 or 64 bits, then wrapping to 8 or 16.

    NaN gives the lowest bit pattern at 64 bits and from a float64, else 0. Half precision is rounded, not cut off, and
    saturates at the width of the integer.
    """
    half = values.dtype == FLOAT16
    wide = np.dtype(f"{dtype.kind}4") if dtype.itemsize < 4 and not half else dtype
    whole = (np.rint if half else np.trunc)(values.astype(np.float64))
    low, high = np.iinfo(wide).min, np.iinfo(wide).max
    inside = (whole >= low) & (whole < float(high) + (wide.itemsize < 8))
    result = np.where(inside, whole, 0).astype(wide)
    if not inside.all():
        result = np.where(whole > 0, np.where(inside, result, high), np.where(whole < low, low, result)).astype(wide)
        if wide.itemsize == 8 or values.dtype == FLOAT64:
            lowest = np.array(1 << (8 * wide.itemsize - 1), np.uint64).astype(wide)
            result = np.where(np.isnan(whole), lowest, result)
    return result.astype(dtype)


def wrap(value: int) -> int:
    """Bring a Python integer into 64 bits, two's complement."""
    if INT64_MIN <= value <= INT64_MAX:
        return value
    return (value - INT64_MIN) % _WRAP + INT64_MIN


@cache
def integer_result(left: Dtype, right: Dtype) -> Dtype:
    """Return what integer arithmetic gives: 64 bits, signed if either side is."""
    return UINT64 if left.kind == right.kind == "u" else INT64


@cache
def arithmetic(left: Dtype, right: Dtype) -> Dtype:
    """Return the type of ``+``, ``-`` and ``*``.

    An integer beside a float counts as the smallest float that holds it in Numba's table of safe conversions, where
    uint16 goes to float64.
    """
    if left.kind in "biu" and right.kind in "biu":
        return integer_result(left, right)
    if left.kind == "c" or right.kind == "c":
        both: Dtype = np.promote_types(real(left), real(right))
        return _COMPLEX[both]
    result: Dtype = np.promote_types(real(left), real(right))
    return result


@cache
def quotient(left: Dtype, right: Dtype) -> Dtype:
    """Return the type of ``/``."""
    both = arithmetic(left, right)
    return FLOAT64 if both.kind in "iu" else both


@cache
def remainder(left: Dtype, right: Dtype) -> Dtype:
    """Return the type of ``//`` and ``%``, which have no half precision."""
    both = arithmetic(left, right)
    return FLOAT32 if both == FLOAT16 else both


@cache
def comparison(left: Dtype, right: Dtype) -> Dtype:
    """Return the type in which two numbers are compared; signed beside unsigned 64 bits are compared as float64."""
    if left.kind in "biu" and right.kind in "biu":
        return np.promote_types(left, right)
    return arithmetic(left, right)


@cache
def unify(left: Dtype, right: Dtype) -> Dtype:
    """Return the type of a variable that is assigned both, of a conditional expression, of ``min`` and ``max``."""
    return np.promote_types(left, right)


def real(dtype: Dtype) -> Dtype:
    """Return the smallest float that a number, or a part of a complex one, fits in Numba's safe conversions."""
    if dtype.kind == "c":
        return np.dtype(f"f{dtype.itemsize // 2}")
    if dtype.kind == "f":
        return dtype
    if dtype in (BOOL, INT8):
        return FLOAT16
    return FLOAT32 if dtype in (np.dtype(np.int16), np.dtype(np.uint8)) else FLOAT64
