"""Powers by whole numbers, as Numba has them: by squaring in the type of the base, beyond 65,536 by NumPy's."""

from __future__ import annotations

import numpy as np

from smemviz.engines.lockstep.values.operators import power

MOST_SQUARED = 0x10000
LEAST, MOST, MANY = -(2**63), 2**63 - 1, 2**64


def power_of_integer(base: int, exponent: int) -> int:
    """Raise an integer of 64 bits, which wraps; to a negative power it is 0, but 1 and -1 keep their size."""
    if not -MOST_SQUARED <= exponent <= MOST_SQUARED or (not base and exponent < 0):
        return int(power(np.asarray(base), np.asarray(exponent)))
    if exponent < 0 and abs(base) != 1:
        return 0
    made = pow(base, abs(exponent), MANY)
    return made - MANY if made > MOST else made


def power_of_double(base: float, exponent: int) -> float:
    """Raise a number in double precision."""
    return _power(base, exponent, np.float64)


def power_of_single(base: float, exponent: int) -> float:
    """Raise a number in single precision, every product rounded to it."""
    return _power(base, exponent, np.float32)


def _power(base: float, exponent: int, kind: type[np.floating]) -> float:
    if not -MOST_SQUARED <= exponent <= MOST_SQUARED:
        return float(power(np.asarray(base, kind), np.asarray(exponent)))
    result, factor, left = kind(1), kind(base), abs(exponent)
    while left:
        if left & 1:
            result = result * factor
        left >>= 1
        factor = factor * factor
    return float(kind(1) / result if exponent < 0 else result)
