"""Reading a figure back: what is written where, and what is framed."""

import numpy as np
import plotly.graph_objects as go


def written(figure: go.Figure) -> dict[tuple[float, float], str]:
    """Return what is written into cells by text traces: {(x, y): text}."""
    traces = [trace for trace in figure.data if trace.type == "scatter" and trace.mode == "text"]
    return {
        (float(x), float(y)): text for trace in traces for x, y, text in zip(trace.x, trace.y, trace.text, strict=True)
    }


def bold(figure: go.Figure) -> set[str]:
    """Return the texts that are written in bold."""
    traces = [trace for trace in figure.data if trace.type == "scatter" and trace.mode == "text"]
    return {text for trace in traces if trace.textfont.weight >= 700 for text in trace.text}


def framed(figure: go.Figure, name: str) -> set[tuple[int, int]]:
    """Return the cells (x, y) that the frames of this name go round."""
    (trace,) = (t for t in figure.data if (t.name or "").startswith(name) and t.mode == "lines")
    x, y = np.asarray(trace.x, float), np.asarray(trace.y, float)
    return {(round(a), round(b)) for a, b in zip(x[~np.isnan(x)], y[~np.isnan(y)], strict=True)}


def cells(figure: go.Figure) -> go.Heatmap:
    """Return the first heatmap: the cells themselves."""
    return next(trace for trace in figure.data if trace.type == "heatmap")
