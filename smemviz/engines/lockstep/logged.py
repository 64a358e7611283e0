"""What a log has of a batch until its end: executions of sites, and where the requests of single warps stay.

At the end all of it is put in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.recordings.data import WARP_SIZE, Requests

_SPARE = 4  # times as many rows as there are may be in a table


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


class Table:
    """Addresses and values of requests, a row each, that are written where they stay.

    There is room for up to ``most`` rows long before they come: what is not written takes no memory.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.addresses = np.empty((0, WARP_SIZE), np.int64)
        self.values = np.empty((0, WARP_SIZE))

    def room(self, first: int, end: int, *, known: bool) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
        """Return rows to be written, of values only where those are known."""
        if end > len(self.addresses):
            size = max(end, min(_SPARE * end, self._most))
            self.addresses = _grown(self.addresses, size, first)
        if not known:
            return self.addresses[first:end], None
        if len(self.values) < len(self.addresses):
            self.values = _grown(self.values, len(self.addresses), first)
        return self.addresses[first:end], self.values[first:end]


def _grown(table: NDArray[Any], size: int, used: int) -> NDArray[Any]:
    grown = np.empty((size, WARP_SIZE), table.dtype)
    used = min(used, len(table))
    grown[:used] = table[:used]
    return grown


@dataclass(slots=True)
class Serial:
    """Requests of a warp of the batch one after the other; ``step`` and ``epoch`` are those of the first.

    ``sites`` is (k,). They are in a ``table`` from the row ``first`` on, values too where those are ``known``.
    """

    sites: NDArray[np.int32]
    warp: int
    epoch: int
    step: int
    table: Table
    first: int
    known: bool

    def start(self, some: int) -> Serial:
        """Return the first of the requests."""
        return replace(self, sites=self.sites[:some])

    @property
    def rows(self) -> slice:
        """Which rows of the table they are."""
        return slice(self.first, self.first + len(self.sites))

    def fill(self, addresses: NDArray[np.int64], values: NDArray[np.float64] | None) -> None:
        """Put addresses and values into rows of other tables, which may be where they are already."""
        if not np.may_share_memory(addresses, self.table.addresses):
            addresses[:] = self.table.addresses[self.rows]
        if values is None:
            return
        if not self.known:
            values[:] = np.nan
        elif not np.may_share_memory(values, self.table.values):
            values[:] = self.table.values[self.rows]


@dataclass(slots=True)
class OfLane:
    """Requests that one ``lane`` of a warp of the batch made alone, one after the other.

    ``sites``, ``addresses`` and ``values`` are (k,); ``step`` and ``epoch`` are those of the first.
    """

    sites: NDArray[np.int32]
    warp: int
    epoch: int
    step: int
    lane: int
    addresses: NDArray[np.int64]
    values: NDArray[np.float64] | None

    @property
    def known(self) -> bool:
        """Whether any values are known."""
        return self.values is not None

    def start(self, some: int) -> OfLane:
        """Return the first of the requests."""
        values = None if self.values is None else self.values[:some]
        return replace(self, sites=self.sites[:some], addresses=self.addresses[:some], values=values)

    def by_site(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Give the number of each site and the addresses of its requests."""
        for number in np.flatnonzero(np.bincount(self.sites)).tolist():
            yield number, self.addresses[self.sites == number]

    def fill(self, addresses: NDArray[np.int64], values: NDArray[np.float64] | None) -> None:
        """Put addresses and values into rows of tables."""
        addresses[:] = -1
        addresses[:, self.lane] = self.addresses
        if values is not None:
            values[:] = np.nan
            if self.values is not None:
                values[:, self.lane] = self.values


Logged = Execution | Serial | OfLane


def in_order(logged: Sequence[Logged], tables: Mapping[int, Table], blocks: range, warps_per_block: int) -> Requests:
    """Put the rows of a batch in order: a warp's rows follow each other, and its steps have no gap.

    ``tables`` are those of warps whose rows are their steps; the first warp's becomes that of all, if it has room.
    """
    if not logged:
        return Requests.empty()
    warps = len(blocks) * warps_per_block
    if warps == 1 and all(isinstance(one, Execution) for one in logged):
        return _of_one_warp(logged, blocks.start)  # type: ignore[arg-type]
    rows = np.zeros(warps, np.int64)
    for one in logged:
        if isinstance(one, Execution):
            rows[one.rows] += 1
        else:
            rows[one.warp] += len(one.sites)
    after = np.cumsum(rows)
    start = after - rows
    n = int(after[-1])
    # Where nothing is stored in shared memory one NaN stands for all of them.
    known = any(one.values is not None if isinstance(one, Execution) else one.known for one in logged)
    addresses, values = _tables_for(n, tables.get(int(np.argmax(rows > 0))), known=known)
    site, step, epoch = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    for one in logged:
        if isinstance(one, Execution):
            at = start[one.rows] + one.step
            is_one = one.lanes is None and not isinstance(one.addresses, np.ndarray)
            addresses[at] = one.addresses if is_one else one.table
            if known:
                values[at] = np.nan if (stored := one.stored) is None else stored
            site[at], step[at], epoch[at] = one.site, one.step, one.epoch
            continue
        first, many = start[one.warp] + one.step, len(one.sites)
        here = slice(first, first + many)
        one.fill(addresses[here], values[here] if known else None)
        site[here], epoch[here] = one.sites, one.epoch
        step[here] = np.arange(one.step, one.step + many)
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


def _tables_for(n: int, first: Table | None, *, known: bool) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return tables of as many rows, in which those of the ``first`` warp may be already."""
    if first is None or not n <= len(first.addresses) <= _SPARE * n:
        addresses, values = np.empty((n, WARP_SIZE), np.int64), np.empty((0, WARP_SIZE))
    else:
        addresses, values = first.addresses[:n], first.values[:n]
    if not known:
        return addresses, _nothing_stored(n)
    return addresses, values if len(values) == n else np.empty((n, WARP_SIZE))
