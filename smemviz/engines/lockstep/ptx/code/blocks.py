"""Basic blocks, in an order in which threads that part meet again at the latest where all their ways lead.

Of all threads that can run, those at the lowest block go first. In this order a block comes after every block that
leads to it without going round a loop, and the blocks of a loop stand together, so that threads that leave a branch or
a loop early wait for the others at its immediate post-dominator. Where threads may go back to the head of a loop while
others are still further on in it, they do so by way of an empty block at its end, and wait there.

At some levels of the loops lanes that meet in lockstep may stay apart on a GPU. A compiler brings lanes that part
together where all their ways lead. Where only some lead, as to the last operand of ``a and b or c``, it may let those
of each way go on by themselves; and where a loop is left for several places, those of each round.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from smemviz.engines.lockstep.ptx.code.flatten import Flat
from smemviz.engines.lockstep.ptx.code.module import Instruction, Place, PtxError, Symbol

_ENDS = ("bra", "brx", "ret", "exit", "bar", "barrier", "trap")


@dataclass(frozen=True)
class Block:
    """Instructions that run one after the other; ``end`` is the last where it chooses what comes next.

    ``following`` is the number of the block that comes next in the text, ``targets`` those that the end may go to.
    """

    body: tuple[Instruction, ...]
    end: Instruction | None
    following: int
    targets: tuple[int, ...]

    @property
    def place(self) -> Place:
        """Where its first instruction is in the source."""
        everything = (*self.body, *((self.end,) if self.end else ()))
        return everything[0].place if everything else Place()

    @property
    def successors(self) -> tuple[int, ...]:
        """The blocks that may run next."""
        end = self.end
        if end is None or end.opcode in ("bar", "barrier"):
            return (self.following,)
        if end.guard is None:
            return self.targets
        return (*self.targets, self.following)


def find_blocks(flat: Flat) -> list[Block]:
    """Return the blocks in order; the number after the last one means that a thread has ended.

    Raises:
        PtxError: for a branch to where there is no label.
    """
    ranges = block_ranges(flat)
    number = {range_.start: index for index, range_ in enumerate(ranges)}
    labels = {label: number.get(at, len(ranges)) for label, at in flat.labels.items()}
    blocks = []
    for index, range_ in enumerate(ranges):
        part = flat.body[range_.start : range_.stop]
        end = part[-1] if part[-1].opcode in _ENDS else None
        targets = _targets(end, labels, flat.tables, len(ranges)) if end else ()
        blocks.append(Block(tuple(part[:-1] if end else part), end, index + 1, targets))
    return _renumbered(blocks)


def block_ranges(flat: Flat) -> list[range]:
    """Return the numbers of the instructions of each block, in the order of the text."""
    body = flat.body
    starts = {0, *flat.labels.values(), *(at + 1 for at, instruction in enumerate(body) if instruction.opcode in _ENDS)}
    cuts = sorted(start for start in starts if start < len(body))
    return [range(start, stop) for start, stop in zip(cuts, [*cuts[1:], len(body)], strict=True)]


def _targets(
    end: Instruction, labels: Mapping[str, int], tables: Mapping[str, Sequence[str]], last: int
) -> tuple[int, ...]:
    if end.opcode not in ("bra", "brx"):
        return (last,)
    target = end.operands[-1] if end.operands else None
    if isinstance(target, Symbol):
        names = tables.get(target.name, (target.name,))
        if all(name in labels for name in names):
            return tuple(labels[name] for name in names)
    raise PtxError(f"{end.text} goes nowhere", end.place)


def _renumbered(blocks: list[Block]) -> list[Block]:
    """Return the blocks in order, and among them the empty ones by which threads go back."""
    order = _Order({i: block.successors for i, block in enumerate(blocks)})
    number = {old: new for new, old in enumerate(order.order)} | {len(blocks): len(order.order)}

    def at(old: int, target: int) -> int:
        return number[order.back.get((old, target), target)]

    return [
        Block(
            blocks[old].body,
            blocks[old].end,
            at(old, blocks[old].following),
            tuple(at(old, target) for target in blocks[old].targets),
        )
        if old >= 0
        else Block((), None, number[~old], ())
        for old in order.order
    ]


class _Order:
    """Nodes so that each comes after those that lead to it, the nodes of each loop together, its head first.

    ``~head`` stands for the way back to a head at the end of its loop, and ``back`` has the edges that take it.
    """

    def __init__(self, successors: Mapping[int, Collection[int]]) -> None:
        self.back: dict[tuple[int, int], int] = {}
        self.order = list(self._ordered(range(len(successors)), successors))

    def _ordered(self, nodes: Collection[int], successors: Mapping[int, Collection[int]]) -> Iterator[int]:
        inside = set(nodes)
        edges = {node: [next_ for next_ in successors[node] if next_ in inside] for node in nodes}
        loops = _strongly_connected(edges)
        of = {node: index for index, loop in enumerate(loops) for node in loop}
        entering = dict.fromkeys(range(len(loops)), 0)
        out: dict[int, list[int]] = {index: [] for index in range(len(loops))}
        for node, nexts in edges.items():
            for next_ in nexts:
                if of[node] != of[next_]:
                    entering[of[next_]] += 1
                    out[of[node]].append(of[next_])
        ready = [(min(loops[index]), index) for index, count in entering.items() if count == 0]
        heapq.heapify(ready)
        while ready:
            _, index = heapq.heappop(ready)
            yield from self._loop(loops[index], edges)
            for next_ in out[index]:
                entering[next_] -= 1
                if entering[next_] == 0:
                    heapq.heappush(ready, (min(loops[next_]), next_))

    def _loop(self, loop: list[int], edges: Mapping[int, Collection[int]]) -> Iterator[int]:
        head = min(loop)
        yield head
        if len(loop) == 1:
            return
        inner = {node: [n for n in edges[node] if n != head] for node in loop if node != head}
        order = list(self._ordered(sorted(inner), inner))
        yield from order
        ends = [node for node in loop if head in edges[node]]
        if ends != [order[-1]]:
            self.back |= {(node, head): ~head for node in ends}
            yield ~head


def _strongly_connected(edges: Mapping[int, Sequence[int]]) -> list[list[int]]:
    """Return the sets of nodes that lead to each other (Tarjan), without recursion."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    components: list[list[int]] = []
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, nexts = work[-1]
            for next_ in nexts:
                if next_ not in index:
                    index[next_] = low[next_] = len(index)
                    stack.append(next_)
                    on_stack.add(next_)
                    work.append((next_, iter(edges[next_])))
                    break
                if next_ in on_stack:
                    low[node] = min(low[node], index[next_])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group: list[int] = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on_stack.remove(group[-1])
                    components.append(group)
    return components


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
