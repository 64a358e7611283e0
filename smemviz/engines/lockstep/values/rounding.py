"""Arithmetic on floats that is rounded up, down or toward zero, found from what is rounded to the nearest.

The ways are those of CUDA's names: ``rd`` down, ``ru`` up, ``rz`` toward zero.
"""

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.values.typing import FLOAT32, FLOAT64

_BITS = 300  # of a root: no float is closer than that to one that is none itself

DIRECTIONS = ("rd", "ru", "rz")
EXACT: dict[str, Callable[..., Fraction]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "rcp": lambda x: 1 / x,
    "fma": lambda x, y, z: x * y + z,
    "sqrt": lambda x: _root(x),
    "cvt": lambda x: x,
}


def directed(name: str, way: str, nearest: Any, *operands: Any) -> NDArray[Any]:
    """Return what an operation gives when it is rounded one way; ``nearest`` is what it is to the nearest."""
    rounded, *arrays = np.broadcast_arrays(nearest, *operands)
    if rounded.dtype == FLOAT32 and all(array.dtype in (FLOAT32, FLOAT64) for array in arrays):
        above = _beyond(name, *(array.astype(np.float64) for array in (rounded, *arrays)))
        positive = np.where(rounded == 0, above < 0, rounded > 0)
        down = (above > 0) & ((way == "rd") | ((way == "rz") & positive))
        up = (above < 0) & ((way == "ru") | ((way == "rz") & ~positive))
        toward = np.where(down, np.float32(-np.inf), np.float32(np.inf))
        result = np.where(down | up, np.nextafter(rounded, toward), rounded)
    else:
        result = _by_fractions(name, way, rounded, arrays)
    if name in ("add", "sub") and way == "rd":  # what cancels is a negative zero
        x, y = arrays[0], arrays[1] if name == "add" else -arrays[1]
        zeros = (x == 0) & (y == 0) & ~np.signbit(x) & ~np.signbit(y)
        result = np.where((result == 0) & ~zeros, np.copysign(result, -1), result).astype(result.dtype)
    return result


def _beyond(name: str, n: Any, x: Any, *others: Any) -> Any:
    """Return a number above 0 where ``n`` is above what an operation on float32 gives, below 0 where it is below.

    All are float64, in which products of two are exact, and sums are with what they leave off.
    """
    match name:
        case "mul":
            return n - x * others[0]
        case "div":
            return (n * others[0] - x) * np.sign(others[0])
        case "rcp":
            return (n * x - 1) * np.sign(x)
        case "sqrt":
            return n * n - x
        case "cvt":
            return n - x
    p, q = (x * others[0], others[1]) if name == "fma" else (x, others[0] if name == "add" else -others[0])
    total = p + q
    part = total - p
    left_off = (p - (total - part)) + (q - part)
    return np.where(n == total, -left_off, n - total)


def _by_fractions(name: str, way: str, nearest: NDArray[Any], operands: list[NDArray[Any]]) -> NDArray[Any]:
    moved = np.array(nearest).reshape(-1)
    for k, parts in enumerate(zip(*(array.reshape(-1).tolist() for array in operands), strict=True)):
        exact = _exactly(EXACT[name], parts)
        if exact is not None and not np.isnan(moved[k]):
            moved[k] = _stepped(way, moved[k], exact)
    return moved.reshape(nearest.shape)


def _exactly(operation: Callable[..., Fraction], parts: tuple[Any, ...]) -> Fraction | None:
    """Return what an operation gives, None where that is no finite number."""
    if not all(map(math.isfinite, parts)):
        return None
    try:
        return operation(*map(Fraction, parts))
    except (ZeroDivisionError, ValueError):
        return None


def _stepped(way: str, nearest: Any, exact: Fraction) -> Any:
    """Return the float next to a number on one side, given the nearest one."""
    infinite = math.isinf(nearest)
    if not infinite and Fraction(float(nearest)) == exact:
        return nearest
    above = nearest > 0 if infinite else Fraction(float(nearest)) > exact
    down = way == "rd" or (way == "rz" and exact > 0)
    if above == down:
        return np.nextafter(nearest, nearest.dtype.type(-np.inf if down else np.inf))
    return nearest


def _root(x: Fraction) -> Fraction:
    scale = 1 << _BITS
    return Fraction(math.isqrt(x.numerator * x.denominator * scale * scale), x.denominator * scale)
