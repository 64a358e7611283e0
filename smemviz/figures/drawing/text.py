"""Text in the cells of a grid, at the largest size that fits them."""

from __future__ import annotations

from math import ceil
from typing import Any
from unicodedata import east_asian_width

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

PLOT_WIDTH = 700  # pixels between the margins at the least width a picture is shown at
_CHARACTER = 0.58  # width of a digit, in font sizes
_LARGEST, _SMALLEST = 12, 6

LANES = "lanes"  # the meta of a trace whose texts are lanes as ``views.lane_labels`` writes them
CHARACTERS = "characters"  # the meta of a trace whose x counts the characters of its texts, which are monospaced


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
