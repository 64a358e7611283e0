"""What a GPU does not tell: shared elements read before they are written, and races between threads.

Site executions are kept until a barrier and then looked at together, which costs little: what only loads, from memory
that has been written, cannot go wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.findings import Findings
from smemviz.engines.lockstep.hazards.global_races import GlobalRaces
from smemviz.engines.lockstep.hazards.races import Races
from smemviz.engines.lockstep.hazards.sections import Sections
from smemviz.engines.lockstep.hazards.serial_accesses import OrderedAccesses, SerialAccess, SerialAccesses
from smemviz.engines.lockstep.hazards.shared_accesses import Cells, SharedAccess
from smemviz.engines.lockstep.memory.shared import array_at, element_name
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.typing import Value
from smemviz.messages import english
from smemviz.recordings.data import ArrayInfo, Site

# So many accesses of single threads are kept at most: 64 MiB with their addresses and cells.
_KEPT = 1 << 22
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
        self._pending: list[SharedAccess | SerialAccesses] = []
        self._pending_lanes = 0
        self._number = 0
        self._phase: Any = 0

    def add(self, site: int, addresses: Any, mask: Mask, stored: Value) -> None:
        """Note one execution of a shared site; ``stored`` is what a store stores."""
        self._number += 1
        self._pending_lanes += mask.count
        access = SharedAccess(self._cells, self._number, self._sites[site], addresses, mask, stored, self._phase)
        if not access.loads and not access.stores:
            self._in_global.exchange_in_block(np.flatnonzero(mask.lanes))
            self._sections.update(access, self._pending)
        self._pending.append(access)
        if self._pending_lanes > _KEPT:
            self._settle(unfinished=True)

    def add_serial(self, accesses: OrderedAccesses) -> None:
        """Note what threads did one after the other, or in one site execution after the other."""
        self._number += 1
        serial = SerialAccesses(self._cells, self._number, self._sites, accesses, self._phase)
        if self._in_global.has_messages:
            updating = [part.threads for part in serial.parts if not part.loads and not part.stores]
            self._in_global.exchange_in_block(np.unique(np.concatenate([*updating, self._cells.slots[:0]])))
        if self._threads == 1:
            self._written.expect(serial.parts)
        self._pending_lanes += serial.count
        self._pending.append(serial)
        if self._pending_lanes > _KEPT:
            self._settle(unfinished=True)

    @property
    def is_over(self) -> bool:
        """Whether nothing that is done to shared memory can go wrong: all is written, by the only thread of a block."""
        return self._threads == 1 and self._written.is_all_expected

    @property
    def cell_bytes(self) -> int:
        """How many bytes a cell has."""
        return self._cells.nbytes

    def are_safe_within(self, low: int, high: int) -> bool:
        """Tell the same of all cells from ``low`` to ``high``."""
        return self._threads == 1 and self._written.expects_within(low, high)

    def are_safe(self, cells: NDArray[np.int64]) -> bool:
        """Tell whether nothing can go wrong in cells: all of them are written, by the only thread of a block."""
        return self._threads == 1 and self._written.expects(cells)

    @property
    def safe_cells(self) -> NDArray[np.bool_]:
        """Which cells they are safe in, where a block has one thread."""
        return self._written.expected

    def fence(self, mask: Mask, *, of_block: bool = False) -> None:
        """Let threads pass a fence, for all or for the threads of their block."""
        self._in_global.fence(mask, of_block=of_block)
        self._sections.fence(mask)

    def syncwarp(self, mask: Mask, live: Mask) -> None:
        """Let threads pass a barrier of their warp."""
        self._in_global.syncwarp(mask)
        if mask.count == live.count:
            self._phase = self._phase + 1
        else:
            self._phase = self._phase + mask.lanes

    def barrier(self, mask: Mask, live: Mask) -> None:
        """Let the blocks of the threads of a mask pass a barrier."""
        self._in_global.barrier(mask)
        if mask.count != live.count:
            here, running = self._blocks_of(mask), self._blocks_of(live)
            if (running & ~here).any():
                self._settle(unfinished=True)
                self._races.pass_barrier(here)
                return
        self.end()

    def end(self) -> None:
        """Finish an interval, or the batch."""
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
        accesses = self._sections.apart([part for access in pending for part in access.parts])
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
        self._written = _undeclared(cells, placed) if cells.count else _NO_CELLS
        self.complete = self.is_all_expected = not cells.count or bool(self._written.all())
        self._expected: NDArray[np.bool_] | None = None

    def expect(self, parts: Sequence[SerialAccess]) -> None:
        """Look ahead at what will have been written, once site executions that wait for it are checked."""
        if self.is_all_expected:
            return
        if self._expected is None:
            self._expected = self._written.copy()
        for part in parts:
            if not part.loads:
                self._expected[part.cells] = True
        self.is_all_expected = bool(self._expected.all())

    def expects(self, cells: NDArray[np.int64]) -> bool:
        """Tell whether cells will have been written."""
        return self._expected is not None and bool(self._expected.take(cells).all())

    def expects_within(self, low: int, high: int) -> bool:
        """Tell whether all cells from ``low`` to ``high`` are there, and will have been written."""
        if self._expected is None or not 0 <= low <= high < len(self._expected):
            return False
        return bool(self._expected[low : high + 1].all())

    @property
    def expected(self) -> NDArray[np.bool_]:
        """Which cells will have been written."""
        return self._written if self._expected is None else self._expected

    def check(self, accesses: Sequence[SharedAccess | SerialAccesses]) -> None:
        """Go through site executions in order: note what they write and find what they read too early."""
        if self.complete:
            return
        for access in accesses:
            if isinstance(access, SerialAccesses):
                self._check_serial(access.parts)
                continue
            if _needs_a_value(access):
                self._check(access)
            if not access.loads:
                self._written[access.cells] = True
        self.complete = bool(self._written.all())
        self.is_all_expected = self.is_all_expected or self.complete

    def _check_serial(self, parts: Sequence[SerialAccess]) -> None:
        """Find what of each site is read first before it is written, by what was there and by what is written here."""
        writing = [part for part in parts if not part.loads]
        early = []
        for part in parts:
            if not _needs_a_value(part):
                continue
            missing = np.flatnonzero(~self._written.take(part.cells))
            if writing and len(missing):
                missing = missing[~_written_before(writing, part.cells[missing], part.rows[missing])]
            if len(missing):
                row = int(part.rows[missing[0]])
                early.append((row, part, missing[part.rows[missing] == row]))
        for row, part, missing in sorted(early, key=lambda one: one[0]):
            for other in writing:
                self._written[other.cells[other.rows < row]] = True
            self._tell(part, missing)
        for part in writing:
            self._written[part.cells] = True

    def _check(self, access: SharedAccess) -> None:
        known = self._written.take(access.cells)
        if not known.all():
            self._tell(access, np.flatnonzero(~known))

    def _tell(self, access: SharedAccess | SerialAccess, missing: NDArray[np.intp]) -> None:
        key = ("unwritten_read", access.site.function, access.site.line, access.site.column)
        if key not in self._findings:
            message = self._message(access, int(access.cells[missing[0]]))
            slots = np.unique(access.threads[missing])
            self._findings.add(key, "unwritten_read", access.site.line, slots, message)

    def _message(self, access: SharedAccess | SerialAccess, cell: int) -> str:
        address = self._cells.address(cell)
        array = array_at(self._placed, access.site.array, address)
        block = self._written.reshape(-1, self._cells.per_block)[cell // self._cells.per_block]
        size = array.nbytes // array.itemsize
        written = int(np.count_nonzero(block[self._cells.span(array)])) * self._cells.nbytes // array.itemsize
        element = element_name(array, address, self._findings.spelling)
        if access.loads:
            what = english("{element} is read, but nothing wrote it", element=element)
        else:
            what = english("{element} is updated, but nothing wrote it", element=element)
        values = {"what": what, "array": array.name, "elements": size}
        if not written:
            return english("{what}: shared memory does not start as zeros. Store in {array} first.", **values)
        if written <= self._threads < size:
            return english(
                "{what}: the block has {threads} threads and {array} {elements} elements. "
                "Make them as many, or let each thread store several.",
                threads=self._threads,
                **values,
            )
        return english(
            "{what}: {written} of the {elements} elements of {array} are written. Store in the others first.",
            written=written,
            **values,
        )


def _undeclared(cells: Cells, placed: Sequence[ArrayInfo]) -> NDArray[np.bool_]:
    """Return which cells lie between arrays and so belong to nobody."""
    undeclared = np.ones(cells.per_block, np.bool_)
    for array in placed:
        undeclared[cells.span(array)] = False
    return np.tile(undeclared, cells.count // cells.per_block)


def _needs_a_value(access: SharedAccess | SerialAccess) -> bool:
    """Tell whether there has to be a value: an exchange puts one there whatever was before."""
    return not access.stores and access.site.op != "atomic_exch"


def _written_before(
    writing: Sequence[SerialAccess], cells: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Tell which cells are written in an earlier row than that in which each is asked for."""
    written, when = (
        np.concatenate(column) for column in zip(*((part.cells, part.rows) for part in writing), strict=True)
    )
    order = np.lexsort((when, written))
    found, begin = np.unique(written[order], return_index=True)
    at = np.minimum(np.searchsorted(found, cells), len(found) - 1)
    return np.asarray((found[at] == cells) & (when[order][begin][at] < rows))
