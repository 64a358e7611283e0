"""The shared array as a tile: a cell per element coloured by bank, the lanes of the present request in their cells.

Cells that hold something are strong, cells nobody has stored to yet are faint, and cells that no request of the
launch ever touches (padding) are grey. A lane is written as a badge, ``L5``; where cells are large enough for what they
hold, it stands above that. A lane in conflict is bold, framed, and has a marked corner.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from smemviz.figures.drawing.cells import (
    BADGE_MIDDLE,
    BAR,
    BELOW_BADGE,
    LANES,
    PLOT_WIDTH,
    Marked,
    badges,
    cell_text,
    cells,
    characters,
    colour_bar,
    corners,
    fitting_size,
    frames,
    key,
    with_key,
)
from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, alternative, axis, blend, empty, every, layout
from smemviz.i18n import _
from smemviz.model.counting.costs import cached
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.playback import BankLayout, BankService, RequestView, bank_layout, bank_service, worst_request
from smemviz.recordings.data import Launch
from smemviz.views.grid import Grid, around, declared, fitting_names, lane_label, lanes_in, physical
from smemviz.wording.labels import number
from smemviz.wording.sentences import present

View = Literal["declared", "physical"]

_MOST_ROWS, _MOST_COLUMNS = 64, 128  # what is drawn of a large array: a window around the present request
_MOST_VALUES = 400  # values written into cells; more are a grey haze that hides the lanes, and slow to draw
_ROW, _TOP, _BOTTOM = 17, 30, 44
_ROOMY, _MOST_ROOMY = 30, 20  # pixels of a row that has room for a lane above a value, and how many rows have it
_LOWEST, _HIGHEST = 72, 704  # so that each of 64 rows has room for a lane
_MARK = 7  # pixels of the mark in a corner of such a cell
_KEY_LINE, _KEY_ENTRY, _KEY_CHARACTER = 19, 42, 6.2  # pixels: a row of the key, its symbol with its gaps, a letter
_AVERAGE = 0.54  # of the letters of a name, in font sizes
_MOST = 64
_COARSE = 32  # lines between more rows than these would be all there is


def tile(
    now: RequestView,
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
    service = bank_service(now, where, hardware)
    says, with_names = present(now, hardware), view == "physical"
    return draw_grid(grid, service, where, colours, _hover, says=says, with_names=with_names)


Hover = Callable[[Grid, NDArray[np.int64], NDArray[np.object_]], NDArray[np.object_]]


def draw_grid(
    whole: Grid,
    service: BankService,
    where: BankLayout,
    colours: Theme,
    hover: Hover,
    *,
    says: str,
    with_names: bool,
    conflicting: str = "",
    empty_yet: str = "",
    untouched: str = "",
) -> go.Figure:
    """Put the cells, the lanes on them, and the key above.

    ``hover`` gives the text of cells from their grid, banks and lanes; ``conflicting``, ``empty_yet`` and
    ``untouched`` name those lanes and cells in the key, where the usual words do not. ``says`` is a sentence about the
    request; with ``with_names`` columns are banks, and do not tell which element a cell is.
    """
    lanes, conflict = lanes_in(whole, service)
    rows, columns = around(lanes != "", (_MOST_ROWS, _MOST_COLUMNS))
    grid, lanes, conflict = whole.window(rows, columns), lanes[rows, columns], conflict[rows, columns]
    x, y = np.arange(columns.start, columns.stop), np.arange(rows.start, rows.stop)
    plain = (lanes != "") & ~conflict
    first, wide = _runs(lanes)
    roomy = lanes.size <= _MOST_VALUES and len(y) <= _MOST_ROOMY
    badges_of = np.vectorize(lane_label, otypes=[object])(np.where(first, lanes, ""))
    height = int(np.clip(len(y) * (_ROOMY if roomy else _ROW), _LOWEST, _HIGHEST))
    row = min(height / len(y), _ROOMY)
    width = PLOT_WIDTH / lanes.shape[1] * wide
    badges_of, named = fitting_names(badges_of, width, row / 2 if roomy else row)
    values = fitting_size(grid.longest, lanes.shape[1], row / 2) if lanes.size <= _MOST_VALUES else 0
    corner = (min(_MARK * lanes.shape[1] / PLOT_WIDTH, 0.3), _MARK / row)
    colliding = Marked(x, y, conflict & first)
    plainly, struck = {"color": colours.frame, "width": 1.25}, {"color": colours.conflict, "width": 2.5}
    if named and row < _ROOMY / 2:
        struck["width"] = 1.75  # which leaves the name room
    # What the cells hold in which lanes are, below these.
    below, sizes = _values(grid, lanes != ""), [values] if roomy and values else []
    written_on = ((plain, colours.frame), (conflict, colours.conflict))  # above the values of their cells
    traces = [
        _cells(grid, x, y, lanes, where, colours, hover, with_names, values),
        *(badges(Marked(x, y, which & first), colour, wide=wide) for which, colour in written_on if roomy and named),
        *with_key(frames(Marked(x, y, plain & first), plainly, _("lane of this request"), wide=wide)),
        *with_key(frames(colliding, struck, conflicting or _("lane in conflict: bold, corner marked"), wide=wide)),
        corners(colliding, colours, lower=corner if roomy else None),
        *(_lanes(x + (wide - 1) / 2, y, badges_of, conflict, named, colours, roomy) if named else ()),
        *(cell_text(x, y + BELOW_BADGE, below, size=size, colour=colours.ink, weight=700) for size in sizes),
    ]
    there = grid.address >= 0
    if (grid.touched & (grid.thread < 0) & there).any():
        traces.append(key(blend(colours.faint, 3)[1], empty_yet or _("nothing stored yet"), edge=colours.muted))
    if not grid.touched[there].all():
        traces.append(key(colours.unused, untouched or _("never touched")))
    top = _TOP + _KEY_LINE * (_key_width(traces) > PLOT_WIDTH)
    titles = [
        title if drawn == size else _("{title} ({size} in all)", title=title, size=size)
        for title, drawn, size in zip((grid.y_title, grid.x_title), lanes.shape, whole.address.shape, strict=True)
    ]
    bar = {} if with_names else colour_bar(colours, where.banks)
    bottom = _BOTTOM + BAR * bool(bar)
    return go.Figure(
        traces,
        layout(
            colours,
            height=height + top + bottom,
            around=(top, bottom),
            showlegend=True,
            **bar,
            meta=alternative(says) | {"bar": not with_names},
            xaxis=axis(colours, titles[1], range=[x[0] - 0.5, x[-1] + 0.5], **_ticks(x)),
            yaxis=axis(colours, titles[0], range=[y[-1] + 0.5, y[0] - 0.5], ticklabelstandoff=4, **_ticks(y)),
        ),
    )


def _runs(lanes: NDArray[np.object_]) -> tuple[NDArray[np.bool_], int]:
    """Tell the cells to write lanes into, and how many cells lanes take side by side: a wide access takes several."""
    there = lanes != ""
    first = there.copy()
    first[:, 1:] &= lanes[:, 1:] != lanes[:, :-1]
    wide = int(there.sum()) // max(int(first.sum()), 1)
    covered = np.logical_or.reduce([np.pad(first, ((0, 0), (k, 0)))[:, : there.shape[1]] for k in range(max(wide, 1))])
    return (first, wide) if wide > 1 and np.array_equal(covered, there) else (there, 1)


def _lanes(
    x: NDArray[np.float64],
    y: NDArray[np.int64],
    texts: NDArray[np.object_],
    conflict: NDArray[np.bool_],
    size: float,
    colours: Theme,
    roomy: bool,
) -> list[go.Scatter]:
    """Name the lanes in their cells: those in conflict bold; above the values if ``roomy``."""
    line, colour = (y + BADGE_MIDDLE, colours.paper) if roomy else (y, colours.ink)
    return [
        cell_text(x, line, np.where(chosen, texts, ""), size=size, colour=colour, weight=weight, meta=LANES)
        for chosen, weight in ((~conflict, 500), (conflict, 800))
    ]


def _values(grid: Grid, where: NDArray[np.bool_]) -> NDArray[np.object_]:
    """Write what cells hold, "" for those that hold nothing and for others than these."""
    stored = where & (grid.thread >= 0)
    texts = np.full(stored.shape, "", dtype=object)
    texts[stored] = [number(value) for value in grid.value[stored].tolist()]
    return texts


def _key_width(traces: list[go.Scatter]) -> float:
    names = [trace.name for trace in traces if trace.name and trace.showlegend is not False]
    return sum(_KEY_ENTRY + _KEY_CHARACTER * characters(name, _AVERAGE) for name in names)


def _ticks(places: NDArray[np.int64]) -> dict[str, Any]:
    return {"tickmode": "array", "tickvals": places[:: every(len(places))].tolist()}


def _cells(
    grid: Grid,
    x: NDArray[np.int64],
    y: NDArray[np.int64],
    lanes: NDArray[np.object_],
    where: BankLayout,
    colours: Theme,
    hover: Hover,
    with_names: bool,
    size: int,
) -> go.Heatmap:
    """Colour every cell: z is the bank where something is held, banks + bank where not, 2 banks for padding.

    ``size`` is that of the values, 0 for none; cells with lanes in them leave theirs to others.
    """
    stored = grid.thread >= 0
    bank = where.bank(grid.address)
    z = np.where(stored, bank, bank + where.banks).astype(float)
    z[~grid.touched] = 2 * where.banks
    z[grid.address < 0] = np.nan
    palette = [*blend(colours.ramp, where.banks), *blend(colours.faint, where.banks), colours.unused]
    return cells(
        z,
        palette,
        hover=hover(grid, bank, lanes),
        meta={"named": with_names},
        x=x,
        y=y,
        text=_values(grid, (lanes == "") & bool(size)),
        texttemplate="%{text}" if size else None,
        textfont={"size": size or 1, "color": colours.value},
    )


def _hover(grid: Grid, bank: NDArray[np.int64], lanes: NDArray[np.object_]) -> NDArray[np.object_]:
    """Say of each cell what it is, what it holds and who stored that, and which lanes are there now."""
    columns = (grid.name, bank, grid.value, grid.thread, grid.touched, lanes)
    place = _("<b>{element}</b> bank {bank}")
    holds = _("holds {value} from thread {thread} (warp {warp}, lane {lane})")
    texts = []
    for name, of_bank, value, thread, touched, lane in zip(*(c.ravel().tolist() for c in columns), strict=True):
        if thread >= 0:
            state = holds.format(value=number(value), thread=thread, warp=thread // 32, lane=thread % 32)
        else:
            state = _("nothing stored yet") if touched else _("padding: no request ever touches it")
        now = f"<br>{_('this request: lane {lanes}', lanes=lane)}" if lane else ""
        texts.append(f"{place.format(element=name, bank=of_bank)}<br>{state}{now}")
    return np.array(texts, dtype=object).reshape(lanes.shape)


@cached
def thumbnail(launch: Launch, *, hardware: Hardware = H200, theme: ThemeName = "light") -> str:
    """Draw the first shared array with the lanes of the launch's worst request: framed, or orange where in conflict.

    The SVG fills whatever room it is given; "" where the launch has no shared array.
    """
    array = next((a for a in launch.shared_arrays if a.nbytes), None)
    if array is None:
        return ""
    now = worst_request(launch, hardware)
    where = bank_layout(launch, hardware)
    grid = declared(now, array, where).window(slice(_MOST), slice(_MOST))
    lanes, conflict = lanes_in(grid, bank_service(now, where, hardware))
    colours = THEMES[theme]
    fills = np.array(blend(colours.ramp, where.banks), dtype=object)[where.bank(grid.address)]
    fills[~grid.touched] = colours.unused
    fills[conflict] = colours.conflict
    fills[grid.address < 0] = ""
    rows, columns = fills.shape
    cells = "".join(f'<path fill="{fill}" d="{_path_of(fills == fill)}"/>' for fill in sorted({*fills.flat} - {""}))
    lines = "".join([*(f"M0 {y}h{columns}" for y in range(1, rows)), *(f"M{x} 0v{rows}" for x in range(1, columns))])
    width = 1 if rows <= _COARSE else 0.5
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns} {rows}" preserveAspectRatio="none">{cells}'
        f'<path d="{lines}" stroke="{colours.paper}" stroke-width="{width}" vector-effect="non-scaling-stroke"/>'
        f'<path fill="none" stroke="{colours.frame}" stroke-width="2" vector-effect="non-scaling-stroke" '
        f'd="{_path_of((lanes != "") & ~conflict)}"/></svg>'
    )


def _path_of(cells: NDArray[np.bool_]) -> str:
    edges = np.diff(np.pad(cells.T.astype(np.int8), ((0, 0), (1, 1))))
    starts, ends = np.argwhere(edges == 1), np.argwhere(edges == -1)
    return "".join(f"M{x} {y}h1v{end - y}h-1z" for (x, y), (_, end) in zip(starts, ends, strict=True))
