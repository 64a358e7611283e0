"""A global array of any size and shape, laid out in as many cells as can be told apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smemviz.i18n import gettext as _
from smemviz.model.counting.element_counts import ElementCounts
from smemviz.recordings.data import ArrayInfo

_MOST_ROWS, _MOST_COLUMNS = 64, 128
_LINE = 128  # bytes


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
