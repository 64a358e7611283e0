"""Two launches side by side in shared memory: the tile of each, at the request that shows how they differ."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from smemviz.app.components.frames import scroller
from smemviz.app.components.graph import download
from smemviz.app.components.rich import rich
from smemviz.app.components.written_html import Drawn
from smemviz.i18n import _
from smemviz.model.playback.request_view import RequestView, worst_request
from smemviz.recordings.data import Launch
from smemviz.views.comparison import Row, extremes
from smemviz.views.one_request import drawn_request
from smemviz.wording.labels import capital
from smemviz.wording.sentences import present

_HIGHEST = 560  # pixels of a picture; two are on the first screen


def tiles(rows: Sequence[Row]) -> list[Component]:
    """Show the tiles of the two launches to look at, nothing where fewer than two use shared memory."""
    shared = [row for row in rows if any(array.nbytes for array in row.entry.launch.shared_arrays)]
    if len(shared) < 2:
        return []
    left, right = extremes(shared)
    lead = max((left, right), key=lambda row: row.excess)
    first = worst_request(lead.entry.launch, lead.entry.hardware)
    pictures = [_picture(row, _same_access(row, first), place) for place, row in enumerate((left, right))]
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


def _picture(row: Row, now: RequestView, place: int) -> Component:
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
