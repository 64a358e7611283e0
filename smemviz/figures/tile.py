"""The shared array as a tile: a cell per element coloured by bank, the lanes of the present request in their cells.

Cells that hold something are strong, cells nobody has stored to yet are faint, and cells that no request of the
launch ever touches (padding) are grey. A lane in conflict is bold, framed, and has a marked corner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from smemviz.figures.alternative import alternative
from smemviz.figures.cells import cells, corners, frames, key
from smemviz.figures.grid import Grid, declared, lanes_in, physical
from smemviz.figures.labels import number, ranges_briefly
from smemviz.figures.moment import Moment
from smemviz.figures.sentences import present
from smemviz.figures.served import H200, BankLayout, Hardware, Served, bank_layout, serve_request
from smemviz.figures.style import THEMES, Theme, ThemeName, axis, blend, empty, layout
from smemviz.figures.text import PLOT_WIDTH, cell_text, fitting_size
from smemviz.language import _

View = Literal["declared", "physical"]

_MOST_ROWS, _MOST_COLUMNS = 64, 128  # what is drawn of a large array: a window around the present request
_MOST_VALUES = 400  # values written into cells; more are a grey haze that hides the lanes, and slow to draw
_ROW, _TOP, _BOTTOM = 17, 30, 44
_INSIDE = 0.8  # of a cell: what is left between the sides of a bold frame
_LEGIBLE = 9  # pixels of a font, below which lists of lanes are shortened


def tile(
    now: Moment,
    array: str,
    *,
    view: View = "declared",
    banks: int | None = None,
    hardware: Hardware = H200,
    theme: ThemeName = "light",
) -> go.Figure:
    """Draw one shared array at a moment of a block; the physical view draws all of shared memory.

    ``banks`` draws it for another number of banks than the hardware has, counted from the first byte of the first
    array.
    """
    colours = THEMES[theme]
    arrays = now.launch.shared_arrays
    chosen = next((a for a in arrays if a.name == array and a.nbytes), None)
    if chosen is None:
        return empty(colours, _("This launch has no shared array."))
    where = bank_layout(now.launch, hardware, banks)
    grid = physical(now, arrays, where) if view == "physical" else declared(now, chosen, where)
    served = serve_request(now, where, hardware)
    return draw_grid(grid, served, where, colours, _hover, says=present(now, hardware), named=view == "physical")


def _window(lanes: NDArray[np.object_]) -> tuple[slice, slice]:
    """Choose what to draw: everything, or as much as can be read around the present request."""
    window = []
    for size, most, at in zip(lanes.shape, (_MOST_ROWS, _MOST_COLUMNS), np.nonzero(lanes != ""), strict=True):
        first = 0
        if size > most and len(at):
            centred = (int(at.min()) + int(at.max()) + 1 - most) // 2
            first = int(np.clip(min(centred, at.min()), 0, size - most))
        window.append(slice(first, min(first + most, size)))
    return window[0], window[1]


Hover = Callable[[Grid, NDArray[np.int64], NDArray[np.object_]], NDArray[np.object_]]


def draw_grid(
    whole: Grid,
    served: Served,
    where: BankLayout,
    colours: Theme,
    hover: Hover,
    *,
    says: str,
    named: bool,
    conflicting: str = "",
    untouched: str = "",
    width: int = PLOT_WIDTH,
) -> go.Figure:
    """Put the cells, the lanes on them, and the key above.

    ``hover`` gives the text of cells from their grid, banks and lanes; the plot is at least ``width`` pixels wide;
    ``conflicting`` and ``untouched`` name those lanes and cells in the key, where the usual words do not. ``says`` is
    a sentence about the request; with ``named`` a cell's row and column do not tell which element it is.
    """
    lanes, conflict = lanes_in(whole, served)
    rows, columns = _window(lanes)
    grid, lanes, conflict = whole.window(rows, columns), lanes[rows, columns], conflict[rows, columns]
    x, y = np.arange(columns.start, columns.stop), np.arange(rows.start, rows.stop)
    plain = (lanes != "") & ~conflict
    first, wide = _runs(lanes)
    written, size = _written(lanes, lanes.shape[1] / wide, width)
    middle = x + (wide - 1) / 2
    struck = {"color": colours.conflict, "width": 2.5}
    traces = [
        _cells(grid, x, y, lanes, where, colours, hover, named),
        frames(x, y, plain & first, {"color": colours.frame, "width": 1.25}, _("lane of this request"), wide=wide),
        frames(x, y, conflict & first, struck, conflicting or _("lane in conflict: bold, corner marked"), wide=wide),
        corners(x, y, conflict & first, colours),
        *(
            cell_text(middle, y, np.where(chosen & first, written, ""), size=size, colour=colours.ink, weight=weight)
            for chosen, weight in ((plain, 500), (conflict, 800))
        ),
        key(colours.ramp[0], _("bank {bank}", bank=0)),
        key(colours.ramp[-1], _("bank {bank}", bank=where.banks - 1)),
    ]
    if not grid.touched.all():
        traces.append(key(colours.unused, untouched or _("never touched")))
    titles = [
        title if drawn == size else _("{title} ({size} in all)", title=title, size=size)
        for title, drawn, size in zip((grid.y_title, grid.x_title), lanes.shape, whole.address.shape, strict=True)
    ]
    return go.Figure(
        traces,
        layout(
            colours,
            height=int(np.clip(len(y) * _ROW, 72, 600)) + _TOP + _BOTTOM,
            top=_TOP,
            bottom=_BOTTOM,
            showlegend=True,
            meta=alternative(says),
            xaxis=axis(colours, titles[1], range=[x[0] - 0.5, x[-1] + 0.5], **_ticks(x)),
            yaxis=axis(colours, titles[0], range=[y[-1] + 0.5, y[0] - 0.5], **_ticks(y)),
        ),
    )


def _written(lanes: NDArray[np.object_], columns: float, width: int) -> tuple[NDArray[np.object_], int]:
    """Return the lanes as they are written into cells, with the font size: many in one cell are shortened."""

    def size_of(texts: NDArray[np.object_]) -> int:
        longest = max(map(len, texts.ravel().tolist()))
        return fitting_size(longest, columns, _ROW, width if longest <= 2 else int(width * _INSIDE))

    size = size_of(lanes)
    if size >= _LEGIBLE:
        return lanes, size
    brief = np.array([ranges_briefly(text) for text in lanes.ravel().tolist()], object).reshape(lanes.shape)
    return brief, size_of(brief)


def _runs(lanes: NDArray[np.object_]) -> tuple[NDArray[np.bool_], int]:
    """Tell the cells to write lanes into, and how many cells lanes take side by side: a wide access takes several."""
    there = lanes != ""
    first = there.copy()
    first[:, 1:] &= lanes[:, 1:] != lanes[:, :-1]
    wide = int(there.sum()) // max(int(first.sum()), 1)
    covered = np.logical_or.reduce([np.pad(first, ((0, 0), (k, 0)))[:, : there.shape[1]] for k in range(max(wide, 1))])
    return (first, wide) if wide > 1 and np.array_equal(covered, there) else (there, 1)


def _ticks(places: NDArray[np.int64]) -> dict[str, Any]:
    """Label every cell of a short axis, every fourth or more of a long one."""
    every = 1 if len(places) <= 8 else 4 if len(places) <= 40 else 8 if len(places) <= 80 else 16
    return {"tickmode": "array", "tickvals": places[::every].tolist()}


def _cells(
    grid: Grid,
    x: NDArray[np.int64],
    y: NDArray[np.int64],
    lanes: NDArray[np.object_],
    where: BankLayout,
    colours: Theme,
    hover: Hover,
    named: bool,
) -> go.Heatmap:
    """Colour every cell: z is the bank where something is held, banks + bank where not, 2 banks for padding."""
    held = grid.thread >= 0
    bank = where.bank(grid.address)
    z = np.where(held, bank, bank + where.banks).astype(float)
    z[~grid.touched] = 2 * where.banks
    z[grid.address < 0] = np.nan
    palette = [*blend(colours.ramp, where.banks), *blend(colours.faint, where.banks), colours.unused]
    text = np.full(z.shape, "", dtype=object)
    size = fitting_size(grid.longest, z.shape[1], _ROW) if z.size <= _MOST_VALUES else 0
    if size:
        show = held & (lanes == "")
        text[show] = [number(value) for value in grid.value[show].tolist()]
    return cells(
        z,
        palette,
        hover=hover(grid, bank, lanes),
        meta={"named": named},
        x=x,
        y=y,
        text=text,
        texttemplate="%{text}" if size else None,
        textfont={"size": size or 1, "color": colours.value},
    )


def _hover(grid: Grid, bank: NDArray[np.int64], lanes: NDArray[np.object_]) -> NDArray[np.object_]:
    """Say of each cell what it is, what it holds and who stored that, and which lanes are there now."""
    columns = (grid.name, bank, grid.value, grid.thread, grid.touched, lanes)
    place = _("<b>{element}</b> bank {bank}")
    held = _("holds {value} from thread {thread} (warp {warp}, lane {lane})")
    texts = []
    for name, of_bank, value, thread, touched, lane in zip(*(c.ravel().tolist() for c in columns), strict=True):
        if thread >= 0:
            state = held.format(value=number(value), thread=thread, warp=thread // 32, lane=thread % 32)
        else:
            state = _("nothing stored yet") if touched else _("padding: no request ever touches it")
        now = f"<br>{_('this request: lane {lanes}', lanes=lane)}" if lane else ""
        texts.append(f"{place.format(element=name, bank=of_bank)}<br>{state}{now}")
    return np.array(texts, dtype=object).reshape(lanes.shape)
