"""Pads and swizzles that fix conflicts, found by moving the recorded addresses.

The reference are the gallery's own padded and swizzled kernels.
"""

from dataclasses import replace

import numpy as np
import pytest
from helpers.gallery import h200
from helpers.launches import array, launch, site
from hypothesis import assume, given
from hypothesis import strategies as st

import smemviz
from smemviz import paths as resources
from smemviz.errors import InputError
from smemviz.model.counting.service import count
from smemviz.model.layout.array_requests import ArrayRequests, recorded
from smemviz.model.layout.candidates import Pad, Swizzle, pads, swizzles
from smemviz.model.layout.search import Score, score, smallest_fix
from smemviz.recordings.data import ArrayInfo

LANES = np.arange(32, dtype=np.int64)


def fixes(one, array=""):
    """Return the pad and the swizzle for a shared array of a launch, its only one without a name."""
    (index,) = (i for i, info in enumerate(one.arrays) if info.space == "shared" and array in ("", info.name))
    info, found = one.arrays[index], recorded(one, index)
    return smallest_fix(info, found, pads(info, found)), smallest_fix(info, found, swizzles(info, found))


def test_the_smallest_fixes_of_the_gallery():
    for file, kernel, pad, more_bytes, swizzle in [
        ("square", "set_col_read_col", Pad(32, 1), 128, Swizzle(32, 5)),
        ("square", "set_row_read_col", Pad(32, 1), 128, Swizzle(32, 5)),
        ("square", "set_row_read_col_dyn", Pad(32, 1), 128, Swizzle(32, 5)),
        ("transpose", "tile", Pad(32, 1), 128, Swizzle(32, 5)),
        # IPAD = 2 is the fix that the gallery's rectangle.py has: two columns side by side need two elements.
        ("rectangle", "set_row_read_col", Pad(32, 2), 128, Swizzle(32, 4, 1)),
        ("rectangle", "set_row_read_col_dyn", Pad(32, 2), 128, Swizzle(32, 4, 1)),
        ("rectangle", "set_col_read_col", Pad(16, 1), 128, Swizzle(16, 4, 0, 1)),
        ("reduce", "neighbours_by_close_threads", Pad(32, 1), 32, Swizzle(32, 3)),
    ]:
        padded, swizzled = fixes(h200(file)[kernel])
        assert (padded.layout, padded.more_bytes) == (pad, more_bytes)
        assert (swizzled.layout, swizzled.more_bytes) == (swizzle, 0)
        for fix in (padded, swizzled):
            assert [after.excess for after in fix.after] == [0] * len(fix.after)


def test_a_pad_scores_what_the_padded_kernel_counts():
    for ipad in [0, 1, 2, 16, 31]:
        file = resources.kernels_dir() / "square.py"
        plain = smemviz.run(file, {"IPAD": 0}, "lockstep")["set_row_read_col_pad"]
        padded = smemviz.run(file, {"IPAD": ipad}, "lockstep")["set_row_read_col_pad"].summary()
        scores = [score(access, 4, Pad(32, ipad)) for access in recorded(plain, 0)]
        expected = [Score(r.wavefronts, r.excess, r.max_degree) for r in padded if r.wavefronts is not None]
        assert scores == expected


def test_a_swizzle_scores_what_the_swizzled_kernel_counts():
    scores = [score(access, 4, Swizzle(32, 5)) for access in recorded(h200("transpose")["tile"], 0)]
    rows = h200("transpose")["swizzled_tile"].summary()
    assert scores == [Score(r.wavefronts, r.excess, r.max_degree) for r in rows if r.wavefronts is not None]
    assert scores == [Score(192, 0, 1), Score(192, 0, 1)]


def test_every_access_to_the_array_counts():
    # By rows alone no pad is needed; a store by columns to the same tile asks for one.
    tile = array("tile", "shared", (32, 32), 1024, (128, 4))
    sites = (site("tile", "shared", "store"), site("tile", "shared", "load"), site("other", "shared", "load"))
    other = array("other", "shared", (32,), 8192)
    rows = [(0, 1024 + 128 * LANES), (1, 1024 + 4 * LANES), (2, 8192 + 4 * LANES)]
    padded, _ = fixes(launch(sites, rows, (tile, other)), "tile")
    assert padded.layout == Pad(32, 1)
    assert padded.before == (Score(32, 31, 32), Score(1, 0, 1))
    assert padded.after == (Score(1, 0, 1), Score(1, 0, 1))
    assert padded.saved == 31


def test_alike_requests_are_counted_as_often_as_they_were_made():
    tile = array("tile", "shared", (32, 32), 1024, (128, 4))
    rows = [(0, 1024 + 128 * LANES)] * 5 + [(0, 1024 + 4 * LANES)] * 2
    (access,) = recorded(launch((site("tile", "shared", "load"),), rows, (tile,)), 0)
    assert sorted(access.times.tolist()) == [2, 5]
    assert score(access, 4) == Score(162, 155, 32)


def test_a_pad_for_sixteen_bytes_is_four_words():
    # Four floats a lane down a column of a 32 x 32 tile of floats: 4 words keep them aligned and 8 lanes apart.
    tile = ArrayInfo("tile", "shared", (32, 32), (128, 4), "float32", 1024, 1)
    access = ArrayRequests(0, "load", 16, (128 * LANES)[None], np.array([1]))
    padded, swizzled = (smallest_fix(tile, [access], one(tile, [access])) for one in (pads, swizzles))
    assert (padded.layout, swizzled.layout) == (Pad(32, 4), Swizzle(32, 3, 2))
    assert (padded.before, padded.after) == ((Score(32, 28, 8),), (Score(4, 0, 1),))
    with pytest.raises(InputError, match="not a multiple of 16"):
        score(access, 4, Pad(32, 1))


