"""Which threads touched each cell of shared memory from one site: the lowest and the highest.

Two are enough: any thread that is not the only one, or not in the only warp, finds another than itself among them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.shared_accesses import SharedAccess

_NOBODY_LOW, _NOBODY_HIGH = np.iinfo(np.int32).max, -1


class Marks:
    """The marks of one site; ``bits`` are what the two threads stored, where the site is a store."""

    def __init__(self, cells: int) -> None:
        self.low = np.full(cells, _NOBODY_LOW, np.int32)
        self.high = np.full(cells, _NOBODY_HIGH, np.int32)
        self._bits: tuple[NDArray[np.uint64], NDArray[np.uint64]] | None = None

    def add(self, access: SharedAccess) -> None:
        """Mark what a site execution touched; the first that a thread stored in a cell stays with it."""
        cells, threads = access.cells, access.threads
        # The last of several that go to one cell stays, and threads ascend.
        lower = np.flatnonzero(threads < self.low.take(cells))[::-1]
        higher = np.flatnonzero(threads > self.high.take(cells))
        self.low[cells[lower]] = threads[lower]
        self.high[cells[higher]] = threads[higher]
        if access.stores:
            if self._bits is None:
                self._bits = np.zeros(len(self.low), np.uint64), np.zeros(len(self.low), np.uint64)
            self._bits[0][cells[lower]] = access.bits[lower]
            self._bits[1][cells[higher]] = access.bits[higher]

    def meet(self, access: SharedAccess, apart: int) -> tuple[int, int] | None:
        """Return the first place of an access that another thread marked, and that thread; None where there is none.

        Another is one whose slot divided by ``apart`` differs: 1 for any other thread, 32 for one of another warp. Of
        two stores only those of different values count.
        """
        cells, own = access.cells, access.threads // apart
        low, high = self.low.take(cells), self.high.take(cells)
        marked = high != _NOBODY_HIGH
        meets_low, meets_high = marked & (low // apart != own), marked & (high // apart != own)
        if access.stores and self._bits is not None:
            meets_low &= self._bits[0].take(cells) != access.bits
            meets_high &= self._bits[1].take(cells) != access.bits
        meets = meets_low | meets_high
        first = int(meets.argmax()) if len(meets) else 0
        if not meets[first]:
            return None
        return first, int(low[first] if meets_low[first] else high[first])

    def forget(self, cells: NDArray[np.int64]) -> None:
        """Take the marks off cells."""
        self.low[cells] = _NOBODY_LOW
        self.high[cells] = _NOBODY_HIGH

    def forget_blocks(self, blocks: NDArray[np.bool_]) -> None:
        """Take the marks off all cells of some blocks."""
        self.low.reshape(len(blocks), -1)[blocks] = _NOBODY_LOW
        self.high.reshape(len(blocks), -1)[blocks] = _NOBODY_HIGH
