"""A moment in the life of a block: its requests in an order its barriers allow, and how far it has come.

The log says what each warp did in turn, not how the warps took turns. Between two barriers any order is one the
hardware could have chosen; shown is one step of every warp after the other. The request that wastes the most is shown
first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from smemviz.languages import PYTHON, Spelling, spelling_of
from smemviz.model.counting.costs import excess_at
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.recordings.data import ArrayInfo, Launch, Site
from smemviz.recordings.recording import Recording


@dataclass(frozen=True)
class RequestView:
    """One block of a launch, ``rows`` its requests in playback order, ``position`` the one being served.

    ``position`` is -1 when the block logged no request; ``spelling`` is how the kernel's language writes elements.
    """

    launch: Launch
    block: int
    rows: NDArray[np.intp]
    position: int
    spelling: Spelling = PYTHON.spelling

    def spelled(self, recording: Recording) -> RequestView:
        """Return it with elements written as the file of its kernel writes them."""
        return replace(self, spelling=spelling_of(recording.file_of(self.launch)))

    @property
    def row(self) -> int | None:
        """The row, in the launch's requests, of the request being served."""
        return int(self.rows[self.position]) if self.position >= 0 else None

    @property
    def site(self) -> Site | None:
        """The site that makes the request being served."""
        return None if self.row is None else self.launch.sites[self.launch.requests.site[self.row]]

    @property
    def past(self) -> NDArray[np.intp]:
        """The rows of what has been served, the present request included."""
        return self.rows[: self.position + 1]


def blocks(launch: Launch) -> list[int]:
    """Return the linear indices of the blocks whose requests are logged."""
    return [int(block) for block in np.unique(launch.requests.block)]


def playback_order(launch: Launch, block: int) -> NDArray[np.intp]:
    """Return the rows of a block's requests ordered by epoch, step and warp."""
    requests = launch.requests
    rows = np.flatnonzero(requests.block == block)
    order = np.lexsort((requests.warp[rows], requests.step[rows], requests.epoch[rows]))
    return rows[order]


def request_view(
    launch: Launch,
    block: int | None = None,
    warp: int | None = None,
    step: int | None = None,
    site: int | None = None,
) -> RequestView:
    """Find the request that is meant; what does not exist (any more) gives way, the last named last.

    A warp and step name a request. Without a step it is the first request of the warp at the site, without a warp
    the first one at the site, and without a site the first request of the block.
    """
    logged = blocks(launch)
    if not logged:
        return RequestView(launch, 0, np.zeros(0, np.intp), -1)
    chosen = block if block in logged else logged[0]
    rows = playback_order(launch, chosen)
    requests = launch.requests
    at_site = requests.site[rows] == site if site is not None else np.ones(len(rows), bool)
    of_warp = requests.warp[rows] == warp
    at_step = requests.step[rows] == step
    for match in (at_site & of_warp & at_step, at_site & of_warp, at_site, of_warp & at_step, of_warp):
        if match.any():
            return RequestView(launch, chosen, rows, int(np.argmax(match)))
    return RequestView(launch, chosen, rows, 0)


@dataclass(frozen=True)
class Contents:
    """What the elements of a shared array hold: value, and the thread (linear in its block) that stored it.

    Both have one entry per element, in the order of ``element_addresses``; NaN and -1 where nothing was stored.
    """

    values: NDArray[np.float64]
    threads: NDArray[np.int64]


def element_addresses(array: ArrayInfo) -> NDArray[np.int64]:
    """Return the byte address of every element, in row-major order of the indices."""
    offsets = np.zeros((), np.int64)
    for size, stride in zip(array.shape, array.strides, strict=True):
        offsets = offsets[..., np.newaxis] + np.arange(size, dtype=np.int64) * stride
    return array.address + offsets.ravel()


def contents(now: RequestView, array: ArrayInfo) -> Contents:
    """Replay the stores up to and including the present request; the last one to an element stays."""
    requests = now.launch.requests
    addresses = element_addresses(array)
    values = np.full(len(addresses), np.nan)
    threads = np.full(len(addresses), -1, np.int64)
    rows = now.past
    stored = ~np.isnan(requests.values[rows])
    which, lane = np.nonzero(stored)
    target = requests.addresses[rows][which, lane]
    order = np.argsort(addresses, kind="stable")
    place = np.searchsorted(addresses, target, sorter=order)
    place = order[np.minimum(place, len(order) - 1)]
    hit = addresses[place] == target
    values[place[hit]] = requests.values[rows][which, lane][hit]
    threads[place[hit]] = (requests.warp[rows][which].astype(np.int64) * 32 + lane)[hit]
    return Contents(values, threads)


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
