"""A tile in each layout that tensor copies make: what accesses to it cost there, and where its pieces lie."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smemviz.i18n import N_, _
from smemviz.model.counting.service import count
from smemviz.model.hardware.hardware import H200
from smemviz.model.hardware.operations import unpredictable
from smemviz.model.layout.accesses import NO_DESCRIPTOR, Access, elements
from smemviz.model.layout.layouts import Layout
from smemviz.model.layout.operand_tiles import MODES, PIECE, Mode, has_descriptor
from smemviz.model.playback import BankLayout, serve_lanes
from smemviz.recordings.vocabulary import BULK
from smemviz.views.layout_lab import access_text
from smemviz.wording.labels import count as counted
from smemviz.wording.labels import lane_ranges, operation_name, sentences

ROWS, ROW_BYTES = 16, 128  # what a warp reads of an operand of ``wgmma``, and a row of all banks
PIECES = ROW_BYTES // PIECE
DTYPES = ("float16", "float32", "int8")
ACCESSES = {
    "ldmatrix": Access("matrices", "ldmatrix_x4"),
    "wgmma": Access("matrices", "wgmma"),
    "row-16": Access("row", width=16),
    "column-16": Access("column", width=16),
    "column": Access("column"),
    "stmatrix": Access("matrices", "stmatrix_x4"),
}
_WHERE = BankLayout(H200.banks, H200.bank_bytes, 0)
_NAMES = (N_("Rows"), N_("Matrices"), "32B", "64B", "128B")
_HOW = (
    N_("SWIZZLE_NONE, box rows of 128 bytes: one copy."),
    N_("SWIZZLE_NONE, box rows of 16 bytes: a copy for each column of matrices. wgmma calls this no swizzle."),
    N_("SWIZZLE_32B, box rows of 32 bytes: four copies. 1 bit of the address is changed."),
    N_("SWIZZLE_64B, box rows of 64 bytes: two copies. 2 bits of the address are changed."),
    N_("SWIZZLE_128B, box rows of 128 bytes: one copy. 3 bits of the address are changed."),
)


class Asked(NamedTuple):
    """What a request wants of a piece: by which lanes, in which wavefronts, and whether one waits for another piece."""

    lanes: str
    wavefronts: str
    conflict: bool


class Piece(NamedTuple):
    """16 bytes of a row of the tile: ``number`` counts them along the row."""

    row: int
    number: int
    address: int
    asked: Asked | None


@dataclass(frozen=True)
class TileView:
    """A tile of 16 rows of 128 bytes of a dtype, and the access to it that is looked at; ``request`` counts from 0."""

    dtype: str
    access: str
    request: int = 0

    @property
    def layout(self) -> Layout:
        """The tile as it is indexed."""
        return Layout((ROWS, ROW_BYTES // np.dtype(self.dtype).itemsize), self.dtype)

    def requests(self, mode: Mode, access: Access) -> NDArray[np.int64]:
        """Return the addresses of all requests, (n, 32)."""
        layout = self.layout
        element = elements(access, layout).reshape(-1, 32)
        row, column = np.divmod(element, layout.columns)
        return np.where(element < 0, -1, mode.address(row, column * layout.itemsize, ROWS))

    @property
    def count(self) -> int:
        """How many requests the access makes."""
        return len(self.requests(MODES[0], ACCESSES[self.access]))

    def cost(self, mode: Mode, access: Access) -> tuple[int, int] | None:
        """Return the wavefronts of all requests, and those that would do; None where there can be no such access."""
        addresses = self.requests(mode, access)
        if access.op == "wgmma" and not has_descriptor(addresses):
            return None
        counts = count(addresses, access.bytes_per_lane(self.layout), access.op)
        return int(counts.wavefronts.sum()), int(counts.ideal.sum())

    def pieces(self, mode: Mode) -> list[Piece]:
        """Return the pieces in the order of their addresses, a row of banks after the other."""
        access = ACCESSES[self.access]
        asked: dict[int, Asked] = {}
        if self.cost(mode, access) is not None:
            addresses = self.requests(mode, access)[min(self.request, self.count - 1)]
            served = serve_lanes(addresses, access.bytes_per_lane(self.layout), access.op, _WHERE)
            for start in np.unique(served.address // PIECE).tolist():
                here = served.address // PIECE == start
                lanes, waves = (sorted({*values[here].tolist()}) for values in (served.lane, served.wavefront + 1))
                asked[start] = Asked(lane_ranges(lanes), lane_ranges(waves), bool(served.conflict[here].any()))
        row, number = (index.ravel() for index in np.indices((ROWS, PIECES)))
        address = mode.address(row, number * PIECE, ROWS)
        order = np.argsort(address)
        places = np.stack([row, number, address], axis=1)[order].tolist()
        return [Piece(row, number, address, asked.get(address // PIECE)) for row, number, address in places]


Cost = tuple[int, int]  # wavefronts, and those that would do
CostRow = tuple[str, str, list[Cost | None]]


def mode_names() -> list[str]:
    """Name the ways to store a tile, in the order of ``MODES``."""
    return [_(name) if name.isalpha() else name for name in _NAMES]


def mode_texts() -> list[str]:
    """Say how tensor copies make each of them."""
    return [_(text) for text in _HOW]


def cost_rows(view: TileView) -> list[CostRow]:
    """Return of every access its key, its name and its cost in each mode; bulk copies, with no key, have none."""
    rows: list[CostRow] = [
        (key, access_text(access), [view.cost(mode, access) for mode in MODES]) for key, access in ACCESSES.items()
    ]
    return rows + [(("", operation_name(op), [None] * len(MODES))) for op in sorted(BULK)]


def uncounted_text() -> str:
    """Say why some cells of ``cost_rows`` hold no number."""
    return sentences(_(NO_DESCRIPTOR), _(unpredictable("bulk_load", "uint8") or ""))


def modes_headline(view: TileView) -> str:
    """Say what the access costs in rows, and with the widest swizzle."""
    access = ACCESSES[view.access]
    costs = [view.cost(mode, access) for mode in MODES]
    first, last = costs[0], costs[-1]
    values = {"access": access_text(access), "wavefronts": counted(last[0] if last else 0, "wavefront")}
    if first is None:
        return _("{access}: {wavefronts} with every swizzle", **values)
    return _("{access}: {wavefronts} with a swizzle of 128 bytes, {plain:,} without", plain=first[0], **values)


def piece_text(view: TileView, piece: Piece) -> str:
    """Say where a piece is in the tile and in memory, and who asks for it."""
    layout = view.layout
    wide = PIECE // layout.itemsize
    bank = piece.address // H200.bank_bytes % H200.banks
    where = _(
        "row {row}, columns {first} to {last}: byte {address:,}, banks {bank} to {end}, words {word} to {after}",
        row=piece.row,
        first=piece.number * wide,
        last=(piece.number + 1) * wide - 1,
        address=piece.address,
        bank=bank,
        end=bank + PIECE // H200.bank_bytes - 1,
        word=piece.address // H200.bank_bytes,
        after=(piece.address + PIECE) // H200.bank_bytes - 1,
    )
    if piece.asked is None:
        return where
    who = _(
        "{where}; lane {lanes}, wavefront {waves}", where=where, lanes=piece.asked.lanes, waves=piece.asked.wavefronts
    )
    return _("{who}, in conflict", who=who) if piece.asked.conflict else who
