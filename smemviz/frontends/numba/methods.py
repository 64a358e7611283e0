"""Methods of arrays that Numba compiles for CUDA as loops: what they are as device functions, along one axis."""

from __future__ import annotations

from typing import Any

from smemviz.frontends.numba.xoroshiro import device

PREFIX = "array_"


@device
def _sum(array: Any) -> Any:
    total = array[0]
    for k in range(1, len(array)):
        total += array[k]
    return total


@device
def _prod(array: Any) -> Any:
    product = array[0]
    for k in range(1, len(array)):
        product *= array[k]
    return product


@device
def _any(array: Any) -> Any:
    for item in array:  # noqa: SIM110  what Numba compiles
        if item:
            return True
    return False


@device
def _all(array: Any) -> Any:
    for item in array:  # noqa: SIM110
        if not item:
            return False
    return True


METHODS = {
    f"{PREFIX}sum": _sum,
    f"{PREFIX}prod": _prod,
    f"{PREFIX}any": _any,
    f"{PREFIX}all": _all,
}
