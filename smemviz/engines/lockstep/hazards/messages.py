"""What blocks, or threads of one block, tell each other: stores, a fence, an atomic here; there an atomic, then loads.

So a lock orders what its holders do. The atomics need not be of one element. The last two fences of each are kept, so
that who goes on to the next message does not take back the one before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Messages:
    """The messages between the blocks of a launch, or between its threads, by their numbers from 0.

    All other numbers are those of site executions in global memory.
    """

    def __init__(self, count: int) -> None:
        self._fence = np.zeros(count, np.int32)  # the last execution before the last fence
        # What the last two messages tell, and the atomic that sent them.
        self._tells, self._told_before = np.zeros(count, np.int32), np.zeros(count, np.int32)
        self._sent, self._sent_before = np.zeros(count, np.int32), np.zeros(count, np.int32)
        self._heard = np.zeros(count, np.int32)  # the last atomic that returned a value

    def fence(self, those: NDArray[np.intp], number: int) -> None:
        """Let some pass a fence after an execution."""
        self._fence[those] = number

    def update(self, those: NDArray[np.intp], number: int, *, returns: bool) -> None:
        """Note an atomic, which sends what was done before the last fence; one that returns a value hears others."""
        sending = those[self._fence[those] > self._tells[those]]
        self._told_before[sending], self._sent_before[sending] = self._tells[sending], self._sent[sending]
        self._tells[sending], self._sent[sending] = self._fence[sending], number
        if returns:
            self._heard[those] = number

    def heard_from(self, others: NDArray[Any], then: NDArray[np.int32], those: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell which have heard from others that these were done with executions ``then``."""
        heard = self._heard[those]
        last = (then <= self._tells[others]) & (self._sent[others] <= heard)
        before = (then <= self._told_before[others]) & (self._sent_before[others] <= heard)
        return np.asarray(last | before)
