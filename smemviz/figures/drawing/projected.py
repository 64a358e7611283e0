"""Pictures of a lesson: on a slide, in type that the last row reads, and on its page, with no text too small."""

import textwrap
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go

from smemviz.figures.drawing.cells import BADGES, BAR, CHARACTERS, LANES, characters
from smemviz.figures.drawing.style import LEFT, RIGHT
from smemviz.i18n import _
from smemviz.views.grid import label_size

WIDTH, HEIGHT = 1216, 496  # pixels of the pictures on a slide of 1280 x 720
GAP = 24  # pixels between two pictures
TITLE = 32  # pixels above each for its title
TYPE = 20  # pixels
_CODE, _MOST_CODE, _CODE_LINE, _MONO = 20, 28, 1.25, 0.602  # letters and lines of code, in pixels and in letters
_LETTER, _LINE = 0.56, 1.2  # of other texts, in font sizes
_DRAWN_LINE = 18  # what a line of code takes of the y axis
_KEY_LINE, _KEY_SYMBOL = 30, 56  # pixels of the key above: a row, and what is beside a name
_LEFT, _RIGHT, _BOTTOM, _TOP = 84, 20, 68, 14
_BAR_TOP, _BAR = 74, 56  # pixels: from the plot to the bar of banks, and what that takes with its numbers
_MOST_STRETCHED = 2.6
_TOO_TALL = 520  # pixels: pictures that are higher together stand side by side
_LOWEST = 64  # pixels of a plot
_LEAST_TYPE = 12  # pixels of a lane's name, which the last row of a room reads
_EVERY = (1, 2, 4, 8, 16, 32)
SHEET = 828  # pixels that a picture of a lesson is wide at least, as in assets/learn.css; below that it scrolls
LEAST = 10  # pixels
_DIGIT = 0.57  # in font sizes


def slide(figures: Sequence[go.Figure]) -> tuple[list[go.Figure], bool]:
    """Draw one or two pictures again so that they fill a slide; tell whether they stand side by side."""
    if any(figure.layout.xaxis.title.text == _("bank") for figure in figures):  # it names the colours of the others
        figures = [_without_bar(figure) for figure in figures]
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
    _wrap_names(drawn.layout.xaxis, width)
    margin = _margins(drawn, width)
    natural = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    across = width - margin["l"] - margin["r"]
    down = min(height - margin["t"] - margin["b"], round(natural * _MOST_STRETCHED))
    relabel(drawn, across, down, TYPE, _LEAST_TYPE)
    _project_bars(drawn, across)
    _project_axis(drawn.layout.xaxis, across, lambda text: characters(text) * _LETTER * TYPE + TYPE / 2)
    _project_axis(drawn.layout.yaxis, down, lambda _text: TYPE * _LINE)
    if characters(drawn.layout.yaxis.title.text or "") * _LETTER * TYPE > down:
        drawn.update_yaxes(title_text="")
    drawn.update_annotations(font_size=TYPE)
    if _has_bar(figure):
        drawn.update_shapes(y0=-_BAR_TOP, y1=-_BAR_TOP - TYPE)
        drawn.for_each_annotation(_below)
    return drawn.update_layout(
        width=width, height=down + margin["t"] + margin["b"], margin=margin, font_size=TYPE, legend_font_size=TYPE
    )


def _has_bar(figure: go.Figure) -> bool:
    return bool((figure.layout.meta or {}).get("bar"))


def _without_bar(figure: go.Figure) -> go.Figure:
    if not _has_bar(figure):
        return figure
    drawn, margin = go.Figure(figure), figure.layout.margin
    drawn.layout.shapes = drawn.layout.annotations = ()
    meta = {**figure.layout.meta, "bar": False}
    return drawn.update_layout(height=figure.layout.height - BAR, margin_b=margin.b - BAR, meta=meta)


def _below(text: Any) -> None:
    """Put a text beside the bar of banks, or under it."""
    text.yshift = -_BAR_TOP - (TYPE / 2 if text.yanchor == "middle" else TYPE)


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
    if figure.layout.annotations and not _has_bar(figure):
        top += _KEY_LINE
    written = max((characters(text) for text in figure.layout.yaxis.ticktext or ()), default=0)
    left = max(_LEFT, round(written * _LETTER * TYPE) + TYPE)
    lines = max((text.count("<br>") for text in figure.layout.xaxis.ticktext or ()), default=0)
    below = _BOTTOM + round(lines * TYPE * _LINE) + _BAR * _has_bar(figure)
    return {"l": left, "r": _RIGHT, "t": top, "b": below, "autoexpand": False}


