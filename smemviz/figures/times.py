"""The time of one launch: floor and net from zero, and every sample under a lens."""

from typing import Any

import plotly.graph_objects as go

from smemviz.figures.bars import grey, plain
from smemviz.figures.drawing.cells import text_at
from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, alternative, axis, layout
from smemviz.i18n import _
from smemviz.recordings.measured import Timing
from smemviz.wording.labels import count, duration

_HEIGHT = 300
_TOP, _BOTTOM, _SIDE = 26, 46, 14
_MARGIN = 0.12  # of the range of the samples, left free on each side


def times(time: Timing, *, theme: ThemeName = "light") -> go.Figure:
    """Draw a bar from zero, the floor hatched, and below it the samples in the order they were taken, magnified.

    The wide band runs from the 5th to the 95th percentile, the narrow one is the 95 % interval of the median, the line
    is the median.
    """
    colours = THEMES[theme]
    low, high = min(time.samples_us, default=time.p5_us), max(time.samples_us, default=time.p95_us)
    free = _MARGIN * (high - low or high)
    return go.Figure(
        [*_whole(time, colours), _samples(time, colours)],
        layout(
            colours,
            height=_HEIGHT,
            around=(_TOP, _BOTTOM, _SIDE, _SIDE),
            barmode="overlay",
            meta=_alternative(time),
            xaxis=axis(colours, range=[0, max(time.median_us, time.floor_us)], nticks=5, anchor="y"),
            yaxis=axis(colours, range=[-0.5, 0.5], domain=[0.86, 1], showticklabels=False),
            xaxis2=axis(
                colours,
                _(
                    "µs per launch; {samples} of {launches} each, first on top",
                    samples=count(time.samples, "sample"),
                    launches=count(time.nodes, "launch"),
                ),
                range=[low - free, high + free],
                nticks=5,
                anchor="y2",
                tickformat=".5~g",
            ),
            yaxis2=axis(
                colours, range=[max(len(time.samples_us), 1) - 0.5, -0.5], domain=[0, 0.56], showticklabels=False
            ),
            shapes=_bands(time, colours),
            annotations=_labels(time, colours),
        ),
    )


def _alternative(time: Timing) -> dict[str, object]:
    sentence = _("median {median}, floor {floor}", median=duration(time.median_us), floor=duration(time.floor_us))
    known = [
        (_("floor"), time.floor_us),
        (_("net"), time.net_us),
        (_("median"), time.median_us),
        (_("95 % interval, low"), time.low_us),
        (_("95 % interval, high"), time.high_us),
        (_("5th percentile"), time.p5_us),
        (_("95th percentile"), time.p95_us),
    ]
    samples = [(_("sample {n:,}", n=i), sample) for i, sample in enumerate(time.samples_us)]
    return alternative(sentence, [_("time"), _("µs per launch")], [*known, *samples])


def _whole(time: Timing, colours: Theme) -> list[go.Bar]:
    floor = min(time.floor_us, time.median_us)
    parts = (
        (_("floor"), _("floor {time}"), 0.0, floor, grey(colours)),
        (_("net"), _("net {time}"), floor, time.median_us - floor, plain(colours)),
    )
    return [
        go.Bar(
            name=name,
            orientation="h",
            x=[length],
            y=[0],
            base=[base],
            width=0.9,
            marker=fill,
            hovertemplate=f"{text.format(time=duration(length))}<extra></extra>",
        )
        for name, text, base, length, fill in parts
    ]


def _samples(time: Timing, colours: Theme) -> go.Scatter:
    return go.Scatter(
        name=_("samples"),
        x=list(time.samples_us),
        y=list(range(len(time.samples_us))),
        xaxis="x2",
        yaxis="y2",
        mode="markers",
        marker={"size": 5, "color": colours.value, "opacity": 0.75},
        hovertemplate=_("sample {number}: {time} µs", number="%{y}", time="%{x:.5~g}") + "<extra></extra>",
    )


def _bands(time: Timing, colours: Theme) -> list[dict[str, object]]:
    across = {"xref": "x2", "yref": "y2 domain", "y0": 0, "y1": 1, "layer": "below"}
    return [
        {**across, "name": _("5th to 95th percentile"), "type": "rect", "x0": time.p5_us, "x1": time.p95_us,
         "fillcolor": colours.idle, "line": {"width": 0}},
        {**across, "name": _("95 % interval"), "type": "rect", "x0": time.low_us, "x1": time.high_us,
         "fillcolor": colours.ramp[0], "line": {"width": 0}},
        {**across, "name": _("median"), "type": "line", "x0": time.median_us, "x1": time.median_us,
         "line": {"color": colours.ink, "width": 2}},
    ]  # fmt: skip


def _labels(time: Timing, colours: Theme) -> list[dict[str, object]]:
    def above(text: str, x: float, anchor: str, plot: str, colour: str = colours.muted) -> dict[str, object]:
        place: dict[str, Any] = {"xref": f"x{plot}", "xanchor": anchor, "yref": f"y{plot} domain", "yanchor": "bottom"}
        return text_at(text, x, 1, colour, **place)

    net = _("net {time}", time=duration(time.net_us))
    median = _("median {time}", time=duration(time.median_us))
    return [
        above(_("floor {time}", time=duration(time.floor_us)), 0, "left", ""),
        above(f"<b>{net}</b>", max(time.median_us, time.floor_us), "right", "", colours.ink),
        above(f"<b>{median}</b>", time.median_us, "center", "2", colours.ink),
    ]
