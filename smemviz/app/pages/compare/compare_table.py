"""What the compare page says in a table and in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app.addresses import KERNEL
from smemviz.app.components.launches import Query
from smemviz.app.components.rich import rich
from smemviz.app.components.tables import table
from smemviz.i18n import N_, _
from smemviz.views.comparison import KINDS, Row, coalescing, total_traffic
from smemviz.wording.labels import degree_name, duration, efficiency_text, names, percent

_WAVEFRONTS = {"store": N_("Store wavefronts"), "load": N_("Load wavefronts"), "update": N_("Update wavefronts")}


def compare_table(rows: Sequence[Row], links: Sequence[Query]) -> Component:
    """Show everything that is compared, a row per launch; ``links`` are the queries of their kernel pages."""
    kinds = [kind for kind in KINDS if kind != "update" or any(row.wavefronts_by_kind[kind].wavefronts for row in rows)]
    heads = [_("Launch"), *(_(_WAVEFRONTS[kind]) for kind in kinds), _("Excess"), _("Degree"), _("Shared bytes")]
    heads += [_("Sectors"), _("Sectors per request"), _("Efficiency"), _("Global accesses")]
    heads += [_("Time"), _("Net"), _("Against best"), _("Does it matter?")]
    body = (_row(row, link, kinds) for row, link in zip(rows, links, strict=True))
    return table("compare", _("Launches side by side"), heads, body)


def _row(row: Row, link: Query, kinds: Sequence[str]) -> list[object]:
    time = row.entry.measured.time if row.entry.measured else None
    counts = [f"{row.wavefronts_by_kind[kind].wavefronts:,}" for kind in kinds]
    degree = degree_name(row.degree) if row.degree else _("none")
    if row.uncounted:
        degree = _("{degree}; {n} data-dependent", degree=degree, n=row.uncounted)
    return [
        dcc.Link(row.entry.name, href=f"{KERNEL}?{urlencode(link)}"),
        *counts,
        html.Span(f"▲ {row.excess:,}", className="conflict") if row.excess else "0",
        degree,
        f"{row.entry.launch.shared_bytes:,}",
        f"{row.sectors:,}",
        *_traffic_cells(row),
        coalescing(row),
        duration(time.median_us) if time else _("not measured"),
        duration(time.net_us) if time else _("not measured"),
        f"{row.against_best:.2f} x" if row.against_best else _("not measured"),
        _impact(row),
    ]


def _traffic_cells(row: Row) -> tuple[str, str]:
    """Return sectors per request and the part of the bytes moved that is used."""
    traffic = total_traffic(row)
    each, used = traffic.sectors_per_request, traffic.efficiency
    return _("none") if each is None else f"{each:.4g}", _("none") if used is None else efficiency_text(used)


def _impact(row: Row) -> str:
    """Answer in a few words."""
    if row.impact is None:
        return _("not measured")
    lost, share = row.impact.cost.lost_us, row.impact.share
    if not lost or share is None:
        return row.impact.answer
    return _("{answer}: {time}, {share} of net", answer=row.impact.answer, time=duration(lost), share=percent(share))


def compare_impact(rows: Sequence[Row]) -> list[Component]:
    """Say of each launch whether its excess matters, and what that rests on."""
    terms = [
        html.Div([html.Dt(row.entry.name), html.Dd(_described(row))])
        for row in rows
        if row.excess or (row.impact and row.impact.cost.wavefronts)
    ]
    bases = dict.fromkeys(row.impact.basis for row in rows if row.impact and row.impact.basis)
    without = [row.entry.name for row in rows if not row.excess]
    return [
        html.Dl(terms, className="impacts"),
        *([html.P(_("No wavefront in excess: {launches}.", launches=names(*without)))] if without else []),
        *(html.P(basis, className="note") for basis in bases),
    ]


def _described(row: Row) -> list[Component | str]:
    if row.impact is None:
        return [_("Not known: its time was not measured.")]
    answer = html.Strong(_("{answer}.", answer=row.impact.answer))
    return rich("{before} {after}", before=answer, after=row.impact.sentence)
