"""Swizzles: a tile in each layout that tensor copies make, what accesses cost there, and a map of its pieces."""

from collections.abc import Sequence
from typing import Any

from dash import Dash, Input, dcc, html
from dash.development.base_component import Component

from smemviz.app.addresses import SWIZZLES
from smemviz.app.components.connect import fill
from smemviz.app.components.frames import origin, page_head, scroller, section
from smemviz.app.components.launches import Filling, Query, query_of
from smemviz.app.components.tables import table
from smemviz.app.components.written_html import Written
from smemviz.app.page import Page, Services
from smemviz.figures.drawing.style import THEMES, blend
from smemviz.i18n import N_, _
from smemviz.model.layout.operand_tiles import MODES
from smemviz.views.swizzle_modes import (
    ACCESSES,
    DTYPES,
    PIECES,
    Piece,
    TileView,
    cost_rows,
    mode_names,
    mode_texts,
    modes_headline,
    piece_text,
    uncounted_text,
)

SWIZZLE_PROPERTIES = (
    *("swizzles-headline.children", "swizzles-origin.children", "swizzles-choices.children"),
    *("swizzles-costs.children", "swizzles-maps.html"),
)
_COLOURS = tuple(zip(*(blend(THEMES[theme].ramp, PIECES) for theme in ("light", "dark")), strict=True))


def swizzle_page() -> Component:
    """Lay out the page; a callback fills it."""
    note = _(
        "A line is a row of all 32 banks, a cell 16 bytes, named by row and piece: 5,2 is the third piece of row 5. "
        "Colour is the piece. Framed is what the request asks for, with its wavefront below; thickly where the "
        "same banks serve another piece in its phase, which is a conflict."
    )
    scrolls = {"tabIndex": 0, "role": "group", "aria-labelledby": "swizzles-where-title"}  # on a narrow screen
    return html.Div(
        [
            page_head(
                "swizzles", _("Swizzles of tensor copies and wgmma"), _("A tile in five layouts"), origin("swizzles")
            ),
            section(
                "swizzles-all",
                _("Wavefronts of all requests"),
                scroller(label=_("Wavefronts of each access in each layout"), id="swizzles-costs"),
                html.P(uncounted_text(), className="note"),
            ),
            html.Div(id="swizzles-choices", className="panel swizzle-choices"),
            section(
                "swizzles-where",
                _("Where the pieces lie"),
                html.P(note, className="note"),
                Written(html.Div(id="swizzles-maps", className="swizzle-maps", **scrolls)),
            ),
        ]
    )


def view_swizzles(query: Query) -> Filling:
    """Count the accesses, and lay out the request that the query asks for."""
    view = _asked(query)
    names, texts = mode_names(), mode_texts()
    maps = [_map(view, *each) for each in zip(MODES, names, texts, strict=True)]
    return {
        "swizzles-headline.children": modes_headline(view),
        "swizzles-origin.children": _(
            "A tile of {rows} rows and {columns} columns of {dtype}; counted as on an H200.",
            rows=view.layout.rows,
            columns=view.layout.columns,
            dtype=view.dtype,
        ),
        "swizzles-choices.children": [
            _links(_("Type"), query, "dtype", DTYPES, view.dtype),
            _links(_("Request"), query, "at", [str(i + 1) for i in range(view.count)], str(view.request + 1)),
        ],
        "swizzles-costs.children": _costs(view, query, names),
        "swizzles-maps.html": maps,
    }


def _asked(query: Query) -> TileView:
    """Read a query; what does not exist gives way."""
    dtype, access, at = query.get("dtype", ""), query.get("access", ""), query.get("at", "")
    view = TileView(dtype if dtype in DTYPES else DTYPES[0], access if access in ACCESSES else next(iter(ACCESSES)))
    number = int(at) if at.isascii() and at.isdigit() and len(at) < 4 else 1
    return TileView(view.dtype, view.access, min(max(number, 1), view.count) - 1)


def _link(name: str, query: Query, changed: Query, *, is_now: bool, is_boxed: bool = True) -> Component:
    look = "kernel-link" if is_boxed else ""
    if is_now:
        return html.Span(name, className=f"{look} current".strip(), **{"aria-current": "true"})
    href = f"{SWIZZLES}?{query_of({key: value for key, value in query.items() if key != 'at'} | changed)}"
    return dcc.Link(name, href=href, className=look)


def _links(label: str, query: Query, name: str, values: Sequence[str], now: str) -> Component:
    links = [_link(value, query, {name: value}, is_now=value == now) for value in values]
    return html.Nav([html.Span(label, className="note"), *links], className="kernels", **{"aria-label": label})


def _costs(view: TileView, query: Query, names: Sequence[str]) -> Component:
    rows: list[list[Any]] = []
    for key, name, costs in cost_rows(view):
        head = _link(name, query, {"access": key}, is_now=key == view.access, is_boxed=False) if key else name
        rows.append([head, *map(_cost, costs)])
    looks = ("words", *["number"] * len(names))
    return table("swizzle-costs", _("Wavefronts of all requests"), ("", *names), rows, looks)


def _cost(cost: tuple[int, int] | None) -> Any:
    if cost is None:
        return "-"
    wavefronts, ideal = cost
    return html.Span(f"{wavefronts:,}", className="degree conflict" if wavefronts > ideal else "degree")


def _map(view: TileView, mode: Any, name: str, text: str) -> Component:
    pieces = view.pieces(mode)
    lines = [pieces[first : first + PIECES] for first in range(0, len(pieces), PIECES)]
    heads = [html.Th(f"{4 * i}-{4 * i + 3}", scope="col") for i in range(PIECES)]
    body = [html.Tr([_cell(view, piece) for piece in line]) for line in lines]
    drawn = html.Table(
        [html.Caption(_("Banks"), className="note"), html.Thead(html.Tr(heads)), html.Tbody(body)],
        className="swizzle-map",
    )
    return html.Section([html.H3(name), drawn, html.P(text, className="note")])


def _cell(view: TileView, piece: Piece) -> Component:
    light, dark = _COLOURS[piece.number]
    asked = piece.asked
    kinds = ["asked"] * (asked is not None) + ["conflict"] * bool(asked and asked.conflict)
    below = html.B(asked.wavefronts) if asked else ""
    return html.Td(
        [f"{piece.row},{piece.number}", below],
        className=" ".join(kinds),
        title=piece_text(view, piece),
        style={"--light": light, "--dark": dark},
    )


def register(app: Dash, services: Services) -> None:
    """Connect the page of an app."""
    fill(app, SWIZZLE_PROPERTIES, view_swizzles, Input("run", "data"), at=SWIZZLES)


PAGE = Page(SWIZZLES, N_("Swizzles"), lambda services, address: swizzle_page(), register, header="/lab")
