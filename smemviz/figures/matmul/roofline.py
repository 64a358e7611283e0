"""The roofline: how fast each kernel is against what it moves, under the card's measured ceilings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice

import numpy as np
import plotly.graph_objects as go

from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, alternative, empty, layout
from smemviz.figures.drawing.text import hovering, text_at
from smemviz.figures.matmul.sweep import BOTTOM, HEIGHT, LEFT, TOP, log_axis, names_beside
from smemviz.i18n import N_, _
from smemviz.model.counting.matmul import attainable, best_intensity
from smemviz.recordings.sweep import CUBLAS, Ceiling, Point, Sweep
from smemviz.views.matmul_products import Product
from smemviz.wording.grammar import clauses
from smemviz.wording.labels import duration, number, percent

_RIGHT = 176
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
            margin={"l": LEFT, "r": _RIGHT, "t": TOP, "b": BOTTOM, "autoexpand": False},
            xaxis=log_axis(colours, _("operations per byte moved"), (low, high), dtick=1, tickformat="~g"),
            yaxis=log_axis(colours, _("operations per second"), (bottom, top), dtick=1, tickformat="~s"),
            meta=alternative(sentence),
            shapes=[_once(once, colours)],
            annotations=[
                *_roof_labels(ridge, float32, low, high, colours),
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
    memories: Sequence[Ceiling | None], float32: Ceiling, low: float, high: float, colours: Theme
) -> list[dict[str, object]]:
    labels = [
        _text(f"<b>float32 {_rate(float32.rate)}</b>", np.log10(high), np.log10(float32.rate * 1.3), colours, "right")
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
    points = [(f"{sign} {row.kernel}", row.point.rate or 0) for row, sign in signed if row.point]
    if cublas and cublas.rate:
        points.append((f"☆ {CUBLAS}", cublas.rate))
    return names_beside(points, ends, colours)


def _text(text: str, x: float, y: float, colours: Theme, anchor: str) -> dict[str, object]:
    return text_at(text, x, y, colours.muted, xanchor=anchor, yanchor="middle")


def _rate(per_second: float) -> str:
    """Write a rate of operations: ``51.2 TFLOP/s``."""
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
