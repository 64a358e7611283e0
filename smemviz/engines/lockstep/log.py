"""The log of a launch: what every site execution touched, kept as arrays until the batch is done.

A log that would outgrow its limit, or that is wanted for some blocks only, is counted instead: totals over all
requests, and detail for the blocks asked for (the first, the middle and the last one by default) as far as the limit
goes.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.logged import Execution, in_order
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.model.counting.summary import add_requests, added, totals_of
from smemviz.recordings.data import WARP_SIZE, Requests, Site, Totals

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
        self.totals: Totals | None = totals_of(sites, Requests.empty()) if some else None
        self._wanted = chosen
        self._blocks = blocks
        self._warps_per_block = warps_per_block
        self._limit = limit
        self._parts: list[Requests] = []
        self._rows = 0
        self._kept_rows = 0
        self.begin(0, 0)

    def begin(self, first_block: int, blocks: int) -> None:
        """Start a batch of blocks."""
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
        if self.totals is None and self._rows * ROW_BYTES > self._limit:
            self._count_from_here()
        elif self.totals is not None and self._pending_rows * ROW_BYTES > _COUNT_BYTES:
            self._count()

    def barrier(self, mask: Mask) -> None:
        """Let the warps of a mask pass a barrier."""
        passing = 1 if mask.full else mask.lanes.reshape(-1, WARP_SIZE).any(axis=1).astype(np.int32)
        self._epoch = self._epoch + passing

    def end(self) -> None:
        """Finish a batch."""
        if self.totals is not None:
            self._count()
        done = self._first_block + self._warps // self._warps_per_block
        executions = [*self._settled, *self._pending]
        self._parts.append(in_order(executions, range(self._first_block, done), self._warps_per_block))
        self._settled, self._pending = [], []
        if self.totals is None and self._rows * ROW_BYTES * self._blocks > _FAR * self._limit * done:
            self._count_from_here()

    def requests(self) -> Requests:
        """Return everything that was kept, ordered by block, warp and step."""
        if len(self._parts) == 1:
            return self._parts[0]
        parts = self._parts or [Requests.empty()]
        columns = (column.name for column in fields(Requests))
        return Requests(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))

    # -- counting

    @cached_property
    def _chosen(self) -> NDArray[np.int64]:
        """The numbers of the blocks to log in full."""
        few = [0, self._blocks // 2, self._blocks - 1]
        return np.unique(few) if self._wanted is None else self._wanted

    def _count_from_here(self) -> None:
        self.totals = totals_of(self.sites, Requests.empty())
        for part in self._parts:
            self.totals = added(self.totals, totals_of(self.sites, part))
        self._parts = [part.select(np.isin(part.block, self._chosen)) for part in self._parts]
        self._kept_rows = sum(len(part) for part in self._parts)
        self._count()

    def _count(self) -> None:
        """Add what is pending to the totals and keep the chosen blocks' part of it."""
        assert self.totals is not None
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
            add_requests(self.totals, site, self.sites[site], tables, times)
        self._pending, self._pending_rows = [], 0

    def _restricted(self, execution: Execution) -> Execution:
        """Return the part that belongs to the chosen blocks."""
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

    def barrier(self, mask: Mask) -> None:
        """Note nothing."""
