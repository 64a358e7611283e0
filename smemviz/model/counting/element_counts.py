"""Which elements of an array requests touch, and how often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smemviz.model.counting.cache import cached
from smemviz.model.hardware.operations import Effect, effect_of
from smemviz.recordings.data import ArrayInfo, Launch

_COUNTED_IN_PLACE = 1 << 22  # elements; for a larger array the touched ones are sorted instead


@dataclass(frozen=True)
class ElementCounts:
    """The elements touched, each once, and how many times threads touched them.

    ``element`` (n,) counts the elements in row-major order of the indices, ascending; ``times`` (n,) is at least 1.
    """

    element: NDArray[np.int64]
    times: NDArray[np.int64]


@cached
def element_counts(launch: Launch, array: ArrayInfo, kind: Effect, block: int | None = None) -> ElementCounts:
    """Count how often threads touch each element of a global array, of one block or of all that were logged."""
    requests = launch.requests
    of_kind = np.array([site.space == "global" and effect_of(site.op) == kind for site in launch.sites], bool)
    here = of_kind[requests.site] if block is None else of_kind[requests.site] & (requests.block == block)
    parts = []
    for width in {site.width for site, wanted in zip(launch.sites, of_kind, strict=True) if wanted}:
        of_width = np.array([site.width == width for site in launch.sites], bool)
        addresses = requests.addresses[here & of_width[requests.site]]
        for piece in range(0, width, array.itemsize):
            parts.append(elements(array, np.where(addresses >= 0, addresses + piece, -1)))
    flat = np.concatenate([np.zeros(0, np.int64), *(part[part >= 0] for part in parts)])
    if int(np.prod(array.shape, dtype=np.int64)) <= _COUNTED_IN_PLACE:
        counted = np.bincount(flat)
        element = np.flatnonzero(counted)
        return ElementCounts(element, counted[element])
    return ElementCounts(*np.unique(flat, return_counts=True))


def elements(array: ArrayInfo, addresses: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the element, in row-major order, that each byte lies in; -1 for one in none of them."""
    if 0 in array.shape:
        return np.full(addresses.shape, -1, np.int64)
    axes = list(zip(array.shape, array.strides, range(len(array.shape)), strict=True))
    backwards = sum((size - 1) * -stride for size, stride, _ in axes if stride < 0)
    rest = addresses - array.address + backwards
    inside = (addresses >= 0) & (rest >= 0)
    flat = np.zeros(addresses.shape, np.int64)
    # From the widest stride to the narrowest, whatever order the axes have in memory.
    for size, stride, axis in sorted(axes, key=lambda axis: -abs(axis[1])):
        if size == 1 or stride == 0:
            continue
        index, rest = np.divmod(rest, abs(stride))
        inside &= index < size
        index = size - 1 - index if stride < 0 else index
        flat += index * int(np.prod(array.shape[axis + 1 :], dtype=np.int64))
    return np.where(inside & (rest < array.itemsize), flat, -1)
