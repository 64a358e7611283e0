"""What threads did in order, event after event, in columns; this imports Numba, so import it late."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.in_order import Did
from smemviz.engines.lockstep.python.one_thread.native.board import EVENT
from smemviz.model.counting.jit import compiled

Numbers = NDArray[Any]
_ROW, _LANE, _NUMBER, _PLACE, _BEFORE, _AFTER = range(len(EVENT))


class Elements(NamedTuple):
    """Where elements are, by the number of an access: so many bytes in ``size``, in an array that is at ``base``.

    The place in its memory at which the array begins is also by the lane.
    """

    begin: Numbers
    size: Numbers
    base: Numbers


@compiled
def place_all(events: Numbers, of: Elements, row: Numbers, address: Numbers, times: Numbers) -> None:
    """Find the ``row`` of each event, from 0 on, its ``address``, and how many ``times`` each access was made."""
    at = -1
    last = -1
    for k in range(len(events)):
        if events[k, _ROW] != last:
            at += 1
            last = events[k, _ROW]
        number = events[k, _NUMBER]
        row[k] = at
        element = events[k, _PLACE] - of.begin[number, events[k, _LANE]]
        address[k] = element * of.size[number] + of.base[number]
        times[number] += 1


@compiled
def cell_by_cell(
    events: Numbers,
    cells: Numbers,
    site: Numbers,
    row: Numbers,
    address: Numbers,
    start: int,
    nbytes: int,
    thread: Numbers,
    did: Did,
    rows: Numbers,
) -> None:
    """Find what events ``did`` to the cells, of ``nbytes`` each, of an allocation that begins at ``start``.

    An access has so many ``cells`` there and is of a ``site``, by its number; ``thread`` is that of each lane. ``rows``
    are those among all, which are numbered anew in what they did.
    """
    shift = 0
    while 1 << shift < nbytes:
        shift += 1
    at = -1
    last = -1
    i = 0
    for k in range(len(events)):
        number = events[k, _NUMBER]
        if cells[number] == 0:
            continue
        if row[k] != last:
            at += 1
            last = row[k]
        first = (address[k] - start) >> shift
        for part in range(cells[number]):
            did.row[i], rows[i] = at, last
            did.site[i] = site[number]
            did.thread[i] = thread[events[k, _LANE]]
            did.cell[i] = first + part
            did.before[i] = _piece(events[k, _BEFORE], part, nbytes)
            did.after[i] = _piece(events[k, _AFTER], part, nbytes)
            i += 1


@compiled
def _piece(bits: int, part: int, nbytes: int) -> int:
    """Return the bits of one cell of an element."""
    return (bits >> (8 * nbytes * part)) & ((1 << (8 * nbytes)) - 1) if nbytes < 8 else bits


@compiled
def by_lane(
    events: Numbers,
    stores: Numbers,
    row: Numbers,
    address: Numbers,
    begin: Numbers,
    first_store: Numbers,
    rows: Numbers,
    number: Numbers,
    addresses: Numbers,
    stored: Numbers,
    by: Numbers,
) -> None:
    """Sort events by their lane: where those of each ``begin``, and their ``rows``, accesses and ``addresses``.

    ``stored`` is what those stored that are ``stores``, ``by`` the access, and ``first_store`` where a lane's begin.
    """
    for k in range(len(events)):
        lane = events[k, _LANE]
        begin[lane + 1] += 1
        first_store[lane + 1] += stores[events[k, _NUMBER]]
    for lane in range(1, len(begin)):
        begin[lane] += begin[lane - 1]
        first_store[lane] += first_store[lane - 1]
    at = begin[:-1].copy()
    at_store = first_store[:-1].copy()
    for k in range(len(events)):
        lane, made = events[k, _LANE], events[k, _NUMBER]
        i = at[lane]
        rows[i], number[i], addresses[i] = row[k], made, address[k]
        at[lane] += 1
        if stores[made]:
            i = at_store[lane]
            stored[i], by[i] = events[k, _AFTER], made
            at_store[lane] += 1
