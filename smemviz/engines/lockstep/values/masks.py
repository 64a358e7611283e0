"""Which threads of a batch run, as masks over the thread axis; and values that only some have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.recordings.data import WARP_SIZE

Lanes = NDArray[np.bool_]


class Mask:
    """The active threads of a batch; ``lanes`` is (threads,) bool, one element per slot, padding slots off.

    ``full`` tells that every slot is on. ``parent`` is the mask this one was narrowed from, so that whether one
    mask lies within another is told without looking at the lanes.
    """

    __slots__ = ("_rows", "_slots", "count", "full", "lanes", "parent")

    def __init__(self, lanes: Lanes, count: int, parent: Mask | None = None) -> None:
        self.lanes = lanes
        self.count = count
        self.full = count == len(lanes)
        self.parent = parent
        self._rows: tuple[NDArray[np.intp], Lanes, Lanes] | None = None
        self._slots: NDArray[np.intp] | None = None

    @property
    def slots(self) -> NDArray[np.intp]:
        if self._slots is None:
            self._slots = np.flatnonzero(self.lanes)
        return self._slots

    @property
    def rows(self) -> tuple[NDArray[np.intp], Lanes, Lanes]:
        """The warps that have active threads, and which lanes of each, (warps, 32), are on and which are off."""
        if self._rows is None:
            lanes = self.lanes.reshape(-1, WARP_SIZE)
            (warps,) = np.nonzero(lanes.any(axis=1))
            on = lanes[warps]
            self._rows = warps, on, ~on
        return self._rows

    def narrow(self, test: NDArray[Any]) -> Mask:
        """Return the part of the mask where ``test`` (threads,) bool holds, the mask itself when that is all of it."""
        lanes = test if self.full else self.lanes & test
        count = int(np.count_nonzero(lanes))
        return self if count == self.count else Mask(lanes, count, self)

    def without(self, lanes: Lanes) -> Mask:
        """Return the part of the mask outside ``lanes``."""
        return self.narrow(~lanes)

    def rejoin(self, first: Mask, second: Mask) -> Mask:
        """Return the threads of two disjoint parts of this mask together."""
        count = first.count + second.count
        if count == self.count:
            return self
        if not second.count:
            return first
        if not first.count:
            return second
        return Mask(first.lanes | second.lanes, count, self)

    def within(self, other: Mask) -> bool:
        """Tell whether this mask came out of ``other`` by narrowing."""
        mask: Mask | None = self
        while mask is not None:
            if mask is other:
                return True
            mask = mask.parent
        return False

    def under(self, parent: Mask) -> Mask:
        """Return the same threads as a part of ``parent``, so that masks of a loop do not hang on each other."""
        return self if self is parent or self.parent is parent else Mask(self.lanes, self.count, parent)

    def common(self, other: Mask) -> Mask:
        """Return the innermost mask that both came out of."""
        mask: Mask = self
        while not other.within(mask):
            assert mask.parent is not None, "two masks of one batch have a root in common"
            mask = mask.parent
        return mask


class NothingHereError(TypeError):
    """An Optional is used in threads in which it is nothing."""


@dataclass(frozen=True)
class Optional:
    """``value`` in the threads of ``there``, ``None`` in the others."""

    value: Any
    there: Lanes

    def here(self, lanes: Lanes) -> Any:
        """Return the value where all of some threads have one."""
        return self.value if self.there[lanes].all() else self
