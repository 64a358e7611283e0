from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.reading import bold, cells, written
from helpers.synthetic import square_launch, square_recording

from smemviz.figures.banks import banks, draw_banks
from smemviz.figures.drawing.style import THEMES
from smemviz.model.counting.service import count
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.playback import BankLayout, bank_layout, bank_service, request_view, serve_lanes

RECORDING = square_recording()


def test_a_32_way_conflict_takes_32_rows_of_one_bank_each_with_its_lane_and_word() -> None:
    figure = banks(request_view(RECORDING["set_row_read_col"], warp=3, step=1))
    lanes = {(x, round(y + 0.2)): text for (x, y), text in written(figure).items() if y % 1 > 0.5}
    words = {(x, round(y - 0.22)): text for (x, y), text in written(figure).items() if y % 1 < 0.5}
    assert lanes == {(3, lane + 1): f"L{lane}" for lane in range(32)}
    assert words == {(3, lane + 1): str(32 * lane + 3) for lane in range(32)}
    assert {f"L{lane}" for lane in range(32)} <= bold(figure)
    z = cells(figure).z
    assert z.shape == (32, 32)
    assert (z[:, 3] == 3).all()
    assert (z == 32).sum() == 32 * 31  # all other banks idle


def test_a_padded_column_takes_one_wavefront_with_every_bank_busy() -> None:
    figure = banks(request_view(RECORDING["set_row_read_col_pad"], warp=3, step=1))
    lanes = {x: text for (x, y), text in written(figure).items() if y < 1}
    assert lanes == {(33 * lane + 3) % 32: f"L{lane}" for lane in range(32)}
    assert bold(figure) == set()
    assert cells(figure).z.tolist() == [list(range(32))]


def test_a_broadcast_whose_lanes_do_not_fit_their_cell_names_them_to_who_points_at_it() -> None:
    launch = square_launch("set_row_read_col", (32, 32), lambda x, y: y * 32 + x, lambda x, y: 0 * x + y)
    figure = banks(request_view(launch, warp=7, step=1))
    assert {text for (x, y), text in written(figure).items() if y < 1} == set()
    assert cells(figure).hovertext[0, 7] == "<b>bank 7, wavefront 1</b><br>lanes 0-31<br>word 7"
    assert cells(figure).hovertext[0, 8] == "<b>bank 8, wavefront 1</b><br>idle"


def test_a_request_to_global_memory_has_no_banks() -> None:
    figure = banks(request_view(RECORDING["set_row_read_col"], warp=0, step=2))
    assert "global memory" in figure.layout.annotations[0].text


def test_an_atomic_that_loops_says_why_it_has_no_wavefronts() -> None:
    launch = RECORDING["set_row_read_col"]
    site = replace(launch.sites[1], op="atomic_add", dtype="float32")
    figure = banks(request_view(replace(launch, sites=(launch.sites[0], site, launch.sites[2])), warp=0, step=1))
    assert figure.layout.annotations[0].text.startswith("A float atomic is a compare-and-swap loop")


def test_lanes_that_share_a_word_are_named_in_the_cell_and_never_beside_it() -> None:
    # tile[lane // 4, 0] in rows of 8 words: 8 words in 4 banks, with 7 idle banks between them.
    launch = square_launch("set_row_read_col", (32, 8), lambda x, y: y * 32 + x, lambda x, y: x // 4 * 8)
    where = bank_layout(launch)
    figure = draw_banks(bank_service(request_view(launch, warp=0, step=1), where), 32, THEMES["light"], says="")
    lanes = {text for text in written(figure).values() if text.startswith("L")}
    assert lanes == set()  # "L28-31" takes more than a cell; the banks beside it are idle
    assert {text for text in cells(figure).hovertext[0] if "lanes" in text} != set()
    texts = [trace for trace in figure.data if trace.type == "scatter"]
    assert [trace.cliponaxis for trace in texts] == [False] * len(texts)  # those at the edge stay whole


@pytest.mark.parametrize("hardware", [Hardware(), Hardware((3, 5)), Hardware((3, 5), 8)], ids=lambda one: one.key)
def test_what_lies_before_the_first_array_is_served_as_well(hardware: Hardware) -> None:
    """An index out of bounds on a GPU; the array starts at byte 1024, and lane i goes to byte 8 i."""
    addresses = np.arange(32, dtype=np.int64) * 8
    served = serve_lanes(addresses, 4, "load", BankLayout(32, hardware.bank_bytes, 1024), hardware)
    assert served.wavefronts == count(addresses, 4, "load", hardware).wavefronts
