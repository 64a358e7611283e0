"""What the compiler made of each access of a kernel in CUDA C++: rows of a table."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from smemviz.i18n import N_, _
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.data import Launch, Site, SiteSummary
from smemviz.wording.labels import access_name

HEADS = ("line", "access", "operation", "requests", "wavefronts", "bytes", "compiler")
_AS_WRITTEN = N_("as it is written")
_REMOVED = N_("left out: its value is known without it, or never needed")
_WIDER = N_("merged with its neighbours into wider accesses")
_NARROWER = N_("only the part of it that is used")
_FEWER = N_("left out in part: what is known stays in registers")
_MORE = N_("more often than it is written")
_NEW = N_("merged of accesses at several places, or its own")


def rows(source: Launch, compiled: Launch, hardware: Hardware) -> list[list[str]]:
    """Return a row for each access as it is written, and then for those that only the compiler's result has."""
    sides = [_by_place(launch, hardware) for launch in (source, compiled)]
    listed = []
    for place in dict.fromkeys((*sides[0], *sides[1])):
        pairs = [side.get(place, []) for side in sides]
        sites = [[site for site, _counts in pair] for pair in pairs]
        site = (sites[0] or sites[1])[0]
        requests = [sum(counts.requests for _site, counts in pair) for pair in pairs]
        wavefronts = [sum(counts.wavefronts or 0 for _site, counts in pair) for pair in pairs]
        widths = [", ".join(str(width) for width in sorted({site.width for site in side})) for side in sites]
        listed.append(
            [
                str(site.line),
                site.source or site.array,
                access_name(site.space, site.op),
                _change([f"{value:,}" for value in requests]),
                _change([f"{value:,}" for value in wavefronts] if site.is_shared else ["-"]),
                _change([width for width in widths if width]),
                _(_sentence(sites[0], sites[1], *requests)),
            ]
        )
    return listed


def _by_place(launch: Launch, hardware: Hardware) -> dict[Hashable, list[tuple[Site, SiteSummary]]]:
    """Return what stands at each place of the text and does the same; the compiler may have made several of one."""
    places: dict[Hashable, list[tuple[Site, SiteSummary]]] = {}
    for site, counts in zip(launch.sites, summarize(launch, hardware), strict=True):
        place = site.file, site.line, site.column, site.end_line, site.end_column, site.space, site.op, site.function
        places.setdefault(place, []).append((site, counts))
    return places


def _sentence(source: Sequence[Site], compiled: Sequence[Site], before: int, after: int) -> str:
    if not source:
        return _NEW
    if not compiled:
        return _REMOVED
    was, now = (max(site.width for site in sites) for sites in (source, compiled))
    if was != now:
        return _WIDER if now > was else _NARROWER
    if after == before:
        return _AS_WRITTEN
    return _FEWER if after < before else _MORE


def _change(texts: Sequence[str]) -> str:
    return " → ".join(dict.fromkeys(texts))
