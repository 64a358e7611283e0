"""What is asked of an array: the different requests of a site that was recorded, or of an access that was made up.

Addresses are relative to the arrays they fall in, so that recordings from different places can be compared.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smemviz.model.counting.pattern import different
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.hardware.operations import unpredictable
from smemviz.model.layout.accesses import Access, elements
from smemviz.model.layout.layouts import Layout
from smemviz.recordings.data import WARP_SIZE, Launch


class ArrayRequests(NamedTuple):
    """The different requests to one array: (n, 32) byte offsets from its first element, -1 for a lane that is off.

    ``times`` (n,) is how many requests were like each. ``site`` indexes the launch's sites, -1 for one made up.
    """

    site: int
    op: str
    width: int
    offsets: NDArray[np.int64]
    times: NDArray[np.int64]


def array_requests(access: Access, layout: Layout) -> ArrayRequests:
    """Return what an access asks of an array, whatever the layout of the array.

    Raises:
        InputError: when the array cannot be accessed so.
    """
    element = elements(access, layout).reshape(-1, WARP_SIZE)
    offsets = np.where(element < 0, -1, element * layout.itemsize)
    return ArrayRequests(-1, access.op, access.bytes_per_lane(layout), offsets, np.ones(len(offsets), np.int64))


def recorded(
    launch: Launch,
    array: int,
    hardware: Hardware = H200,
    relative: tuple[NDArray[np.int32], NDArray[np.int64]] | None = None,
) -> tuple[ArrayRequests, ...]:
    """Return what was logged of the sites that touch ``launch.arrays[array]``, for sites that can be counted.

    ``relative`` is what ``relative_addresses`` gives for the launch, for whoever has it already.
    """
    which, offsets = relative or relative_addresses(launch)
    here = (which == array).any(axis=1)
    accesses = []
    for i, site in enumerate(launch.sites):
        rows = np.flatnonzero(here & (launch.requests.site == i))
        if len(rows) and site.is_shared and unpredictable(site.op, site.dtype, hardware.cc) is None:
            first, _, times = different(offsets[rows])
            accesses.append(ArrayRequests(i, site.op, site.width, offsets[rows[first]], times))
    return tuple(accesses)


def relative_addresses(
    launch: Launch, rows: NDArray[np.intp] | None = None
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return for each lane of each request which of ``launch.arrays`` it touches and the byte offset from its base.

    Both are (n, 32); -1 in both where the lane is off, or where no array of the site's space holds the address. Where
    views of dynamic shared memory overlap, the array the site names goes first, then the first declared. ``rows`` are
    the requests that are asked about, None means all.
    """
    addresses, sites = launch.requests.addresses, launch.requests.site
    if rows is not None:
        addresses, sites = addresses[rows], sites[rows]
    index = np.full(addresses.shape, -1, np.int32)
    offset = np.full(addresses.shape, -1, np.int64)
    lanes = np.flatnonzero((addresses >= 0).any(axis=0))
    for s in np.unique(sites).tolist():
        site, here = launch.sites[s], np.ix_(np.flatnonzero(sites == s), lanes)
        at = addresses[here]
        outside, numbers = at >= 0, np.full(at.shape, -1, np.int32)
        base = np.zeros(at.shape, np.int64)
        candidates = [i for i, array in enumerate(launch.arrays) if array.space == site.space]
        for i in sorted(candidates, key=lambda i: launch.arrays[i].name != site.array):
            array = launch.arrays[i]
            low, high = array.extent
            inside = outside & (at >= low) & (at < high)
            numbers[inside] = i
            base[inside] = array.address
            outside &= ~inside
            if not outside.any():
                break
        index[here] = numbers
        offset[here] = np.where(numbers >= 0, at - base, -1)
    return index, offset
