"""Accesses made up: who asks for what, and what that costs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemviz.errors import InputError
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.layout.accesses import PATTERNS, Access, access_of, elements, lanes, requests, totals
from smemviz.model.layout.layouts import Layout, layout_of
from smemviz.recordings.vocabulary import MATRICES

LANES = np.arange(32)


def costs(layout, access, hardware=H200):
    """Return wavefronts, excess and degree per request, the same in each."""
    found = totals(access_of(access), layout_of(layout), hardware)
    wavefronts, excess = found.wavefronts / found.requests, found.excess / found.requests
    assert wavefronts == int(wavefronts)
    return int(wavefronts), int(excess), found.max_degree


# -- known results


def test_what_is_known_of_an_access():
    for layout, access, found in [
        # A tile of floats needs a pad or an XOR to be read by columns.
        ("32x32", "row; op=store", (1, 0, 1)),
        ("32x32", "column", (32, 31, 32)),
        ("32x32; pad=1", "column", (1, 0, 1)),
        ("32x32; swizzle=column ^ row", "column", (1, 0, 1)),
        ("32x32; swizzle=xor", "row; op=store", (1, 0, 1)),
        # 264 bytes from lane to lane: lanes 0 and 16 share a bank, and are never served together since 5.0.
        ("32x33 float64", "column", (2, 0, 1)),
        ("64x64", "row; op=load; width=16", (4, 0, 1)),
        ("64x64", "row; op=store; width=16", (4, 0, 1)),
        ("32x32", "column; width=16", (32, 28, 8)),
        ("32x32; pad=4", "column; width=16", (4, 0, 1)),
        # Stored as rows of 32, read as columns of 16: document 004's IPAD = 2, in the gallery's rectangle.py.
        ("16x32 int32", "column", (16, 15, 16)),
        ("16x32 int32; pad=1", "column", (2, 1, 2)),
        ("16x32 int32; pad=2", "column", (1, 0, 1)),
        # 64 halves are 128 bytes: the 8 rows of a matrix start in the same bank.
        ("64x64 float16", "matrices; op=ldmatrix_x4", (32, 28, 8)),
        ("64x64 float16; pad=8", "matrices; op=ldmatrix_x4", (4, 0, 1)),
        ("64x64 float16; swizzle=Swizzle<3, 3, 3>", "matrices; op=ldmatrix_x4", (4, 0, 1)),
        ("64x64 float16", "matrices; op=ldmatrix_x1", (8, 7, 8)),
    ]:
        assert costs(layout, access) == found


def test_a_column_on_3_x():
    # The 4-byte mode serves all 32 lanes together, and then half-warps of doubles conflict.
    doubles = totals(access_of("column"), layout_of("32x33 float64"), Hardware((3, 5)))
    assert (doubles.excess > 0, doubles.max_degree) == (True, 2)
    # CUDA C programming guide, 3.x: 8-way with banks of 8 bytes and 16-way later, for a 32 x 16 tile.
    layout, access = layout_of("32x16 int32"), access_of("column")
    assert [totals(access, layout, one).max_degree for one in (Hardware((3, 5), 8), H200)] == [8, 16]


# -- who asks for what


def test_rows_columns_and_diagonals_cover_an_array_once():
    layout = Layout((6, 10))
    index = np.arange(60)
    row, column = np.divmod(index, 10)
    by_column = index.reshape(6, 10).T.ravel()
    diagonal = [r * 10 + (r + d) % 10 for d in range(10) for r in range(6)]
    for pattern, order in [("row", index), ("column", by_column), ("diagonal", diagonal)]:
        found = elements(Access(pattern), layout)
        assert found.shape == (2, 1, 32)
        assert found.ravel().tolist() == [*order, -1, -1, -1, -1], pattern
    assert row[-1], column[-1] == (5, 9)


def test_warps_share_the_requests_of_a_step():
    layout = Layout((32, 32))
    alone, together = elements(Access("column"), layout), elements(Access("column", warps=8), layout)
    assert alone.shape == (32, 1, 32)
    assert together.shape == (4, 8, 32)
    assert np.array_equal(alone.reshape(-1, 32), together.reshape(-1, 32))
    assert elements(Access("row", warps=4, steps=2), layout)[1, 2, 0] == 6 * 32


def test_a_tile_is_as_many_lanes_across_as_it_is_told_and_past_the_edge_lanes_are_off():
    found = elements(Access("tile", across=16), Layout((4, 64)))
    assert found.shape == (8, 1, 32)
    assert found[1, 0].tolist() == [*range(16, 32), *range(64 + 16, 64 + 32)]
    wide = elements(Access("tile", width=16, across=4), Layout((8, 32)))
    assert wide[1, 0, :5].tolist() == [16, 20, 24, 28, 32 + 16]
    found = elements(Access("tile", across=8), Layout((3, 10)))
    assert found.shape == (2, 1, 32)
    assert found[1, 0].reshape(4, 8)[:, 1:4].tolist() == [[9, -1, -1], [19, -1, -1], [29, -1, -1], [-1, -1, -1]]


def test_a_lane_has_a_row_of_a_matrix():
    for op, across, corners in [
        # Where row 0 of each matrix begins, in rows and columns of halves.
        ("ldmatrix_x1", 1, [(0, 0)]),
        ("ldmatrix_x2", 1, [(0, 0), (8, 0)]),
        ("ldmatrix_x2", 2, [(0, 0), (0, 8)]),
        ("ldmatrix_x4", 2, [(0, 0), (8, 0), (0, 8), (8, 8)]),
        ("stmatrix_x4", 4, [(0, 0), (0, 8), (0, 16), (0, 24)]),
        ("stmatrix_x4", 1, [(0, 0), (8, 0), (16, 0), (24, 0)]),
    ]:
        found = elements(Access("matrices", op, across=across), Layout((64, 64), "float16"))[0, 0]
        expected = [(row + r) * 64 + column for row, column in corners for r in range(8)]
        assert found.tolist() == expected + [-1] * (32 - len(expected))


def test_fragments_cover_an_array_once():
    for op in MATRICES:
        found = elements(Access("matrices", op), Layout((32, 64), "float16"))
        assert sorted(found[found >= 0].tolist()) == list(range(0, 32 * 64, 8))


def test_a_formula_gives_an_index_a_number_or_an_index_and_whether_the_lane_is_on():
    layout = Layout((8, 32))
    assert elements(access_of("lane // 4, lane % 4 * 2 + step; steps=2"), layout)[1, 0, 5] == 32 + 3
    assert elements(access_of("lane * 2"), layout)[0, 0].tolist() == (LANES * 2).tolist()
    assert elements(access_of("warp, lane, lane < 2; warps=3"), layout)[0, 2, :4].tolist() == [64, 65, -1, -1]
    assert elements(access_of("lane, lane > 30"), Layout((32,)))[0, 0, 29:].tolist() == [-1, -1, 31]
    assert elements(access_of("1, 2, lane"), Layout((2, 3, 32)))[0, 0, 7] == 5 * 32 + 7
    off_outside = elements(access_of("lane, 0, lane < 4"), Layout((4, 4)))
    assert off_outside[0, 0, :5].tolist() == [0, 4, 8, 12, -1]


def test_lanes_past_the_last_matrix_are_off_whatever_the_formula_says():
    layout = Layout((8, 8), "float16")
    found = elements(access_of("lane * 8; op=ldmatrix_x1"), layout)[0, 0]
    assert found.tolist() == [*range(0, 64, 8)] + [-1] * 24
    assert totals(access_of("lane * 8; op=ldmatrix_x1"), layout).bytes_asked == 128


def test_every_lane_knows_its_bank_and_wavefront():
    found = lanes(access_of("column; width=8"), layout_of("32x32; base=128"), step=1)
    assert (found.wavefronts, found.ideal, found.degree) == (32, 2, 16)
    assert found.row.tolist() == LANES.tolist()
    assert found.column.tolist() == [2] * 32
    assert found.address.tolist() == (128 + 8 + 128 * LANES).tolist()
    assert found.bank.tolist() == [[2, 3]] * 32
    assert sorted(found.wavefront[:, 0].tolist()) == list(range(32))


def test_a_lane_that_is_off_has_no_bank():
    found = lanes(access_of("lane, lane < 1"), layout_of("64"))
    assert found.bank[:, 0].tolist() == [0] + [-1] * 31
    assert (found.element[1], found.row[1], found.column[1], found.address[1]) == (-1, -1, -1, -1)


def test_bytes_wasted_are_what_the_wavefronts_could_have_moved_more():
    for access, layout, hardware, found in [
        ("column; steps=1", "32x32", H200, (32, 128, 31 * 128)),
        ("0", "32", H200, (1, 4, 124)),
        ("column; steps=1", "32x32", Hardware((3, 5), 8), (16, 128, 16 * 256 - 128)),  # two words of 4 bytes together
        ("row; width=16", "64x64", H200, (128, 64 * 64 * 4, 0)),
    ]:
        one = totals(access_of(access), layout_of(layout), hardware)
        assert (one.wavefronts, one.bytes_asked, one.bytes_wasted) == found


# -- text


def test_an_access_is_read_from_text():
    for text, access in [
        ("column", Access("column")),
        (" row ;op=store; width=16 ;warps=4", Access("row", "store", 16, 4)),
        ("tile; across=16; steps=3", Access("tile", steps=3, across=16)),
        ("matrices; op=stmatrix_x4; across=4", Access("matrices", "stmatrix_x4", across=4)),
        ("lane*2,(warp); warps=2", Access("lane * 2, warp", warps=2)),
    ]:
        assert access_of(text) == access
        assert access_of(access.text) == access


@given(
    st.sampled_from([*PATTERNS[:3], "lane", "lane, warp, step"]),
    st.sampled_from(["load", "store", "atomic_add"]),
    st.sampled_from([None, 4, 16]),
    st.integers(1, 32),
    st.none() | st.integers(1, 9),
)
def test_any_access_is_read_back_from_its_text(pattern, op, width, warps, steps):
    access = Access(pattern, op, width, warps, steps)
    assert access_of(access.text) == access


def test_what_is_no_access_to_the_array_is_refused_in_one_line():
    for text, says in [
        ("", "'' is not a formula"),
        ("columns", "columns is not known here; there are lane, warp, step"),
        ("column; op=read", "unknown operation 'read'; known: atomic_add"),
        ("column; width=3", "a lane cannot access 3 bytes"),
        ("column; warps=33", "a block has 1 to 32 warps, not 33"),
        ("column; warps=0", "a block has 1 to 32 warps, not 0"),
        ("column; steps=0", "steps is 0; 1 to 16384 can be counted"),
        ("column; steps=9999999", "steps is 9999999"),
        ("column; steps=33", "33 steps are too many, 32 requests cover 32x32 float32"),
        ("column; across=2", "across is 2; it has to divide 32, for tile and matrices"),
        ("tile; across=5", "across is 5; it has to divide 32"),
        ("tile; across=0", "across is 0; it has to divide 32"),
        ("column; op=ldmatrix_x4", "ldmatrix_x4 cannot be used with column"),
        ("matrices", "load cannot be used with matrices; matrices are for ldmatrix_x1"),
        ("column; width=2", "2 bytes are not a whole number of float32"),
        ("lane, warp, step, 1", "gives 4 numbers; 32x32 float32 has 2 dimensions"),
        ("lane, lane + 1", "lane 31 of warp 0 at step 0 asks for index 32, outside of 32x32 float32"),
        ("lane * 33; width=8", "lane 31 of warp 0 at step 0 asks for index 1024"),
        ("lane, 30; width=16", "lane 0 of warp 0 at step 0 asks for index 33, outside of"),
        ("-1", "lane 0 of warp 0 at step 0 asks for index -1"),
        ("column; op=atomic_add", "column; op=atomic_add of float32: A float atomic is a compare-and-swap loop"),
        ("lane // 0", "divides by zero"),
        ("row; size=3", "'size=3' is not an option; write each once, as name=value: op, width, warps, steps, across"),
    ]:
        with pytest.raises(InputError) as error:
            totals(access_of(text), layout_of("32x32"))
        assert says in str(error.value)
        assert "\n" not in str(error.value)


def test_what_a_lane_asks_for_has_to_stay_whole_and_aligned_and_a_step_to_be_there():
    for layout, access, says in [
        ("32x33", "row; width=16", "a row of 33 float32 is not a whole number of 16 bytes"),
        ("32x32; swizzle=xor", "row; width=16", "16 bytes of a lane do not stay together; swizzle larger pieces"),
        ("32x32; pad=1", "column; width=16", "not a multiple of 16"),
    ]:
        with pytest.raises(InputError, match=says):
            totals(access_of(access), layout_of(layout))
    assert requests(access_of("row; width=16"), layout_of("32x32; swizzle=xor 3 2")).shape == (8, 1, 32)
    with pytest.raises(InputError, match="has 32 steps of 1 warps, counted from 0"):
        lanes(access_of("column"), layout_of("32x32"), step=32)


@given(
    st.sampled_from(["row", "column", "diagonal", "tile", "tile; across=2", "tile; across=32"]),
    st.lists(st.integers(1, 20), min_size=1, max_size=3),
    st.sampled_from([4, 8, 16]),
    st.integers(1, 5),
)
def test_a_pattern_takes_every_piece_of_an_array_once(text, shape, width, warps):
    layout = Layout((*shape[:-1], shape[-1] * 4), "int32")
    access = access_of(f"{text}; width={width}; warps={warps}")
    found = elements(access, layout)
    assert found.shape[1:] == (warps, 32)
    assert sorted(found[found >= 0].tolist()) == list(range(0, int(np.prod(layout.shape)), width // 4))
