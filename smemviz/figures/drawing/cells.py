"""Text in the cells of a grid, at the largest size that fits them."""

from collections.abc import Sequence
from math import ceil
from typing import Any, NamedTuple
from unicodedata import east_asian_width

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from smemviz.figures.drawing.style import Theme, blend, every, steps
from smemviz.i18n import _

PLOT_WIDTH = 700  # pixels between the margins at the least width a picture is shown at
_CHARACTER = 0.58  # width of a digit, in font sizes
_LARGEST, _SMALLEST = 12, 6

LANES = "lanes"  # the meta of a trace whose texts are lanes as ``views.grid`` writes them
CHARACTERS = "characters"  # the meta of a trace whose x counts the characters of its texts, which are monospaced
_EDGE = 0.46  # from the middle of a cell to just inside its gap
_FRAME = ((-_EDGE, -_EDGE), (_EDGE, -_EDGE), (_EDGE, _EDGE), (-_EDGE, _EDGE), (-_EDGE, -_EDGE))
_CORNER = ((-_EDGE, -_EDGE), (-0.18, -_EDGE), (-_EDGE, -0.18), (-_EDGE, -_EDGE))
_BADGE = ((-_EDGE, -_EDGE), (_EDGE, -_EDGE), (_EDGE, 0), (-_EDGE, 0), (-_EDGE, -_EDGE))
BADGE_MIDDLE, BELOW_BADGE = -0.22, 0.22  # from the middle of a cell, where texts stand
BADGES = "badges"  # the meta of a trace that fills what lanes are written on
BAR = 34  # pixels below the title of an axis, of a bar of banks and its numbers
_BAR_TOP, _BAR_HIGH, _STEP = 46, 9, 0.92  # pixels, and of a bank's step what is coloured
_STRIKE = ((-0.34, 0.34), (0.34, -0.34))


def characters(text: str, size: float = _CHARACTER) -> int:
    """Return how wide a text is in characters of a size, in font sizes; Korean and Chinese letters are 1 wide."""
    wide = sum(east_asian_width(character) in "WF" for character in text)
    return len(text) + ceil(wide * (1 / size - 1))


def fitting_size(longest: float, columns: float, height: float, width: int = PLOT_WIDTH) -> int:
    """Return the font size at which texts fit cells ``height`` pixels high in a plot ``width`` wide, 0 for none."""
    size = min(_LARGEST, width / columns / (_CHARACTER * max(longest, 1)), 0.75 * height)
    return int(size) if size >= _SMALLEST else 0


def written(x: Any, y: Any, texts: Any, font: dict[str, Any], **more: Any) -> go.Scatter:
    """Write texts at places, also beyond the axes; they have no entry in the key."""
    plain = {"mode": "text", "hoverinfo": "skip", "showlegend": False, "cliponaxis": False}
    return go.Scatter(x=x, y=y, text=texts, textfont=font, **plain, **more)


def text_at(text: str, x: float, y: float, colour: str, size: float = 12, **more: Any) -> dict[str, Any]:
    """Return an annotation without an arrow; ``xanchor`` and the like say how it lies to its place."""
    return {"text": text, "x": x, "y": y, "showarrow": False, "font": {"size": size, "color": colour}, **more}


def hovering(texts: Any) -> dict[str, Any]:
    """Return what shows a text for each mark that is pointed at, and nothing else."""
    return {"hovertext": texts, "hovertemplate": "%{hovertext}<extra></extra>"}


def cell_text(
    x: NDArray[np.generic],
    y: NDArray[np.generic],
    texts: NDArray[np.object_],
    *,
    size: float,
    colour: str,
    weight: int = 400,
    meta: str | None = None,
) -> go.Scatter:
    """Write texts into the cells of a grid, "" for none."""
    row, column = np.nonzero(texts != "")
    font = {"size": max(size, _SMALLEST), "color": colour, "weight": weight}
    return written(x[column], y[row], texts[row, column], font, meta=meta)


class Marked(NamedTuple):
    """Cells that carry a mark: ``where`` of those in columns ``x`` and rows ``y``."""

    x: NDArray[np.int64]
    y: NDArray[np.int64]
    where: NDArray[np.bool_]


def cells(z: ArrayLike, palette: Sequence[str], *, hover: NDArray[np.object_] | None = None, **more: Any) -> go.Heatmap:
    """Colour cells: the one of value i gets colour i of the palette, one that is NaN none; ``hover`` is their text."""
    hovered: dict[str, Any] = {"hoverinfo": "skip"}
    if hover is not None:
        hovered = {**hovering(hover), "hoverongaps": False}
    return go.Heatmap(
        z=z,
        zmin=-0.5,
        zmax=len(palette) - 0.5,
        colorscale=steps(list(palette)),
        showscale=False,
        **{"xgap": 1, "ygap": 1, **hovered, **more},
    )


