"""Whether instructions did what was recorded at a site, as it is or after what a compiler may do to it.

Every explanation is an equation: the recorded requests, changed the way it says, give the hardware's counts exactly.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from smemviz.measure.ncu import verdicts
from smemviz.measure.ncu.compiler import Avoidable, Stream, avoidable, chosen, joined, merge, parted, stream, unrolled
from smemviz.measure.ncu.sass import Counts, CountsByWidth, Instruction, total
from smemviz.messages import english
from smemviz.model.counting.costs import COUNTS, SPACES
from smemviz.model.counting.service import serve
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.data import Launch

# Of loops, how many rounds are one text, and how many go before.
_UNROLLED = (2, 4, 8, 16)
_PEELED = (0, 1)
# How often lanes that came by different ways may have gone on apart.
_MEETINGS = range(4)


@dataclass(frozen=True)
class Explanation:
    """How instructions and record fit: ``agrees`` when they are equal, and a sentence."""

    agrees: bool
    because: str


class RecordedLaunch:
    """A launch with what can be asked of its log: what each site cost, and which requests could be left out."""

    def __init__(self, launch: Launch, cc: tuple[int, int]) -> None:
        self.launch = launch
        self.cc = cc
        self.summary = launch.summary(cc)

    @cached_property
    def avoidable(self) -> Avoidable:
        """Which logged requests a compiler may leave out."""
        return avoidable(self.launch)


class Unit:
    """Sites that are explained together: one, or several of one array, operation and width."""

    def __init__(self, recorded: RecordedLaunch, sites: Sequence[int]) -> None:
        self.recorded = recorded
        self.sites = tuple(sites)
        self.first = first = recorded.launch.sites[sites[0]]
        self.requests = sum(recorded.summary[i].requests for i in sites)
        sources = tuple(recorded.launch.sites[i].source for i in sites)
        self.subject = verdicts.Subject(sources, first.op, first.space, first.width, self.requests, self._complex)
        self._costs: dict[tuple[int, bool, int], dict[int, NDArray[np.int64]]] = {}
        self._changes: dict[tuple[object, int], dict[int, NDArray[np.int64]]] = {}

    def agree(self, counted: CountsByWidth, instructions: Sequence[Instruction]) -> Explanation | None:
        """Return an explanation if the instructions did exactly what was recorded."""
        off = self._match(counted, self._as_recorded)
        if off is None:
            return None
        agrees = off == 0 and len(self.sites) == 1 and not self._uncountable
        what = self._unchanged(counted, off, instructions)
        if not self._uncountable:
            what = verdicts.other_ideal(what, total(counted).ideal, total(self._as_recorded).ideal)
        return Explanation(agrees, what)

    def explain(self, counted: CountsByWidth, instructions: Sequence[Instruction]) -> Explanation | None:
        """Return an explanation if the recorded requests, changed as a compiler may, give the instructions' counts."""
        if not len(self._rows):
            return None
        what = self._explain(counted, instructions)
        return None if what is None else Explanation(False, verdicts.share(what, len(self._rows), self.requests))

    def _explain(self, counted: CountsByWidth, instructions: Sequence[Instruction]) -> str | None:
        off = self._match(counted, self._after(self._streams[0], False, self.first.width))
        if off is not None:
            return self._unchanged(counted, off, instructions)
        if self.first.op not in ("load", "store"):
            return None
        for leave_out in (False, True):
            for log in self._streams_for(counted):
                for wide in sorted({log.width, *(width for width in counted if width > log.width)}):
                    off = self._match(counted, self._after(log, leave_out, wide))
                    if off is not None:
                        times = int(self._avoided(log).sum()) if leave_out else 0
                        return verdicts.switched_off(self._changed(log, times, counted, instructions), off)
                if self._fits_partly(log, leave_out, counted):
                    return self._changed(log, len(log.era) - self._covered(log, counted), counted, instructions)
        ways = (self._chosen, self._joined, self._unrolled, self._parted)
        return next((what for way in ways if (what := way(counted, instructions))), None)

    def are_sides(self, counted: CountsByWidth) -> bool:
        """Tell whether counts are those of one instruction that makes, of each lane, the access that it chose."""
        return bool(len(self._rows)) and self._gives(counted, chosen, chosen)

    def _chosen(self, counted: CountsByWidth, instructions: Sequence[Instruction]) -> str | None:
        if len({*self.subject.sources}) == 1 or len(instructions) > 1 or not self.are_sides(counted):
            return None
        return verdicts.chosen(self.subject, counted, instructions)

    def _joined(self, counted: CountsByWidth, instructions: Sequence[Instruction]) -> str | None:
        """Say that what each lane loads or stores last was made with that of the others, if that gives the counts."""
        return verdicts.joined(self.subject, counted) if self._gives(counted, joined, joined) else None

    def _unrolled(self, counted: CountsByWidth, instructions: Sequence[Instruction]) -> str | None:
        """Say that other lanes go through an unrolled loop together, if that gives the counts."""
        if not self._is_of_same_lanes(counted):
            return None
        for times, peeled, rest_first in product(_UNROLLED, _PEELED, (True, False)):
            change = partial(unrolled, times=times, peeled=peeled, rest_first=rest_first)
            if self._gives(counted, (unrolled, times, peeled, rest_first), change):
                return verdicts.unrolled(self.subject, times, counted, instructions)
        return None

    def _parted(self, counted: CountsByWidth, instructions: Sequence[Instruction]) -> str | None:
        """Say that lanes that come by different ways do not wait for each other, if that gives the counts."""
        if not self._is_of_same_lanes(counted):
            return None
        for meetings in _MEETINGS:
            if self._gives(counted, (parted, meetings), partial(parted, self.recorded.launch, self._rows, meetings)):
                return verdicts.parted(self.subject, counted, instructions)
        return None

    def _is_of_same_lanes(self, counted: CountsByWidth) -> bool:
        """Tell whether as many lanes take part as were recorded, in whatever groups."""
        lanes = self._factor * int((self._streams[0].addresses >= 0).sum())
        return [counts.lanes for counts in counted.values()] == [lanes]

    def _gives(self, counted: CountsByWidth, how: object, change: Callable[[Stream], Stream | None]) -> bool:
        """Tell whether the logged requests, changed so, give the counts; ``how`` names the change."""
        for log in self._streams_for(counted):
            if (how, log.width) not in self._changes:
                after = change(log)
                costs = {} if after is None else {log.width: np.stack(list(self._columns(after)))}
                self._changes[how, log.width] = costs
            costs = self._changes[how, log.width]
            if costs and self._match(counted, self._all_of(costs)) is not None:
                return True
        return False

    @cached_property
    def _rows(self) -> NDArray[np.intp]:
        return np.flatnonzero(np.isin(self.recorded.launch.requests.site, self.sites))

    @cached_property
    def _streams(self) -> tuple[Stream, ...]:
        """The logged requests; those for complex numbers also as those for their two parts."""
        plain = stream(self.recorded.launch, self._rows, self.first.width)
        return (plain, plain.halves()) if self._complex else (plain,)

    def _streams_for(self, counted: CountsByWidth) -> Iterator[Stream]:
        """Give the logged requests, and those for the first bytes of each element where instructions load no more."""
        yield from self._streams
        if self.first.op == "load" and not self._complex:
            for width in sorted(counted, reverse=True):
                if width < self.first.width:
                    yield replace(self._streams[0], width=width)

    @property
    def _complex(self) -> bool:
        return np.dtype(self.first.dtype).kind == "c" and self.first.pieces == 1

    @cached_property
    def _uncountable(self) -> str | None:
        """Why the wavefronts cannot be told from the addresses, None when they can once the instruction is known."""
        return None if self._complex else SPACES[self.first.space].unknown(self.first, self.recorded.cc)

    @cached_property
    def _as_recorded(self) -> CountsByWidth:
        """The exact counts, logged or not; the lanes are those of the log."""
        rows = [self.recorded.summary[i] for i in self.sites]
        lanes = int((self.recorded.launch.requests.addresses[self._rows] >= 0).sum())
        cost = (sum(getattr(row, name) or 0 for row in rows) for name in COUNTS)
        return {self.first.width: Counts(self.requests, lanes, *cost)}

    def _match(self, counted: CountsByWidth, counts: CountsByWidth | None) -> int | None:
        """Return 0 when counts are equal, how often all lanes were off when that is the difference, else None.

        A request with a lane on costs something, so what is issued more often at the same cost had no lane on; where
        every request was logged the number of lanes is held against the hardware's too.
        """
        if counts is None:
            return None
        off = 0
        for width in counted.keys() | counts.keys():
            measured, predicted = counted.get(width, Counts()), counts.get(width, Counts())
            if measured.requests < predicted.requests or (
                measured.cost(width) != predicted.cost(width) and not self._uncountable
            ):
                return None
            if measured.requests > predicted.requests:
                if measured.lanes != predicted.lanes and len(self._rows) == self.requests:
                    return None
                off += measured.requests - predicted.requests
        return off

    @property
    def _factor(self) -> Fraction:
        return Fraction(self.requests, len(self._rows))

    def _avoided(self, log: Stream) -> NDArray[np.bool_]:
        avoided = self.recorded.avoidable.any[self._rows]
        return np.repeat(avoided, len(log.era) // len(avoided))

    def _cost(self, log: Stream, leave_out: bool, wide: int) -> dict[int, NDArray[np.int64]]:
        """Return by width the fields of ``Counts`` for each request, (5, n), left out and merged to ``wide`` bytes."""
        key = (log.width, leave_out, wide)
        if key not in self._costs:
            executed = log.select(~self._avoided(log)) if leave_out else log
            self._costs[key] = {part.width: np.stack(list(self._columns(part))) for part in merge(executed, wide)}
        return self._costs[key]

    def _columns(self, log: Stream) -> Iterator[NDArray[np.int64]]:
        none = np.zeros(len(log.era), np.int64)
        yield none + 1
        yield (log.addresses >= 0).sum(axis=1)
        space = SPACES[self.first.space]
        rule = space.rule(log.width, self.first.op, Hardware(self.recorded.cc))
        counts = dict(zip(space.counts, serve(log.addresses, rule), strict=False))
        yield from (counts.get(name, none) for name in COUNTS)

    def _after(self, log: Stream, leave_out: bool, wide: int) -> CountsByWidth | None:
        """Count what the log became, taken to stand for all requests; None when that share is no whole number."""
        return self._all_of(self._cost(log, leave_out, wide))

    def _all_of(self, cost: Mapping[int, NDArray[np.int64]]) -> CountsByWidth | None:
        counts: dict[int, Counts] = {}
        for width, columns in cost.items():
            values = [self._factor * int(value) for value in columns.sum(axis=1)]
            if any(value.denominator != 1 for value in values):
                return None
            counts[width] = Counts(*map(int, values))
        return counts

    def _covered(self, log: Stream, counted: CountsByWidth) -> int:
        """Return how many logged requests the instructions stand for."""
        return int(sum(counts.requests * (width // log.width) for width, counts in counted.items()) / self._factor)

    def _fits_partly(self, log: Stream, leave_out: bool, counted: CountsByWidth) -> bool:
        """Tell whether some of the possible changes give the counts, all alike so that it cannot matter which."""
        least = len(log.era) - (int(self._avoided(log).sum()) if leave_out else 0)
        if not counted or min(counted) < log.width or not least <= self._covered(log, counted) <= len(log.era):
            return False
        for width, counts in counted.items():
            columns = self._cost(log, False, width).get(width)
            if columns is None or counts.requests > columns.shape[1] * self._factor:
                return False
            each = Counts(*columns[:, 0] * counts.requests)
            if np.any(columns[2:] != columns[2:, :1]) or counts.cost(width) != each.cost(width):
                return False
        return True

    def _unchanged(self, counted: CountsByWidth, off: int, instructions: Sequence[Instruction]) -> str:
        unknown = self._uncountable
        if self._complex and self.first.is_shared:
            unknown = verdicts.moved_together(self.first.width)
        return verdicts.switched_off(verdicts.as_recorded(self.subject, counted, instructions, unknown), off)

    def _changed(self, log: Stream, left_out: int, counted: CountsByWidth, instructions: Sequence[Instruction]) -> str:
        what = ""
        if left_out:
            avoid = self.recorded.avoidable
            why: Iterable[tuple[str, NDArray[np.bool_]]] = (
                (english("the same thread had just stored the element and kept it in a register"), avoid.stored),
                (english("the same thread had already loaded the element and kept it in a register"), avoid.loaded),
                (english("the same thread stores there again before anything can see it"), avoid.overwritten),
                (english("nothing loads {array}", array=self.first.array), avoid.unread),
            )
            times = left_out * self._factor * len(self._rows) / len(log.era)
            reasons = [text for text, rows in why if rows[self._rows].any()]
            what = verdicts.were_left_out(self.subject, int(times), reasons)
        return verdicts.changed(self.subject, what, log.width, counted, instructions)
