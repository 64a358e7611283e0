"""Threads of a block that touch the same shared memory with nothing that orders them.

Two accesses of a cell by two threads race when at least one writes, not both are atomic, and no barrier lies between.
Threads of one warp are ordered by ``syncwarp`` too, but not by the order of instructions, as since compute capability
7.0 and as Compute Sanitizer's racecheck has it. Two stores of the same value do no harm and are no race. Which threads
had passed how many ``syncwarp`` is counted for each; masks that name part of a warp are not told apart.

Races between blocks in global memory are not looked for.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.findings import Findings
from smemviz.engines.lockstep.marks import Marks
from smemviz.engines.lockstep.shared import array_at, element_name
from smemviz.engines.lockstep.touches import Cells, Touch
from smemviz.recording import WARP_SIZE, ArrayInfo, Site

_NOBODY, _ATOMIC = -1, -2


class Races:
    """The races of a batch, interval by interval between barriers.

    An interval is looked at in one piece, or in several where it is long: what the earlier ones touched is carried as
    marks.
    """

    def __init__(self, cells: Cells, placed: Sequence[ArrayInfo], findings: Findings) -> None:
        self._cells = cells
        self._placed = placed
        self._findings = findings
        self._carried: dict[Site, Marks] = {}
        self._owner: NDArray[np.int32] | None = None
        self._spare: Marks | None = None

    def check(self, touches: Sequence[Touch], phased: bool) -> None:
        """Find the races among site executions and with those carried; ``phased`` tells of a ``syncwarp``."""
        if self._carried:
            for site, marks in self._carried.items():
                self._compare(site, marks, touches, touches, WARP_SIZE)
                if not phased:
                    self._compare(site, marks, touches, touches, 1)
        if not self._quiet(touches):
            self._find(touches, WARP_SIZE)
            for part in _by_phase(touches) if phased else [touches]:
                self._find(part, 1)

    def carry(self, touches: Sequence[Touch]) -> None:
        """Keep what site executions touched for the rest of the interval."""
        for touch in touches:
            if touch.site not in self._carried:
                self._carried[touch.site] = Marks(self._cells.count)
            self._carried[touch.site].add(touch)

    def pass_barrier(self, blocks: NDArray[np.bool_] | None = None) -> None:
        """Begin the next interval, for some blocks or for all."""
        if blocks is None:
            self._carried = {}
            return
        for marks in self._carried.values():
            marks.forget_blocks(blocks)

    def _quiet(self, touches: Sequence[Touch]) -> bool:
        """Tell whether each cell that is written has one thread only, or nothing but atomics; in any order."""
        writing = [touch for touch in touches if not touch.loads]
        if all(not touch.stores for touch in writing) and (not writing or len(writing) == len(touches)):
            return True
        if self._owner is None:
            self._owner = np.full(self._cells.count, _NOBODY, np.int32)
        owner = self._owner
        for touch in writing:
            owner[touch.cells] = touch.threads if touch.stores else _ATOMIC
        quiet = True
        for touch in touches:
            seen = owner.take(touch.cells)
            fine = seen == (touch.threads if touch.loads or touch.stores else _ATOMIC)
            if touch.loads:
                fine |= seen == _NOBODY
            quiet = bool(fine.all())
            if not quiet:
                break
        for touch in writing:
            owner[touch.cells] = _NOBODY
        return quiet

    def _find(self, touches: Sequence[Touch], apart: int) -> None:
        """Compare each site that writes with all the others."""
        by_site: dict[Site, list[Touch]] = {}
        for touch in touches:
            by_site.setdefault(touch.site, []).append(touch)
        if self._spare is None:
            self._spare = Marks(self._cells.count)
        for site, own in by_site.items():
            others = [other for other in by_site if self._is_open(site, other)]
            if own[0].loads or not others:
                continue
            for touch in own:
                self._spare.add(touch)
            self._compare(site, self._spare, [t for other in others for t in by_site[other]], touches, apart)
            for touch in own:
                self._spare.forget(touch.cells)

    def _compare(self, site: Site, marks: Marks, others: Sequence[Touch], touches: Sequence[Touch], apart: int) -> None:
        """Hold the marks of a site against site executions; ``touches`` are where to look for who left a mark."""
        for touch in others:
            if self._is_open(site, touch.site):
                met = marks.meet(touch, apart)
                if met is not None:
                    self._tell(site, touch, *met, touches)

    def _is_open(self, one: Site, other: Site) -> bool:
        """Tell whether two sites can race, and have not been found to."""
        if {one.op, other.op} == {"load"} or not {one.op, other.op} & {"load", "store"}:
            return False
        return _key(one, other) not in self._findings

    def _tell(self, site: Site, touch: Touch, place: int, marker: int, touches: Sequence[Touch]) -> None:
        cell, thread = int(touch.cells[place]), int(touch.threads[place])
        mark = next((t for t in touches if t.site is site and _has(t, cell, marker)), None)
        at_once = mark is not None and mark.number == touch.number
        mark_first = mark is None or mark.number < touch.number or (at_once and marker < thread)
        pair = [(site, marker), (touch.site, thread)]
        (one, first), (two, second) = pair if mark_first else pair[::-1]
        address = self._cells.address(cell)
        element = element_name(array_at(self._placed, touch.site.array, address), address)
        who = _who(one, self._findings.thread(first), two, self._findings.thread(second))
        if first // WARP_SIZE != second // WARP_SIZE:
            why, cure = " with no barrier between", "Put cuda.syncthreads() between them."
        elif at_once:
            why = " in one request with different values"
        else:
            why, cure = ", both of one warp, with no syncwarp between", "Put cuda.syncwarp() between them."
        if (one.line, one.column) == (two.line, two.column):
            cure = "Let one thread do it, or use cuda.atomic."
        slots = np.array([first, second])
        self._findings.add(_key(one, two), "race", two.line, slots, f"{element} is {who}{why}. {cure}")


def _key(one: Site, other: Site) -> Hashable:
    places = frozenset((site.function, site.line, site.column) for site in (one, other))
    return "race", places


def _has(touch: Touch, cell: int, thread: int) -> bool:
    return bool(((touch.cells == cell) & (touch.threads == thread)).any())


def _who(one: Site, first: tuple[int, ...], two: Site, second: tuple[int, ...]) -> str:
    did, does = ({"load": "loaded", "store": "stored"}.get(op, "updated") for op in (one.op, two.op))
    if (did, one.line) == (does, two.line):
        return f"{did} by threads {first} and {second} at line {one.line}"
    return f"{did} by thread {first} at line {one.line} and {does} by thread {second} at line {two.line}"


def _by_phase(touches: Sequence[Touch]) -> Iterator[list[Touch]]:
    """Give the parts of site executions that happened in each phase."""
    parts: dict[int, list[Touch]] = {}
    for touch in touches:
        for phase in touch.phases():
            part = touch.within(phase)
            if part is not None:
                parts.setdefault(phase, []).append(part)
    yield from parts.values()
