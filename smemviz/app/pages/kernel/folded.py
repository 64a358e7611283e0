"""Figures of a launch below the first screen: its warps by accesses, and those that stand folded."""

import plotly.graph_objects as go
from dash import html
from dash.development.base_component import Component

from smemviz.app import ids
from smemviz.app.components.frames import scroller
from smemviz.app.components.graph import download, drawn, graph
from smemviz.app.components.launches import Filling, Query
from smemviz.app.components.written_html import Written
from smemviz.app.library import Library
from smemviz.app.pages.kernel.look_view import looked_at
from smemviz.figures.drawing.style import LEFT, RIGHT
from smemviz.figures.registry import FIGURES, FOLDED, FigureInput
from smemviz.figures.warps import warps

_DIGIT, _SPACE = 7, 8  # pixels
FOLDED_PROPERTIES = (
    f"{ids.WARPS}.figure",
    f"{ids.WARPS}.style",
    *(f"{name}{of}" for name in FOLDED for of in (".figure", ".style", "-panel.hidden", "-note.children")),
)


def folded_panels() -> list[Component]:
    """Lay out a section for each, closed."""
    return [_panel(name) for name in FOLDED]


def view_folded(library: Library, run: Query, look: Query) -> Filling:
    """Draw them for a launch; nothing where the run is refused, and none of the folded that has nothing to show."""
    view = looked_at(library, run, look)
    if view is None:
        return {}
    inputs = FigureInput(view.shown_run.recording, view.hardware, view.look.theme, view.now)
    # The browser frames the present warp.
    picture = warps(view.launch, view.now.block, hardware=view.hardware, theme=view.look.theme)
    filling = drawn(ids.WARPS, picture)
    for name in FOLDED:
        chosen = FIGURES[name]
        figure = chosen.draw(inputs)
        filling |= {
            f"{name}.figure": figure,
            f"{name}.style": {"height": figure.layout.height, "minWidth": least_width(figure)},
            f"{name}-panel.hidden": not figure.data,
            f"{name}-note.children": chosen.caption(inputs) if chosen.caption else "",
        }
    return filling


def least_width(figure: go.Figure) -> int:
    """Return the pixels that a figure of bars needs, so that the numbers on them stand apart; it scrolls below that."""
    texts = [str(text) for trace in figure.data for text in trace.text]
    bars = len(figure.layout.xaxis.categoryarray or texts)
    return LEFT + RIGHT + bars * (_SPACE + _DIGIT * max(map(len, texts), default=0))


def _panel(name: str) -> Component:
    title = FIGURES[name].title
    return html.Section(
        html.Details(
            [
                Written(html.Summary(html.H2(title, id=f"{name}-title"))),
                html.P(id=f"{name}-note", className="note"),
                download(title),
                scroller(html.Div(graph(name)), label=title),
            ],
            className="folded",
        ),
        id=f"{name}-panel",
        className="panel",
        hidden=True,
        **{"aria-labelledby": f"{name}-title"},
    )
