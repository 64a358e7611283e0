"""A launch in the layouts found for its arrays: where its elements go, and that its counts are as promised."""

import io
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from helpers.gallery import RECORDINGS, h200
from helpers.tiers import one_in
from PIL import Image

from smemviz.errors import InputError
from smemviz.frontends.reading import loaded_sites
from smemviz.model.counting.summary import totals_of
from smemviz.model.hardware.hardware import H200
from smemviz.model.playback import bank_layout, bank_service, request_view, worst_request
from smemviz.reports.animation import stage_animation
from smemviz.reports.html.playback import played_layouts
from smemviz.reports.pictures import scenes_of
from smemviz.views.stage import staged_layouts
from smemviz.wording.explanations import Explaining


def layouts_of(recording, launch):
    return staged_layouts(Explaining(launch, H200, loaded_sites(recording, launch)))


def transposed():
    recording = h200("square")
    return layouts_of(recording, recording["set_row_read_col"])


def test_the_transpose_is_padded_and_swizzled():
    layouts = transposed()
    assert [(one.name, one.wavefronts, one.excess) for one in layouts] == [
        ("written", 1056, 992),
        ("padded", 64, 0),
        ("swizzled", 64, 0),
    ]
    assert layouts[1].says == "Pad the row of tile by 1, (32, 32) -> (32, 33) (128 bytes more)"


def test_a_column_of_a_padded_tile_lies_on_the_diagonal():
    launch = h200("square")["set_row_read_col"]
    now, where, tile = worst_request(launch), bank_layout(launch), launch.shared_arrays[0]
    assert now.row is not None
    for layout in transposed()[1:]:
        grid = layout.cells(now, tile, where)
        moved = layout.moved(np.array([now.row]))
        served = bank_service(request_view(moved), where)
        # warp 0 loads the first column: lane i, whose element is in row i, goes to bank i
        assert served.wavefronts == 1
        assert served.bank.tolist() == list(range(32))
        cell = [np.argwhere(grid.address == address)[0].tolist() for address in served.address.tolist()]
        assert cell == [[i, i] for i in range(32)]
        assert [grid.name[row, column] for row, column in cell] == [f"tile[{i}, 0]" for i in range(32)]
        assert (grid.x_title, grid.step) == ("bank", 1)
    padded = transposed()[1].cells(now, tile, where)
    assert padded.address.shape == (33, 32)
    assert padded.name[1, 0] == "padding"
    assert not padded.touched[1, 0]
    assert (padded.address[32] < 0).tolist() == [False] * 31 + [True]  # the last pad is behind the last element


@pytest.mark.parametrize(
    "file", one_in(4, sorted(path.name.removesuffix(".smem.npz") for path in RECORDINGS.glob("*.smem.npz")))
)
def test_what_a_layout_promises_is_what_its_requests_take(file):
    recording = h200(file)
    seen = set()
    for launch in recording.launches:
        if (launch.kernel, launch.grid) in seen or len(launch.requests) > 20_000:
            continue
        seen.add((launch.kernel, launch.grid))
        for layout in layouts_of(recording, launch):
            moved = layout.moved(np.arange(len(launch.requests)))
            totals = totals_of(launch.sites, moved.requests, H200)
            wavefronts = int(totals.wavefronts[launch.in_shared].sum())
            assert (layout.wavefronts, layout.excess) == (
                wavefronts,
                wavefronts - int(totals.ideal[launch.in_shared].sum()),
            )


def test_arrays_behind_one_that_grows_move_by_rows_of_banks():
    recording = h200("square")
    launch = recording["set_row_read_col"]
    tile = launch.shared_arrays[0]
    behind = replace(tile, name="behind", address=tile.address + tile.nbytes)
    both = replace(launch, arrays=(*launch.arrays, behind))
    padded = layouts_of(recording, both)[1]
    number = both.arrays.index(behind)
    assert padded.addresses(number, np.array([0, 4])).tolist() == [behind.address + 128, behind.address + 132]
    ends = [(one.address, one.extent[1]) for one in both.shared_arrays]
    assert all(end <= start for (_, end), (start, _) in pairwise(ends))


def test_arrays_that_overlap_are_not_laid_out_anew():
    recording = h200("square")
    launch = recording["set_row_read_col"]
    view = replace(launch.shared_arrays[0], name="view")
    assert layouts_of(recording, replace(launch, arrays=(*launch.arrays, view))) == ()


def test_without_excess_there_is_no_other_layout():
    recording = h200("square")
    assert layouts_of(recording, recording["set_row_read_col_pad"]) == ()


def test_a_browser_gets_the_block_in_each_layout():
    launch = h200("square")["set_row_read_col"]
    now = worst_request(launch)
    written, padded, _swizzled = played_layouts(now, Explaining(launch))
    assert written == {"name": "written", "title": "As written", "says": "", "wavefronts": 1056, "excess": 992}
    shape = padded["shapes"][padded["shape"][now.position]]
    assert shape["wavefronts"] == 1
    assert shape["cost"] == "32 lanes, 1 wavefront"
    assert padded["arrays"][0]["columns"] == 32
    assert len(padded["shape"]) == len(padded["base"]) == 96


@pytest.mark.exhaustive
def test_lanes_fall_into_one_bin_and_lie_in_all_of_them_once_it_is_padded():
    recording = h200("square")
    now = worst_request(recording["set_row_read_col"]).spelled(recording)
    with Image.open(io.BytesIO(stage_animation(recording, now, H200))) as gif:
        assert gif.is_animated
        assert gif.info["loop"] == 0
        assert gif.size[0] == 736
        assert b"recorded on NVIDIA H200" in gif.info["comment"]
        assert gif.n_frames == 55  # still, 27 of the fall, still; for each of two layouts 12 of the slide, still
        for frame, high, low in ((0, set(), set()), (28, {0}, {0}), (41, set(), set(range(32)))):
            gif.seek(frame)
            assert (full(gif, 100), full(gif, 4)) == (high, low)
        below = []
        for frame in (0, 54):
            gif.seek(frame)
            below.append(gif.convert("RGB").crop((0, gif.height - 40, gif.width, gif.height)).tobytes())
        assert below[0] != below[1]  # it says what the layout that is shown costs


def full(gif, above):
    """Return the bins that something lies in, so many pixels above their bottom."""
    pixels = gif.convert("RGB")
    bottom = 78 + 380 + 48 + 112  # what is above the bins, and they
    idle = pixels.getpixel((44 + 31 * 676 // 32 + 8, bottom - 110))
    return {bank for bank in range(32) if pixels.getpixel((44 + bank * 676 // 32 + 8, bottom - above)) != idle}


def test_lanes_are_named_in_each_layout():
    recording = h200("square")
    now = worst_request(recording["set_row_read_col"]).spelled(recording)
    written, padded, _swizzled = scenes_of(recording, now, H200)
    assert written.lanes == {(i, 0): (f"L{i}", True) for i in range(32)}
    assert padded.lanes == {(i, i): (f"L{i}", False) for i in range(32)}


def test_a_launch_without_excess_has_no_animation():
    recording = h200("square")
    with pytest.raises(InputError, match=r"no figure stage: no layout was found .* set_row_read_col_pad; --kernel"):
        stage_animation(recording, worst_request(recording["set_row_read_col_pad"]), H200)
