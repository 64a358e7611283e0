"""Threads that touch the same global memory in one launch with nothing that orders them.

Threads of a block are ordered as in shared memory: by barriers, those of a warp by ``syncwarp`` too. Threads of two
blocks are ordered by nothing in a launch but a barrier of the grid. Besides, a block tells another, and a thread of a
block another, what it did: it stores, passes a fence, then updates with an atomic, and the other updates with one that
returns a value afterwards. Which element the two update is not asked. So the last block may add up what all have
stored, and who holds a lock may change what it guards. Updates among themselves are no race, and neither are stores of
the value that is there.

Only arrays that the launch writes are looked at.
"""

from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.findings import Findings, Race, atomic_for, place_of, race_key
from smemviz.engines.lockstep.hazards.races import accesses_of, note_race
from smemviz.engines.lockstep.hazards.shared_accesses import bits_of
from smemviz.engines.lockstep.hazards.watched import Threads, Watched
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.typing import Value
from smemviz.model.hardware.operations import Effect, effect_of
from smemviz.recordings.data import WARP_SIZE, Site
from smemviz.recordings.findings import BENIGN_RACE


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


_OTHERS: dict[Effect, tuple[Effect, ...]] = {
    "load": ("store", "update"),
    "store": ("store", "load", "update"),
    "update": ("store", "load"),
}


