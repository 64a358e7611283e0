"""Accesses: which elements of an array the lanes of a warp ask for, step by step, and what that costs in a layout."""

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smemviz.errors import InputError
from smemviz.messages import english
from smemviz.model.counting.service import assign, bytes_used, count
from smemviz.model.hardware.hardware import H200, WARP, Hardware
from smemviz.model.hardware.operations import check_width, operation, unpredictable
from smemviz.model.layout.formulas import formula
from smemviz.model.layout.layouts import Layout, read_options, whole
from smemviz.model.layout.operand_tiles import has_descriptor
from smemviz.recordings.vocabulary import DTYPES, MATRICES

Integers = NDArray[np.int64]

NO_DESCRIPTOR = english(
    "wgmma reads what a descriptor can name: matrices whose 8 rows lie 16 bytes apart, or as far as a swizzle is wide."
)
PATTERNS = ("row", "column", "diagonal", "tile", "matrices")

_LANES = np.arange(WARP)
_MATRIX_ROWS, _MATRIX_BYTES = 8, 16  # of a matrix, and of a row of it
_MOST_WARPS = 32
_MOST_REQUESTS = 1 << 14


@dataclass(frozen=True)
class Access:
    """What the warps of a block ask for.

    ``pattern`` is one of ``PATTERNS`` or a formula in ``lane``, ``warp`` and ``step``. Lanes take pieces of ``width``
    bytes, one element when left out:

    - ``row``: along the rows, and at the end of one on with the next.
    - ``column``: down the columns, and at the end of one on with the next.
    - ``diagonal``: down the diagonals; past the last column goes on in the first.
    - ``tile``: rectangles of ``across`` lanes side by side.
    - ``matrices``: what ``ldmatrix`` and ``stmatrix`` move, matrices of 8 rows of 16 bytes, ``across`` of them side by
      side; lane i has row i % 8 of matrix i // 8, and matrices count downwards first.
    - a formula gives the index as the array has dimensions, or one number that counts elements, and after it, if
      need be, whether the lane is on: ``lane, warp``, ``lane // 8, lane % 8 * 4, lane < 16``.

    Request number ``step * warps + warp`` is the one that warp ``warp`` makes at step ``step``; left out, there are
    as many ``steps`` as cover the array once, for a formula one.
    """

    pattern: str
    op: str = "load"
    width: int | None = None
    warps: int = 1
    steps: int | None = None
    across: int | None = None

    def __post_init__(self) -> None:
        given = vars(self)
        operation(self.op)  # refuses what does not exist
        if not 1 <= self.warps <= _MOST_WARPS:
            raise InputError(english("a block has 1 to {most} warps, not {warps}", most=_MOST_WARPS, **given))
        most = _MOST_REQUESTS // self.warps
        if self.steps is not None and not 1 <= self.steps <= most:
            raise InputError(english("steps is {steps}; 1 to {most} can be counted", most=most, **given))
        if self.width is not None:
            check_width(self.width)
        if self.pattern in PATTERNS and (self.pattern == "matrices") != (self.op in MATRICES):
            names = ", ".join(MATRICES)
            raise InputError(
                english("{op} cannot be used with {pattern}; matrices are for {names}", names=names, **given)
            )
        most = MATRICES.get(self.op, WARP)
        if self.across is not None and (self.pattern not in ("tile", "matrices") or most % (self.across or WARP + 1)):
            message = english("across is {across}; it has to divide {most}, for tile and matrices", most=most, **given)
            raise InputError(message)

    @property
    def text(self) -> str:
        """As ``access_of`` reads it: ``column; op=store; width=16``."""
        options = {"width": self.width, "warps": self.warps, "steps": self.steps, "across": self.across}
        parts = [self.pattern] + [f"op={self.op}"] * (self.op != "load")
        parts += [
            f"{name}={value}" for name, value in options.items() if value is not None and (name, value) != ("warps", 1)
        ]
        return "; ".join(parts)

    def bytes_per_lane(self, layout: Layout) -> int:
        """Return the bytes each lane asks for."""
        return self.width or (_MATRIX_BYTES if self.op in MATRICES else layout.itemsize)


def access_of(text: str) -> Access:
    """Read an access: ``column; op=store; width=16; warps=4; steps=8; across=8``; all but the pattern may be left out.

    Raises:
        InputError: saying what is wrong in one line.
    """
    readers = dict.fromkeys(("width", "warps", "steps", "across"), whole)
    pattern, options = read_options(text, {"op": lambda _, op: op, **readers})
    if pattern not in PATTERNS:
        pattern = formula(pattern).text
    return Access(pattern, **options)  # type: ignore[arg-type]


