"""The search for a layout: what it finds for known tiles, and that what it promises is what is counted."""

import time
from itertools import pairwise

import numpy as np
import pytest
from helpers.gallery import h200
from hypothesis import given
from hypothesis import strategies as st

from smemviz.errors import InputError
from smemviz.model.counting.service import count
from smemviz.model.hardware.compute_capability import blocks_per_multiprocessor
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.layout.accesses import access_of, totals
from smemviz.model.layout.array_requests import ArrayRequests, array_requests, recorded
from smemviz.model.layout.code import code
from smemviz.model.layout.layouts import Layout, layout_of
from smemviz.model.layout.search import Score, score, search, suggest
from smemviz.model.layout.swizzles import Cute, Xor


def found_for(layout, *accesses, **options):
    """Search for accesses written as text."""
    tile = layout_of(layout)
    return search(tile, [array_requests(access_of(text), tile) for text in accesses], **options)  # type: ignore[arg-type]


def first(found, kind):
    """Return the cheapest of a kind, None for pads."""
    return next(
        one
        for one in found
        if (isinstance(one.layout.swizzle, kind) if kind else one.layout.pad and one.layout.swizzle is None)
    )


def test_the_cheapest_pad_and_xor_of_known_tiles():
    for layout, accesses, pad, xor in [
        ("32x32", ("row; op=store", "column"), 1, Xor(5)),
        ("64x64", ("row; op=store", "column"), 1, Xor(5)),
        # A pad of a word would misalign 16 bytes.
        ("32x32", ("row; op=store; width=16", "column; width=16"), 4, Xor(3, 2)),
        # Document 004's IPAD = 2.
        ("16x32 int32", ("row; op=store", "column"), 2, Xor(4, 1)),
        ("64x64 float16", ("row; op=store; width=16", "matrices; op=ldmatrix_x4"), 8, Xor(3, 3)),
        ("16x16 float64", ("row; op=store", "column"), 1, Xor(4)),
    ]:
        found = found_for(layout, *accesses)
        padded, swizzled = first(found, None), first(found, Xor)
        assert (padded.layout.pad, padded.excess) == (pad, 0)
        assert (swizzled.layout.swizzle, swizzled.excess) == (xor, 0)
        # The swizzle costs no bytes, so it is the cheaper one.
        assert found[0] == swizzled
        assert padded.price[:2] == (
            swizzled.price[0],
            swizzled.price[1] + layout_of(layout).rows * pad * padded.layout.itemsize,
        )


def test_what_needs_no_pad_is_left_alone_and_pads_go_as_far_as_they_may():
    best = found_for("32x33 float64", "row; op=store", "column")[0]
    assert (best.layout, best.price) == (Layout((32, 33), "float64"), (132, 0, 0))
    assert found_for("32x32", "row")[0].layout == Layout((32, 32))
    for options, most in [({"most_pad": 3}, 3), ({}, 31)]:
        pads = [one.layout.pad for one in found_for("32x32", "column", **options) if one.layout.swizzle is None]
        assert sorted(pads) == list(range(most + 1))
    accesses = ("row; op=store", "column")  # the pad and swizzle there are do not limit the search
    assert found_for("32x32; pad=3; swizzle=xor 2", *accesses) == found_for("32x32", *accesses)
    found = found_for("48x48", *accesses)
    assert first(found, None).layout.pad == 1
    swizzles = [one.layout.swizzle for one in found if isinstance(one.layout.swizzle, Xor)]
    assert all(48 % (1 << one.bits + one.base) == 0 for one in swizzles)


def test_swizzle_of_cute_goes_where_no_row_is_a_power_of_two():
    found = found_for("16x68", "row; op=store", "tile; across=2; width=16")
    assert isinstance(first(found, Cute).layout.swizzle, Cute)
    assert not [one for one in found if isinstance(one.layout.swizzle, Xor) and one.layout.swizzle.base > 2]


