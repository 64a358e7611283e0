"""What a lesson asks about, before it is answered: a grid with marks in its cells, and no colour that tells a bank."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go

from smemviz.figures.drawing.cells import cells
from smemviz.figures.drawing.style import LEFT, RIGHT, THEMES, ThemeName, alternative, axis, layout
from smemviz.figures.drawing.text import cell_text, fitting_size, text_at

Cell = tuple[int, int]  # row and column, from 0

_TALLEST, _LOWEST, _MOST = 26, 14, 448  # pixels of a row, which has room for marks of 10, and of all rows together
_LEAST_WIDTH = 680 - LEFT - RIGHT  # pixels of all columns together; below that the figure scrolls
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
    apart: int = 1,
    theme: ThemeName = "light",
) -> go.Figure:
    """Draw rows and columns of cells, numbered from ``first``; ``titles`` name columns and rows.

    The numbers of two rows are ``apart``. A marked cell is filled and has its text, a ``strong`` one is bold and
    framed, an ``unused`` one grey.
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
    size = fitting_size(longest, columns / _gap(marks, columns), height, _LEAST_WIDTH)
    x, y = np.arange(columns) + first[1], np.arange(rows) * apart + first[0]
    # Where a mark is wider than its cell it goes on over those beside it, which are free.
    wide = fitting_size(longest, columns, height, _LEAST_WIDTH) < size
    begin, position = (x - 0.5, "middle right") if wide else (x, "middle center")
    half = apart / 2
    frames = [
        {
            "type": "rect", "line": {"color": colours.frame, "width": 2}, "fillcolor": "rgba(0,0,0,0)",
            "x0": x[column] - 0.5, "x1": x[column] + 0.5, "y0": y[row] - half, "y1": y[row] + half,
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
    ticks = {"tickmode": "linear", "tick0": 0, "tickformat": "d", "ticklabelstandoff": 4}
    return go.Figure(
        [
            cells(fill, [colours.idle, colours.unused, colours.ramp[1]], x=x, y=y),
            cell_text(begin, y, texts, size=size, colour=colours.ink).update(textposition=position),
            cell_text(begin, y, bold, size=size, colour=colours.ink, weight=700).update(textposition=position),
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
            yaxis=axis(colours, along, range=[y[-1] + half, y[0] - half], dtick=_every(rows) * apart, **ticks),
        ),
    )  # fmt: skip


def _gap(marks: Collection[Cell], columns: int) -> int:
    """Return how many columns each mark has to itself."""
    cells = sorted(marks)
    gaps = (right[1] - left[1] for left, right in pairwise(cells) if left[0] == right[0])
    return min(gaps, default=columns)


def _every(count: int) -> int:
    """Return how far apart numbers at an axis are, so that none covers its neighbour."""
    return next(step for step in (1, 4, 8, 16, 32, 64) if count <= 17 * step)
