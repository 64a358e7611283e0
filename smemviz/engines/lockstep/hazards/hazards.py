"""What a GPU does not tell: shared elements read before they are written, and races between threads.

Site executions are kept until a barrier and then looked at together, which costs little: what only loads, from memory
that has been written, cannot go wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.findings import Findings
from smemviz.engines.lockstep.hazards.global_races import GlobalRaces
from smemviz.engines.lockstep.hazards.races import Races
from smemviz.engines.lockstep.hazards.shared_accesses import Cells, SharedAccess
from smemviz.engines.lockstep.hazards.written import Written
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.typing import Value
from smemviz.recordings.data import ArrayInfo, Site

# So many accesses of single threads are kept at most: 64 MiB with their addresses and cells.
_KEPT = 1 << 22
# Of state for each cell, where all of it is needed: whether written, by whom, and the marks of one site.
CELL_BYTES = 1 + 4 + 24


class Hazards:
    """The hazards of one batch of blocks."""

    def __init__(
        self,
        sites: Sequence[Site],
        placed: Sequence[ArrayInfo],
        cells: Cells,
        blocks: int,
        threads: int,
        findings: Findings,
        in_global: GlobalRaces,
    ) -> None:
        """``threads`` is how many a block has."""
        self._sites = sites
        self._in_global = in_global
        self.fence, self.grid_barrier = in_global.fence, in_global.grid_barrier
        self._cells = cells
        self._blocks = blocks
        self._written = Written(cells, placed, threads, findings)
        self._races = Races(cells, placed, findings)
        self._pending: list[SharedAccess] = []
        self._kept = 0
        self._number = 0
        self._phase: Any = 0

    def add(self, site: int, addresses: Any, mask: Mask, stored: Value) -> None:
        """Note one execution of a shared site; ``stored`` is what a store stores."""
        self._number += 1
        self._kept += mask.count
        self._pending.append(
            SharedAccess(self._cells, self._number, self._sites[site], addresses, mask, stored, self._phase)
        )
        if self._kept > _KEPT:
            self._settle(unfinished=True)

    def syncwarp(self, mask: Mask, live: Mask) -> None:
        """Let threads pass a barrier of their warp."""
        self._in_global.syncwarp(mask)
        if mask.count == live.count:
            self._phase = self._phase + 1
        else:
            self._phase = self._phase + mask.lanes

    def barrier(self, mask: Mask, live: Mask) -> None:
        """Let the blocks of the threads of a mask pass a barrier."""
        self._in_global.barrier(mask)
        if mask.count != live.count:
            here, running = self._blocks_of(mask), self._blocks_of(live)
            if (running & ~here).any():
                self._settle(unfinished=True)
                self._races.pass_barrier(here)
                return
        self.end()

    def end(self) -> None:
        """Finish an interval, or the batch."""
        self._settle(unfinished=False)
        self._races.pass_barrier()
        self._phase = 0

    def _blocks_of(self, mask: Mask) -> NDArray[np.bool_]:
        return np.asarray(mask.lanes.reshape(self._blocks, -1).any(axis=1))

    def _settle(self, unfinished: bool) -> None:
        accesses, self._pending, self._kept = self._pending, [], 0
        self._written.check(accesses)
        self._races.check(accesses, isinstance(self._phase, np.ndarray) or self._phase > 0)
        if unfinished:
            self._races.keep(accesses)
