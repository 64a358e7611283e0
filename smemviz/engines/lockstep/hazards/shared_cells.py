"""Loads and stores of cells of global memory that have several threads, made by thread after thread, noted at once.

That can be done where all of it comes after what others did there before, and no thread touches a cell that another
stores in meanwhile. What is known of the cells is then the same as after one request at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.global_races import GlobalRaces
from smemviz.engines.lockstep.hazards.watched import Touches, Watched


@dataclass(frozen=True)
class Stored:
    """What threads did to ``cells`` in which each of them alone stored.

    ``last`` is the last store in each, ``are_over`` tells whether no load came after it, and ``has_changed`` whether
    there is something else in it than before.
    """

    cells: NDArray[np.int64]
    last: NDArray[np.intp]
    are_over: NDArray[np.bool_]
    has_changed: NDArray[np.bool_]


def stored_in(
    watched: Watched, did: Touches, stores: NDArray[np.bool_], before: NDArray[np.uint8] | None
) -> Stored | None:
    """Return what became of the cells in which something was stored, None where it cannot be told.

    ``did`` is in order of every thread, ``before`` are the bytes of the allocation as they were.
    """
    places = np.flatnonzero(stores)
    cells, which = np.unique(did.cells[places], return_inverse=True)
    if not len(cells):
        return Stored(cells, places, *np.zeros((2, 0), np.bool_))
    assert before is not None
    many, first, last = np.bincount(which), np.full(len(cells), len(stores)), np.full(len(cells), -1)
    np.minimum.at(first, which, places)
    np.maximum.at(last, which, places)
    last_load = np.full(len(cells), -1)
    loads = np.flatnonzero(~stores)
    at = np.searchsorted(cells, did.cells[loads]).clip(max=len(cells) - 1)
    here = cells[at] == did.cells[loads]
    np.maximum.at(last_load, at[here], loads[here])
    has_changed = watched.as_cells(before).take(cells) != watched.contents.take(cells)
    are_over = last_load < last
    # Of several stores one may have changed what the next one changed back, or only one before the last load.
    is_open = (many > 1) & ~has_changed
    of_loads = are_over & (is_open | (first < last_load)) & ((last_load >= 0) | watched.was_done("load", cells))
    if (of_loads | is_open & watched.was_done("update", cells)).any():
        return None
    return Stored(cells, last, are_over, has_changed)


def come_after(races: GlobalRaces, watched: Watched, did: Touches, stores: NDArray[np.bool_]) -> bool:
    """Tell whether loads and stores come after all that others did to their cells before and that they race with."""
    return races.may_do("load", watched, did.those(~stores)) and races.may_do("store", watched, did.those(stores))


def note(races: GlobalRaces, watched: Watched, did: Touches, stores: NDArray[np.bool_], stored: Stored) -> None:
    """Note loads and stores, of which it has been told that this can be done at once."""
    loads = did.those(~stores)
    gone = loads.cells[~races.are_beside("load", watched, loads)]
    numbers = races.executions(did)
    watched.share(did.cells)
    watched.forget("load", gone)
    watched.note("load", loads.cells, loads.threads, numbers[~stores])
    watched.forget("load", stored.cells[stored.are_over & stored.has_changed])
    watched.forget("update", stored.cells[stored.has_changed])
    watched.note_stores(stored.cells, did.threads[stored.last], numbers[stored.last])
