"""The requests of a launch in a form in which those of two languages can be compared."""

from collections import Counter

import numpy as np

from smemviz.recordings.data import Launch


def relative_requests(launch: Launch) -> Counter[tuple[object, ...]]:
    """Every request by block, warp, array, what it does and its addresses, counted from the start of the array.

    An array of a structure of C++, ``a.elements``, is the ``a`` of Python.
    """
    starts = {array.name: array.address for array in launch.arrays if array.space == "global"}
    found: Counter[tuple[object, ...]] = Counter()
    requests = launch.requests
    for addresses, number, block, warp in zip(
        requests.addresses, requests.site, requests.block, requests.warp, strict=True
    ):
        site = launch.sites[number]
        start = starts.get(site.array, 0)
        lanes = tuple(np.where(addresses >= 0, addresses - start, -1).tolist())
        found[int(block), int(warp), site.array.removesuffix(".elements"), site.space, site.op, site.width, lanes] += 1
    return found
