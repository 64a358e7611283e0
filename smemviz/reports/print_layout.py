"""Figures made ready for print, as vectors, with text that is the size asked for or fits."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import product
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from smemviz.errors import InputError
from smemviz.figures.drawing.cells import BADGES, CHARACTERS, LANES, characters, text_at
from smemviz.figures.drawing.style import THEMES, ThemeName, mono
from smemviz.i18n import _

_BODY = 12  # pixels: the type of a figure as it is drawn
_LEAST_POINTS = 3.5  # on paper; a text in a cell that would be smaller is left out, as the figures do on a screen
_CHARACTER, _MONO = 0.62, 0.605  # widths, in font sizes: of a bold digit, of any letter
_SCREEN, _FLATTEST = 700, 0.65  # pixels a plot is wide on a screen; rows of cells become no flatter than that
_NARROWEST = 120  # pixels of a plot, in which nothing overlaps
_BETWEEN = 1.5  # pixels free between the texts of two cells
_HEAVIEST = 1.6  # pixels of a line round a cell
_STROKE, _INSIDE = 0.1, 0.9  # of a cell: its frame is as wide at most, and so far apart are the frame's two sides
_LOWER = 0.12  # font sizes by which numerals in the middle of a line stand above the middle of its cell
_AVERAGE = 0.54  # of the letters of a sentence
_CAPTION, _CAPTION_LINE = 11, 15
_LEADING = 1.3  # font sizes from line to line of a label
_KEY_LINE, _KEY_ENTRY, _KEY_TYPE = 19, 42, 11.5  # pixels: a row of the key, its symbol with its gaps, its type
# What stays on one line, with the space behind it: a word; a Chinese letter with marks that may not begin a line.
_PIECE = re.compile(r"[\u3400-\u9fff][\u3001-\u3011\uff00-\uff5e.,;:)]*\s*|[^\s\u3400-\u9fff]+\s*|\s+")
_POINT, _CENTIMETRE = 96 / 72, 96 / 2.54  # CSS pixels
_CORNERS = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1), (np.nan, np.nan)]) / 2


@dataclass(frozen=True)
class Sheet:
    """How a figure goes to paper: width in cm, type in points; ``background`` paints the theme's paper behind it."""

    width_cm: float = 8.0
    points: float = 7.0
    background: bool = False

    @property
    def scale(self) -> float:
        """CSS pixels on paper for one of the figure."""
        return self.points * _POINT / _BODY

    @property
    def pixels(self) -> int:
        """The width the figure is laid out at."""
        return round(self.width_cm * _CENTIMETRE / self.scale)


@dataclass(frozen=True)
class Printed:
    """A figure laid out for paper, ``width`` and ``height`` in its pixels, each of which is ``scale`` CSS pixels."""

    figure: go.Figure
    width: int
    height: int
    scale: float


def print_layout(
    figure: go.Figure, sheet: Sheet, theme: ThemeName = "light", caption: str = "", line: str = ""
) -> Printed:
    """Lay a figure out for paper, a ``line`` of source above it and a caption below; the figure given stays as it is.

    Raises:
        InputError: when the sheet is too narrow for the figure.
    """
    printed = go.Figure(figure)
    width = sheet.pixels
    margin = printed.layout.margin
    names = printed.layout.yaxis.ticktext
    if names is not None and len(names):
        margin.l = min(margin.l, 8 + _CAPTION * 0.6 * max(map(characters, names)))
    plot = width - margin.l - margin.r
    if plot < _NARROWEST:
        raise _too_narrow()
    smallest = _LEAST_POINTS * _POINT / sheet.scale
    if any(trace.type == "heatmap" for trace in printed.data):
        rows = printed.layout.height - margin.t - margin.b
        printed.layout.height -= rows - rows * min(max(plot / _SCREEN, _FLATTEST), 1)
    for trace in printed.select_traces({"meta": LANES}):
        trace.text = [text.removeprefix("L") for text in trace.text]
    if (printed.layout.meta or {}).get("square"):
        across, down = (abs(axis.range[0] - axis.range[1]) for axis in (printed.layout.xaxis, printed.layout.yaxis))
        printed.layout.height = margin.t + margin.b + plot * down / across
    stroke = _thin(printed, plot)
    for trace in printed.data:
        _fit(trace, printed.layout, plot, smallest, stroke)
    _fit_pairs(printed, plot)
    _close_up(printed)
    numbers = _number_lanes(printed, plot)
    _title_above(printed)
    printed = in_vectors(printed, plot)
    _lower(printed)
    top = margin.t + (_KEY_LINE * (_wrap_key(printed, plot, numbers, THEMES[theme].ramp[0]) - 1))
    columns = max(int((width - 8) / (_AVERAGE * _CAPTION)), 20)
    lines = [line for paragraph in caption.splitlines() for line in _lines(paragraph, columns)]
    below = len(lines) * _CAPTION_LINE + 10 if lines else 0
    if line:
        code = _lines(line, int((width - 8) / (_MONO * _CAPTION)), 1)
        top += len(code) * _CAPTION_LINE + 5
        above = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "top", "yshift": top - 3}
        above["font"] = {"size": _CAPTION, "color": THEMES[theme].ink, "family": mono()}
        text, shift = "<br>".join(map(escape, code)), 4 - margin.l
        printed.add_annotation(text=text, x=0, y=1, xshift=shift, align="left", showarrow=False, **above)
    height = round(printed.layout.height + top - margin.t + below)
    if lines:
        printed.add_annotation(
            text="<br>".join(map(escape, lines)),
            x=0,
            y=0,
            xref="paper",
            yref="paper",
            xanchor="left",
            yanchor="top",
            xshift=4 - margin.l,
            yshift=-margin.b - 2,
            align="left",
            showarrow=False,
            font={"size": _CAPTION, "color": THEMES[theme].muted},
        )
    printed.update_layout(
        width=width,
        height=height,
        margin={"t": top, "b": margin.b + below},
        paper_bgcolor=THEMES[theme].paper if sheet.background else "rgba(0,0,0,0)",
    )
    return Printed(printed, width, height, sheet.scale)


