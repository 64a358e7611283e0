"""Figures of a launch in the report: bars as SVG in the page's own colours, light and dark, and their table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape

import plotly.graph_objects as go

from smemviz.figures.drawing.style import THEMES
from smemviz.figures.registry import FIGURES, FOLDED, FigureInput
from smemviz.i18n import _
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.playback.request_view import request_view
from smemviz.recordings.data import Launch
from smemviz.recordings.recording import Recording
from smemviz.reports.html.page import text_of

_STEP, _DIGIT, _BAR, _HEIGHT = 46, 8, 28, 120  # pixels from bar to bar, of a digit, of a bar's width, of the highest
_TOP, _BOTTOM, _ENTRY = 48, 44, 140  # above, a legend and a number; below; from entry to entry of the legend
_NAMES = {getattr(THEMES["light"], name): name for name in ("paper", "ink", "muted", "conflict", "unused")}
_NAMES[THEMES["light"].ramp[0]] = "bank0"


def folded_figures(recording: Recording, launch: Launch, name: str, hardware: Hardware) -> str:
    """Return the figures of a launch, folded; ``name`` is that of the launch. Without any it is empty."""
    inputs = FigureInput(recording, hardware, "light", request_view(launch))
    drawn = ((FIGURES[name], FIGURES[name].draw(inputs)) for name in FOLDED)
    return "\n".join(
        f"<details><summary>{text_of(_('{kernel}: {headline}', kernel=name, headline=chosen.title))}</summary>"
        f"<p>{text_of(chosen.caption(inputs) if chosen.caption else '')}</p>"
        f'<div class="scroller" tabindex="0" role="region" aria-label="{escape(chosen.title)}">'
        f"{bars(figure, name)}</div>"
        f"{table(figure)}</details>"
        for chosen, figure in drawn
        if figure.data
    )


def bars(figure: go.Figure, of: str) -> str:
    """Draw the bars of a figure of categories as SVG; what is hatched there is hatched here.

    ``of`` is what no other picture of the page is of: a pattern in one that is folded does not show in another.
    """
    hatch = "hatch-" + re.sub(r"\W+", "-", of)
    traces = [trace for trace in figure.data if trace.type == "bar"]
    names = list(figure.layout.xaxis.categoryarray or dict.fromkeys(str(x) for trace in traces for x in trace.x))
    most = max((int(y) for trace in traces for y in trace.y), default=0) or 1
    step = max(_STEP, _DIGIT * max(len(str(text)) + 1 for trace in traces for text in trace.text))
    width, height = max(len(names) * step, _ENTRY * len(traces)), _TOP + _HEIGHT + _BOTTOM
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    shapes = [shape for trace in traces for shape in _bars(trace, names, most, step, hatch)]
    legend = "".join(_legend(i, trace, hatch) for i, trace in enumerate(traces))
    ticks = [
        f'<text x="{(i + 0.5) * step}" y="{_TOP + _HEIGHT + 16}" class="axis">{escape(name)}</text>'
        for i, name in enumerate(names)
    ]
    title = escape(figure.layout.xaxis.title.text or "")
    return (
        f'<svg class="bars" {size} role="img" aria-label="{escape(figure.layout.meta["says"])}">'
        f'<defs><pattern id="{hatch}" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<path d="M0 0V6" stroke="var(--paper)" stroke-width="2.5"/></pattern></defs>'
        f'{legend}{"".join(shapes)}{"".join(ticks)}<text x="0" y="{height - 8}" class="note">{title}</text></svg>'
    )


def _legend(i: int, trace: go.Bar, hatch: str) -> str:
    left = 2 + i * _ENTRY
    return _box(trace, f'x="{left}" y="2" width="12" height="12"', hatch) + (
        f'<text x="{left + 20}" y="12" class="note">{escape(trace.name)}</text>'
    )


def _box(trace: go.Bar, box: str, hatch: str) -> str:
    """Draw a bar as its trace looks."""
    plain = f'<rect {box} style="fill: var(--{_NAMES[trace.marker.color]}); stroke: var(--muted)"/>'
    return plain if trace.marker.pattern.shape is None else f'{plain}<rect {box} fill="url(#{hatch})"/>'


def _bars(trace: go.Bar, names: list[str], most: int, step: int, hatch: str) -> Iterator[str]:
    for x, y, text in zip(trace.x, trace.y, trace.text, strict=True):
        size = max(round(int(y) / most * _HEIGHT), 1)
        left, top = (names.index(str(x)) + 0.5) * step - _BAR / 2, _TOP + _HEIGHT - size
        box = f'x="{left}" y="{top}" width="{_BAR}" height="{size}"'
        yield _box(trace, box, hatch)
        yield f'<text x="{left + _BAR / 2}" y="{top - 6}">{escape(str(text))}</text>'


def table(figure: go.Figure) -> str:
    """Write the table that a figure says of itself."""
    cells: Mapping[str, list[object]] = figure.layout.meta["table"]
    head = "".join(f'<th scope="col">{text_of(str(name))}</th>' for name in cells["columns"])
    rows = "".join(
        f"<tr>{''.join(f'<td>{text_of(_cell(cell))}</td>' for cell in row)}</tr>"
        for row in cells["rows"]
        if isinstance(row, list | tuple)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
