"""What threads stored to shared memory with no fence of proxies since: tensor cores and the copy engine may miss it.

A fence by any thread of a block counts for all that was stored in it, so that what is found is a mistake for sure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Proxies:
    """The bytes of shared memory, (blocks, bytes), that were stored since the last fence of their block."""

    def __init__(self, blocks: int, start: int, nbytes: int) -> None:
        self._start = start
        self._stored = np.zeros((blocks, nbytes), np.bool_)

    def store(self, rows: NDArray[np.intp], addresses: NDArray[Any], size: int) -> None:
        """Note what threads of blocks stored, an address each."""
        at = addresses.astype(np.int64)[:, None] - self._start + np.arange(size)
        inside = (at >= 0) & (at < self._stored.shape[1])
        self._stored[np.broadcast_to(rows[:, None], at.shape)[inside], at[inside]] = True

    def fence(self, rows: NDArray[np.intp]) -> None:
        """Let all that blocks have stored be seen."""
        self._stored[rows] = False

    def copied(self, row: int, addresses: NDArray[np.int64]) -> None:
        """Note that the copy engine itself wrote bytes of a block."""
        self._stored[row, addresses - self._start] = False

    def first_unfenced(self, row: int, addresses: NDArray[np.int64]) -> int | None:
        """Return the first of some bytes of a block that no fence lets be seen, None where there is none."""
        missed = np.flatnonzero(self._stored[row, addresses - self._start])
        if not len(missed):
            return None
        self._stored[row] = False  # said once
        return int(addresses[missed[0]])
