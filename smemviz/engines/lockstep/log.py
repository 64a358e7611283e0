"""The log of a launch: what every site execution touched, kept as arrays until the batch is done.

A log that would outgrow its limit, or that is wanted for some blocks only, is counted instead: totals over all
requests, and detail for the blocks asked for (the first, the middle and the last one by default) as far as the limit
goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.values.masks import Mask
from smemviz.model.counting.summary import add_requests, added, totals_of
from smemviz.recordings.data import WARP_SIZE, Requests, Site, Totals

ROW_BYTES = 550
_COUNT_BYTES = 64 * 1024 * 1024
_AT_ONCE = 4096  # rows of single lanes, which stay in the processor's cache
_FAR = 4  # times the limit: a log on its way there is counted before it fills the memory


@dataclass(slots=True)
class _Execution:
    """One site execution by the warps of a batch: ``warps`` (k,) are rows of the batch, None for all of them.

    ``addresses`` are one per thread, one per thread of a block where every block has the same, or one for all.
    """

    site: int
    warps: NDArray[np.intp] | None
    addresses: Any
    step: NDArray[np.int32]
    epoch: NDArray[np.int32]
    values: NDArray[np.float64] | None


@dataclass(slots=True)
class _Serial:
    """Requests that lanes of a warp of the batch made one after the other, or that one ``lane`` made.

    ``sites`` is (k,), ``addresses`` and ``values`` are (k, 32), or (k,) of the one lane; ``step`` and ``epoch`` are
    those of the first.
    """

    sites: NDArray[np.int32]
    warp: int
    lane: int | None
    addresses: NDArray[np.int64]
    step: int
    epoch: int
    values: NDArray[np.float64] | None

    def first(self, some: int) -> _Serial:
        """Return the first of the requests."""
        values = None if self.values is None else self.values[:some]
        return replace(self, sites=self.sites[:some], addresses=self.addresses[:some], values=values)

    def by_site(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Give the number of each site and the addresses of its requests."""
        for number in np.flatnonzero(np.bincount(self.sites)).tolist():
            here = np.flatnonzero(self.sites == number)
            yield number, self.addresses if len(here) == len(self.sites) else self.addresses.take(here, axis=0)

    def fill(self, table: NDArray[Any], column: NDArray[Any] | None, nothing: Any) -> None:
        """Put addresses or values in a table of all lanes, and ``nothing`` where there are none."""
        if column is None or self.lane is not None:
            table[:] = nothing
        if column is not None:
            table[:, slice(None) if self.lane is None else self.lane] = column


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
        self._chosen = np.unique([0, blocks // 2, blocks - 1]) if chosen is None else chosen
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
        self._settled: list[_Execution | _Serial] = []  # already counted, or nothing is
        self._pending: list[_Execution | _Serial] = []
        self._pending_rows = 0
        self._chosen_warps: NDArray[np.bool_] | None = None
        self._step = np.zeros(self._warps, np.int32)
        self._epoch = np.zeros(self._warps, np.int32)

    def add(self, site: int, addresses: Any, mask: Mask, values: NDArray[np.float64] | None = None) -> None:
        """Note one execution of a site; addresses are one per thread or one for all, values one per thread.

        Where all threads of the batch take part, addresses may be those of one block, the same in every block.
        """
        if mask.full:
            execution = _Execution(site, None, addresses, self._step, self._epoch, values)
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
            execution = _Execution(site, warps, table, self._step[warps], self._epoch[warps], values)
            self._step = self._step.copy()
            self._step[warps] += 1
        self._append(execution, len(execution.step))

    def add_serial(
        self,
        sites: NDArray[np.int32],
        slot: int,
        addresses: NDArray[np.int64],
        values: NDArray[np.float64] | None,
    ) -> None:
        """Note what the warp of a slot did, or the thread there alone, one request after the other.

        Sites are (k,), addresses and values (k, 32), or (k,) of one thread; addresses are -1 where a lane takes no
        part, and values are NaN where none is known, or None where none is at all.
        """
        warp, lane = slot // WARP_SIZE, slot % WARP_SIZE if addresses.ndim == 1 else None
        step, epoch = int(self._step[warp]), int(self._epoch[warp])
        self._step = self._step.copy()
        self._step[warp] += len(sites)
        self._append(_Serial(sites, warp, lane, addresses, step, epoch, values), len(sites))

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
        self._step = self._step.copy()
        self._step[slot // WARP_SIZE] += many
        self._rows += many

    def _append(self, execution: _Execution | _Serial, rows: int) -> None:
        self._pending.append(execution)
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
        self._parts.append(self._ordered([*self._settled, *self._pending]))
        done = self._first_block + self._warps // self._warps_per_block
        self.begin(0, 0)
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
            if isinstance(execution, _Serial):
                for number, addresses in execution.by_site():
                    if execution.lane is None:
                        by_site.setdefault((number, 1), []).append(addresses)
                    else:
                        self._count_lane(number, execution.lane, addresses)
                self._keep_serial(execution)
                continue
            rows, times = _distinct_rows(execution)
            by_site.setdefault((execution.site, times), []).append(rows)
            # What goes beyond the limit is never kept again, so that every warp's steps are without a gap.
            if self._kept_rows * ROW_BYTES <= self._limit and self._chosen_in_batch.any():
                chosen = self._restricted(execution)
                self._kept_rows += len(chosen.step)
                if len(chosen.step) and self._kept_rows * ROW_BYTES <= self._limit:
                    self._settled.append(chosen)
        for (site, times), tables in by_site.items():
            add_requests(self.totals, site, self.sites[site], tables, times)
        self._pending = []
        self._pending_rows = 0

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

    def _keep_serial(self, execution: _Serial) -> None:
        """Keep the first of the requests of a chosen block, as far as the limit goes."""
        room = self._limit // ROW_BYTES - self._kept_rows
        if room < 0 or not self._chosen_in_batch[execution.warp]:
            return
        logged = execution.first(room)
        self._kept_rows += len(logged.sites) + (len(logged.sites) < len(execution.sites))
        if len(logged.sites):
            self._settled.append(logged)

    def _restricted(self, execution: _Execution) -> _Execution:
        """Return the part that belongs to the chosen blocks."""
        warps = np.arange(self._warps) if execution.warps is None else execution.warps
        keep = np.flatnonzero(self._chosen_in_batch[warps])
        values = None if execution.values is None else execution.values.reshape(-1, WARP_SIZE)[keep]
        rows, _ = _distinct_rows(execution)
        table = rows[keep % len(rows)]
        return _Execution(execution.site, warps[keep], table, execution.step[keep], execution.epoch[keep], values)

    @property
    def _chosen_in_batch(self) -> NDArray[np.bool_]:
        """Which warps of the batch belong to the chosen blocks."""
        if self._chosen_warps is None:
            blocks = self._first_block + np.arange(self._warps) // self._warps_per_block
            self._chosen_warps = np.isin(blocks, self._chosen)
        return self._chosen_warps

    # -- ordering

    def _ordered(self, executions: list[_Execution | _Serial]) -> Requests:
        """Put the rows of a batch in order: a warp's rows follow each other, and its steps have no gap."""
        if not executions:
            return Requests.empty()
        rows = np.zeros(self._warps, np.int64)
        for execution in executions:
            if isinstance(execution, _Serial):
                rows[execution.warp] += len(execution.sites)
            else:
                rows[_rows(execution)] += 1
        after = np.cumsum(rows)
        start = after - rows
        n = int(after[-1]) if len(after) else 0
        addresses = np.empty((n, WARP_SIZE), np.int64)
        # Where nothing is stored in shared memory one NaN stands for all of them.
        known = any(execution.values is not None for execution in executions)
        values = np.empty((n, WARP_SIZE)) if known else np.broadcast_to(np.nan, (n, WARP_SIZE))
        site, step, epoch = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
        for execution in executions:
            if isinstance(execution, _Serial):
                first, many = start[execution.warp] + execution.step, len(execution.sites)
                here = slice(first, first + many)
                execution.fill(addresses[here], execution.addresses, -1)
                if known:
                    execution.fill(values[here], execution.values, np.nan)
                site[here], epoch[here] = execution.sites, execution.epoch
                step[here] = np.arange(execution.step, execution.step + many)
                continue
            at = start[_rows(execution)] + execution.step
            recorded = execution.addresses
            addresses[at] = _table(execution) if isinstance(recorded, np.ndarray) else recorded
            if known:
                values[at] = np.nan if execution.values is None else execution.values.reshape(-1, WARP_SIZE)
            site[at] = execution.site
            step[at] = execution.step
            epoch[at] = execution.epoch
        warp = np.repeat(np.arange(self._warps), rows)
        block = self._first_block + warp // self._warps_per_block
        return Requests(addresses, site, block, (warp % self._warps_per_block).astype(np.int32), step, epoch, values)


def _count_alike(totals: Totals, sites: Sequence[Site], number: int, address: int, times: int) -> None:
    """Count requests of one lane, of elements that lie at multiples of their width: each costs what any other does."""
    row = np.full((1, WARP_SIZE), -1, np.int64)
    row[0, 0] = address
    add_requests(totals, number, sites[number], [row], times)


class NoLog(Log):
    """The log of a launch that is run and not recorded."""

    def add(self, site: int, addresses: Any, mask: Mask, values: NDArray[np.float64] | None = None) -> None:
        """Note nothing."""

    def add_serial(self, *request: object) -> None:
        """Note nothing."""

    def keeps(self, slot: int) -> bool:
        """Keep nothing."""
        return False

    def count_alone(self, *requests: object) -> None:
        """Count nothing."""

    def barrier(self, mask: Mask) -> None:
        """Note nothing."""


def _rows(execution: _Execution) -> Any:
    return slice(None) if execution.warps is None else execution.warps


def _table(execution: _Execution) -> NDArray[np.int64]:
    """Return the addresses of every warp, (k, 32)."""
    rows, times = _distinct_rows(execution)
    return np.tile(rows, (times, 1)) if times > 1 else rows


def _distinct_rows(execution: _Execution) -> tuple[NDArray[np.int64], int]:
    """Return addresses, (k, 32), and how many times over they are those of all warps."""
    warps = len(execution.step)
    if isinstance(execution.addresses, np.ndarray):
        rows = execution.addresses.reshape(-1, WARP_SIZE)
        return rows, warps // max(1, len(rows))
    return np.full((1, WARP_SIZE), execution.addresses, np.int64), warps
