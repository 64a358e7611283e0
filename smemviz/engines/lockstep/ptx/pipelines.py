"""Stages of shared memory that bulk copies fill: whether each was read before it is overwritten, and filled before.

Copies and ``wgmma`` are made at once here, and on a device later. So each warp has a clock: how far it knows every warp
of its cluster to have come, and how many copies into shared memory to be done, by the mbarrier that tells of them.
Barriers and mbarriers pass clocks on. What is touched is noted by 16 bytes, with the warp and its time; it is ordered
before what another warp does where that knows of this time.

What is found is a mistake for sure, but not every mistake is found: the lanes of a warp count as ordered, of several
warps that read the same bytes the last is remembered, and atomics order all that make them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.proxies import Proxies
from smemviz.recordings.data import WARP_SIZE

THREADS, PRODUCT, COPY = "threads", "wgmma", "cp.async.bulk"
_WHO = (THREADS, PRODUCT, COPY)
_GRANULE, _GROUP = 16, 4  # bytes; warps that run one wgmma
_WHO_BITS, _COLUMN_BITS = 2, 16
_NEVER = 1 << 40  # the time of what is not waited for yet
_MBARRIERS = 64  # of a block have a column each; further ones share these

Warps = NDArray[np.intp]  # their numbers in the batch


class Pipelines:
    """The stages of a batch of blocks, of a kernel with bulk copies or ``wgmma``."""

    def __init__(self, machine: Any, blocks: int, nbytes: int) -> None:
        """``machine`` is what runs, ``nbytes`` the shared memory of each of its blocks, a multiple of 16."""
        self._machine = machine
        self._start = machine.layout.start
        self.proxies = Proxies(blocks, self._start, nbytes)
        self._warps = machine.shape[1] // WARP_SIZE
        self._pitch = nbytes // _GRANULE
        together = machine.cluster_size > 1
        ranks = machine.ranks if together else np.zeros(blocks, np.intp)
        self._members = machine.cluster_rows if together else np.arange(blocks)[:, None]
        self._ranks = ranks
        self._own = (ranks[:, None] * self._warps + np.arange(self._warps)).reshape(-1)
        columns = machine.cluster_size * (self._warps + _MBARRIERS)
        self._clock = np.zeros((blocks * self._warps, columns), np.int64)
        self._tick(np.arange(blocks * self._warps))
        # Who touched each granule last, and when: copies into it, loads and stores of threads, and other reads.
        self._written, self._touched, self._read = (np.zeros(blocks * self._pitch, np.int64) for _ in range(3))
        self._copies: defaultdict[tuple[int, int], int] = defaultdict(int)
        self._told: defaultdict[Hashable, Any] = defaultdict(lambda: np.zeros(columns, np.int64))
        self._open: defaultdict[tuple[str, int], list[NDArray[np.int64]]] = defaultdict(list)
        self._groups: defaultdict[tuple[str, int], list[list[NDArray[np.int64]]]] = defaultdict(list)

    # -- what warps know of each other

    def _tick(self, warps: Warps) -> None:
        self._clock[warps, self._own[warps]] += 1

    def release(self, warps: Warps, to: Hashable) -> None:
        """Let warps tell how far they are to whoever acquires it from the same place."""
        np.maximum(self._told[to], self._clock[warps].max(axis=0), out=self._told[to])
        self._tick(warps)

    def acquire(self, warps: Warps, place: Hashable) -> None:
        self._clock[warps] = np.maximum(self._clock[warps], self._told[place])

    def arrive(self, slots: NDArray[np.intp], mbarriers: NDArray[np.int64], ends: NDArray[np.bool_]) -> None:
        """Let threads arrive at an mbarrier each, one after the other; where one ``ends`` a phase it does so then."""
        last = None
        for slot, number, ended in zip(slots.tolist(), mbarriers.tolist(), ends.tolist(), strict=False):
            if last != (slot // WARP_SIZE, number):
                last = slot // WARP_SIZE, number
                self.release(np.array([slot // WARP_SIZE]), ("arrived", number))
            if ended:
                self.complete(number)
                last = None

    def pass_phases(self, slots: NDArray[np.intp], mbarriers: NDArray[np.int64]) -> None:
        """Let threads go on that have seen a phase of an mbarrier each end."""
        for slot, number in set(zip((slots // WARP_SIZE).tolist(), mbarriers.tolist(), strict=True)):
            self.acquire(np.array([slot]), ("phase", number))

    def complete(self, mbarrier: int) -> None:
        """Let a phase of an mbarrier end: who waits for it knows what those knew who arrived."""
        self._told["phase", mbarrier] = self._told["arrived", mbarrier].copy()

    def exchange(self, slots: NDArray[np.intp]) -> None:
        """Order threads that make atomics, or loads and stores that others see at once, with all that did before."""
        warps = np.unique(slots // WARP_SIZE)
        for cluster in np.unique(self._members[warps // self._warps, 0]).tolist():
            own = warps[self._members[warps // self._warps, 0] == cluster]
            self.acquire(own, ("exchange", cluster))
            self.release(own, ("exchange", cluster))

    def arrive_at_barrier(self, slots: NDArray[np.intp], number: int) -> None:
        """Count threads at a barrier of their block that they do not wait at."""
        warps = np.unique(slots // WARP_SIZE)
        for row in np.unique(warps // self._warps).tolist():
            self.release(warps[warps // self._warps == row], (number, row))

    def barrier(self, lanes: NDArray[np.bool_], number: int, *, of_cluster: bool) -> None:
        """Let threads pass a barrier of their block together, with those that have only arrived at it."""
        here = np.asarray(lanes.reshape(-1, self._warps, WARP_SIZE).any(axis=2))
        clock = self._clock.reshape(*here.shape, -1)
        joined = np.where(here[:, :, None], clock, 0).max(axis=1)
        for row in np.flatnonzero(here.any(axis=1)).tolist():
            joined[row] = np.maximum(joined[row], self._told.pop((number, row), 0))
        if of_cluster:
            joined = joined[self._members].max(axis=1)
        clock[here] = np.broadcast_to(joined[:, None], clock.shape)[here]
        self._tick(np.flatnonzero(here))

    # -- what is done to shared memory

    def touch(self, site: int, at: Any, size: int, *, stores: bool) -> None:
        """Note what the active threads load or store: an address for each thread of the batch, of a block, or one."""
        slots = self._machine.threads
        at = np.resize(at, self._machine.count)[slots]
        warps = slots // WARP_SIZE
        if stores:
            self.proxies.store(warps // self._warps, at, size)
        cells = warps // self._warps * self._pitch + (at - self._start) // _GRANULE
        self._look(site, cells, warps, THREADS, stores=stores, marks=(self._read,) if stores else ())
        self._touched[cells] = self._key(warps, THREADS)

    def read(self, site: int | None, who: str, thread: int, at: NDArray[np.int64], *, in_group: bool = True) -> None:
        """Note that the tensor cores or the copy engine read bytes of a thread's block, until its group is waited for.

        What is in no group is taken as read at once.
        """
        row = thread // self._machine.shape[1]
        first = self.proxies.first_unfenced(row, at)
        if first is not None:
            self._machine.find_at(site, "missing_proxy_fence", first, reader=who)
        cells = self._cells(row, at)
        warps = np.full(len(cells), thread // WARP_SIZE)
        self._look(site, cells, warps, who)
        self._read[cells] = self._key(warps, who, _NEVER if in_group else None)
        if in_group:
            self._open[who, thread // WARP_SIZE].append(cells)

    def copied(self, site: int | None, thread: int, row: int, at: NDArray[np.int64], mbarrier: int) -> None:
        """Note that a thread has bytes of a block overwritten by a copy that an mbarrier tells of."""
        self.proxies.copied(row, at)
        cells = self._cells(row, at)
        warps = np.full(len(cells), thread // WARP_SIZE)
        self._look(site, cells, warps, COPY, stores=True, marks=(self._read, self._touched))
        self._touched[cells] = self._read[cells] = 0
        its_row, number = divmod(mbarrier, 2 * self._pitch)
        column = self._machine.cluster_size * self._warps + int(self._ranks[its_row]) * _MBARRIERS
        column += number % _MBARRIERS
        counted = int(self._members[its_row, 0]), column
        self._copies[counted] += 1
        self._told["arrived", mbarrier][column] = self._copies[counted]
        self._written[cells] = self._copies[counted] << (_COLUMN_BITS + _WHO_BITS) | column << _WHO_BITS

    def commit(self, who: str, threads: NDArray[np.intp]) -> None:
        """Make a group of what warps have had read since the last one."""
        for warp in self._readers(who, threads):
            self._groups[who, warp].append(self._open.pop((who, warp), []))

    def wait(self, who: str, threads: NDArray[np.intp], most: int) -> None:
        """Let warps wait until no more than so many of their groups are not done."""
        for warp in self._readers(who, threads):
            warps = np.arange(warp, warp + _GROUP if who == PRODUCT else warp + 1)
            groups = self._groups[who, warp]
            pending, now = (self._key(warps[:1], who, time) for time in (_NEVER, None))
            while len(groups) > most:
                for cells in groups.pop(0):
                    self._read[cells[self._read[cells] == pending]] = now
            self._clock[warps] = self._clock[warps].max(axis=0)
            self._tick(warps)

    def _readers(self, who: str, threads: NDArray[np.intp]) -> list[int]:
        """Return the warps that reads are noted of: of those that run a ``wgmma``, the first."""
        warps = threads // WARP_SIZE
        if who == PRODUCT:
            warps = warps - warps % self._warps % _GROUP
        return [int(warp) for warp in np.unique(warps)]

    def _cells(self, row: int, at: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.unique((at - self._start) // _GRANULE) + row * self._pitch

    def _key(self, warps: Warps, who: str, time: int | None = None) -> NDArray[np.int64]:
        own = self._own[warps]
        times = self._clock[warps, own] if time is None else time
        return np.asarray((times << _COLUMN_BITS | own) << _WHO_BITS | _WHO.index(who))

    def _look(
        self, site: int | None, cells: Any, warps: Warps, who: str, *, stores: bool = False, marks: Any = ()
    ) -> None:
        """Find what is read or overwritten while it is written, and what is overwritten while it may yet be read."""
        for mark in (self._written, *marks):
            keys = mark[cells]
            unknown = keys >> (_COLUMN_BITS + _WHO_BITS) > self._clock[warps, keys >> _WHO_BITS & 0xFFFF]
            if not unknown.any():
                continue
            place = int(unknown.argmax())
            address = int(cells[place]) % self._pitch * _GRANULE + self._start
            if not stores:
                self._machine.find_at(site, "early_read", address, reader=who)
                return
            key = int(keys[place])
            reader = "" if mark is self._written else _WHO[key & 3]
            unfinished = not reader or key >> (_COLUMN_BITS + _WHO_BITS) >= _NEVER
            self._machine.find_at(site, "early_overwrite", address, writer=who, reader=reader, unfinished=unfinished)
            return
