"""Global memory by site: what its requests moved, and how much of that they used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from smemviz.model.counting.cache import cached
from smemviz.model.counting.sectors import bytes_used, fewest_sectors, sectors
from smemviz.model.counting.summary import added, summarize
from smemviz.recordings.data import SECTOR_BYTES, Launch


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
