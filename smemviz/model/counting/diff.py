"""Launches side by side: those of two recordings, site by site, and those of one that asked for exactly the same."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import SequenceMatcher
from pathlib import PurePosixPath
from typing import Any

from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.recordings.data import Launch, Site, SiteSummary
from smemviz.recordings.findings import Finding
from smemviz.recordings.recording import Recording, numbered
from smemviz.recordings.text import lines_of

COUNTS = ("requests", "wavefronts", "ideal", "excess", "max_degree", "sectors")
COSTS = ("wavefronts", "sectors")  # what a kernel pays; the other counts say how it comes about


@dataclass(frozen=True)
class SitePair:
    """A site before and after, as indices into the sites of the two launches, and what each did; None: not there."""

    before: int | None
    after: int | None
    counts: tuple[SiteSummary | None, SiteSummary | None]


@dataclass(frozen=True)
class LaunchPair:
    """A launch before and after; None: not there. ``number`` counts the launches of one kernel from 0.

    ``totals`` are ``COUNTS`` over all sites by name, the degree being the largest; None where no site has it.
    """

    kernel: str
    number: int
    before: Launch | None
    after: Launch | None
    sites: tuple[SitePair, ...] = ()
    totals: tuple[Mapping[str, int | None], Mapping[str, int | None]] = field(default_factory=lambda: ({}, {}))

    @property
    def times(self) -> tuple[float, float] | None:
        """The median times before and after, in microseconds, where both were measured."""
        if self.before and self.after and self.before.time and self.after.time:
            return self.before.time.median_us, self.after.time.median_us
        return None

    @property
    def complete(self) -> bool:
        """Whether the counts cover every request of both, and not only those that were logged."""
        return all(row.complete for site in self.sites for row in site.counts if row)

    def worse(self, tolerance: float) -> tuple[str, ...]:
        """Name what grew by more than a fraction: ``wavefronts``, ``sectors``, ``time``.

        A time counts only when the 95 % intervals of the medians lie apart.
        """
        grown = [
            name for name in COSTS if grew(self.totals[0].get(name) or 0, self.totals[1].get(name) or 0, tolerance)
        ]
        if self.before is None or self.after is None:
            return ()
        if self.times and grew(*self.times, tolerance):
            assert self.before.time
            assert self.after.time
            grown += ["time"] * (self.after.time.low_us > self.before.time.high_us)
        return tuple(grown)


def grew(before: float, after: float, tolerance: float) -> bool:
    """Tell whether a cost is larger than it was by more than a fraction of it."""
    return after > before * (1 + tolerance)


def diff(before: Recording, after: Recording, hardware: Hardware = H200) -> tuple[LaunchPair, ...]:
    """Pair the launches of two recordings by kernel and number, and their sites through moved and changed lines.

    One launch of each is a pair whatever its kernel is called. Pairs stand in the order of ``after``; what is only in
    ``before`` comes last.

    Raises:
        InputError: for an unknown compute capability or bank mode.
    """
    old, new = (
        {(launch.kernel, number): launch for launch, number in numbered(recording.launches)}
        for recording in (before, after)
    )
    if len(old) == len(new) == 1:
        old = dict(zip(new, old.values(), strict=True))
    places = _Places(before, after)
    both = [*new, *(key for key in old if key not in new)]
    return tuple(_pair(key, old.get(key), new.get(key), places, hardware) for key in both)


def new_findings(before: Recording, after: Recording) -> tuple[Finding, ...]:
    """Return the mistakes of ``after`` beyond those of their kind that the same kernel makes in ``before``."""
    known = Counter((finding.kind, finding.kernel) for finding in before.findings)
    new = []
    for finding in after.mistakes:
        known[finding.kind, finding.kernel] -= 1
        if known[finding.kind, finding.kernel] < 0:
            new.append(finding)
    return tuple(new)


def _pair(
    key: tuple[str, int],
    before: Launch | None,
    after: Launch | None,
    places: _Places,
    hardware: Hardware,
) -> LaunchPair:
    old, new = (summarize(launch, hardware) if launch else () for launch in (before, after))
    if before is None or after is None:
        return LaunchPair(*key, before, after, (), (_total(old), _total(new)))
    sites = tuple(
        SitePair(i, j, (None if i is None else old[i], None if j is None else new[j]))
        for i, j in _paired(before, after, places)
    )
    return LaunchPair(*key, before, after, sites, (_total(old), _total(new)))


def _total(rows: Iterable[SiteSummary]) -> dict[str, int | None]:
    rows = list(rows)
    total: dict[str, int | None] = {}
    for name in COUNTS:
        known = [value for row in rows if (value := getattr(row, name)) is not None]
        total[name] = (max(known) if name == "max_degree" else sum(known)) if known else None
    return total


class _Places:
    """Where in a text a site stands, in terms that hold for both texts.

    A line that both have is one place, wherever it moved; the lines that a change replaced are together one place.
    """

    def __init__(self, before: Recording, after: Recording) -> None:
        self._recordings = (before, after)
        self._maps: dict[tuple[str, str], tuple[Mapping[int, Hashable], Mapping[int, Hashable]]] = {}

    def of(self, side: int, pair: tuple[Launch, Launch], site: Site) -> Hashable:
        """Return the place of a site of one side, 0 before and 1 after, with the calls that lead to it."""
        files = self._files(side, pair, site)
        calls = self._lines(self._files(side, pair, None))[side]
        inner = self._lines(files)[side]
        # The calls of a chain but the first may stand in other files; their number tells chains apart well enough.
        return (
            PurePosixPath(files[side]).name if site.file else "",
            inner.get(site.line),
            *(calls.get(line) for line, _ in site.calls[:1]),
            len(site.calls),
        )

    def _files(self, side: int, pair: tuple[Launch, Launch], site: Site | None) -> tuple[str, str]:
        """Return the name of a site's file, and that of its counterpart: of the same name, in the other recording."""
        own = self._recordings[side].file_of(pair[side], site)
        other = self._recordings[1 - side]
        mains = self._recordings[side].file_of(pair[side]), other.file_of(pair[1 - side])
        counterpart = mains[1]
        if own != mains[0]:
            names = [other.file, *other.sources]
            counterpart = next((n for n in names if PurePosixPath(n).name == PurePosixPath(own).name), "")
        return (own, counterpart) if side == 0 else (counterpart, own)

    def _lines(self, files: tuple[str, str]) -> tuple[Mapping[int, Hashable], Mapping[int, Hashable]]:
        if files not in self._maps:
            both = zip(self._recordings, files, strict=True)
            texts = ({one.file: one.source, **one.sources}.get(file, "") for one, file in both)
            self._maps[files] = _line_places(*map(lines_of, texts))
        return self._maps[files]


