"""The mistakes met in a launch, each noted once with its first block and some of its threads; and what ends a race.

Races with a place in common for a barrier are ended by one.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.launch_shape import Configuration
from smemviz.languages import PYTHON, Spelling
from smemviz.recordings.data import WARP_SIZE, Dim3, Site
from smemviz.recordings.findings import BENIGN_RACE, Facts, Finding

_ATOMICS = {ast.Add: "add", ast.Sub: "sub", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor"}


@dataclass(frozen=True)
class Race:
    """What two threads did, one after the other unless ``at_once``, and the lines where; ``accesses`` as facts.

    ``apart`` are threads of two warps. ``loop`` is the line of the loop in which the first did it in an earlier round
    than the second: a barrier at its end lies between them. None where it has to stand between the lines. ``blocks``
    are threads of two blocks. ``update`` is the atomic that does at once what both did by a load and a store.
    ``by_warp`` are lanes that a barrier of their warp would order in blocks of other sizes too.
    """

    accesses: Mapping[str, Any]
    first: int
    second: int
    one_place: bool
    apart: bool
    at_once: bool
    loop: int | None
    spelling: Spelling = PYTHON.spelling
    blocks: bool = False
    update: str = ""
    by_warp: bool = True

    def shares_place(self, other: Race) -> bool:
        """Whether one barrier can end both."""
        if self.loop is not None or other.loop is not None:
            return self.loop == other.loop
        return max(self.first, other.first) < min(self.second, other.second)

    def facts(self, *, with_others: bool = False) -> dict[str, Any]:
        """Return the facts of its finding: what was done, what does not order it, and what would.

        ``with_others`` have a race at the same place: a barrier of the warp would leave theirs.
        """
        spelling = self.spelling
        ending: dict[str, Any]
        of_warp = self.by_warp and not (self.apart or self.blocks or with_others)
        if self.update:
            ending = {"remedy": "update", "atomic": self.update}
        elif self.one_place or (self.at_once and not self.apart and not self.blocks):
            ending = {"remedy": "atomic", "atomic": spelling.atomic}
        elif self.blocks:
            ending = {"remedy": "launches", "fence": spelling.fence}
        else:
            barrier = spelling.warp_barrier if of_warp else spelling.barrier
            place = {"remedy": "barrier"} if self.loop is None else {"remedy": "loop", "line": self.loop}
            ending = {"barrier": barrier, **place}
        return {**self.accesses, "between": self._between, "word": spelling.warp_word, **ending}

    @property
    def _between(self) -> str:
        if self.update:
            return "load and store"
        if self.blocks:
            return "blocks"
        if self.apart:
            return "warps"
        if self.at_once:
            return "lanes at once"
        return "lanes" if self.by_warp else "warps"


def atomic_for(kernel: ast.FunctionDef | None, first: Site, second: Site, spelling: Spelling) -> str:
    """Return the atomic that does what a load and a store of one expression do, empty where they are none."""
    if first.op != "load" or second.op != "store" or first.source != second.source or first.line != second.line:
        return ""
    for node in ast.walk(kernel) if kernel is not None and not first.calls else ():
        here = isinstance(node, ast.AugAssign) and (node.lineno, node.col_offset) == (first.line, first.column)
        if here and isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
            name = _ATOMICS.get(type(node.op))
            index = ast.unparse(node.target.slice)
            index = f"({index})" if isinstance(node.target.slice, ast.Tuple) and index[:1] != "(" else index
            if name:
                return f"{spelling.atomic}.{name}({ast.unparse(node.target.value)}, {index}, {ast.unparse(node.value)})"
    return spelling.atomic


def loop_between(kernel: ast.FunctionDef | None, first: Site, second: Site) -> int | None:
    """Return the line of the innermost loop of a kernel that leads from a site back up to an earlier one.

    None without such a loop, in device functions, and where the kernel is not Python.
    """
    up = first.line > second.line or (first.line == second.line and first.op != "load" and second.op == "load")
    if kernel is None or not up or first.calls or second.calls:
        return None
    loops = [
        node.lineno
        for node in ast.walk(kernel)
        if isinstance(node, ast.For | ast.While)
        and node.body[0].lineno <= min(first.line, second.line)
        and max(first.line, second.line) <= (node.body[-1].end_lineno or 0)
    ]
    return max(loops, default=None)


def divergence(
    kernel: ast.FunctionDef | None, barrier: ast.expr, present: int, missing: int, *, waits: bool = False
) -> tuple[str, Facts]:
    """Return the kind of finding that a barrier is which ``missing`` threads of a block skip, and its facts.

    With ``waits`` others wait for them all the same: at a barrier of the grid the first thread counts for its block.
    """
    facts = {"code": ast.unparse(barrier), "present": present, "missing": missing}
    is_end = not waits and _skipped_to_the_end(kernel.body if kernel else (), barrier)
    return "barrier_skipped" if is_end else "barrier_divergence", facts


def _skipped_to_the_end(body: Sequence[ast.stmt], barrier: ast.expr) -> bool:
    """Tell whether a body ends for threads that skip a barrier: it is in the last ``if`` or loop of the body.

    In a loop the barrier may stand under no other condition and behind no ``continue``, after which its threads would
    go round again.
    """
    last = next(
        (
            statement
            for statement in reversed(body)
            if not (isinstance(statement, ast.Pass) or (isinstance(statement, ast.Return) and statement.value is None))
        ),
        None,
    )
    if not isinstance(last, ast.If | ast.For | ast.While) or last.orelse:
        return False
    if isinstance(last, ast.While) and any(part is barrier for part in ast.walk(last.test)):
        return True  # who does not come to it has left the loop
    if any((isinstance(statement, ast.Expr) and statement.value is barrier) for statement in last.body):
        return not any(isinstance(node, ast.Continue) for node in ast.walk(last))
    return isinstance(last, ast.If) and _skipped_to_the_end(last.body, barrier)


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