def frames(at: Marked, line: dict[str, Any], name: str, *, wide: int = 1) -> go.Scatter:
    """Draw a frame round each cell, or ``wide`` cells from it on, all in one line that lifts its pen between them."""
    return _outline(at, _widened(_FRAME, wide), line=line, name=name, showlegend=bool(at.where.any()))


def with_key(frame: go.Scatter) -> list[go.Scatter]:
    """Return frames and the entry of the key that stands for them, a frame too: Plotly would draw a line."""
    looks = {"symbol": "square-open", "size": 11, "color": frame.line.color, "line": {"width": frame.line.width}}
    shown = frame.showlegend is not False
    entry = go.Scatter(x=[None], y=[None], mode="markers", marker=looks, name=frame.name, showlegend=shown)
    return [frame.update(showlegend=False), entry]


def badges(at: Marked, colour: str, *, wide: int = 1) -> go.Scatter:
    """Fill the upper half of each cell, or of ``wide`` cells from it on: what stands there is no value of the cell."""
    return _filled(at, _widened(_BADGE, wide), colour).update(meta=BADGES)


def corners(at: Marked, theme: Theme, *, lower: tuple[float, float] | None = None) -> go.Scatter:
    """Fill the upper left corner of each cell: the mark of a conflict that needs no colour.

    ``lower`` fills the lower right one instead, so much of a cell's width and height.
    """
    shape = _CORNER
    if lower:
        shape = ((_EDGE, _EDGE), (_EDGE - lower[0], _EDGE), (_EDGE, _EDGE - lower[1]), (_EDGE, _EDGE))
    return _filled(at, shape, theme.conflict)


def strikes(at: Marked, line: dict[str, Any], name: str) -> go.Scatter:
    """Strike each cell through: the mark of waste that needs no colour."""
    return _outline(at, _STRIKE, line=line, name=name, showlegend=bool(at.where.any()))


def box(ends: tuple[float, float], rows: tuple[float, float], line: dict[str, Any], **more: Any) -> go.Scatter:
    """Draw a frame round what lies between two ends, across and down."""
    (left, right), (low, high) = ends, rows
    x, y = [left, right, right, left, left], [low, low, high, high, low]
    return go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", **more)


def key(colour: str, name: str, *, edge: str = "") -> go.Scatter:
    """Add an entry to the key that stands for a cell colour; one close to the paper's gets an edge."""
    marker: dict[str, Any] = {"symbol": "square", "size": 11, "color": colour}
    if edge:
        marker["line"] = {"color": edge, "width": 1}
    return go.Scatter(x=[None], y=[None], mode="markers", marker=marker, name=name)


def colour_bar(theme: Theme, banks: int) -> dict[str, Any]:
    """Return the shapes and texts of a bar below a plot, ``BAR`` pixels high, that has a step for each bank.

    A layout with it says so, ``meta["bar"]``.
    """
    low, high = -_BAR_TOP, -_BAR_TOP - _BAR_HIGH
    sides = {"xref": "paper", "yref": "paper", "ysizemode": "pixel", "yanchor": 0, "y0": low, "y1": high}
    steps_of = [
        {
            "type": "rect",
            **sides,
            "x0": bank / banks,
            "x1": (bank + _STEP) / banks,
            "fillcolor": colour,
            "line": {"width": 0},
        }
        for bank, colour in enumerate(blend(theme.ramp, banks))
    ]
    here: dict[str, Any] = {"xref": "paper", "yref": "paper", "y": 0, "colour": theme.muted, "size": 11}
    middle = here | {"xanchor": "right", "xshift": -6, "yanchor": "middle", "yshift": (low + high) / 2}
    below = here | {"xanchor": "center", "yanchor": "top", "yshift": high}
    numbers = range(0, banks, every(banks))
    texts = [text_at(str(bank), (bank + _STEP / 2) / banks, **below) for bank in numbers]
    return {"shapes": steps_of, "annotations": [text_at(_("bank"), 0, **middle), *texts]}


def _widened(shape: Sequence[tuple[float, float]], wide: int) -> list[tuple[float, float]]:
    return [(px + (wide - 1) * (px > 0), py) for px, py in shape]


def _filled(at: Marked, shape: Sequence[tuple[float, float]], colour: str) -> go.Scatter:
    return _outline(at, shape, line={"width": 0}, showlegend=False, fill="toself", fillcolor=colour)


def _outline(at: Marked, shape: Sequence[tuple[float, float]], **more: Any) -> go.Scatter:
    row, column = np.nonzero(at.where)
    points = np.array([*shape, (np.nan, np.nan)])
    return go.Scatter(
        x=(at.x[column][:, np.newaxis] + points[:, 0]).ravel(),
        y=(at.y[row][:, np.newaxis] + points[:, 1]).ravel(),
        mode="lines",
        hoverinfo="skip",
        **more,
    )
