"""Where to look first: the request that wastes the most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smemviz.model.counting.costs import excess_at
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.playback.request_view import RequestView, request_view
from smemviz.recordings.data import Launch


def worst_request(
    launch: Launch, hardware: Hardware = H200, block: int | None = None, site: int | None = None
) -> RequestView:
    """Return the first request with the most excess, of the launch, of one of its blocks, or of one of its sites.

    Without any excess it is the first request on shared memory at the site whose lanes lie farthest apart, which is
    where a pad or a swizzle does its work; in a launch that uses none, the first with the most sectors beyond those
    that would do.
    """
    row, most = None, 0
    space = "shared" if launch.sites_in("shared") else "global"
    looked_at = np.ones(len(launch.requests), bool) if block is None else launch.requests.block == block
    for i, candidate in enumerate(launch.sites):
        rows = np.flatnonzero(looked_at & (launch.requests.site == i))
        if (candidate.space == space if site is None else i == site) and len(rows):
            excess = excess_at(candidate, launch.requests.addresses[rows], hardware)
            if excess.max() > most:
                row, most = int(rows[np.argmax(excess)]), int(excess.max())
    if row is None:
        return request_view(launch, block, site=_widest(launch, looked_at) if site is None else site)
    requests = launch.requests
    return request_view(
        launch, int(requests.block[row]), int(requests.warp[row]), int(requests.step[row]), int(requests.site[row])
    )


def _widest(launch: Launch, looked_at: NDArray[np.bool_]) -> int | None:
    """Return the shared site with the request whose lanes lie farthest apart, the first of those that are equal."""
    widest, most = None, -1
    for i in launch.sites_in("shared"):
        addresses = launch.requests.addresses[looked_at & (launch.requests.site == i)]
        on = addresses >= 0  # -1 is a lane that is off
        lowest = np.where(on, addresses, np.iinfo(np.int64).max).min(axis=1)
        apart = int(np.where(on.any(axis=1), addresses.max(axis=1) - lowest, 0).max(initial=0))
        if apart > most:
            widest, most = i, apart
    return widest
