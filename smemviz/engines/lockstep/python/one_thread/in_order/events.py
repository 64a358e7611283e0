"""What threads did that ran a loop in order: handed on to the log and to the search for hazards, or undone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.in_order import Did
from smemviz.engines.lockstep.hazards.row_by_row import add
from smemviz.engines.lockstep.hazards.watched import Watched
from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.memory.memory import Memory
from smemviz.engines.lockstep.python.one_thread.accesses import Accesses
from smemviz.engines.lockstep.python.one_thread.in_order.columns import Elements, by_lane, cell_by_cell, place_all
from smemviz.engines.lockstep.python.one_thread.together.order import Made
from smemviz.engines.lockstep.python.one_thread.together.requests import scratch_of, tell_log, tell_shared
from smemviz.engines.lockstep.values.typing import Dtype


class Events:
    """Events of threads in some slots, in their order, (k, 6); of each access there is its memory."""

    def __init__(
        self,
        machine: Machine,
        events: NDArray[np.int64],
        slots: NDArray[np.intp],
        accesses: Accesses,
        memories: Sequence[Memory],
    ) -> None:
        self._machine = machine
        self._events = events
        self._slots = slots
        self._of = accesses
        self._memories = memories

    def __len__(self) -> int:
        return len(self._events)

    def undo(self) -> None:
        """Let memories hold what they did before."""
        _, _, number, place, before, _ = self._events.T
        which = np.flatnonzero(self._of.what.touches[number])[::-1]
        columns = (column[which].tolist() for column in (number, place, before.view(np.uint64)))
        for of, at, bits in zip(*columns, strict=True):
            dtype = self._of.what.dtypes[of]
            self._memories[of].elements(dtype).view(f"u{dtype.itemsize}")[at] = bits

    def hand_on(self) -> None:
        """Let the log and the search for hazards have them."""
        if not len(self):
            return
        machine, what = self._machine, self._of.what
        begins = [memory.place(0, dtype) for memory, dtype in zip(self._memories, what.dtypes, strict=True)]
        begin = np.array([np.broadcast_to(each, machine.slots)[self._slots] for each in begins])
        elements = Elements(begin, what.size, self._of.base)
        self._row, self._address = np.empty(len(self), np.int32), np.empty(len(self), np.int64)
        self._times = np.zeros(len(what.site), np.int64)
        place_all(self._events, elements, self._row, self._address, self._times)
        add(machine.in_global, machine.table.sites, list(self._in_global()))
        made = self._made()
        tell_shared(machine, self._of, made, scratch_of(machine))
        tell_log(machine, self._of, made)

    def _in_global(self) -> Iterator[tuple[Watched, Did, NDArray[np.int32]]]:
        """Yield what was done to each allocation that is watched, cell by cell, and in which rows."""
        in_global, what = self._machine.in_global, self._of.what
        threads = in_global.threads[self._slots]
        for memory, numbers in self._of.by_memory.items():
            watched = in_global.watched.get(memory)
            if watched is None or not self._times[numbers].any():
                continue
            cells = np.zeros(len(what.site), np.int64)
            cells[numbers] = what.width[numbers] // watched.nbytes
            many = int(self._times @ cells)
            row, rows, site = np.empty((3, many), np.int32)
            did = Did(
                row, site, np.empty(many, threads.dtype), np.empty(many, np.int64), *np.empty((2, many), np.uint64)
            )
            where = watched.start, watched.nbytes
            cell_by_cell(self._events, cells, what.site, self._row, self._address, *where, threads, did, rows)
            yield watched, did, rows

    def _made(self) -> Made:
        """Return the same thread after thread."""
        what = self._of.what
        begin, first_store = np.zeros((2, len(self._slots) + 1), np.int64)
        rows, number = np.empty((2, len(self)), np.int32)
        addresses = np.empty(len(self), np.int64)
        many = int(self._times[what.stores].sum())
        stored, by, values = np.empty(many, np.uint64), np.empty(many, np.int32), np.empty(many)
        of_events, of_lanes = (self._row, self._address), (begin, first_store)
        by_lane(self._events, what.stores, *of_events, *of_lanes, rows, number, addresses, stored, by)
        for of in np.flatnonzero(what.stores & (self._times > 0)).tolist():
            values[by == of] = _numbers(stored[by == of], what.dtypes[of])
        return Made(self._slots, begin, self._times, rows, number, addresses, first_store, values, stored)


def _numbers(bits: NDArray[np.uint64], dtype: Dtype) -> NDArray[np.float64]:
    """Return what bits are as numbers of a type."""
    return bits.astype(f"u{dtype.itemsize}").view(dtype).astype(np.float64)
