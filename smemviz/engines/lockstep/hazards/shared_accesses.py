"""Which cells of shared memory a site execution touches.

A cell is as many bytes as the narrowest shared access of the kernel has, so that arrays and views of any type that lie
on the same bytes touch the same cells, and most accesses are one cell. Cells are numbered through all blocks of a
batch; a thread is its slot in the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.typing import Value
from smemviz.model.hardware.operations import effect_of
from smemviz.recordings.data import ArrayInfo, Site

_WIDEST_CELL = 8


def cells_of(
    addresses: Any, lanes: NDArray[np.intp] | None, slots: int, width: int, nbytes: int, first: Any
) -> NDArray[np.int64]:
    """Return the cells of ``nbytes`` that accesses of ``width`` bytes touch, a lane's cells together.

    No lanes means every one of the ``slots``; addresses of those may be of fewer, the same over and over. ``first`` is
    added to what the address tells: a number, or one for each slot.
    """
    if isinstance(addresses, np.ndarray):
        if lanes is not None:
            addresses = addresses[lanes]
        elif len(addresses) < slots:
            addresses = np.tile(addresses, slots // len(addresses))
    first = first if lanes is None or isinstance(first, int) else first[lanes]
    cells: Any = (addresses >> (nbytes.bit_length() - 1)) + first
    if not isinstance(cells, np.ndarray):
        cells = np.full(slots if lanes is None else len(lanes), cells)
    parts = width // nbytes
    return np.asarray(cells if parts <= 1 else (cells[:, None] + np.arange(parts)).ravel())


def bits_of(stored: Value, lanes: NDArray[np.intp] | None, slots: int, nbytes: int) -> NDArray[Any]:
    """Return what a store stores in each cell of ``nbytes`` of each lane; no lanes means every one of the ``slots``."""
    in_slots = np.broadcast_to(np.asarray(stored), slots)
    return np.ascontiguousarray(in_slots if lanes is None else in_slots[lanes]).view(f"u{nbytes}")


class Cells:
    """The cells of a batch. ``rows`` is each slot's block, or None where there is one block only."""

    def __init__(
        self, sites: Sequence[Site], start: int, pitch: int, blocks: int, slots: int, rows: NDArray[np.int64] | None
    ) -> None:
        """``start`` is the address of a block's first byte, ``pitch`` the bytes from one block to the next."""
        self.nbytes = min([_WIDEST_CELL, *(site.width for site in sites if site.is_shared)])
        self.per_block = pitch // self.nbytes
        self.count = blocks * self.per_block
        self.slots = np.arange(slots, dtype=np.int32)
        self._start = start
        first = -(start // self.nbytes)
        self._first: Any = first if rows is None else rows * self.per_block + first

    def at(self, addresses: Any, lanes: NDArray[np.intp] | None, width: int) -> NDArray[np.int64]:
        """Return the cells of accesses of ``width`` bytes, a lane's cells together; no lanes means every slot.

        Addresses of every slot may be those of one block, the same in each.
        """
        return cells_of(addresses, lanes, len(self.slots), width, self.nbytes, self._first)

    def span(self, array: ArrayInfo) -> slice:
        """Return the cells of an array within its block."""
        begin = array.address - self._start
        return slice(begin // self.nbytes, -(-(begin + array.nbytes) // self.nbytes))

    def within(self, address: int) -> int:
        """Return the cell of an address within its block."""
        return (address - self._start) // self.nbytes

    def address(self, cell: int) -> int:
        """Return the byte address of a cell in its block's shared memory."""
        return cell % self.per_block * self.nbytes + self._start


class SharedAccess:
    """One execution of a shared site: who touched which cell.

    ``phase`` is how many ``syncwarp`` each thread had passed, one number when all had passed the same. ``cells``,
    ``threads`` and ``bits``, what a store left in each cell, have one element for each cell a lane touches, in order
    of the threads; they are computed when someone asks.
    """

    def __init__(
        self, where: Cells, number: int, site: Site, addresses: Any, mask: Mask, stored: Value, phase: Any
    ) -> None:
        self.where = where
        self.number = number
        self.site = site
        self.loads = effect_of(site.op) == "load"
        self.stores = effect_of(site.op) == "store"
        self.phase = phase
        self._addresses = addresses
        self._mask = mask
        self._stored = stored

    @cached_property
    def lanes(self) -> NDArray[np.intp] | None:
        """The slots that took part, None for all."""
        return None if self._mask.full else np.flatnonzero(self._mask.lanes)

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        return self.where.at(self._addresses, self.lanes, self.site.width)

    @cached_property
    def threads(self) -> NDArray[np.int32]:
        threads = self.where.slots if self.lanes is None else self.where.slots[self.lanes]
        parts = self.site.width // self.where.nbytes
        return threads if parts == 1 else np.repeat(threads, parts)

    @cached_property
    def bits(self) -> NDArray[Any]:
        return bits_of(self._stored, self.lanes, len(self.where.slots), self.where.nbytes)

    def phases(self) -> set[int]:
        return set(np.unique(self.phase[self.threads]).tolist()) if isinstance(self.phase, np.ndarray) else {self.phase}

    def within(self, phase: int) -> SharedAccess | None:
        if not isinstance(self.phase, np.ndarray):
            return self if self.phase == phase else None
        return self.of(self.phase == phase, self.site, phase)

    def of(self, lanes: NDArray[np.bool_], site: Site, phase: Any = None) -> SharedAccess | None:
        """Return the part of it that some threads made, as of another site or in one phase."""
        part = self._mask.narrow(lanes)
        if not part.count:
            return None
        phase = self.phase if phase is None else phase
        return SharedAccess(self.where, self.number, site, self._addresses, part, self._stored, phase)
