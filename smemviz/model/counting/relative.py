"""Addresses relative to the arrays they fall in, so that recordings from different places can be compared."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smemviz.recordings.data import Launch


def relative_addresses(launch: Launch) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return for each lane of each request which of ``launch.arrays`` it touches and the byte offset from its base.

    Both are (n, 32); -1 in both where the lane is off, or where no array of the site's space holds the address. Where
    views of dynamic shared memory overlap, the array the site names goes first, then the first declared.
    """
    addresses = launch.requests.addresses
    index = np.full(addresses.shape, -1, np.int32)
    offset = np.full(addresses.shape, -1, np.int64)
    for s, site in enumerate(launch.sites):
        rows = np.flatnonzero(launch.requests.site == s)
        at = addresses[rows]
        numbers = np.full(at.shape, -1, np.int32)
        base = np.zeros(at.shape, np.int64)
        candidates = [i for i, array in enumerate(launch.arrays) if array.space == site.space]
        for i in sorted(candidates, key=lambda i: launch.arrays[i].name != site.array):
            array = launch.arrays[i]
            low, high = array.extent
            inside = (numbers < 0) & (at >= max(low, 0)) & (at < high)
            numbers[inside] = i
            base[inside] = array.address
        index[rows] = numbers
        offset[rows] = np.where(numbers >= 0, at - base, -1)
    return index, offset