def _thin(figure: go.Figure, plot: float) -> float:
    """Draw frames round cells with strokes that leave room for what stands in them; return the widest, 0 for none."""
    cells = any(trace.type == "heatmap" for trace in figure.data) or (figure.layout.meta or {}).get("square")
    if figure.layout.xaxis.range is None or not cells:
        return 0
    most = min(_STROKE * plot / abs(figure.layout.xaxis.range[1] - figure.layout.xaxis.range[0]), _HEAVIEST)
    frames = [t for t in figure.data if t.type == "scatter" and t.mode == "lines" and t.line.width]
    for trace in frames:
        trace.line.width = min(trace.line.width, most)
    return max((trace.line.width for trace in frames), default=0)


def _close_up(figure: go.Figure) -> None:
    """Let lines of text stand as close as their type is small."""
    sizes = [trace.textfont.size for trace in figure.data if trace.meta == CHARACTERS]
    if sizes:
        margin = figure.layout.margin
        lines = figure.layout.height - margin.t - margin.b
        figure.layout.height -= lines * (1 - min(max(sizes) / _BODY, 1))


def _number_lanes(figure: go.Figure, plot: float) -> str:
    """Say what numbers in cells are, "" where there are none; where they are alone these become no higher than wide."""
    lanes = [t for t in figure.data if t.meta == LANES and t.visible is not False and len(t.text)]
    if not lanes:
        return ""
    others = (t for t in figure.select_traces({"mode": "text"}) if t.meta != LANES and t.visible is not False)
    words = any(t.textposition is None for t in others)
    name = _("number = lane, below it what it asks for") if words else _("number = lane")
    layout = figure.layout
    if not words and any(t.type == "heatmap" for t in figure.data) and all(t.meta != BADGES for t in figure.data):
        for trace in lanes:
            trace.y = np.round(np.asarray(trace.y, float))
        rows, columns = (abs(axis.range[0] - axis.range[1]) for axis in (layout.yaxis, layout.xaxis))
        high = layout.height - layout.margin.t - layout.margin.b
        numbered = min(np.diff(layout.yaxis.tickvals), default=rows)
        row = max(plot / columns, lanes[0].textfont.size, _CAPTION_LINE / max(numbered, 1))
        layout.height -= max(high - rows * row, 0)
    if not layout.showlegend:
        layout.update(showlegend=True, height=layout.height + _KEY_LINE)
        layout.margin.t += _KEY_LINE
    return name


def _lower(figure: go.Figure) -> None:
    """Put the numerals of cells, which have nothing below the line, into the middle of their cells."""
    layout = figure.layout
    if layout.yaxis.range is None:
        return
    down = (layout.yaxis.range[0] - layout.yaxis.range[1]) / (layout.height - layout.margin.t - layout.margin.b)
    for trace in figure.data:
        if trace.type == "scatter" and trace.mode == "text" and trace.textposition in (None, "middle center"):
            trace.y = np.asarray(trace.y, float) + _LOWER * trace.textfont.size * down


