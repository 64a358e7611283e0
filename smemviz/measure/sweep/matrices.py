"""The matrices of one size, each made once, and what their product is in float64."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import NDArray

_SEED = 0
_LARGEST_INTEGER = 8

Shape = tuple[int, ...]


class Matrices:
    """Random factors by shape and type: numbers from -1 to 1, or whole ones from -8 to 8 for integers."""

    def __init__(self) -> None:
        self.on_host = cache(self._on_host)
        self.on_device = cache(self._on_device)
        self._product = cache(self._in_float64)

    def error(self, c: NDArray[Any], a: Any, b: Any) -> tuple[float, float]:
        """Return the largest difference of ``c`` from ``a b`` in float64, and the largest element of that."""
        exact = self._product(tuple(a.shape), tuple(b.shape), a.dtype)
        difference = c - exact[: c.shape[0], : c.shape[1]]
        return float(np.abs(difference).max()), float(np.abs(exact).max())

    def _on_host(self, a: Shape, b: Shape, dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        rng = np.random.default_rng(_SEED)
        return _random(rng, a, np.dtype(dtype)), _random(rng, b, np.dtype(dtype))

    def _on_device(self, a: Shape, b: Shape, dtype: Any) -> tuple[Any, Any]:
        first, second = self.on_host(a, b, dtype)
        return cuda.to_device(first), cuda.to_device(second)

    def _in_float64(self, a: Shape, b: Shape, dtype: Any) -> NDArray[np.float64]:
        first, second = self.on_host(a, b, dtype)
        product: NDArray[np.float64] = first.astype(np.float64) @ second.astype(np.float64)
        return product


def _random(rng: np.random.Generator, shape: Shape, dtype: np.dtype[Any]) -> NDArray[Any]:
    if dtype.kind in "iu":
        low = -_LARGEST_INTEGER if dtype.kind == "i" else 0
        return rng.integers(low, _LARGEST_INTEGER, shape, dtype=np.int8, endpoint=True).astype(dtype)
    return (2 * rng.random(shape, dtype=np.float32) - 1).astype(dtype)
