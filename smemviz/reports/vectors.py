"""Cells as vectors: plotly draws a heatmap as an image, which on paper shows its pixels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

_CORNERS = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1), (np.nan, np.nan)]) / 2


def in_vectors(figure: go.Figure, plot_width: float) -> go.Figure:
    """Return the same figure with every heatmap as one polygon per colour, and its texts as texts."""
    layout = figure.layout
    width = plot_width / abs(layout.xaxis.range[1] - layout.xaxis.range[0]) if layout.xaxis.range else 1.0
    rows = layout.height - layout.margin.t - layout.margin.b
    height = rows / abs(layout.yaxis.range[1] - layout.yaxis.range[0]) if layout.yaxis.range else 1.0
    traces: list[Any] = []
    for trace in figure.data:
        traces += _cells(trace, width, height) if trace.type == "heatmap" else [trace]
    return go.Figure(traces, layout)


def _cells(trace: Any, width: float, height: float) -> Iterator[go.Scatter]:
    """Return the cells of a heatmap; a cell is ``width`` by ``height`` pixels, its gap included."""
    z = np.asarray(trace.z, float)
    x, y = np.asarray(trace.x), np.asarray(trace.y)
    size = np.array([1 - (trace.xgap or 0) / width, 1 - (trace.ygap or 0) / height])
    values = np.unique(z[~np.isnan(z)])
    shares = np.clip((values - trace.zmin) / (trace.zmax - trace.zmin), 0, 1)
    for value, colour in zip(values, _colours(trace.colorscale, shares), strict=True):
        row, column = np.nonzero(z == value)
        outline = _outlines(x[column], y[row], size)
        yield go.Scatter(
            x=outline[..., 0].ravel(),
            y=outline[..., 1].ravel(),
            mode="lines",
            line={"width": 0},
            fill="toself",
            fillcolor=colour,
            hoverinfo="skip",
            showlegend=False,
        )
    if trace.texttemplate:
        texts = np.asarray(trace.text, object)
        row, column = np.nonzero(texts != "")
        yield go.Scatter(
            x=x[column],
            y=y[row],
            text=texts[row, column],
            mode="text",
            textfont=trace.textfont.to_plotly_json(),  # a heatmap's is of another class
            hoverinfo="skip",
            showlegend=False,
        )


def _outlines(x: NDArray[Any], y: NDArray[Any], size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the corners of cells round their middles, (n, 6, 2), the pen lifted after each."""
    middles: NDArray[np.float64] = np.stack([x, y], axis=1)[:, np.newaxis].astype(float)
    return middles + _CORNERS * size


def _colours(scale: Any, shares: NDArray[np.float64]) -> list[str]:
    """Return the colours at shares of a scale of ``#rrggbb``, linear between its stops."""
    stops = [stop for stop, _ in scale]
    parts = [[int(colour[i : i + 2], 16) for _, colour in scale] for i in (1, 3, 5)]
    mixed = np.rint([np.interp(shares, stops, part) for part in parts]).astype(int)
    return ["#{:02x}{:02x}{:02x}".format(*colour) for colour in mixed.T.tolist()]
