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
from smemviz.engines.lockstep.python.one_thread.together.order import Made
from smemviz.engines.lockstep.python.one_thread.together.requests import scratch_of, tell_log, tell_shared
from smemviz.engines.lockstep.values.typing import Dtype


class Events:
    """Events of threads in some slots, in their order, all (k,); of each access there is its memory."""

    def __init__(
        self,
        machine: Machine,
        events: NDArray[np.int64],
        slots: NDArray[np.intp],
        accesses: Accesses,
        memories: Sequence[Memory],
    ) -> None:
        row, self._lane, self._number, self._place, before, after = np.ascontiguousarray(events.T)
        self._row = np.cumsum(np.diff(row, prepend=row[:1]) != 0)
        self._before, self._after = before.view(np.uint64), after.view(np.uint64)
        self._machine = machine
        self._slots = slots
        self._of = accesses
        self._memories = memories

    def __len__(self) -> int:
        return len(self._row)

    def undo(self) -> None:
        """Let memories hold what they did before."""
        which = np.flatnonzero(self._of.what.touches[self._number])[::-1]
        columns = (column[which].tolist() for column in (self._number, self._place, self._before))
        for number, place, before in zip(*columns, strict=True):
            dtype = self._of.what.dtypes[number]
            self._memories[number].elements(dtype).view(f"u{dtype.itemsize}")[place] = before

    def hand_on(self) -> None:
        """Let the log and the search for hazards have them."""
        if not len(self._row):
            return
        machine, of = self._machine, self._of
        begins = [memory.place(0, dtype) for memory, dtype in zip(self._memories, of.what.dtypes, strict=True)]
        begin = np.array([np.broadcast_to(begin, machine.slots)[self._slots] for begin in begins])
        places = self._place - begin[self._number, self._lane]
        addresses = places * of.what.size[self._number] + of.base[self._number]
        add(machine.in_global, machine.table.sites, list(self._in_global(addresses)))
        made = self._made(addresses)
        tell_shared(machine, of, made, scratch_of(machine))
        tell_log(machine, of, made)

    def _in_global(self, addresses: NDArray[np.int64]) -> Iterator[tuple[Watched, Did, NDArray[np.int64]]]:
        """Yield what was done to each allocation that is watched, cell by cell, and in which rows."""
        in_global, width = self._machine.in_global, self._of.what.width[self._number]
        threads = in_global.threads[self._slots]
        for memory, numbers in self._of.by_memory.items():
            watched = in_global.watched.get(memory)
            here = np.flatnonzero(np.isin(self._number, numbers))
            if watched is None or not len(here):
                continue
            access, cells = watched.cells_of(addresses[here], width[here])
            which = here[access]
            part = cells - (addresses[which] - watched.start) // watched.nbytes
            rows = self._row[which]
            row = np.cumsum(np.diff(rows, prepend=rows[:1]) != 0)
            did = Did(
                row,
                self._of.what.site[self._number[which]],
                threads[self._lane[which]],
                cells,
                _piece(self._before[which], part, watched.nbytes),
                _piece(self._after[which], part, watched.nbytes),
            )
            yield watched, did, rows

    def _made(self, addresses: NDArray[np.int64]) -> Made:
        """Return the same thread after thread."""
        lane = self._lane.astype(np.int16)  # which is sorted by counting
        order = np.argsort(lane, kind="stable")
        number = self._number[order]
        stores = self._of.what.stores[number]
        stored, by = self._after[order][stores], number[stores]
        values = np.empty(len(stored))
        for of in np.flatnonzero(np.bincount(by)).tolist():
            values[by == of] = _numbers(stored[by == of], self._of.what.dtypes[of])
        begin = np.concatenate([[0], np.cumsum(np.bincount(lane, minlength=len(self._slots)))])
        first_store = np.concatenate([[0], np.cumsum(stores)])[begin]
        times = np.bincount(number, minlength=len(self._of.what.site))
        rows, numbers = self._row[order].astype(np.int32), number.astype(np.int32)
        return Made(self._slots, begin, times, rows, numbers, addresses[order], first_store, values, stored)


def _piece(bits: NDArray[np.uint64], part: NDArray[np.int64], nbytes: int) -> NDArray[np.uint64]:
    """Return the part of each element that is in a cell of so many bytes."""
    piece = bits >> (8 * nbytes * part).astype(np.uint64)
    return np.asarray(piece & np.uint64(2 ** (8 * nbytes) - 1))


def _numbers(bits: NDArray[np.uint64], dtype: Dtype) -> NDArray[np.float64]:
    """Return what bits are as numbers of a type."""
    return bits.astype(f"u{dtype.itemsize}").view(dtype).astype(np.float64)
