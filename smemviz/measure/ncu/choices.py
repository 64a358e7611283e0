"""Sites that one instruction serves: the sides of a choice, of which each lane takes one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice

from smemviz.measure.ncu.counts import counts_of
from smemviz.measure.ncu.explain import RecordedLaunch, Unit
from smemviz.measure.ncu.sass import Instruction

_MOST_SITES = 12  # that are looked at together
_MOST_SIDES = 4  # of one choice
_MOST_WAYS = 64  # to put sites together


def choices(
    recorded: RecordedLaunch, sites: Sequence[int], instructions: Sequence[Instruction]
) -> Iterator[list[tuple[int, ...]]]:
    """Give ways to put sites together so that some instruction did exactly what each of those that are together do."""
    made = [i for i in sites if recorded.summary[i].requests]
    if len(made) > _MOST_SITES:
        return
    counted = [counts_of([instruction]) for instruction in instructions]
    sides = [
        together
        for size in range(min(_MOST_SIDES, len(made)), 1, -1)
        for together in combinations(made, size)
        if _are_alike(recorded, together) and any(map(Unit(recorded, together).are_sides, counted))
    ]
    for together in islice(_disjoint(sides), _MOST_WAYS):
        left = [(i,) for i in sites if not any(i in group for group in together)]
        if together:
            yield [*together, *left]


def _are_alike(recorded: RecordedLaunch, sites: Sequence[int]) -> bool:
    """Tell whether sites could be one instruction."""
    kinds = {(site.space, site.op, site.width, site.dtype) for site in (recorded.launch.sites[i] for i in sites)}
    return len(kinds) == 1


def _disjoint(groups: Sequence[tuple[int, ...]]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Give each choice of some groups that have nothing in common, the most of the first ones first."""
    if not groups:
        yield ()
        return
    first, rest = groups[0], groups[1:]
    for others in _disjoint([group for group in rest if not {*group} & {*first}]):
        yield (first, *others)
    yield from _disjoint(rest)
