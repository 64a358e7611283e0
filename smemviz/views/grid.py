"""Memory laid out in rows of cells: shared memory as the program declares it or as the banks have it, global arrays.

An array of global memory may have any size and shape; it is folded into as many cells as can be told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.i18n import gettext as _
from smemviz.model.counting.global_traffic import ElementCounts
from smemviz.model.playback import BankLayout, BankService, RequestView, contents, element_addresses
from smemviz.recordings.data import ArrayInfo, Launch
from smemviz.wording.labels import lane_ranges, number, ranges_briefly

_FOLD = 32  # a vector up to this long is one row
_MOST_ROWS, _MOST_COLUMNS = 64, 128
_LINE = 128  # bytes
# A letter's width in font sizes; the smallest and largest type, and what a frame takes of a cell, in pixels; how many
# letters a single lane has, as L31.
RULE = {"letter": 0.62, "least": 9, "most": 13, "edges": 4, "lines": 1.6, "single": 3}


@dataclass(frozen=True)
class Grid:
    """Cells in rows; every array is (rows, columns).

    ``address`` is a cell's first byte, -1 where there is no cell, ``size`` its bytes; ``value`` and ``thread`` are
    what it holds and who stored that, as in ``Contents``; ``touched`` is False where no request of the launch goes;
    ``longest`` is the length of the longest value that is ever stored, ``step`` how far apart columns are numbered.
    """

    address: NDArray[np.int64]
    size: int
    value: NDArray[np.float64]
    thread: NDArray[np.int64]
    name: NDArray[np.object_]
    touched: NDArray[np.bool_]
    longest: int
    x_title: str
    y_title: str
    step: float = 1

    def window(self, rows: slice, columns: slice) -> Grid:
        """Return a part of the grid."""
        arrays = ("address", "value", "thread", "name", "touched")
        return replace(self, **{name: getattr(self, name)[rows, columns] for name in arrays})


def declared(now: RequestView, array: ArrayInfo, where: BankLayout) -> Grid:
    """Lay out one array by its own indices, its last axis along a row; a long vector is folded at a row of banks."""
    addresses = element_addresses(array)
    stored = contents(now, array)
    width = array.shape[-1]
    x_title, y_title = (_("column"), _("row")) if len(array.shape) > 1 else (_("element"), "")
    if len(array.shape) == 1 and width > _FOLD:
        width = max(where.banks * where.width // array.itemsize, 1)
        x_title, y_title = _("element, folded at {width}", width=width), _("row")
    places = zip(*(i.tolist() for i in np.indices(array.shape).reshape(len(array.shape), -1)), strict=True)
    names = np.array([now.spelling.element(array.name, place) for place in places], dtype=object)

    def fold(flat: NDArray[Any], fill: object) -> NDArray[Any]:
        return np.append(flat, np.full(-len(flat) % width, fill, flat.dtype)).reshape(-1, width)

    return Grid(
        fold(addresses, -1),
        array.itemsize,
        fold(stored.values, np.nan),
        fold(stored.threads, -1),
        fold(names, ""),
        fold(touched(now.launch, addresses, array.itemsize), True),
        longest_value(now),
        x_title,
        y_title,
    )


def physical(now: RequestView, arrays: Sequence[ArrayInfo], where: BankLayout) -> Grid:
    """Lay out the words of all shared arrays, a row of banks a line; a cell of several elements shows the last."""
    row_bytes = where.banks * where.width
    first = min(array.address for array in arrays)
    start = first - (first - where.origin) % row_bytes
    end = max(array.address + array.nbytes for array in arrays)
    words = max(-(-(end - start) // row_bytes), 1) * where.banks
    address = start + np.arange(words, dtype=np.int64) * where.width
    value, thread = np.full(words, np.nan), np.full(words, -1, np.int64)
    name = np.full(words, _("outside every array"), dtype=object)
    reached = touched(now.launch, address, where.width)
    place_in = _("{array} + {bytes} bytes")
    for array in arrays:
        elements = element_addresses(array)
        cells = contents(now, array)
        inside = (address >= array.address) & (address < array.address + array.nbytes)
        name[inside] = [
            place_in.format(array=array.name, bytes=byte - array.address) for byte in address[inside].tolist()
        ]
        stored = cells.threads >= 0
        place = (elements[stored] - start) // where.width
        value[place], thread[place] = cells.values[stored], cells.threads[stored]
        if now.launch.missing:
            reached |= inside
    shape = (-1, where.banks)
    return Grid(
        address.reshape(shape),
        where.width,
        value.reshape(shape),
        thread.reshape(shape),
        name.reshape(shape),
        reached.reshape(shape),
        longest_value(now),
        _("bank"),
        _("row of {banks} banks", banks=where.banks),
    )


def longest_value(now: RequestView) -> int:
    """Return the length of the longest value that the block stores, so that text keeps its size as cells fill."""
    values = np.unique(now.launch.requests.values[now.rows])
    return max((len(number(value)) for value in values[~np.isnan(values)].tolist()), default=0)


def touched(launch: Launch, addresses: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Tell which cells any request of the launch reaches; all of them where the log is incomplete."""
    if launch.missing:
        return np.ones(len(addresses), bool)
    requests = launch.requests
    reached = np.zeros(len(addresses), bool)
    widths = np.array([site.width for site in launch.sites])
    for width in np.unique(widths[launch.in_shared]).tolist():
        of_width = launch.in_shared & (widths == width)
        starts = np.unique(requests.addresses[of_width[requests.site]])
        low = np.searchsorted(starts, addresses - width, side="right")
        high = np.searchsorted(starts, addresses + size, side="left")
        reached |= high > np.maximum(low, np.searchsorted(starts, 0))  # -1 is a lane that is off
    return reached


