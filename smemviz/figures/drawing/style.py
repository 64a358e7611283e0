"""Colours, type and the bare layout that every picture shares, light and dark.

The bank ramp runs from blue to yellow and its lightness rises with it, so it reads with any kind of colour vision
and in grey. Orange is kept for conflicts, and a conflict is always marked by more than its colour.

``layout.meta`` is what a figure says to those who do not see it; ``assets/tables.js`` reads it. The table of a figure
is made of its marks. Where rows and columns of cells are not what their axes count, the trace's ``meta`` names them:
``rows`` and ``columns``; ``words`` says what each value of z means where cells have no hover text. ``named`` keeps the
bold name of each cell, where row and column do not tell which cell that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from smemviz.i18n import spoken

if TYPE_CHECKING:
    import plotly.graph_objects as go

ThemeName = Literal["light", "dark"]

FONT = "Inter, ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MONO = "ui-monospace, 'SF Mono', 'JetBrains Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"

# Fonts with the letters of a language, its own first: Chinese characters are written differently from region to region.
_KOREAN = ("'Apple SD Gothic Neo'", "'Malgun Gothic'", "'Noto Sans CJK KR'", "'Noto Sans KR'")
_CHINESE = ("'PingFang SC'", "'Microsoft YaHei'", "'Noto Sans CJK SC'", "'Noto Sans SC'")
_LETTERS = {"ko": _KOREAN + _CHINESE, "zh-Hans": _CHINESE + _KOREAN}

# Pictures drawn one under the other share these margins, so that bank 7 stands above bank 7.
LEFT, RIGHT = 52, 16


@dataclass(frozen=True)
class Theme:
    """The colours of one theme; ``ramp`` runs from the first bank to the last, ``line`` is of a curve.

    tests/figures/test_colours.py holds them to the contrast of WCAG 2.2 AA and to what the colour-blind tell apart.
    """

    paper: str
    ink: str
    muted: str
    value: str
    idle: str
    frame: str
    conflict: str
    unused: str
    ramp: tuple[str, ...]
    degree: tuple[str, ...]
    line: str

    @property
    def faint(self) -> tuple[str, ...]:
        """The ramp, three quarters of the way to the paper."""
        return tuple(blend((colour, self.paper), 9)[6] for colour in self.ramp)


THEMES: dict[ThemeName, Theme] = {
    "light": Theme(
        paper="#ffffff",
        ink="#1a2029",
        muted="#59636f",
        value="#394350",
        idle="#eceff3",
        frame="#1a2029",
        conflict="#ad3600",
        unused="#a2a9b1",
        ramp=("#96b2f1", "#a9c6e6", "#bfd7c9", "#dbe2a0", "#fae873"),
        degree=("#eef2f7", "#fbdcc0", "#f2a873", "#c04c0a", "#8f2c00"),
        line="#3f66c9",
    ),
    "dark": Theme(
        paper="#161b22",
        ink="#e8ecf1",
        muted="#9aa5b1",
        value="#d8dee5",
        idle="#1f262f",
        frame="#e8ecf1",
        conflict="#ff9a5c",
        unused="#343c44",
        ramp=("#26428a", "#2a4e76", "#325558", "#4b5a3c", "#6b5e1d"),
        degree=("#222a34", "#5a3a22", "#7c4018", "#cc6a2a", "#ff9a5c"),
        line="#8fb0ff",
    ),
}


def font() -> str:
    """Return the fonts of texts in the spoken language, as CSS lists them."""
    return _with_letters(FONT)


def mono() -> str:
    """Return the fonts of code, with those of the spoken language for what is said beside it."""
    return _with_letters(MONO)


def _with_letters(fonts: str) -> str:
    """Put the fonts that have the letters of the spoken language before the generic one, which has some anyhow."""
    families, _, generic = fonts.rpartition(", ")
    return ", ".join([families, *_LETTERS.get(spoken(), ()), generic])


def css_variables(theme: Theme, names: Sequence[str], **ramps: Sequence[str]) -> str:
    """Write colours of a theme for a style sheet, and ramps, whose colours are numbered: ``--paper:#ffffff``."""
    numbered = [f"--{name}{i}:{colour}" for name, ramp in ramps.items() for i, colour in enumerate(ramp)]
    return ";".join([*(f"--{name}:{getattr(theme, name)}" for name in names), *numbered])


