"""A few numbers beside each other, one of them the answer: the picture of a lesson that compares counts."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from smemviz.figures.drawing.style import THEMES, ThemeName, alternative, axis, layout

_HEIGHT, _TOP, _BOTTOM = 270, 24, 58
_NAME = 16  # characters of a name on a line


@dataclass(frozen=True)
class Bar:
    """A bar with its name; the one that ``answers`` is framed and its number bold."""

    name: str
    value: int
    answers: bool = False


def lesson_bars(
    bars: Sequence[Bar], x_title: str, y_title: str, sentence: str, *, theme: ThemeName = "light"
) -> go.Figure:
    """Draw a bar for each number, with the number above it; ``sentence`` tells what the picture shows."""
    colours = THEMES[theme]
    top = max(bar.value for bar in bars) or 1
    places = list(range(len(bars)))
    return go.Figure(
        go.Bar(
            x=places,
            y=[bar.value for bar in bars],
            width=0.62,
            marker={
                "color": [colours.ramp[3] if bar.answers else colours.ramp[0] for bar in bars],
                "line": {
                    "color": [colours.frame if bar.answers else colours.muted for bar in bars],
                    "width": [2.5 if bar.answers else 1 for bar in bars],
                },
            },
            text=[f"<b>{bar.value:,}</b>" if bar.answers else f"{bar.value:,}" for bar in bars],
            textposition="outside",
            textfont={"size": 13, "color": colours.ink},
            cliponaxis=False,
            hovertext=[bar.name for bar in bars],
            hovertemplate="%{hovertext}: %{y:,}<extra></extra>",
        ),
        layout(
            colours,
            height=_HEIGHT,
            top=_TOP,
            bottom=_BOTTOM,
            margin={"l": 64, "r": 16, "t": _TOP, "b": _BOTTOM, "autoexpand": False},
            meta=alternative(sentence),
            xaxis=axis(
                colours,
                x_title,
                range=[-0.6, len(bars) - 0.4],
                tickmode="array",
                tickvals=places,
                ticktext=["<br>".join(textwrap.wrap(bar.name, _NAME)) for bar in bars],
                tickangle=0,
            ),
            yaxis=axis(colours, y_title, range=[0, top * 1.12], nticks=5),
        ),
    )
