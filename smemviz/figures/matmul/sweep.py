"""Rates over sizes: a line per kernel, with cuBLAS above and the host below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, alternative, axis, blend, empty, layout
from smemviz.figures.drawing.text import hovering, text_at
from smemviz.i18n import _
from smemviz.recordings.sweep import CUBLAS, LOOPS, NUMPY, Point, Size, Sweep
from smemviz.views.matmul_products import name_of
from smemviz.wording.labels import duration

HEIGHT = 520
TOP, BOTTOM, LEFT, _RIGHT = 16, 52, 70, 190
_DASHES = ("solid", "dash", "dashdot")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "pentagon", "hexagon", "star")
_LINE = 15.5  # pixels of a label
_NEAR = 1.25


def cubes(sweep: Sweep, tile: int) -> dict[str, list[Point]]:
    """Return the timed points of cubes by kernel, smallest first, in the order the kernels were measured."""
    lines: dict[str, list[Point]] = {}
    for point in sorted(sweep.points, key=lambda point: point.size.operations):
        if point.time and point.tile in (None, tile) and point.size.m == point.size.k == point.size.n:
            lines.setdefault(point.kernel, []).append(point)
    return lines


def measured_sizes(sweep: Sweep, tile: int) -> list[Size]:
    """Return the sizes at which a kernel was measured with tiles of ``tile``, smallest first."""
    return sorted({p.size for p in sweep.points if p.tile == tile}, key=lambda size: size.operations)


def sweep_lines(sweep: Sweep | None, tile: int, *, theme: ThemeName = "light") -> go.Figure:
    """Draw operations per second over the side of a cube, both logarithmic, each line named at its end."""
    colours = THEMES[theme]
    lines = cubes(sweep, tile) if sweep else {}
    if not lines:
        return empty(colours, _("Nothing was measured with tiles of {tile}.", tile=tile), height=200)
    sides = sorted({point.size.m for points in lines.values() for point in points})
    rates = [point.rate or 0 for points in lines.values() for point in points]
    bottom, top = min(rates) / 1.6, max(rates) * 1.6
    return go.Figure(
        [_line(name, points, i, len(lines), colours) for i, (name, points) in enumerate(lines.items())],
        layout(
            colours,
            height=HEIGHT,
            margin={"l": LEFT, "r": _RIGHT, "t": TOP, "b": BOTTOM, "autoexpand": False},
            xaxis=log_axis(
                colours,
                _("side of the matrices"),
                (sides[0] * 10**-0.04, sides[-1] * 10**0.03),
                tickvals=sides,
                ticktext=_apart(sides),
                tickangle=0,
            ),
            yaxis=log_axis(colours, _("operations per second"), (bottom, top), dtick=1, tickformat="~s"),
            meta=alternative(_sentence(lines, sides[-1])),
            annotations=_ends(lines, (bottom, top), colours),
        ),
    )


def log_axis(theme: Theme, title: str, ends: tuple[float, float], **more: Any) -> dict[str, Any]:
    """Return a logarithmic axis with its grid."""
    return axis(theme, title, type="log", range=np.log10(ends).tolist(), showgrid=True, gridcolor=theme.idle, **more)


def _sentence(lines: dict[str, list[Point]], side: int) -> str:
    """Say which kernel is the fastest at the largest size."""
    last = {name: points[-1].rate or 0 for name, points in lines.items() if points[-1].size.m == side}
    name = max(last, key=lambda name: last[name])
    return _("the fastest at {side} is {kernel}: {rate:,.0f} GFLOP/s", side=side, kernel=name, rate=last[name] / 1e9)


def _apart(sides: Sequence[int]) -> list[str]:
    """Write each side but those that the next one would cover, as 2048 does 2000."""
    return [str(side) if after / side > _NEAR else "" for side, after in zip(sides, [*sides[1:], np.inf], strict=True)]


def _line(name: str, points: Sequence[Point], index: int, count: int, colours: Theme) -> go.Scatter:
    yardstick = name in (CUBLAS, NUMPY, LOOPS)
    colour = colours.ink if yardstick else blend(colours.lines, max(count, 2))[index]
    hover = [
        f"<b>{name_of(name)}</b>, {point.size.name}<br>"
        f"{(point.rate or 0) / 1e9:,.0f} GFLOP/s, {duration(point.time.median_us)}"
        for point in points
        if point.time
    ]
    return go.Scatter(
        name=name_of(name),
        x=[point.size.m for point in points],
        y=[point.rate for point in points],
        mode="lines+markers",
        line={"color": colour, "width": 2, "dash": "dot" if yardstick else _DASHES[index // 5 % len(_DASHES)]},
        marker={"size": 7, "symbol": _SYMBOLS[index % len(_SYMBOLS)], "line": {"color": colours.ink, "width": 0.8}},
        **hovering(hover),
    )


def _ends(lines: dict[str, list[Point]], ends: tuple[float, float], colours: Theme) -> list[dict[str, object]]:
    """Name each line at the right edge, and its last size where it ends before the others."""
    most = max(map(len, lines.values()))
    labels = [(_label(name, points, most), points[-1].rate or 1) for name, points in lines.items()]
    return names_beside(labels, ends, colours)


def names_beside(
    labels: Sequence[tuple[str, float]], ends: tuple[float, float], colours: Theme
) -> list[dict[str, object]]:
    """Write names at the right edge of a logarithmic axis, as near to their rates as the other names leave room."""
    low, high = np.log10(ends)
    shares = [(np.log10(rate) - low) / (high - low) for _name, rate in labels]
    beside = {"xref": "paper", "xanchor": "left", "yref": "paper", "yanchor": "middle"}
    return [
        text_at(name, 1.01, y, colours.ink, 11.5, **beside)
        for (name, _rate), y in zip(labels, spread_labels(shares, _LINE / (HEIGHT - TOP - BOTTOM)), strict=True)
    ]


def _label(kernel: str, points: Sequence[Point], most: int) -> str:
    """Name a line, and its last size where it ends before the others."""
    if len(points) == most:
        return name_of(kernel)
    return _("{kernel} (to {side})", kernel=name_of(kernel), side=points[-1].size.m)


def spread_labels(places: Sequence[float], least: float) -> list[float]:
    """Move labels at 0..1 apart until each is ``least`` from the next, keeping their order and near where they were."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = [places[i] for i in order]
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + least)
    excess = max(moved[-1] - 1, 0.0) if moved else 0.0
    if excess:
        moved[-1] -= excess
        for i in range(len(moved) - 2, -1, -1):
            moved[i] = min(moved[i], moved[i + 1] - least)
    result = [0.0] * len(places)
    for i, place in zip(order, moved, strict=True):
        result[i] = place
    return result
