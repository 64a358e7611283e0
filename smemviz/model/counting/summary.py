"""Counts per site: of a launch, of requests that stream by and are not kept, and of bandwidth that is left unused."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from smemviz.model.counting.costs import SPACES, cached, own_counts, rule_at
from smemviz.model.counting.loops import PATTERNS, unit_of
from smemviz.model.counting.service import bytes_used, serve, serve_tables
from smemviz.model.hardware.hardware import H200, Hardware, same_rules, shared_rule
from smemviz.recordings.data import SECTOR_BYTES, WARP_SIZE, Launch, Requests, Site, SiteSummary, Totals

_Counts = TypeVar("_Counts")

# Totals are counted by the rules of this hardware, whatever card ran the kernel; all since 5.0 have the same.
TOTALS_FOR = H200

_KEPT = 4096  # different rows, before they are counted


@cached
def summarize(launch: Launch, hardware: Hardware = H200) -> tuple[SiteSummary, ...]:
    """Count each site of a launch as a compute capability would serve it, one row per site, in order.

    Raises:
        InputError: for an unknown compute capability or bank mode.
    """
    shared_rule(4, "load", hardware)  # refuses what does not exist, even where there is nothing to count
    counted = counted_totals(launch, hardware)
    whole = launch.totals or counted
    return tuple(
        # Wavefronts by other rules need the addresses.
        _row(site, whole, i, hardware.cc)
        if SPACES[site.space].everywhere
        else _row(site, counted, i, hardware.cc, complete=bool(counted.requests[i] == whole.requests[i]))
        for i, site in enumerate(launch.sites)
    )


def counted_totals(launch: Launch, hardware: Hardware = H200) -> Totals:
    """Return the totals of a launch: of the whole grid where it was counted by these rules, else of what was logged."""
    if launch.totals is not None and same_rules(hardware, TOTALS_FOR):
        return launch.totals
    return totals_of(launch.sites, launch.requests, hardware)


def totals_of(sites: Sequence[Site], requests: Requests, hardware: Hardware = H200) -> Totals:
    """Count requests per site; a site whose wavefronts cannot be told has 0 of them.

    Raises:
        InputError: for an unknown compute capability or bank mode, or requests that are not well formed.
    """
    counts = np.zeros((4, len(sites)), np.int64)
    totals = Totals(counts[0], counts[1], counts[2], counts[3], np.zeros((len(sites), WARP_SIZE + 1), np.int64))
    for i, site in enumerate(sites):
        addresses = requests.addresses[requests.site == i]
        totals.requests[i] = len(addresses)
        rule = rule_at(site, hardware)
        if rule is not None:
            _add_counts(totals, i, site, serve(addresses, rule))
    return totals


def added(left: _Counts, right: _Counts) -> _Counts:
    """Return the sum of two dataclasses of counts, field by field."""
    return type(left)(*(getattr(left, field.name) + getattr(right, field.name) for field in fields(cast(Any, left))))


class _Alike(NamedTuple):
    """Rows that others are counted as, and how many are; see ``count_alike``."""

    units: NDArray[np.int64]
    rows: NDArray[np.int64]
    sites: NDArray[np.int64]
    times: NDArray[np.int64]
    slots: NDArray[np.int64]
    found: NDArray[np.int64]


class Counting:
    """Adds requests to the totals of a launch that is not kept whole; they are known to be well formed."""

    def __init__(self, sites: Sequence[Site]) -> None:
        self._totals = totals_of(sites, Requests.empty())
        self._sites = sites
        self._rules = [rule_at(site, TOTALS_FOR) for site in sites]

    def add(self, i: int, tables: Sequence[NDArray[np.int64]], times: int | NDArray[np.int64]) -> None:
        """Add the requests of some tables to one site, all or each ``times`` over."""
        rule, rows = self._rules[i], sum(map(len, tables))
        self._totals.requests[i] += times.sum() if isinstance(times, np.ndarray) else rows * times
        if rule is not None:
            _add_counts(self._totals, i, self._sites[i], serve_tables(tables, rule), times)

    @cached_property
    def _alike(self) -> _Alike:
        rows = np.zeros((_KEPT, WARP_SIZE), np.int64)
        sites, times = np.zeros(_KEPT, np.int64), np.zeros(_KEPT, np.int64)
        return _Alike(
            self.units, rows, sites, times, np.full(len(self.units) * PATTERNS, -1, np.int64), np.zeros(1, np.int64)
        )

    def add_rows(self, rows: NDArray[np.int64], at: NDArray[np.int64]) -> None:
        """Add the requests of a table to the sites that they are ``at``; most are like one before, and counted once."""
        from smemviz.model.counting.jit import count_alike

        alike, begin = self._alike, 0
        while (begin := count_alike(rows, at, begin, *alike)) < len(rows):
            self._add_alike()

    def add_each(self, rows: NDArray[np.int64], sites: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        """Add rows of addresses, each so often."""
        for site in np.unique(sites).tolist():
            here = np.flatnonzero(sites == site)
            self.add(site, [rows[here]], times[here])

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """Of each site the power of two of the bytes that a request may move by and cost the same."""
        return np.array([unit_of(rule) if rule else 0 for rule in self._rules], np.int64)

    def add_totals(self, totals: Totals) -> None:
        """Add what has been counted elsewhere."""
        self._totals = added(self._totals, totals)

    def _add_alike(self) -> None:
        alike = self._alike
        found = int(alike.found[0])
        self.add_each(alike.rows[:found], alike.sites[:found], alike.times[:found])
        alike.slots[:], alike.found[:] = -1, 0

    @property
    def totals(self) -> Totals:
        """What has been added."""
        if "_alike" in vars(self):
            self._add_alike()
        return self._totals


def _add_counts(
    totals: Totals,
    i: int,
    site: Site,
    columns: Iterable[NDArray[np.int64]],
    times: int | NDArray[np.int64] = 1,
) -> None:
    for name, counts in zip(SPACES[site.space].counts, columns, strict=False):
        if name == "degree":
            each = times if isinstance(times, np.ndarray) else np.full(len(counts), times)
            totals.degrees[i] += np.bincount(counts, each, minlength=WARP_SIZE + 1).astype(np.int64)
        else:
            getattr(totals, name)[i] += (counts * times).sum()


def _row(site: Site, totals: Totals, i: int, cc: tuple[int, int], *, complete: bool = True) -> SiteSummary:
    requests = int(totals.requests[i])
    reason = SPACES[site.space].unknown(site, cc)
    if reason is not None:
        # Plain data, which forgets the message that the reason was made of.
        return SiteSummary(requests, None, None, None, None, None, complete, str(reason))
    counts = own_counts(site.space, lambda name: int(getattr(totals, name)[i]))
    wavefronts, ideal = counts["wavefronts"], counts["ideal"]
    if wavefronts is None or ideal is None:
        return SiteSummary(requests, None, None, None, None, counts["sectors"], complete)
    max_degree = int(np.flatnonzero(totals.degrees[i]).max(initial=0))
    return SiteSummary(requests, wavefronts, ideal, wavefronts - ideal, max_degree, None, complete)


@cached
def bytes_wasted(launch: Launch, site: int, hardware: Hardware = H200) -> int | None:
    """Count the bytes that sectors moved, or that wavefronts could have moved, and that no lane asked for.

    Every byte of a request is asked for once. None where wavefronts do not follow from the addresses, and where part of
    the requests was not logged, so that it is not known what they asked for.
    """
    chosen, row = launch.sites[site], summarize(launch, hardware)[site]
    addresses = launch.requests.addresses[launch.requests.site == site]
    if not row.complete or len(addresses) < row.requests:
        return None
    if row.sectors is not None:
        return row.sectors * SECTOR_BYTES - int(bytes_used(addresses, chosen.width).sum())
    if row.wavefronts is None:
        return None
    rule = shared_rule(chosen.width, chosen.op, hardware)
    addresses = addresses.copy()
    addresses[:, rule.lanes :] = -1  # past the last matrix no lane asks
    return (row.wavefronts << rule.row_shift) - int(bytes_used(addresses, chosen.width).sum())