def test_suggestions_come_by_wavefronts_then_bytes_then_instructions():
    found = found_for("64x64", "row; op=store", "column", "diagonal")
    assert all(one.price <= other.price for one, other in pairwise(found))
    assert len({one.layout for one in found}) == len(found)
    assert sum(one.layout == Layout((64, 64)) for one in found) == 1


def test_an_array_of_one_dimension_has_the_rows_one_names():
    found = [found_for(f"256; pitch={pitch}", "lane * 8; op=store", "lane") for pitch in (8, 32)]
    assert [{one.layout.columns for one in of_pitch} for of_pitch in found] == [{8}, {32}]
    assert min(of_pitch[0].excess for of_pitch in found) == 0


def test_other_hardware_wants_another_pad():
    # 3.x with banks of 8 bytes serves two neighbouring floats together; CUDA C programming guide, 3.x.
    plain = layout_of("32x32")
    wanted = [array_requests(access_of("column"), plain)]
    assert suggest(plain, wanted).wavefronts == 32 * 32
    assert suggest(plain, wanted, Hardware((3, 5), 8)).wavefronts == 32 * 16
    assert first(search(plain, wanted, Hardware((3, 5), 8)), None).excess == 0


def test_a_suggestion_says_what_to_write_and_what_it_takes():
    found = found_for("64x64", "row; op=store", "column")
    padded = first(found, None)
    assert code(padded.layout, "held", ["ty", "tx"]) == (
        "held = cuda.shared.array((64, 65), float32)",
        "held[ty, tx] = value",
        "value = held[ty, tx]",
    )
    assert (padded.layout.nbytes, padded.operations) == (64 * 65 * 4, 0)
    nbytes = padded.layout.nbytes
    assert [blocks_per_multiprocessor(nbytes, (9, 0), threads) for threads in (None, 1024)] == [13, 2]
    assert blocks_per_multiprocessor(nbytes + 16 * 1024, (8, 6)) == 3
    assert blocks_per_multiprocessor(nbytes, (7, 0)) == 5


def test_a_search_without_accesses_or_for_what_is_not_aligned_is_refused():
    with pytest.raises(InputError, match="not a multiple of 16"):
        found_for("32x32; base=4", "row; width=16")
    with pytest.raises(InputError, match="name at least one"):
        search(layout_of("32x32"), [])


def test_four_accesses_to_a_tile_of_64_take_less_than_a_second_of_the_processor():
    accesses = ("row; op=store", "column", "diagonal", "tile")
    found_for("8x8", "row")  # compiles
    start = time.process_time()
    found = found_for("64x64", *accesses)
    assert time.process_time() - start < 1
    assert len(found) > 150


@pytest.mark.exhaustive
def test_the_largest_array_of_bytes_is_searched():
    found = found_for("227x1024 int8", "row; steps=4", "column; steps=4")
    assert found[0].excess == 0
    assert max(one.layout.nbytes for one in found) <= 227 * 1024


@st.composite
def tiles(draw):
    """Draw an array and one to three accesses to it that it aligns: any lanes, some off, some requests repeated."""
    itemsize = draw(st.sampled_from([2, 4, 8]))
    dtype = {2: "int16", 4: "int32", 8: "int64"}[itemsize]
    columns = draw(st.sampled_from([8, 16, 24, 32, 48, 64]))
    rows = draw(st.integers(1, 40))
    shape = draw(st.sampled_from([(rows, columns), (rows * columns,), (2, rows, columns)]))
    layout = Layout(shape, dtype, base=draw(st.sampled_from([0, 16, 1024])))
    random = np.random.default_rng(draw(st.integers(0, 9999)))
    wanted = []
    for _ in range(draw(st.integers(1, 3))):
        op, width = draw(st.sampled_from([("load", itemsize), ("store", itemsize), ("load", 16), ("store", 8)]))
        piece = width // itemsize
        pieces = int(np.prod(shape)) // piece
        n = draw(st.integers(1, 3))
        element = random.integers(0, pieces, (n, 32)) * piece
        element[random.random((n, 32)) < 0.2] = -1
        wanted.append(
            ArrayRequests(-1, op, width, np.where(element < 0, -1, element * itemsize), random.integers(1, 5, n))
        )
    return layout, wanted


