"""Functions of floats that neither Python nor NumPy has: Bessel's, a scaled error function, and other roundings.

NVIDIA documents errors of several units in the last place, and more where a Bessel function is far from its start.
Bessel's are here the nearest float64 up to arguments of 50, where they are summed with 48 digits, and within 1e-15
beyond; so they differ from the device's by what those are off.

Arithmetic that is rounded up, down or toward zero is found from what is rounded to the nearest. The ways are those of
CUDA's names: ``rd`` down, ``ru`` up, ``rz`` toward zero.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.values.typing import FLOAT32, FLOAT64

_FAR = 50.0  # from here on Hankel's expansion has all digits of a float64
_DIGITS = Context(prec=48)
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899863")
_EULER = Decimal("0.577215664901532860606512090082402431042159335939923598805767234884867726777664670937")
_LOWEST_LOG = -800.0  # of numbers that no float64 is
_TOO_LARGE = Decimal("1e400")


def bessel_j(n: int, x: float) -> float:
    """Return the Bessel function of the first kind; NaN for a negative order, as the device has it."""
    if n < 0 or math.isnan(x):
        return math.nan
    if x < 0:
        return -bessel_j(n, -x) if n % 2 else bessel_j(n, -x)
    if not x:
        return (1.0, 0.0, math.nan)[min(n, 2)]  # NaN is what the device divides 0 by 0 to, from order 2 on
    if math.isinf(x):
        return 0.0
    if x > _FAR and n <= x:
        return float(_forward(n, x, _hankel(0, x)[0], _hankel(1, x)[0]))
    if n and n * math.log(x / 2) - math.lgamma(n + 1) < _LOWEST_LOG:
        return 0.0
    with localcontext(_DIGITS) as digits:
        digits.prec += int(x / 4) if x > _FAR else 0
        return float(sum(term for _, term in _terms(n, Decimal(x))))


def bessel_y(n: int, x: float) -> float:
    """Return the Bessel function of the second kind; NaN for a negative order or argument, as the device has it."""
    if n < 0 or math.isnan(x) or x < 0:
        return math.nan
    if math.isinf(x):
        return 0.0
    if not x:
        return -math.inf
    if x > _FAR:
        return float(_forward(n, x, _hankel(0, x)[1], _hankel(1, x)[1]))
    with localcontext(_DIGITS):
        return float(_forward(n, Decimal(x), *_first_two_of_y(Decimal(x))))


def _terms(n: int, x: Decimal) -> Iterator[tuple[int, Decimal]]:
    """Yield the terms of the power series of the first kind, with their numbers, until they change nothing."""
    term = (x / 2) ** n / math.factorial(n)
    square, k, total = -((x / 2) ** 2), 0, Decimal(0)
    while total + term != total or k * (k + n) < -square:
        yield k, term
        total += term
        k += 1
        term *= square / (k * (k + n))


def _first_two_of_y(x: Decimal) -> tuple[Decimal, Decimal]:
    """Return the functions of the second kind of order 0 and 1."""
    log = (x / 2).ln() + _EULER
    y0, y1 = Decimal(0), -1 / x
    harmonic = Decimal(0)
    for k, term in _terms(0, x):
        harmonic += Decimal(1) / k if k else 0
        y0 += (log - harmonic) * term
    harmonic = Decimal(0)
    for k, term in _terms(1, x):
        harmonic += Decimal(1) / k if k else 0
        y1 += (log - harmonic - Decimal(1) / (2 * (k + 1))) * term
    return 2 / _PI * y0, 2 / _PI * y1


def _forward(n: int, x: Any, first: Any, second: Any) -> Any:
    """Return the function of an order from those of 0 and 1."""
    if n == 0:
        return first
    for k in range(1, n):
        first, second = second, 2 * k / x * second - first
        if abs(second) > _TOO_LARGE:
            break
    return second


def _hankel(n: int, x: float) -> tuple[float, float]:
    """Return both functions of order 0 or 1 of a large argument."""
    terms, k = [1.0], 1
    while abs(terms[-1]) > 1e-18:
        terms.append(terms[-1] * (4 * n * n - (2 * k - 1) ** 2) / (8 * k * x))
        k += 1
    p = sum(terms[0::4]) - sum(terms[2::4])
    q = sum(terms[1::4]) - sum(terms[3::4])
    sine, cosine = math.sin(x), math.cos(x)
    cos, sin = (sine + cosine, sine - cosine) if n == 0 else (sine - cosine, -sine - cosine)  # times sqrt(2)
    scale = 1 / math.sqrt(math.pi * x)
    return scale * (p * cos - q * sin), scale * (p * sin + q * cos)


def scaled_erfc(x: float) -> float:
    """Return ``exp(x * x) * erfc(x)``."""
    if x < -27:
        return math.inf
    if x < 26:
        with localcontext(_DIGITS):
            return float((Decimal(x) ** 2).exp()) * math.erfc(x)
    total, term = 1.0, 1.0
    for k in range(1, 10):
        term *= -(2 * k - 1) / (2 * x * x)
        total += term
    return total / (x * math.sqrt(math.pi))


def remainder_and_quotient(x: float, y: float) -> tuple[float, int]:
    """Return the remainder from the nearest quotient, and the last three bits of that with its sign."""
    if math.isnan(x) or math.isnan(y) or math.isinf(x) or not y:
        return math.nan, 0
    rest = math.remainder(x, y)
    if math.isinf(y):
        return rest, 0
    quotient = (Fraction(x) - Fraction(rest)) / Fraction(y)
    bits = abs(int(quotient)) % 8
    return rest, -bits if quotient < 0 else bits


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
