"""Clusters of blocks: who is in one, and accesses of threads to the shared memory of another block of theirs.

An address of shared memory that ``mapa`` makes names a block by one more than its rank, from bit 24 on; without that it
is one of the thread's own block.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.code.module import UNSIGNED, Value
from smemviz.engines.lockstep.ptx.memory import LOCAL_WINDOW, SHARED_WINDOW
from smemviz.recordings.data import Dim3

RANK_BIT = 24
OWN_BITS = (1 << RANK_BIT) - 1


def rows_of_clusters(grid: Dim3, cluster: Dim3) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each block of a grid the blocks of its cluster, in order of their rank, and its own rank."""
    numbers = np.arange(grid[0] * grid[1] * grid[2])
    at = np.stack([numbers % grid[0], numbers // grid[0] % grid[1], numbers // (grid[0] * grid[1])])
    sizes = np.array(cluster)[:, None]
    inner = at % sizes
    members = np.arange(cluster[0] * cluster[1] * cluster[2])
    steps = np.stack([members % cluster[0], members // cluster[0] % cluster[1], members // (cluster[0] * cluster[1])])
    x, y, z = (at - inner)[:, :, None] + steps[:, None, :]
    return x + grid[0] * (y + grid[1] * z), inner[0] + cluster[0] * (inner[1] + cluster[1] * inner[2])


def is_far(space: str, at: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which addresses name a block by its rank."""
    if space == "generic":
        in_window = (at >= SHARED_WINDOW) & (at < LOCAL_WINDOW)
        return np.asarray(in_window & ((at - SHARED_WINDOW) >> RANK_BIT > 0))
    return np.asarray(at >> RANK_BIT > 0)


class Far:
    """The elements of other blocks that the active threads access with one instruction; those outside are left out."""

    def __init__(self, m: Any, site: int | None, space: str, at: NDArray[np.int64], count: int, width: int) -> None:
        """``m`` is the machine; ``count`` elements of ``width`` bytes are accessed from each address on."""
        inner = at - (SHARED_WINDOW if space == "generic" else 0)
        rank, address = (inner >> RANK_BIT) - 1, inner & OWN_BITS
        inside = (rank < m.cluster_size) & m.inside("shared", address, count * width)
        with m.only(np.flatnonzero(~inside)) as some:
            if some:
                m.out_of_bounds(site, "shared", address[~inside])
        uneven = address % min(16, count * width) != 0
        if uneven.any():
            m.stop_misaligned(site, "shared", address[uneven], count * width)
        self.lanes = np.flatnonzero(inside)
        self._m, self._address, self._size = m, address[inside], count * width
        self.rows = m.cluster_rows[m.threads[inside] // m.shape[1], rank[inside]]
        self.elements = m.shared_views[width].reshape(-1)
        self.numbers = self.rows * m.shared_views[width].shape[1] + (self._address - m.layout.start) // width
        with m.only(self.lanes) as some:
            if some:
                m.request(site, "cluster", self._address, count * width)

    def load(self, count: int) -> list[Value]:
        values: list[Any] = [np.zeros(self._m.active, UNSIGNED[self.elements.itemsize]) for _ in range(count)]
        for number, value in enumerate(values):
            value[self.lanes] = self.elements[self.numbers + number]
        return values

    def store(self, values: list[Any]) -> None:
        for number, value in enumerate(values):
            self.elements[self.numbers + number] = value[self.lanes]
        self.wrote()

    def wrote(self) -> None:
        """Note that the elements are written now."""
        self._m.changes += 1
        for row, address in zip(self.rows.tolist(), self._address.tolist(), strict=True):
            self._m.hazards.written(row, address, self._size)
