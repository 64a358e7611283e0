"""What threads do to shared memory while they hold a lock: from the atomic that takes it to the one that releases it.

A lock is an element that a thread changes by ``cas`` or ``exch``, and after a fence once more. What is done between
the two is as little a race as updates are, with what others do while they hold one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.shared_accesses import SharedAccess
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.recordings.data import Site

_LOCKING = ("atomic_cas", "atomic_exch")
_NOWHERE = -1


class Sections:
    """Who is about to hold a lock of a batch of ``slots`` threads, and what was done with one held."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._guarded: dict[int, NDArray[np.bool_]] = {}  # lanes, by the number of a site execution
        self._sites: dict[Site, Site] = {}

    @cached_property
    def _lock(self) -> NDArray[np.int64]:
        """Where each thread changed a lock last."""
        return np.full(self._slots, _NOWHERE, np.int64)

    @cached_property
    def _since(self) -> NDArray[np.int64]:
        """The number of the site execution that did."""
        return np.zeros(self._slots, np.int64)

    @cached_property
    def _fenced(self) -> NDArray[np.bool_]:
        """Who passed a fence since."""
        return np.zeros(self._slots, np.bool_)

    def fence(self, mask: Mask) -> None:
        """Let threads pass a fence."""
        self._fenced[mask.lanes] = True

    def update(self, access: SharedAccess, pending: Sequence[SharedAccess]) -> None:
        """Note an update; where it releases a lock, ``pending`` has what was done since it was taken."""
        if access.site.op not in _LOCKING:
            return
        parts = access.site.width // access.where.nbytes
        lanes, cells = access.threads[::parts], access.cells[::parts]
        released = lanes[self._fenced[lanes] & (self._lock[lanes] == cells)]
        if len(released):
            self._guard(released, pending)
        self._lock[lanes], self._since[lanes], self._fenced[lanes] = cells, access.number, False
        self._lock[released] = _NOWHERE

    def _guard(self, released: NDArray[np.int32], pending: Sequence[SharedAccess]) -> None:
        first = int(self._since[released].min())
        for access in reversed(pending):
            if access.number <= first:
                break
            guarded = self._guarded.setdefault(access.number, np.zeros(self._slots, np.bool_))
            guarded[released[self._since[released] < access.number]] = True

    def apart(self, accesses: Sequence[SharedAccess]) -> list[SharedAccess]:
        """Return site executions with what was done with a lock held as updates."""
        if not self._guarded:
            return list(accesses)
        guarded, self._guarded = self._guarded, {}
        return [part for access in accesses for part in self._parts(access, guarded.get(access.number))]

    def _parts(self, access: SharedAccess, guarded: NDArray[np.bool_] | None) -> list[SharedAccess]:
        if guarded is None:
            return [access]
        site = self._sites.setdefault(access.site, replace(access.site, op="atomic_exch"))
        return [part for part in (access.of(~guarded, access.site), access.of(guarded, site)) if part is not None]
