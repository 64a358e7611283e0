"""What a lesson asks about, before it is answered: a grid with marks in its cells, and no colour that tells a bank."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from smemviz.figures.drawing.cells import cells
from smemviz.figures.drawing.style import THEMES, ThemeName, alternative, axis, layout
from smemviz.figures.drawing.text import cell_text, fitting_size, text_at

Cell = tuple[int, int]  # row and column, from 0

_TALLEST, _LOWEST, _MOST = 26, 10, 420  # pixels of a row, and of all rows together
_TOP, _BOTTOM, _LINE = 12, 44, 20
_WRITTEN = 150  # pixels that a title along the rows takes


def lesson_scene(
    shape: tuple[int, int],
    marks: Mapping[Cell, str],
    titles: tuple[str, str],
    sentence: str,
    *,
    strong: Collection[Cell] = (),
    unused: Collection[Cell] = (),
    first: Cell = (0, 0),
    theme: ThemeName = "light",
) -> go.Figure:
    """Draw rows and columns of cells, numbered from ``first``; ``titles`` name columns and rows.

    A marked cell is filled and has its text, a ``strong`` one is bold and framed, an ``unused`` one grey.
    """
    colours = THEMES[theme]
    rows, columns = shape
    height = min(_TALLEST, max(_LOWEST, _MOST // rows))
    fill = np.zeros(shape)
    texts, bold = np.full(shape, "", object), np.full(shape, "", object)
    for cell in unused:
        fill[cell] = 1
    for cell, text in marks.items():
        fill[cell] = 2
        (bold if cell in strong else texts)[cell] = text
    longest = max(map(len, marks.values()), default=1)
    size = fitting_size(longest, columns, height)
    x, y = (np.arange(count) + begin for count, begin in zip((columns, rows), first[::-1], strict=True))
    frames = [
        {
            "type": "rect", "line": {"color": colours.frame, "width": 2}, "fillcolor": "rgba(0,0,0,0)",
            "x0": x[column] - 0.5, "x1": x[column] + 0.5, "y0": y[row] - 0.5, "y1": y[row] + 0.5,
        }
        for row, column in strong
    ]  # fmt: skip
    lines: list[list[str | int | float | None]] = [
        [int(x[column]), int(y[row]), text] for (row, column), text in sorted(marks.items())
    ]
    beside = rows * height >= _WRITTEN  # else the rows' title stands above them
    top = _TOP if beside or not titles[1] else _TOP + _LINE
    along = titles[1] if beside else ""
    corner: dict[str, Any] = {"xref": "paper", "xanchor": "left", "yref": "paper", "yanchor": "bottom"}
    above = text_at(f"↓ {titles[1]}", 0, 1, colours.muted, **corner)
    ticks = {"tickmode": "linear", "tick0": 0, "tickformat": "d"}
    return go.Figure(
        [
            cells(fill, [colours.idle, colours.unused, colours.ramp[1]], x=x, y=y),
            cell_text(x, y, texts, size=size, colour=colours.ink),
            cell_text(x, y, bold, size=size, colour=colours.ink, weight=700),
        ],
        layout(
            colours,
            height=rows * height + top + _BOTTOM,
            top=top,
            annotations=[] if beside or not titles[1] else [above],
            bottom=_BOTTOM,
            shapes=frames,
            meta=alternative(sentence, (titles[0], titles[1], ""), lines),
            xaxis=axis(colours, titles[0], range=[x[0] - 0.5, x[-1] + 0.5], dtick=_every(columns), **ticks),
            yaxis=axis(colours, along, range=[y[-1] + 0.5, y[0] - 0.5], dtick=_every(rows), **ticks),
        ),
    )  # fmt: skip


def _every(count: int) -> int:
    """Return how far apart numbers at an axis are, so that none covers its neighbour."""
    return next(step for step in (1, 4, 8, 16, 32, 64) if count <= 17 * step)
