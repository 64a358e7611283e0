"""Verdicts for the accesses of CUDA C++ as they are written, by those that the compiler leaves of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from smemviz.measure.ncu.reconcile import Reconciled
from smemviz.measure.ncu.verdicts import plural
from smemviz.messages import english
from smemviz.model.counting.costs import own_counts
from smemviz.model.counting.summary import SiteSummary
from smemviz.model.hardware.operations import effect_of
from smemviz.recordings.data import Launch, Site, SiteHardware

# Where the accesses that the compiler leaves belong, the first that is found.
_KEYS: tuple[Callable[[Site], object], ...] = (
    lambda site: (site.file, site.line, site.column, site.space, effect_of(site.op)),
    lambda site: (site.file, site.line, site.space, effect_of(site.op)),
    lambda site: (site.array, site.space, effect_of(site.op)),
)


def through_compiled(
    written: Launch, compiled: Launch, reconciled: Reconciled, cc: tuple[int, int]
) -> Reconciled | None:
    """Return verdicts for the source view of a launch from those of its compiled view.

    None when the compiler leaves an access that belongs to none of the source.
    """
    places = [_counterpart(site, written.sites) for site in compiled.sites]
    if None in places:
        return None
    rows = compiled.summary(cc)
    hardware = []
    for number, summary in enumerate(written.summary(cc)):
        own = [other for other, place in enumerate(places) if place == number]
        made = [(rows[other], reconciled.hardware[other]) for other in own]
        hardware.append(_verdict(summary, made, written.sites[number].space))
    return replace(reconciled, hardware=tuple(hardware))


def _counterpart(site: Site, sites: Sequence[Site]) -> int | None:
    for key in _KEYS:
        same = [number for number, other in enumerate(sites) if key(other) == key(site)]
        if same:
            return next((number for number in same if sites[number].width == site.width), same[0])
    return None


def _verdict(summary: SiteSummary, made: Sequence[tuple[SiteSummary, SiteHardware]], space: str) -> SiteHardware:
    """Return the verdict of one site, of which the compiler made others."""
    before = plural(summary.requests, "request")
    if not made:
        because = english("the compiler leaves none of its {before}", before=before)
        return SiteHardware(0, **own_counts(space, lambda name: 0), verdict="explained", because=because)
    first, row = made[0]
    if len(made) == 1 and _counts(first) == _counts(summary):
        return row
    requests = sum(row.requests for row, _ in made)
    because = "; ".join(dict.fromkeys(hardware.because for _, hardware in made))
    if requests != summary.requests:
        because = english(
            "the compiler makes {after} of {before}; {what}",
            after=plural(requests, "request"),
            before=before,
            what=because,
        )
    else:
        because = english("the compiler makes other accesses of it; {what}", what=because)
    executed = sum(hardware.requests for _, hardware in made)
    counts = own_counts(space, lambda name: sum(getattr(hardware, name) or 0 for _, hardware in made))
    return SiteHardware(executed, **counts, verdict="explained", because=because)


def _counts(row: SiteSummary) -> tuple[int | None, ...]:
    return row.requests, row.wavefronts, row.ideal, row.sectors
