"""What a GPU does not tell: shared elements read before they are written, and races between threads.

Site executions are kept until a barrier and then looked at together, which costs little: what only loads, from memory
that has been written, cannot go wrong.

A lock is an element that a thread changes by ``cas`` or ``exch``, and after a fence once more. What is done between
the two is as little a race as updates are, with what others do while they hold one.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.findings import Findings
from smemviz.engines.lockstep.hazards.global_races import GlobalRaces
from smemviz.engines.lockstep.hazards.races import Races
from smemviz.engines.lockstep.hazards.shared_accesses import Cells, SharedAccess
from smemviz.engines.lockstep.memory.shared import array_at, element_name
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.typing import Value
from smemviz.recordings.data import ArrayInfo, Site
from smemviz.recordings.findings import Facts

_LOCKING = ("atomic_cas", "atomic_exch")
_NOWHERE = -1


class Sections:
    """Who is about to hold a lock of a batch of ``slots`` threads, and what was done with one held."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._guarded: dict[int, NDArray[np.bool_]] = {}  # lanes, by the number of a site execution
        self._sites: dict[Site, Site] = {}

    @cached_property
    def _lock(self) -> NDArray[np.int64]:
        """Where each thread changed a lock last."""
        return np.full(self._slots, _NOWHERE, np.int64)

    @cached_property
    def _since(self) -> NDArray[np.int64]:
        """The number of the site execution that did."""
        return np.zeros(self._slots, np.int64)

    @cached_property
    def _fenced(self) -> NDArray[np.bool_]:
        """Who passed a fence since."""
        return np.zeros(self._slots, np.bool_)

    def fence(self, mask: Mask) -> None:
        self._fenced[mask.lanes] = True

    def update(self, access: SharedAccess, pending: Sequence[SharedAccess]) -> None:
        """Note an update; where it releases a lock, ``pending`` has what was done since it was taken."""
        if access.site.op not in _LOCKING:
            return
        parts = access.site.width // access.where.nbytes
        lanes, cells = access.threads[::parts], access.cells[::parts]
        released = lanes[self._fenced[lanes] & (self._lock[lanes] == cells)]
        if len(released):
            self._guard(released, pending)
        self._lock[lanes], self._since[lanes], self._fenced[lanes] = cells, access.number, False
        self._lock[released] = _NOWHERE

    def _guard(self, released: NDArray[np.int32], pending: Sequence[SharedAccess]) -> None:
        first = int(self._since[released].min())
        for access in reversed(pending):
            if access.number <= first:
                break
            guarded = self._guarded.setdefault(access.number, np.zeros(self._slots, np.bool_))
            guarded[released[self._since[released] < access.number]] = True

    def apart(self, accesses: Sequence[SharedAccess]) -> list[SharedAccess]:
        """Return site executions with what was done with a lock held as updates."""
        if not self._guarded:
            return list(accesses)
        guarded, self._guarded = self._guarded, {}
        return [part for access in accesses for part in self._parts(access, guarded.get(access.number))]

    def _parts(self, access: SharedAccess, guarded: NDArray[np.bool_] | None) -> list[SharedAccess]:
        if guarded is None:
            return [access]
        site = self._sites.setdefault(access.site, replace(access.site, op="atomic_exch"))
        return [part for part in (access.of(~guarded, access.site), access.of(guarded, site)) if part is not None]


# So many accesses of single threads are kept at most: 64 MiB with their addresses and cells. A site execution takes as
# much as some of them itself.
_KEPT = 1 << 22
_LANES_OF_ITSELF = 32
# Of state for each cell, where all of it is needed: whether written, by whom, and the marks of one site.
CELL_BYTES = 1 + 4 + 24
_NO_CELLS = np.ones(0, np.bool_)


