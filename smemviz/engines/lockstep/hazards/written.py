"""Shared elements that are read before any thread of the block wrote them; memory starts anew with each launch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from smemviz.engines.lockstep.hazards.findings import Findings
from smemviz.engines.lockstep.hazards.shared_accesses import Cells, SharedAccess
from smemviz.engines.lockstep.memory.shared import array_at, element_name
from smemviz.messages import english
from smemviz.recordings.data import ArrayInfo


class Written:
    """Which cells of a batch have been written; ``threads`` is how many a block has."""

    def __init__(self, cells: Cells, placed: Sequence[ArrayInfo], threads: int, findings: Findings) -> None:
        self._cells = cells
        self._placed = placed
        self._threads = threads
        self._findings = findings
        held = np.ones(cells.per_block, np.bool_)  # what lies between arrays belongs to nobody
        for array in placed:
            held[cells.span(array)] = False
        self._written = np.tile(held, cells.count // cells.per_block) if cells.per_block else held
        self.complete = bool(self._written.all())

    def check(self, accesses: Sequence[SharedAccess]) -> None:
        """Go through site executions in order: note what they write and find what they read too early."""
        if self.complete:
            return
        for access in accesses:
            if not access.stores and access.site.op != "atomic_exch":  # which puts a value there whatever was before
                self._check(access)
            if not access.loads:
                self._written[access.cells] = True
        self.complete = bool(self._written.all())

    def _check(self, access: SharedAccess) -> None:
        key = ("unwritten_read", access.site.function, access.site.line, access.site.column)
        if key in self._findings:
            return
        known = self._written.take(access.cells)
        if not known.all():
            missing = np.flatnonzero(~known)
            message = self._message(access, int(access.cells[missing[0]]))
            slots = np.unique(access.threads[missing])
            self._findings.add(key, "unwritten_read", access.site.line, slots, message)

    def _message(self, access: SharedAccess, cell: int) -> str:
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
