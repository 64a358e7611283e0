"""Loops whose rounds cost the same: each access that is found here makes a request of the same class in every round.

It moves on by the same distance each round, by whole words of shared memory or whole sectors of global memory, and no
lane leaves before the others. The first is known from the text; the second holds where the lanes that are in the loop
agree on what its tests compare, which the rewritten kernel looks at when it goes round.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from smemviz.engines.gpu.ptx.forms import SHARED_WINDOW, Form, Movement, Round
from smemviz.engines.lockstep.ptx.code.blocks import block_ranges
from smemviz.engines.lockstep.ptx.code.flatten import HOST_CALLS, Flat
from smemviz.engines.lockstep.ptx.code.module import Address, Instruction, Symbol
from smemviz.engines.lockstep.ptx.kernel import Kernel, written_by
from smemviz.recordings.data import Space

_LEAVES = ("ret", "exit", "brx", "trap", *HOST_CALLS)

Place = tuple[int, int]  # of an access: the number of its instruction, and its number there


@dataclass(frozen=True)
class Candidate:
    """An access that may be steady: as what it is counted, and the bytes by which it may move within its class.

    A generic address must be known to lie in shared memory.
    """

    address: Address
    is_generic: bool
    site: int
    space: Space
    whole: int

    def is_steady(self, form: Form, movement: Movement) -> bool:
        """Tell whether it is one where its address is this sum and moves on by so many bytes a round."""
        is_known = (self.space == "shared" or form.is_exact) and not form.if_again
        return is_known and movement.is_whole(self.whole) and dict(form.terms).get(SHARED_WINDOW, 0) == self.is_generic


class Share(NamedTuple):
    """What accesses of one class have in common: the loop, what is counted, and their distance from each other."""

    head: int
    space: Space
    site: int
    terms: tuple[tuple[str, int], ...]
    rest: int


@dataclass(frozen=True)
class SteadyLoop:
    """A loop that goes round by one way.

    ``blocks`` are ranges of instructions in the order of a round, ``exits`` the branches that may leave it, ``agreed``
    the registers, and special registers with their %, on which the lanes must agree, and ``positive`` what must not be
    below 0 when a round begins. ``steady`` has for each access what it has in common with others of its class.
    """

    blocks: tuple[range, ...]
    exits: tuple[int, ...]
    agreed: tuple[str, ...]
    positive: tuple[Form, ...]
    steady: Mapping[Place, Share] = field(repr=False)

    @property
    def head(self) -> int:
        """The first instruction of a round."""
        return self.blocks[0].start

    @property
    def last(self) -> int:
        """The instruction that goes back to the first."""
        return self.blocks[-1].stop - 1


def steady_loops(kernel: Kernel, candidates: Callable[[Instruction], Sequence[Candidate | None]]) -> list[SteadyLoop]:
    """Return the loops with steady accesses.

    ``candidates`` gives the accesses of an instruction, None for one that is never steady.
    """
    loops = (_steady(kernel, blocks, candidates) for blocks in _simple_loops(kernel.flat))
    return [loop for loop in loops if loop and loop.steady]


def _steady(
    kernel: Kernel, blocks: tuple[range, ...], candidates: Callable[[Instruction], Sequence[Candidate | None]]
) -> SteadyLoop | None:
    body = kernel.body
    numbers = [number for block in blocks for number in block]
    if any(body[number].opcode in _LEAVES for number in numbers):
        return None
    exits = {number: stays for number, stays in _exits(kernel.flat, blocks).items() if body[number].guard is not None}
    instructions = [body[number] for number in numbers]
    negative: set[int] = set()
    while True:
        round_ = Round(kernel, instructions, _known_again(instructions, body, exits), negative)
        tests: list[Form] = []
        addresses: dict[Place, tuple[Candidate, Form]] = {}
        for number in numbers:
            instruction = body[number]
            if number in exits and instruction.guard is not None:
                test = round_.tested(instruction.guard.register)
                if test is None:
                    return None
                tests += test
            for index, candidate in enumerate(candidates(instruction)):
                form = round_.form_of(candidate.address.base) if candidate and instruction.guard is None else None
                if candidate and form is not None:
                    addresses[number, index] = candidate, form.plus(Form((), candidate.address.offset))
            round_.step(instruction)
        steps = round_.steps()
        falling = {at for at, form in round_.positive.items() if not round_.stays_positive(form, steps)}
        if not falling:
            break
        negative |= falling
    if any(round_.movement(test, steps) is None for test in tests):
        return None
    steady = {}
    agreed = round_.made_of(tests)
    for place, (candidate, form) in addresses.items():
        moved = round_.movement(form, steps)
        if moved is not None and candidate.is_steady(form, moved):
            agreed |= round_.multipliers(form)
            rest = form.constant % candidate.whole
            steady[place] = Share(blocks[0].start, candidate.space, candidate.site, form.terms, rest)
    positive = tuple(dict.fromkeys(round_.positive.values()))
    return SteadyLoop(blocks, tuple(exits), tuple(sorted(agreed)), positive, steady)


def _exits(flat: Flat, blocks: tuple[range, ...]) -> dict[int, bool]:
    """Return the branches that may leave a loop, each with whether those who take it stay in it."""
    nexts = [*(block.start for block in blocks[1:]), blocks[0].start]
    exits = {}
    for block, next_ in zip(blocks, nexts, strict=True):
        end = flat.body[block.stop - 1]
        if end.opcode == "bra":
            (target,) = end.operands
            stays = isinstance(target, Symbol) and flat.labels[target.name] == next_
            if not (stays and block.stop == next_):  # where both ways go on
                exits[block.stop - 1] = stays
    return exits


def _known_again(
    instructions: Sequence[Instruction], body: Sequence[Instruction], exits: Mapping[int, bool]
) -> dict[str, bool]:
    """Return the predicates that are set once in a round, and tested, with what they are where there is another."""
    sets = Counter(name for instruction in instructions for name in written_by(instruction))
    known: dict[str, bool] = {}
    for number, stays in exits.items():
        guard = body[number].guard
        if guard is not None and sets[guard.register.name] == 1:
            known[guard.register.name] = stays != guard.negated
    return known


def _simple_loops(flat: Flat) -> Iterator[tuple[range, ...]]:
    """Give the loops that have one way round, each as the blocks on it."""
    blocks = {block.start: block for block in block_ranges(flat)}
    after = {start: _after(flat, block) for start, block in blocks.items()}
    before: dict[int, list[int]] = defaultdict(list)
    for start, nexts in after.items():
        for next_ in nexts:
            before[next_].append(start)
    for head in blocks:
        backs = [start for start in before[head] if start >= head]
        if len(backs) != 1 or not _branches_back(flat, blocks[backs[0]], head):
            continue
        inside, waiting = {head}, list(backs)
        while waiting:
            start = waiting.pop()
            if start not in inside:
                inside.add(start)
                waiting += before[start]
        way = [head]
        while len(way) <= len(inside):
            stays = {next_ for next_ in after[way[-1]] if next_ in inside}
            if len(stays) != 1:
                break
            way += stays
            if way[-1] == head:
                break
        if len(way) == len(inside) + 1 and way[-1] == head and (head == 0 or 0 not in inside):
            yield tuple(blocks[start] for start in way[:-1])


def _branches_back(flat: Flat, block: range, head: int) -> bool:
    target = flat.body[block.stop - 1].operands[-1:]
    return bool(target) and isinstance(target[0], Symbol) and flat.labels.get(target[0].name) == head


def _after(flat: Flat, block: range) -> list[int]:
    end = flat.body[block.stop - 1]
    following = [block.stop] if block.stop < len(flat.body) else []
    match end.opcode, end.operands[-1:]:
        case "bra", [Symbol(name=name)]:
            nexts = [flat.labels[name]]
        case "brx", [Symbol(name=name)]:
            nexts = [flat.labels[label] for label in flat.tables.get(name, ())]
        case "ret" | "exit", _:
            nexts = []
        case _:
            return following
    return [*nexts, *(following if end.guard else [])]
