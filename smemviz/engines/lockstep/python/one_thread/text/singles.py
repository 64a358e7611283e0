"""Complex numbers in single precision, as Python's: rounded, and multiplied as the interpreter does it."""

from __future__ import annotations

from ctypes import c_float


def rounded(number: complex) -> complex:
    """Round both parts to single precision."""
    return complex(c_float(number.real).value, c_float(number.imag).value)


def product(left: complex, right: complex) -> complex:
    """Multiply complex numbers, every product rounded."""
    first = rounded(complex(left.real * right.real, left.imag * right.imag))
    second = rounded(complex(left.real * right.imag, left.imag * right.real))
    return rounded(complex(first.real - first.imag, second.real + second.imag))
