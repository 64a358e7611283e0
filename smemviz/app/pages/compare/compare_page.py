"""The compare page: launches side by side, by default all those of a file."""

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component
from flask import Response, request

from smemviz.app.addresses import COMPARE
from smemviz.app.components.connect import each, fill, of_script, placed
from smemviz.app.components.frames import origin, page_head, scroller, section
from smemviz.app.components.graph import download, drawn, graph, pictured
from smemviz.app.components.launches import SEVERAL, Filling, Query, query_of
from smemviz.app.components.rich import translated
from smemviz.app.library import Library
from smemviz.app.page import Address, Page, Services
from smemviz.app.pages.compare.compare_picks import entries, offered, picked, queries
from smemviz.app.pages.compare.compare_pictures import side_by_side, tiles
from smemviz.app.pages.compare.compare_tables import (
    changes_panel,
    compare_impact,
    compare_table,
    view_changes,
    view_compiled,
)
from smemviz.app.state import LookState
from smemviz.app.tasks.stopwatch import Stopwatch
from smemviz.errors import SmemvizError
from smemviz.figures.registry import FIGURES, FigureInput
from smemviz.i18n import N_, _, speaking
from smemviz.views.comparison import Row, compared, headline, to_csv
from smemviz.wording.impact import Measured
from smemviz.wording.labels import items
from smemviz.wording.sentences import rule

CSV_PATH = f"{COMPARE}.csv"
_PICTURES = ("compare-wavefronts", "compare-times", "compare-sectors")
_PROPERTIES = (
    *each("children", *(f"compare-{part}" for part in ("headline", "origin", "notices", "tiles", "requests"))),
    *each("children", "compare-table", "compare-impact", "compare-changes"),
    *each("hidden", "compare-sectors-panel", "compare-results"),
    "changes.open",
    *each("data", "compared-by-default", "picks"),
    "compare-csv.href",
    *pictured(*_PICTURES),
)
_TIME_NOTE = N_(
    "Hatched: the floor, an empty kernel of the same size. The whisker is the 95 % interval of the median; the factor "
    "is against the fastest here."
)
_SECTOR_NOTE = N_("A sector is 32 bytes. Hatched: sectors moved beyond those that the used bytes would fill.")


def compare_page(library: Library, stopwatch: Stopwatch, query: Query, theme: str) -> Component:
    """Lay out the page and fill it with what the URL asks for."""
    return placed(html.Div(_layout()), view_compare(library, stopwatch, query, theme))


def view_compare(library: Library, stopwatch: Stopwatch, query: Query, theme: str) -> Filling:
    """Show the launches that the query picks; a refusal says what is wrong."""
    try:
        picks, standard = picked(library, query)
        rows = compared(entries(library, stopwatch, query, picks))
    except SmemvizError as error:
        return {
            "compare-headline.children": _("This cannot be compared"),
            "compare-origin.children": "",
            "compare-notices.children": dmc.Alert(translated(str(error)), color="red", id="error", className="refusal"),
            "compared-by-default.data": None,
            "picks.data": offered(library, []),
            "compare-results.hidden": True,
        }
    look = LookState.read({"theme": theme})
    inputs = FigureInput(None, rows[0].entry.hardware, look.theme, rows=rows)
    changes = [*view_compiled(picks, rows), *view_changes(library, query)]
    filling: Filling = {}
    for picture, view in zip(_PICTURES, ("wavefronts", "times", "sectors"), strict=True):
        filling |= drawn(picture, FIGURES["compare"].draw(inputs._replace(view=view)))
    return filling | {
        "compare-headline.children": headline(rows),
        "compare-origin.children": _origin(rows),
        "compare-notices.children": [],
        "compare-tiles.children": tiles(rows),
        "compare-sectors-panel.hidden": len(set(map(_bars, rows))) == 1,  # which tells nothing
        "compare-requests.children": side_by_side(rows, look.theme),
        "compare-table.children": compare_table(rows, queries(library, query, picks)),
        "compare-impact.children": compare_impact(rows),
        "compare-changes.children": changes,
        "changes.open": bool(changes),
        "against.value": query.get("against", ""),  # once, as the picks
        "compare-csv.href": f"{CSV_PATH}?{query_of(query)}",
        "compared-by-default.data": standard,
        "picks.data": offered(library, [*standard, *picks]),
        "picks.value": picks,  # once, with the page: from then on the browser has it from the URL
        "compare-results.hidden": False,
    }


