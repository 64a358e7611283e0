"""What several threads did one after the other, put in the order in which they do it in lockstep.

Every access of a thread has a place in that order: the turn of the outermost loop, where in its body, the turn of the
loop there, and so on. Accesses of several threads at one place are one request. What a thread does to memory is what
it does in lockstep only if none of the others stores where it loads or stores: that is looked at before anything is
handed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.serial_accesses import OrderedAccesses
from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.memory.memory import Memory
from smemviz.engines.lockstep.python.one_thread.accesses import Accesses, NotTogetherError, place_in_order
from smemviz.recordings.data import WARP_SIZE

_AT_ONCE = 1024  # requests of a warp
_MOST = 2**62  # places in the order that have a number each


@dataclass(frozen=True)
class _Events:
    """What threads did, thread after thread; ``thread`` indexes ``slots``, ``order`` tells what is one request.

    ``values`` and ``bits`` are what stores to shared memory stored, NaN and 0 of anything else.
    """

    slots: NDArray[np.int64]
    thread: NDArray[np.int64]
    number: NDArray[np.int64]
    address: NDArray[np.int64]
    values: NDArray[np.float64]
    bits: NDArray[np.uint64]
    order: NDArray[np.int64]


def hand_on(machine: Machine, runs: Sequence[Accesses], loops: Sequence[tuple[int, int, int]]) -> None:
    """Let the log and the search for hazards have what threads did, as requests of all of them.

    ``loops`` are the level of each and the numbers of its first access and of the first behind it.

    Raises:
        NotTogetherError: when it matters that one thread did it after the other; nothing has been handed on then.
    """
    events = _events(runs, loops)
    if events is None:
        return
    first = runs[0]
    _look_for_meetings(machine, first, events)
    places, row = np.unique(events.order, return_inverse=True)
    number = np.zeros(len(places), np.int64)
    number[row] = events.number
    table = np.full((len(places), len(events.slots)), -1, np.int64)
    table[row, events.thread] = events.address
    values = np.full(table.shape, np.nan)
    values[row, events.thread] = events.values
    _tell_global(machine, first, events)
    _tell_shared(machine, first, events, row)
    warps = events.slots // WARP_SIZE
    several = [np.flatnonzero(warps == warp) for warp in np.unique(warps).tolist()]
    for begin in range(
        0, len(places), _AT_ONCE
    ):  # turn by turn, so that of every warp as much is kept as of the others
        for here in several:
            part, made = table[begin : begin + _AT_ONCE, here], values[begin : begin + _AT_ONCE, here]
            took = (part >= 0).any(axis=1)
            sites = first.site[number[begin : begin + _AT_ONCE][took]]
            if len(sites):
                machine.log.add_serial(sites, events.slots[here], part[took], made[took])


def _events(runs: Sequence[Accesses], loops: Sequence[tuple[int, int, int]]) -> _Events | None:
    columns: list[tuple[NDArray[Any], ...]] = []
    keys: list[list[NDArray[np.int64]]] = []
    for thread, run in enumerate(runs):
        did = run.all_that_was_done()
        if did is None:
            continue
        groups, noted = did
        length = np.where(groups < 0, 0, run.length[np.maximum(groups, 0)])
        numbers, places = run.done_in(groups[groups >= 0], noted)
        values = np.full(len(numbers), np.nan)
        values[run.stores[numbers]] = run.stored
        bits = run.bits(numbers, values, run.stored)
        columns.append((np.full(len(numbers), thread), numbers, run.addresses(numbers, places), values, bits))
        keys.append(place_in_order(groups, length, numbers, loops))
    if not columns:
        return None
    threads, numbers, addresses, values, bits = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.zeros(len(threads), np.int64)
    most = 1
    for column in (np.concatenate(parts) for parts in zip(*keys, strict=True)):
        size = int(column.max(initial=0)) + 1
        most *= size
        if most > _MOST:
            raise NotTogetherError
        order = order * size + column
    slots = np.array([run.slot for run in runs])
    return _Events(slots, threads, numbers, addresses, values, bits, order)


def _look_for_meetings(machine: Machine, first: Accesses, events: _Events) -> None:
    """Raise an error where a thread stores what another touches, or where what several touch is watched."""
    for memory, numbers in first.by_memory.items():
        writes, watched = first.writes[numbers], machine.in_global.watched.get(memory)
        if not writes.any() and watched is None:
            continue
        here = np.isin(events.number, numbers)
        unit = int(first.size[numbers].min())
        cell, thread, times = events.address[here] // unit, events.thread[here], first.size[events.number[here]] // unit
        stores = first.writes[events.number[here]]
        if memory.space == "shared":  # an address is the same in every block
            cell = cell + (events.slots * machine.blocks // machine.slots)[thread] * (len(memory.data) // unit + 1)
        if (times > 1).any():
            start = np.cumsum(times) - times
            cell = np.repeat(cell - start, times) + np.arange(int(times.sum()))
            thread, stores = np.repeat(thread, times), np.repeat(stores, times)
        if not len(cell):
            continue
        by_cell = np.argsort(cell, kind="stable")
        cell, thread, stores = cell[by_cell], thread[by_cell], stores[by_cell]
        begins = np.flatnonzero(np.diff(cell, prepend=cell[0] - 1))
        several = np.minimum.reduceat(thread, begins) != np.maximum.reduceat(thread, begins)
        if (several & (np.logical_or.reduceat(stores, begins) | (watched is not None))).any():
            raise NotTogetherError


def _tell_global(machine: Machine, first: Accesses, events: _Events) -> None:
    """Let the search for races have what each thread did to arrays that the launch stores in."""
    for memory, numbers in first.by_memory.items():
        watched = machine.in_global.watched.get(memory)
        if watched is None:
            continue
        here = np.isin(events.number, numbers)
        for thread, slot in enumerate(events.slots.tolist()):
            own = np.flatnonzero(here & (events.thread == thread))
            if len(own):
                sites, number = first.site[events.number[own]], machine.in_global.number_of(slot)
                machine.in_global.add_serial(watched, number, sites, events.address[own])


def _tell_shared(machine: Machine, first: Accesses, events: _Events, row: NDArray[np.intp]) -> None:
    """Let the search for hazards have accesses to shared memory, request after request."""
    here = np.flatnonzero(first.in_shared[events.number])
    if not len(here):
        return
    here = here[np.argsort(row[here], kind="stable")]
    sites, slots = first.site[events.number[here]], events.slots[events.thread[here]]
    machine.hazards.add_serial(OrderedAccesses(sites, slots, events.address[here], events.bits[here], row[here]))


class Undo:
    """What memories held before threads stored in them one after the other."""

    def __init__(self, memories: Sequence[Memory], most: int) -> None:
        """Hold nothing if that were more than ``most`` bytes."""
        distinct = dict.fromkeys(memories)
        self.nbytes = sum(memory.data.nbytes for memory in distinct)
        self._copies = [(memory, memory.data.copy()) for memory in distinct if self.nbytes <= most]

    @property
    def may_wait(self) -> bool:
        """Whether a thread may be waiting for what another stores."""
        return bool(self._copies)

    def undo(self) -> None:
        """Let memories hold that again."""
        for memory, data in self._copies:
            memory.data[:] = data
