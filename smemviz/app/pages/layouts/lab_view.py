"""What the layout lab shows for what its URL asks for, and what connects the two."""

from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component

from smemviz.app.addresses import GPUS, LAB
from smemviz.app.components.connect import each, fill, is_at, of_script, outputs, values
from smemviz.app.components.launches import Filling, Query, query_of
from smemviz.app.components.rich import translated
from smemviz.app.components.tables import table
from smemviz.app.page import Page, Services
from smemviz.app.pages.layouts.lab_page import lab_page
from smemviz.app.pages.layouts.lab_state import SIDES, LabState, Side
from smemviz.i18n import N_, _
from smemviz.model.layout.accesses import NO_DESCRIPTOR
from smemviz.views.layout_lab import (
    COUNT_HEADS,
    LANE_HEADS,
    LabView,
    RequestPicture,
    access_text,
    array_text,
    count_rows,
    headline,
    lane_rows,
    layout_data,
    picture,
    request_text,
)
from smemviz.views.layout_search import LayoutRow, layout_heads, layout_rows, layouts_text
from smemviz.wording.labels import capital, items, sentences
from smemviz.wording.sentences import rule

_OF_SIDE = (
    *each("children", "array", "counts", "sentence", "lanes"),
    *each("data", "tile", "banks"),
    *("pictures.hidden", "results.className"),
)
LAB_PROPERTIES = (
    "lab-headline.children",
    "lab-origin.children",
    "lab-gpus.href",
    "lab-shown.data",
    *(f"lab-{side}-{name}" for side in SIDES for name in _OF_SIDE),
)
LAYOUTS_PROPERTIES = ("lab-results-note.children", "lab-results.children", "lab-cheapest.data")
_RESULTS = "panel lab-side"
_WRONG = N_("This set-up cannot be counted: see the field that is marked.")
_CONTROLS = {"type": "lab", "side": ALL, "name": ALL, "at": ALL}
_BUTTONS = {"type": "lab-button", "side": ALL, "name": ALL, "at": ALL}
_ROWS = {"type": "lab-access", "side": ALL, "at": ALL}
_LOOK = {"type": "lab-look", "name": ALL}


def view_lab(query: Query) -> Filling:
    """Count and picture the set-ups that the query asks for."""
    state = LabState.read(query)
    setups = {name: side.setup for name, side in state.sides.items() if side.setup}
    filling: Filling = {
        "lab-headline.children": capital(headline(setups, with_names=len(state.sides) > 1))
        if setups
        else _("This cannot be counted"),
        "lab-origin.children": _origin(state),
        "lab-gpus.href": f"{GPUS}?{query_of(query)}",
    }
    first: RequestPicture | None = None
    for name, side in state.sides.items():
        if side.setup is None:
            # What stands there is of the last set-up that could be counted.
            filling |= {f"lab-{name}-sentence.children": _(_WRONG), f"lab-{name}-results.className": f"{_RESULTS} old"}
            continue
        access, request = (first.access, first.request) if first else (state.access, state.request)
        now = picture(side.setup, access, request)
        filling |= {f"lab-{name}-{key}": value for key, value in _pictures(now, state.view).items()}
        first = first or now
    return filling | {"lab-shown.data": _controls(first, state.view)}


def errors_of(query: Query, ids: Sequence[dict[str, Any]]) -> list[str]:
    """Return what is wrong at each control, "" for nothing."""
    sides = LabState.read(query).sides
    nothing = Side(None, {})
    return [sides.get(identity["side"], nothing).errors.get((identity["name"], identity["at"]), "") for identity in ids]


def view_layouts(query: Query) -> Filling:
    """Search layouts for the first set-up."""
    setup = LabState.read(query).sides["A"].setup
    if setup is None:
        return {"lab-results-note.children": _(_WRONG), "lab-results.children": [], "lab-cheapest.data": None}
    if any(access.op == "wgmma" for access in setup.accesses):
        return {"lab-results-note.children": _(NO_DESCRIPTOR), "lab-results.children": [], "lab-cheapest.data": None}
    rows = layout_rows(setup)
    heads, body = (_("layout"), *layout_heads(setup), _("in a kernel")), [_result_row(row, query) for row in rows]
    return {
        "lab-results-note.children": layouts_text(rows),
        "lab-cheapest.data": rows[1 if len(rows) > 1 else 0].fix.layout.text,
        "lab-results.children": table("lab-results", _("Layouts, the current one first"), heads, body),
    }


def _result_row(row: LayoutRow, query: Query) -> list[object]:
    name: Any = html.Strong(_("{layout} (now)", layout=row.name))
    if not row.present:
        href = f"{LAB}?{query_of(query | {'B': row.fix.layout.text})}"
        name = dcc.Link(row.name, href=href, title=_("Put {layout} into set-up B", layout=row.name))
    copy = html.Button(
        _("Copy"), type="button", className="text-button lab-copy",
        **{"data-code": row.code, "aria-label": _("Copy the code of {layout}", layout=row.name)},
    )  # fmt: skip
    return [name, *row.cells, html.Div([html.Pre(row.code), copy], className="lab-code")]


def _pictures(now: RequestPicture, view: LabView) -> Filling:
    request = _(
        "{access}, request {number} of {count}.",
        access=capital(access_text(now.kind)),
        number=now.request + 1,
        count=now.count,
    )
    data = layout_data(now, view)
    counts = [[*row, *[""] * (len(COUNT_HEADS) - len(row))] for row in count_rows(now.setup)]
    return {
        "array.children": array_text(now.setup),
        "counts.children": _table(COUNT_HEADS, counts, _("What each access costs")),
        "sentence.children": sentences(request, request_text(now)),
        "tile.data": data,
        "banks.data": data,
        "lanes.children": _table(LANE_HEADS, lane_rows(now), _("The lanes that are on")),
        "pictures.hidden": False,
        "results.className": _RESULTS,
    }


def _table(heads: Sequence[str], rows: list[list[str]], caption: str) -> Component:
    # One component for all rows: each one on the page costs the browser time at every step.
    return dmc.Table(
        data={"head": list(map(_, heads)), "body": rows, "caption": caption},
        captionSide="top",
        verticalSpacing=3,
        className="lab-table",
    )


def _controls(request: RequestPicture | None, view: LabView) -> dict[str, Any]:
    if request is None:
        return {"options": [], "ACCESS": None, "REQUEST": None, "VIEW": view, "count": 0}
    options = [
        {"value": str(i + 1), "label": _("{number}: {access}", number=i + 1, access=access_text(access))}
        for i, access in enumerate(request.setup.accesses)
    ]
    values = {"ACCESS": str(request.access + 1), "REQUEST": request.request + 1, "VIEW": view}
    return {"options": options, "count": request.count, **values}


def _origin(state: LabState) -> str:
    setups = [side.setup for side in state.sides.values() if side.setup]
    rules = dict.fromkeys(rule(setup.hardware, kind=setup.basis) for setup in setups)
    return _("{sentence}.", sentence=capital(items(*rules))) if rules else ""


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
