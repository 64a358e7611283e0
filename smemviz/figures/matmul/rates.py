"""Rates of matrix products: over sizes, a line per kernel, and as a roofline, against what they move."""

from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from typing import Any

import numpy as np
import plotly.graph_objects as go

from smemviz.figures.drawing.cells import hovering, text_at
from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, alternative, axis, empty, layout
from smemviz.i18n import N_, _
from smemviz.model.counting.matmul import attainable, best_intensity
from smemviz.recordings.sweep import CUBLAS, LOOPS, NUMPY, Ceiling, Point, Size, Sweep
from smemviz.views.matmul_products import Product, name_of
from smemviz.wording.labels import clauses, duration, number, percent

HEIGHT = 520
TOP, BOTTOM, LEFT, _RIGHT = 16, 52, 70, 190
_YARDSTICKS = (CUBLAS, NUMPY, LOOPS)
_LINE = 15.5  # pixels of a label
_NEAR = 1.25
_OF_ROOFLINE = 176  # pixels right of its plot
# A symbol for each kernel, and the sign that stands before its name.
_SYMBOLS = {
    "circle": "●", "square": "■", "diamond": "◆", "triangle-up": "▲", "triangle-down": "▼", "cross": "✚", "x": "✖",
    "pentagon": "⬟", "hexagon": "⬢", "star": "★", "circle-dot": "◉", "square-dot": "▣", "diamond-dot": "◈",
    "triangle-left": "◀", "triangle-right": "▶", "bowtie": "⧓", "hourglass": "⧗",
}  # fmt: skip
_ROOFS = (("memory copy", "solid"), ("L2 read", "dash"))
_CEILINGS = {
    "memory copy": N_("memory copy"),
    "memory read": N_("memory read"),
    "L2 read": N_("L2 read"),
    "shared read": N_("shared read"),
}


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
    """Draw operations per second over the side of a cube, both logarithmic; those that stand out are named."""
    colours = THEMES[theme]
    lines = cubes(sweep, tile) if sweep else {}
    if not lines:
        return empty(colours, _("Nothing was measured with tiles of {tile}.", tile=tile), height=200)
    sides = sorted({point.size.m for points in lines.values() for point in points})
    rates = [point.rate or 0 for points in lines.values() for point in points]
    bottom, top = min(rates) / 1.6, max(rates) * 1.6
    most = max(map(len, lines.values()))
    told = _told({name: points[-1].rate or 0 for name, points in lines.items()})
    labels = [
        (_label(name, points, most), points[-1].rate or 1, True) for name, points in lines.items() if name in told
    ]
    drawn = {name: _line(name, points, i, name in told, colours) for i, (name, points) in enumerate(lines.items())}
    return go.Figure(
        sorted(drawn.values(), key=lambda line: line.line.width),  # what is told of above the others
        layout(
            colours,
            height=HEIGHT,
            around=(TOP, BOTTOM, LEFT, _RIGHT),
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
            annotations=names_beside(labels, (bottom, top), colours),
        ),
    )


def log_axis(theme: Theme, title: str, ends: tuple[float, float], **more: Any) -> dict[str, Any]:
    """Return a logarithmic axis with its grid."""
    return axis(theme, title, type="log", range=np.log10(ends).tolist(), showgrid=True, gridcolor=theme.idle, **more)


def _sentence(lines: dict[str, list[Point]], side: int) -> str:
    last = {name: points[-1].rate or 0 for name, points in lines.items() if points[-1].size.m == side}
    name = max(last, key=lambda name: last[name])
    return _("the fastest at {side} is {kernel}: {rate:,.0f} GFLOP/s", side=side, kernel=name, rate=last[name] / 1e9)


def _apart(sides: Sequence[int]) -> list[str]:
    """Write each side but those that the next one would cover, as 2048 does 2000."""
    return [str(side) if after / side > _NEAR else "" for side, after in zip(sides, [*sides[1:], np.inf], strict=True)]


def _told(rates: Mapping[str, float]) -> set[str]:
    """Return what a reader should see first: the yardsticks, the ends of the ladder to them, and what tiles do."""
    ours = {name: rate for name, rate in rates.items() if name not in _YARDSTICKS}
    return {*_YARDSTICKS, "naive", "tiled", max(ours, key=lambda name: ours[name], default="")}


