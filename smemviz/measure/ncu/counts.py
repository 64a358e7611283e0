"""What requests amount to: the counts that are compared between a recording and the hardware."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from smemviz.measure.ncu.sass import Instruction


@dataclass(frozen=True)
class Counts:
    """Requests of one width, recorded or counted; ``lanes`` were on. What the other space counts is 0."""

    requests: int = 0
    lanes: int = 0
    wavefronts: int = 0
    ideal: int = 0
    sectors: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.requests + other.requests,
            self.lanes + other.lanes,
            self.wavefronts + other.wavefronts,
            self.ideal + other.ideal,
            self.sectors + other.sectors,
        )

    @property
    def cost(self) -> tuple[int, int, int]:
        """What must agree beside the number of requests."""
        return self.wavefronts, self.ideal, self.sectors


Work = Mapping[int, Counts]  # by bytes per lane


def work_of(instructions: Iterable[Instruction]) -> Work:
    """Add up instructions by width."""
    work: dict[int, Counts] = {}
    for one in instructions:
        counts = Counts(one.requests, one.lanes, one.wavefronts, one.ideal, one.sectors)
        work[one.width] = work.get(one.width, Counts()) + counts
    return work


def total(work: Work) -> Counts:
    """Add up all widths."""
    return sum(work.values(), Counts())