def _wrap_names(axis: Any, width: int) -> None:
    """Break the names below an axis so that each fits its place, where its longest word does."""
    if not axis.ticktext or not axis.range:
        return
    apart = (width - _LEFT - _RIGHT) / abs(axis.range[1] - axis.range[0])
    room = max(1, int((apart - TYPE / 2) / (_LETTER * TYPE)))
    axis.ticktext = ["<br>".join(textwrap.wrap(name.replace("<br>", " "), room, break_long_words=False)) for name in
                     axis.ticktext]  # fmt: skip


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


def relabel(figure: go.Figure, width: float, height: float, size: int, least: int) -> None:
    """Name the lanes in that size, at ``least`` that, if all fit their cells in the plot; what cells hold goes."""
    figure.data = [trace for trace in figure.data if trace.meta != BADGES]
    figure.update_traces(texttemplate=None, text=None, selector={"type": "heatmap"})
    texts = [trace for trace in figure.data if trace.type == "scatter" and trace.mode == "text"]
    lanes = any(trace.meta == LANES and trace.text is not None for trace in texts)
    if lanes:
        figure.data = [t for t in figure.data if t.type != "scatter" or t.mode != "text" or t.meta == LANES]
        texts = [t for t in figure.data if t.type == "scatter" and t.mode == "text" and t.text is not None]
    written = [text for trace in texts for text in trace.text]
    (left, right), (bottom, top) = figure.layout.xaxis.range, figure.layout.yaxis.range
    rows = next((trace.y for trace in figure.data if trace.type == "heatmap"), None)
    apart_rows = abs(rows[1] - rows[0]) if rows is not None and len(rows) > 1 else 1
    unit, row = width / (right - left), height / abs(bottom - top) * apart_rows
    cells = sorted({(round(y), x) for trace in texts for x, y in zip(trace.x, trace.y, strict=True)})
    # A lane whose middle lies between cells takes several: all up to its neighbour.
    apart = [b[1] - a[1] for a, b in pairwise(cells) if a[0] == b[0] and a[1] % 1]
    longest = max(map(characters, written), default=0)
    fitting = label_size(longest, unit * min(apart, default=1), row, least=least, most=size)
    for trace in texts:
        trace.update(visible=bool(fitting), y=[round(y) for y in trace.y])
        trace.textfont.update(size=fitting or size, color=figure.layout.font.color)


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
    """Write code large: as many of its lines as have room, those whose costs are in bold if they can be."""
    (first, last), whole = figure.layout.xaxis.range, figure.layout.yaxis.range[0]
    size = min(_MOST_CODE, width / (last - first) / _MONO, height / (whole / _DRAWN_LINE) / _CODE_LINE)
    size = max(_CODE, int(size))
    most = height / (size * _CODE_LINE) * _DRAWN_LINE
    costs = [one for trace in figure.data[2:] for one in zip(trace.y, trace.text, strict=True)]
    chosen = [y for y, text in costs if text.startswith("<b>")] or [y for y, _text in costs] or [0]
    middle = sum(chosen) / len(chosen)
    start = min(max(0, middle - most / 2), max(0, whole - most))
    end = start + min(most, whole - start)
    for trace in figure.data:
        here = [i for i, y in enumerate(trace.y) if start + _DRAWN_LINE / 2 <= y <= end - _DRAWN_LINE / 2]
        trace.update(**{name: [trace[name][i] for i in here] for name in ("x", "y", "text")})
    figure.update_traces(textfont_size=size)
    figure.update_yaxes(range=[end, start])
    high = round((end - start) / _DRAWN_LINE * size * _CODE_LINE)
    return figure.update_layout(width=round((last - first) * _MONO * size) + 8, height=high)


def legible(figure: go.Figure) -> go.Figure:
    """Write in 10 pixels what is smaller and has room for them in its cell, and leave out what has none."""
    drawn = go.Figure(figure)
    across = drawn.layout.xaxis.range
    if not across:
        return drawn
    room = (SHEET - LEFT - RIGHT) / (across[1] - across[0])
    for trace in drawn.data:
        small = trace.type in ("scatter", "heatmap") and 0 < (trace.textfont.size or 0) < LEAST
        if not small or trace.text is None:
            continue
        longest = max((characters(str(text)) for text in np.ravel(trace.text)), default=0)
        if longest * _DIGIT * LEAST <= room:
            trace.textfont.size = LEAST
        elif trace.type == "heatmap":
            trace.texttemplate = None
        else:
            trace.text = None
    return drawn
