"""The stage: a launch in each layout that was found for its shared arrays, as plain data.

Padded or swizzled, a kernel asks for the same elements elsewhere. Each array keeps the bank that it starts in; one that
grows moves those behind it by whole rows of banks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from smemviz.i18n import _
from smemviz.languages import Spelling
from smemviz.model.counting.summary import totals_of
from smemviz.model.layout.array_requests import relative_addresses
from smemviz.model.layout.candidates import LayoutChange, Pad, Swizzle
from smemviz.model.layout.search import LayoutFix
from smemviz.model.playback import BankLayout, BankService, RequestView, bank_layout, bank_service
from smemviz.recordings.data import ArrayInfo, Launch
from smemviz.views.grid import Grid, declared, lane_label, lanes_in
from smemviz.wording.explanations import Explaining
from smemviz.wording.labels import capital, items
from smemviz.wording.layout_changes import pad_text, swizzle_text
from smemviz.wording.sentences import cost, facts

LayoutName = Literal["written", "padded", "swizzled"]

_MOST_ROWS = 64  # of banks, in which an array is drawn; a larger one is drawn by its indices
_MOST_COLUMNS = 64


@dataclass(frozen=True)
class StagedLayout:
    """A launch with some of its shared arrays laid out anew: what it costs, and where its elements go.

    ``changes`` are by the number of the array in the launch; ``wavefronts`` and ``excess`` are the launch's, of the
    requests that were logged where that is not all. ``says`` is what to change, "" for the launch as it is written.
    """

    name: LayoutName
    launch: Launch
    row_bytes: int
    changes: Mapping[int, LayoutChange]
    wavefronts: int
    excess: int
    says: str = ""

    @property
    def title(self) -> str:
        """Its name in the spoken language."""
        return {"written": _("As written"), "padded": _("Padded"), "swizzled": _("Swizzled")}[self.name]

    @cached_property
    def _starts(self) -> dict[int, int]:
        """Where each shared array begins, by its number in the launch."""
        starts, later = {}, 0
        for i in _shared(self.launch):
            array = self.launch.arrays[i]
            starts[i] = array.address + later
            if i in self.changes:
                more = self.changes[i].more_elements(array.nbytes // array.itemsize) * array.itemsize
                later += -(-more // self.row_bytes) * self.row_bytes
        return starts

    def addresses(self, array: int, offset: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where the bytes at these offsets of an array of the launch lie."""
        itemsize = self.launch.arrays[array].itemsize
        element, inside = np.divmod(offset, itemsize)
        place = self.changes[array].place(element) if array in self.changes else element
        return self._starts[array] + place * itemsize + inside

    def moved(self, rows: NDArray[np.intp]) -> Launch:
        """Return the launch with these requests only, as they are in this layout."""
        which, offset = relative_addresses(self.launch, rows)
        requests = self.launch.requests.select(rows)
        addresses = requests.addresses.copy()
        for i in self._starts:
            here = which == i
            addresses[here] = self.addresses(i, offset[here])
        return replace(self.launch, requests=replace(requests, addresses=addresses))

    def cells(self, now: RequestView, array: ArrayInfo, where: BankLayout) -> Grid:
        """Return an array's elements in rows of banks as they lie, by their indices where that is too much to draw."""
        number = self.launch.arrays.index(array)
        grid = declared(now, array, where)
        there = grid.address >= 0
        address = np.where(there, self.addresses(number, np.where(there, grid.address - array.address, 0)), -1)
        return _in_banks(replace(grid, address=address), where) or replace(grid, address=address)


def staged_layouts(explaining: Explaining) -> tuple[StagedLayout, ...]:
    """Return a launch as it is written and in the layouts that save it wavefronts, nothing where there are none."""
    launch, hardware = explaining.launch, explaining.hardware
    shared = _shared(launch)
    if _overlapping([launch.arrays[i] for i in shared]):
        return ()
    if launch.missing:
        totals = totals_of(launch.sites, launch.requests, hardware)
        wavefronts = int(totals.wavefronts[launch.in_shared].sum())
        excess = wavefronts - int(totals.ideal[launch.in_shared].sum())
    else:
        wavefronts, excess = facts(launch, hardware).wavefronts, facts(launch, hardware).excess
    found = [StagedLayout("written", launch, hardware.row_bytes, {}, wavefronts, excess)]
    forms: tuple[LayoutName, LayoutName] = ("padded", "swizzled")
    for nth, name in enumerate(forms):
        both = ((i, explaining.fixes(i)[nth]) for i in sorted(shared) if explaining.steady(i))
        fixes = {i: fix for i, fix in both if fix is not None and fix.saved > 0}
        if fixes:
            saved = sum(fix.saved for fix in fixes.values())
            changes = {i: fix.layout for i, fix in fixes.items()}
            texts = (_change_text(launch.arrays[i], fix, explaining.spelling) for i, fix in fixes.items())
            says = capital(items(*texts))
            found.append(
                StagedLayout(name, launch, hardware.row_bytes, changes, wavefronts - saved, excess - saved, says)
            )
    return tuple(found) if len(found) > 1 else ()