@pytest.mark.exhaustive
@given(tiles())
def test_every_suggestion_scored_again_gives_what_it_promised_and_none_costs_more_than_the_plain_array(drawn):
    layout, wanted = drawn
    found = search(layout, wanted)
    assert all(suggestion == suggest(suggestion.layout, wanted) for suggestion in found)
    assert found[0].wavefronts == min(one.wavefronts for one in found) <= suggest(layout.plain, wanted).wavefronts


@given(tiles())
def test_what_is_promised_is_what_the_index_that_is_written_costs(drawn):
    layout, wanted = drawn
    names = {1: ("i",), 2: ("row", "column"), 3: ("plane", "row", "column")}[len(layout.shape)]
    found = search(layout, wanted)
    for suggestion in (*found[:3], *found[-3:]):
        written = code(suggestion.layout)
        text = written.load.removeprefix("value = tile[").removesuffix("]")
        shape = eval(written.declaration.removeprefix("tile = cuda.shared.array(").rpartition(",")[0])
        assert np.prod(shape) * layout.itemsize == suggestion.layout.nbytes
        for one, promised in zip(wanted, suggestion.after, strict=True):
            elements = one.offsets // layout.itemsize  # -1 where a lane is off
            index = np.unravel_index(np.maximum(elements, 0), layout.shape)
            given_names = dict(zip(names, index, strict=True))
            place = np.ravel_multi_index(eval(f"({text},)", {}, given_names), np.atleast_1d(shape))
            address = np.where(elements < 0, -1, layout.base + place * layout.itemsize)
            counts = count(address, one.width, one.op)
            wavefronts = int(counts.wavefronts @ one.times)
            assert promised == Score(wavefronts, wavefronts - int(counts.ideal @ one.times), counts.degree.max())


def test_scores_are_the_totals_of_the_access():
    layout, access = layout_of("64x64; pad=1"), access_of("tile; across=4; op=store")
    whole = totals(access, layout)
    counted = score(array_requests(access, layout), layout.itemsize, layout)
    assert counted == Score(whole.wavefronts, whole.excess, whole.max_degree)


# -- on a recording


def test_recorded_requests_cost_in_their_own_layout_what_was_counted():
    for file in ["square", "rectangle", "transpose", "reduce"]:
        for launch in h200(file).launches:
            for index, info in enumerate(launch.arrays):
                if info.space != "shared":
                    continue
                accesses = recorded(launch, index)
                now = suggest(Layout(info.shape, info.dtype), accesses)
                assert list(now.after) == [score(one, info.itemsize) for one in accesses]
                rows = launch.summary()
                assert [one.wavefronts for one in now.after] == [rows[one.site].wavefronts for one in accesses]


def test_the_gallery_is_fixed_as_the_gallery_does_it():
    for file, kernel, pad, index in [
        ("transpose", "tile", 1, "row, column ^ row"),
        ("square", "set_row_read_col_dyn", 1, "i ^ (i >> 5)"),
        ("rectangle", "set_row_read_col", 2, "row, column ^ (row << 1)"),
    ]:
        launch = h200(file)[kernel]
        (at,) = (i for i, info in enumerate(launch.arrays) if info.space == "shared")
        found = search(Layout(launch.arrays[at].shape, launch.arrays[at].dtype), recorded(launch, at))
        assert (code(found[0].layout).load, found[0].excess) == (f"value = tile[{index}]", 0)
        padded = first(found, None)
        assert (padded.layout.pad, padded.excess) == (pad, 0)


def test_bytes_inside_of_elements_are_kept():
    offsets = np.where(np.arange(32) < 4, np.arange(32) * 32 + 2, -1)[None]
    inside = ArrayRequests(0, "load", 2, offsets, np.ones(1, np.int64))
    assert score(inside, 4, Layout((4, 8), "int32")) == Score(1, 0, 1)
    (padded,) = (one for one in search(Layout((4, 8), "int32"), [inside], most_pad=24) if one.layout.pad == 24)
    assert padded.after == (Score(4, 3, 4),)
