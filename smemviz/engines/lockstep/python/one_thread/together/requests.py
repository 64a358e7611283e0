"""What several threads did one after the other, handed on as requests of all of them.

What a thread does to memory is what it does in lockstep only if none of the others stores where it loads or stores:
that is looked at before anything is handed on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.serial_accesses import OrderedAccesses
from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.python.one_thread.accesses import Accesses, NotTogetherError
from smemviz.engines.lockstep.python.one_thread.together.order import Made, in_lockstep
from smemviz.engines.lockstep.python.one_thread.together.places import meet, note_first
from smemviz.recordings.data import WARP_SIZE

_AT_ONCE = 1024  # requests of a warp
_SPARE = 8  # entries of a table for each number in it, with which it still is faster than sorting


def hand_on(machine: Machine, runs: Sequence[Accesses], loops: Sequence[tuple[int, int, int]]) -> None:
    """Let the log and the search for hazards have what threads did, as requests of all of them.

    ``loops`` are the level of each and the numbers of its first access and of the first behind it.

    Raises:
        NotTogetherError: when it matters that one thread did it after the other; nothing has been handed on then.
    """
    made = in_lockstep(runs, loops)
    if made is None:
        return
    first = runs[0]
    _look_for_meetings(machine, first, made)
    _tell_global(machine, first, made)
    _tell_shared(machine, first, made)
    warps = made.slots // WARP_SIZE
    several = [np.flatnonzero(warps == warp) for warp in np.unique(warps).tolist()]
    sites = first.site[made.number]
    for begin in range(0, len(sites), _AT_ONCE):  # turn by turn, so that of every warp as much is kept as of the others
        part = slice(begin, begin + _AT_ONCE)
        for lanes in several:
            addresses, values = made.addresses[lanes, part].T, made.values[lanes, part].T
            took = (addresses >= 0).any(axis=1)
            if took.any():
                machine.log.add_serial(sites[part][took], made.slots[lanes], addresses[took], values[took])


def _look_for_meetings(machine: Machine, first: Accesses, made: Made) -> None:
    """Raise an error where a thread stores what another touches, or where what several touch is watched."""
    for memory, numbers in first.by_memory.items():
        watched = machine.in_global.watched.get(memory)
        touches = first.writes if watched is None else np.ones(len(first.writes), np.bool_)
        if not touches[numbers].any():
            continue
        rows = made.rows_of(numbers)
        number, addresses = made.number[rows], made.addresses[:, rows]
        unit = int(first.size[numbers].min())
        cells = (addresses - memory.base) >> unit.bit_length() - 1
        most = len(memory.data) // unit
        if memory.space == "shared":  # an address is the same in every block
            cells += (made.slots * machine.blocks // machine.slots * most)[:, None]
            most *= machine.blocks
        cells[addresses < 0] = -1
        times = first.size[number] // unit
        if (times > 1).any():
            begin = np.cumsum(times) - times
            within = np.arange(int(times.sum())) - begin.repeat(times)
            number, cells = number.repeat(times), cells.repeat(times, axis=1)
            cells = np.where(cells < 0, -1, cells + within)
        if most > _SPARE * cells.size:
            cells, most = _numbered(cells)
        if meet(cells, touches[number], np.full(most, -1, np.int32)):
            raise NotTogetherError


def _numbered(cells: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Number cells without gaps, but for -1; return how many there are, too."""
    found, which = np.unique(cells, return_inverse=True)
    none = int(found[0] < 0) if len(found) else 0
    return which.reshape(cells.shape) - none, len(found) - none


def _tell_global(machine: Machine, first: Accesses, made: Made) -> None:
    """Let the search for races have what each thread did to arrays that the launch stores in."""
    for memory, numbers in first.by_memory.items():
        watched = machine.in_global.watched.get(memory)
        if watched is None:
            continue
        rows = made.rows_of(numbers)
        sites = first.site[made.number[rows]]
        for thread, slot in enumerate(made.slots.tolist()):
            addresses = made.addresses[thread, rows]
            own = np.flatnonzero(addresses >= 0)
            if len(own):
                machine.in_global.add_serial(watched, machine.in_global.number_of(slot), sites[own], addresses[own])


def _tell_shared(machine: Machine, first: Accesses, made: Made) -> None:
    """Let the search for hazards have accesses to shared memory, request after request.

    Of what a thread does to an element in one way the first time is enough, and the first with another value.
    """
    if not first.in_shared[made.number].any():
        return
    bits, start, nbytes = machine.hazards.cell_bytes.bit_length() - 1, machine.layout.start, machine.layout.nbytes
    cells = (nbytes >> bits) + 1
    before, stamps = np.zeros(len(first.site) * cells, np.uint64), np.zeros(len(first.site) * cells, np.int32)
    seen = np.zeros(made.addresses.shape, np.bool_)
    note_first(made.addresses, made.bits, made.number, first.in_shared, start, bits, cells, before, stamps, seen)
    threads, rows = np.nonzero(seen)
    order = np.argsort(rows, kind="stable")
    threads, rows = threads[order], rows[order]
    sites, addresses = first.site[made.number[rows]], made.addresses[threads, rows]
    slots, stored = made.slots[threads], made.bits[threads, rows]
    machine.hazards.add_serial(OrderedAccesses(sites, slots, addresses, stored, rows))
