"""What threads did to allocations one request after the other: noted at once up to where there is something to say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.global_races import GlobalRaces
from smemviz.engines.lockstep.hazards.in_order import Did, note
from smemviz.engines.lockstep.hazards.watched import Watched
from smemviz.model.hardware.operations import effect_of
from smemviz.recordings.data import Site


def add(races: GlobalRaces, sites: Sequence[Site], done: Sequence[tuple[Watched, Did, NDArray[np.int32]]]) -> None:
    """Note what threads did, while there are no messages; with each go the rows of its accesses among those of all."""
    noting = [_noting(races, sites, *one) for one in done]
    following = [next(rows, None) for rows in noting]
    while any(row is not None for row in following):
        _, at = min((row, at) for at, row in enumerate(following) if row is not None)
        following[at] = next(noting[at], None)


def _noting(
    races: GlobalRaces, sites: Sequence[Site], watched: Watched, did: Did, rows: NDArray[np.int32]
) -> Iterator[int]:
    """Note accesses; yields before each row of which there is something to say."""
    number, cells, threads = watched.last_store
    stored = cells, threads.astype(did.thread.dtype)
    base = races.execute(did.site[np.flatnonzero(np.diff(did.row, prepend=np.int32(-1)))])
    several, last = np.zeros(len(did.row), np.uint8), np.array([number, -1, -1])
    at = 0
    while at < len(did.row):
        state = watched.state()
        at = note(did, state, races.order(did, stored), base, at, several, last)
        watched.noted_in(state, did, several, last)
        if at < len(did.row):
            yield int(rows[at])
            end = int(np.searchsorted(did.row, did.row[at], "right"))
            places = at + np.flatnonzero(several[at:end])
            site = sites[did.site[at]]
            _meet(races, watched, site, did, places, state.content[did.cell[places]], base + int(did.row[at]))
            if effect_of(site.op) == "store":
                last[:] = base + did.row[at], at, end
            at = end


def _meet(
    races: GlobalRaces,
    watched: Watched,
    site: Site,
    did: Did,
    places: NDArray[np.intp],
    before: NDArray[np.uint64],
    number: int,
) -> None:
    """Hold a row against what others did, with memory as it was before."""
    cells, effect, contents = did.cell[places], effect_of(site.op), watched.contents
    bits = did.after[places].astype(contents.dtype) if effect == "store" else None
    now = contents[cells]
    contents[cells] = before
    races.meet(watched, site, effect, cells, did.thread[places], bits, number)
    contents[cells] = now
