"""The stage as it stands: a request's tile over the bins of its banks, as written and in a layout that was found.

``views/stage.py`` says where everything is. The unit of both axes is the width of a cell; ``meta["square"]`` tells
that it is, and how high cells are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from smemviz.figures.drawing.cells import LANES, PLOT_WIDTH, key, with_key, written
from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, alternative, blend, empty, every, layout
from smemviz.i18n import _
from smemviz.views.grid import lane_label, lanes_in
from smemviz.views.stage import Scene
from smemviz.wording.labels import count, sentences

Arrangement = Literal["column", "page"]

_TITLE, _BETWEEN, _FOOT, _GAP = 1.8, 2.1, 3.0, 1.5  # cells: above a tile, below it, below its bins, between two panels
_TILE, _BINS, _FLOOR = 26, 6, 0.5  # cells: how high at most is a tile, how high are bins and the bar under them
_PAPER = 0.07  # of a cell, free between two
_TOP = 30  # pixels for the key

Box = tuple[float, float, float, float]  # left, top, width, height


@dataclass
class _Drawing:
    """Boxes by what they are filled with, lower layers first, or framed in, and lines of text."""

    fills: dict[tuple[int, str], list[Box]] = field(default_factory=dict)
    frames: dict[bool, list[Box]] = field(default_factory=dict)  # by whether the lanes are in conflict
    lanes: list[tuple[float, float, str]] = field(default_factory=list)
    banks: list[tuple[float, float, str]] = field(default_factory=list)
    titles: list[tuple[float, float, str]] = field(default_factory=list)

    def fill(self, colour: str, box: Box, layer: int = 0) -> None:
        self.fills.setdefault((layer, colour), []).append(box)


def stage(scenes: Sequence[Scene], *, view: Arrangement = "column", theme: ThemeName = "light") -> go.Figure:
    """Draw a request as written and in the layout that costs its launch least, in one column or side by side."""
    colours = THEMES[theme]
    if not scenes:
        return empty(colours, _("No other layout was found that saves wavefronts."))
    pair = before_and_after(scenes)
    wide = max(scene.grid.address.shape[1] for scene in pair)
    rows = max(scene.grid.address.shape[0] for scene in pair)
    high = min(1.0, _TILE / rows)
    panel = _TITLE + rows * high + _BETWEEN + _BINS + _FLOOR + _FOOT
    drawing = _Drawing()
    for number, scene in enumerate(pair):
        at = (number * (wide + _GAP), _TITLE) if view == "page" else (0.0, number * panel + _TITLE)
        _panel(drawing, scene, at, (wide, high, rows * high), colours)
    across, down = (2 * wide + _GAP, panel) if view == "page" else (wide, 2 * panel)
    pixels = round(PLOT_WIDTH * down / across)
    hidden = {"visible": False, "fixedrange": True}
    return go.Figure(
        _traces(drawing, colours, unused=any((~scene.grid.touched).any() for scene in pair)),
        layout(
            colours,
            height=pixels + _TOP + 4,
            around=(_TOP, 4, 4, 4),
            showlegend=True,
            meta=alternative(sentences(*(f"{_titled(scene)}." for scene in pair))) | {"square": high},
            xaxis=hidden | {"range": [0, across]},
            yaxis=hidden | {"range": [down, 0]},
        ),
    )


def before_and_after(scenes: Sequence[Scene]) -> tuple[Scene, Scene]:
    """Return the request as written, and in the layout that costs its launch the fewest wavefronts."""
    return scenes[0], min(scenes[1:], key=lambda scene: scene.layout.wavefronts)


def _titled(scene: Scene) -> str:
    return _(
        "{layout}: {wavefronts} in the launch",
        layout=scene.layout.title,
        wavefronts=count(scene.layout.wavefronts, "wavefront"),
    )


def _panel(
    drawing: _Drawing, scene: Scene, at: tuple[float, float], size: tuple[float, float, float], colours: Theme
) -> None:
    """Draw a tile in so many cells, each so high, and below it the bins."""
    (left, top), (wide, high, tall) = at, size
    grid, banks = scene.grid, scene.where.banks
    ramp, faint = blend(colours.ramp, banks), blend(colours.faint, banks)
    drawing.titles.append((left, top - 0.9, f"<b>{_titled(scene)}</b>"))
    labels, conflict = lanes_in(grid, scene.service)
    cell = wide / grid.address.shape[1]
    for row, column in np.argwhere(grid.address >= 0).tolist():
        box = left + column * cell, top + row * high, cell, high
        held = (ramp if grid.thread[row, column] >= 0 else faint)[scene.bank(row, column)]
        drawing.fill(held if grid.touched[row, column] else colours.unused, box)
        if labels[row, column]:
            drawing.frames.setdefault(bool(conflict[row, column]), []).append(box)
            drawing.lanes.append((box[0] + cell / 2, box[1] + high / 2, lane_label(labels[row, column])))
    floor, step = top + tall + _BETWEEN + _BINS, wide / banks
    each = min(_BINS / scene.service.wavefronts, 1)
    for bank in range(banks):
        drawing.fill(colours.idle, (left + bank * step, floor - _BINS, step, _BINS))
        drawing.fill(ramp[bank], (left + bank * step, floor + 0.2, step, _FLOOR))
    for wavefront, bank in zip(scene.service.wavefront.tolist(), scene.service.bank.tolist(), strict=True):
        drawing.fill(ramp[bank], (left + bank * step, floor - (wavefront + 1) * each, step, each), 1)
    served = _("{wavefronts} of this request", wavefronts=count(scene.service.wavefronts, "wavefront"))
    drawing.titles.append((left, floor - _BINS - 0.9, served))
    under = floor + _FLOOR + 0.3
    drawing.banks += [(left + (bank + 0.5) * step, under, str(bank)) for bank in range(0, banks, every(banks))]
    drawing.banks.append((left + wide / 2, under + 1.2, _("bank")))


def _traces(drawing: _Drawing, colours: Theme, *, unused: bool) -> list[go.Scatter]:
    looks = {False: {"color": colours.frame, "width": 1.25}, True: {"color": colours.conflict, "width": 2.5}}
    names = {False: _("lane of this request"), True: _("lane in conflict")}
    return [
        *(
            _boxes(boxes, line={"width": 0}, fill="toself", fillcolor=colour, showlegend=False)
            for (_layer, colour), boxes in sorted(drawing.fills.items())
        ),
        *(
            trace
            for hot, boxes in sorted(drawing.frames.items(), reverse=True)
            for trace in with_key(_boxes(boxes, line=looks[hot], name=names[hot]))
        ),
        *([key(colours.unused, _("never touched"))] if unused else []),
        _text(drawing.lanes, {"size": 12, "color": colours.ink, "weight": 600}, meta=LANES),
        _text(drawing.banks, {"size": 11, "color": colours.muted}, textposition="bottom center"),
        _text(drawing.titles, {"size": 12, "color": colours.ink}, textposition="middle right"),
    ]


def _text(places: list[tuple[float, float, str]], font: dict[str, object], **more: str) -> go.Scatter:
    x, y, texts = zip(*places, strict=True)
    return written(x, y, texts, font, **more)


def _boxes(boxes: list[Box], **look: object) -> go.Scatter:
    """Draw boxes in one line that lifts its pen between them."""
    left, top, width, height = np.array(boxes).T
    right, bottom, pen_up = left + width - _PAPER, top + height - _PAPER, np.full(len(left), np.nan)
    x, y = (left, right, right, left, left, pen_up), (top, top, bottom, bottom, top, pen_up)
    return go.Scatter(x=np.stack(x, 1).ravel(), y=np.stack(y, 1).ravel(), mode="lines", hoverinfo="skip", **look)
