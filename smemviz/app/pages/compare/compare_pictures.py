"""Launches side by side, pictured: in shared memory the tiles of two, in global memory a request of each site."""

from collections.abc import Sequence
from dataclasses import replace

from dash import html
from dash.development.base_component import Component

from smemviz.app.components.frames import scroller
from smemviz.app.components.graph import download, graph
from smemviz.app.components.rich import rich
from smemviz.app.components.written_html import Drawn
from smemviz.figures.drawing.style import ThemeName
from smemviz.figures.sectors import largest_request, sectors
from smemviz.i18n import N_, _
from smemviz.languages import spelling_of
from smemviz.model.counting.global_traffic import traffic_of
from smemviz.model.playback import RequestView, worst_request
from smemviz.recordings.data import Launch
from smemviz.views.comparison import Row, extremes
from smemviz.views.one_request import drawn_request
from smemviz.wording.labels import capital, clauses, efficiency_text, operation_name
from smemviz.wording.sentences import present

_HIGHEST = 560  # pixels of a picture; two are on the first screen
_MOST = 3  # launches that fit beside each other
_KEY = N_(
    "A row is a 128-byte line. Filled, with its lane (L0 to L31): bytes that a lane uses. Framed: a sector that is "
    "moved. Struck through: moved and not used."
)
_COST = N_("{operation} {source}: sectors per request {sectors:.4g}, efficiency {efficiency}")


def tiles(rows: Sequence[Row]) -> list[Component]:
    """Show the tiles of the two launches to look at, nothing where fewer than two use shared memory."""
    shared = [row for row in rows if any(array.nbytes for array in row.entry.launch.shared_arrays)]
    if len(shared) < 2:
        return []
    left, right = extremes(shared)
    lead = max((left, right), key=lambda row: row.excess)
    first = worst_request(lead.entry.launch, lead.entry.hardware)
    pictures = [_tile_of(row, _same_access(row, first), place) for place, row in enumerate((left, right))]
    if len(shared) == 2:
        return pictures
    return [*pictures, html.P(_("Pick two launches to see the tiles of others."), className="note")]


def _same_access(row: Row, other: RequestView) -> RequestView:
    """Return the worst request of a launch at the access that is like the one of another launch, else of all."""
    launch: Launch = row.entry.launch
    wanted = other.site
    if wanted is None:
        return worst_request(launch, row.entry.hardware)
    alike = [i for i, site in enumerate(launch.sites) if (site.space, site.op) == (wanted.space, wanted.op)]
    alike.sort(key=lambda i: launch.sites[i].source != wanted.source)
    return worst_request(launch, row.entry.hardware, site=alike[0] if alike else None)


def _tile_of(row: Row, now: RequestView, place: int) -> Component:
    launch, hardware = row.entry.launch, row.entry.hardware
    site = now.site
    name = site.array if site and site.is_shared else ""
    arrays = [array for array in launch.shared_arrays if array.nbytes]
    array = next((array for array in arrays if array.name == name), arrays[0])
    says = present(now, hardware)
    drawn = Drawn({"type": "tile-of", "launch": place}, "tile", _HIGHEST, drawn_request(now, array, says, hardware))
    sentence = capital(says)
    code = html.Code(site.source if site else array.name)
    return html.Section(
        [
            html.Div([html.H2(row.entry.name), download(row.entry.name)], className="panel-head"),
            html.P(rich("{source}: {sentence}", source=code, sentence=sentence), className="tile-sentence"),
            scroller(drawn, label=_("Tile of {name}", name=row.entry.name)),
        ],
        className="panel tile-of",
        **{"aria-label": row.entry.name},
    )


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
    pictures = [_request_of(row, site, place, theme) for site in row.entry.launch.sites_in("global")]
    none = [html.P(_("No request goes to global memory."), className="note")]
    return html.Div([html.H3(row.entry.name), *(pictures or none)])


def _request_of(row: Row, site: int, place: int, theme: ThemeName) -> Component:
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