class Hazards:
    """The hazards of one batch of blocks."""

    def __init__(
        self,
        sites: Sequence[Site],
        placed: Sequence[ArrayInfo],
        cells: Cells,
        blocks: int,
        threads: int,
        findings: Findings,
        in_global: GlobalRaces,
    ) -> None:
        """``threads`` is how many a block has."""
        self._sites = sites
        self._in_global = in_global
        self.grid_barrier = in_global.grid_barrier
        self._sections = Sections(len(cells.slots))
        self._cells = cells
        self._blocks = blocks
        self._threads = threads
        self._written = Written(cells, placed, threads, findings)
        self._races = Races(cells, placed, findings)
        self._pending: list[SharedAccess] = []
        self._pending_lanes = 0
        self._number = 0
        self._phase: Any = 0

    def add(self, site: int, addresses: Any, mask: Mask, stored: Value) -> None:
        """Note one execution of a shared site; ``stored`` is what a store stores."""
        self._number += 1
        self._pending_lanes += mask.count + _LANES_OF_ITSELF
        access = SharedAccess(self._cells, self._number, self._sites[site], addresses, mask, stored, self._phase)
        if not access.loads and not access.stores:
            self._in_global.exchange_in_block(np.flatnonzero(mask.lanes))
            self._sections.update(access, self._pending)
        self._pending.append(access)
        if self._pending_lanes > _KEPT:
            self._settle(unfinished=True)

    def fence(self, mask: Mask, *, of_block: bool = False) -> None:
        """Let threads pass a fence, for all or for the threads of their block."""
        self._in_global.fence(mask, of_block=of_block)
        self._sections.fence(mask)

    def syncwarp(self, mask: Mask, live: Mask) -> None:
        self._in_global.syncwarp(mask)
        if mask.count == live.count:
            self._phase = self._phase + 1
        else:
            self._phase = self._phase + mask.lanes

    def barrier(self, mask: Mask, live: Mask) -> None:
        self._in_global.barrier(mask)
        if mask.count != live.count:
            here, running = self._blocks_of(mask), self._blocks_of(live)
            if (running & ~here).any():
                self._settle(unfinished=True)
                self._races.pass_barrier(here)
                return
        self.end()

    def pass_mbarrier(self, blocks: NDArray[np.intp]) -> None:
        """Let blocks, by their numbers in the batch, go on from a phase of an mbarrier that has ended.

        Which of their threads have waited for it is not looked at, so that it orders all of them.
        """
        self._settle(unfinished=True)
        here = np.zeros(self._blocks, np.bool_)
        here[blocks] = True
        self._races.pass_barrier(here)

    def written(self, block: int, address: int, nbytes: int) -> None:
        """Note bytes of a block's shared memory that something else than its threads has written."""
        if not self._written.complete:
            self._settle(unfinished=True)
            self._written.add(block, address, nbytes)

    def end(self) -> None:
        self._settle(unfinished=False)
        self._races.pass_barrier()
        self._phase = 0

    def _blocks_of(self, mask: Mask) -> NDArray[np.bool_]:
        return np.asarray(mask.lanes.reshape(self._blocks, -1).any(axis=1))

    def _settle(self, unfinished: bool) -> None:
        if not self._pending:
            return
        pending, self._pending, self._pending_lanes = self._pending, [], 0
        self._written.check(pending)
        accesses = self._sections.apart(pending)
        self._races.check(accesses, isinstance(self._phase, np.ndarray) or self._phase > 0)
        if unfinished:
            self._races.keep(accesses)


class Written:
    """Which cells of a batch have been written; memory starts anew with each launch. A block has ``threads``."""

    def __init__(self, cells: Cells, placed: Sequence[ArrayInfo], threads: int, findings: Findings) -> None:
        self._cells = cells
        self._placed = placed
        self._threads = threads
        self._findings = findings
        undeclared = np.ones(cells.per_block, np.bool_)  # cells between arrays, which belong to nobody
        for array in placed:
            undeclared[cells.span(array)] = False
        self._written = np.tile(undeclared, cells.count // cells.per_block) if cells.count else _NO_CELLS
        self.complete = not cells.count or bool(self._written.all())

    def check(self, accesses: Sequence[SharedAccess]) -> None:
        """Go through site executions in order: note what they write and find what they read too early."""
        if self.complete:
            return
        for access in accesses:
            if not access.stores and access.site.op != "atomic_exch":
                known = self._written.take(access.cells)
                if not known.all():
                    self._tell(access, np.flatnonzero(~known))
            if not access.loads:
                self._written[access.cells] = True
        self.complete = bool(self._written.all())

    def add(self, block: int, address: int, nbytes: int) -> None:
        """Note bytes of a block as written."""
        first, last = self._cells.within(address), self._cells.within(address + nbytes - 1)
        self._written.reshape(-1, self._cells.per_block)[block, first : last + 1] = True
        self.complete = bool(self._written.all())

    def _tell(self, access: SharedAccess, missing: NDArray[np.intp]) -> None:
        key = ("unwritten_read", access.site.function, access.site.line, access.site.column)
        if key not in self._findings:
            facts = self._facts(access, int(access.cells[missing[0]]))
            slots = np.unique(access.threads[missing])
            self._findings.add(key, "unwritten_read", access.site.line, slots, facts)

    def _facts(self, access: SharedAccess, cell: int) -> Facts:
        address = self._cells.address(cell)
        array = array_at(self._placed, access.site.array, address)
        block = self._written.reshape(-1, self._cells.per_block)[cell // self._cells.per_block]
        return {
            "element": element_name(array, address, self._findings.spelling),
            "array": array.name,
            "updated": not access.loads,
            "written": int(np.count_nonzero(block[self._cells.span(array)])) * self._cells.nbytes // array.itemsize,
            "elements": array.nbytes // array.itemsize,
            "threads": self._threads,
        }