def test_updates_of_one_element_cannot_be_laid_out_apart_and_those_that_cannot_be_counted_are_left_out():
    counts = array("counts", "shared", (256,), 1024)
    one, floats = (site("counts", "shared", "atomic_add", dtype=dtype) for dtype in ("int32", "float32"))
    assert fixes(launch((one,), [(0, np.full(32, 1024))], (counts,))) == (None, None)
    assert recorded(launch((floats,), [(0, 1024 + 4 * LANES)], (counts,)), 0) == ()


def test_a_layout_that_only_helps_is_better_than_none():
    counts = array("counts", "shared", (64,), 1024)
    twice = 1024 + 4 * np.where(LANES < 2, 0, 32)  # two lanes on one element, thirty on another in the same bank
    padded, _ = fixes(launch((site("counts", "shared", "atomic_add"),), [(0, twice)], (counts,)))
    assert padded.layout == Pad(32, 1)
    assert (padded.before, padded.after) == ((Score(32, 31, 32),), (Score(30, 29, 30),))


def test_a_swizzle_of_a_power_of_two_is_the_one_of_cute():
    # CuTe: Swizzle<B, M, S>(x) = x ^ ((x & (2^B - 1) << (M + S)) >> S)
    element = np.arange(4096)
    for bits, base, shift in [(5, 0, 0), (3, 2, 0), (2, 1, 2)]:
        s = 5 + shift - base
        cute = element ^ ((element & (((1 << bits) - 1) << (base + s))) >> s)
        assert np.array_equal(Swizzle(32, bits, base, shift).place(element), cute)


def test_no_two_elements_share_a_place():
    for layout in [Pad(24, 3), Swizzle(48, 4), Swizzle(96, 3, 2, 1)]:
        placed = layout.place(np.arange(960))
        assert len(np.unique(placed)) == 960
        assert placed.max() < 960 + layout.more_elements(960)


@st.composite
def accesses_by_index(draw):
    """Draw rows and columns that the lanes of some requests ask for, and the tile's height, width and item size."""
    height, width = draw(st.integers(1, 40)), draw(st.sampled_from([8, 16, 24, 32, 33, 48, 64]))
    random = np.random.default_rng(draw(st.integers(0, 9999)))
    size = (draw(st.integers(1, 5)), 32)
    return (
        random.integers(0, height, size),
        random.integers(0, width, size),
        height,
        width,
        draw(st.sampled_from([4, 8])),
    )


def counted(elements, itemsize, op="load"):
    counts = count(elements * itemsize, itemsize, op)
    excess = int((counts.wavefronts - counts.ideal).sum())
    return Score(int(counts.wavefronts.sum()), excess, int(counts.degree.max()))


@given(drawn=accesses_by_index(), pad=st.integers(1, 31), op=st.sampled_from(["load", "store"]))
def test_a_pad_scores_what_the_wider_array_counts(drawn, pad, op):
    r, c, _, width, itemsize = drawn
    access = ArrayRequests(0, op, itemsize, (r * width + c) * itemsize, np.ones(len(r), np.int64))
    assert score(access, itemsize, Pad(width, pad)) == counted(r * (width + pad) + c, itemsize, op)


@given(drawn=accesses_by_index(), bits=st.integers(1, 3), base=st.integers(0, 2), shift=st.integers(0, 2))
def test_a_swizzle_scores_what_the_other_index_counts(drawn, bits, base, shift):
    r, c, _, width, itemsize = drawn
    assume(width % (1 << bits + base) == 0)
    access = ArrayRequests(0, "load", itemsize, (r * width + c) * itemsize, np.ones(len(r), np.int64))
    column = c ^ (((r >> shift) % (1 << bits)) << base)
    assert column.max() < width
    assert score(access, itemsize, Swizzle(width, bits, base, shift)) == counted(r * width + column, itemsize)


@given(drawn=accesses_by_index())
def test_no_smaller_pad_would_do(drawn):
    r, c, height, width, itemsize = drawn
    tile = ArrayInfo("tile", "shared", (height, width), (width * itemsize, itemsize), "int32", 1024, 1)
    tile = replace(tile, dtype="int32" if itemsize == 4 else "float64")
    access = ArrayRequests(0, "load", itemsize, (r * width + c) * itemsize, np.ones(len(r), np.int64))
    fix = smallest_fix(tile, [access], pads(tile, [access]))
    scores = [score(access, itemsize, Pad(width, pad)) for pad in range(1, 128 // itemsize)]
    best = min(scores, key=lambda one: one.wavefronts)
    if fix is None:
        assert best.wavefronts >= score(access, itemsize).wavefronts
    else:
        (after,) = fix.after
        first = next(i for i, one in enumerate(scores, 1) if one.wavefronts == best.wavefronts)
        assert (fix.layout.pad, after) == (first, best)


def test_an_array_is_one_under_every_name_that_a_device_function_gives_it(tmp_path):
    file = tmp_path / "named.py"
    file.write_text(
        """
import numpy as np
from numba import cuda, int32


@cuda.jit(device=True)
def put(target, row, column, value):
    target[row, column] = value


@cuda.jit
def transpose(out):
    tile = cuda.shared.array((32, 32), int32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    put(tile, y, x, x)
    cuda.syncthreads()
    out[y * 32 + x] = tile[x, y]


def main():
    transpose[1, (32, 32)](np.zeros(1024, np.int32))
""",
        encoding="utf-8",
    )
    one = smemviz.run(file, engine="lockstep")["transpose"]
    assert [one.sites[access.site].source for access in recorded(one, 0)] == ["target[row, column]", "tile[x, y]"]
    padded, swizzled = fixes(one)
    assert (padded.layout, swizzled.layout) == (Pad(32, 1), Swizzle(32, 5))
