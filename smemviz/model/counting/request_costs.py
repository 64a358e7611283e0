"""What each request of a launch costs, one by one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smemviz.model.counting.banks import count
from smemviz.model.counting.sectors import sectors
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.hardware.operations import unpredictable
from smemviz.recordings.data import Launch


class RequestCosts(NamedTuple):
    """Costs of requests, each (n,) int64, -1 where it does not apply or cannot be told from the addresses."""

    wavefronts: NDArray[np.int64]
    ideal: NDArray[np.int64]
    excess: NDArray[np.int64]
    degree: NDArray[np.int64]
    sectors: NDArray[np.int64]


def request_costs(launch: Launch, rows: NDArray[np.intp], hardware: Hardware = H200) -> RequestCosts:
    """Count logged requests, picked by their rows, as hardware serves them.

    Raises:
        InputError: for an unknown compute capability or bank mode.
    """
    costs = RequestCosts(*(np.full(len(rows), -1, np.int64) for _ in RequestCosts._fields))
    site_of = launch.requests.site[rows]
    for i in np.unique(site_of).tolist():
        site, at = launch.sites[i], site_of == i
        addresses = launch.requests.addresses[rows[at]]
        if site.space == "global":
            costs.sectors[at] = sectors(addresses, site.width)
        elif unpredictable(site.op, site.dtype, hardware.cc) is None:
            counts = count(addresses, site.width, site.op, hardware)
            costs.wavefronts[at], costs.ideal[at], costs.degree[at] = counts
            costs.excess[at] = counts.wavefronts - counts.ideal
    return costs
