"""Global memory on the kernel page: all requests of the present site, and the elements that are touched."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from smemviz.app.graph import graph
from smemviz.app.library import Library
from smemviz.app.look_view import moment_of
from smemviz.app.run_view import Filling, Query, hardware_of
from smemviz.app.state import LookState, RunState
from smemviz.errors import SmemvizError
from smemviz.figures.elements import look_at, told_touches, touched_elements
from smemviz.figures.labels import efficiency_text
from smemviz.figures.sectors import spread, used_of
from smemviz.model.traffic import Traffic, traffic_of
from smemviz.recording import Launch

GLOBAL_PROPERTIES = (
    "site-traffic-panel.hidden",
    "site-traffic-title.children",
    "site-facts.children",
    "site-traffic-note.children",
    "spread.figure",
    "spread.style",
    "elements-panel.hidden",
    "elements.figure",
    "elements.style",
    "elements-note.children",
)


def site_panel() -> Component:
    """Lay out what is said of all requests of a global site."""
    return html.Section(
        [
            html.H2(id="site-traffic-title"),
            html.Dl(id="site-facts", className="facts"),
            html.P(id="site-traffic-note", className="note"),
            html.Div(graph("spread"), role="img", **{"aria-label": "Requests of the site by sectors moved"}),
        ],
        id="site-traffic-panel",
        className="panel",
        **{"aria-labelledby": "site-traffic-title"},
    )


def view_global(library: Library, run_query: Query, look_query: Query) -> Filling:
    """Show global memory as it is looked at; nothing where the run is refused, which ``view_run`` says."""
    state, look = RunState.read(run_query), LookState.read(look_query)
    try:
        shown = library.show(state)
        launch = shown.launch(state)
    except SmemvizError:
        return {}
    now = moment_of(launch, hardware_of(shown, state), look)
    looked = look_at(now, look.elements, whole=look.whole)
    figure = touched_elements(now, looked, theme=look.theme)
    site = int(launch.requests.site[now.row]) if now.row is not None else None
    return _site(launch, site, look) | {
        "elements-panel.hidden": looked is None,
        "elements.figure": figure,
        "elements.style": {"height": figure.layout.height},
        "elements-note.children": told_touches(now, looked),
    }


def _site(launch: Launch, site: int | None, look: LookState) -> Filling:
    """Show what all requests of the site moved; the panel is hidden for a site in shared memory."""
    traffic = traffic_of(launch, site) if site is not None else None
    if site is None or traffic is None:
        return {"site-traffic-panel.hidden": True}
    figure = spread(traffic, theme=look.theme)
    return {
        "site-traffic-panel.hidden": False,
        "site-traffic-title.children": ["All requests of ", html.Code(launch.sites[site].source)],
        "site-facts.children": [
            html.Div([html.Dt(name), html.Dd(value)], className="fact") for name, value in _facts(traffic)
        ],
        "site-traffic-note.children": used_of(traffic),
        "spread.figure": figure,
        "spread.style": {"height": figure.layout.height},
    }


def _facts(traffic: Traffic) -> list[tuple[str, str]]:
    each, efficiency = traffic.sectors_per_request, traffic.efficiency
    return [
        ("requests", f"{traffic.requests:,}"),
        ("sectors", f"{traffic.sectors:,}"),
        ("sectors per request", "none" if each is None else f"{each:.4g}"),
        ("efficiency", "none" if efficiency is None else efficiency_text(efficiency)),
    ]
