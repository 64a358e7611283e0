"""The array of a set-up as a tile, with the lanes of the pictured request in its cells, and the banks that serve it."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from smemviz.figures.banks import draw_banks
from smemviz.figures.drawing.projected import relabel
from smemviz.figures.drawing.style import THEMES, ThemeName
from smemviz.figures.drawing.text import PLOT_WIDTH
from smemviz.figures.tile import draw_grid
from smemviz.i18n import _, pgettext
from smemviz.views.grid import Grid
from smemviz.views.layouts.layout_grid import LabView, layout_grid
from smemviz.views.layouts.layout_lab import RequestPicture, element_text, request_text

_TALL, _LOW, _TYPE, _LEAST = 600, 470, 11, 9  # pixels of a picture that is drawn lower, so that it is seen at once


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
        "conflicting": _("lane in conflict"),
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
    return figure.update_layout(height=height)