def register(app: Dash, services: Services) -> None:
    """Connect the page of an app to its files, and serve the CSV."""
    library, stopwatch = services.library, services.stopwatch

    def compare(query: Query, theme: str) -> Filling:
        return view_compare(library, stopwatch, query, theme)

    fill(app, _PROPERTIES, compare, Input("run", "data"), Input("theme", "data"), initially=False)

    clientside = of_script(app, "smemviz")
    clientside(
        "show_picks",
        Output("picks", "value"),
        Input("run", "data"),
        Input("compared-by-default", "data"),
        Input("picks", "data"),
        State("picks", "value"),
    )
    clientside("pick_launches", Input("picks", "value"), State("compared-by-default", "data"), initially=False)
    clientside("set_against", Input("against", "value"), initially=False)

    def serve_csv() -> Response:
        query = {name: SEVERAL.join(values) for name, values in request.args.lists()}
        try:
            with speaking("en"):  # for programs
                text = to_csv(compared(entries(library, stopwatch, query, picked(library, query)[0])))
        except SmemvizError as error:
            return Response(f"{error}\n", 400, mimetype="text/plain")
        return Response(text, mimetype="text/csv", headers={"Content-Disposition": "attachment; filename=compared.csv"})

    app.server.add_url_rule(CSV_PATH, "compare_csv", serve_csv)


def _layout() -> list[Component]:
    return [
        dcc.Store(id="compared-by-default"),
        page_head("compare", _("Side by side")),
        html.Div(id="compare-notices", role="status", className="notices"),
        dmc.MultiSelect(
            id="picks",
            label=_("Launches"),
            searchable=True,
            placeholder=_("Search by file or kernel"),
            size="sm",
            className="picks",
            nothingFoundMessage=_("No such kernel"),
            maxDropdownHeight=320,
        ),
        html.Div(
            [
                html.Div(id="compare-tiles", className="pair tiles"),
                html.Div(
                    [
                        _picture(_("Wavefronts"), "compare-wavefronts"),
                        _picture(_("Time"), "compare-times", _(_TIME_NOTE)),
                    ],
                    className="pair",
                ),
                _picture(_("Sectors of global memory"), "compare-sectors", _(_SECTOR_NOTE)),
                section("requests", _("A request of each access"), html.Div(id="compare-requests")),
                html.Section(
                    [
                        html.Div(
                            [
                                html.H2(_("All figures"), id="compare-table-title"),
                                html.A(_("Download CSV"), id="compare-csv", download="compared.csv", href=CSV_PATH),
                            ],
                            className="panel-head",
                        ),
                        scroller(titled="compare-table-title", id="compare-table"),
                    ],
                    className="panel",
                ),
                section("impact", _("Does it matter?"), html.Div(id="compare-impact")),
                changes_panel(),
                origin("compare"),
            ],
            id="compare-results",
            className="compare-results",
        ),
    ]


def _picture(title: str, identity: str, note: str = "") -> Component:
    return html.Section(
        [
            html.Div([html.H2(title, id=f"{identity}-title"), download(title)], className="panel-head"),
            html.Div(graph(identity)),
            html.P(note, className="note"),
        ],
        className="panel",
        id=f"{identity}-panel",
    )


def _bars(row: Row) -> tuple[tuple[int, int], ...]:
    """Return what the bars of a launch's sectors show."""
    return tuple((moved.sectors, moved.fewest) for moved in row.traffic_by_kind.values())


def _origin(rows: tuple[Row, ...]) -> str:
    requests = items(*dict.fromkeys(row.entry.origin for row in rows))
    rules = items(*dict.fromkeys(rule(row.entry.hardware, [row.entry.launch]) for row in rows))
    cards = items(*dict.fromkeys(_measured_on(row.entry.measured) for row in rows if row.entry.measured))
    if not cards:
        return _("Requests {requests}; {rules}; times not measured.", requests=requests, rules=rules)
    return _("Requests {requests}; {rules}; times {measured}.", requests=requests, rules=rules, measured=cards)


def _measured_on(measured: Measured) -> str:
    message = (
        N_("measured here on {card}, driver {driver}") if measured.here else N_("measured on {card}, driver {driver}")
    )
    return _(message, card=measured.device.name, driver=measured.device.driver)


def _lay_out(services: Services, address: Address) -> Component:
    return compare_page(services.library, services.stopwatch, address.run, address.look.get("theme", "light"))


PAGE = Page(COMPARE, N_("Compare"), _lay_out, register, link=N_("Compare"))