def _fit(trace: Any, layout: Any, plot: float, smallest: float, stroke: float) -> None:
    """Shrink the texts of a trace to the cells or characters they stand in; ``stroke`` is the width of their frames."""
    is_cells = trace.type == "heatmap" and trace.texttemplate
    is_text = trace.type == "scatter" and trace.mode == "text" and trace.text is not None and len(trace.text) > 0
    if not (is_cells or is_text) or layout.xaxis.range is None:
        return
    unit = plot / abs(layout.xaxis.range[1] - layout.xaxis.range[0])
    if trace.meta == CHARACTERS:
        trace.textfont.size = min(trace.textfont.size, unit / _MONO)
        if trace.textfont.size < 1:
            raise _too_narrow()
    elif is_cells or trace.textposition in (None, "middle center"):
        texts = [str(t) for row in trace.text for t in row] if is_cells else [str(t) for t in trace.text]
        room = unit - _BETWEEN if not stroke else _INSIDE * unit - stroke
        rows = abs(layout.yaxis.range[0] - layout.yaxis.range[1])
        cell = (layout.meta or {}).get("square", 1)
        tall = _INSIDE * cell * (layout.height - layout.margin.t - layout.margin.b) / rows
        size = min(trace.textfont.size, tall - stroke, room / (_CHARACTER * max(*map(characters, texts), 1, 1)))
        trace.textfont.size = max(size, 1)
        if size < smallest:
            trace.update(texttemplate="") if is_cells else trace.update(visible=False)


def _fit_pairs(figure: go.Figure, plot: float) -> None:
    """Fold labels that stand at both ends of one row and would meet: one below the other, in rows as high as that."""
    labels = [t for t in figure.data if t.type == "scatter" and t.mode == "text" and t.meta != CHARACTERS]
    ends = [[t for t in labels if t.textposition == f"middle {side}"] for side in ("right", "left")]
    for left, right in product(*ends):
        if list(left.y) != list(right.y):
            continue
        size = left.textfont.size
        columns = int(plot / (_AVERAGE * size))
        pairs = [(_letters(a), _letters(b)) for a, b in zip(left.text, right.text, strict=True)]
        if all(characters(a, _AVERAGE) + characters(b, _AVERAGE) + 2 <= columns for a, b in pairs):
            continue
        left.text = [f"{_folded(a, columns)}<br>{'<br>'.join(_lines(b, columns))}" for a, (_, b) in
                     zip(left.text, pairs, strict=True)]  # fmt: skip
        left.y, right.visible = np.round(left.y), False
        _make_room(figure, size * (_LEADING * max(text.count("<br>") + 1 for text in left.text) + 1))


def _folded(text: str, columns: int) -> str:
    """Break a label into lines of so many characters; what is bold at its end stays so."""
    plain, _, bold = text.partition("<b>")
    if not bold:
        return "<br>".join(_lines(plain, columns))
    first, *others = _lines(plain + _letters(bold), columns)
    return "<br>".join([f"{plain}<b>{first[len(plain) :]}</b>", *(f"<b>{line}</b>" for line in others)])


def _make_room(figure: go.Figure, pixels: float) -> None:
    """Make every row of a figure at least so many pixels high."""
    layout = figure.layout
    rows = abs(layout.yaxis.range[0] - layout.yaxis.range[1])
    high = layout.height - layout.margin.t - layout.margin.b
    layout.height += max(rows * pixels - high, 0)


def _title_above(figure: go.Figure) -> None:
    """Write what rows count above them where it would be longer than they are high."""
    layout, title = figure.layout, figure.layout.yaxis.title
    high = layout.height - layout.margin.t - layout.margin.b
    if not title.text or layout.showlegend or characters(title.text, _AVERAGE) * _AVERAGE * _BODY <= high:
        return
    above = text_at(f"↓ {title.text}", 0, 1, title.font.color, xref="paper", yref="paper")
    figure.add_annotation(**above, xanchor="left", yanchor="bottom", xshift=-layout.margin.l + 4)
    figure.update_yaxes(title_text="")
    layout.margin.t += _KEY_LINE
    layout.height += _KEY_LINE


def _too_narrow() -> InputError:
    return InputError("the sheet is too narrow for this figure; take a larger --width or a smaller --font-size")


def _letters(text: str) -> str:
    return re.sub(r"<[^>]*>", "", text)