def layout(theme: Theme, *, height: int, around: tuple[int, ...] = (12, 44), **more: Any) -> dict[str, Any]:
    """Return the layout of an empty picture: no background of its own, no zoom, one type face.

    The pixels ``around`` its plot are those above and below, and left and right where these are not the usual ones.
    """
    top, bottom, left, right = (*around, LEFT, RIGHT)[:4]
    return {
        "height": height,
        "margin": {"l": left, "r": right, "t": top, "b": bottom, "autoexpand": False},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": font(), "size": 12, "color": theme.ink},
        "hoverlabel": {
            "bgcolor": theme.paper,
            "bordercolor": theme.muted,
            "font": {"family": font(), "size": 13, "color": theme.ink},
            "align": "left",
        },
        "hovermode": "closest",
        "dragmode": False,
        "showlegend": False,
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1,
            "xanchor": "left",
            "yanchor": "bottom",
            "font": {"size": 12, "color": theme.muted},
            "itemclick": False,
            "itemdoubleclick": False,
            "bgcolor": "rgba(0,0,0,0)",
        },
        "uirevision": "same",
        **more,
    }


def axis(theme: Theme, title: str = "", **more: Any) -> dict[str, Any]:
    """Return an axis without grid or zero line, that does not zoom."""
    return {
        "title": {"text": title, "font": {"size": 12, "color": theme.muted}, "standoff": 8},
        "tickfont": {"size": 11, "color": theme.muted},
        "tickformat": ",",
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
        "ticks": "",
        **more,
    }


def every(cells: int) -> int:
    """Return which cells of an axis to label: every one of a short axis, every fourth or fewer of a long one."""
    return 1 if cells <= 8 else 4 if cells <= 40 else 8 if cells <= 80 else 16


def empty(theme: Theme, message: str, height: int = 120) -> go.Figure:
    """Draw a sentence in place of a picture that has nothing to show."""
    hidden = {"visible": False, "fixedrange": True}
    text = {"text": message, "showarrow": False, "font": {"size": 14, "color": theme.muted}}
    meta = alternative(message)
    import plotly.graph_objects as go

    return go.Figure(layout=layout(theme, height=height, xaxis=hidden, yaxis=hidden, annotations=[text], meta=meta))


def blend(colours: tuple[str, ...], count: int) -> list[str]:
    """Sample a ramp of ``#rrggbb`` colours at ``count`` equal steps."""
    stops = [tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5)) for colour in colours]
    sampled = []
    for i in range(count):
        place = i * (len(stops) - 1) / max(count - 1, 1)
        low = min(int(place), len(stops) - 2)
        share = place - low
        mixed = (round(a + (b - a) * share) for a, b in zip(stops[low], stops[low + 1], strict=True))
        sampled.append("#{:02x}{:02x}{:02x}".format(*mixed))
    return sampled


def steps(colours: list[str]) -> list[tuple[float, str]]:
    """Turn a list of colours into a colour scale without blending: value i gets colour i, for z in 0..n-1."""
    n = len(colours)
    return [(edge, colour) for i, colour in enumerate(colours) for edge in (i / n, (i + 1) / n)]


def alternative(
    sentence: str, columns: Sequence[str] = (), rows: Sequence[Sequence[str | int | float | None]] = ()
) -> dict[str, Any]:
    """Return the ``meta`` of a layout: what the figure says, and its table where its marks do not tell that."""
    table = {"table": {"columns": list(columns), "rows": [list(row) for row in rows]}} if columns else {}
    return {"says": sentence, **table}
