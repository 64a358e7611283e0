"""Pictures of the course: the scene of a question, bars of which one answers it, and a set-up of the layout lab."""

import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from smemviz.figures.banks import draw_banks
from smemviz.figures.drawing.cells import LANES, PLOT_WIDTH, cell_text, cells, fitting_size, text_at
from smemviz.figures.drawing.projected import relabel
from smemviz.figures.drawing.style import LEFT, RIGHT, THEMES, ThemeName, alternative, axis, layout
from smemviz.figures.tile import draw_grid
from smemviz.i18n import _, pgettext
from smemviz.views.grid import Grid
from smemviz.views.layout_lab import LabView, RequestPicture, element_text, layout_grid, request_text

Cell = tuple[int, int]  # row and column, from 0

_TALLEST, _LOWEST, _MOST = 40, 14, 448  # pixels of a row, which has room for marks of 10, and of all rows together
_LEAST_WIDTH = 680 - LEFT - RIGHT  # pixels of all columns together; below that the figure scrolls
_TOP, _BOTTOM, _LINE = 12, 44, 20
_WRITTEN = 150  # pixels that a title along the rows takes
_NAME = 16  # characters of a name on a line
_TALL, _LOW, _TYPE, _LEAST = 600, 470, 11, 9  # pixels of a picture that is drawn lower, so that it is seen at once


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
    kind = None if wide else LANES
    bolder: dict[str, Any] = {"size": size, "colour": colours.ink, "weight": 700, "meta": kind}
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
            cell_text(begin, y, texts, size=size, colour=colours.ink, meta=kind).update(textposition=position),
            cell_text(begin, y, bold, **bolder).update(textposition=position),
        ],
        layout(
            colours,
            height=rows * height + top + _BOTTOM,
            around=(top, _BOTTOM),
            annotations=[] if beside or not titles[1] else [above],
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


@dataclass(frozen=True)
class Bar:
    """A bar with its name; the one that ``answers`` is framed and its number bold."""

    name: str
    value: int
    answers: bool = False


def lesson_bars(
    bars: Sequence[Bar], x_title: str, y_title: str, sentence: str, *, theme: ThemeName = "light"
) -> go.Figure:
    """Draw a bar for each number, with the number above it; ``sentence`` tells what the picture shows."""
    colours = THEMES[theme]
    top = max(bar.value for bar in bars) or 1
    places = list(range(len(bars)))
    return go.Figure(
        go.Bar(
            x=places,
            y=[bar.value for bar in bars],
            width=0.62,
            marker={
                "color": [colours.ramp[3] if bar.answers else colours.ramp[0] for bar in bars],
                "line": {
                    "color": [colours.frame if bar.answers else colours.muted for bar in bars],
                    "width": [2.5 if bar.answers else 1 for bar in bars],
                },
            },
            text=[f"<b>{bar.value:,}</b>" if bar.answers else f"{bar.value:,}" for bar in bars],
            textposition="outside",
            textfont={"size": 13, "color": colours.ink},
            cliponaxis=False,
            hovertext=[bar.name for bar in bars],
            hovertemplate="%{hovertext}: %{y:,}<extra></extra>",
        ),
        layout(
            colours,
            height=270,
            around=(24, 58, 64, RIGHT),
            meta=alternative(sentence),
            xaxis=axis(
                colours,
                x_title,
                range=[-0.6, len(bars) - 0.4],
                tickmode="array",
                tickvals=places,
                ticktext=["<br>".join(textwrap.wrap(bar.name, _NAME)) for bar in bars],
                tickangle=0,
            ),
            yaxis=axis(colours, y_title, range=[0, top * 1.12], nticks=5),
        ),
    )


def lab_tile(picture: RequestPicture, *, view: LabView = "index", theme: ThemeName = "light") -> go.Figure:
    """Draw the array by the indices a kernel uses, or as it lies in the banks.

    Cells that the access asks for at some request are strong; unused memory is grey.
    """
    layout = picture.setup.layout

    def hover(grid: Grid, bank: NDArray[np.int64], lanes: NDArray[np.object_]) -> NDArray[np.object_]:
        texts = []
        for element, address, of_bank, lane in zip(
            *(column.ravel().tolist() for column in (grid.name, grid.address, bank, lanes)), strict=True
        ):
            name = element_text(layout, element) if element >= 0 else pgettext("memory", "unused")
            place = _("byte {address:,}, bank {bank}", address=address, bank=of_bank)
            here = _("lane {lane}", lane=lane)
            texts.append(f"<b>{name}</b><br>{place}" + (f"<br>{here}" if lane else ""))
        return np.array(texts, dtype=object).reshape(lanes.shape)

    grid = layout_grid(picture, view)
    words = {
        "empty_yet": _("not asked for"),
        "untouched": pgettext("memory", "unused"),
        "says": request_text(picture),
    }
    with_names = view == "banks"
    return _low(
        draw_grid(grid, picture.service(), picture.setup.where, THEMES[theme], hover, **words, with_names=with_names)
    )


def lab_banks(picture: RequestPicture, *, theme: ThemeName = "light") -> go.Figure:
    """Draw a column per bank and a row per wavefront, in each cell the lanes above their word; as wide as the tile."""
    says = request_text(picture)
    return _low(draw_banks(picture.service(), picture.setup.where.banks, THEMES[theme], says=says))


def _low(figure: go.Figure) -> go.Figure:
    """Draw a picture of many rows lower; words then have no room below their lanes, nor has every lane.

    Nor have they where cells are so narrow that nobody could read them all.
    """
    is_tall = figure.layout.height > _TALL
    small = any(0 < (trace.textfont.size or 0) < _LEAST for trace in figure.select_traces({"mode": "text"}))
    height = _LOW if is_tall else figure.layout.height
    if is_tall or small:
        relabel(figure, PLOT_WIDTH, height - figure.layout.margin.t - figure.layout.margin.b, _TYPE, _LEAST)
    if is_tall:
        for trace in figure.select_traces({"mode": "lines"}):
            trace.line.width = min(trace.line.width, 1)  # two frames leave the name between them room
    entries = sum(bool(trace.name) and trace.showlegend is not False for trace in figure.data)
    more = _LINE * (entries > 1)  # on a phone the key takes two rows
    return figure.update_layout(height=height + more, margin_t=figure.layout.margin.t + more)
