"""Callbacks of the matrix product page: the URL's stores come in, what they put on the page goes out."""

from __future__ import annotations

from functools import partial

from dash import ALL, Dash, Input, Output, State, ctx

from smemviz.app import ids
from smemviz.app.addresses import MATMUL
from smemviz.app.components.connect import fill, of_script
from smemviz.app.components.launches import Filling, Query
from smemviz.app.page import Page, Services
from smemviz.app.pages.matmul.matmul_data import FILE, MISTAKES, Products, ProductState
from smemviz.app.pages.matmul.matmul_page import matmul_page
from smemviz.app.pages.matmul.matmul_view import (
    COUNTED_PARTS,
    COUNTED_PROPERTIES,
    JOB_PROPERTIES,
    MEASURED_PROPERTIES,
    SAVED_PARTS,
    SAVED_PROPERTIES,
    STEP_PROPERTIES,
    control_values,
    view_counted,
    view_job,
    view_measured,
    view_saved,
    view_step,
)
from smemviz.errors import InputError
from smemviz.i18n import N_

_CONTROLS = {"type": "product-control", "name": ALL}


def register(app: Dash, services: Services) -> None:
    """Connect the page of an app."""
    library, stopwatch = services.library, services.stopwatch
    data = Products(services.job, services.texts, local=library.local, sandbox=library.sandbox)
    linked, mistakes = FILE in library.files, MISTAKES in library.files

    stores = (Input("run", "data"), Input("theme", "data"), Input("products-latest", "data"))

    # What is known comes at once; what has to run comes when it has.
    def measured(query: Query, theme: str, latest: int | None) -> Filling:
        return view_measured(data, query, theme, mistakes)

    def counted(query: Query, theme: str, latest: int | None) -> Filling:
        return view_counted(data, query, theme, linked)

    def saved(query: Query, theme: str, latest: int | None, hidden: bool) -> Filling:
        return view_saved(data, query, theme)

    fill(app, MEASURED_PROPERTIES, measured, *stores, at=MATMUL)
    fill(app, COUNTED_PROPERTIES, counted, *stores, at=MATMUL)
    # The other tiles come last: Dash waits for what the callback above puts out.
    fill(app, SAVED_PROPERTIES, saved, *stores, Input("products-results", "hidden"), at=MATMUL)
    fill(app, STEP_PROPERTIES, partial(view_step, data), Input("run", "data"), Input("look", "data"), at=MATMUL)

    @app.callback(  # type: ignore[untyped-decorator]
        Output(_CONTROLS, "value"),
        Output("product-shown", "data"),
        Input("run", "data"),
        State(_CONTROLS, "id"),
    )
    def show_controls(query: Query, ids: list[dict[str, str]]) -> tuple[list[str], dict[str, str]]:
        values = control_values(data, query or {})
        return [values.get(identity["name"], "") for identity in ids], values

    def measure(
        clicks: int | None, cancels: int | None, polls: int | None, query: Query, latest: int | None
    ) -> Filling:
        if ctx.triggered_id == "products-measure" and clicks and stopwatch.available:
            _start(data, query)
        elif ctx.triggered_id == "products-cancel" and cancels:
            data.cancel()
        now = data.latest
        filling = view_job(data, stopwatch.available)
        return filling if now == (latest or 0) else filling | {"products-latest.data": now}

    buttons = Input("products-measure", "n_clicks"), Input("products-cancel", "n_clicks")
    known = Input("products-poll", "n_intervals"), State("run", "data"), State("products-latest", "data")
    fill(app, (*JOB_PROPERTIES, "products-latest.data"), measure, *buttons, *known)
    _add_browser_callbacks(app)


def _start(data: Products, query: Query) -> None:
    try:
        data.measure(ProductState.read(query, data.recorded))
    except InputError:  # the page says what is wrong with the size
        return


def _add_browser_callbacks(app: Dash) -> None:
    """Connect controls and playback with the URL; these run in ``assets/matmul.js``."""

    clientside = of_script(app, "smemviz_matmul")
    busy = [Output(name, "aria-busy", allow_duplicate=True) for name in (*COUNTED_PARTS, *SAVED_PARTS)]
    clientside("await", *busy, Input("run", "data"), initially=False)
    clientside(
        "set", Input(_CONTROLS, "value"), State(_CONTROLS, "id"), State("product-shown", "data"), initially=False
    )
    clientside("go", Input({"type": "step-go", "to": ALL}, "n_clicks"), State("step-count", "data"), initially=False)
    clientside("keep", Output("step-slider", "value"), Input("step-count", "data"))
    clientside("pick", Input("step-slider", "value"), State("step-count", "data"), initially=False)
    clientside(
        "toggle", Output(ids.STEP_PLAYING, "data"), Input(ids.STEP_PLAY, "n_clicks"), State(ids.STEP_PLAYING, "data"),
        initially=False,
    )  # fmt: skip
    clientside(
        "play",
        Output(ids.STEP_PLAY, "className"),
        Output(ids.STEP_PLAY, "aria-label"),
        Input(ids.STEP_PLAYING, "data"),
        Input("step-count", "data"),
    )


PAGE = Page(MATMUL, N_("Matrix product"), lambda services, address: matmul_page(), register, link=N_("Matmul"))
