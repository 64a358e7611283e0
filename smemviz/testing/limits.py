"""What a limit is about, whether it holds, and which request to show when it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from smemviz.errors import InputError
from smemviz.model.counting.service import count, sectors
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.recordings.data import Launch, Site, SiteSummary, Space
from smemviz.recordings.recording import Recording
from smemviz.testing.witness import Exceeding, Quantity, Witness, witness


@dataclass(frozen=True)
class Limit:
    """At most so much of a quantity: the degree or the sectors per request of each site, the excess of all together."""

    quantity: Quantity
    most: float

    def __post_init__(self) -> None:
        least = 1 if self.quantity == "max_degree" else 0
        if isinstance(self.most, bool) or not isinstance(self.most, int | float) or not self.most >= least:
            raise InputError(f"{self.quantity} must be a number of {least} or more, not {self.most!r}")

    @property
    def space(self) -> Space:
        """The memory it is about."""
        return "global" if self.quantity == "sectors_per_request" else "shared"


@dataclass(frozen=True)
class SiteSelection:
    """The sites that are meant: at a line, written so, or one of them; nothing given means all."""

    line: int | None = None
    source: str | None = None
    site: Site | None = None

    def holds(self, site: Site) -> bool:
        """Whether a site is meant."""
        return (
            self.line in (None, site.line)
            and self.source in (None, site.source)
            and (self.site is None or self.site == site)
        )

    @property
    def text(self) -> str:
        """What was asked for, in words."""
        parts = [f"line {self.line}"] if self.line is not None else []
        parts += [self.source] if self.source is not None else []
        parts += [f"{self.site.source} in line {self.site.line}"] if self.site is not None else []
        return ", ".join(parts)


class _Counted(NamedTuple):
    number: int
    site: Site
    row: SiteSummary


def exceeded(
    recording: Recording, launch: Launch, limit: Limit, selection: SiteSelection, hardware: Hardware = H200
) -> Witness | None:
    """Return what shows that a launch exceeds a limit, None when it keeps it.

    Raises:
        InputError: when there is nothing to check, or it cannot be told: that is no way to pass.
    """
    counted = _counted(recording, launch, limit, selection, hardware)
    amounts: list[float] = (
        [getattr(row, limit.quantity) for _, _, row in counted]
        if limit.space == "shared"
        else [(row.sectors or 0) / row.requests if row.requests else 0.0 for _, _, row in counted]
    )
    total = sum(amounts) if limit.quantity == "excess" else max(amounts)
    if total <= limit.most:
        return None
    worst = counted[int(np.argmax(amounts))]
    exceeding = Exceeding(
        limit.quantity,
        limit.most,
        max(amounts),
        total,
        worst.number,
        _request(launch, worst, limit, hardware),
        tuple(row.number for row in counted),
    )
    return witness(recording, launch, exceeding, hardware)


def concerns(launch: Launch, limit: Limit, selection: SiteSelection) -> bool:
    """Whether a launch ran a site that a limit is about and that is meant."""
    rows = zip(launch.sites, launch.summary(), strict=True)
    return any(site.space == limit.space and selection.holds(site) and row.requests for site, row in rows)


def _counted(
    recording: Recording, launch: Launch, limit: Limit, selection: SiteSelection, hardware: Hardware
) -> Sequence[_Counted]:
    """Return the selected sites of the limit's memory with their counts; refuse what would check nothing."""
    place = f"{recording.file_of(launch)}:{launch.line}: {launch.kernel}"
    meant = [(i, site) for i, site in enumerate(launch.sites) if selection.holds(site)]
    here = [(i, site) for i, site in meant if site.space == limit.space]
    if not here:
        where = f" at {selection.text}" if selection.text else ""
        has = ", ".join(dict.fromkeys(f"{s.line} {s.source}" for s in launch.sites if s.space == limit.space)) or "none"
        raise InputError(f"{place} has no access to {limit.space} memory{where}; it has: {has}")
    rows = summarize(launch, hardware)
    counted = [_Counted(i, site, rows[i]) for i, site in here]
    if not any(row.row.requests for row in counted):
        raise InputError(f"{place} never ran {', '.join(dict.fromkeys(site.source for _, site in here))}")
    for _, site, row in counted:
        if row.reason is not None:
            raise InputError(f"{place}: line {site.line}, {site.source} cannot be checked. {row.reason}")
        if not row.complete:
            raise InputError(f"{place}: line {site.line}, {site.source} cannot be checked: not all of it was logged")
    return counted


def _request(launch: Launch, worst: _Counted, limit: Limit, hardware: Hardware) -> int | None:
    """Return the row of the logged request of a site that has the most of a quantity, None where none was logged."""
    rows = np.flatnonzero(launch.requests.site == worst.number)
    if not len(rows):
        return None
    addresses = launch.requests.addresses[rows]
    if limit.quantity == "sectors_per_request":
        return int(rows[np.argmax(sectors(addresses, worst.site.width))])
    counts = count(addresses, worst.site.width, worst.site.op, hardware)
    excess = counts.wavefronts - counts.ideal
    if not excess.any():  # the logged blocks are not those that exceed
        return None
    return int(rows[np.argmax(counts.degree if limit.quantity == "max_degree" else excess)])
