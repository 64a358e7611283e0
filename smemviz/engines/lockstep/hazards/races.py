"""Threads of a block that touch the same shared memory with nothing that orders them.

Two accesses of a cell by two threads race when at least one writes, not both are atomic, and no barrier lies between.
Threads of one warp are ordered by ``syncwarp`` too, but not by the order of instructions, as since compute capability
7.0 and as Compute Sanitizer's racecheck has it. Two stores of the same value do no harm and are no race. Which threads
had passed how many ``syncwarp`` is counted for each; masks that name part of a warp are not told apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.findings import Findings, Race, Who, loop_between, race_key
from smemviz.engines.lockstep.hazards.shared_accesses import Cells, SharedAccess
from smemviz.engines.lockstep.memory.shared import array_at, element_name
from smemviz.model.hardware.operations import effect_of
from smemviz.recordings.data import WARP_SIZE, ArrayInfo, Site

_NOBODY, _ATOMIC = -1, -2
_NOBODY_LOW, _NOBODY_HIGH = np.iinfo(np.int32).max, -1


class Races:
    """The races of a batch, interval by interval between barriers.

    An interval is looked at in one piece, or in several where it is long: what the earlier ones touched is kept as
    marks.
    """

    def __init__(self, cells: Cells, placed: Sequence[ArrayInfo], findings: Findings) -> None:
        self._cells = cells
        self._placed = placed
        self._findings = findings
        self._earlier: dict[Site, Marks] = {}
        self._owner: NDArray[np.int32] | None = None
        self._spare: Marks | None = None

    def check(self, accesses: Sequence[SharedAccess], phased: bool) -> None:
        """Find the races among site executions and with the earlier ones; ``phased`` tells of a ``syncwarp``."""
        if self._earlier:
            for site, marks in self._earlier.items():
                self._compare(site, marks, accesses, accesses, WARP_SIZE)
                if not phased:
                    self._compare(site, marks, accesses, accesses, 1)
        if not self._quiet(accesses):
            self._find(accesses, WARP_SIZE)
            for part in _by_phase(accesses) if phased else [accesses]:
                self._find(part, 1)

    def keep(self, accesses: Sequence[SharedAccess]) -> None:
        """Keep what site executions touched for the rest of the interval."""
        for access in accesses:
            if access.site not in self._earlier:
                self._earlier[access.site] = Marks(self._cells.count)
            self._earlier[access.site].add(access)

    def pass_barrier(self, blocks: NDArray[np.bool_] | None = None) -> None:
        """Begin the next interval, for some blocks or for all."""
        if blocks is None:
            self._earlier = {}
            return
        for marks in self._earlier.values():
            marks.forget_blocks(blocks)

    def _quiet(self, accesses: Sequence[SharedAccess]) -> bool:
        """Tell whether each cell that is written has one thread only, or nothing but atomics; in any order."""
        writing = [access for access in accesses if not access.loads]
        if all(not access.stores for access in writing) and (not writing or len(writing) == len(accesses)):
            return True
        if self._owner is None:
            self._owner = np.full(self._cells.count, _NOBODY, np.int32)
        owner = self._owner
        for access in writing:
            owner[access.cells] = access.threads if access.stores else _ATOMIC
        quiet = True
        for access in accesses:
            seen = owner.take(access.cells)
            fine = seen == (access.threads if access.loads or access.stores else _ATOMIC)
            if access.loads:
                fine |= seen == _NOBODY
            quiet = bool(fine.all())
            if not quiet:
                break
        for access in writing:
            owner[access.cells] = _NOBODY
        return quiet

    def _find(self, accesses: Sequence[SharedAccess], apart: int) -> None:
        """Compare each site that writes with all the others."""
        by_site: dict[Site, list[SharedAccess]] = {}
        for access in accesses:
            by_site.setdefault(access.site, []).append(access)
        if self._spare is None:
            self._spare = Marks(self._cells.count)
        for site, own in by_site.items():
            others = [other for other in by_site if self._is_open(site, other)]
            if own[0].loads or not others:
                continue
            for access in own:
                self._spare.add(access)
            self._compare(site, self._spare, [t for other in others for t in by_site[other]], accesses, apart)
            for access in own:
                self._spare.forget(access.cells)

    def _compare(
        self, site: Site, marks: Marks, others: Sequence[SharedAccess], accesses: Sequence[SharedAccess], apart: int
    ) -> None:
        """Hold the marks of a site against site executions; ``touches`` are where to look for who left a mark."""
        for access in others:
            if self._is_open(site, access.site):
                meeting = marks.meet(access, apart)
                if meeting is not None:
                    self._tell(site, access, *meeting, accesses)

    def _is_open(self, site: Site, other: Site) -> bool:
        """Tell whether two sites can race, and have not been found to."""
        effects = {effect_of(site.op), effect_of(other.op)}
        return effects not in ({"load"}, {"update"}) and race_key(site, other) not in self._findings

    def _tell(
        self, site: Site, access: SharedAccess, place: int, marker: int, accesses: Sequence[SharedAccess]
    ) -> None:
        cell, thread = int(access.cells[place]), int(access.threads[place])
        marked = (
            other.number
            for other in accesses
            if other.site is site and bool(((other.cells == cell) & (other.threads == marker)).any())
        )
        then, now = next(marked, None), access.number
        at_once = then == now
        mark_first = then is None or then < now or (at_once and marker < thread)
        pair = [(site, marker), (access.site, thread)]
        (early_site, early), (late_site, late) = pair if mark_first else pair[::-1]
        address = self._cells.address(cell)
        element = element_name(array_at(self._placed, access.site.array, address), address, self._findings.spelling)
        note_race(self._findings, element, (early_site, early), (late_site, late), at_once)


def note_race(
    findings: Findings,
    element: str,
    first_access: tuple[Site, int],
    second_access: tuple[Site, int],
    at_once: bool,
    *,
    blocks: bool = False,
    update: str = "",
) -> None:
    """Note a race for an element between two accesses, each by the thread in a slot of the batch.

    ``blocks`` and ``update`` are as a ``Race`` has them.
    """
    (first, early), (second, late) = first_access, second_access
    who, whom = (findings.who(slot, with_block=blocks) for slot in (early, late))
    race = Race(
        accesses_of(element, first, who, second, whom),
        first.line,
        second.line,
        one_place=(first.line, first.column) == (second.line, second.column),
        apart=early // WARP_SIZE != late // WARP_SIZE,
        at_once=at_once,
        loop=loop_between(findings.tree, first, second),
        spelling=findings.spelling,
        blocks=blocks,
        update=update,
        by_warp=findings.by_warp,
    )
    findings.add_race(race_key(first, second), race, np.array([early, late]))


def accesses_of(element: str, site: Site, first: Who, other_site: Site, second: Who) -> dict[str, Any]:
    """Return as facts which threads did what to an element, and where; of which blocks, where that is given."""
    return {"element": element, "first": _access(site, first), "second": _access(other_site, second)}


def _access(site: Site, who: Who) -> dict[str, Any]:
    thread, block = who
    access = {"did": str(effect_of(site.op)), "thread": thread, "line": site.line}
    return access if block is None else access | {"block": block}


def _by_phase(accesses: Sequence[SharedAccess]) -> Iterator[list[SharedAccess]]:
    """Give the parts of site executions that happened in each phase."""
    parts: dict[int, list[SharedAccess]] = {}
    for access in accesses:
        for phase in access.phases():
            part = access.within(phase)
            if part is not None:
                parts.setdefault(phase, []).append(part)
    yield from parts.values()


class Marks:
    """Which threads touched each cell from one site: the lowest and the highest, and for a store what they stored.

    Two are enough: any thread that is not the only one, or not in the only warp, finds another than itself among them.
    """

    def __init__(self, cells: int) -> None:
        self.low = np.full(cells, _NOBODY_LOW, np.int32)
        self.high = np.full(cells, _NOBODY_HIGH, np.int32)
        self._bits: tuple[NDArray[np.uint64], NDArray[np.uint64]] | None = None

    def add(self, access: SharedAccess) -> None:
        """Mark what a site execution touched; the first that a thread stored in a cell stays with it."""
        cells, threads = access.cells, access.threads
        lower = np.flatnonzero(threads < self.low.take(cells))
        higher = np.flatnonzero(threads > self.high.take(cells))
        lower = lower[::-1]  # the last of several that go to one cell stays, and threads ascend
        self.low[cells[lower]] = threads[lower]
        self.high[cells[higher]] = threads[higher]
        if access.stores:
            if self._bits is None:
                self._bits = np.zeros(len(self.low), np.uint64), np.zeros(len(self.low), np.uint64)
            self._bits[0][cells[lower]] = access.bits[lower]
            self._bits[1][cells[higher]] = access.bits[higher]

    def meet(self, access: SharedAccess, apart: int) -> tuple[int, int] | None:
        """Return the first place of an access that another thread marked, and that thread; None where there is none.

        Another is one whose slot divided by ``apart`` differs: 1 for any other thread, 32 for one of another warp. Of
        two stores only those of different values count.
        """
        cells, own = access.cells, access.threads // apart
        low, high = self.low.take(cells), self.high.take(cells)
        marked = high != _NOBODY_HIGH
        meets_low, meets_high = marked & (low // apart != own), marked & (high // apart != own)
        if access.stores and self._bits is not None:
            meets_low &= self._bits[0].take(cells) != access.bits
            meets_high &= self._bits[1].take(cells) != access.bits
        meets = meets_low | meets_high
        first = int(meets.argmax()) if len(meets) else 0
        if not meets[first]:
            return None
        return first, int(low[first] if meets_low[first] else high[first])

    def forget(self, cells: NDArray[np.int64]) -> None:
        self.low[cells] = _NOBODY_LOW
        self.high[cells] = _NOBODY_HIGH

    def forget_blocks(self, blocks: NDArray[np.bool_]) -> None:
        self.low.reshape(len(blocks), -1)[blocks] = _NOBODY_LOW
        self.high.reshape(len(blocks), -1)[blocks] = _NOBODY_HIGH
