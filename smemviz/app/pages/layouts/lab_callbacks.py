"""Callbacks of the layout lab: the URL's store comes in, what it puts on the page goes out."""

from __future__ import annotations

from typing import Any

from dash import ALL, Dash, Input, Output, State, no_update

from smemviz.app.addresses import LAB
from smemviz.app.components.connect import fill, is_at, of_script, outputs, values
from smemviz.app.components.launches import Query
from smemviz.app.components.rich import translated
from smemviz.app.page import Page, Services
from smemviz.app.pages.layouts.lab_page import lab_page
from smemviz.app.pages.layouts.lab_view import LAB_PROPERTIES, LAYOUTS_PROPERTIES, errors_of, view_lab, view_layouts
from smemviz.i18n import N_

_CONTROLS = {"type": "lab", "side": ALL, "name": ALL, "at": ALL}
_BUTTONS = {"type": "lab-button", "side": ALL, "name": ALL, "at": ALL}
_ROWS = {"type": "lab-access", "side": ALL, "at": ALL}
_LOOK = {"type": "lab-look", "name": ALL}


def register(app: Dash, services: Services) -> None:
    """Connect the page of an app."""

    @app.callback(  # type: ignore[untyped-decorator]
        [*outputs(LAB_PROPERTIES), Output(_CONTROLS, "error")],
        Input("run", "data"),
        State("place", "data"),
        State(_CONTROLS, "id"),
    )
    def show_lab(query: Query, place: Query, ids: list[dict[str, Any]]) -> list[Any]:
        if not is_at(place, LAB):
            return [*values(LAB_PROPERTIES, {}), [no_update] * len(ids)]
        return [
            *values(LAB_PROPERTIES, view_lab(query)),
            [translated(error) if error else "" for error in errors_of(query, ids)],
        ]

    fill(app, LAYOUTS_PROPERTIES, view_layouts, Input("run", "data"), at=LAB)

    clientside = of_script(app, "smemviz_lab")
    defaults = State("lab-defaults", "data")
    clientside(
        "fill",
        Output(_CONTROLS, "value"),
        Output({"type": "lab", "side": "B", "name": "same", "at": ALL}, "checked"),
        Output(_ROWS, "hidden"),
        Output(_BUTTONS, "hidden"),
        Output("lab-B", "hidden"),
        Output("lab-B-results", "hidden"),
        Output("lab-B-accesses", "hidden"),
        Input("run", "data"),
        State(_CONTROLS, "id"),
        State(_CONTROLS, "value"),
        State(_ROWS, "id"),
        State(_BUTTONS, "id"),
        defaults,
    )
    clientside("set", Input(_CONTROLS, "value"), State(_CONTROLS, "id"), defaults, initially=False)
    clientside(
        "share", Input({"type": "lab", "side": "B", "name": "same", "at": ALL}, "checked"), defaults, initially=False
    )
    clientside("press", Input(_BUTTONS, "n_clicks"), defaults, State("lab-cheapest", "data"), initially=False)
    clientside(
        "show_look",
        Output(_LOOK, "value"),
        Output({"type": "lab-look", "name": "ACCESS"}, "data"),
        Output({"type": "lab-look", "name": "REQUEST"}, "max"),
        Input("lab-shown", "data"),
        State(_LOOK, "id"),
        State(_LOOK, "value"),
    )
    clientside("look", Input(_LOOK, "value"), State(_LOOK, "id"), State("lab-shown", "data"), initially=False)


PAGE = Page(LAB, N_("Layout lab"), lambda services, address: lab_page(), register, link=N_("Layouts"))
