"""Functions of ``numba.cuda.libdevice`` that neither Python nor NumPy has: Bessel's, and a scaled error function.

NVIDIA documents errors of several units in the last place, and more where a Bessel function is far from its start.
Bessel's are here the nearest float64 up to arguments of 50, where they are summed with 48 digits, and within 1e-15
beyond; so they differ from the device's by what those are off.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

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
