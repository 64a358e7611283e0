"""Bars of launches, one below the other: where they lie, what they look like, and what stands beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from smemviz.figures.drawing.cells import characters, hovering, written
from smemviz.figures.drawing.style import Theme, axis, layout, mono

_BAR, _NAME, _GAP = 22, 24, 10  # pixels: a bar, the name above the bars of a launch, the space below them
_TOP, _BOTTOM, _LEFT, RIGHT = 50, 44, 52, 118  # above, two lines of a legend: as on a phone
_TICKS = 4
_DIGIT = 6  # pixels


@dataclass(frozen=True)
class Places:
    """Where names and bars lie, in pixels from the top; every launch has the same number of bars."""

    names: list[float]
    bars: list[float]
    height: int

    def centred(self) -> Places:
        """Put one bar in the middle of each launch's."""
        per_launch = len(self.bars) // len(self.names)
        groups = (self.bars[i : i + per_launch] for i in range(0, len(self.bars), per_launch))
        return Places(self.names, [sum(group) / per_launch for group in groups], self.height)


def places_of(launches: int, bars: int) -> Places:
    """Place so many launches with so many bars each."""
    step = _NAME + bars * _BAR + _GAP
    return Places(
        [i * step + _NAME / 2 + 2 for i in range(launches)],
        [i * step + _NAME + (j + 0.5) * _BAR for i in range(launches) for j in range(bars)],
        launches * step,
    )


def bar(
    name: str, y: Any, base: Any, length: Any, hover: Any, marker: object, *, width: float = _BAR - 6, **more: Any
) -> go.Bar:
    """Draw a bar at each ``y`` from its base on, as long as said."""
    place = {"y": y, "x": length, "base": base, "width": width}
    return go.Bar(name=name, orientation="h", marker=marker, **place, **hovering(hover), **more)


def labelled(x: Any, y: Any, texts: Sequence[str], hover: Sequence[str], colours: Theme, **more: Any) -> go.Bar:
    """Draw bars with a text outside the end of each."""
    font = {"size": 12, "color": colours.ink}
    outside = {"textposition": "outside", "textfont": font, "cliponaxis": False}
    return go.Bar(x=x, y=y, text=texts, **outside, **hovering(hover), **more)


def plain(colours: Theme, edge: float = 1) -> dict[str, object]:
    """Return the look of what has to be, with an edge of so many pixels."""
    return {"color": colours.ramp[0], "line": {"color": colours.muted, "width": edge}}


def hatched(colours: Theme, edge: float = 1, size: int = 7) -> dict[str, object]:
    """Return the look of what is beyond that; ``size`` is from line to line, in pixels."""
    line = {"color": colours.conflict, "width": edge}
    return {"color": colours.conflict, "line": line, "pattern": _lines("/", size, colours)}


def grey(colours: Theme) -> dict[str, object]:
    """Return the look of what is no merit of the launch."""
    return plain(colours) | {"color": colours.unused, "pattern": _lines("\\", 7, colours)}


def _lines(shape: str, size: int, colours: Theme) -> dict[str, object]:
    return {"shape": shape, "fgcolor": colours.paper, "size": size, "solidity": 0.2, "fillmode": "overlay"}


def at_end(
    x: Sequence[float], y: Sequence[float], texts: Sequence[str], strong: Sequence[bool], colours: Theme
) -> go.Scatter:
    """Write beside the end of each bar what it amounts to."""
    font = {"size": 12, "color": [colours.conflict if s else colours.ink for s in strong]}
    return written(list(x), list(y), [f" {text}" for text in texts], font, textposition="middle right")


def room(x: Sequence[float], texts: Sequence[str], least: int) -> int:
    """Return the pixels that the text beside the longest bar takes, and no fewer than ``least``."""
    longest = max(zip(x, map(characters, texts), strict=True))
    return max(least, _DIGIT * (longest[1] + 1))


def names_above(names: Sequence[str], places: Places, colours: Theme) -> go.Scatter:
    """Write the name of each launch above its bars."""
    font = {"size": 12.5, "color": colours.ink, "family": mono(), "weight": 600}
    return written([0] * len(names), places.names, list(names), font, textposition="middle right")


def bars_layout(
    colours: Theme,
    places: Places,
    ticks: Sequence[str],
    title: str,
    most: float,
    meta: dict[str, object],
    left: int = _LEFT,
    right: int = RIGHT,
) -> dict[str, object]:
    """Lay out a figure of bars whose axis goes up to ``most``; ``left`` and ``right`` are its margins."""
    return layout(
        colours,
        height=places.height + _TOP + _BOTTOM,
        around=(_TOP, _BOTTOM, left, right),
        barmode="overlay",
        showlegend=True,
        meta=meta,
        xaxis=axis(colours, title, range=[0, most], nticks=_TICKS, rangemode="tozero"),
        yaxis=axis(colours, range=[places.height, 0], ticklabelstandoff=4, tickvals=places.bars, ticktext=list(ticks)),
    )
