"""The requests of a block one after the other: a track per warp, each request as long as its wavefronts."""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from smemviz.figures.bars import bar, hatched, plain
from smemviz.figures.drawing.cells import box, with_key
from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, alternative, axis, empty, layout
from smemviz.i18n import _
from smemviz.model.counting.costs import Line, line_up
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.playback import RequestView
from smemviz.recordings.data import Launch
from smemviz.wording.labels import count, operation_name
from smemviz.wording.sentences import present

_MOST = 512  # requests drawn, around the present one
_TOP, _BOTTOM = 30, 44
_BAR, _EDGE = 0.66, 0.75  # of a row; pixels round a bar


def timeline(now: RequestView, *, hardware: Hardware = H200, theme: ThemeName = "light") -> go.Figure:
    """Draw the requests of a block in the order they are played, those before and after the present one.

    The length is wavefronts, not time: what is beyond the ideal is hatched. A dotted line is a barrier.
    """
    colours = THEMES[theme]
    if now.row is None:
        return empty(colours, _("No request of this block was logged."))
    whole = line_up(now.launch, now.rows, hardware)
    first = int(np.clip(now.position - _MOST // 2, 0, max(len(now.rows) - _MOST, 0)))
    drawn = slice(first, first + _MOST)
    line = Line(*(column[drawn] for column in (whole.rows, whole.start, whole.wavefronts, whole.ideal, whole.sectors)))
    requests = now.launch.requests
    warp = requests.warp[line.rows].astype(np.int64)
    counted, over = line.wavefronts >= 0, line.wavefronts > line.ideal
    hover = _hover(now.launch, line)
    excess = np.where(over, line.wavefronts - line.ideal, 0)
    # Edges in the hue of what they surround: of a request of one wavefront they are all that is seen.
    marked = {"color": colours.ramp[0], "line": {"color": colours.line, "width": _EDGE}}
    idle = plain(colours, _EDGE) | {"color": colours.unused}
    traces = [
        _bars(_("ideal"), line.start, line.ideal, warp, hover, counted, marked),
        _bars(_("excess"), line.start + line.ideal, excess, warp, hover, over, hatched(colours, _EDGE, 6)),
        _bars(_("no wavefront is counted"), line.start, line.length, warp, hover, ~counted, idle),
        *with_key(_present(now, whole, colours)),
    ]
    if len(np.unique(requests.epoch[line.rows])) > 1:
        traces.append(_barriers(now.launch, line, colours))
    tracks = now.launch.warps_per_block
    end = int(line.start[-1] + line.length[-1])
    title = _("wavefronts, one after the other")
    if len(line.rows) < len(now.rows):
        title = _(
            "wavefronts, one after the other (requests {first} to {last})", first=first + 1, last=first + len(line.rows)
        )
    return go.Figure(
        traces,
        layout(
            colours,
            height=tracks * (22 if tracks <= 16 else 15) + _TOP + _BOTTOM,
            around=(_TOP, _BOTTOM),
            barmode="overlay",
            showlegend=True,
            meta=alternative(present(now, hardware), *_table(hover)),
            xaxis=axis(colours, title, range=[int(line.start[0]), end], nticks=9),
            yaxis=axis(
                colours,
                _("warp"),
                range=[tracks - 0.5, -0.5],
                ticklabelstandoff=4,
                tickmode="array",
                tickvals=list(range(0, tracks, 1 if tracks <= 8 else 4)),
            ),
        ),
    )


def _bars(
    name: str,
    base: NDArray[np.int64],
    length: NDArray[np.int64],
    warp: NDArray[np.int64],
    hover: NDArray[np.object_],
    which: NDArray[np.bool_],
    marker: object,
) -> go.Bar:
    place = warp[which], base[which], length[which], hover[which]
    return bar(name, *place, marker, width=_BAR, showlegend=bool(which.any()))


def _present(now: RequestView, line: Line, colours: Theme) -> go.Scatter:
    left = int(line.start[now.position])
    right = left + int(line.length[now.position])
    y = int(now.launch.requests.warp[line.rows[now.position]])
    frame = {"color": colours.frame, "width": 2.5}
    return box((left, right), (y - 0.46, y + 0.46), frame, name=_("this request"))


def _barriers(launch: Launch, line: Line, colours: Theme) -> go.Scatter:
    epoch = launch.requests.epoch[line.rows]
    places = line.start[np.flatnonzero(np.diff(epoch) > 0) + 1].tolist()
    return go.Scatter(
        x=[x for place in places for x in (place, place, None)],
        y=[y for _ in places for y in (-0.5, launch.warps_per_block - 0.5, None)],
        mode="lines",
        line={"color": colours.muted, "width": 1.5, "dash": "dot"},
        name=_("barrier"),
        hoverinfo="skip",
    )


def _table(hover: NDArray[np.object_]) -> tuple[list[str], list[list[str]]]:
    columns = [_("warp and step"), _("access"), _("wavefronts")]
    return columns, [text.replace("<b>", "").replace("</b>", "").split("<br>") for text in hover.tolist()]


def _hover(launch: Launch, line: Line) -> NDArray[np.object_]:
    requests = launch.requests
    who, where = _("warp {warp}, step {step}"), _("line {line}: {operation} {source}")
    texts = []
    for row, wavefronts, ideal, moved in zip(line.rows, line.wavefronts, line.ideal, line.sectors, strict=True):
        site = launch.sites[requests.site[row]]
        if moved >= 0:
            cost = count(int(moved), "sector")
        elif wavefronts > ideal:
            cost = _("{wavefronts}, {ideal} would do", wavefronts=count(int(wavefronts), "wavefront"), ideal=ideal)
        else:
            cost = count(int(wavefronts), "wavefront") if wavefronts >= 0 else _("not counted in wavefronts")
        title = who.format(warp=requests.warp[row], step=requests.step[row])
        done = where.format(line=site.line, operation=operation_name(site.op), source=site.source)
        texts.append(f"<b>{title}</b><br>{done}<br>{cost}")
    return np.array(texts, dtype=object)