def _wrap_key(figure: go.Figure, plot: float, numbers: str, colour: str) -> int:
    """Break the key into rows that fit, each a legend of its own; returns how many there are.

    ``numbers`` says what numbers in cells are: it is the last entry, a cell of that colour with a number.
    """
    if not figure.layout.showlegend:
        return 1
    entries = [(t.name, [t]) for t in figure.data if t.name and t.showlegend is not False]
    rows: list[list[Any]] = [[]]
    room, left = plot, 0.0
    for name, traces in [*entries, *[(numbers, [])] * bool(numbers)]:
        need = _KEY_ENTRY + _KEY_TYPE * _AVERAGE * characters(name, _AVERAGE)
        if need > room and room < plot:
            rows.append([])
            room = plot
        rows[-1] += traces
        left, room = plot - room, room - need
    height = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    own = figure.layout.legend.to_plotly_json()
    for number, row in enumerate(rows):
        name = "legend" if number == 0 else f"legend{number + 1}"
        lift = (len(rows) - 1 - number) * _KEY_LINE / height
        figure.update_layout({name: {**own, "y": 1 + lift, "font": {**own["font"], "size": _KEY_TYPE}}})
        for trace in row:
            trace.legend = name
    if numbers:
        at = {"x": 0, "y": 1, "xref": "paper", "yref": "paper", "yanchor": "bottom", "showarrow": False}
        cell = {"width": _KEY_TYPE, "height": _KEY_TYPE, "bgcolor": colour, "borderpad": 0, "yshift": 8}
        look = {"size": _KEY_TYPE - 2, "color": figure.layout.font.color, "weight": 700}
        figure.add_annotation(text="7", xanchor="center", xshift=left + 20, font=look, **at, **cell)
        beside = {"xanchor": "left", "xshift": left + 38, "yshift": 5, "font": {**own["font"], "size": _KEY_TYPE}}
        figure.add_annotation(text=numbers, **beside, **at)
    return len(rows)


def _lines(text: str, columns: int, size: float = _AVERAGE) -> list[str]:
    """Break a text between words, between Chinese letters, and within words that are longer than a line."""
    lines = [""]
    for piece in (part for word in _PIECE.findall(text) for part in _parts(word, columns)):
        if lines[-1] and characters(lines[-1] + piece.rstrip(), size) > columns:
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
    return [line.rstrip() for line in lines]


def _parts(word: str, columns: int) -> Iterator[str]:
    """Yield a word in parts that each fit a line; most words are one."""
    while characters(word.rstrip(), _AVERAGE) > columns:
        fitting = next(i for i in range(len(word), 0, -1) if i == 1 or characters(word[:i], _AVERAGE) <= columns)
        yield word[:fitting]
        word = word[fitting:]
    yield word


def in_vectors(figure: go.Figure, plot_width: float) -> go.Figure:
    """Return the same figure with every heatmap as one polygon per colour, and its texts as texts."""
    layout = figure.layout
    width = plot_width / abs(layout.xaxis.range[1] - layout.xaxis.range[0]) if layout.xaxis.range else 1.0
    rows = layout.height - layout.margin.t - layout.margin.b
    height = rows / abs(layout.yaxis.range[1] - layout.yaxis.range[0]) if layout.yaxis.range else 1.0
    traces: list[Any] = []
    for trace in figure.data:
        traces += _cells(trace, width, height) if trace.type == "heatmap" else [trace]
    return go.Figure(traces, layout)


def _cells(trace: Any, width: float, height: float) -> Iterator[go.Scatter]:
    """Return the cells of a heatmap; a cell is ``width`` by ``height`` pixels, its gap included."""
    z = np.asarray(trace.z, float)
    x, y = np.asarray(trace.x), np.asarray(trace.y)
    size = np.array([1 - (trace.xgap or 0) / width, 1 - (trace.ygap or 0) / height])
    values = np.unique(z[~np.isnan(z)])
    shares = np.clip((values - trace.zmin) / (trace.zmax - trace.zmin), 0, 1)
    for value, colour in zip(values, _colours(trace.colorscale, shares), strict=True):
        row, column = np.nonzero(z == value)
        outline = _outlines(x[column], y[row], size)
        yield go.Scatter(
            x=outline[..., 0].ravel(),
            y=outline[..., 1].ravel(),
            mode="lines",
            line={"width": 0},
            fill="toself",
            fillcolor=colour,
            hoverinfo="skip",
            showlegend=False,
        )
    if trace.texttemplate:
        texts = np.asarray(trace.text, object)
        row, column = np.nonzero(texts != "")
        yield go.Scatter(
            x=x[column],
            y=y[row],
            text=texts[row, column],
            mode="text",
            textfont=trace.textfont.to_plotly_json(),  # a heatmap's is of another class
            hoverinfo="skip",
            showlegend=False,
        )


def _outlines(x: NDArray[Any], y: NDArray[Any], size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the corners of cells round their middles, (n, 6, 2), the pen lifted after each."""
    middles: NDArray[np.float64] = np.stack([x, y], axis=1)[:, np.newaxis].astype(float)
    return middles + _CORNERS * size


def _colours(scale: Any, shares: NDArray[np.float64]) -> list[str]:
    """Return the colours at shares of a scale of ``#rrggbb``, linear between its stops."""
    stops = [stop for stop, _ in scale]
    parts = [[int(colour[i : i + 2], 16) for _, colour in scale] for i in (1, 3, 5)]
    mixed = np.rint([np.interp(shares, stops, part) for part in parts]).astype(int)
    return ["#{:02x}{:02x}{:02x}".format(*colour) for colour in mixed.T.tolist()]
