"""What Numba compiles for CUDA as loops over all elements of an array, as device functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from smemviz.frontends.numba.xoroshiro import device

PREFIX = "array_"


@device
def _sum(array: Any) -> Any:
    total = array.dtype.type(0)
    for k in np.ndindex(array.shape):
        total += array[k]
    return total


@device
def _prod(array: Any) -> Any:
    product = array.dtype.type(1)
    for k in np.ndindex(array.shape):
        product *= array[k]
    return product


@device
def _any(array: Any) -> Any:
    for k in np.ndindex(array.shape):  # noqa: SIM110  what Numba compiles
        if array[k]:
            return True
    return False


@device
def _all(array: Any) -> Any:
    for k in np.ndindex(array.shape):  # noqa: SIM110
        if not array[k]:
            return False
    return True


@device
def _mean(array: Any) -> Any:
    none = array.dtype.type(0)
    total = (none + none) * np.float32(0)  # in double precision for integers
    for k in np.ndindex(array.shape):
        total += array[k]
    return total / array.size


@device
def _var(array: Any) -> Any:
    mean = array.mean()
    squares = 0.0
    for k in np.ndindex(array.shape):
        apart = array[k] - mean
        squares += apart.real * apart.real + apart.imag * apart.imag
    return squares / array.size


@device
def _std(array: Any) -> Any:
    return array.var() ** 0.5


@device
def _argmax(array: Any) -> Any:
    best = array.dtype.type(0)
    place = 0
    for at, k in enumerate(np.ndindex(array.shape)):
        item = array[k]
        if item != item:  # not a number, which wins
            return at
        if at == 0 or item > best:
            best = item
            place = at
    return place


@device
def _argmin(array: Any) -> Any:
    best = array.dtype.type(0)
    place = 0
    for at, k in enumerate(np.ndindex(array.shape)):
        item = array[k]
        if item != item:
            return at
        if at == 0 or item < best:
            best = item
            place = at
    return place


@device
def _count_nonzero(array: Any) -> Any:
    count = 0
    for k in np.ndindex(array.shape):
        if array[k] != 0:
            count += 1
    return count


@device
def _nansum(array: Any) -> Any:
    total = array.dtype.type(0)
    for k in np.ndindex(array.shape):
        item = array[k]
        if item == item:
            total += item
    return total


@device
def _nanprod(array: Any) -> Any:
    product = array.dtype.type(1)
    for k in np.ndindex(array.shape):
        item = array[k]
        if item == item:
            product *= item
    return product


@device
def _nanmean(array: Any) -> Any:
    total = 0.0
    count = 0
    for k in np.ndindex(array.shape):
        item = array[k]
        if item == item:
            total += item
            count += 1
    return total / count


@device
def _nanvar(array: Any) -> Any:
    mean = np.nanmean(array)
    squares = 0.0
    count = 0
    for k in np.ndindex(array.shape):
        item = array[k]
        if item == item:
            apart = item - mean
            squares += apart.real * apart.real + apart.imag * apart.imag
            count += 1
    return squares / count


@device
def _nanstd(array: Any) -> Any:
    return np.nanvar(array) ** 0.5


@device
def _trace(array: Any) -> Any:
    total = array.dtype.type(0)
    for k in range(min(array.shape[0], array.shape[1])):
        total += array[k, k]
    return total


@device
def _added(array: Any, start: Any = 0) -> Any:
    total = start
    for k in range(len(array)):
        total += array[k]
    return total


@device
def _highest(array: Any) -> Any:
    best = array[0]
    for k in range(1, len(array)):
        item = array[k]
        if item > best:
            best = item
    return best


@device
def _lowest(array: Any) -> Any:
    best = array[0]
    for k in range(1, len(array)):
        item = array[k]
        if item < best:
            best = item
    return best


@device
def _sum_as(array: Any, dtype: Any) -> Any:
    total = dtype(0)
    for k in np.ndindex(array.shape):
        total = dtype(total + array[k])
    return total


@device
def _searchsorted(a: Any, v: Any, side: Any = "left") -> Any:
    low = 0
    high = len(a)
    while low < high:
        middle = low + ((high - low) >> 1)
        item = a[middle]
        if side == "right":
            before = item <= v or (isinstance(v, float) and v != v)
        else:
            before = item < v or (isinstance(v, float) and v != v and item == item)
        if before:
            low = middle + 1
        else:
            high = middle
    return low


@device
def _rises(bins: Any) -> Any:
    if len(bins) == 0:
        return True
    last = bins[0]
    k = 1
    while k < len(bins) and bins[k] == last:
        k += 1
    if k == len(bins):
        return True
    item = bins[k]
    rises = last < item
    for j in range(k + 1, len(bins)):
        last = item
        item = bins[j]
        if (rises and last > item) or (not rises and last < item):
            raise ValueError("bins are not sorted; sort them")
    return rises


@device
def _digitize(x: Any, bins: Any, right: Any = False) -> Any:
    if _rises(bins):
        if right:
            return _searchsorted(bins, x, "left")
        return _searchsorted(bins, x, "right")
    if right:
        return len(bins) - _searchsorted(bins[::-1], x, "left")
    return len(bins) - _searchsorted(bins[::-1], x, "right")


@device
def _shape(array: Any) -> Any:
    return array.shape


@device
def _size(array: Any) -> Any:
    return array.size


_OF_ARRAYS = {
    "all": _all,
    "any": _any,
    "argmax": _argmax,
    "argmin": _argmin,
    "mean": _mean,
    "prod": _prod,
    "std": _std,
    "sum": _sum,
    "var": _var,
}
METHODS = {f"{PREFIX}{name}": function for name, function in _OF_ARRAYS.items()} | {f"{PREFIX}sum_as": _sum_as}
FUNCTIONS = {f"numpy.{name}": function for name, function in _OF_ARRAYS.items()}  # by canonical name
FUNCTIONS |= {"numpy.average": _mean, "numpy.count_nonzero": _count_nonzero, "numpy.nanmean": _nanmean}
FUNCTIONS |= {"numpy.nanprod": _nanprod, "numpy.nanstd": _nanstd, "numpy.nansum": _nansum, "numpy.nanvar": _nanvar}
FUNCTIONS |= {"numpy.shape": _shape, "numpy.size": _size, "numpy.trace": _trace}
FUNCTIONS |= {"numpy.digitize": _digitize, "numpy.searchsorted": _searchsorted, "numpy.sum dtype": _sum_as}
FUNCTIONS |= {"builtins.max": _highest, "builtins.min": _lowest, "builtins.sum": _added}
