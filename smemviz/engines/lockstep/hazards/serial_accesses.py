"""What threads did to shared memory in a loop: once for each cell and thread, however often it was done.

Of what a thread does to a cell from one site the first time is kept, and of stores the first of another value: whoever
meets any of them meets one of these first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.shared_accesses import Cells, phases_of
from smemviz.model.hardware.operations import effect_of
from smemviz.recordings.data import Site

_WIDEST = 8  # bytes of an access
_MOST_AT_HAND = 1 << 20  # entries of a table that is faster than sorting


@dataclass(frozen=True)
class OrderedAccesses:
    """Accesses to shared memory in their order, all (k,): site, thread by its slot, address, what a store stored.

    An access of more than 8 bytes is there as several, each of 8.
    ``rows`` ascend; those of one row were made at once, from one site, in the order of the threads.
    """

    sites: NDArray[np.int32]
    slots: NDArray[np.int64]
    addresses: NDArray[np.int64]
    bits: NDArray[np.uint64]
    rows: NDArray[np.int64]


@dataclass(frozen=True)
class SerialAccess:
    """What threads did from one site, as a ``SharedAccess`` has it, but in the order of ``rows``."""

    number: int
    site: Site
    cells: NDArray[np.int64]
    threads: NDArray[np.int32]
    bits: NDArray[Any]
    rows: NDArray[np.int64]
    phase: Any

    @property
    def loads(self) -> bool:
        return effect_of(self.site.op) == "load"

    @property
    def stores(self) -> bool:
        return effect_of(self.site.op) == "store"

    def when(self, place: int) -> tuple[int, int]:
        """Return when an access was made: by its number, and its row there."""
        return self.number, int(self.rows[place])

    def phases(self) -> set[int]:
        """Return the phases that its threads were in."""
        return phases_of(self.phase, self.threads)

    def within(self, phase: int) -> SerialAccess | None:
        """Return the part of it that happened in one phase."""
        if not isinstance(self.phase, np.ndarray):
            return self if self.phase == phase else None
        return self.of(self.phase == phase, self.site, phase)

    def of(self, lanes: NDArray[np.bool_], site: Site, phase: Any = None) -> SerialAccess | None:
        """Return the part of it that some threads made, as of another site or in one phase."""
        here = np.flatnonzero(lanes[self.threads])
        if not len(here):
            return None
        cells, threads, bits, rows = self.cells[here], self.threads[here], self.bits[here], self.rows[here]
        phase = self.phase if phase is None else phase
        return replace(self, site=site, cells=cells, threads=threads, bits=bits, rows=rows, phase=phase)


class SerialAccesses:
    """What threads did from several sites, as one site execution after the other; ``parts`` has each site's."""

    def __init__(self, where: Cells, number: int, sites: Sequence[Site], accesses: OrderedAccesses, phase: Any) -> None:
        self.number = number
        self.parts: list[SerialAccess] = []
        places = [np.flatnonzero(accesses.sites == site) for site in np.flatnonzero(np.bincount(accesses.sites))]
        for here in sorted(places, key=lambda one: int(one[0])):
            site = sites[accesses.sites[here[0]]]
            slots, width = accesses.slots[here], min(site.width, _WIDEST)
            own = where.of(accesses.addresses[here], slots, where.nbytes)
            once = _first_of_each_value(_keys(own, slots), accesses.bits[here])
            here, slots, parts = here[once], slots[once], max(1, width // where.nbytes)
            cells = where.of(accesses.addresses[here], slots, width)
            bits = accesses.bits[here].astype(f"u{width}").view(f"u{where.nbytes}")
            threads, rows = np.repeat(slots.astype(np.int32), parts), np.repeat(accesses.rows[here], parts)
            self.parts.append(SerialAccess(number, site, cells, threads, bits, rows, phase))

    @property
    def count(self) -> int:
        """How many accesses of cells are kept."""
        return sum(len(part.cells) for part in self.parts)


def _keys(cells: NDArray[np.int64], slots: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a small number for what each thread does to each cell."""
    low, first = int(cells.min()), int(slots.min())
    return (slots - first) * (int(cells.max()) - low + 1) + cells - low


def _first_of_each_value(keys: NDArray[np.int64], bits: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Return where what is done again and again is done first, and first with another value; in order."""
    first = _first_of_each(keys)
    is_first = first == np.arange(len(keys))
    other = np.flatnonzero(bits != bits[first])
    is_first[other[_first_of_each(keys[other]) == np.arange(len(other))]] = True
    return np.flatnonzero(is_first)


def _first_of_each(keys: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return for every key where it is met first."""
    most = int(keys.max(initial=0)) + 1
    if most > _MOST_AT_HAND:
        _, begin, which = np.unique(keys, return_index=True, return_inverse=True)
        return np.asarray(begin[which])
    table = np.empty(most, np.intp)
    table[keys[::-1]] = np.arange(len(keys) - 1, -1, -1)  # of several that go to one place, the last one stays
    return table[keys]
