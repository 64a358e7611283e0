"""The log of a launch: what every site execution touched, kept as arrays until the batch is done.

A log that would outgrow its limit, or that is wanted for some blocks only, is counted instead: totals over all
requests, and detail for the blocks asked for (the first, the middle and the last one by default) as far as the limit
goes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.shares import Share
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.model.counting.summary import Counting
from smemviz.recordings.data import WARP_SIZE, Requests, Site, Totals

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


ROW_BYTES = 550
_COUNT_BYTES = 64 * 1024 * 1024
_FAR = 4  # times the limit: a log on its way there is counted before it fills the memory


class Log:
    """What a launch has logged so far; ``limit`` is bytes, ``chosen`` the numbers of the blocks to log in full."""

    def __init__(
        self,
        sites: tuple[Site, ...],
        blocks: int,
        warps_per_block: int,
        limit: int,
        chosen: NDArray[np.int64] | None = None,
    ) -> None:
        self.sites = sites
        some = chosen is not None and len(chosen) < blocks
        self._counting = Counting(sites) if some else None
        self._wanted = chosen
        self._blocks = blocks
        self._warps_per_block = warps_per_block
        self._limit = limit
        self._parts: list[Requests] = []
        self._rows = 0
        self._kept_rows = 0
        self._sorted = True
        self._lock = Lock()
        self._spans: list[NDArray[np.int64]] = []
        self.begin(0, 0)

    @property
    def totals(self) -> Totals | None:
        """What was counted; None where everything is kept."""
        return self._counting.totals if self._counting is not None else None

    def begin(self, first_block: int, blocks: int) -> None:
        self._first_block = first_block
        self._warps = blocks * self._warps_per_block
        self._settled: list[Execution] = []  # already counted, or nothing is
        self._pending: list[Execution] = []
        self._pending_rows = 0
        self._chosen_warps: NDArray[np.bool_] | None = None
        self._step = np.zeros(self._warps, np.int32)
        self._epoch = np.zeros(self._warps, np.int32)

    def add(self, site: int, addresses: Any, mask: Mask, values: NDArray[np.float64] | None = None) -> None:
        """Note one execution of a site; addresses are one per thread or one for all, values one per thread.

        Where all threads of the batch take part, addresses may be those of one block, the same in every block.
        """
        if mask.full or (self._warps == 1 and mask.count):
            lanes = None if mask.full else mask.lanes
            execution = Execution(site, None, addresses, self._step, self._epoch, values, lanes)
            self._step = self._step + 1
        else:
            warps, on, off = mask.rows
            if isinstance(addresses, np.ndarray):
                table = addresses.reshape(-1, WARP_SIZE)[warps]
                table[off] = -1
            else:
                table = np.where(on, addresses, -1)
            if values is not None:
                values = np.where(on, values.reshape(-1, WARP_SIZE)[warps], np.nan)
            execution = Execution(site, warps, table, self._step[warps], self._epoch[warps], values)
            self._step = self._step.copy()
            self._step[warps] += 1
        self._pending.append(execution)
        rows = len(execution.step)
        self._rows += rows
        self._pending_rows += rows
        if self._counting is None and self._rows * ROW_BYTES > self._limit:
            self._count_from_here()
        elif self._counting is not None and self._pending_rows * ROW_BYTES > _COUNT_BYTES:
            self._count()

    def share(self, lanes: int, *, stores: bool) -> Share:
        """Return what one of those that add rows, each from its own thread, has added; see ``Share``."""
        return Share(self.sites, lanes, stores=stores)

    def add_rows(
        self,
        share: Share,
        sites: NDArray[np.int64],
        blocks: NDArray[np.int64],
        addresses: NDArray[np.int64],
        write: Callable[[Any, Requests], None],
    ) -> None:
        """Note requests; ``write`` writes those of some rows into places of as many."""
        with self._lock:
            self._rows += len(sites)
            if self._counting is None and self._rows * ROW_BYTES > self._limit:
                self._count_from_here()
        if self._counting is None:
            write(slice(None), share.room(len(sites)))
            return
        share.count(self._chosen)
        share.counting.add_rows(addresses, sites)
        begin, end = np.searchsorted(self._chosen, [blocks[0], blocks[-1] + 1])
        if begin == end:
            return
        # What goes beyond the limit is never kept again, so that every warp's steps are without a gap.
        chosen = np.isin(blocks, self._chosen).nonzero()[0][: max(0, self._limit // ROW_BYTES - len(share))]
        write(chosen, share.room(len(chosen)))

    @property
    def blocks_in_detail(self) -> NDArray[np.int64] | None:
        """The blocks that are logged, sorted, where all others are counted from here on; else None."""
        return None if self._counting is None else self._chosen

    @property
    def spans(self) -> NDArray[np.int64] | None:
        """The lowest and the highest address of each site as ``Share`` has them, None where nobody has looked."""
        if self._counting is not None or not self._spans:
            return None
        lowest = np.min([one[0].view(np.uint64) for one in self._spans], axis=0)
        return np.stack([lowest.view(np.int64), np.max([one[1] for one in self._spans], axis=0)])

    def join(self, share: Share) -> None:
        """Take over what a share has kept and counted, once it is whole."""
        if self._counting is not None:
            share.count(self._chosen)
            self._counting.add_totals(share.counting.totals)
        self._parts.append(share.kept())
        self._spans.append(share.spans)
        self._sorted = False

    def barrier(self, mask: Mask) -> None:
        passing = 1 if mask.full else mask.lanes.reshape(-1, WARP_SIZE).any(axis=1).astype(np.int32)
        self._epoch = self._epoch + passing

    def end(self) -> None:
        if self._counting is not None:
            self._count()
        done = self._first_block + self._warps // self._warps_per_block
        executions = [*self._settled, *self._pending]
        self._parts.append(in_order(executions, range(self._first_block, done), self._warps_per_block))
        self._settled, self._pending = [], []
        if self._counting is None and self._rows * ROW_BYTES * self._blocks > _FAR * self._limit * done:
            self._count_from_here()

    def requests(self) -> Requests:
        """Return everything that was kept, ordered by block, warp and step."""
        parts = self._parts or [Requests.empty()]
        columns = (column.name for column in fields(Requests))
        if len(parts) > 1:
            parts = [Requests(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))]
        (whole,) = parts
        if self._sorted:
            return whole
        if self._counting is not None and len(whole) > self._limit // ROW_BYTES:
            whole = whole.select(np.argsort(whole.block, kind="stable")[: self._limit // ROW_BYTES])
        order = np.lexsort((whole.step, whole.warp, whole.block))
        return whole if bool((order[1:] > order[:-1]).all()) else whole.select(order)

    # -- counting

    @cached_property
    def _chosen(self) -> NDArray[np.int64]:
        """The numbers of the blocks to log in full."""
        few = [0, self._blocks // 2, self._blocks - 1]
        return np.unique(few) if self._wanted is None else self._wanted

    def _count_from_here(self) -> None:
        self._counting = Counting(self.sites)
        for part in self._parts:
            for site in np.unique(part.site).tolist():
                self._counting.add(site, [part.addresses[part.site == site]], 1)
        self._parts = [part.select(np.isin(part.block, self._chosen)) for part in self._parts]
        self._kept_rows = sum(len(part) for part in self._parts)
        self._count()

    def _count(self) -> None:
        """Add what is pending to the totals and keep the chosen blocks' part of it."""
        assert self._counting is not None
        by_site: dict[tuple[int, int], list[NDArray[np.int64]]] = {}
        for execution in self._pending:
            rows, times = execution.distinct
            by_site.setdefault((execution.site, times), []).append(rows)
            # What goes beyond the limit is never kept again, so that every warp's steps are without a gap.
            if self._kept_rows * ROW_BYTES <= self._limit and self._chosen_in_batch.any():
                chosen = self._restricted(execution)
                self._kept_rows += len(chosen.step)
                if len(chosen.step) and self._kept_rows * ROW_BYTES <= self._limit:
                    self._settled.append(chosen)
        for (site, times), tables in by_site.items():
            self._counting.add(site, tables, times)
        self._pending, self._pending_rows = [], 0

    def _restricted(self, execution: Execution) -> Execution:
        warps = np.arange(self._warps) if execution.warps is None else execution.warps
        keep = np.flatnonzero(self._chosen_in_batch[warps])
        values = None if (stored := execution.stored) is None else stored[keep]
        rows, _ = execution.distinct
        table = rows[keep % len(rows)]
        return Execution(execution.site, warps[keep], table, execution.step[keep], execution.epoch[keep], values)

    @property
    def _chosen_in_batch(self) -> NDArray[np.bool_]:
        """Which warps of the batch belong to the chosen blocks."""
        if self._chosen_warps is None:
            blocks = self._first_block + np.arange(self._warps) // self._warps_per_block
            self._chosen_warps = np.isin(blocks, self._chosen)
        return self._chosen_warps


class NoLog(Log):
    """The log of a launch that is run and not recorded."""

    def add(self, site: int, addresses: Any, mask: Mask, values: NDArray[np.float64] | None = None) -> None:
        """Note nothing."""

    def add_rows(self, *rows: Any) -> None:
        """Note nothing."""

    def barrier(self, mask: Mask) -> None:
        """Note nothing."""
