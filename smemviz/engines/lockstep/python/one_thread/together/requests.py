"""What several threads did one after the other, handed on as requests of all of them.

What a thread does to memory is what it does in lockstep only if none of the others stores where it loads or stores, or
all of them update it and their order does not matter: that is looked at before anything is handed on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.serial_accesses import OrderedAccesses
from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.memory.memory import Memory
from smemviz.engines.lockstep.python.one_thread.accesses import Accesses, NotTogetherError
from smemviz.engines.lockstep.python.one_thread.stored import PIECE, in_pieces
from smemviz.engines.lockstep.python.one_thread.together.accessed import (
    find_cells,
    meet,
    note_first,
    requests_of,
    write_requests,
)
from smemviz.engines.lockstep.python.one_thread.together.in_global import DoneInGlobal, done_in_global
from smemviz.engines.lockstep.python.one_thread.together.order import Made, in_lockstep
from smemviz.engines.lockstep.python.one_thread.together.scratch import Scratch
from smemviz.recordings.data import WARP_SIZE

_AT_ONCE = 1024  # requests of a warp
_NO_VALUES = np.empty((0, WARP_SIZE))
_MOST_KINDS = 255  # of what threads do to an element
_SPARE = 8  # entries of a table for each number in it, with which it still is faster than sorting


def hand_on(
    machine: Machine,
    runs: Sequence[Accesses],
    loops: Sequence[tuple[int, int, int]],
    before: Mapping[Memory, NDArray[np.uint8]],
) -> None:
    """Let the log and the search for hazards have what threads did, as requests of all of them.

    ``loops`` are the level of each and the numbers of its first access and of the first behind it; ``before`` are the
    bytes of memories that the loop stores in, as they were.

    Raises:
        NotTogetherError: when it matters that one thread did it after the other; nothing has been handed on then.
    """
    scratch = scratch_of(machine)
    made = in_lockstep(runs, loops, scratch)
    if made is None:
        return
    first = runs[0]
    if len(runs) > 1:
        _look_for_meetings(machine, first, made)
    _tell_global(machine, first, made, before)
    tell_shared(machine, first, made, scratch)
    tell_log(machine, first, made)


def scratch_of(machine: Machine) -> Scratch:
    """Return what is used again part after part."""
    scratch: Scratch = machine.alone.setdefault("scratch", Scratch())
    return scratch


def tell_log(machine: Machine, first: Accesses, made: Made) -> None:
    """Let the log have the requests of each warp."""
    slots, count = made.slots, made.count
    several = np.split(
        np.arange(len(slots)), np.flatnonzero(np.diff(slots // WARP_SIZE)) + 1
    )  # of each warp: slots ascend
    found = made.begin.copy()  # what comes next of each thread
    written = made.begin.copy(), made.first_store.copy()
    what = made.begin, made.rows, made.number

    def write(addresses: NDArray[np.int64], values: NDArray[np.float64] | None) -> None:
        stored = _NO_VALUES if values is None else values
        of_accesses = *what, made.addresses, first.what.items, made.values
        write_requests(threads, slots[threads] % WARP_SIZE, *of_accesses, low, which, *written, addresses, stored)

    for low in range(0, count, _AT_ONCE):  # turn by turn, so that of every warp as much is kept as of the others
        several = [threads for threads in several if not _are_counted(machine, first, made, threads, found)]
        for threads in several:
            number, which, known = requests_of(
                threads, *what, first.what.valued, low, min(low + _AT_ONCE, count), found
            )
            if len(number):
                machine.log.add_serial(first.what.site[number], int(slots[threads[0]]), write, known=known)


def _are_counted(
    machine: Machine, first: Accesses, made: Made, threads: NDArray[np.intp], found: NDArray[np.int64]
) -> bool:
    """Let the log count what is left of the only thread of a warp where it keeps nothing; tell whether it has."""
    thread = int(threads[0])
    if len(threads) > 1 or not first.is_even or machine.log.keeps(int(made.slots[thread])):
        return False
    times = np.bincount(made.number[found[thread] : made.begin[thread + 1]])
    which = np.flatnonzero(times)
    machine.log.count_alone(int(made.slots[thread]), first.what.site[which], first.base[which], times[which])
    return True


def _look_for_meetings(machine: Machine, first: Accesses, made: Made) -> None:
    """Raise an error where a thread stores what another touches."""
    for memory, numbers in first.by_memory.items():
        if not first.what.touches[numbers].any():
            continue
        unit = min(int(first.what.width[numbers].min()), PIECE)
        times = np.zeros(len(first.what.width), np.int64)
        times[numbers] = first.what.width[numbers] // unit
        shift, most = unit.bit_length() - 1, len(memory.data) // unit
        start = np.full(len(made.slots), memory.base >> shift)
        if memory.space == "shared":  # an address is the same in every block
            start -= made.slots * machine.blocks // machine.slots * most
            most *= machine.blocks
        many = int(made.times @ times)
        what = made.begin, made.number, made.addresses
        if most > _SPARE * many:
            cells = np.empty(many, np.int64)
            number, begin = find_cells(*what, times, shift, start, cells)
            found, cells = np.unique(cells, return_inverse=True)
            what, shift, most = (begin, number, cells), 0, len(found)
            times, start = np.minimum(times, 1), np.zeros_like(start)
        touches, owner = first.what.touches, np.full(most, -1, np.int32)
        if touches.max() > _MOST_KINDS or meet(*what, times, shift, start, touches, owner):
            raise NotTogetherError


def _tell_global(machine: Machine, first: Accesses, made: Made, before: Mapping[Memory, NDArray[np.uint8]]) -> None:
    """Let the search for races have what each thread did to arrays that the launch stores in.

    ``before`` are the bytes of those that the loop stores in, as they were.
    """
    in_global = machine.in_global
    done: list[DoneInGlobal] = []
    for memory, numbers in first.by_memory.items():
        watched = in_global.watched.get(memory)
        if watched is not None:
            done.append(done_in_global(in_global, watched, first, numbers, made, before.get(memory)))
    for did in done:
        did.tell(in_global)


def tell_shared(machine: Machine, first: Accesses, made: Made, scratch: Scratch) -> None:
    """Let the search for hazards have accesses to shared memory, request after request.

    Of what a thread does to an element in one way the first time is enough, and the first with another value.
    """
    if not made.times[first.what.in_shared].any():
        return
    shift, start, nbytes = machine.hazards.cell_bytes.bit_length() - 1, machine.layout.start, machine.layout.nbytes
    cells = (nbytes >> shift) + 1
    before, stamps = np.zeros(len(first.what.site) * cells, np.uint64), np.zeros(len(first.what.site) * cells, np.int32)
    pieces = np.where(first.what.in_shared, in_pieces(first.what.width), 0)
    size = 4 * int(made.times @ pieces)
    seen, found = (scratch.array(name, size, np.int64).reshape(4, -1) for name in ("seen", "found"))
    what = made.begin, made.rows, made.number, made.addresses, first.what.stores, made.first_store, made.bits
    ends = np.zeros(made.count + 1, np.int32)
    many = note_first(*what, pieces, start, shift, cells, before, stamps, ends, seen, found)
    which, threads, bits, piece = found[:, :many]
    sites, slots, rows = first.what.site[made.number[which]], made.slots[threads], made.rows[which].astype(np.int64)
    did = OrderedAccesses(sites, slots, made.addresses[which] + PIECE * piece, bits.view(np.uint64), rows)
    machine.hazards.add_serial(did)