def _line(name: str, points: Sequence[Point], index: int, is_told: bool, colours: Theme) -> go.Scatter:
    yardstick = name in _YARDSTICKS
    colour = colours.ink if yardstick else colours.line if is_told else colours.muted
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
        opacity=1 if is_told else 0.5,
        line={"color": colour, "width": 2.5 if is_told else 1, "dash": "dot" if yardstick else "solid"},
        marker={"size": 7 if is_told else 5, "symbol": list(_SYMBOLS)[index % len(_SYMBOLS)]},
        **hovering(hover),
    )


def names_beside(
    labels: Sequence[tuple[str, float, bool]], ends: tuple[float, float], colours: Theme
) -> list[dict[str, object]]:
    """Write names at the right edge of a logarithmic axis, as near to their rates as the other names leave room.

    Each is a name, its rate, and whether it stands out.
    """
    low, high = np.log10(ends)
    shares = [(np.log10(rate) - low) / (high - low) for _name, rate, _is_told in labels]
    beside = {"xref": "paper", "xanchor": "left", "yref": "paper", "yanchor": "middle"}
    return [
        text_at(
            f"<b>{name}</b>" if is_told else name, 1.01, y, colours.ink if is_told else colours.muted, 11.5, **beside
        )
        for (name, _rate, is_told), y in zip(
            labels, spread_labels(shares, _LINE / (HEIGHT - TOP - BOTTOM)), strict=True
        )
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


def roofline(
    rows: Sequence[Product], sweep: Sweep | None, cublas: Point | None, *, theme: ThemeName = "light"
) -> go.Figure:
    """Draw kernels by operations per byte they move (across) and operations per second (up), both logarithmic.

    cuBLAS stands where every element crosses the bus once, for what it moves was not counted.
    """
    colours = THEMES[theme]
    timed = [row for row in rows if row.intensity and row.point and row.point.time]
    float32 = sweep.ceiling("float32") if sweep else None
    if sweep is None or float32 is None or not timed:
        return empty(colours, _("No kernel was both timed and counted at this size."), height=200)
    size = timed[0].size
    once = best_intensity(size, 4)
    x = [row.intensity or 0 for row in timed]
    rates = [row.point.rate or 0 for row in timed if row.point]
    low, high = min(*x, once) / 2, max(*x, once) * 2
    ridge = [sweep.ceiling(name) for name, _dash in _ROOFS]
    high = max(high, *(2 * float32.rate / ceiling.rate for ceiling in ridge if ceiling))
    bottom = min(*rates, float32.rate) / 3
    traces: list[go.Scatter] = [_kernels(timed, colours)]
    for ceiling, (_name, dash) in zip(ridge, _ROOFS, strict=True):
        if ceiling:
            traces.append(_roof(ceiling, float32, (low, high), dash, colours))
    if cublas and cublas.rate:
        traces.append(_cublas(cublas, once, colours))
    top = float32.rate * 1.8
    fastest = max(timed, key=lambda row: row.point.rate or 0 if row.point else 0)
    sentence = _("the fastest is {kernel}: {rate}", kernel=fastest.kernel, rate=_rate(max(rates)))
    return go.Figure(
        traces,
        layout(
            colours,
            height=HEIGHT,
            around=(TOP, BOTTOM, LEFT, _OF_ROOFLINE),
            xaxis=log_axis(colours, _("operations per byte moved"), (low, high), dtick=1, tickformat="~g"),
            yaxis=log_axis(colours, _("operations per second"), (bottom, top), dtick=1, tickformat="~s"),
            meta=alternative(sentence),
            shapes=[_once(once, colours)],
            annotations=[
                *_roof_labels(ridge, float32, low, once, colours),
                _once_label(once, bottom, colours),
                *_names(timed, cublas, (bottom, top), colours),
            ],
        ),
    )


def _kernels(rows: Sequence[Product], colours: Theme) -> go.Scatter:
    hover = [
        "<br>".join(
            [
                f"<b>{row.kernel}</b>",
                clauses(_rate(row.point.rate or 0), duration(row.point.time.median_us)),
                _("{number} operations per byte", number=number(row.intensity or 0)),
                f"{CUBLAS}: {row.ratio_text()}",
            ]
        )
        for row in rows
        if row.point and row.point.time
    ]
    return go.Scatter(
        name=_("kernels"),
        x=[row.intensity for row in rows],
        y=[row.point.rate for row in rows if row.point],
        mode="markers",
        marker={
            "size": 11,
            "symbol": list(islice(cycle(_SYMBOLS), len(rows))),
            "color": colours.ramp[0],
            "line": {"color": colours.ink, "width": 1.2},
        },
        **hovering(hover),
    )


def _cublas(point: Point, once: float, colours: Theme) -> go.Scatter:
    hover = [f"<b>{CUBLAS}</b>", _rate(point.rate or 0), _("what it moves was not counted")]
    return go.Scatter(
        name=CUBLAS,
        x=[once],
        y=[point.rate],
        mode="markers",
        marker={"size": 13, "symbol": "star-open", "color": colours.ink, "line": {"width": 1.6}},
        **hovering(["<br>".join(hover)]),
    )


def _roof(memory: Ceiling, float32: Ceiling, ends: tuple[float, float], dash: str, colours: Theme) -> go.Scatter:
    x = [ends[0], float32.rate / memory.rate, ends[1]]
    return go.Scatter(
        name=ceiling_name(memory.name),
        x=x,
        y=[attainable(at, memory.rate, float32.rate) for at in x],
        mode="lines",
        line={"color": colours.ink if dash == "solid" else colours.muted, "width": 1.8, "dash": dash},
        hoverinfo="skip",
    )


def _once(once: float, colours: Theme) -> dict[str, object]:
    return {
        "type": "line", "x0": once, "x1": once, "yref": "y domain", "y0": 0, "y1": 1, "layer": "below",
        "line": {"color": colours.muted, "width": 1.2, "dash": "dot"},
    }  # fmt: skip


def _once_label(once: float, bottom: float, colours: Theme) -> dict[str, object]:
    label = _("each element once: {number}", number=number(once))
    return _text(f"{label} ", np.log10(once), np.log10(bottom * 1.15), colours, "right")


def _roof_labels(
    memories: Sequence[Ceiling | None], float32: Ceiling, low: float, once: float, colours: Theme
) -> list[dict[str, object]]:
    labels = [
        _text(
            f"<b>float32 {_rate(float32.rate)}</b>",
            np.log10(once / 1.2),
            np.log10(float32.rate * 1.3),
            colours,
            "right",
        )
    ]
    for i, ceiling in enumerate(memories):
        if ceiling:
            at = low * (float32.rate / ceiling.rate / low) ** 0.45
            height, anchor = (at * ceiling.rate * 1.5, "right") if i else (at * ceiling.rate / 1.5, "left")
            text = f"{ceiling_name(ceiling.name)} {ceiling.rate / 1e12:.3g} TB/s"
            labels.append(_text(text, np.log10(at), np.log10(height), colours, anchor))
    return labels


def _names(
    rows: Sequence[Product], cublas: Point | None, ends: tuple[float, float], colours: Theme
) -> list[dict[str, object]]:
    """Name every point at the right edge, at its height, each a line of its own with the sign of its point."""
    signed = zip(rows, cycle(_SYMBOLS.values()), strict=False)
    rated = [(sign, row.kernel, row.point.rate or 0) for row, sign in signed if row.point]
    told = _told({kernel: rate for _sign, kernel, rate in rated})
    points = [(f"{sign} {kernel}", rate, kernel in told) for sign, kernel, rate in rated]
    if cublas and cublas.rate:
        points.append((f"☆ {CUBLAS}", cublas.rate, True))
    return names_beside(points, ends, colours)


def _text(text: str, x: float, y: float, colours: Theme, anchor: str) -> dict[str, object]:
    return text_at(text, x, y, colours.muted, xanchor=anchor, yanchor="middle")


def _rate(per_second: float) -> str:
    unit, size = ("TFLOP/s", 1e12) if per_second >= 1e12 else ("GFLOP/s", 1e9)
    return f"{per_second / size:.3g} {unit}"


def described(ceiling: tuple[str, float] | None) -> str:
    """Say in a few words how near a kernel is to a ceiling."""
    if ceiling is None:
        return _("not known")
    return _("{share} of {ceiling}", share=percent(ceiling[1]), ceiling=ceiling_name(ceiling[0]))


def ceiling_name(name: str) -> str:
    """Name a ceiling; that of the arithmetic is called as its type."""
    return _(_CEILINGS[name]) if name in _CEILINGS else name
