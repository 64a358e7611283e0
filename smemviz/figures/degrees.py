"""The degrees of a launch: how many of its requests to shared memory are in conflict, and how badly."""

from collections.abc import Sequence

import plotly.graph_objects as go

from smemviz.figures.bars import hatched, labelled, plain
from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, alternative, axis, empty, layout
from smemviz.i18n import _
from smemviz.views.degrees import Degrees, described_degrees
from smemviz.wording.labels import count, degree_name, percent

_USUAL = (1, 2, 4, 8, 16, 32)  # drawn in any case, so that launches can be told apart at a glance
_TOP, _BOTTOM, _HEIGHT = 32, 44, 230  # above, a line of the legend
_ROOM = 1.16  # for the number on the highest bar


def degrees(counted: Degrees, *, theme: ThemeName = "light") -> go.Figure:
    """Draw a bar for each degree, as high as so many requests; those in conflict are hatched."""
    colours = THEMES[theme]
    sentence = described_degrees(counted)
    if not counted.requests:
        return empty(colours, sentence)
    ticks = sorted({*_USUAL, *counted.requests})
    clean, bad = ([n for n in ticks if n in counted.requests and (n > 1) is conflict] for conflict in (False, True))
    total = sum(counted.requests.values())
    rows = [
        (degree_name(n), counted.requests[n], percent(counted.requests[n] / total)) for n in sorted(counted.requests)
    ]
    return go.Figure(
        [
            _bars(_("no conflict"), clean, counted, plain(colours), colours),
            _bars(_("bank conflict"), bad, counted, hatched(colours), colours),
        ],
        layout(
            colours,
            height=_HEIGHT,
            around=(_TOP, _BOTTOM),
            barmode="overlay",
            showlegend=True,
            meta=alternative(sentence, [_("degree"), _("requests"), _("share")], rows),
            xaxis=axis(
                colours,
                _("degree; 1 is no conflict"),
                type="category",
                categoryorder="array",
                categoryarray=[str(n) for n in ticks],
                range=[-0.5, len(ticks) - 0.5],
                tickangle=0,
            ),
            yaxis=axis(colours, _("requests"), range=[0, _ROOM * max(counted.requests.values())], showticklabels=False),
        ),
    )


def _bars(name: str, counts: Sequence[int], counted: Degrees, marker: dict[str, object], colours: Theme) -> go.Bar:
    heights = [counted.requests[n] for n in counts]
    hover = [
        _("{requests} of degree {degree}", requests=count(requests, "request"), degree=n)
        for n, requests in zip(counts, heights, strict=True)
    ]
    texts = [f"{requests:,}" for requests in heights]
    return labelled([str(n) for n in counts], heights, texts, hover, colours, name=name, width=0.62, marker=marker)
