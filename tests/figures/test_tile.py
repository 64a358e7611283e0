"""The tile and the banks of one request."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.gallery import h200
from helpers.reading import bold, cells, framed, written
from helpers.synthetic import SHARED, requests, square_launch, square_recording

from smemviz.figures.banks import banks, draw_banks
from smemviz.figures.drawing.style import THEMES
from smemviz.figures.tile import tile
from smemviz.model.counting.service import count
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.playback import (
    BankLayout,
    bank_layout,
    bank_service,
    request_view,
    serve_lanes,
    worst_request,
)

RECORDING = square_recording()


def test_a_32_way_conflict_takes_32_rows_of_one_bank_each_with_its_lane_and_word():
    figure = banks(request_view(RECORDING["set_row_read_col"], warp=3, step=1))
    lanes = {(x, round(y - 0.2)): text for (x, y), text in written(figure).items() if y % 1 < 0.5}
    words = {(x, round(y + 0.22)): text for (x, y), text in written(figure).items() if y % 1 > 0.5}
    assert tuple(figure.layout.yaxis.range) == (0.5, 32.5)  # the first is at the bottom
    assert lanes == {(3, lane + 1): f"L{lane}" for lane in range(32)}
    assert words == {(3, lane + 1): str(32 * lane + 3) for lane in range(32)}
    assert {f"L{lane}" for lane in range(32)} <= bold(figure)
    z = cells(figure).z
    assert z.shape == (32, 32)
    assert (z[:, 3] == 3).all()
    assert (z == 32).sum() == 32 * 31  # all other banks idle


def test_a_padded_column_takes_one_wavefront_with_every_bank_busy():
    figure = banks(request_view(RECORDING["set_row_read_col_pad"], warp=3, step=1))
    lanes = {x: text for (x, y), text in written(figure).items() if y > 1}
    assert lanes == {(33 * lane + 3) % 32: f"L{lane}" for lane in range(32)}
    assert bold(figure) == set()
    assert cells(figure).z.tolist() == [list(range(32))]


def test_a_broadcast_whose_lanes_do_not_fit_their_cell_names_them_to_who_points_at_it():
    launch = square_launch("set_row_read_col", (32, 32), lambda x, y: y * 32 + x, lambda x, y: 0 * x + y)
    figure = banks(request_view(launch, warp=7, step=1))
    assert {text for (x, y), text in written(figure).items() if y > 1} == set()
    assert cells(figure).hovertext[0, 7] == "<b>bank 7, wavefront 1</b><br>lanes 0-31<br>word 7"
    assert cells(figure).hovertext[0, 8] == "<b>bank 8, wavefront 1</b><br>idle"


def test_a_request_to_global_memory_has_no_banks_and_an_atomic_that_loops_says_why_it_has_no_wavefronts():
    launch = RECORDING["set_row_read_col"]
    assert "global memory" in banks(request_view(launch, warp=0, step=2)).layout.annotations[0].text
    site = replace(launch.sites[1], op="atomic_add", dtype="float32")
    figure = banks(request_view(replace(launch, sites=(launch.sites[0], site, launch.sites[2])), warp=0, step=1))
    assert figure.layout.annotations[0].text.startswith("A float atomic is a compare-and-swap loop")


def test_lanes_that_share_a_word_are_named_in_the_cell_and_never_beside_it():
    # tile[lane // 4, 0] in rows of 8 words: 8 words in 4 banks, with 7 idle banks between them.
    launch = square_launch("set_row_read_col", (32, 8), lambda x, y: y * 32 + x, lambda x, y: x // 4 * 8)
    where = bank_layout(launch)
    figure = draw_banks(bank_service(request_view(launch, warp=0, step=1), where), 32, THEMES["light"], says="")
    lanes = {text for text in written(figure).values() if text.startswith("L")}
    assert lanes == set()  # "L28-31" takes more than a cell; the banks beside it are idle
    assert {text for text in cells(figure).hovertext[0] if "lanes" in text} != set()
    texts = [trace for trace in figure.data if trace.type == "scatter"]
    assert [trace.cliponaxis for trace in texts] == [False] * len(texts)  # those at the edge stay whole


def test_what_lies_before_the_first_array_is_served_as_well():
    """An index out of bounds on a GPU; the array starts at byte 1024, and lane i goes to byte 8 i."""
    for hardware in [Hardware(), Hardware((3, 5)), Hardware((3, 5), 8)]:
        addresses = np.arange(32, dtype=np.int64) * 8
        served = serve_lanes(addresses, 4, "load", BankLayout(32, hardware.bank_bytes, 1024), hardware)
        assert served.wavefronts == count(addresses, 4, "load", hardware).wavefronts


PLAIN, CONFLICT = "lane of this request", "lane in conflict"


def load(kernel, warp):
    return request_view(RECORDING[kernel], warp=warp, step=1)


def test_a_column_read_writes_its_32_lanes_down_one_column_and_marks_them_all():
    figure = tile(load("set_row_read_col", 3), "tile")
    assert written(figure) == {(3, lane): f"L{lane}" for lane in range(32)}
    assert bold(figure) == {f"L{lane}" for lane in range(32)}
    assert framed(figure, CONFLICT) == {(3, lane) for lane in range(32)}
    assert framed(figure, PLAIN) == set()


def test_a_row_read_marks_no_lane():
    figure = tile(load("set_row_read_row", 3), "tile")
    assert written(figure) == {(lane, 3): f"L{lane}" for lane in range(32)}
    assert bold(figure) == set()
    assert framed(figure, CONFLICT) == set()
    assert framed(figure, PLAIN) == {(lane, 3) for lane in range(32)}


def test_padding_frees_the_column_and_is_grey():
    figure = tile(load("set_row_read_col_pad", 3), "tile")
    assert framed(figure, CONFLICT) == set()
    z = cells(figure).z
    assert z.shape == (32, 33)
    assert (z[:, 32] == 64).all()  # grey is the last of 2 * 32 + 1 colours
    assert (z[:, :32] < 32).all()  # everything else holds a value
    assert "never touched" in {trace.name for trace in figure.data}


def test_cells_are_coloured_by_the_bank_the_hardware_gives_them():
    z = cells(tile(load("set_row_read_col_pad", 0), "tile")).z
    row, column = np.indices((32, 32))
    assert (z[:, :32] == (33 * row + column) % 32).all()


def test_what_nobody_has_stored_yet_is_faint_and_empty():
    now = request_view(square_recording(16)["set_row_read_col"], warp=1, step=0)
    heat = cells(tile(now, "tile"))
    row, column = np.indices((16, 16))
    bank = (16 * row + column) % 32
    assert (heat.z == np.where(row < 4, bank, bank + 32)).all()
    assert heat.text[1].tolist() == [str(i) for i in range(16, 32)]
    assert set(heat.text[2:].ravel()) == {""}  # rows 2 and 3 write theirs below the lanes of the present request
    assert heat.hovertext[0, 5] == "<b>tile[0, 5]</b> bank 5<br>holds 5 from thread 5 (warp 0, lane 5)"
    assert heat.hovertext[9, 0] == "<b>tile[9, 0]</b> bank 16<br>nothing stored yet"
    assert heat.hovertext[3, 4] == (
        "<b>tile[3, 4]</b> bank 20<br>holds 52 from thread 52 (warp 1, lane 20)<br>this request: lane 20"
    )


def test_a_cell_shows_what_it_holds_below_the_lane_that_is_there():
    # BDIMX = 19: lanes 0-18 load column 0, lanes 19-31 the first 13 of column 1; tile[r, c] holds 19 r + c.
    figure = tile(request_view(square_recording(19, 0)["set_row_read_col"], warp=0, step=1), "tile")
    row = cells(figure).text[0].tolist()
    assert row == ["", "", *map(str, range(2, 19))]
    here = written(figure)
    badges = {(x, round(y)): text for (x, y), text in here.items() if text.startswith("L")}
    values = {(x, round(y)): text for (x, y), text in here.items() if not text.startswith("L")}
    assert badges == {(lane // 19, lane % 19): f"L{lane}" for lane in range(32)}
    assert values == {(lane // 19, lane % 19): str(lane % 19 * 19 + lane // 19) for lane in range(32)}
    above = {(x, round(y)): y for (x, y), text in here.items() if text.startswith("L")}
    below = {(x, round(y)): y for (x, y), text in here.items() if not text.startswith("L")}
    assert all(above[place] < below[place] for place in values)


def test_pale_cells_are_in_the_key_as_long_as_there_are_any():
    storing = tile(request_view(RECORDING["set_row_read_col"], warp=3, step=0), "tile")
    assert "nothing stored yet" in {trace.name for trace in storing.data}
    full = tile(load("set_row_read_col", 3), "tile")
    assert "nothing stored yet" not in {trace.name for trace in full.data}


def test_lanes_that_do_not_fit_their_cell_are_not_written_over_each_other():
    # Lanes 0, 3, 6, ... ask for words 0 and 2 in turn: their list is wider than a cell of 64 columns.
    base = square_launch("set_row_read_col", (32, 32), lambda x, y: y * 32 + x, lambda x, y: (x % 3) * 2)
    array = replace(base.arrays[0], shape=(16, 64), strides=(256, 4))
    figure = tile(request_view(replace(base, arrays=(array, *base.arrays[1:])), warp=0, step=1), "tile")
    assert written(figure) == {}


def test_a_tile_too_large_to_read_has_its_values_in_the_hover_text_only():
    heat = cells(tile(load("set_row_read_col", 3), "tile"))
    assert set(heat.text.ravel()) == {""}
    assert heat.hovertext[31, 31] == "<b>tile[31, 31]</b> bank 31<br>holds 1023 from thread 1023 (warp 31, lane 31)"


def test_the_physical_view_has_a_row_per_32_banks_and_greys_the_padding_where_it_lies():
    figure = tile(load("set_row_read_col_pad", 3), "tile", view="physical")
    z = cells(figure).z
    assert z.shape == (33, 32)
    grey = {(int(r), int(c)) for r, c in zip(*np.nonzero(z == 64), strict=True)}
    assert grey == {((33 * i + 32) // 32, (33 * i + 32) % 32) for i in range(32)}
    assert written(figure) == {((33 * lane + 3) % 32, (33 * lane + 3) // 32): f"L{lane}" for lane in range(32)}


def test_five_banks_are_drawn_as_five_columns_with_the_conflicts_of_five():
    now = request_view(square_recording(5, 0)["set_row_read_col"], warp=0, step=1)
    figure = tile(now, "tile", view="physical", banks=5)
    assert cells(figure).z.shape == (5, 5)
    assert framed(figure, CONFLICT) == {(c, r) for c in range(5) for r in range(5)}
    padded = request_view(square_recording(5, 1)["set_row_read_col_pad"], warp=0, step=1)
    lanes = {(6 * (t % 5) + t // 5) for t in range(25)}
    drawn = tile(padded, "tile", view="physical", banks=5)
    assert framed(drawn, CONFLICT) == set()  # lanes go five at a time, and a column of five lies in five banks
    assert cells(drawn).z.shape == (6, 5)
    found = {(x, round(y)) for (x, y), text in written(drawn).items() if text.startswith("L")}
    assert found == {(word % 5, word // 5) for word in lanes}


def test_a_drawing_serves_as_many_lanes_at_a_time_as_it_has_banks():
    plain, padded = (
        bank_service(now, bank_layout(now.launch, banks=5))
        for now in (
            request_view(square_recording(5, 0)["set_row_read_col"], warp=0, step=1),
            request_view(square_recording(5, 1)["set_row_read_col_pad"], warp=0, step=1),
        )
    )
    # 25 lanes in groups of 5: all of a column in one bank, or each in its own.
    assert (plain.wavefronts, padded.wavefronts) == (25, 5)
    assert plain.conflict.all()
    assert [sorted(padded.bank[padded.phase == group].tolist()) for group in range(5)] == [list(range(5))] * 5


@pytest.mark.parametrize("banks", [1, 3, 5, 31, 33, 64])
def test_a_drawing_with_any_number_of_banks_serves_every_lane(banks):
    for step in (0, 1):
        now = request_view(RECORDING["set_row_read_col"], warp=1, step=step)
        served = bank_service(now, bank_layout(now.launch, banks=banks))
        assert served.lane.tolist() == list(range(32))
        assert (served.wavefront >= 0).all()


def test_lanes_that_share_a_word_are_in_no_conflict():
    launch = square_launch("set_row_read_col", (32, 32), lambda x, y: y * 32 + x, lambda x, y: 0 * x + y)
    figure = tile(request_view(launch, warp=7, step=1), "tile")
    assert framed(figure, PLAIN) == {(7, 0)}
    assert framed(figure, CONFLICT) == set()


def wide_launch(stride):
    """One warp that loads 8 bytes a lane, ``stride`` doubles apart."""
    base = RECORDING["set_row_read_row"]
    array = replace(base.arrays[0], shape=(32 * stride,), strides=(8,), dtype="float64")
    site = replace(base.sites[1], width=8, dtype="float64")
    log = requests([(0, 0, 0, 0)], [SHARED + 8 * stride * np.arange(32)], [np.full(32, np.nan)])
    return replace(base, arrays=(array,), sites=(site,), requests=log)


def test_wide_accesses_conflict_within_their_half_warp_only():
    # 9.0, counters.csv: contiguous 8-byte loads take 2 wavefronts, one per half-warp, and no lane waits.
    assert framed(tile(request_view(wide_launch(1)), "tile"), CONFLICT) == set()
    # 16 lanes of a half-warp, 2 doubles apart: two words in every second pair of banks.
    assert len(framed(tile(request_view(wide_launch(2)), "tile"), CONFLICT)) == 32


def test_the_8_byte_bank_mode_of_3x_halves_the_banks_a_column_of_16_ints_meets():
    # CUDA C programming guide, 3.x; the 8-way figure quoted for 32 x 16 ints.
    launch = square_launch("set_row_read_col", (32, 16), lambda x, y: y * 32 + x, lambda x, y: x * 16 + y % 16)
    now = request_view(launch, warp=0, step=1)
    z = cells(tile(now, "tile", hardware=Hardware((3, 5), 8))).z
    assert z[0].tolist() == [c // 2 for c in range(16)]
    assert z[1].tolist() == [8 + c // 2 for c in range(16)]


def test_a_large_array_is_drawn_around_the_present_request():
    launch = square_launch(
        "set_row_read_col", (512, 32), lambda x, y: (y + 400) * 32 + x, lambda x, y: (x + 400) * 32 + y
    )
    figure = tile(request_view(launch, warp=0, step=1), "tile")
    heat = cells(figure)
    assert heat.z.shape == (64, 32)
    assert set(written(figure)) == {(0, 400 + lane) for lane in range(32)}
    assert heat.y[0] <= 400
    assert heat.y[-1] >= 431
    assert figure.layout.yaxis.title.text == "row (512 in all)"


def test_a_launch_without_shared_memory_says_so():
    launch = replace(RECORDING["set_row_read_row"], arrays=RECORDING["set_row_read_row"].arrays[1:])
    figure = tile(request_view(launch), "tile")
    assert figure.layout.annotations[0].text == "This launch has no shared array."


def test_lanes_of_one_cell_that_do_not_all_fit_are_framed_and_told_in_full():
    recording = h200("histogram")
    skewed = [launch for launch in recording.launches if launch.kernel == "weigh_in_shared_memory"][1]
    shown = tile(worst_request(skewed), "held")
    lanes = [trace for trace in shown.data if trace.type == "scatter" and trace.mode == "text"]
    named = {text for trace in lanes for text in trace.text if str(text).startswith("L")}
    assert named
    assert named <= {f"L{lane}" for lane in range(32)} - {"L0", "L1", "L11", "L31"}  # that share a cell
    assert any(
        "this request: lane 0-1, 11, 13-14, 18-22, 24, 31" in text for row in shown.data[0].hovertext for text in row
    )
