"""The small picture of a gallery card: the tile under its worst request, without a word."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from smemviz.figures.drawing.alternative import alternative
from smemviz.figures.drawing.cells import cells
from smemviz.figures.drawing.style import THEMES, ThemeName, blend, empty, layout
from smemviz.i18n import _
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.playback.bank_service import bank_layout, bank_service
from smemviz.model.playback.worst import worst_request
from smemviz.recordings.data import Launch
from smemviz.views.grid import declared, lanes_in
from smemviz.wording.sentences import present

_MOST = 64


def thumbnail(launch: Launch, *, hardware: Hardware = H200, theme: ThemeName = "light") -> go.Figure:
    """Draw the first shared array with the lanes of the launch's worst request: dark, or orange where in conflict."""
    colours = THEMES[theme]
    array = next((a for a in launch.shared_arrays if a.nbytes), None)
    if array is None:
        return empty(colours, _("no shared memory"))
    now = worst_request(launch, hardware)
    where = bank_layout(launch, hardware)
    grid = declared(now, array, where)
    lanes, conflict = lanes_in(grid, bank_service(now, where, hardware))
    bank = where.bank(grid.address).astype(float)
    bank[~grid.touched] = where.banks
    bank[(lanes != "") & ~conflict] = where.banks + 1
    bank[conflict] = where.banks + 2
    palette = [*blend(colours.ramp, where.banks), colours.unused, colours.frame, colours.conflict]
    part = bank[:_MOST, :_MOST]
    words = [_("bank {bank}", bank=i) for i in range(where.banks)]
    words += [_("never touched"), _("lane of the worst request"), _("lane in conflict")]
    hidden = {"visible": False, "fixedrange": True}
    return go.Figure(
        cells(np.where(grid.address[:_MOST, :_MOST] >= 0, part, np.nan), palette, meta={"words": words}),
        layout(
            colours,
            height=160,
            meta=alternative(present(now, hardware)),
            margin={"l": 0, "r": 0, "t": 0, "b": 0},
            xaxis={**hidden, "title": {"text": grid.x_title}},
            yaxis={**hidden, "title": {"text": grid.y_title}, "autorange": "reversed"},
        ),
    )
