"""What blocks of one launch tell each other: stores, a fence, an atomic here; there an atomic, then loads.

The atomics need not be of one element. The last two fences of each block are kept, so that a block that goes on to its
next message does not take back the one before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Messages:
    """The messages of a launch. All numbers are those of site executions in global memory."""

    def __init__(self, blocks: int) -> None:
        self._fence = np.zeros(blocks, np.int32)  # the last execution before the last fence
        # What the last two messages tell, and the atomic that sent them.
        self._tells, self._told_before = np.zeros(blocks, np.int32), np.zeros(blocks, np.int32)
        self._sent, self._sent_before = np.zeros(blocks, np.int32), np.zeros(blocks, np.int32)
        self._heard = np.zeros(blocks, np.int32)  # the last atomic that returned a value

    def fence(self, blocks: NDArray[np.intp], number: int) -> None:
        """Let blocks pass a fence after an execution."""
        self._fence[blocks] = number

    def update(self, blocks: NDArray[np.intp], number: int, *, returns: bool) -> None:
        """Note an atomic, which sends what was done before the last fence; one that returns a value hears others."""
        sending = blocks[self._fence[blocks] > self._tells[blocks]]
        self._told_before[sending], self._sent_before[sending] = self._tells[sending], self._sent[sending]
        self._tells[sending], self._sent[sending] = self._fence[sending], number
        if returns:
            self._heard[blocks] = number

    def heard_from(
        self, others: NDArray[np.int64], then: NDArray[np.int32], blocks: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Tell which blocks have heard from other blocks that these were done with executions ``then``."""
        heard = self._heard[blocks]
        last = (then <= self._tells[others]) & (self._sent[others] <= heard)
        before = (then <= self._told_before[others]) & (self._sent_before[others] <= heard)
        return np.asarray(last | before)
