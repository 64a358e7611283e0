"""What tiles save: elements and sectors loaded without tiles and with tiles of several sizes, against the formula."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from smemviz.figures.bars import labelled, plain
from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, alternative, axis, empty, layout
from smemviz.i18n import _
from smemviz.recordings.sweep import Size, Sweep, Traffic
from smemviz.wording.labels import items, listed, number, sentences

_ROW = 64
_TOP, _BOTTOM, _LEFT, _RIGHT = 34, 44, 88, 190


@dataclass(frozen=True)
class Saving:
    """The naive and the tiled kernel at one size, with blocks of ``tile`` x ``tile`` threads."""

    tile: int
    size: Size
    naive: Traffic
    tiled: Traffic

    @property
    def elements(self) -> float | None:
        """How many times fewer elements are asked for; the formula says as many as the tile is wide."""
        if self.naive.elements_loaded is None or not self.tiled.elements_loaded:
            return None
        return self.naive.elements_loaded / self.tiled.elements_loaded

    @property
    def sectors(self) -> float:
        """How many times fewer sectors are moved."""
        return self.naive.load_sectors / self.tiled.load_sectors


def loads_bars(savings: Sequence[Saving], *, theme: ThemeName = "light") -> go.Figure:
    """Draw for each tile how many times fewer elements and sectors are loaded; a line marks the formula."""
    colours = THEMES[theme]
    if not savings:
        return empty(colours, _("Not counted at this size."), height=200)
    top = max(max(s.tile, s.sectors, s.elements or 0) for s in savings)
    traces = [
        _bars(_("elements"), [s.elements for s in savings], -0.19, colours.ramp[0],
              [(s.naive.elements_loaded, s.tiled.elements_loaded) for s in savings], colours),
        _bars(_("sectors"), [s.sectors for s in savings], 0.19, colours.ramp[3],
              [(s.naive.load_sectors, s.tiled.load_sectors) for s in savings], colours),
        go.Scatter(
            name=_("formula"),
            x=[s.tile for s in savings],
            y=[i - 0.19 for i in range(len(savings))],
            mode="markers",
            marker={"symbol": "line-ns", "size": 9, "line": {"width": 2.5, "color": colours.ink}},
            hovertemplate="2 S³ / (2 S³ / T) = %{x}<extra></extra>",
        ),
    ]  # fmt: skip
    return go.Figure(
        traces,
        layout(
            colours,
            height=_ROW * len(savings) + _TOP + _BOTTOM,
            around=(_TOP, _BOTTOM, _LEFT, _RIGHT),
            showlegend=True,
            meta=_alternative(savings),
            xaxis=axis(colours, _("times fewer than without tiles"), range=[0, top * 1.02], nticks=8),
            yaxis=axis(
                colours,
                range=[len(savings) - 0.5, -0.5],
                tickvals=list(range(len(savings))),
                ticktext=[_("tiles of {tile}", tile=s.tile) for s in savings],
            ),
        ),
    )


def claim(savings: Sequence[Saving], sweep: Sweep | None) -> str:
    """Hold what was published of the saving against what is counted here and what a GPU counted."""
    sentence = _(
        "Published elsewhere: shared memory lowers accesses to global memory to 1 / (block size x block size), here "
        "{claimed}. Counted: to 1 / block size, which is {elements} of the elements; {sectors} of the sectors are "
        "left.",
        claimed=_shares(s.tile * s.tile for s in savings),
        elements=_shares(s.elements for s in savings),
        sectors=_shares(s.sectors for s in savings),
    )
    return sentences(sentence, _counted_by_gpu(savings, sweep) if sweep else "")


def _counted_by_gpu(savings: Sequence[Saving], sweep: Sweep) -> str:
    """Give the sectors that a GPU counted at the largest size at which it counted the kernels with every tile."""
    counted = {(p.kernel, p.size, p.tile): p.moved for p in sweep.points if p.moved}
    sizes = {size for _kernel, size, _tile in counted}
    for size in sorted(sizes, key=lambda size: size.operations, reverse=True):
        pairs = [(counted.get(("naive", size, s.tile)), counted.get(("tiled", size, s.tile))) for s in savings]
        both = [(naive, tiled) for naive, tiled in pairs if naive and tiled]
        if len(both) == len(pairs):
            return _(
                "{card} counted, at {size}, {sectors} sectors.",
                card=sweep.device.name,
                size=size.name,
                sectors=items(*(f"{naive.load_sectors:,} → {tiled.load_sectors:,}" for naive, tiled in both)),
            )
    return ""


def _shares(times: Iterable[float | None]) -> str:
    """Write how much is left where so many times fewer are loaded: ``1/8, 1/16 and 1/32``."""
    return listed(
        [_("not counted") if times_fewer is None else f"1/{number(round(times_fewer, 1))}" for times_fewer in times]
    )


def _alternative(savings: Sequence[Saving]) -> dict[str, object]:
    """Say how many times fewer sectors are moved, and list what is counted with each tile."""
    clauses = [_("tiles of {tile}: {times:.4g} times fewer sectors", tile=s.tile, times=s.sectors) for s in savings]
    columns = [_("tile"), _("times fewer elements"), _("elements without tiles"), _("elements with tiles")]
    columns += [_("times fewer sectors"), _("sectors without tiles"), _("sectors with tiles")]
    rows = [
        [
            *(s.tile, s.elements, s.naive.elements_loaded, s.tiled.elements_loaded),
            *(s.sectors, s.naive.load_sectors, s.tiled.load_sectors),
        ]
        for s in savings
    ]
    return alternative(items(*clauses), columns, rows)


def _bars(
    name: str,
    times: Sequence[float | None],
    shift: float,
    fill: str,
    counts: Sequence[tuple[int | None, int | None]],
    colours: Theme,
) -> go.Bar:
    """Draw a bar per tile; where elements were not counted it has no length and says so."""
    pairs = [_("not counted") if None in pair else f"{pair[0]:,} → {pair[1]:,}" for pair in counts]
    texts = [
        f" {number(round(value, 2))} x  {text}" if value else text for value, text in zip(times, pairs, strict=True)
    ]
    hover = [_("{name}: {value}", name=name, value=text) for text in pairs]
    lengths, y = [value or 0 for value in times], [i + shift for i in range(len(times))]
    look = {"orientation": "h", "width": 0.32, "marker": plain(colours) | {"color": fill}}
    return labelled(lengths, y, texts, hover, colours, name=name, **look)
