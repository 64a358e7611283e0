"""The mistakes met in a launch, each noted once with its first block and some of its threads."""

from __future__ import annotations

import ast
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.host import Configuration
from smemviz.engines.lockstep.hazards.remedies import Race
from smemviz.languages import PYTHON, Spelling
from smemviz.recordings.data import WARP_SIZE, Dim3, Site
from smemviz.recordings.findings import BENIGN_RACE, Facts, Finding

_THREADS_NAMED = 8

Place = tuple[str, int, int]  # a function, a line and a column of it
RaceKey = tuple[str, frozenset[Place]]
Who = tuple[Dim3, Dim3 | None]  # a thread, and its block where that matters


class Findings:
    """What a launch has done wrong so far; ``first_block`` is the linear index of the first block of the batch."""

    def __init__(
        self,
        kernel: str,
        configuration: Configuration,
        launch: int,
        spelling: Spelling = PYTHON.spelling,
        tree: ast.FunctionDef | None = None,
        *,
        uses_warps: bool = True,
    ) -> None:
        """``launch`` is the number of the launch in its recording; ``tree`` is the kernel's, where it is Python.

        Of a kernel that does not itself use warps, a block of one may be larger tomorrow: ``by_warp`` is whether lanes
        can be told to wait for their warp alone.
        """
        self.kernel = kernel
        self.spelling = spelling
        self.tree = tree
        self._launch = launch
        self._grid, self._block = configuration.grid, configuration.block
        x, y, z = configuration.block
        self._slots_per_block = -(-x * y * z // WARP_SIZE) * WARP_SIZE
        self.by_warp = uses_warps or self._slots_per_block > WARP_SIZE
        self._findings: dict[Any, Finding] = {}
        self._races: dict[RaceKey, Race] = {}
        self.first_block = 0

    def __contains__(self, key: Hashable) -> bool:
        return key in self._findings

    def all(self) -> tuple[Finding, ...]:
        """Return the findings in the order they were met; a race says what ends it together with the others.

        Where there is a race, a benign one is not worth a word.
        """
        racing = {place for _, places in self._races for place in places}
        apart = [race for race in self._races.values() if race.apart and not race.blocks]
        for key, race in self._races.items():
            others = any(race.shares_place(other) for other in apart)
            if others:
                self._findings[key] = self._findings[key].with_facts(**race.facts(with_others=True))
        return tuple(
            finding for key, finding in self._findings.items() if finding.kind != BENIGN_RACE or key[1] not in racing
        )

    def thread(self, slot: int) -> Dim3:
        """Return ``threadIdx`` of a slot of the batch."""
        return coordinates(slot % self._slots_per_block, self._block)

    def who(self, slot: int, *, with_block: bool = False) -> Who:
        """Return the thread of a slot, and its block if asked for."""
        block = coordinates(self.first_block + slot // self._slots_per_block, self._grid) if with_block else None
        return self.thread(slot), block

    def race(self, key: RaceKey) -> Race | None:
        """Return a race that was noted."""
        return self._races.get(key)

    def add_race(self, key: RaceKey, race: Race, slots: NDArray[np.integer]) -> None:
        """Note a race; one known by its key is replaced."""
        self._findings.pop(key, None)
        self.add(key, "race", race.second, slots, race.facts())
        self._races[key] = race

    def add(self, key: Hashable, kind: str, line: int, slots: NDArray[np.integer], facts: Facts) -> None:
        """Note a mistake unless its key is known, with the block of the first slot and up to eight of its threads."""
        if key in self._findings:
            return
        row = int(slots[0]) // self._slots_per_block
        inside = slots[slots // self._slots_per_block == row][:_THREADS_NAMED]
        block = coordinates(self.first_block + row, self._grid)
        threads = tuple(self.thread(int(slot)) for slot in inside)
        self._findings[key] = Finding.of(
            kind, self.kernel, line, facts, block=block, threads=threads, launch=self._launch
        )


def place_of(site: Site) -> Place:
    """Return where a site stands."""
    return site.function, site.line, site.column


def race_key(site: Site, other: Site) -> RaceKey:
    """Return what a race between two sites is known by."""
    return "race", frozenset((place_of(site), place_of(other)))


def coordinates(linear: int, sizes: Dim3) -> Dim3:
    """Return the coordinates of a linear index, x fastest."""
    x, y, _ = sizes
    return linear % x, linear // x % y, linear // (x * y)
