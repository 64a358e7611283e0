"""The matrix product page: what the kernels load, how fast they are, and one of them step by step."""

from functools import partial

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html
from dash.development.base_component import Component

from smemviz.app import ids
from smemviz.app.addresses import MATMUL
from smemviz.app.components.connect import fill, of_script
from smemviz.app.components.frames import Tab, icon_button, origin, page_head, scroller, tabbed, text_button
from smemviz.app.components.graph import download, graph
from smemviz.app.components.launches import Filling, Query
from smemviz.app.page import Address, Page, Services
from smemviz.app.pages.matmul.matmul_data import (
    DEFAULT_PICTURED,
    FILE,
    MISTAKES,
    PICTURED,
    TILES,
    Products,
    ProductState,
)
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
from smemviz.errors import InputError, SmemvizError
from smemviz.i18n import N_, _
from smemviz.recordings.sweep import Sweep
from smemviz.views.matmul_products import HALVES, HELD_BACK, MERGED, NO_INTEGER_BLAS, REGISTERS, headline, products

POLL_MILLISECONDS = 500

_LOADS_NOTE = N_(
    "With tiles of T x T an element is loaded once for T threads, so elements fall by T: 2 S³ to 2 S³ / T. Sectors "
    "fall less, because lanes of one warp that read the same sector already shared it."
)
_ROOFLINE_NOTE = N_(
    "Bytes are those of the sectors that the warps request; caches serve many of them, so a kernel may stand above the "
    "line of the memory. cuBLAS is drawn as if each element moved once, because its traffic was not counted."
)
_SWEEP_NOTE = N_(
    "Both axes are logarithmic. Grey lines are the other kernels: point at one for its name. Matrices stay in the "
    "caches where they fit: launches follow each other."
)
_QUOTED_NOTE = N_(
    "With copies: both matrices are copied to the card, the kernel runs, and the result is copied back, from pageable "
    "memory. From scratch adds the first use of the card by a process and the compilation of the kernel at its first "
    "launch."
)
_STEPS_NOTE = N_(
    "From a recording in lockstep. ▼ an element that moves, ● a word that is read; numbers say how often an element of "
    "a or b has been loaded so far. Framed: the tiles, and the piece of c that the block computes."
)

_CONTROLS = {"type": "product-control", "name": ALL}


def matmul_page(title: str = "") -> Component:
    """Lay out the page; callbacks fill it, and its ``title`` where that is not known yet."""
    return html.Div(
        [
            page_head(
                "products",
                _("Matrix multiplication"),
                title or _("The product of two matrices"),
                id="products-title",
            ),
            *(html.Div(id=f"products-{name}", role="status", className="notices") for name in ("notices", "refusal")),
            _steps(),
            _controls(),
            html.Div(
                [
                    html.Div(
                        [
                            _picture(_("What tiles save"), "loads", _(_LOADS_NOTE), last_note="loads-claim"),
                            _picture(_("Roofline"), "roofline", _(_ROOFLINE_NOTE)),
                        ],
                        className="pair",
                    ),
                    tabbed(_("Tables of all kernels and sizes"), _tables(), origin("products")),
                ],
                id="products-results",
                className="products",
            ),
            dcc.Store(id="products-latest"),
            dcc.Store(id="step-count"),
            dcc.Store(id="product-shown"),
            dcc.Store(id=ids.STEP_PLAYING, data=False),
            dcc.Interval(id="products-poll", interval=POLL_MILLISECONDS, disabled=True),
        ],
        id=ids.MATMUL_PAGE,
    )  # fmt: skip


def _known_headline(query: Query, sweep: Sweep | None) -> str:
    """Return the headline where cuBLAS was timed, for which nothing has to run, else ""."""
    try:
        state = ProductState.read(query, sweep)
    except SmemvizError:  # the page says it
        return ""
    rows = products(state.size, state.tile, {}, sweep)
    return headline(rows, state.tile) if any(row.of_cublas for row in rows) else ""


def _tables() -> tuple[Tab, ...]:
    """Lay out what the pictures rest on."""
    every = _section(
        _("Every kernel at this size"),
        html.Div(html.P(_("Loading"), className="note"), id="products-table"),
        identity="products",
        notes=tuple(map(_, (NO_INTEGER_BLAS, MERGED, HALVES, REGISTERS, HELD_BACK))),
        last_notes=("filled-note", "skipped-note"),
    )
    quoted = _section(
        _("Published times beside ours"),
        html.Div(id="quoted-table"),
        identity="quoted",
        notes=(_(_QUOTED_NOTE),),
        last_notes=("quoted-note",),
    )
    ceilings = _section(_("Measured ceilings"), html.Div(id="ceilings-table"), identity="ceilings")
    sweep = _picture(_("Sweep over sizes"), "sweep", _(_SWEEP_NOTE))
    return (
        Tab("sweep", _("Sweep over sizes"), sweep),
        Tab("products", _("Every kernel at this size"), every),
        Tab("ceilings", _("Measured ceilings"), ceilings),
        Tab("quoted", _("Published times"), quoted),
    )