def _line_places(before: list[str], after: list[str]) -> tuple[dict[int, Hashable], dict[int, Hashable]]:
    """Return for the lines of two texts, from 1, the place of each."""
    old: dict[int, Hashable] = {}
    new: dict[int, Hashable] = {}
    for tag, i, i_end, j, j_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            old |= {i + k + 1: ("line", j + k + 1) for k in range(i_end - i)}
            new |= {j + k + 1: ("line", j + k + 1) for k in range(j_end - j)}
        else:
            old |= {line + 1: ("change", i, j) for line in range(i, i_end)}
            new |= {line + 1: ("change", i, j) for line in range(j, j_end)}
    return old, new


def _paired(before: Launch, after: Launch, places: _Places) -> list[tuple[int | None, int | None]]:
    """Pair the sites at one place that do the same to an array of the same name, in order; then of any name."""
    pair = (before, after)
    at = [[places.of(side, pair, site) for site in launch.sites] for side, launch in enumerate(pair)]
    pairs: dict[int, int] = {}

    def match(key: Callable[[Site], Hashable]) -> None:
        waiting: dict[Hashable, list[int]] = defaultdict(list)
        matched = set(pairs.values())
        for j, site in enumerate(after.sites):
            if j not in matched:
                waiting[at[1][j], key(site)].append(j)
        for i, site in enumerate(before.sites):
            if i not in pairs and waiting[at[0][i], key(site)]:
                pairs[i] = waiting[at[0][i], key(site)].pop(0)

    match(lambda site: (site.space, site.op, site.array))
    match(lambda site: (site.space, site.op))
    return list(_in_order(pairs, len(before.sites), len(after.sites)))


def _in_order(pairs: Mapping[int, int], before: int, after: int) -> Iterator[tuple[int | None, int | None]]:
    """Return pairs in the order of the second launch; what is gone stands after what was before it."""
    gone: dict[int, list[int]] = defaultdict(list)
    last = -1
    for i in range(before):
        if i in pairs:
            last = pairs[i]
        else:
            gone[last].append(i)
    yield from ((i, None) for i in gone[-1])
    back = {j: i for i, j in pairs.items()}
    for j in range(after):
        yield back.get(j), j
        yield from ((i, None) for i in gone[j])


def duplicates(launches: Sequence[Launch]) -> tuple[tuple[int, ...], ...]:
    """Return groups of launches by number, in order of the first: same kernel, sizes, sites and addresses.

    What they stored may differ. A launch that was measured, in time or by counters, stands alone.
    """
    alike: dict[object, list[int]] = {}
    for number, launch in enumerate(launches):
        sizes = launch.grid, launch.block, launch.dynamic_shared, launch.shared_bytes, len(launch.requests)
        facts: object = (launch.file, launch.kernel, launch.line, sizes, launch.sites, launch.arrays)
        if launch.time or launch.hardware or launch.counters:
            facts = number
        alike.setdefault(facts, []).append(number)
    groups: dict[object, list[int]] = {}
    for facts, numbers in alike.items():
        for number in numbers:  # what one launch asked for need not be hashed
            columns = (launches[number].requests, launches[number].totals) if len(numbers) > 1 else ()
            groups.setdefault((facts, *map(_digest, columns)), []).append(number)
    return tuple(map(tuple, sorted(groups.values())))


def times_made(launches: Iterable[Launch]) -> int:
    """Return how many launches of the run some launches stand for, with those that repeated them."""
    return sum(1 + launch.repeats for launch in launches)


def _digest(columns: Any) -> bytes:
    """Hash the arrays of a dataclass but for the values stored; None has none."""
    digest = hashlib.blake2b(digest_size=16)
    for column in fields(columns) if columns else ():
        if column.name != "values":
            digest.update(getattr(columns, column.name).tobytes())
    return digest.digest()
