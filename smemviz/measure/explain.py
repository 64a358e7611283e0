"""Whether instructions did what was recorded at a site, as it is or after what a compiler may do to it.

Every explanation is an equation: the recorded requests, changed the way it says, give the hardware's counts exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smemviz.measure.compiler import Avoidable, Stream, avoidable, merge, stream
from smemviz.measure.sass import Instruction
from smemviz.model import count, sectors, unpredictable
from smemviz.recording import Launch, Site

_WIDEST = 16


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


@dataclass(frozen=True)
class Explanation:
    """How instructions and record fit: ``agrees`` when they are equal, and a sentence."""

    agrees: bool
    because: str


class Recorded:
    """A launch with what can be asked of its log: who could have been left out, and what any requests cost."""

    def __init__(self, launch: Launch, cc: tuple[int, int]) -> None:
        self.launch = launch
        self.cc = cc
        self.summary = launch.summary(cc)

    @cached_property
    def avoidable(self) -> Avoidable:
        """Which logged requests a compiler may leave out."""
        return avoidable(self.launch)


def work_of(instructions: Iterable[Instruction]) -> Work:
    """Add up instructions by width."""
    work: dict[int, Counts] = {}
    for one in instructions:
        counts = Counts(one.requests, one.lanes, one.wavefronts, one.ideal, one.sectors)
        work[one.width] = work.get(one.width, Counts()) + counts
    return work


class Unit:
    """Sites that are explained together: one, or several of one array, operation and width."""

    def __init__(self, recorded: Recorded, sites: Sequence[int]) -> None:
        self.recorded = recorded
        self.sites = tuple(sites)
        self.first: Site = recorded.launch.sites[sites[0]]
        self.requests = sum(recorded.summary[i].requests for i in sites)
        self._counts: dict[int, list[Counts]] = {}

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """The unit's rows of the log."""
        return np.flatnonzero(np.isin(self.recorded.launch.requests.site, self.sites))

    @cached_property
    def uncountable(self) -> str | None:
        """Why the wavefronts cannot be told from the addresses, None when they can."""
        if self.first.space == "global" or np.dtype(self.first.dtype).kind == "c":
            return None
        return unpredictable(self.first.op, self.first.dtype, self.recorded.cc)

    @cached_property
    def as_recorded(self) -> Work:
        """The exact counts of the unit, logged or not; ``lanes`` of the log only."""
        rows = [self.recorded.summary[i] for i in self.sites]
        if any(row.wavefronts is None and row.sectors is None for row in rows):
            return {self.first.width: Counts(self.requests, self._lanes)}
        totals = (sum(getattr(row, name) or 0 for row in rows) for name in ("wavefronts", "ideal", "sectors"))
        return {self.first.width: Counts(self.requests, self._lanes, *totals)}

    @property
    def _lanes(self) -> int:
        return int((self.recorded.launch.requests.addresses[self.rows] >= 0).sum())

    def agree(self, found: Work, instructions: Sequence[Instruction]) -> Explanation | None:
        """Return an explanation if the instructions did exactly what was recorded."""
        off = self._match(found, self.as_recorded)
        if off is None:
            return None
        return Explanation(
            not off and len(self.sites) == 1 and not self.uncountable, self._unchanged(off, instructions)
        )

    def explain(self, found: Work, instructions: Sequence[Instruction]) -> Explanation | None:
        """Return an explanation if the recorded requests, changed as a compiler may, give the instructions' counts."""
        if not len(self.rows):
            return None
        plain = stream(self.recorded.launch, self.rows, self.first.width)
        off = self._fits(found, [plain])
        if off is not None:
            return Explanation(False, self._unchanged(off, instructions) + self._share)
        if self.first.op not in ("load", "store"):
            return None
        streams = [plain, plain.halves()] if np.dtype(self.first.dtype).kind == "c" else [plain]
        for leave_out in (False, True):
            for one in streams:
                avoided = self._avoided(one) if leave_out else np.zeros(len(one.era), np.bool_)
                for wide in sorted({one.width, *(width for width in found if width > one.width)}):
                    off = self._fits(found, merge(one.select(~avoided), wide))
                    if off is not None:
                        said = self._changed(one, int(avoided.sum()), found, instructions)
                        return Explanation(False, said + _switched_off(off) + self._share)
                if self._fits_in_part(one, int(avoided.sum()), found):
                    said = self._changed(one, len(one.era) - self._covered(one, found), found, instructions)
                    return Explanation(False, said + self._share)
        return None

    def _avoided(self, one: Stream) -> NDArray[np.bool_]:
        avoided = self.recorded.avoidable.any[self.rows]
        return np.repeat(avoided, len(one.era) // len(avoided))

    def _fits(self, found: Work, streams: Iterable[Stream]) -> int | None:
        work = self._scaled(streams)
        return None if work is None else self._match(found, work)

    def _match(self, found: Work, work: Work) -> int | None:
        """Return 0 when counts are equal, how often all lanes were off when that is the difference, else None."""
        extra = 0
        for width in found.keys() | work.keys():
            one, other = found.get(width, Counts()), work.get(width, Counts())
            if one.cost != other.cost and not self.uncountable:
                return None
            if one.requests != other.requests:
                if one.requests < other.requests or one.lanes != other.lanes:
                    return None
                extra += one.requests - other.requests
        return extra

    @property
    def _factor(self) -> Fraction:
        return Fraction(self.requests, len(self.rows))

    @property
    def _share(self) -> str:
        if self._factor == 1:
            return ""
        logged = f"{len(self.rows):,} of {self.requests:,}"
        return f" ({logged} requests were logged; the same share of all gives these counts)"

    def _scaled(self, streams: Iterable[Stream]) -> Work | None:
        """Count streams by width, taken to stand for all requests; None when that share is no whole number."""
        work: dict[int, Counts] = {}
        for one in streams:
            values = [self._factor * int(column.sum()) for column in self._cost(one)]
            if any(value.denominator != 1 for value in values):
                return None
            work[one.width] = Counts(*(int(value) for value in values))
        return work

    def _cost(self, one: Stream) -> Iterator[NDArray[np.int64]]:
        """Count each request of a stream, in the order of the fields of ``Counts``."""
        none = np.zeros(len(one.era), np.int64)
        yield np.ones(len(one.era), np.int64)
        yield (one.addresses >= 0).sum(axis=1)
        if self.first.space == "global":
            yield from (none, none, sectors(one.addresses, one.width))
        else:
            counts = count(one.addresses, one.width, self.first.op, self.recorded.cc)
            yield from (counts.wavefronts, counts.ideal, none)

    def _covered(self, one: Stream, found: Work) -> int:
        """Return how many recorded requests the instructions stand for."""
        return int(sum(counts.requests * (width // one.width) for width, counts in found.items()) / self._factor)

    def _fits_in_part(self, one: Stream, avoided: int, found: Work) -> bool:
        """Tell whether some of the possible changes give the counts, where it cannot matter which requests they met."""
        if any(width < one.width for width in found):
            return False
        if not len(one.era) - avoided <= self._covered(one, found) <= len(one.era):
            return False
        for width, counts in found.items():
            possible = [part for part in merge(one, width) if part.width == width]
            if not possible or counts.requests > len(possible[0].era) * self._factor:
                return False
            _, _, *cost = self._cost(possible[0])
            if any(column.min() != column.max() for column in cost):
                return False
            if counts.cost != tuple(int(column[0]) * counts.requests for column in cost):
                return False
        return bool(found)

    def _unchanged(self, off: int, instructions: Sequence[Instruction]) -> str:
        counts = self.as_recorded[self.first.width]
        amount = plural(counts.sectors, "sector") if self.first.space == "global" else ""
        amount = amount or plural(counts.wavefronts, "wavefront")
        by = f", by {_names(instructions)}" if len(instructions) > 1 else ""
        said = f"{plural(self.requests, 'request')} and {amount}, as recorded{by}"
        if self.uncountable:
            counted = plural(sum(one.wavefronts for one in instructions), "wavefront")
            said = f"{plural(self.requests, 'request')}, as recorded{by}, and {counted}. {self.uncountable}"
        if len(self.sites) > 1:
            said = f"{_names(instructions)} did the work of {len(self.sites)} sites together: {said}"
        return said + _switched_off(off)

    def _changed(self, one: Stream, removed: int, found: Work, instructions: Sequence[Instruction]) -> str:
        words = f"{self.first.op}s"
        sites = list(dict.fromkeys(self.recorded.launch.sites[i].source for i in self.sites))
        source = ", ".join(sites[:4]) + (", ..." if len(sites) > 4 else "")
        total = int(len(one.era) * self._factor)
        said = [f"each complex number of {source} is two floats"] if one.width < self.first.width else []
        if removed:
            said.append(self._left_out(int(removed * self._factor), total, words, source))
        for width, counts in sorted(found.items(), reverse=True):
            if width > one.width and counts.requests:
                name = next(i.opcode for i in instructions if i.width == width)
                said.append(f"{width // one.width} {words} of {source} became one {name}")
        after = sum(counts.requests for counts in found.values())
        amount = ""
        if after:
            unit = "sector" if self.first.space == "global" else "wavefront"
            cost = sum(getattr(counts, f"{unit}s") for counts in found.values())
            each = cost % after == 0 and len(found) == 1
            amount = f", {plural(cost // after, unit)} each" if each else f", {plural(cost, unit)}"
        return f"{'; '.join(said)}: {total:,} -> {plural(after, 'request')}{amount}"

    def _left_out(self, removed: int, total: int, words: str, source: str) -> str:
        avoid = self.recorded.avoidable
        why = {
            "the same thread had just stored the element and kept it in a register": avoid.stored,
            "the same thread had already loaded the element and kept it in a register": avoid.loaded,
            "the same thread stores there again before anything can see it": avoid.overwritten,
            f"nothing loads {self.first.array}": avoid.unread,
        }
        reasons = [text for text, rows in why.items() if rows[self.rows].any()]
        part = "all" if removed == total else f"{removed:,} of"
        return f"{part} {total:,} {words} of {source} were left out, because {' or '.join(reasons)}"


def _names(instructions: Sequence[Instruction]) -> str:
    counted: dict[str, int] = {}
    for one in instructions:
        counted[one.opcode] = counted.get(one.opcode, 0) + 1
    return " and ".join(f"{n} {name}" for name, n in counted.items())


def _switched_off(times: int) -> str:
    return f"; {times:,} more were issued with every lane switched off" if times else ""


def plural(n: int, word: str) -> str:
    """Return a number and its word."""
    return f"{n:,} {word}" if n == 1 else f"{n:,} {word}s"
