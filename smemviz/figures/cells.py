"""Cells in rows and columns: the coloured squares of a picture, and the marks round and in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from smemviz.figures.style import Theme, steps

_EDGE = 0.46  # from the middle of a cell to just inside its gap
_FRAME = ((-_EDGE, -_EDGE), (_EDGE, -_EDGE), (_EDGE, _EDGE), (-_EDGE, _EDGE), (-_EDGE, -_EDGE))
_CORNER = ((-_EDGE, -_EDGE), (-0.12, -_EDGE), (-_EDGE, -0.12), (-_EDGE, -_EDGE))
_STRIKE = ((-0.34, 0.34), (0.34, -0.34))


def cells(z: ArrayLike, palette: Sequence[str], *, hover: NDArray[np.object_] | None = None, **more: Any) -> go.Heatmap:
    """Colour cells: the one of value i gets colour i of the palette, one that is NaN none; ``hover`` is their text."""
    shown: dict[str, Any] = {"hoverinfo": "skip"}
    if hover is not None:
        shown = {"hovertext": hover, "hovertemplate": "%{hovertext}<extra></extra>", "hoverongaps": False}
    return go.Heatmap(
        z=z,
        zmin=-0.5,
        zmax=len(palette) - 0.5,
        colorscale=steps(list(palette)),
        showscale=False,
        **{"xgap": 1, "ygap": 1, **shown, **more},
    )


def frames(
    x: NDArray[np.int64],
    y: NDArray[np.int64],
    where: NDArray[np.bool_],
    line: dict[str, Any],
    name: str,
    *,
    wide: int = 1,
) -> go.Scatter:
    """Draw a frame round each cell, or ``wide`` cells from it on, all in one line that lifts its pen between them."""
    shape = [(px + (wide - 1) * (px > 0), py) for px, py in _FRAME]
    return _outline(x, y, where, shape, mode="lines", line=line, name=name, showlegend=bool(where.any()))


def corners(x: NDArray[np.int64], y: NDArray[np.int64], where: NDArray[np.bool_], theme: Theme) -> go.Scatter:
    """Fill the upper left corner of each cell: the mark of a conflict that needs no colour."""
    fill = {"fill": "toself", "fillcolor": theme.conflict}
    return _outline(x, y, where, _CORNER, mode="lines", line={"width": 0}, showlegend=False, **fill)


def strikes(
    x: NDArray[np.int64], y: NDArray[np.int64], where: NDArray[np.bool_], line: dict[str, Any], name: str
) -> go.Scatter:
    """Strike each cell through: the mark of waste that needs no colour."""
    return _outline(x, y, where, _STRIKE, mode="lines", line=line, name=name, showlegend=bool(where.any()))


def key(colour: str, name: str) -> go.Scatter:
    """Add an entry to the key that stands for a cell colour."""
    return go.Scatter(
        x=[None], y=[None], mode="markers", marker={"symbol": "square", "size": 11, "color": colour}, name=name
    )


def _outline(
    x: NDArray[np.int64],
    y: NDArray[np.int64],
    where: NDArray[np.bool_],
    shape: Sequence[tuple[float, float]],
    **more: Any,
) -> go.Scatter:
    row, column = np.nonzero(where)
    points = np.array([*shape, (np.nan, np.nan)])
    return go.Scatter(
        x=(x[column][:, np.newaxis] + points[:, 0]).ravel(),
        y=(y[row][:, np.newaxis] + points[:, 1]).ravel(),
        hoverinfo="skip",
        **more,
    )
