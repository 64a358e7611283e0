"""What requests amount to: the counts that are compared between a recording and the hardware."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from smemviz.measure.ncu.sass import Instruction
from smemviz.model.counting.summary import added


@dataclass(frozen=True)
class Counts:
    """Requests of one width, recorded or counted; ``lanes`` were on. What the other space counts is 0."""

    requests: int = 0
    lanes: int = 0
    wavefronts: int = 0
    ideal: int = 0
    sectors: int = 0

    def __add__(self, other: Counts) -> Counts:
        return added(self, other)

    def cost(self, width: int) -> tuple[int, ...]:
        """What must agree beside the number of requests, of so many bytes a lane.

        What is ideal of 8 and 16 bytes, Nsight Compute works out by a rule of its own (H200).
        """
        return (self.wavefronts, self.sectors, self.ideal) if width <= 4 else (self.wavefronts, self.sectors)


CountsByWidth = Mapping[int, Counts]  # by bytes per lane


def counts_of(instructions: Iterable[Instruction]) -> CountsByWidth:
    """Add up instructions by width."""
    counts: dict[int, Counts] = {}
    for instruction in instructions:
        own = Counts(
            instruction.requests, instruction.lanes, instruction.wavefronts, instruction.ideal, instruction.sectors
        )
        counts[instruction.width] = counts.get(instruction.width, Counts()) + own
    return counts


def total(counts: CountsByWidth) -> Counts:
    """Add up all widths."""
    return sum(counts.values(), Counts())
