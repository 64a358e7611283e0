"""Global memory on the kernel page: all requests of the present site, and the elements that are touched."""

from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from smemviz.app import ids
from smemviz.app.addresses import COMPARE
from smemviz.app.components.frames import section
from smemviz.app.components.graph import download, drawn, graph, panel
from smemviz.app.components.launches import Filling, Query, pick_of
from smemviz.app.components.rich import rich
from smemviz.app.components.tables import fact
from smemviz.app.components.written_html import Written
from smemviz.app.library import Library, ShownRun
from smemviz.app.pages.kernel.controls import choice, scope_switch
from smemviz.app.pages.kernel.look_view import looked_at
from smemviz.figures.elements import described_counts, shown_array
from smemviz.figures.registry import FIGURES, FigureInput
from smemviz.figures.sectors import used_of
from smemviz.i18n import _
from smemviz.model.counting.global_traffic import same_accesses, traffic_of
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.data import Launch
from smemviz.views.columns import columns_in
from smemviz.wording.labels import launch_name, listed

GLOBAL_PROPERTIES = (
    f"{ids.GLOBAL_MEMORY}.hidden",
    f"{ids.GLOBAL_MEMORY}.open",
    "site-traffic-panel.hidden",
    "site-traffic-title.html",
    "site-facts.html",
    "site-traffic-note.children",
    "site-peers.html",
    "spread-area.hidden",
    "spread.figure",
    "spread.style",
    "elements-panel.hidden",
    "elements.figure",
    "elements.style",
    "elements-note.children",
)


def global_memory() -> Component:
    """Lay out what is shown of global memory, folded until a request to it is looked at."""
    elements = panel(FIGURES["elements"].title, "elements", choice("elements", _("Global array")), scope_switch())
    head = Written(html.Summary(html.H2(_("Global memory"), id="global-memory-title")))
    return html.Details(
        [head, site_panel(), elements], id=ids.GLOBAL_MEMORY, className="folded", open=False, hidden=True
    )


def site_panel() -> Component:
    """Lay out what is said of all requests of a global site."""
    return section(
        "site-traffic",
        Written(html.H2(id="site-traffic-title")),
        Written(html.Dl(id="site-facts", className="facts")),
        html.P(id="site-traffic-note", className="note"),
        Written(html.P(id="site-peers")),
        html.Div([html.Div(graph("spread")), download(FIGURES["spread"].title)], id="spread-area"),
        id="site-traffic-panel",
    )


def closed_global(library: Library, run_query: Query, look_query: Query) -> Filling | None:
    """Return what is to be seen while this is folded; None where the request goes to global memory, which opens it."""
    view = looked_at(library, run_query, look_query)
    if view is None:
        return {}
    if view.now.site and view.now.site.space == "global":
        return None
    return {f"{ids.GLOBAL_MEMORY}.hidden": not view.launch.sites_in("global")}


def view_global(library: Library, run_query: Query, look_query: Query) -> Filling:
    """Show global memory as it is looked at; nothing where the run is refused."""
    view = looked_at(library, run_query, look_query)
    if view is None:
        return {}
    look, now = view.look, view.now
    looked = shown_array(now, look.elements, whole=look.whole)
    inputs = FigureInput(
        view.shown_run.recording, view.hardware, look.theme, now, array=look.elements, whole=look.whole
    )
    traffic = _site(view.shown_run, inputs, run_query)
    opened = {} if traffic["site-traffic-panel.hidden"] else {f"{ids.GLOBAL_MEMORY}.open": True}
    return {
        **traffic,
        **opened,
        f"{ids.GLOBAL_MEMORY}.hidden": looked is None and traffic["site-traffic-panel.hidden"],
        "elements-panel.hidden": looked is None,
        **drawn("elements", FIGURES["elements"].draw(inputs)),
        "elements-note.children": described_counts(now, looked),
    }


def _site(shown_run: ShownRun, inputs: FigureInput, query: Query) -> Filling:
    """Show what all requests of the site moved; the panel is hidden for a site in shared memory."""
    launch, site = inputs.launch, inputs.site
    traffic = traffic_of(launch, site) if site is not None else None
    if site is None or traffic is None:
        return {"site-traffic-panel.hidden": True}
    return {
        "site-traffic-panel.hidden": False,
        "site-traffic-title.html": rich("All requests of {site}", site=html.Code(launch.sites[site].source)),
        "site-facts.html": _facts(launch, site, inputs.hardware),
        "site-traffic-note.children": used_of(traffic),
        "site-peers.html": _peers(shown_run, launch, query),
        "spread-area.hidden": len(traffic.spread.nonzero()[0]) < 2,
        **drawn("spread", FIGURES["spread"].draw(inputs)),
    }


def _peers(shown_run: ShownRun, launch: Launch, query: Query) -> list[Component | str]:
    """Link to the comparison with the launches that access as much in another order."""
    firsts = {id(launch): (launch, nth) for launch, nth in (group[0] for group in shown_run.groups())}
    peers = same_accesses(launch, [launch for launch, _ in firsts.values()])
    if not peers:
        return []
    chosen = next((other, nth) for other, nth in shown_run.numbered() if other is launch)
    compared = [chosen, *(firsts[id(launch)] for launch in peers)]
    rest = [(name, value) for name, value in query.items() if name not in ("kernel", "launch")]
    picks = [("launch", pick_of(query["file"], launch.kernel, nth)) for launch, nth in compared]
    names = listed(launch_name(*firsts[id(launch)]) for launch in peers)
    link = html.A(_("side by side with {names}", names=names), href=f"{COMPARE}?{urlencode(rest + picks)}")
    return rich("The same accesses in another order: {link}", link=link)


def _facts(launch: Launch, site: int, hardware: Hardware) -> list[Component]:
    return [
        fact(column.head("access"), column.site_text(launch, site, hardware, nothing=_("none")), column.anchor)
        for column in columns_in("access")
    ]
