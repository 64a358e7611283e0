"""The matrix product page: what the kernels load, how fast they are, and one of them step by step."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app.graph import download, graph
from smemviz.app.matmul_data import DEFAULT_PICTURED, PICTURED, TILES
from smemviz.figures.products import HALVES, HELD_BACK, MERGED, NO_INTEGER_BLAS

POLL_MILLISECONDS = 500
PATH = "/matmul"

_LOADS_NOTE = (
    "A thread that shares a tile loads one element where it would have loaded as many as the tile is wide: the bars of "
    "elements end at the formula, 2 S³ against 2 S³ / T. Sectors fall less, for lanes of one warp that ask for the "
    "same sector have shared it before."
)
_ROOFLINE_NOTE = (
    "Bytes are those of the sectors that the warps request; caches serve many of them, so a kernel may stand above the "
    "line of the memory. cuBLAS stands where each element would move once, for its traffic was not counted."
)
_SWEEP_NOTE = "Both axes are logarithmic. Matrices stay in the caches where they fit: launches follow each other."
_QUOTED_NOTE = (
    "With copies: both matrices to the card, the launch, the result back, from pageable memory. From scratch adds the "
    "first use of the card by a process and compiling the kernel, which Numba does when it first launches it."
)
_STEPS_NOTE = (
    "From a recording in lockstep. ▼ an element that moves, ● a word that is read; numbers say how often an element of "
    "a or b has been loaded so far. Framed: the tiles, and the part of c that the block computes."
)


def matmul_page() -> Component:
    """Lay out the page; callbacks fill it."""
    return html.Div(
        [
            html.Header(
                [
                    html.P("Matrix multiplication", className="eyebrow"),
                    html.H1("The product of two matrices", id="products-headline", className="headline"),
                    html.P("", id="products-origin", className="origin"),
                ],
                className="title",
            ),
            html.Div(id="products-notices", role="status", className="notices"),
            _controls(),
            html.Div(
                [
                    _section(
                        "Every kernel at this size", html.Div(id="products-table"), identity="products",
                        notes=(NO_INTEGER_BLAS, MERGED, HALVES, HELD_BACK), last_note="skipped-note",
                    ),
                    html.Div(
                        [
                            _picture("What tiles save", "loads", _LOADS_NOTE),
                            _picture("Roofline", "roofline", _ROOFLINE_NOTE),
                        ],
                        className="pair",
                    ),
                    _steps(),
                    _picture("Sweep over sizes", "sweep", _SWEEP_NOTE, alternative="sweep-table"),
                    _section("Measured ceilings", html.Div(id="ceilings-table"), identity="ceilings"),
                    _section(
                        "Published times beside ours", html.Div(id="quoted-table"), identity="quoted",
                        notes=(_QUOTED_NOTE,), last_note="quoted-note",
                    ),
                ],
                id="products-results",
                className="products",
            ),
            dcc.Store(id="products-latest"),
            dcc.Store(id="step-count"),
            dcc.Store(id="product-shown"),
            dcc.Store(id="step-playing", data=False),
            dcc.Interval(id="products-poll", interval=POLL_MILLISECONDS, disabled=True),
        ],
        id="matmul-page",
    )  # fmt: skip


def _controls() -> Component:
    return html.Section(
        [
            html.Div(
                [
                    dmc.TextInput(
                        id=control("SIZE"),
                        label="Size",
                        description="S, or MxKxN",
                        debounce=500,
                        size="sm",
                        w=150,
                    ),
                    dmc.Select(
                        id=control("TILE"),
                        label="Tile",
                        description="threads of a block, each way",
                        data=[str(tile) for tile in TILES],
                        allowDeselect=False,
                        size="sm",
                        w=190,
                    ),
                    html.Div(
                        [
                            html.Button("Measure here", id="products-measure", type="button", className="text-button"),
                            html.Button(
                                "Cancel", id="products-cancel", type="button", className="text-button", hidden=True
                            ),
                        ],
                        id="products-measure-area",
                        hidden=True,
                        className="panel-controls",
                    ),
                ],
                className="products-knobs",
            ),
            html.Nav(id="products-sizes", className="sizes", **{"aria-label": "Sizes that were measured"}),
            html.Div(id="products-measure-status", role="status", className="measure-status"),
        ],
        className="panel",
        **{"aria-label": "Size and tile"},
    )


def control(name: str) -> dict[str, str]:
    """Return the id of the control for a name in the URL."""
    return {"type": "product-control", "name": name}


def _steps() -> Component:
    sizes = [{"value": key, "label": f"{side} x {side}, tiles of {tile}"} for key, (side, tile) in PICTURED.items()]
    buttons = [
        _button("first", "First step"),
        _button("previous", "Previous step", "left arrow"),
        html.Button(
            id="step-play", className="icon-button play", type="button", title="Play (space)", **{"aria-label": "Play"}
        ),
        _button("next", "Next step", "right arrow"),
        _button("last", "Last step"),
    ]
    return html.Section(
        [
            html.Div(
                [
                    html.H2("Step by step", id="steps-title"),
                    dmc.Select(
                        id=control("PICTURED"), data=sizes, value=DEFAULT_PICTURED, allowDeselect=False, size="xs",
                        w=180, **{"aria-label": "Product that is pictured"},
                    ),
                    download("Step by step"),
                ],
                className="panel-head",
            ),
            html.P(_STEPS_NOTE, className="note"),
            html.Div(
                [
                    html.Output("", id="step-text", className="position-text"),
                    html.Div(buttons, className="buttons", role="group", **{"aria-label": "Steps"}),
                    dmc.Slider(
                        id="step-slider", min=1, max=2, step=1, value=1, label=None, thumbLabel="Step", size="sm",
                        updatemode="drag", className="position",
                    ),
                ],
                className="playback steps-playback",
            ),
            html.Div(
                html.Div(graph("steps"), className="sheet steps-sheet"), className="scroller", tabIndex=0,
                role="region", **{"aria-labelledby": "steps-title"},
            ),
            html.Div(
                id="step-table", className="scroller", tabIndex=0, role="region",
                **{"aria-label": "What this step touches"},
            ),
        ],
        className="panel steps-panel",
    )  # fmt: skip


def _button(to: str, label: str, key: str = "") -> Component:
    title = f"{label} ({key})" if key else label
    return html.Button(
        id={"type": "step-go", "to": to}, className=f"icon-button {to}", type="button", title=title,
        **{"aria-label": label},
    )  # fmt: skip


def _picture(title: str, identity: str, note: str, alternative: str = "") -> Component:
    table: list[Any] = []
    if alternative:
        region = html.Div(
            id=alternative, className="scroller", tabIndex=0, role="region", **{"aria-label": f"{title}, as a table"}
        )
        table = [html.Details([html.Summary("As a table"), region], className="details")]
    return html.Section(
        [
            html.Div([html.H2(title, id=f"{identity}-title"), download(title)], className="panel-head"),
            html.Div(
                html.Div(graph(identity), className="sheet products-sheet"), className="scroller", tabIndex=0,
                role="region", **{"aria-labelledby": f"{identity}-title"},
            ),
            html.P(note, className="note", id=f"{identity}-note"),
            *table,
        ],
        className="panel",
    )  # fmt: skip


def _section(
    title: str, content: Component, *, identity: str, notes: tuple[str, ...] = (), last_note: str = ""
) -> Component:
    return html.Section(
        [
            html.H2(title, id=f"{identity}-title"),
            html.Div(
                content, className="scroller", tabIndex=0, role="region", **{"aria-labelledby": f"{identity}-title"}
            ),
            *(html.P(note, className="note") for note in notes),
            *([html.P("", className="note", id=last_note)] if last_note else []),
        ],
        className="panel",
    )
