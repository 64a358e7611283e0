"""Launches side by side in global memory: the request of each site that moves the most, in its lines and sectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dash import html
from dash.development.base_component import Component

from smemviz.app.components.frames import scroller
from smemviz.app.components.graph import download, graph
from smemviz.app.components.rich import rich
from smemviz.figures.drawing.style import ThemeName
from smemviz.figures.sectors import largest_request, sectors
from smemviz.i18n import N_, _
from smemviz.languages import spelling_of
from smemviz.model.counting.global_traffic import traffic_of
from smemviz.views.comparison import Row
from smemviz.wording.labels import clauses, efficiency_text, operation_name

_MOST = 3  # launches that fit beside each other
_KEY = N_(
    "A row is a 128-byte line. Filled, with its lane (L0 to L31): bytes that a lane uses. Framed: a sector that is "
    "moved. Struck through: moved and not used."
)
_COST = N_("{operation} {source}: sectors per request {sectors:.4g}, efficiency {efficiency}")


def side_by_side(rows: Sequence[Row], theme: ThemeName) -> list[Component]:
    """Show for each launch, in a column, what a request of each of its global sites moves."""
    if len(rows) > _MOST:
        return [
            html.P(_("Pick {most} launches or fewer to see their requests side by side.", most=_MOST), className="note")
        ]
    if len(rows) < 2:
        return [html.P(_("Pick a second launch to see requests side by side."), className="note")]
    columns = [_column(row, i, theme) for i, row in enumerate(rows)]
    return [html.P(_(_KEY), className="note"), html.Div(columns, className="requests-of")]


def _column(row: Row, place: int, theme: ThemeName) -> Component:
    pictures = [_picture(row, site, place, theme) for site in row.entry.launch.sites_in("global")]
    none = [html.P(_("No request goes to global memory."), className="note")]
    return html.Div([html.H3(row.entry.name), *(pictures or none)])


def _picture(row: Row, site: int, place: int, theme: ThemeName) -> Component:
    launch = row.entry.launch
    chosen, now, traffic = launch.sites[site], largest_request(launch, site), traffic_of(launch, site)
    if now is None or traffic is None or traffic.sectors_per_request is None or traffic.efficiency is None:
        return html.P(rich("{source}: no request was logged", source=html.Code(chosen.source)), className="note")
    figure = sectors(replace(now, spelling=spelling_of(row.entry.file)), theme=theme, legend=False)
    picture = graph({"type": "request-of", "launch": place, "site": site}, figure)
    cost = {
        "operation": operation_name(chosen.op),
        "sectors": traffic.sectors_per_request,
        "efficiency": efficiency_text(traffic.efficiency),
    }
    return html.Figure(
        [
            html.Figcaption(rich(_COST, source=html.Code(chosen.source), **cost)),
            download(clauses(launch.kernel, f"{operation_name(chosen.op)} {chosen.source}")),
            scroller(html.Div(picture, className="sheet narrow"), label=_(_COST, source=chosen.source, **cost)),
        ],
        className="request-of",
    )
