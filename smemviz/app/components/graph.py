"""A figure on the page."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import plotly.graph_objects as go
from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app.components.frames import scroller, text_button
from smemviz.app.components.launches import Filling
from smemviz.app.components.written_html import Written
from smemviz.figures.drawing.style import THEMES, empty
from smemviz.i18n import gettext as _
from smemviz.reports.html.page import CONFIG


def graph(identity: str | dict[str, Any], figure: go.Figure | None = None) -> dcc.Graph:
    """Place a figure, or room for one that a callback fills in."""
    drawing = {"figure": figure, "style": {"height": figure.layout.height}} if figure is not None else None
    return dcc.Graph(
        id=identity,
        config=dict(CONFIG),
        responsive=True,
        className="graph",
        **drawing or {"figure": _nothing()},
    )


@cache
def _nothing() -> go.Figure:
    return empty(THEMES["light"], "")


def drawn(name: str, figure: go.Figure) -> Filling:
    """Return what a callback fills in of a figure, which stands there as high as it is drawn."""
    return {f"{name}.figure": figure, f"{name}.style": {"height": figure.layout.height}}


def pictured(*names: str) -> tuple[str, ...]:
    """Return the names of the properties that ``drawn`` fills in."""
    return tuple(f"{name}.{attribute}" for name in names for attribute in ("figure", "style"))


def download(name: str) -> Component:
    """Offer the figure that stands in the same section as a table and as a file.

    ``assets/tables.js`` and ``assets/export.js`` make them in the browser, from what the figure shows; the name is
    read out before what it says.
    """
    forms = {"svg": "SVG", "png": "PNG", "html": "HTML"}
    save = html.Details(
        [
            html.Summary(_("Save"), className="text-button", **{"aria-label": _("Save {name}", name=name)}),
            html.Div(
                [text_button(text, **{"data-save": form, "data-name": name}) for form, text in forms.items()],
                className="save-forms",
            ),
        ],
        className="save",
    )
    properties = {"data-table": name, "aria-expanded": "false", "aria-label": _("Table of {name}", name=name)}
    return Written(html.Div([text_button(_("Table"), **properties), save], className="figure-tools"))


def picture_panel(title: str, identity: str, *controls: Any) -> html.Section:
    """Frame a picture that scripts draw, with its title, its controls and its key."""
    return html.Section(
        [
            _head(title, identity, controls),
            Written(html.Ul(id=f"{identity}-key", className="key", **{"aria-hidden": "true"})),
            Written(scroller(html.Div(id=identity, className="own-figure"), titled=f"{identity}-title")),
            html.P(id=f"{identity}-note", className="note"),
        ],
        className="panel picture-panel",
        id=f"{identity}-panel",
    )


def panel(title: str, identity: str, *controls: Any, note: str = "") -> html.Section:
    """Frame a figure with its title and controls; it scrolls sideways by itself where the screen is narrow."""
    return html.Section(
        [
            _head(title, identity, controls),
            html.P(note, className="note", id=f"{identity}-note"),
            scroller(html.Div(graph(identity), className="sheet", id=f"{identity}-sheet"), titled=f"{identity}-title"),
        ],
        className="panel",
        id=f"{identity}-panel",
    )


def _head(title: str, identity: str, controls: Sequence[Any]) -> html.Div:
    tools = html.Div([*controls, download(title)], className="panel-controls")
    return html.Div([Written(html.H2(title, id=f"{identity}-title")), tools], className="panel-head")
