"""What several threads did one after the other to an array that the launch stores in, for the search for races."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards import shared_cells
from smemviz.engines.lockstep.hazards.global_races import GlobalRaces
from smemviz.engines.lockstep.hazards.watched import Touches, Watched
from smemviz.engines.lockstep.python.one_thread.accesses import Accesses, NotTogetherError
from smemviz.engines.lockstep.python.one_thread.together.order import Made


@dataclass(frozen=True)
class DoneInGlobal:
    """All that was done to elements that have one thread, thread after thread, and what was to those of several.

    Of the latter ``updates`` are apart from loads and stores, which are ``touches``; which ``are_stores``, and what
    became of the cells that they ``stored`` in, is told only if there are some.
    """

    watched: Watched
    sites: NDArray[np.int32]
    threads: NDArray[Any]
    addresses: NDArray[np.int64]
    updates: Touches
    touches: Touches
    are_stores: NDArray[np.bool_]
    stored: shared_cells.Stored | None

    def tell(self, races: GlobalRaces) -> None:
        """Let the search for races have all of it."""
        if len(self.sites):
            races.add_serial(self.watched, self.threads, self.sites, self.addresses)
        if self.updates.any:
            races.add_updates(self.watched, self.updates)
        if self.stored is not None:
            shared_cells.note(races, self.watched, self.touches, self.are_stores, self.stored)


def done_in_global(
    races: GlobalRaces,
    watched: Watched,
    first: Accesses,
    numbers: NDArray[np.int64],
    made: Made,
    before: NDArray[np.uint8] | None,
) -> DoneInGlobal:
    """Return what was done by the accesses of some ``numbers`` to an array, whose bytes ``before`` that are known.

    Raises:
        NotTogetherError: where that cannot be noted at once.
    """
    if races.has_messages and len(made.slots) > 1 and first.what.updates[numbers].any():
        raise NotTogetherError
    among = np.zeros(len(first.what.site), np.bool_)
    among[numbers] = True
    here = np.flatnonzero(among[made.number])
    number, addresses, rows = made.number[here], made.addresses[here], made.rows[here]
    thread_of = races.threads[made.slots]
    sites, threads = first.what.site[number], np.repeat(thread_of, np.diff(np.searchsorted(here, made.begin)))
    access, cells = watched.cells_of(addresses, first.what.width[number])
    several = np.flatnonzero(watched.are_of_several(cells, threads[access]))
    alone = np.ones(len(here), np.bool_)
    alone[access[several]] = False
    if np.count_nonzero(alone[access]) != len(cells) - len(several):  # an element has cells of one thread and others
        raise NotTogetherError
    access, cells = access[several], cells[several]
    did = Touches(sites[access], threads[access], cells, rows[access])
    are_updates, are_stores = first.what.updates[number[access]], first.what.touches[number[access]] == 1
    updates, touches = did.those(are_updates), did.those(~are_updates)
    own = sites[alone], threads[alone], addresses[alone]
    if updates.any and not races.may_do("update", watched, updates):
        raise NotTogetherError
    if not touches.any:
        return DoneInGlobal(watched, *own, updates, touches, are_stores[:0], None)
    are_stores = are_stores[~are_updates]
    if races.has_messages or not shared_cells.come_after(races, watched, touches, are_stores):
        raise NotTogetherError
    stored = shared_cells.stored_in(watched, touches, are_stores, before)
    if stored is None or len(np.intersect1d(updates.cells, touches.cells)):
        raise NotTogetherError
    return DoneInGlobal(watched, *own, updates, touches, are_stores, stored)
