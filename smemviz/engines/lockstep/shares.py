"""What each thread of a launch that runs compiled adds to its log."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.model.counting.summary import Counting
from smemviz.recordings.data import WARP_SIZE, Requests, Site

_TABLES = ("addresses", "values")
_ROOM = 1 << 14  # rows there is room for at first, in each thread


class LateRequests(Requests):
    """Requests of blocks that have fewer threads than a warp has lanes; tables of all lanes are made when asked for.

    To write these takes longer than all else in a launch of one thread.
    """

    @classmethod
    def of(cls, narrow: Requests) -> Requests:
        """Return requests whose tables have a column for each thread of a block with a column for each lane."""
        late = cls.__new__(cls)  # its own constructor is that of all requests, for ``replace``
        columns = {name: column for name, column in vars(narrow).items() if name not in _TABLES}
        vars(late).update(columns, _narrow=narrow)
        return late

    def __getattr__(self, name: str) -> Any:
        if name not in _TABLES:
            raise AttributeError(name)
        table = _of_all_lanes(getattr(self._narrow, name), len(self))
        vars(self)[name] = table
        return table

    def at_sites(self, site: NDArray[np.int32]) -> Requests:
        narrow = vars(self).get("_narrow")
        return super().at_sites(site) if narrow is None else self.of(replace(narrow, site=site))


def _of_all_lanes(table: NDArray[Any], rows: int) -> NDArray[Any]:
    """Return addresses or values with those of lanes that are off; values where nothing is stored have no rows."""
    off = np.nan if table.dtype == np.float64 else -1
    if len(table) < rows:
        return np.broadcast_to(off, (rows, WARP_SIZE))
    if table.shape[1] == WARP_SIZE:
        return table
    whole = np.full((rows, WARP_SIZE), off, table.dtype)
    whole[:, : table.shape[1]] = table
    return whole


class Share:
    """Requests of some blocks, in the order of blocks and of each warp's steps: those that are kept, and counts.

    Kept ones are written into tables with room for more, for to put parts together takes longer than all else.
    """

    def __init__(self, sites: Sequence[Site], lanes: int, *, stores: bool) -> None:
        """``lanes`` of a warp have threads; ``stores`` tells whether any site stores a value in shared memory.

        ``spans`` are the lowest and the highest address of each site, (2, sites), -1 where it made no request.
        """
        self.spans = np.full((2, len(sites)), -1, np.int64)
        self.counting = Counting(sites)
        self._is_counted = False
        self._lanes, self._stores = lanes, stores
        self._rows = 0
        self._tables = self._of(_ROOM)

    def __len__(self) -> int:
        return self._rows

    def _of(self, rows: int) -> Requests:
        site, warp, step, epoch = (np.empty(rows, np.int32) for _ in range(4))
        values = np.empty((rows if self._stores else 0, self._lanes))
        addresses, block = np.empty((rows, self._lanes), np.int64), np.empty(rows, np.int64)
        return Requests(addresses, site, block, warp, step, epoch, values)

    def room(self, rows: int) -> Requests:
        """Return places for so many requests, to be written; there is none for values where there are no stores."""
        first, self._rows = self._rows, self._rows + rows
        if self._rows > len(self._tables):
            before, self._tables = self._tables, self._of(2 * self._rows)
            for column in fields(before):
                table = getattr(before, column.name)[:first]
                getattr(self._tables, column.name)[: len(table)] = table
        return self._tables.select(slice(first, self._rows))

    def count(self, chosen: NDArray[np.int64]) -> None:
        """Count what was kept until now; of that the chosen blocks stay."""
        if self._is_counted:
            return
        self._is_counted = True
        kept = self._tables.select(slice(self._rows))
        self.counting.add_rows(_of_all_lanes(kept.addresses, len(kept)), kept.site.astype(np.int64))
        rows = np.flatnonzero(np.isin(kept.block, chosen))
        self._rows = len(rows)
        for column in fields(kept):
            if len(table := getattr(kept, column.name)):
                table[: len(rows)] = table[rows]

    def kept(self) -> Requests:
        """Return what is kept, and give back the room for more: the last that a share is asked for."""
        for column in fields(self._tables):
            table = getattr(self._tables, column.name)
            table.resize((min(len(table), self._rows), *table.shape[1:]), refcheck=False)
        return LateRequests.of(self._tables)