def elements(access: Access, layout: Layout) -> Integers:
    """Return the first element each lane asks for: (steps, warps, 32), -1 for a lane that is off.

    Raises:
        InputError: when the array cannot be accessed so.
    """
    width = access.bytes_per_lane(layout)
    vector, rest = divmod(width, layout.itemsize)
    words = {"access": access.text, "width": width, "columns": layout.columns, "dtype": layout.dtype}
    if rest:
        raise InputError(english("{access}: {width} bytes are not a whole number of {dtype}", **words))
    if access.pattern not in PATTERNS:
        return _by_formula(access, layout, vector)
    if layout.columns % vector:
        raise InputError(
            english("{access}: a row of {columns} {dtype} is not a whole number of {width} bytes", **words)
        )
    rows, pieces = layout.rows, layout.columns // vector
    patch = _patch(access)
    across = -(-pieces // patch.pieces) if patch else 0
    most = -(-rows // patch.rows) * across if patch else -(-rows * pieces // WARP)
    steps = access.steps or -(-most // access.warps)
    if (steps - 1) * access.warps >= most:
        words |= {"steps": steps, "most": most, "layout": layout.text}
        raise InputError(english("{access}: {steps} steps are too many, {most} requests cover {layout}", **words))
    request = np.arange(steps * access.warps).reshape(steps, access.warps, 1)
    if patch:
        down, right = np.divmod(request, across)
        row, piece = down * patch.rows + patch.down, right * patch.pieces + patch.right
        on = (patch.down >= 0) & (row < rows) & (piece < pieces)
    else:
        k = request * WARP + _LANES
        row, piece = np.divmod(k, pieces) if access.pattern == "row" else np.divmod(k, rows)[::-1]
        piece = (piece + row) % pieces if access.pattern == "diagonal" else piece
        on = k < rows * pieces
    element = np.where(on, row * layout.columns + piece * vector, -1)
    return np.where(element < prod(layout.shape), element, -1)


def requests(access: Access, layout: Layout) -> Integers:
    """Return the byte addresses of all requests: (steps, warps, 32), -1 for a lane that is off.

    Raises:
        InputError: when the array cannot be accessed so, or the layout tears what a lane asks for apart.
    """
    element = elements(access, layout)
    return addresses(element, access.bytes_per_lane(layout), layout)


def addresses(element: Integers, width: int, layout: Layout) -> Integers:
    """Return the byte addresses of accesses of ``width`` bytes that start at elements, any shape; -1 stays.

    Raises:
        InputError: when the layout tears what a lane asks for apart.
    """
    first = layout.address(element)
    for further in range(1, width // layout.itemsize):
        after = layout.address(np.where(element < 0, -1, element + further))
        torn = (element >= 0) & (after != first + further * layout.itemsize)
        if torn.any():
            why = english("{width} bytes of a lane do not stay together; swizzle larger pieces", width=width)
            raise InputError(f"{layout.text}: {why}")
    return first


class Totals(NamedTuple):
    """What an access costs over all its requests.

    ``bytes_asked`` counts every byte of a request once, ``bytes_wasted`` is what its wavefronts could have moved more.
    """

    requests: int
    wavefronts: int
    ideal: int
    max_degree: int
    bytes_asked: int
    bytes_wasted: int

    @property
    def excess(self) -> int:
        """Wavefronts more than need be."""
        return self.wavefronts - self.ideal


def totals(access: Access, layout: Layout, hardware: Hardware = H200) -> Totals:
    """Count an access to an array.

    Raises:
        InputError: as ``requests``, and for what the compute capability does not have or cannot align.
    """
    addresses = requests(access, layout)
    check_predictable(access, layout, hardware.cc)
    width = access.bytes_per_lane(layout)
    counts = count(addresses, width, access.op, hardware)
    used = int(bytes_used(addresses, width).sum())
    wavefronts = int(counts.wavefronts.sum())
    return Totals(
        int((addresses >= 0).any(axis=-1).sum()),
        wavefronts,
        int(counts.ideal.sum()),
        int(counts.degree.max(initial=0)),
        used,
        wavefronts * hardware.bytes_per_wavefront - used,
    )


def check_predictable(access: Access, layout: Layout, cc: tuple[int, int]) -> None:
    """Refuse what addresses alone do not tell.

    Raises:
        InputError: with the reason.
    """
    reason = unpredictable(access.op, DTYPES[layout.dtype], cc)
    if access.op == "wgmma" and not has_descriptor(requests(access, layout)):
        reason = NO_DESCRIPTOR
    if reason is not None:
        raise InputError(f"{access.text} of {layout.dtype}: {reason}")


class Lanes(NamedTuple):
    """One request, lane by lane.

    ``element`` and ``address`` are (32,), -1 for a lane that is off; ``bank`` and ``wavefront`` (32, words) of each
    word it touches, -1 likewise. ``row`` and ``column`` tell where in the array the element is, (32,).
    """

    element: Integers
    row: Integers
    column: Integers
    address: Integers
    bank: Integers
    wavefront: Integers
    wavefronts: int
    ideal: int
    degree: int


def lanes(
    access: Access,
    layout: Layout,
    step: int = 0,
    warp: int = 0,
    hardware: Hardware = H200,
) -> Lanes:
    """Tell who asks for what in one request, and when it is served.

    Raises:
        InputError: as ``totals``, and for a step or warp that there is not.
    """
    all_elements = elements(access, layout)
    if not (0 <= step < len(all_elements) and 0 <= warp < access.warps):
        words = {"access": access.text, "steps": len(all_elements), "warps": access.warps}
        raise InputError(english("{access} has {steps} steps of {warps} warps, counted from 0", **words))
    element, width = all_elements[step, warp], access.bytes_per_lane(layout)
    check_predictable(access, layout, hardware.cc)
    address = addresses(element, width, layout)
    counts = count(address, width, access.op, hardware)
    wavefront = assign(address, width, access.op, hardware)
    word = address[:, None] // hardware.bank_bytes + np.arange(wavefront.shape[1])
    bank = np.where(wavefront < 0, -1, word % hardware.banks)
    row, column = (np.where(element < 0, -1, index) for index in np.divmod(element, layout.columns))
    return Lanes(element, row, column, address, bank, wavefront, *(int(number) for number in counts))


class _Patch(NamedTuple):
    """A rectangle of ``rows`` by ``pieces`` that a request takes, and which of it each lane has, (32,); -1 for none."""

    rows: int
    pieces: int
    down: Integers
    right: Integers


def _patch(access: Access) -> _Patch | None:
    """Return what a request takes, None when it goes along a line."""
    if access.pattern == "tile":
        across = access.across or 8
        return _Patch(WARP // across, across, _LANES // across, _LANES % across)
    if access.pattern == "matrices":  # which count downwards first, as the fragments of a matrix product do
        matrices = MATRICES[access.op]
        across = access.across or max(1, matrices // 2)
        high = matrices // across
        matrix, row = np.divmod(_LANES, _MATRIX_ROWS)
        down = np.where(matrix < matrices, matrix % high * _MATRIX_ROWS + row, -1)
        return _Patch(high * _MATRIX_ROWS, across, down, matrix // high)
    return None


def _by_formula(access: Access, layout: Layout, vector: int) -> Integers:
    """Evaluate a formula for every step, warp and lane."""
    shape = (access.steps or 1, access.warps, WARP)
    step, warp, lane = np.indices(shape)
    values = formula(access.pattern).values({"lane": lane, "warp": warp, "step": step})
    sizes = layout.shape if len(values) >= len(layout.shape) else (prod(layout.shape),)
    if not len(sizes) <= len(values) <= len(sizes) + 1:
        words = {"n": len(values), "layout": layout.text, "axes": len(layout.shape)}
        raise InputError(f"{access.text}: " + english("gives {n} numbers; {layout} has {axes} dimensions", **words))
    on = lane < _MATRIX_ROWS * MATRICES.get(access.op, WARP)
    if len(values) > len(sizes):
        on &= values[-1] != 0
    element = np.zeros(shape, np.int64)
    for size, index in zip(sizes, values, strict=False):
        _check_inside(access, layout, on & ((index < 0) | (index >= size)), index)
        element = element * size + index
    last = values[len(sizes) - 1] + vector - 1
    _check_inside(access, layout, on & (last >= sizes[-1]), last)
    return np.where(on, element, -1)


def _check_inside(access: Access, layout: Layout, outside: NDArray[np.bool_], index: Integers) -> None:
    if outside.any():
        step, warp, lane = np.argwhere(outside)[0]
        words = {"lane": lane, "warp": warp, "step": step, "index": index[step, warp, lane], "layout": layout.text}
        what = english("lane {lane} of warp {warp} at step {step} asks for index {index}, outside of {layout}", **words)
        raise InputError(f"{access.text}: {what}")
