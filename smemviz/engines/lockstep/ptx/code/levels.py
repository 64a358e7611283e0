"""The loops of a kernel's blocks, and the levels of them at which lanes that meet in lockstep may stay apart on a GPU.

A compiler brings lanes that part together where all their ways lead. Where only some lead, as to the last operand of
``a and b or c``, it may let those of each way go on by themselves; and where a loop is left for several places, those
of each round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from smemviz.engines.lockstep.ptx.code.blocks import Block


@dataclass(frozen=True, eq=False)
class Level:
    """The blocks of a kernel or of one loop, by their numbers; the loops within it are levels of their own.

    ``targets`` has for each block of the kernel those that it may go to; the kernel's end is one after the last.
    """

    blocks: range
    loops: tuple[Level, ...]
    targets: Sequence[tuple[int, ...]]

    @cached_property
    def parts(self) -> tuple[int | Level, ...]:
        """Its blocks and loops in their order."""
        parts: list[int | Level] = []
        at = self.blocks.start
        for loop in self.loops:
            parts += [*range(at, loop.blocks.start), loop]
            at = loop.blocks.stop
        return (*parts, *range(at, self.blocks.stop))

    @cached_property
    def ways_out(self) -> tuple[int, ...]:
        """The blocks elsewhere that its blocks may go to."""
        return tuple(sorted({to for block in self.blocks for to in self.targets[block] if to not in self.blocks}))

    @cached_property
    def parts_lanes(self) -> bool:
        """Tell whether lanes may stay apart here; what happens within its loops is not looked at."""
        if len(self.ways_out) > 1:
            return True
        place = {block: at for at, part in enumerate(self.parts) for block in blocks_of(part)}
        end = len(self.parts)
        before: list[set[int]] = [set() for _ in range(end + 1)]
        after: list[set[int]] = [set() for _ in range(end + 1)]
        for at, part in enumerate(self.parts):
            for way in part.ways_out if isinstance(part, Level) else self.targets[part]:
                to = place.get(way, end)
                to = to if to > at else end  # who goes round is at the end of the round
                before[to].add(at)
                after[at].add(to)
        parting = _dominators(before)
        meeting = [end - at for at in _dominators([{end - to for to in one} for one in after[::-1]])][::-1]
        for at in range(1, end):
            if len(before[at]) > 1:
                met = parting[at]
                while met < at:
                    met = meeting[met]
                if met != at:
                    return True
        return False

    def all(self) -> Iterator[Level]:
        """Give the level and those within it."""
        yield self
        for loop in self.loops:
            yield from loop.all()

    @property
    def is_entered_at_heads(self) -> bool:
        """Tell whether nothing goes into the middle of a loop."""
        return not any(
            to in loop.blocks[1:]
            for loop in self.loops
            for block, ways in enumerate(self.targets)
            if block not in loop.blocks
            for to in ways
        ) and all(loop.is_entered_at_heads for loop in self.loops)


def blocks_of(part: int | Level) -> range:
    """Return the blocks of a part of a level."""
    return part.blocks if isinstance(part, Level) else range(part, part + 1)


def levels_of(blocks: Sequence[Block]) -> Level:
    """Return the blocks of a kernel, which are in order, as levels."""
    targets = [block.successors for block in blocks]
    ends = {head: block for block, ways in enumerate(targets) for head in ways if head <= block}
    every = range(len(blocks))
    return Level(every, _loops(every, ends, targets), targets)


def _loops(blocks: range, ends: Mapping[int, int], targets: Sequence[tuple[int, ...]]) -> tuple[Level, ...]:
    """Return the outermost loops among some blocks; ``ends`` has the last block of each loop by its head."""
    loops: list[Level] = []
    for head in blocks:
        if head in ends and not (loops and head in loops[-1].blocks):
            within = range(head, ends[head] + 1)
            loops.append(Level(within, _loops(within[1:], ends, targets), targets))
    return tuple(loops)


def _dominators(before: Sequence[set[int]]) -> list[int]:
    """Return for each of some nodes, which are in order, the last that every way to it goes through."""
    last: list[int] = []
    for nodes in before:
        at = max(nodes, default=0)
        for node in nodes:
            other = node
            while at != other:
                at, other = (last[at], other) if at > other else (at, last[other])
        last.append(at)
    return last