def _controls() -> Component:
    return html.Section(
        [
            html.Div(
                [
                    dmc.TextInput(
                        id=control("SIZE"),
                        label=_("Size"),
                        description=_("S, or MxKxN"),
                        debounce=500,
                        size="sm",
                        w=150,
                    ),
                    dmc.Select(
                        id=control("TILE"),
                        label=_("Tile"),
                        description=_("threads along each side of a block"),
                        data=[str(tile) for tile in TILES],
                        allowDeselect=False,
                        size="sm",
                        w=240,
                    ),
                    html.Div(
                        [
                            text_button(_("Measure here"), id="products-measure"),
                            text_button(_("Cancel"), id="products-cancel", hidden=True),
                        ],
                        id="products-measure-area",
                        hidden=True,
                        className="panel-controls",
                    ),
                ],
                className="products-knobs",
            ),
            html.Nav(id="products-sizes", className="sizes", **{"aria-label": _("Sizes that were measured")}),
            html.Div(id="products-measure-status", role="status", className="measure-status"),
        ],
        className="panel",
        **{"aria-label": _("Size and tile")},
    )


def control(name: str) -> dict[str, str]:
    """Return the id of the control for a name in the URL."""
    return {"type": "product-control", "name": name}


def _steps() -> Component:
    sizes = [
        {"value": key, "label": _("{side} x {side}, tiles of {tile}", side=side, tile=tile)}
        for key, (side, tile) in PICTURED.items()
    ]
    buttons = [
        _button("first", _("First step")),
        _button("previous", _("Previous step"), _("Previous step (left arrow)")),
        icon_button("play", _("Play"), _("Play (space)"), id=ids.STEP_PLAY),
        _button("next", _("Next step"), _("Next step (right arrow)")),
        _button("last", _("Last step")),
    ]  # fmt: skip
    player = html.Div(
        [
            html.Output("", id="step-text", className="position-text"),
            html.Div(buttons, className="buttons", role="group", **{"aria-label": _("Steps")}),
            dmc.Slider(
                id="step-slider", min=1, max=2, step=1, value=1, label=None, thumbLabel=_("Step"), size="sm",
                updatemode="drag", className="position",
            ),
        ],
        className="playback steps-playback",
    )  # fmt: skip
    note = html.P(_(_STEPS_NOTE), className="note")
    return html.Section(
        [
            html.Div(
                [
                    html.H2(_("Step by step"), id="steps-title"),
                    dmc.Select(
                        id=control("PICTURED"), data=sizes, value=DEFAULT_PICTURED, allowDeselect=False, size="xs",
                        w=180, **{"aria-label": _("Product that is pictured")},
                    ),
                    download(_("Step by step")),
                ],
                className="panel-head",
            ),
            html.Div(
                [
                    scroller(html.Div(graph("steps"), className="sheet steps-sheet"), titled="steps-title"),
                    html.Div([player, scroller(label=_("What this step touches"), id="step-table"), note]),
                ],
                className="steps-shown",
            ),
        ],
        className="panel steps-panel",
    )  # fmt: skip


def _button(to: str, label: str, title: str = "") -> Component:
    return icon_button(to, label, title, id={"type": "step-go", "to": to})


def _picture(title: str, identity: str, note: str, *, last_note: str = "") -> Component:
    return html.Section(
        [
            html.Div([html.H2(title, id=f"{identity}-title"), download(title)], className="panel-head"),
            scroller(
                html.Div(graph(identity), className="sheet products-sheet", id=f"{identity}-sheet"),
                titled=f"{identity}-title",
            ),
            html.P(note, className="note", id=f"{identity}-note"),
            *([html.P("", className="note", id=last_note)] if last_note else []),
        ],
        className="panel",
    )  # fmt: skip


def _section(
    title: str, content: Component, *, identity: str, notes: tuple[str, ...] = (), last_notes: tuple[str, ...] = ()
) -> Component:
    return html.Section(
        [
            html.H2(title, id=f"{identity}-title"),
            scroller(content, titled=f"{identity}-title"),
            *(html.P(note, className="note") for note in notes),
            *(html.P("", className="note", id=note) for note in last_notes),
        ],
        className="panel",
    )


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
        Output(_CONTROLS, "value"), Output("product-shown", "data"), Input("run", "data"), State(_CONTROLS, "id")
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


def _lay_out(services: Services, address: Address) -> Component:
    return matmul_page(_known_headline(address.run, Products(services.job).recorded))


PAGE = Page(MATMUL, N_("Matrix product"), _lay_out, register, link=N_("Matmul"))
