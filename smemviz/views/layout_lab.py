"""A set-up of the layout lab: an array, accesses to it, hardware that counts; one request, and the array as cells."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from smemviz.errors import InputError
from smemviz.i18n import N_, _, pgettext
from smemviz.model.counting.service import count as count_wavefronts
from smemviz.model.hardware.compute_capability import BasisKind
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.hardware.operations import weakest
from smemviz.model.layout.accesses import Access, Lanes, Totals, elements, lanes, requests, totals
from smemviz.model.layout.layouts import Layout
from smemviz.model.playback import BankLayout, BankService, serve_lanes
from smemviz.recordings.vocabulary import MATRICES
from smemviz.views.grid import Grid
from smemviz.views.one_request import request_data
from smemviz.wording.labels import count, degree_name, items, lane_ranges, operation_name

LANE_HEADS = (N_("lane"), N_("element"), N_("address"), N_("bank"), N_("wavefront"))
COUNT_HEADS = (N_("access"), N_("requests"), N_("wavefronts"), N_("ideal"), N_("degree"), N_("bytes wasted"))


@dataclass(frozen=True)
class SetUp:
    """An array in shared memory, what warps ask of it, and the part whose rules count."""

    layout: Layout
    accesses: tuple[Access, ...]
    hardware: Hardware

    @property
    def where(self) -> BankLayout:
        """Where a byte lies."""
        return BankLayout(self.hardware.banks, self.hardware.bank_bytes, 0)

    @property
    def basis(self) -> BasisKind:
        """The weakest that the counts rest on."""
        operations = ((access.op, access.bytes_per_lane(self.layout)) for access in self.accesses)
        return weakest(operations, self.hardware.cc)

    def totals(self, access: int) -> Totals:
        """Count an access.

        Raises:
            InputError: when the array cannot be accessed so, or the part cannot do it.
        """
        return totals(self.accesses[access], self.layout, self.hardware)


@dataclass(frozen=True)
class RequestPicture:
    """One request of a set-up: of which access, and its number among ``count`` requests, from 0."""

    setup: SetUp
    access: int
    request: int
    count: int

    @property
    def kind(self) -> Access:
        """The access it belongs to."""
        return self.setup.accesses[self.access]

    @property
    def step(self) -> int:
        """The step it is made at."""
        return self.request // self.kind.warps

    @property
    def warp(self) -> int:
        """The warp that makes it."""
        return self.request % self.kind.warps

    @property
    def width(self) -> int:
        """Bytes per lane."""
        return self.kind.bytes_per_lane(self.setup.layout)

    def lanes(self) -> Lanes:
        """Tell who asks for what, and when it is served."""
        hardware = self.setup.hardware
        return lanes(self.kind, self.setup.layout, self.step, self.warp, hardware)

    def service(self) -> BankService:
        """Serve it."""
        return serve_lanes(self.lanes().address, self.width, self.kind.op, self.setup.where, self.setup.hardware)


def picture(setup: SetUp, access: int | None = None, request: int | None = None) -> RequestPicture:
    """Choose the request to show: what is not there gives way to what wastes the most.

    Raises:
        InputError: when no access can be counted.
    """
    if access is None or not 0 <= access < len(setup.accesses):
        access = int(np.argmax([setup.totals(i).excess for i in range(len(setup.accesses))]))
    wasted = excess_of(setup, access)
    if request is None or not 0 <= request < len(wasted):
        request = int(np.argmax(wasted))
    return RequestPicture(setup, access, request, len(wasted))


def excess_of(setup: SetUp, access: int) -> NDArray[np.int64]:
    """Return the wavefronts in excess of every request of an access, (n,).

    Raises:
        InputError: when the array cannot be accessed so, or the part cannot do it.
    """
    chosen = setup.accesses[access]
    addresses = requests(chosen, setup.layout).reshape(-1, 32)
    width = chosen.bytes_per_lane(setup.layout)
    counts = count_wavefronts(addresses, width, chosen.op, setup.hardware)
    return counts.wavefronts - counts.ideal


def access_text(access: Access) -> str:
    """Name an access: ``column load, 16 bytes``."""
    op = operation_name(access.op)
    if access.pattern == "matrices":
        return op
    if access.width and access.op not in MATRICES:
        wide = count(access.width, "byte")
        return pgettext("access", "{pattern} {operation}, {bytes}", pattern=access.pattern, operation=op, bytes=wide)
    return pgettext("access", "{pattern} {operation}", pattern=access.pattern, operation=op)


def headline(setups: Mapping[str, SetUp], *, with_names: bool) -> str:
    """Say what the accesses of each set-up cost, by its name where there is another."""
    if not with_names:
        return items(*map(_costs, setups.values()))
    return items(*(_("{name}: {costs}", name=name, costs=_costs(setup)) for name, setup in setups.items()))


def _costs(setup: SetUp) -> str:
    costs = [setup.totals(i) for i in range(len(setup.accesses))]
    wavefronts, ideal = sum(cost.wavefronts for cost in costs), sum(cost.ideal for cost in costs)
    if wavefronts == ideal:
        return _("no conflict, {wavefronts}", wavefronts=count(wavefronts, "wavefront"))
    return _(
        "{degree}-way conflict, {wavefronts} where {ideal:,} would do",
        degree=max(cost.max_degree for cost in costs),
        wavefronts=count(wavefronts, "wavefront"),
        ideal=ideal,
    )


def request_text(picture: RequestPicture) -> str:
    """Say what the pictured request costs."""
    served = picture.lanes()
    values = {
        "warp": picture.warp,
        "step": picture.step,
        "lanes": count(int((served.address >= 0).sum()), "lane"),
        "wavefronts": count(served.wavefronts, "wavefront"),
    }
    if served.wavefronts == served.ideal:
        return _("Warp {warp}, step {step}: {lanes}, {wavefronts}, as few as possible.", **values)
    return _(
        "Warp {warp}, step {step}: {lanes}, {degree}-way: {wavefronts} where {ideal:,} would do.",
        degree=served.degree,
        ideal=served.ideal,
        **values,
    )


def lane_rows(picture: RequestPicture) -> list[list[str]]:
    """Write each lane that is on: its element, byte address, banks and wavefronts; wavefronts count from 1."""
    served, layout = picture.lanes(), picture.setup.layout
    rows = []
    for lane in np.flatnonzero(served.address >= 0).tolist():
        bank, wavefront = served.bank[lane], served.wavefront[lane]
        if (wavefront < 0).all():  # past the last matrix
            continue
        element = element_text(layout, int(served.element[lane]))
        rows.append(
            [str(lane), element, f"{served.address[lane]:,}", lane_ranges(bank.tolist()), lane_ranges(wavefront + 1)]
        )
    return rows


def element_text(layout: Layout, element: int) -> str:
    """Write the index of an element: ``[3, 16]``."""
    return f"[{', '.join(str(int(i)) for i in np.unravel_index(element, layout.shape))}]"


def count_rows(setup: SetUp) -> list[list[str]]:
    """Write what each access costs, and all together; what cannot be counted says why."""
    rows, counted = [], []
    for i, access in enumerate(setup.accesses):
        try:
            cost = setup.totals(i)
        except InputError as error:
            rows.append([access_text(access), str(error)])
            continue
        counted.append(cost)
        rows.append([access_text(access), *_cells(cost)])
    if len(counted) > 1:
        every = Totals(*(sum(column) for column in zip(*counted, strict=True)))
        rows.append(
            [pgettext("accesses", "all"), *_cells(every._replace(max_degree=max(cost.max_degree for cost in counted)))]
        )
    return rows


def _cells(cost: Totals) -> list[str]:
    counts = [f"{n:,}" for n in (cost.requests, cost.wavefronts, cost.ideal, cost.bytes_wasted)]
    return [*counts[:3], degree_name(cost.max_degree), counts[3]]


def array_text(setup: SetUp) -> str:
    """Say what the array takes."""
    layout = setup.layout
    size, name = count(layout.nbytes, "byte"), setup.hardware.name
    if layout.unused_bytes:
        return _(
            "{bytes} of shared memory, {unused} of them unused; banks by the rule for {hardware}.",
            bytes=size,
            unused=count(layout.unused_bytes, "byte"),
            hardware=name,
        )
    return _("{bytes} of shared memory; banks by the rule for {hardware}.", bytes=size, hardware=name)


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