def _change_text(array: ArrayInfo, fix: LayoutFix[Pad] | LayoutFix[Swizzle], spelling: Spelling) -> str:
    if isinstance(fix.layout, Pad):
        return pad_text(array, fix.layout, fix.more_bytes, spelling)
    return swizzle_text(array, fix.layout, spelling)


def _shared(launch: Launch) -> list[int]:
    """Return the numbers of the shared arrays of a launch in the order of their addresses."""
    arrays = [i for i, array in enumerate(launch.arrays) if array.is_shared and array.nbytes]
    return sorted(arrays, key=lambda i: launch.arrays[i].address)


def _overlapping(arrays: list[ArrayInfo]) -> bool:
    """Tell whether bytes of arrays, in the order of their addresses, are shared, or lie before their first element."""
    backward = any(array.extent[0] < array.address for array in arrays)
    return backward or any(one.extent[1] > other.extent[0] for one, other in pairwise(arrays))


def _in_banks(grid: Grid, where: BankLayout) -> Grid | None:
    """Arrange cells in rows of banks by their addresses; None where they are too many, or fill no row evenly."""
    row_bytes, size = where.banks * where.width, grid.size
    columns = row_bytes // size
    there = grid.address >= 0
    address = grid.address[there] - where.origin
    if row_bytes % size or (address % size).any() or columns > _MOST_COLUMNS:
        return None
    first, last = int(address.min()) // row_bytes, int(address.max()) // row_bytes
    if last - first >= _MOST_ROWS:
        return None
    shape = (last - first + 1, columns)
    place = (address - first * row_bytes) // size
    everywhere = np.arange(shape[0] * columns)
    inside = (everywhere >= place.min()) & (everywhere <= place.max())
    start = where.origin + first * row_bytes

    def arranged(values: NDArray[Any], nothing: object) -> NDArray[Any]:
        cells = np.full(len(everywhere), nothing, dtype=values.dtype)
        cells[place] = values[there]
        return cells.reshape(shape)

    return replace(
        grid,
        address=np.where(inside, start + everywhere * size, -1).reshape(shape),
        value=arranged(grid.value, np.nan),
        thread=arranged(grid.thread, -1),
        name=arranged(grid.name, _("padding")),
        touched=arranged(grid.touched, False),
        x_title=_("bank"),
        y_title=_("row of {banks} banks", banks=where.banks),
        step=size / where.width,
    )


@dataclass(frozen=True)
class Scene:
    """One request in one layout: its array's cells, where its lanes go and when they are served, and what it costs."""

    layout: StagedLayout
    grid: Grid
    service: BankService
    where: BankLayout
    cost: str

    @cached_property
    def spots(self) -> dict[str, tuple[int, int]]:
        """The row and column of each element, by its name."""
        padding = _("padding")
        cells = np.argwhere((self.grid.address >= 0) & (self.grid.name != padding)).tolist()
        return {str(self.grid.name[row, column]): (row, column) for row, column in cells}

    @cached_property
    def lanes(self) -> dict[tuple[int, int], tuple[str, bool]]:
        """The names of the lanes that go to a cell, and whether one of these is in conflict."""
        labels, conflict = lanes_in(self.grid, self.service)
        there = np.argwhere(labels != "").tolist()
        return {(row, column): (lane_label(labels[row, column]), bool(conflict[row, column])) for row, column in there}

    def bank(self, row: int, column: int) -> int:
        """Return the bank of a cell."""
        return int(self.where.bank(self.grid.address[row : row + 1, column])[0])


def scenes(explaining: Explaining, now: RequestView) -> tuple[Scene, ...]:
    """Return a request on a shared array in each layout that was found, none where there are none."""
    hardware, where = explaining.hardware, bank_layout(now.launch, explaining.hardware)
    array = next((array for array in now.launch.shared_arrays if now.site and array.name == now.site.array), None)
    if now.row is None or array is None:
        return ()
    staged = []
    for layout in staged_layouts(explaining):
        moved = RequestView(layout.moved(np.array([now.row])), now.block, np.array([0]), 0, now.spelling)
        service = bank_service(moved, where, hardware)
        staged.append(Scene(layout, layout.cells(now, array, where), service, where, cost(moved, hardware)))
    return tuple(staged)
