"""The array of a set-up as a tile, with the lanes of the pictured request in its cells, and the banks that serve it."""

from __future__ import annotations

from typing import Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from smemviz.figures.banks import draw_banks
from smemviz.figures.drawing.projected import relabel
from smemviz.figures.drawing.style import THEMES, ThemeName
from smemviz.figures.tile import draw_grid
from smemviz.i18n import _, pgettext
from smemviz.model.layout.accesses import elements
from smemviz.model.layout.layouts import Layout
from smemviz.views.grid import Grid
from smemviz.views.layout_lab import Pictured, element_text, request_text

_WIDTH = 362  # pixels between the margins; two set-ups stand side by side
_TALL, _LOW, _TYPE, _LEAST = 600, 470, 11, 9  # pixels of a picture that is drawn lower, so that it is seen at once

LabView = Literal["index", "banks"]


def lab_tile(shown: Pictured, *, view: LabView = "index", theme: ThemeName = "light", width: int = _WIDTH) -> go.Figure:
    """Draw the array by the indices a kernel uses, or as it lies in the banks.

    Cells that the access asks for at some request are strong; unused memory is grey. The plot is at least ``width``
    pixels wide.
    """
    layout = shown.setup.layout

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

    grid = _by_index(shown) if view == "index" else _by_bank(shown)
    words = {
        "conflicting": _("lane in conflict"),
        "empty_yet": _("not asked for"),
        "untouched": pgettext("memory", "unused"),
        "says": request_text(shown),
    }
    named = view == "banks"
    return _low(
        draw_grid(grid, shown.service(), shown.setup.where, THEMES[theme], hover, **words, named=named, width=width)
    )


def lab_banks(shown: Pictured, *, theme: ThemeName = "light", width: int = _WIDTH) -> go.Figure:
    """Draw a column per bank and a row per wavefront, in each cell the lanes above their word; as wide as the tile."""
    says = request_text(shown)
    return _low(draw_banks(shown.service(), shown.setup.where.banks, THEMES[theme], says=says, width=width))


def _low(figure: go.Figure) -> go.Figure:
    """Draw a picture of many rows lower; words then have no room below their lanes, nor has every lane.

    Nor have they where cells are so narrow that nobody could read them all.
    """
    is_tall = figure.layout.height > _TALL
    small = any(0 < (trace.textfont.size or 0) < _LEAST for trace in figure.select_traces({"mode": "text"}))
    height = _LOW if is_tall else figure.layout.height
    if is_tall or small:
        relabel(figure, _WIDTH, height - figure.layout.margin.t - figure.layout.margin.b, _TYPE)
    return figure.update_layout(height=height)


def _by_index(shown: Pictured) -> Grid:
    """Lay out the elements by row and column; a pad stands at the end of its row, unless a swizzle spreads it."""
    layout = shown.setup.layout
    address = layout.table()
    element = np.where(address >= 0, np.arange(address.size).reshape(address.shape), -1)
    if layout.swizzle is None and layout.stride > layout.columns:
        column = np.arange(layout.columns, layout.stride)
        start = layout.base + np.arange(layout.rows)[:, np.newaxis] * layout.stride * layout.itemsize
        address = np.hstack([address, start + column * layout.itemsize])
        element = np.hstack([element, np.full((layout.rows, len(column)), -1)])
    bank = np.where(element >= 0, shown.setup.where.bank(address), np.nan)
    return _grid(shown, layout.itemsize, address, element, bank, _("column"), _("row"))


def _by_bank(shown: Pictured) -> Grid:
    """Lay out the words of the array, a row of banks a line; a word of several elements shows the first."""
    layout, where = shown.setup.layout, shown.setup.where
    row_bytes = where.banks * where.width
    start = layout.base // row_bytes * row_bytes
    lines = max(1, -(-(layout.base + layout.nbytes - start) // row_bytes))
    address = start + np.arange(lines * where.banks) * where.width
    element = np.full(len(address), -1)
    table = layout.table().ravel()
    there = np.flatnonzero(table >= 0)[::-1]  # of several in one word the first comes last
    for piece in range(0, layout.itemsize, where.width):
        element[(table[there] + piece - start) // where.width] = there
    value = np.where(element >= 0, element.astype(float), np.nan)
    shape = (lines, where.banks)
    title = _("row of {banks} banks", banks=where.banks)
    return _grid(
        shown, where.width, address.reshape(shape), element.reshape(shape), value.reshape(shape), _("bank"), title
    )


def _grid(
    shown: Pictured,
    size: int,
    address: NDArray[np.int64],
    element: NDArray[np.int64],
    value: NDArray[np.float64],
    x_title: str,
    y_title: str,
) -> Grid:
    asked = np.isin(element, _asked(shown, shown.setup.layout))
    longest = len(str(int(np.nanmax(value, initial=0))))
    held = np.where(asked & (element >= 0), 0, -1)
    return Grid(address, size, value, held, element.astype(object), element >= 0, longest, x_title, y_title)


def _asked(shown: Pictured, layout: Layout) -> NDArray[np.int64]:
    """Return the elements that any request of the access asks for."""
    first = elements(shown.kind, layout).ravel()
    first = first[first >= 0]
    return (first[:, np.newaxis] + np.arange(max(1, shown.width // layout.itemsize))).ravel()
