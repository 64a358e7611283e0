"""Loops that never end: a launch that comes to a state it was in before goes round in circles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.machine import Machine

FIRST_STEP = 256  # loops that are no longer are not looked at
_MOST_LOOKS = 256  # after each state that is kept


class Cycle:
    """Keeps the state of a batch ever more rarely, 256 steps from its start, 512 and so on, to compare later ones."""

    def __init__(self, machine: Machine, start: int) -> None:
        self._machine = machine
        self._start = start
        self._after = FIRST_STEP
        self._block = -1
        self._looks = 0
        self._state: tuple[Any, ...] = ()
        self._values: list[Any] = []
        self._states: set[tuple[int, bytes]] = set()

    def closes(self, step: int, block: int, lanes: NDArray[np.intp] | None, positions: NDArray[np.int32]) -> bool:
        """Tell whether all is as it was when a step began before: those that run, who is where, and every value."""
        m = self._machine
        if block == self._block and self._looks and self._state[0] == m.changes:
            self._looks -= 1
            return self._is_as_then(lanes, positions)
        if step - self._start >= self._after:
            self._after *= 2
            self._block, self._looks = block, _MOST_LOOKS
            self._state = (m.changes, lanes, positions.copy(), m.local_views[1].copy())
            self._values = [value.copy() for value in m.values]
        return False

    def repeats(self, positions: NDArray[np.int32]) -> bool:
        """Tell whether threads were at the same places with the same memory when a circle was closed before.

        Those that go in circles let others go first; where that has changed nothing, no thread can go on.
        """
        state = self._machine.changes, positions.tobytes()
        known = state in self._states
        self._states.add(state)
        return known

    def _is_as_then(self, lanes: NDArray[np.intp] | None, positions: NDArray[np.int32]) -> bool:
        _, lanes_then, positions_then, local = self._state
        if not (_same(lanes, lanes_then) and np.array_equal(positions, positions_then)):
            return False
        pairs = zip(self._machine.values, self._values, strict=True)
        return all(_same(now, then) for now, then in pairs) and np.array_equal(self._machine.local_views[1], local)


def _same(left: Any, right: Any) -> bool:
    """Tell whether two values are the same to the bit; one that is not a number is itself."""
    if left is None or right is None:
        return left is right
    return bool(left.shape == right.shape and left.tobytes() == right.tobytes())
