"""Global memory: what the requests of a site moved, how much of that they used, and which elements they touch."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from smemviz.model.counting.costs import cached
from smemviz.model.counting.service import bytes_used, fewest_sectors, sectors
from smemviz.model.counting.summary import added, summarize
from smemviz.model.hardware.operations import Effect, effect_of
from smemviz.recordings.data import SECTOR_BYTES, ArrayInfo, Launch


@dataclass(frozen=True)
class Traffic:
    """What the requests of one global site moved.

    ``requests`` and ``sectors`` are those of the whole launch. All else is of the ``logged`` requests: ``used`` are the
    different bytes that each asked for, ``fewest`` the sectors that would hold as many bytes, and ``spread`` (33,) says
    how many requests moved how many sectors.
    """

    requests: int
    sectors: int
    logged: int
    logged_sectors: int
    used: int
    fewest: int
    spread: NDArray[np.int64]

    @property
    def complete(self) -> bool:
        """Whether every request was logged."""
        return self.logged == self.requests

    @property
    def sectors_per_request(self) -> float | None:
        """Sectors per request over the whole launch, None where the site never ran."""
        return self.sectors / self.requests if self.requests else None

    @property
    def moved(self) -> int:
        """The bytes that the logged requests moved."""
        return SECTOR_BYTES * self.logged_sectors

    @property
    def efficiency(self) -> float | None:
        """Bytes used over bytes moved, of the logged requests; None where there are none."""
        return self.used / self.moved if self.moved else None


@cached
def traffic_of(launch: Launch, site: int) -> Traffic | None:
    """Count one site of a launch, None for a site in shared memory.

    Bytes that several lanes of a request share are used once; what a request leaves unused counts as unused even where
    a later one finds it in a cache.
    """
    chosen = launch.sites[site]
    if chosen.space != "global":
        return None
    addresses = launch.requests.addresses[launch.requests.site == site]
    moved, used = sectors(addresses, chosen.width), bytes_used(addresses, chosen.width)
    totals = launch.totals
    return Traffic(
        requests=len(addresses) if totals is None else int(totals.requests[site]),
        sectors=int(moved.sum()) if totals is None else int(totals.sectors[site]),
        logged=len(addresses),
        logged_sectors=int(moved.sum()),
        used=int(used.sum()),
        fewest=int(fewest_sectors(used).sum()),
        spread=np.bincount(moved, minlength=33),
    )


def add_traffic(several: Iterable[Traffic]) -> Traffic:
    """Return the traffic of several sites together."""
    return reduce(added, several, Traffic(0, 0, 0, 0, 0, 0, np.zeros(33, np.int64)))


def same_accesses(launch: Launch, others: Sequence[Launch]) -> list[Launch]:
    """Return the launches that make as many requests of each kind, for the same type of element, elsewhere.

    They move other sectors, so that setting them side by side shows what the order of the indices is worth.
    """
    counts, moved = _request_counts(launch)
    same_block = [other for other in others if other is not launch and other.block == launch.block]
    return [other for other in same_block if _request_counts(other)[0] == counts and _request_counts(other)[1] != moved]


def _request_counts(launch: Launch) -> tuple[Counter[tuple[str, str, str, int]], int]:
    """Count the requests by space, operation, type of element and width, and all sectors."""
    counts: Counter[tuple[str, str, str, int]] = Counter()
    sectors_moved = 0
    for site, row in zip(launch.sites, summarize(launch), strict=True):
        counts[site.space, site.op, site.dtype, site.width] += row.requests
        sectors_moved += row.sectors or 0
    return counts, sectors_moved


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
