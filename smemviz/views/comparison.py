"""Launches side by side as data: a row each, for the pictures, the table and the CSV."""

import csv
import io
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from smemviz.i18n import N_, _, speaking
from smemviz.model.counting.global_traffic import Traffic, add_traffic, traffic_of
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.hardware.operations import effect_of
from smemviz.printable import spreadsheet_cell
from smemviz.recordings.data import Launch, Site, SiteSummary
from smemviz.wording.impact import Impact, Measured, impact
from smemviz.wording.labels import access_name, count, duration
from smemviz.wording.sentences import facts

KINDS = ("store", "load", "update")
COMPILED_HEADS = ("line", "access", "operation", "requests", "wavefronts", "bytes", "compiler")
_AS_WRITTEN = N_("as it is written")
_REMOVED = N_("removed: its value is known without it, or never used")
_WIDER = N_("merged with its neighbours into wider accesses")
_NARROWER = N_("only the part of it that is used")
_FEWER = N_("left out in part: what is known stays in registers")
_MORE = N_("more often than it is written")
_NEW = N_("merged from accesses at several places")


@dataclass(frozen=True)
class Entry:
    """A launch to compare: its name in pictures, what its wavefronts are counted for, and where they come from."""

    name: str
    file: str
    launch: Launch
    hardware: Hardware
    origin: str
    measured: Measured | None = None


@dataclass(frozen=True)
class Wavefronts:
    """Wavefronts of one kind of access, and how few could have done."""

    wavefronts: int
    ideal: int

    @property
    def excess(self) -> int:
        """The wavefronts beyond the ideal."""
        return self.wavefronts - self.ideal


@dataclass(frozen=True)
class Row:
    """What is compared of one launch.

    ``wavefronts_by_kind`` is of shared and ``traffic_by_kind`` of global memory, with a row per kind of ``KINDS``.
    ``uncounted`` shared sites are left out, for their wavefronts depend on the data. ``against_best`` is the median as
    a multiple of the least among those compared.
    """

    entry: Entry
    wavefronts_by_kind: dict[str, Wavefronts]
    traffic_by_kind: dict[str, Traffic]
    excess: int
    degree: int
    sectors: int
    uncounted: int
    impact: Impact | None
    against_best: float | None


def compared(entries: Sequence[Entry]) -> tuple[Row, ...]:
    """Count and compare launches, one row each, in order."""
    measured = [entry.measured for entry in entries if entry.measured]
    best = min((row.time.median_us for row in measured), default=0.0)
    return tuple(_row(entry, measured, best) for entry in entries)


def extremes(rows: Sequence[Row]) -> tuple[Row, Row]:
    """Return two launches to look at: the slowest and the fastest, or those with the most and the fewest wavefronts.

    Where there are only two, or all are alike, it is the first two.
    """
    timed = [row for row in rows if row.against_best is not None]
    measure = (timed, _against_best) if len(timed) > 1 else (rows, wavefronts)
    most, least = max(measure[0], key=measure[1]), min(measure[0], key=measure[1])
    return (rows[0], rows[1]) if len(rows) == 2 or most is least else (most, least)


def _against_best(row: Row) -> float:
    return row.against_best or 0


def headline(rows: Sequence[Row]) -> str:
    """Say the one thing to know: the slowest against the fastest, or else the most wavefronts."""
    timed = [row for row in rows if row.against_best is not None and row.entry.measured]
    if len(timed) > 1:
        slow, fast = max(timed, key=_against_best), min(timed, key=_against_best)
        return _(
            "{slow} takes {times:.2f} times as long as {fast}",
            slow=slow.entry.name,
            times=slow.against_best,
            fast=fast.entry.name,
        )
    most, least = max(rows, key=wavefronts), min(rows, key=wavefronts)
    if wavefronts(most) == 0 and any(row.sectors for row in rows):
        many, few = (choose(rows, key=lambda row: row.sectors) for choose in (max, min))
        if many.sectors == few.sectors:
            return _("{sectors} each", sectors=count(many.sectors, "sector"))
        return _(
            "{one} moves {sectors}, {other} {fewer:,}",
            one=many.entry.name,
            sectors=count(many.sectors, "sector"),
            other=few.entry.name,
            fewer=few.sectors,
        )
    if wavefronts(most) == wavefronts(least):
        return _("{wavefronts} each", wavefronts=count(wavefronts(most), "wavefront"))
    return _(
        "{one} takes {wavefronts}, {other} {fewer:,}",
        one=most.entry.name,
        wavefronts=count(wavefronts(most), "wavefront"),
        other=least.entry.name,
        fewer=wavefronts(least),
    )


def wavefronts(row: Row) -> int:
    """Return the wavefronts of all kinds."""
    return sum(counted.wavefronts for counted in row.wavefronts_by_kind.values())


def total_traffic(row: Row) -> Traffic:
    """Return what the requests of all kinds moved in global memory."""
    return add_traffic(row.traffic_by_kind.values())


