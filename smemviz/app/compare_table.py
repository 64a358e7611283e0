"""What the compare page says in a table and in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app.run_view import Query
from smemviz.figures.compared import KINDS, Row, all_moved
from smemviz.figures.labels import duration, efficiency_text, percent

NOT_MEASURED = "not measured"
NO_TIME = "Not known: its time was not measured."


def compare_table(rows: Sequence[Row], links: Sequence[Query]) -> Component:
    """Show everything that is compared, a row per launch; ``links`` are the queries of their kernel pages."""
    kinds = [kind for kind in KINDS if kind != "update" or any(row.traffic[kind].wavefronts for row in rows)]
    heads = ["Launch", *(f"{kind.capitalize()} wavefronts" for kind in kinds), "Excess", "Degree", "Shared bytes"]
    heads += ["Sectors", "Sectors per request", "Efficiency", "Time", "Net", "Against best", "Does it matter?"]
    return html.Table(
        [
            html.Caption("Launches side by side", className="visually-hidden"),
            html.Thead(html.Tr([html.Th(head, scope="col") for head in heads])),
            html.Tbody([_row(row, link, kinds) for row, link in zip(rows, links, strict=True)]),
        ],
        className="table compare",
    )


def _row(row: Row, link: Query, kinds: Sequence[str]) -> Component:
    time = row.entry.measured.time if row.entry.measured else None
    counts = [f"{row.traffic[kind].wavefronts:,}" for kind in kinds]
    degree = f"{row.degree}-way" if row.degree else "none"
    if row.uncounted:
        degree = f"{degree}; {row.uncounted} data-dependent"
    cells: list[object] = [
        *counts,
        html.Span(f"▲ {row.excess:,}", className="conflict") if row.excess else "0",
        degree,
        f"{row.entry.launch.shared_bytes:,}",
        f"{row.sectors:,}",
        *_moved(row),
        duration(time.median_us) if time else NOT_MEASURED,
        duration(time.net_us) if time else NOT_MEASURED,
        f"{row.against_best:.2f} x" if row.against_best else NOT_MEASURED,
        _matter(row),
    ]
    name = dcc.Link(row.entry.name, href="/kernel?" + urlencode(link))
    return html.Tr([html.Th(name, scope="row"), *(html.Td(cell) for cell in cells)])


def _moved(row: Row) -> tuple[str, str]:
    """Return sectors per request and the part of the bytes moved that is used."""
    moved = all_moved(row)
    each, used = moved.sectors_per_request, moved.efficiency
    return "none" if each is None else f"{each:.4g}", "none" if used is None else efficiency_text(used)


def _matter(row: Row) -> str:
    """Answer in a few words."""
    if row.matter is None:
        return NOT_MEASURED
    lost, share = row.matter.cost.lost_us, row.matter.share
    if not lost or share is None:
        return row.matter.answer
    return f"{row.matter.answer}: {duration(lost)}, {percent(share)} of net"


def compare_matters(rows: Sequence[Row]) -> list[Component]:
    """Say of each launch whether its excess matters, and what that rests on."""
    told = [
        html.Div(
            [
                html.Dt(row.entry.name),
                html.Dd([html.Strong(f"{row.matter.answer}. "), row.matter.sentence] if row.matter else NO_TIME),
            ]
        )
        for row in rows
        if row.excess or (row.matter and row.matter.cost.wavefronts)
    ]
    bases = dict.fromkeys(row.matter.basis for row in rows if row.matter and row.matter.basis)
    without = [row.entry.name for row in rows if not row.excess]
    return [
        html.Dl(told, className="matters"),
        *([html.P(f"No wavefront in excess: {', '.join(without)}.")] if without else []),
        *(html.P(basis, className="note") for basis in bases),
    ]
