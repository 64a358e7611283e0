"""The page of swizzles: where tensor copies put a tile, and what accesses to it cost there."""

import numpy as np
import pytest

from smemviz.app.pages.layouts.lab_state import LabState
from smemviz.app.pages.layouts.lab_view import view_layouts
from smemviz.app.pages.layouts.swizzle_page import view_swizzles
from smemviz.engines.lockstep.ptx.tensor_maps import decoded, encoded
from smemviz.model.layout.operand_tiles import MODES
from smemviz.views.swizzle_modes import DTYPES, ROW_BYTES, ROWS, TileView, cost_rows, piece_text


@pytest.mark.parametrize("mode", MODES)
def test_a_tile_lies_where_tensor_copies_put_its_strips(mode):  # type: ignore[no-untyped-def]
    box = decoded(encoded(6, (64, ROWS), (ROW_BYTES,), (mode.strip // 2, ROWS), width=mode.width))
    assert box is not None
    for first in range(0, ROW_BYTES, mode.strip):
        row, byte = np.divmod(np.arange(ROWS * mode.strip // 2), mode.strip // 2)
        here = mode.address(row, first + 2 * byte, ROWS)
        assert here.tolist() == box.offsets(first // mode.strip * ROWS * mode.strip).tolist()


def test_what_accesses_cost_by_layout():
    """8 rows of a matrix are one wavefront but in rows of 128 bytes without a swizzle."""
    calm, rows = [(16, 16)] * 4, (128, 16)
    for dtype in DTYPES:
        costs = {key: cost for key, _, cost in cost_rows(TileView(dtype, "ldmatrix")) if key}
        assert costs["ldmatrix"] == costs["stmatrix"] == costs["column-16"] == [rows, *calm]
        assert costs["wgmma"] == [None, *calm]
        assert costs["row-16"] == [(16, 16), (128, 16), (64, 16), (32, 16), (16, 16)]
    assert [cost for key, _, cost in cost_rows(TileView("int8", "wgmma")) if not key] == [[None] * 5] * 2


def test_pieces_know_who_asks_for_them():
    view = TileView("float16", "ldmatrix", 1)
    for mode in MODES:
        pieces = view.pieces(mode)
        assert [piece.address for piece in pieces] == list(range(0, ROWS * ROW_BYTES, 16))
        asked = [piece for piece in pieces if piece.asked]
        assert {(piece.row, piece.number) for piece in asked} == {(row, n) for row in range(ROWS) for n in (2, 3)}
        assert all(piece.asked.conflict == (mode is MODES[0]) for piece in asked if piece.asked)
    last = TileView("float16", "ldmatrix").pieces(MODES[-1])[9]
    said = "row 1, columns 0 to 7: byte 144, banks 4 to 7, words 36 to 39; lane 1, wavefront 1"
    assert piece_text(view, last) == said
    assert not any(piece.asked for piece in TileView("float16", "wgmma").pieces(MODES[0]))


def test_what_a_query_does_not_name_rightly_gives_way():
    said = view_swizzles({"dtype": "no", "access": "no", "at": "99"})["swizzles-headline.children"]
    assert said == "ldmatrix x4: 16 wavefronts with a swizzle of 128 bytes, 128 without"
    assert view_swizzles({"access": "wgmma"})["swizzles-headline.children"] == "wgmma: 16 wavefronts with every swizzle"


def test_the_lab_counts_wgmma_only_where_a_descriptor_can_name_the_layout():
    wgmma = {"A-access": "matrices; op=wgmma"}
    for array, can in [
        ("64x64 float16", False),
        ("64x64 float16; pad=8", False),
        ("64x64 float16; swizzle=Swizzle<3, 3, 3>", True),
        ("64x32 float16; swizzle=Swizzle<2, 3, 3>", True),
        ("64x16 float16; swizzle=Swizzle<1, 3, 3>", True),
    ]:
        side = LabState.read({"A": array, **wgmma}).sides["A"]
        assert (side.setup is not None) is can, array
        assert can or "descriptor" in side.errors["pattern", 0]
        if side.setup:
            totals = side.setup.totals(0)
            assert totals.wavefronts == totals.ideal
    named = view_layouts({"A": "64x64 float16; swizzle=Swizzle<3, 3, 3>", **wgmma})
    assert named["lab-results.children"] == []
    assert "descriptor" in named["lab-results-note.children"]
