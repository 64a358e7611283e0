"""The array of a set-up as cells: by the indices that a kernel uses, or as it lies in the banks."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from smemviz.i18n import _, pgettext
from smemviz.model.layout.accesses import elements
from smemviz.model.layout.layouts import Layout
from smemviz.views.grid import Grid
from smemviz.views.layouts.layout_lab import RequestPicture, element_text, request_text
from smemviz.views.one_request import request_data

LabView = Literal["index", "banks"]


def layout_grid(picture: RequestPicture, view: LabView) -> Grid:
    """Lay out the elements by row and column, or the words by bank; ``name`` is the number of an element, -1 for none.

    Cells that the access asks for at some request hold their bank, or their element.
    """
    return _by_index(picture) if view == "index" else _by_bank(picture)


def layout_data(picture: RequestPicture, view: LabView) -> dict[str, Any]:
    """Return the pictured request on its array, ready for JSON."""
    words = {"faint": _("not asked for"), "unused": pgettext("memory", "unused")}
    where, says = picture.setup.where, request_text(picture)
    data = request_data(
        layout_grid(picture, view), picture.lanes().address, says, where, picture.service(), name="", words=words
    )
    names = [element_text(picture.setup.layout, i) if i >= 0 else words["unused"] for i in data["array"]["names"]]
    data["array"]["names"] = names
    return data


def _by_index(picture: RequestPicture) -> Grid:
    """Lay out the elements by row and column; a pad stands at the end of its row, unless a swizzle spreads it."""
    layout = picture.setup.layout
    address = layout.table()
    element = np.where(address >= 0, np.arange(address.size).reshape(address.shape), -1)
    if layout.swizzle is None and layout.stride > layout.columns:
        column = np.arange(layout.columns, layout.stride)
        start = layout.base + np.arange(layout.rows)[:, np.newaxis] * layout.stride * layout.itemsize
        address = np.hstack([address, start + column * layout.itemsize])
        element = np.hstack([element, np.full((layout.rows, len(column)), -1)])
    bank = np.where(element >= 0, picture.setup.where.bank(address), np.nan)
    return _grid(picture, layout.itemsize, address, element, bank, _("column"), _("row"))


def _by_bank(picture: RequestPicture) -> Grid:
    """Lay out the words of the array, a row of banks a line; a word of several elements shows the first."""
    layout, where = picture.setup.layout, picture.setup.where
    row_bytes = where.banks * where.width
    start = layout.base // row_bytes * row_bytes
    lines = max(1, -(-(layout.base + layout.nbytes - start) // row_bytes))
    address = start + np.arange(lines * where.banks) * where.width
    element = np.full(len(address), -1)
    table = layout.table().ravel()
    there = np.flatnonzero(table >= 0)[::-1]  # of several in one word the first comes last
    for piece in range(0, layout.itemsize, where.width):
        element[(table[there] + piece - start) // where.width] = there
    value = np.where(element >= 0, element.astype(float), np.nan)
    shape = (lines, where.banks)
    title = _("row of {banks} banks", banks=where.banks)
    return _grid(
        picture, where.width, address.reshape(shape), element.reshape(shape), value.reshape(shape), _("bank"), title
    )


def _grid(
    picture: RequestPicture,
    size: int,
    address: NDArray[np.int64],
    element: NDArray[np.int64],
    value: NDArray[np.float64],
    x_title: str,
    y_title: str,
) -> Grid:
    accessed = np.isin(element, _elements_of(picture, picture.setup.layout))
    longest = len(str(int(np.nanmax(value, initial=0))))
    thread = np.where(accessed & (element >= 0), 0, -1)
    return Grid(address, size, value, thread, element.astype(object), element >= 0, longest, x_title, y_title)


def _elements_of(picture: RequestPicture, layout: Layout) -> NDArray[np.int64]:
    """Return the elements that any request of the access asks for."""
    first = elements(picture.kind, layout).ravel()
    first = first[first >= 0]
    return (first[:, np.newaxis] + np.arange(max(1, picture.width // layout.itemsize))).ravel()