def around(where: NDArray[np.bool_], most: tuple[int, int]) -> tuple[slice, slice]:
    """Choose what to draw: everything, or as many rows and columns as can be read around what is marked."""
    window = []
    for size, limit, at in zip(where.shape, most, np.nonzero(where), strict=True):
        first = 0
        if size > limit and len(at):
            centred = (int(at.min()) + int(at.max()) + 1 - limit) // 2
            first = int(np.clip(min(centred, at.min()), 0, size - limit))
        window.append(slice(first, min(first + limit, size)))
    return window[0], window[1]


def lanes_in(grid: Grid, service: BankService) -> tuple[NDArray[np.object_], NDArray[np.bool_]]:
    """Write into each cell the lanes that the request has there, and tell in which cells a lane is in conflict."""
    lanes: dict[tuple[int, int], list[int]] = {}
    conflict = np.zeros(grid.address.shape, bool)
    for lane, address, conflicting in zip(*(a.tolist() for a in service.lanes()), strict=True):
        overlaps = (grid.address < address + service.width) & (grid.address + grid.size > address)
        overlaps &= grid.address >= 0
        conflict |= overlaps & conflicting
        for cell in zip(*(i.tolist() for i in np.nonzero(overlaps)), strict=True):
            lanes.setdefault(cell, []).append(lane)
    labels = np.full(grid.address.shape, "", dtype=object)
    for cell, those in lanes.items():
        labels[cell] = lane_ranges(those)
    return labels, conflict


@dataclass(frozen=True)
class Fold:
    """An array laid out in rows and columns, and those drawn in cells of ``bin`` (rows, columns) elements."""

    array: ArrayInfo
    size: int
    width: int
    bin: tuple[int, int]
    x_title: str
    y_title: str

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of cells."""
        rows = -(-self.size // self.width)
        return -(-rows // self.bin[0]), -(-self.width // self.bin[1])

    def cell(self, element: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cell, counted along the rows, of each element."""
        row, column = np.divmod(element, self.width)
        return np.asarray(row // self.bin[0] * self.shape[1] + column // self.bin[1])

    def most(self, counts: ElementCounts) -> NDArray[np.int64]:
        """Return the most times that an element of each cell is touched."""
        times = np.zeros(self.shape, np.int64)
        np.maximum.at(times.ravel(), self.cell(counts.element), counts.times)
        return times

    def elements_in(self, counts: ElementCounts) -> NDArray[np.int64]:
        """Return how many elements of each cell are touched."""
        inside = np.zeros(self.shape, np.int64)
        np.add.at(inside.ravel(), self.cell(counts.element), 1)
        return inside

    def marked(self, element: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return the cells that these elements lie in."""
        marked = np.zeros(self.shape, bool)
        marked.ravel()[self.cell(element)] = True
        return marked

    def beyond(self) -> NDArray[np.bool_]:
        """Return the cells after the last element."""
        first = np.arange(self.shape[0])[:, np.newaxis] * self.bin[0] * self.width
        return np.asarray(first + np.arange(self.shape[1]) * self.bin[1] >= self.size)


def fold_of(array: ArrayInfo) -> Fold:
    """Lay out an array: its last axis along a row, a long vector folded at a line of 128 bytes."""
    size, width = int(np.prod(array.shape, dtype=np.int64)), array.shape[-1] if array.shape else 1
    x_title, y_title = _("column"), _("row")
    if len(array.shape) < 2:
        x_title, y_title = _("element"), ""
        if width > _LINE // array.itemsize:
            width = max(_LINE // array.itemsize, -(-size // (_MOST_ROWS * 8)))
            x_title, y_title = _("element, folded at {width}", width=width), _("row")
    elif len(array.shape) > 2:
        y_title = _("row of all planes")
    rows = -(-size // width)
    bins = -(-rows // _MOST_ROWS), -(-width // _MOST_COLUMNS)
    if bins != (1, 1):
        x_title = _(
            "{title} ({width}; a cell is {rows} x {columns} elements)",
            title=x_title,
            width=width,
            rows=bins[0],
            columns=bins[1],
        )
    return Fold(array, size, width, bins, x_title, y_title)


def lane_label(lanes: str) -> str:
    """Mark lanes as such, ``L3`` or ``L0-7``, "" where there are none."""
    return f"L{ranges_briefly(lanes)}" if lanes else ""


def label_size(letters: float, width: float, height: float, **other: float) -> float:
    """Return the type at which so many letters fit a cell, in pixels, 0 where they do not.

    ``other`` replaces parts of ``RULE``: a slide's type is larger.
    """
    rule = RULE | other
    room = (width - rule["edges"]) / (rule["letter"] * max(letters, 1))
    size = min(room, height - rule["lines"], rule["most"])
    return size if size >= rule["least"] else 0


def fitting_names(names: NDArray[np.object_], width: float, height: float) -> tuple[NDArray[np.object_], float]:
    """Return the names of lanes that fit, the others empty, and their type in pixels, 0 where single lanes do not fit.

    Several lanes of one cell are named where all of it fits at the type of the others.
    """
    lengths = np.vectorize(len, otypes=[int])(names)
    single = lengths[(lengths > 0) & (lengths <= RULE["single"])]
    letters = int((single if single.size else lengths).max(initial=0))
    size = label_size(letters, width, height)
    room = np.array([label_size(n, width, height) for n in range(lengths.max(initial=0) + 1)])
    return np.where((lengths <= letters) | (room[lengths] >= size), names, "").astype(object), size
