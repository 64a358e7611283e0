"""The log of a launch: what every site execution touched, kept as arrays until the batch is done.

A log that would outgrow its limit, or that is wanted for some blocks only, is counted instead: totals over all
requests, and detail for the blocks asked for (the first, the middle and the last one by default) as far as the limit
goes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cached_property
from itertools import accumulate, groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.logged import Execution, Logged, OfLane, Serial, Table, in_order
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.model.counting.summary import add_requests, added, totals_of
from smemviz.recordings.data import WARP_SIZE, Requests, Site, Totals

ROW_BYTES = 550
_COUNT_BYTES = 64 * 1024 * 1024
_AT_ONCE = 4096  # rows of single lanes, which stay in the processor's cache
_MOST_PENDING = 1 << 15  # rows of tables that are to be counted, and written over then
_COUNTED = 1 << 13  # rows of tables that are counted together
_FAR = 4  # times the limit: a log on its way there is counted before it fills the memory

Write = Callable[[NDArray[np.int64], "NDArray[np.float64] | None"], None]


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
        self._passing = Table(2 * _MOST_PENDING)
        self.begin(0, 0)

    def begin(self, first_block: int, blocks: int) -> None:
        """Start a batch of blocks."""
        self._first_block = first_block
        self._warps = blocks * self._warps_per_block
        self._settled: list[Logged] = []  # already counted, or nothing is
        self._pending: list[Logged] = []
        self._pending_rows = 0
        self._pending_in_tables = 0
        self._tables: dict[int, Table] = {}  # of warps whose requests are kept; a request's row is its step
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
        self._append(execution, len(execution.step))

    def add_alone(
        self,
        sites: NDArray[np.int32],
        slot: int,
        addresses: NDArray[np.int64],
        values: NDArray[np.float64] | None,
    ) -> None:
        """Note what the thread of a slot did alone, one request after the other.

        Sites, addresses and values are (k,); values are NaN where none is known, or None where none is at all.
        """
        now = self._pass_steps(slot // WARP_SIZE, len(sites))
        self._append(OfLane(sites, *now, slot % WARP_SIZE, addresses, values), len(sites))

    def add_serial(self, sites: NDArray[np.int32], slot: int, write: Write, *, known: bool) -> None:
        """Note what the warp of a slot did, one request after the other.

        Sites are (k,). ``write`` is given the rows of tables for what the warp did, (k, 32): of addresses, which are -1
        where a lane takes no part, and of values where any are ``known`` and kept, which are NaN elsewhere.
        """
        warp, epoch, step = self._pass_steps(slot // WARP_SIZE, len(sites))
        if self.keeps(slot):
            table, first = self._tables.setdefault(warp, Table(self._limit // ROW_BYTES + 2 * _MOST_PENDING)), step
        else:
            table, first, known = self._passing, self._pending_in_tables, False
        write(*table.room(first, first + len(sites), known=known))
        self._pending_in_tables += len(sites)
        self._append(Serial(sites, warp, epoch, step, table, first, known), len(sites))

    def _pass_steps(self, warp: int, many: int) -> tuple[int, int, int]:
        """Return a warp with its epoch and its step now, which is further on behind so many requests."""
        now = warp, int(self._epoch[warp]), int(self._step[warp])
        self._step = self._step.copy()
        self._step[warp] += many
        return now

    def keeps(self, slot: int) -> bool:
        """Tell whether requests of a thread are kept from here on, and not only counted."""
        if self.totals is None:
            return True
        return self._kept_rows * ROW_BYTES <= self._limit and bool(self._chosen_in_batch[slot // WARP_SIZE])

    def count_alone(self, slot: int, sites: NDArray[np.int32], addresses: NDArray[np.int64], times: Any) -> None:
        """Count requests of one thread that are not kept: of each site as many ``times``, like that at an address."""
        assert self.totals is not None
        for number, address, many in zip(sites.tolist(), addresses.tolist(), times.tolist(), strict=True):
            _count_alike(self.totals, self.sites, number, address, many)
        many = int(times.sum())
        self._pass_steps(slot // WARP_SIZE, many)
        self._rows += many

    def _append(self, logged: Logged, rows: int) -> None:
        self._pending.append(logged)
        self._rows += rows
        self._pending_rows += rows
        if self.totals is None and self._rows * ROW_BYTES > self._limit:
            self._count_from_here()
        elif self.totals is not None and (
            self._pending_rows * ROW_BYTES > _COUNT_BYTES or self._pending_in_tables > _MOST_PENDING
        ):
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
        logged = [*self._settled, *self._pending]
        self._parts.append(in_order(logged, self._tables, range(self._first_block, done), self._warps_per_block))
        self._settled, self._pending, self._tables = [], [], {}
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
        self._tables = {warp: table for warp, table in self._tables.items() if self._chosen_in_batch[warp]}

    def _count(self) -> None:
        """Add what is pending to the totals and keep the chosen blocks' part of it."""
        assert self.totals is not None
        by_site: dict[tuple[int, int], list[NDArray[np.int64]]] = {}
        serials = [logged for logged in self._pending if isinstance(logged, Serial)]
        ends = accumulate(len(serial.sites) for serial in serials)
        for _, some in groupby(zip(ends, serials, strict=True), lambda one: one[0] // _COUNTED):
            self._count_serials([serial for _, serial in some])
        for logged in self._pending:
            if isinstance(logged, OfLane):
                for number, addresses in logged.by_site():
                    self._count_lane(number, logged.lane, addresses)
                self._keep_serial(logged)
            elif isinstance(logged, Serial):
                self._keep_serial(logged)
            else:
                rows, times = logged.distinct
                by_site.setdefault((logged.site, times), []).append(rows)
                # What goes beyond the limit is never kept again, so that every warp's steps are without a gap.
                if self._kept_rows * ROW_BYTES <= self._limit and self._chosen_in_batch.any():
                    chosen = self._restricted(logged)
                    self._kept_rows += len(chosen.step)
                    if len(chosen.step) and self._kept_rows * ROW_BYTES <= self._limit:
                        self._settled.append(chosen)
        for (site, times), tables in by_site.items():
            add_requests(self.totals, site, self.sites[site], tables, times)
        self._pending = []
        self._pending_rows = self._pending_in_tables = 0

    def _count_serials(self, serials: Sequence[Serial]) -> None:
        """Count the requests of warps, of which those of a table and a site are copied."""
        assert self.totals is not None
        by_site: dict[int, list[NDArray[np.int64]]] = {}
        for table in dict.fromkeys(serial.table for serial in serials):
            own = [serial for serial in serials if serial.table is table]
            sites = np.concatenate([serial.sites for serial in own])
            rows = np.concatenate([np.arange(serial.rows.start, serial.rows.stop) for serial in own])
            for number in np.flatnonzero(np.bincount(sites)).tolist():
                by_site.setdefault(number, []).append(table.addresses[rows[sites == number]])
        for number, tables in by_site.items():
            add_requests(self.totals, number, self.sites[number], tables, 1)

    def _count_lane(self, number: int, lane: int, addresses: NDArray[np.int64]) -> None:
        """Count requests of one lane from a site."""
        assert self.totals is not None
        if not (addresses % self.sites[number].width).any():
            _count_alike(self.totals, self.sites, number, int(addresses[0]), len(addresses))
            return
        rows = np.full((min(len(addresses), _AT_ONCE), WARP_SIZE), -1, np.int64)
        for first in range(0, len(addresses), _AT_ONCE):
            some = addresses[first : first + _AT_ONCE]
            rows[: len(some), lane] = some
            add_requests(self.totals, number, self.sites[number], [rows[: len(some)]], 1)

    def _keep_serial(self, serial: Serial | OfLane) -> None:
        """Keep the first of the requests of a chosen block, as far as the limit goes."""
        room = self._limit // ROW_BYTES - self._kept_rows
        if room < 0 or not self._chosen_in_batch[serial.warp]:
            return
        logged = serial.start(room)
        self._kept_rows += len(logged.sites) + (len(logged.sites) < len(serial.sites))
        if len(logged.sites):
            self._settled.append(logged)

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


def _count_alike(totals: Totals, sites: Sequence[Site], number: int, address: int, times: int) -> None:
    """Count requests of one lane, of elements that lie at multiples of their width: each costs what any other does."""
    row = np.full((1, WARP_SIZE), -1, np.int64)
    row[0, 0] = address
    add_requests(totals, number, sites[number], [row], times)


class NoLog(Log):
    """The log of a launch that is run and not recorded."""

    def add(self, site: int, addresses: Any, mask: Mask, values: NDArray[np.float64] | None = None) -> None:
        """Note nothing."""

    def add_alone(self, *requests: object) -> None:
        """Note nothing."""

    def add_serial(self, *requests: object, known: bool) -> None:
        """Note nothing."""

    def keeps(self, slot: int) -> bool:
        """Keep nothing."""
        return False

    def count_alone(self, *requests: object) -> None:
        """Count nothing."""

    def barrier(self, mask: Mask) -> None:
        """Note nothing."""
