"""The source of a kernel as a picture: its lines, the accesses underlined, and below each line what they cost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

import plotly.graph_objects as go

from smemviz.figures.drawing.cells import CHARACTERS, characters, written
from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, layout, mono
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.recordings.data import Launch, SiteSummary
from smemviz.recordings.recording import Recording
from smemviz.recordings.text import lines_of
from smemviz.wording.sentences import badge

_LINE, _BADGE, _GAP = 18, 16, 9  # pixels
_GUTTER = 6  # characters left of the first column
_SIZE, _BADGE_SIZE = 12, 11
_WIDEST, _HANGING = 68, 4  # characters of a line, so that it can be read on paper; by how many its rest is indented


@dataclass(frozen=True)
class _Row:
    """A line of pseudo-HTML at a height, ``length`` characters long; ``bad`` where an access has excess."""

    y: float
    text: str
    length: int
    bad: bool = False


def source(
    recording: Recording,
    launch: Launch,
    spans: Sequence[tuple[int, int]],
    *,
    site: int | None = None,
    costs: bool = True,
    hardware: Hardware = H200,
    theme: ThemeName = "light",
) -> go.Figure:
    """Draw the lines of a kernel's file from the first to the last of each span; what ``site`` costs is bold.

    Without ``costs`` they are lines and nothing else.

    x counts characters from the first column of the source, y pixels from the top. An access with excess has a mark.
    """
    colours = THEMES[theme]
    file = recording.file_of(launch)
    lines = lines_of(recording.text(file))
    rows = summarize(launch, hardware)
    numbers, code, badges = [], [], []
    y = 0.0
    for number, ends in ((line, line == last) for first, last in spans for line in range(first, last + 1)):
        line = lines[number - 1].rstrip()
        here = [
            i for i, site in enumerate(launch.sites) if (site.line, recording.file_of(launch, site)) == (number, file)
        ]
        here = here if costs else []
        numbers.append(_Row(y + _LINE, str(number), 0))
        kinds = _kinds(line, launch, rows, here)
        indent = len(line) - len(line.lstrip())
        for first, end in _pieces(line, indent):
            y += _LINE
            before = " " * (indent + _HANGING) if first else ""
            text = _plain(before) + _marked(line[first:end], kinds[first:end], colours)
            code.append(_Row(y, text, characters(before + line[first:end])))
        for i in here:
            bad = bool(rows[i].excess)
            title, cost = f"{'▲ ' if bad else ''}{launch.sites[i].source}", badge(launch.sites[i], rows[i])
            for piece in _under(title, cost, indent):
                y += _BADGE
                text = f"<b>{_plain(piece)}</b>" if i == site else _plain(piece)
                badges.append(_Row(y, text, characters(piece), bad))
        y += _GAP if ends else 0
    widest = max(row.length for row in (*code, *badges))
    return go.Figure(
        [
            _text(numbers, -1, colours.muted, "middle left", _SIZE),
            _text(code, 0, colours.ink, "middle right", _SIZE),
            _text([row for row in badges if not row.bad], 0, colours.muted, "middle right", _BADGE_SIZE),
            _text([row for row in badges if row.bad], 0, colours.conflict, "middle right", _BADGE_SIZE),
        ],
        layout(
            colours,
            height=int(y) + 2 * _LINE,
            around=(4, 4, 4, 4),
            xaxis={"visible": False, "fixedrange": True, "range": [-_GUTTER, widest + 1]},
            yaxis={"visible": False, "fixedrange": True, "range": [y + _LINE, 0]},
        ),
    )


def _under(label: str, cost: str, indent: int) -> list[str]:
    """Return the lines below a line of code that say what an access costs: one, or those of its name and one more."""
    whole = f"{' ' * indent}{label}  {cost}"
    if characters(whole) <= _WIDEST:
        return [whole]
    line, hanging = " " * indent + label, " " * (indent + _HANGING)
    return [*(hanging * bool(first) + line[first:end] for first, end in _pieces(line, indent)), hanging + cost]


def _pieces(line: str, indent: int) -> Iterator[tuple[int, int]]:
    """Yield where the pieces of a line begin and end that each fit the width, broken behind a space where one is."""
    first, room = 0, _WIDEST
    while len(line) - first > room:
        space = line.rfind(" ", first + indent + 1, first + room)
        end = space + 1 if space > 0 else first + room
        yield first, end
        first, room = end, max(_WIDEST - indent - _HANGING, _WIDEST // 2)
    yield first, len(line)


def _kinds(line: str, launch: Launch, rows: tuple[SiteSummary, ...], here: list[int]) -> list[str]:
    """Tell of every character of a line whether it is of an access, and of one with excess."""
    kinds = [""] * len(line)
    for i in sorted(here, key=lambda i: bool(rows[i].excess)):
        site = launch.sites[i]
        end = site.end_column if site.end_line == site.line else len(line)
        kinds[site.column : end] = ["bad" if rows[i].excess else "plain"] * (min(end, len(line)) - site.column)
    return kinds


def _marked(line: str, kinds: list[str], colours: Theme) -> str:
    """Write a piece of a line with its accesses underlined, those with excess in the colour of a conflict."""
    parts = []
    for kind, run in groupby(zip(line, kinds, strict=True), key=lambda pair: pair[1]):
        text = _plain("".join(character for character, _ in run))
        text = f"<u>{text}</u>" if kind else text
        parts.append(f'<span style="color:{colours.conflict}">{text}</span>' if kind == "bad" else text)
    return "".join(parts)


def _plain(text: str) -> str:
    """Write a text so that nothing in it is markup and no space is lost."""
    return escape(text, quote=False).replace(" ", "\N{NO-BREAK SPACE}")


def _text(rows: list[_Row], x: int, colour: str, position: str, size: int) -> go.Scatter:
    font = {"size": size, "color": colour, "family": mono()}
    places, texts = [row.y for row in rows], [row.text for row in rows]
    return written([x] * len(rows), places, texts, font, textposition=position, meta=CHARACTERS)
