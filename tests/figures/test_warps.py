from __future__ import annotations

import numpy as np
from helpers.reading import cells, written
from helpers.synthetic import square_recording

from smemviz.figures.warps import warps
from smemviz.model.hardware.hardware import Hardware

LAUNCH = square_recording()["set_row_read_col"]


def test_every_warp_shows_the_degree_of_its_requests_and_the_sectors_of_its_stores() -> None:
    texts = written(warps(LAUNCH, 0))
    assert {w: texts[w, 1] for w in range(32)} == dict.fromkeys(range(32), "1")
    assert {w: texts[w, 3] for w in range(32)} == dict.fromkeys(range(32), "32")
    assert {w: texts[w, 5] for w in range(32)} == dict.fromkeys(range(32), "4")


def test_each_site_has_its_name_and_its_totals_above_it() -> None:
    names = {text for (_, y), text in written(warps(LAUNCH, 0)).items() if y % 1}
    assert names == {
        "line 51 · store <b>tile[ty, tx]</b>",
        "shared · 32 wavefronts · worst 1-way",
        "line 53 · load <b>tile[tx, ty]</b>",
        "shared · 1,024 wavefronts · worst 32-way",
        "line 53 · store <b>out[idx]</b>",
        "global · 128 sectors",
    }


def test_colour_is_the_logarithm_of_the_degree() -> None:
    z = cells(warps(LAUNCH, 0)).z
    assert np.isnan(z[0::2].astype(float)).all()
    assert set(z[1]) == {0.0}
    assert set(z[3]) == {5.0}


def test_the_selected_cell_is_framed() -> None:
    frame = warps(LAUNCH, 0, site=1, warp=3).data[-1]
    assert (min(frame.x), max(frame.x), min(frame.y), max(frame.y)) == (2.5, 3.5, 2.5, 3.5)


def test_counts_follow_the_compute_capability() -> None:
    # 3.x with 8-byte banks: 32 ints apart, two columns of one 64-bit word still meet in one bank (CUDA C guide).
    hover = cells(warps(LAUNCH, 0, hardware=Hardware((3, 5), 8))).hovertext
    assert hover[3, 0] == "<b>warp 0</b>, line 53: load tile[tx, ty]<br>1 request, 16 wavefronts, at worst 16-way"
