"""The source of a kernel as a picture: its lines, the accesses underlined, and below each line what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go

from smemviz.figures.listing import parsed, spans
from smemviz.figures.sentences import badge
from smemviz.figures.served import H200, Hardware
from smemviz.figures.style import MONO, THEMES, Theme, ThemeName, layout
from smemviz.figures.text import CHARACTERS
from smemviz.model.summary import summarize
from smemviz.program import find_function
from smemviz.recording import Launch, Recording

_LINE, _BADGE, _GAP = 18, 16, 9  # pixels
_GUTTER = 6  # characters left of the first column
_SIZE, _BADGE_SIZE = 12, 11


@dataclass(frozen=True)
class _Row:
    """A line of text at a column and a height; ``bad`` where an access has excess, ``chosen`` for the site framed."""

    column: int
    y: float
    text: str
    bad: bool = False
    chosen: bool = False


def source(
    recording: Recording,
    launch: Launch,
    *,
    site: int | None = None,
    hardware: Hardware = H200,
    theme: ThemeName = "light",
) -> go.Figure:
    """Draw a launch's kernel, and the functions of its file that it has sites in; what ``site`` costs is bold.

    x counts characters from the first column of the source, y pixels from the top. An access with excess has a mark.
    """
    colours = THEMES[theme]
    file = recording.file_of(launch)
    lines = recording.text(file).splitlines()
    rows = summarize(launch, hardware.cc, hardware.bank_bytes)
    numbers, code, badges, marks = [], [], [], []
    y = 0.0
    for number, ends in _shown(recording, launch, file):
        line = lines[number - 1]
        y += _LINE
        numbers.append(_Row(-1, y, str(number)))
        code.append(_Row(len(line) - len(line.lstrip()), y, line.strip()))
        for i, one in enumerate(launch.sites):
            if one.line != number or recording.file_of(launch, one) != file:
                continue
            bad = bool(rows[i].excess)
            wide = one.end_column if one.end_line == one.line else len(line)
            marks.append((one.column, wide, code[-1].y + 0.42 * _LINE, bad))
            y += _BADGE
            said = f"{'▲ ' if bad else ''}{one.source}  {badge(one, rows[i])}"
            badges.append(_Row(code[-1].column, y, said, bad, i == site))
        y += _GAP if ends else 0
    widest = max(row.column + len(row.text) for row in (*code, *badges))
    return go.Figure(
        [
            *(_underlines([m[:3] for m in marks if m[3] is bad], bad, colours) for bad in (False, True)),
            _text(numbers, colours.muted, "middle left", _SIZE),
            _text(code, colours.ink, "middle right", _SIZE),
            _text([row for row in badges if not row.bad], colours.muted, "middle right", _BADGE_SIZE),
            _text([row for row in badges if row.bad], colours.conflict, "middle right", _BADGE_SIZE),
        ],
        layout(
            colours,
            height=int(y) + 2 * _LINE,
            margin={"l": 4, "r": 4, "t": 4, "b": 4, "autoexpand": False},
            xaxis={"visible": False, "fixedrange": True, "range": [-_GUTTER, widest + 1]},
            yaxis={"visible": False, "fixedrange": True, "range": [y + _LINE, 0]},
        ),
    )


def _shown(recording: Recording, launch: Launch, file: str) -> list[tuple[int, bool]]:
    """Return the lines to show, by number, and whether a function ends there."""
    text = recording.text(file)
    kernel = find_function(parsed(text), launch.kernel, launch.line)
    sites = [site for site in launch.sites if recording.file_of(launch, site) == file]
    count = len(text.splitlines())
    return [
        (number, number == last)
        for first, last in spans(text, kernel, sites)
        for number in range(first, min(last, count) + 1)
    ]


def _text(rows: list[_Row], colour: str, position: str, size: int) -> go.Scatter:
    return go.Scatter(
        x=[row.column for row in rows],
        y=[row.y for row in rows],
        text=[f"<b>{escape(row.text)}</b>" if row.chosen else escape(row.text) for row in rows],
        mode="text",
        textposition=position,
        textfont={"size": size, "color": colour, "family": MONO},
        meta=CHARACTERS,
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
    )


def _underlines(marks: list[tuple[int, int, float]], bad: bool, colours: Theme) -> go.Scatter:
    """Underline the accesses; those with excess twice as strongly."""
    return go.Scatter(
        x=[x for first, last, _ in marks for x in (first, last, None)],
        y=[y for _, _, height in marks for y in (height, height, None)],
        mode="lines",
        line={"color": colours.conflict if bad else colours.muted, "width": 2 if bad else 1},
        hoverinfo="skip",
        showlegend=False,
    )
