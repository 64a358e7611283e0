"""Pictures for a lecture hall: type that the last row reads, and as many labels as have room for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import plotly.graph_objects as go

from smemviz.figures.drawing.cells import BADGES
from smemviz.figures.drawing.text import CHARACTERS, LANES, characters

WIDTH, HEIGHT = 1216, 496  # pixels of the pictures on a slide of 1280 x 720
GAP = 24  # pixels between two pictures
TITLE = 32  # pixels above each for its title
TYPE = 20  # pixels
_CODE, _MOST_CODE, _CODE_LINE, _MONO = 20, 28, 1.25, 0.602  # letters and lines of code, in pixels and in letters
_LETTER, _LINE = 0.56, 1.2  # of other texts, in font sizes
_DRAWN_LINE = 18  # what a line of code takes of the y axis
_KEY_LINE, _KEY_SYMBOL = 30, 56  # pixels of the key above: a row, and what is beside a name
_LEFT, _RIGHT, _BOTTOM, _TOP = 84, 20, 68, 14
_MOST_STRETCHED = 2.6
_TOO_TALL = 520  # pixels: pictures that are higher together stand side by side
_LOWEST = 64  # pixels of a plot
_CLEAR = 0.6  # of a cell, from its middle to beyond its frame
_EVERY = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class _Label:
    """A text of a trace and the column of its cell, with its middle and its size in pixels."""

    trace: int
    number: int
    cell: float
    beside: bool
    x: float
    y: float
    width: float
    height: float

    def covers(self, other: _Label) -> bool:
        """Tell whether two texts touch."""
        beside = abs(self.x - other.x) < (self.width + other.width) / 2
        return beside and abs(self.y - other.y) < self.height


def slide(figures: Sequence[go.Figure]) -> tuple[list[go.Figure], bool]:
    """Draw one or two pictures again so that they fill a slide; tell whether they stand side by side."""
    plots = [figure.layout.height - figure.layout.margin.t - figure.layout.margin.b for figure in figures]
    if sum(figure.layout.height for figure in figures) > _TOO_TALL and not any(map(_is_code, figures)):
        width = (WIDTH - GAP * (len(figures) - 1)) // len(figures)
        return [projected(figure, width, HEIGHT - TITLE) for figure in figures], True
    around = [0 if _is_code(figure) else sum(_margins(figure, WIDTH)[side] for side in "tb") for figure in figures]
    room = HEIGHT - GAP * (len(figures) - 1) - sum(TITLE + height for height in around)
    parts = [max(_LOWEST, room * plot / sum(plots)) for plot in plots]
    parts = [part - (sum(parts) - room) * (part == max(parts)) for part in parts]
    return [projected(figure, WIDTH, int(part + margins)) for figure, part, margins in
            zip(figures, parts, around, strict=True)], False  # fmt: skip


def projected(figure: go.Figure, width: int, height: int) -> go.Figure:
    """Draw a picture again in so many pixels, with larger type; labels that would cover others are left out."""
    drawn = go.Figure(figure)
    if _is_code(figure):
        return _code_projected(drawn, width, height)
    margin = _margins(figure, width)
    natural = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    across = width - margin["l"] - margin["r"]
    down = min(height - margin["t"] - margin["b"], round(natural * _MOST_STRETCHED))
    relabel(drawn, across, down, TYPE)
    _project_bars(drawn, across)
    _project_axis(drawn.layout.xaxis, across, lambda text: characters(text) * _LETTER * TYPE + TYPE / 2)
    _project_axis(drawn.layout.yaxis, down, lambda _text: TYPE * _LINE)
    if characters(drawn.layout.yaxis.title.text or "") * _LETTER * TYPE > down:
        drawn.update_yaxes(title_text="")
    drawn.update_annotations(font_size=TYPE)
    return drawn.update_layout(
        width=width, height=down + margin["t"] + margin["b"], margin=margin, font_size=TYPE, legend_font_size=TYPE
    )


def _is_code(figure: go.Figure) -> bool:
    return any(trace.meta == CHARACTERS for trace in figure.data)


def _margins(figure: go.Figure, width: int) -> dict[str, Any]:
    """Return the pixels around a plot, for the key and the numbers and names at the axes."""
    names = [trace.name for trace in figure.data if trace.name and trace.showlegend is not False]
    top = _TOP
    if figure.layout.showlegend and names:
        wide = [characters(name) * _LETTER * TYPE + _KEY_SYMBOL for name in names]
        across = len(wide) if sum(wide) <= width else max(1, int(width // max(wide)))  # else they stand in columns
        top += _KEY_LINE * -(-len(wide) // across)
    if figure.layout.annotations:
        top += _KEY_LINE
    written = max((characters(text) for text in figure.layout.yaxis.ticktext or ()), default=0)
    left = max(_LEFT, round(written * _LETTER * TYPE) + TYPE)
    lines = max((text.count("<br>") for text in figure.layout.xaxis.ticktext or ()), default=0)
    return {"l": left, "r": _RIGHT, "t": top, "b": _BOTTOM + round(lines * TYPE * _LINE), "autoexpand": False}


def _project_axis(axis: Any, pixels: float, room: Callable[[str], float]) -> None:
    """Enlarge the type of an axis, and number fewer places where numbers would touch."""
    axis.update(tickfont_size=TYPE, title_font_size=TYPE)
    if not axis.range:
        return
    unit = pixels / abs(axis.range[1] - axis.range[0])
    longest = max((str(int(end)) for end in axis.range), key=len)
    if axis.tickvals is not None and len(axis.tickvals) > 1:
        names = [line for name in axis.ticktext or [longest] for line in name.split("<br>")]
        apart = unit * min(abs(b - a) for a, b in pairwise(axis.tickvals))
        needed = max(map(room, names))
        every = next((step for step in _EVERY if step * apart >= needed), _EVERY[-1])
        axis.tickvals = axis.tickvals[::every]
        axis.ticktext = axis.ticktext and axis.ticktext[::every]
    elif axis.dtick:
        axis.dtick *= next((step for step in _EVERY if step * axis.dtick * unit >= room(longest)), _EVERY[-1])
    else:
        axis.nticks = min(axis.nticks or _EVERY[-1], max(2, int(pixels / room(longest) / 2)))


def relabel(figure: go.Figure, width: float, height: float, size: int) -> None:
    """Write the lanes in that size, those that have room in the plot, and not what the cells hold; bold ones first.

    A lane that is wider than its cell stands beside it where no other is there, clear of frame and corner.
    """
    figure.data = [trace for trace in figure.data if trace.meta != BADGES]
    figure.update_traces(texttemplate=None, text=None, selector={"type": "heatmap"})
    texts = [i for i, trace in enumerate(figure.data) if trace.type == "scatter" and trace.mode == "text"]
    if any(figure.data[i].meta == LANES and figure.data[i].text is not None for i in texts):
        figure.data = [t for i, t in enumerate(figure.data) if i not in texts or t.meta == LANES]
        texts = [i for i, trace in enumerate(figure.data) if trace.type == "scatter" and trace.mode == "text"]
    figure.update_yaxes(ticks="outside", ticklen=size // 2, tickcolor="rgba(0,0,0,0)")  # labels reach out of cells
    (left, right), (bottom, top) = figure.layout.xaxis.range, figure.layout.yaxis.range
    unit = width / (right - left)
    for i in texts:  # whose cells they belong to, also where they were moved before
        figure.data[i].customdata = figure.data[i].x if figure.data[i].customdata is None else figure.data[i].customdata
    occupied = {
        (round(x), round(y)) for i in texts for x, y in zip(figure.data[i].customdata, figure.data[i].y, strict=True)
    }

    def is_beside(cell: float, y: float, long: float, longest: float) -> bool:
        """Tell whether a text of so many pixels stands beside its cell, as there is room for it and not within."""
        end = cell + _CLEAR + long / unit
        beyond = range(round(cell) + 1, round(end) + 1)
        # An access that takes several cells has their room.
        narrow = longest > unit and float(cell).is_integer()
        return narrow and end <= right and not any((place, round(y)) in occupied for place in beyond)

    drawn: list[_Label] = []
    for i in sorted(texts, key=lambda i: -(figure.data[i].textfont.weight or 400)):
        trace = figure.data[i]
        longs = [characters(text) * _LETTER * size + 4 for text in trace.text]
        labels = []
        for number, (cell, y, long) in enumerate(zip(trace.customdata, trace.y, longs, strict=True)):
            beside = is_beside(cell, y, long, max(longs))
            middle = (cell + _CLEAR * beside - left) * unit + long / 2 * beside
            down = (round(y) - top) / (bottom - top) * height
            labels.append(_Label(i, number, cell, beside, middle, down, long, size * _LINE))
        drawn += [label for label in _thinned(labels) if not any(label.covers(other) for other in drawn)]
    for i in texts:
        trace = figure.data[i]
        here = [label for label in drawn if label.trace == i]
        trace.update(
            customdata=[label.cell for label in here],
            x=[label.cell + _CLEAR * label.beside for label in here],
            y=[round(trace.y[label.number]) for label in here],
            text=[trace.text[label.number] for label in here],
            # However wide the plot turns out to be, one that stands beside its cell begins where that ends.
            textposition=["middle right" if label.beside else "middle center" for label in here],
        )
        trace.textfont.update(size=size, color=figure.layout.font.color)


def _thinned(labels: list[_Label]) -> list[_Label]:
    """Keep the labels of each row and column, or of each second, fourth and so on, until none covers another."""
    columns = {x: i for i, x in enumerate(sorted({label.cell for label in labels}))}
    rows = {y: i for i, y in enumerate(sorted({label.y for label in labels}))}
    for across, down in sorted(product(_EVERY, _EVERY), key=lambda steps: steps[0] * steps[1]):
        thinned = [label for label in labels if columns[label.cell] % across == 0 and rows[label.y] % down == 0]
        if not any(label.covers(other) for i, label in enumerate(thinned) for other in thinned[:i]):
            return thinned
    return labels[:1]


def _project_bars(figure: go.Figure, width: float) -> None:
    """Write the numbers of bars large, and leave room for them where the bars lie."""
    bars = [trace for trace in figure.data if trace.type == "bar"]
    figure.update_traces(textfont_size=TYPE, constraintext="none", textangle=0, selector={"type": "bar"})
    ends = [(value, characters(text) * _LETTER * TYPE) for bar in bars if bar.orientation == "h"
            for value, text in zip(bar.x, bar.text, strict=True)]  # fmt: skip
    if ends:
        longest = max(value / (1 - room / width) for value, room in ends)
        figure.update_xaxes(range=[0, max(longest, max(value for value, _room in ends))])


def _code_projected(figure: go.Figure, width: int, height: int) -> go.Figure:
    """Write code large: as many of its lines as have room, those with costs in the middle."""
    (first, last), whole = figure.layout.xaxis.range, figure.layout.yaxis.range[0]
    size = min(_MOST_CODE, width / (last - first) / _MONO, height / (whole / _DRAWN_LINE) / _CODE_LINE)
    size = max(_CODE, int(size))
    most = height / (size * _CODE_LINE) * _DRAWN_LINE
    costs = [y for trace in figure.data[2:] for y in trace.y]
    middle = sum(costs) / len(costs) if costs else 0
    start = min(max(0, middle - most / 2), max(0, whole - most))
    end = start + min(most, whole - start)
    for trace in figure.data:
        here = [i for i, y in enumerate(trace.y) if start + _DRAWN_LINE / 2 <= y <= end - _DRAWN_LINE / 2]
        trace.update(**{name: [trace[name][i] for i in here] for name in ("x", "y", "text")})
    figure.update_traces(textfont_size=size)
    figure.update_yaxes(range=[end, start])
    high = round((end - start) / _DRAWN_LINE * size * _CODE_LINE)
    return figure.update_layout(width=round((last - first) * _MONO * size) + 8, height=high)