def coalescing(row: Row) -> str:
    """Say whether the accesses to global memory are coalesced, or name the one that moves most beyond its need."""
    launch = row.entry.launch
    traffics = ((site, traffic_of(launch, i)) for i, site in enumerate(launch.sites))
    known = [(site, traffic) for site, traffic in traffics if traffic and traffic.logged]
    if not known:
        return _("none")
    site, worst = max(known, key=lambda pair: pair[1].logged_sectors - pair[1].fewest)
    if worst.logged_sectors == worst.fewest:
        return _("coalesced")
    return _("not coalesced: {access}", access=site.source)


def time_origin(measured: Measured) -> str:
    """Say what a time was measured on."""
    origin = {"card": measured.device.name, "driver": measured.device.driver, "date": measured.time.date}
    if measured.here:
        return _("measured here on {card}, driver {driver}, {date}", **origin)
    return _("measured on {card}, driver {driver}, {date}", **origin)


def to_csv(rows: Sequence[Row]) -> str:
    """Write the rows as CSV (RFC 4180), times in microseconds; what was not measured is left empty.

    It speaks English, and so should who compares the rows.
    """
    text = io.StringIO()
    with speaking("en"):
        writer = csv.DictWriter(text, fieldnames=list(_record(rows[0])), lineterminator="\r\n")
        writer.writeheader()
        writer.writerows({name: spreadsheet_cell(cell) for name, cell in _record(row).items()} for row in rows)
    return text.getvalue()


def _row(entry: Entry, measured: Sequence[Measured], best: float) -> Row:
    summary = summarize(entry.launch, entry.hardware)
    shared = [(entry.launch.sites[i], summary[i]) for i in entry.launch.sites_in("shared")]
    by_kind = {}
    for kind in KINDS:
        rows = [row for site, row in shared if effect_of(site.op) == kind]
        by_kind[kind] = Wavefronts(sum(row.wavefronts or 0 for row in rows), sum(row.ideal or 0 for row in rows))
    time = entry.measured.time.median_us if entry.measured else None
    total = facts(entry.launch, entry.hardware)
    return Row(
        entry,
        by_kind,
        {kind: _traffic(entry.launch, kind) for kind in KINDS},
        total.excess,
        total.max_degree,
        total.sectors,
        total.uncounted,
        impact(entry.measured, measured) if entry.measured else None,
        time / best if time is not None and best else None,
    )


def _traffic(launch: Launch, kind: str) -> Traffic:
    of_sites = [traffic_of(launch, i) for i, site in enumerate(launch.sites) if effect_of(site.op) == kind]
    return add_traffic(traffic for traffic in of_sites if traffic is not None)


def _record(row: Row) -> dict[str, object]:
    entry, measured = row.entry, row.entry.measured
    time = measured.time if measured else None
    judged = row.impact
    record: dict[str, object] = {
        "file": entry.file,
        "launch": entry.name,
        "grid": "x".join(map(str, entry.launch.grid)),
        "block": "x".join(map(str, entry.launch.block)),
        "counted_for": entry.hardware.name,
    }
    for kind in KINDS:
        counted = row.wavefronts_by_kind[kind]
        record |= {f"{kind}_wavefronts": counted.wavefronts, f"{kind}_ideal": counted.ideal}
    record |= {
        "excess": row.excess,
        "max_degree": row.degree,
        "data_dependent_sites": row.uncounted,
        "shared_bytes": entry.launch.shared_bytes,
        "sectors": row.sectors,
        "sectors_per_request": _number(total_traffic(row).sectors_per_request),
        "efficiency": _number(total_traffic(row).efficiency),
        "global_accesses": coalescing(row),
        "requests_from": entry.origin,
    }
    for name in ("median_us", "low_us", "high_us", "p5_us", "p95_us", "floor_us", "net_us", "samples", "nodes"):
        record[name] = _number(getattr(time, name)) if time else None
    return record | {
        "against_best": _number(row.against_best),
        "excess_cycles": _number(judged.cost.cycles) if judged else None,
        "excess_us": _number(judged.cost.lost_us) if judged else None,
        "excess_share_of_net": _number(judged.share) if judged else None,
        "does_it_matter": judged.sentence if judged else None,
        "time_from": time_origin(measured) if measured else "not measured",
    }


def _number(value: float | None) -> float | None:
    """Round to what is worth writing."""
    return None if value is None else round(value, 4)


def time_text(row: Row) -> str:
    """Write a launch's median, or that there is none."""
    return duration(row.entry.measured.time.median_us) if row.entry.measured else _("not measured")


def compiled_rows(source: Launch, compiled: Launch, hardware: Hardware) -> list[list[str]]:
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
                _(_what_became(sites[0], sites[1], *requests)),
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


def _what_became(source: Sequence[Site], compiled: Sequence[Site], before: int, after: int) -> str:
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
