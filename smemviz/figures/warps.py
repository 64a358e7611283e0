"""Warps by sites: the worst request each warp made at each site, with the totals of the whole launch."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from smemviz.figures.drawing.cells import box, cell_text, characters, fitting_size, hovering, written
from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, alternative, axis, blend, empty, layout
from smemviz.i18n import _
from smemviz.model.counting.costs import request_costs
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.recordings.data import Launch, Site, SiteSummary
from smemviz.wording.labels import count, operation_name, space_name
from smemviz.wording.sentences import headline

_LINE = 88  # characters of a site's name and its totals, side by side in the narrowest picture
_ROW = 27  # pixels; a site takes two rows, its name and its cells


@dataclass(frozen=True)
class _Counts:
    """Per site and warp, (sites, warps): requests, the sum of wavefronts or sectors, and the most of one request.

    ``worst`` is a degree for a shared site, sectors for a global one; -1 where it is not counted.
    """

    requests: NDArray[np.int64]
    total: NDArray[np.int64]
    worst: NDArray[np.int64]


def warps(
    launch: Launch,
    block: int,
    *,
    site: int | None = None,
    warp: int | None = None,
    hardware: Hardware = H200,
    theme: ThemeName = "light",
) -> go.Figure:
    """Draw a row per site and a column per warp of one block; ``site`` and ``warp`` are framed.

    The cells of site i are in row 2 i + 1, below its name. A shared site shows the highest degree of the warp's
    requests, a global one the most sectors, uncoloured.
    """
    colours = THEMES[theme]
    if not launch.sites:
        return empty(colours, _("This launch touches no array."))
    counts = _count(launch, block, hardware)
    sites, columns = counts.worst.shape
    x, y = np.arange(columns), np.arange(2 * sites)
    shared = launch.in_shared
    colour = np.where(shared[:, np.newaxis], np.ceil(np.log2(np.maximum(counts.worst, 1))), 0.0)
    values, hover = np.full((2 * sites, columns), np.nan), np.full((2 * sites, columns), "", dtype=object)
    texts = np.full((2 * sites, columns), "", dtype=object)
    active = counts.requests > 0
    values[1::2] = np.where(active, colour, np.nan)
    texts[1::2] = np.where(active, np.where(counts.worst < 0, "?", counts.worst.astype(str)).astype(object), "")
    hover[1::2] = _hover(launch, counts)
    cells = go.Heatmap(
        x=x,
        y=y,
        z=values,
        zmin=0,
        zmax=5,
        colorscale=blend(colours.degree, 9),
        showscale=False,
        xgap=2,
        ygap=3,
        hoverongaps=False,
        **hovering(hover),
        meta={"rows": [text for site in launch.sites for text in ("", _label(site))]},
    )
    size = fitting_size(2, columns, _ROW)
    strong = np.repeat(np.where(shared[:, np.newaxis], counts.worst > 8, False), 2, axis=0)
    traces = [
        cells,
        cell_text(x, y, np.where(strong, "", texts), size=size, colour=colours.ink),
        cell_text(x, y, np.where(strong, texts, ""), size=size, colour=colours.paper, weight=800),
        *_names(launch, summarize(launch, hardware), columns, colours),
    ]
    if site is not None and warp is not None and site < sites and warp < columns:
        row, line = 2 * site + 1, {"color": colours.frame, "width": 3}
        traces.append(box((warp - 0.5, warp + 0.5), (row - 0.5, row + 0.5), line))
    return go.Figure(
        traces,
        layout(
            colours,
            height=2 * sites * _ROW + 52,
            around=(4, 48, 12, 12),
            meta=alternative(headline(launch, hardware)),
            xaxis=axis(
                colours,
                _("warp") if launch.grid == (1, 1, 1) else _("warp of block {block}", block=block),
                range=[-0.5, columns - 0.5],
                tickvals=x[:: 4 if columns > 8 else 1],
            ),
            yaxis=axis(colours, range=[2 * sites - 0.5, -0.5], showticklabels=False),
        ),
    )


def _count(launch: Launch, block: int, hardware: Hardware) -> _Counts:
    shape = (len(launch.sites), launch.warps_per_block)
    counts = _Counts(np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64))
    rows = np.flatnonzero(launch.requests.block == block)
    costs = request_costs(launch, rows, hardware)
    cells = launch.requests.site[rows], launch.requests.warp[rows]
    np.add.at(counts.requests, cells, 1)
    np.add.at(counts.total, cells, np.maximum(costs.wavefronts, costs.sectors).clip(0))
    worst = np.maximum(costs.degree, costs.sectors)
    np.maximum.at(counts.worst, cells, worst)
    counts.worst[cells[0][worst < 0]] = -1
    return counts


def _hover(launch: Launch, counts: _Counts) -> NDArray[np.object_]:
    texts = np.full(counts.worst.shape, "", dtype=object)
    for i, site in enumerate(launch.sites):
        for w in range(counts.worst.shape[1]):
            requests, total, worst = (int(a[i, w]) for a in (counts.requests, counts.total, counts.worst))
            if worst < 0:
                cost = _("not counted in wavefronts")
            elif site.space == "global":
                cost = _("{sectors}, at most {most} in one request", sectors=count(total, "sector"), most=worst)
            else:
                cost = _("{wavefronts}, at worst {degree}-way", wavefronts=count(total, "wavefront"), degree=worst)
            where = _("<b>warp {warp}</b>, {site}", warp=w, site=_label(site))
            counted = _("{requests}, {cost}", requests=count(requests, "request"), cost=cost)
            texts[i, w] = f"{where}<br>{counted}"
    return texts


def _label(site: Site) -> str:
    return _("line {line}: {operation} {source}", line=site.line, operation=operation_name(site.op), source=site.source)


def _names(launch: Launch, rows: tuple[SiteSummary, ...], columns: int, colours: Theme) -> list[go.Scatter]:
    """Write above each row of cells what the site is, and at the right its totals."""
    names, totals = [], []
    for site, row in zip(launch.sites, rows, strict=True):
        line = _("line {line}", line=site.line)
        parts = [space_name(site.space)]
        if row.requests == 0:
            parts.append(_("never runs"))
        elif row.sectors is not None:
            parts.append(count(row.sectors, "sector"))
        elif row.wavefronts is None:
            parts.append(_("not counted"))
        else:
            parts += [count(row.wavefronts, "wavefront"), _("worst {degree}-way", degree=row.max_degree)]
        totals.append(" · ".join(parts))
        name = f"{line} · {operation_name(site.op)} "
        room = max(_LINE - characters(name) - characters(totals[-1]), 8)  # what a cell's hover says in full
        names.append(f"{name}<b>{site.source if len(site.source) <= room else site.source[: room - 1] + '…'}</b>")
    y, font = 2 * np.arange(len(names)) + 0.12, {"size": 12, "color": colours.muted}
    return [
        written(np.full(len(names), edge), y, texts, font, textposition=f"middle {side}")
        for edge, side, texts in ((-0.5, "right", names), (columns - 0.5, "left", totals))
    ]
