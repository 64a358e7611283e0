"""Giving instructions to sites, or to the sides of a choice, so that all counts come out and nothing is left over."""

from collections.abc import Iterator, Sequence
from itertools import combinations, islice, product
from math import prod

from smemviz.measure.ncu.explain import Explanation, RecordedLaunch, Unit
from smemviz.measure.ncu.sass import Instruction, counts_of

Assignment = tuple[Unit, list[Instruction], Explanation]

_MAX_SUBSETS = 4096


def assign(units: Sequence[Unit], instructions: Sequence[Instruction]) -> list[Assignment] | None:
    """Return who gets which instructions and why that is right, or None when there is no way to use them all.

    What agrees with the record is tried before what must be explained.
    """
    by_key: dict[object, list[Instruction]] = {}
    for instruction in instructions:
        by_key.setdefault((instruction.opcode, *counts_of([instruction]).items()), []).append(instruction)
    stacks = list(by_key.values())
    for may_change in (False, True):
        search = _Search(stacks, may_change)
        choices = search.run(units, tuple(len(stack) for stack in stacks))
        if choices is not None:
            hands = [iter(stack) for stack in stacks]
            return [
                (unit, [next(hand) for hand, n in zip(hands, numbers, strict=True) for _ in range(n)], explanation)
                for unit, (numbers, explanation) in zip(units, choices, strict=True)
            ]
    return None


_Choice = tuple[tuple[int, ...], Explanation]


class _Search:
    """Tries how many instructions of each stack, all alike, a unit may get, one unit after the other."""

    def __init__(self, stacks: Sequence[Sequence[Instruction]], may_change: bool) -> None:
        self.stacks = stacks
        self.may_change = may_change
        self._known: dict[tuple[Unit, tuple[int, ...]], Explanation | None] = {}

    def run(self, units: Sequence[Unit], available: tuple[int, ...]) -> list[_Choice] | None:
        """Return a choice for each unit that uses up what is available."""
        if not units:
            return None if any(available) else []
        for numbers in _subsets(available, len(units)):
            explanation = self._explain(units[0], numbers)
            if explanation is None:
                continue
            rest = self.run(units[1:], tuple(n - m for n, m in zip(available, numbers, strict=True)))
            if rest is not None:
                return [(numbers, explanation), *rest]
        return None

    def _explain(self, unit: Unit, numbers: tuple[int, ...]) -> Explanation | None:
        if (unit, numbers) not in self._known:
            chosen = [instruction for stack, n in zip(self.stacks, numbers, strict=True) for instruction in stack[:n]]
            counts = counts_of(chosen)
            explanation = unit.agree(counts, chosen)
            if explanation is None and self.may_change:
                explanation = unit.explain(counts, chosen)
            self._known[unit, numbers] = explanation
        return self._known[unit, numbers]


def _subsets(available: tuple[int, ...], units: int) -> Iterator[tuple[int, ...]]:
    """Return what the first of some units may take from each stack: an even share first, and all if it is the last.

    Where there are too many ways, a stack is taken whole or not at all.
    """
    yield tuple(n // units for n in available)
    if units == 1:
        return
    if prod(n + 1 for n in available) <= _MAX_SUBSETS:
        yield from product(*(range(n + 1) for n in available))
    elif 2 ** len(available) <= _MAX_SUBSETS:
        yield from product(*(dict.fromkeys((0, n)) for n in available))


_MOST_SITES = 12  # that are looked at together
_MOST_SIDES = 4  # of one choice
_MOST_WAYS = 64  # to put sites together


def choices(
    recorded: RecordedLaunch, sites: Sequence[int], instructions: Sequence[Instruction]
) -> Iterator[list[tuple[int, ...]]]:
    """Give ways to put sites together so that some instruction did exactly what each of those that are together do."""
    made = [i for i in sites if recorded.summary[i].requests]
    kinds = {i: (site.space, site.op, site.width, site.dtype) for i, site in enumerate(recorded.launch.sites)}
    if len(made) > _MOST_SITES:
        return
    counted = [counts_of([instruction]) for instruction in instructions]
    sides = [
        together
        for size in range(min(_MOST_SIDES, len(made)), 1, -1)
        for together in combinations(made, size)
        if len({kinds[i] for i in together}) == 1 and any(map(Unit(recorded, together).are_sides, counted))
    ]
    for together in islice(_disjoint(sides), _MOST_WAYS):
        left = [(i,) for i in sites if not any(i in group for group in together)]
        if together:
            yield [*together, *left]


def _disjoint(groups: Sequence[tuple[int, ...]]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Give each choice of some groups that have nothing in common, the most of the first ones first."""
    if not groups:
        yield ()
        return
    first, rest = groups[0], groups[1:]
    for others in _disjoint([group for group in rest if not {*group} & {*first}]):
        yield (first, *others)
    yield from _disjoint(rest)