class GlobalRaces:
    """The races in global memory of a launch, batch by batch."""

    def __init__(
        self,
        sites: Sequence[Site],
        watched: Mapping[Any, Watched],
        blocks: int,
        slots_per_block: int,
        findings: Findings,
    ) -> None:
        """``watched`` are allocations by what an engine tells them by.

        ``blocks`` is how many the grid has, ``slots_per_block`` the threads of their warps.
        """
        self.watched = watched
        self._sites = sites
        self._grid_blocks = blocks
        self._slots = slots_per_block
        self._findings = findings
        self._executed = array("i", [0])  # the site of each execution, by its number
        self._grid_synced = 0
        self._ordered = False  # whether anything ordered threads
        self._messages: Messages | None = None
        self._between_threads: Messages | None = None  # of the batch

    @property
    def _number(self) -> int:
        return len(self._executed) - 1

    def begin(self, first_block: int, blocks: int) -> None:
        for watched in self.watched.values():
            watched.begin()
        self._first = first_block * self._slots
        self._threads = _numbers(self._first + 1, blocks * self._slots, self._grid_blocks * self._slots)
        # The number of the last execution before the barrier that each block, or each thread of a warp, passed last.
        self._synced = np.zeros(blocks, np.int32)
        self._warp_synced: NDArray[np.int32] | None = None
        self._between_threads = None

    def add(
        self, watched: Watched, number: int, addresses: Any, mask: Mask, stored: Value, *, strong: bool = False
    ) -> None:
        """Note one execution of a global site; ``stored`` is what a store is about to store.

        A ``strong`` load or store, a volatile one for instance, races as little as an atomic does.
        """
        site = self._sites[number]
        effect: Effect = "update" if strong else effect_of(site.op)
        self._executed.append(number)
        if effect == "update":
            self.exchange(mask, returns=effect_of(site.op) != "store" and not site.op.startswith("reduce"))
        if watched.repeats(effect, addresses, mask, site.width, self._number):
            return
        lanes = None if mask.full else mask.slots
        cells = watched.cells(addresses, lanes, len(self._threads), site.width)
        threads = self._threads if lanes is None else self._threads[lanes]
        if len(cells) > len(threads):
            threads = np.repeat(threads, len(cells) // len(threads))
        several = watched.take(effect, addresses, mask, site.width, cells, threads, self._number)
        if not len(several):
            return
        bits = None
        if effect == "store":
            bits = bits_of(stored, lanes, len(self._threads), watched.nbytes)[several]
        self.meet(watched, site, effect, cells[several], threads[several], bits, self._number)

    def syncwarp(self, mask: Mask) -> None:
        if self._warp_synced is None:
            self._warp_synced = np.zeros(len(self._threads), np.int32)
        self._ordered = True
        self._warp_synced[mask.lanes] = self._number

    def barrier(self, mask: Mask) -> None:
        self._ordered = True
        self._synced[self._blocks_of(mask) - self._first // self._slots] = self._number

    def grid_barrier(self) -> None:
        self._grid_synced = self._number
        self._ordered = True

    def exchange(self, mask: Mask, *, returns: bool) -> None:
        """Let threads update what others look at; one that ``returns`` a value hears them."""
        if self._messages is not None:
            self._messages.update(self._blocks_of(mask), self._number, returns=returns)
        if self._between_threads is not None:
            self._between_threads.update(np.flatnonzero(mask.lanes), self._number, returns=returns)

    def exchange_in_block(self, slots: NDArray[np.integer]) -> None:
        """Let threads update what others of their block look at, and hear them."""
        if self._between_threads is not None:
            self._between_threads.update(slots.astype(np.intp), self._number, returns=True)

    def fence(self, mask: Mask, *, of_block: bool = False) -> None:
        """Let threads pass a fence: what they did comes before what they do now, for all or for those of their block.

        What their block did before goes with it to other blocks.
        """
        self._ordered = True
        if self._between_threads is None:
            self._between_threads = Messages(len(self._threads))
        self._between_threads.fence(np.flatnonzero(mask.lanes), self._number)
        if not of_block:
            if self._messages is None:
                self._messages = Messages(self._grid_blocks)
            self._messages.fence(self._blocks_of(mask), self._number)

    def _blocks_of(self, mask: Mask) -> NDArray[np.intp]:
        """Return the blocks of the grid that have threads in a mask."""
        return np.flatnonzero(mask.lanes.reshape(len(self._synced), -1).any(axis=1)) + self._first // self._slots

    # -- several threads

    def meet(
        self,
        watched: Watched,
        site: Site,
        effect: Effect,
        cells: NDArray[np.int64],
        threads: Threads,
        bits: NDArray[Any] | None,
        number: int,
    ) -> None:
        """Hold what threads do to cells against what others did, and note it."""
        for earlier in _OTHERS[effect]:
            if earlier in watched.shared:
                self._compare(watched, site, cells, threads, earlier, bits if earlier == "store" else None)
        if bits is not None:
            self._compare_at_once(watched, site, cells, threads, bits)
            changed = cells[watched.contents.take(cells) != bits]
            watched.forget("load", changed)
            watched.forget("update", changed)
        elif self._ordered and effect in watched.shared:
            open_ = np.zeros(len(cells), np.bool_)
            for mark, by in watched.marks[effect]:
                then = by.take(cells)
                if not self._all_before(then):
                    open_ |= self._unordered(mark.take(cells), then, threads)
            watched.forget(effect, cells[~open_])
        watched.mark(effect, cells, threads, number)

    def _compare(
        self,
        watched: Watched,
        site: Site,
        cells: NDArray[np.int64],
        threads: Threads,
        effect: Effect,
        bits: NDArray[Any] | None,
    ) -> None:
        for mark, by in watched.marks[effect]:
            then = by.take(cells)
            if self._all_before(then):
                continue
            others = mark.take(cells)
            meets = (others != 0) & (others != threads)
            if bits is not None:
                same = watched.contents.take(cells) == bits
                apart = (others - 1) // WARP_SIZE != (threads - 1) // WARP_SIZE
                unharmed = meets & same & apart & self._unordered(others, then, threads)
                if unharmed.any():
                    at = int(unharmed.argmax())
                    earlier = self._sites[self._executed[then[at]]]
                    self._note_same(watched, int(cells[at]), (earlier, int(others[at])), (site, int(threads[at])))
                meets &= ~same
            elif effect == "store":
                meets[meets] = ~watched.stored_too(cells[meets], threads[meets], then[meets])
            elif effect == "load" and self._findings.spelling.repeats_work:
                meets[meets] = ~watched.loaded_too(cells[meets], threads[meets], then[meets])
            if not meets.any():
                continue
            known = self._known(site, then[meets])
            if all(known):
                continue
            if None not in known:  # there is only something to say of two blocks
                meets &= (others - 1) // self._slots != (threads - 1) // self._slots
                if not meets.any():
                    continue
            meets &= self._unordered(others, then, threads)
            if not meets.any():
                continue
            for place in self._worst_of_each(then, meets, others, threads):
                earlier = self._sites[self._executed[then[place]]]
                self._tell(watched, int(cells[place]), (earlier, int(others[place])), (site, int(threads[place])))

    def _note_same(
        self, watched: Watched, cell: int, first_access: tuple[Site, int], second_access: tuple[Site, int]
    ) -> None:
        """Note, once for a site, threads of two warps that store the same value."""
        (first, early), (second, late) = first_access, second_access
        key = BENIGN_RACE, place_of(second)
        if key in self._findings:
            return
        slots = np.array([early, late]) - 1 - self._first
        apart = int(slots[0]) // self._slots != int(slots[1]) // self._slots
        who, whom = (self._findings.who(int(slot), with_block=apart) for slot in slots)
        element = watched.element(cell, second.array, self._findings.spelling)
        self._findings.add(key, BENIGN_RACE, second.line, slots, accesses_of(element, first, who, second, whom))

    def _compare_at_once(
        self, watched: Watched, site: Site, cells: NDArray[np.int64], threads: Threads, bits: NDArray[Any]
    ) -> None:
        """Find threads that store in one cell by one execution of a site."""
        order = np.argsort(cells, kind="stable")
        cells, threads, bits = cells[order], threads[order], bits[order]
        together, differ = cells[1:] == cells[:-1], bits[1:] != bits[:-1]
        apart = (threads[1:] - 1) // WARP_SIZE != (threads[:-1] - 1) // WARP_SIZE
        tell_at_once = partial(self._tell, at_once=True)
        for places, tell in ((together & differ, tell_at_once), (together & apart & ~differ, self._note_same)):
            if places.any():
                first = int(places.argmax())
                tell(watched, int(cells[first]), (site, int(threads[first])), (site, int(threads[first + 1])))

    def _unordered(self, others: Threads, then: NDArray[np.int32], threads: Threads) -> NDArray[np.bool_]:
        """Tell which threads do something now that nothing orders after what others did by executions ``then``."""
        open_ = np.asarray((others != 0) & (others != threads) & (then > self._grid_synced))
        if not open_.any():
            return open_
        blocks, others_blocks = (threads - 1) // self._slots, (others - 1) // self._slots
        same = others_blocks == blocks
        here, apart = same & (then > self._synced[blocks - self._first // self._slots]), ~same
        if self._warp_synced is not None:
            in_warp = same & ((others - 1) // WARP_SIZE == (threads - 1) // WARP_SIZE)
            both = np.minimum(
                self._warp_synced[np.where(in_warp, others - 1 - self._first, 0)],
                self._warp_synced[threads - 1 - self._first],
            )
            here &= ~(in_warp & (then <= both))
        if self._between_threads is not None and here.any():
            near = np.where(same, others - 1 - self._first, 0)
            here &= ~self._between_threads.heard_from(near, then, threads - 1 - self._first)
        if self._messages is not None and apart.any():
            apart &= ~self._messages.heard_from(others_blocks, then, blocks)
        return np.asarray(open_ & (here | apart))

    def _all_before(self, then: NDArray[np.int32]) -> bool:
        """Tell whether what was done by executions ``then`` comes before all that is done now, whoever did it."""
        synced = self._synced[0] if self._grid_blocks == 1 else 0
        return bool(then.max() <= max(synced, self._grid_synced))

    def _known(self, site: Site, then: NDArray[np.int32]) -> list[bool | None]:
        """Tell of each race with sites of these executions whether all is said of it, None where nothing is."""
        races = (
            self._findings.race(race_key(self._sites[earlier], site)) for earlier in np.unique(self._sites_of(then))
        )
        return [None if race is None else _is_final(race) for race in races]

    def _sites_of(self, executions: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.frombuffer(self._executed, np.int32)[executions]

    def _worst_of_each(
        self, then: NDArray[np.int32], meets: NDArray[np.bool_], others: Threads, threads: Threads
    ) -> list[int]:
        """Return a place for each site that is met: between blocks if there is one, or between warps."""
        places = np.flatnonzero(meets)
        near = np.zeros(len(places), np.int8)
        for apart in (self._slots, WARP_SIZE):
            near += (others[places] - 1) // apart == (threads[places] - 1) // apart
        sites = self._sites_of(then[places])
        order = np.lexsort((near, sites))
        return [int(place) for place in places[order[np.unique(sites[order], return_index=True)[1]]]]

    def _tell(
        self,
        watched: Watched,
        cell: int,
        first_access: tuple[Site, int],
        second_access: tuple[Site, int],
        *,
        at_once: bool = False,
    ) -> None:
        (first, early), (second, late) = first_access, second_access
        findings = self._findings
        known = findings.race(race_key(first, second))
        slots = np.array([early, late]) - 1 - self._first
        apart = int(slots[0]) // self._slots != int(slots[1]) // self._slots
        # What a barrier would end between threads of a block is said of two blocks, where nothing does.
        if known and (_is_final(known) or not apart):
            return
        element = watched.element(cell, second.array, findings.spelling)
        update = atomic_for(findings.tree, first, second, findings.spelling)
        pair = (first, int(slots[0])), (second, int(slots[1]))
        note_race(findings, element, *pair, at_once, blocks=apart, update=update)


@lru_cache(maxsize=16)
def _numbers(first: int, count: int, most: int) -> Threads:
    """Return the numbers of so many threads from the first on, where ``most`` is the highest in the launch."""
    numbers = np.arange(first, first + count)
    return numbers.astype(np.int32) if most < np.iinfo(np.int32).max else numbers


def _is_final(race: Race) -> bool:
    """Tell whether a race is told of as it stays, whatever else is met at its two places."""
    return bool(race.blocks or race.one_place or race.update)
