"""What a log has of a batch until its end: executions of sites, which are put in order then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.recordings.data import WARP_SIZE, Requests

_MOST_KNOWN = 4096  # rows of a launch that is likely to be made again


@dataclass(slots=True)
class Execution:
    """One site execution by the warps of a batch: ``warps`` (k,) are rows of the batch, None for all of them.

    ``addresses`` are one per thread, one per thread of a block where every block has the same, or one for all. Of
    the only warp of a batch ``lanes`` (32,) are those that take part, None where addresses and values tell.
    """

    site: int
    warps: NDArray[np.intp] | None
    addresses: Any
    step: NDArray[np.int32]
    epoch: NDArray[np.int32]
    values: NDArray[np.float64] | None
    lanes: NDArray[np.bool_] | None = None

    @property
    def rows(self) -> Any:
        """Which warps of the batch have a part."""
        return slice(None) if self.warps is None else self.warps

    @property
    def distinct(self) -> tuple[NDArray[np.int64], int]:
        """Addresses, (k, 32), and how many times over they are those of all warps."""
        warps = len(self.step)
        if self.lanes is not None:
            return np.where(self.lanes, self.addresses, -1)[None], 1
        if isinstance(self.addresses, np.ndarray):
            rows = self.addresses.reshape(-1, WARP_SIZE)
            return rows, warps // max(1, len(rows))
        return np.full((1, WARP_SIZE), self.addresses, np.int64), warps

    @property
    def table(self) -> NDArray[np.int64]:
        """Addresses of every warp, (k, 32)."""
        rows, times = self.distinct
        return np.tile(rows, (times, 1)) if times > 1 else rows

    @property
    def stored(self) -> NDArray[np.float64] | None:
        """Values of every warp, (k, 32), NaN where nothing was stored; None where nothing was at all."""
        if self.values is None or self.lanes is None:
            return None if self.values is None else self.values.reshape(-1, WARP_SIZE)
        return np.where(self.lanes, self.values, np.nan)[None]

    def fill(self, addresses: NDArray[np.int64], values: NDArray[np.float64] | None) -> None:
        """Put what the only warp of a batch did into a row of tables."""
        if self.lanes is None:
            addresses[:] = self.addresses
        else:
            addresses.fill(-1)
            np.copyto(addresses, self.addresses, where=self.lanes)
        if values is not None:
            values[:] = np.nan if (stored := self.stored) is None else stored[0]


def in_order(executions: Sequence[Execution], blocks: range, warps_per_block: int) -> Requests:
    """Put the rows of a batch in order: a warp's rows follow each other, and its steps have no gap."""
    if not executions:
        return Requests.empty()
    warps = len(blocks) * warps_per_block
    if warps == 1 and len(executions) <= _MOST_KNOWN:
        return _of_one_warp(executions, blocks.start)
    rows = np.zeros(warps, np.int64)
    for one in executions:
        rows[one.rows] += 1
    after = np.cumsum(rows)
    start = after - rows
    n = int(after[-1])
    # Where nothing is stored in shared memory one NaN stands for all of them.
    known = any(one.values is not None for one in executions)
    addresses, values = np.empty((n, WARP_SIZE), np.int64), np.empty((n, WARP_SIZE)) if known else _nothing_stored(n)
    site, step, epoch = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    for one in executions:
        at = start[one.rows] + one.step
        is_one = one.lanes is None and not isinstance(one.addresses, np.ndarray)
        addresses[at] = one.addresses if is_one else one.table
        if known:
            values[at] = np.nan if (stored := one.stored) is None else stored
        site[at], step[at], epoch[at] = one.site, one.step, one.epoch
    warp = np.repeat(np.arange(warps), rows)
    block = blocks.start + warp // warps_per_block
    return Requests(addresses, site, block, (warp % warps_per_block).astype(np.int32), step, epoch, values)


def _of_one_warp(executions: Sequence[Execution], block: int) -> Requests:
    """Put what the only warp of a batch did in order, which it is: an execution is a row."""
    n = len(executions)
    known = any(one.values is not None for one in executions)
    addresses = np.empty((n, WARP_SIZE), np.int64)
    values = np.empty((n, WARP_SIZE)) if known else _nothing_stored(n)
    for row, one in enumerate(executions):
        one.fill(addresses[row], values[row] if known else None)
    site, blocks, warp, step, none_passed = _columns(tuple([one.site for one in executions]), block)
    epoch = np.concatenate([one.epoch for one in executions]) if executions[-1].epoch[0] else none_passed
    return Requests(addresses, site, blocks, warp, step, epoch, values)


@lru_cache(maxsize=256)
def _columns(
    sites: tuple[int, ...], block: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return sites, blocks, warps, steps and epochs of the requests of a warp that passed no barrier.

    Launch after launch of a kernel has the same, which then is there once.
    """
    n = len(sites)
    site, blocks, step = np.array(sites, np.int32), np.full(n, block, np.int64), np.arange(n, dtype=np.int32)
    return site, blocks, np.zeros(n, np.int32), step, np.zeros(n, np.int32)


@lru_cache(maxsize=64)
def _nothing_stored(n: int) -> NDArray[np.float64]:
    """Return a table of as many rows in which one NaN stands for all."""
    return np.broadcast_to(np.nan, (n, WARP_SIZE))
