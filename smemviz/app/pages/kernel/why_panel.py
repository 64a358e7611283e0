"""Why the present site costs what it costs, and what would fix it."""

from __future__ import annotations

from functools import lru_cache

from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app.addresses import GPUS
from smemviz.app.components.launches import Filling, Query
from smemviz.app.components.links import access_query
from smemviz.app.components.rich import rich
from smemviz.app.library import Library
from smemviz.app.pages.kernel.look_view import looked_at
from smemviz.frontends.numba.sites.loaded import loaded_sites
from smemviz.i18n import _
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.data import Launch
from smemviz.recordings.recording import Recording
from smemviz.recordings.spelling import spelling_of
from smemviz.wording.explanations import Explained, Explaining
from smemviz.wording.grammar import capital

WHY_PROPERTIES = ("why-panel.hidden", "why-title.children", "why.children", "why-gpus.children")


def why_panel() -> Component:
    """Lay out the panel; it is hidden while there is nothing to explain."""
    return html.Section(
        [html.H2(id="why-title"), html.Div(id="why", className="why"), html.P(id="why-gpus", className="note")],
        id="why-panel",
        className="panel",
        hidden=True,
        **{"aria-labelledby": "why-title"},
    )


def view_why(library: Library, run_query: Query, look_query: Query) -> Filling:
    """Explain the site that is looked at; nothing where the run is refused."""
    found = looked_at(library, run_query, look_query)
    if found is None:
        return {}
    launch, row = found.launch, found.now.row
    if row is None:
        return {"why-panel.hidden": True}
    site = int(launch.requests.site[row])
    return {
        "why-panel.hidden": False,
        "why-title.children": rich("Why {source} costs what it costs", source=html.Code(launch.sites[site].source)),
        "why.children": _paragraphs(_explaining(_Same(found.shown.recording, launch), found.hardware).site(site)),
        "why-gpus.children": _on_every_gpu(run_query, look_query, launch, row),
    }


def _paragraphs(said: Explained) -> list[Component]:
    pattern = capital(_("{pattern}.", pattern=said.pattern))
    lines = [(_("Pattern."), pattern), (_("Reason."), said.because), (_("Fix."), said.fix)]
    return [html.P(rich("{before} {after}", before=html.Strong(name), after=text)) for name, text in lines if text]


def _on_every_gpu(run: Query, look: Query, launch: Launch, row: int) -> list[Component]:
    """Link to this very request, also where it was chosen for the reader; global memory has no banks."""
    requests = launch.requests
    if launch.sites[requests.site[row]].space == "global":
        return []
    site, block, warp, step = (str(one[row]) for one in (requests.site, requests.block, requests.warp, requests.step))
    query = access_query(run, look | {"site": site, "block": block, "warp": warp, "step": step})
    return [dcc.Link(_("The same request on every GPU"), href=f"{GPUS}?{query}")]


class _Same:
    """A launch as a key: equal only to itself, so that a step on the page explains nothing twice."""

    def __init__(self, recording: Recording, launch: Launch) -> None:
        self.recording = recording
        self.launch = launch

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.launch is self.launch

    def __hash__(self) -> int:
        return id(self.launch)


@lru_cache(maxsize=2)
def _explaining(same: _Same, hardware: Hardware) -> Explaining:
    spelling = spelling_of(same.recording.file_of(same.launch))
    return Explaining(same.launch, hardware, loaded_sites(same.recording, same.launch), spelling)
