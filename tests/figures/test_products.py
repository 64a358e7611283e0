from dataclasses import replace

import numpy as np
import pytest
from helpers.swept import SIZES, at_rate, sweep

from smemviz.figures.matmul.loads import Saving, claim, loads_bars
from smemviz.figures.matmul.rates import measured_sizes, roofline, spread_labels, sweep_lines
from smemviz.model.counting.matmul import Counted
from smemviz.recordings.sweep import CUBLAS, Size, Traffic
from smemviz.views.matmul_products import (
    FAILED_LAUNCH,
    QUOTED,
    V100,
    V100_AGAIN,
    beside,
    filled_note,
    headline,
    nearest_ceiling,
    points_at,
    products,
)

SIZE = SIZES[2]


def test_products_have_what_was_measured_of_them_and_the_ratio_to_cublas():
    naive, tiled, integer = products(SIZE, 32, {}, sweep())
    assert (naive.kernel, tiled.kernel, integer.kernel) == ("naive", "tiled", "tiled_integer")
    assert (naive.ratio_text(), tiled.ratio_text()) == ("5 %", "50 %")
    assert integer.of_cublas is None
    assert integer.ratio_text() == "int32"
    assert (tiled.error_text(), integer.error_text()) == ("1.5e-04 of 100", "exact")
    assert tiled.counted == "card"


def test_live_counts_go_before_those_of_the_card():
    moved = Traffic(1, 2, 3, 4, 5, 0, 1, 6)
    rows = products(SIZES[0], 32, {"tiled": Counted(SIZES[0], (2, 2, 1), moved)}, sweep())
    assert [row.kernel for row in rows] == ["tiled", "naive", "tiled_integer"]
    assert (rows[0].moved, rows[0].counted, rows[0].formula) == (moved, "lockstep", 2 * 64**3 // 32)


def test_a_larger_size_is_scaled_where_the_card_did_not_count():
    known = Counted(SIZES[0], (2, 2, 1), Traffic(1, 2, 3, 4, 5, 6, 7, 8))
    (row, *_) = products(Size(192, 192, 192), 32, {"tiled": known}, sweep())
    assert row.counted == "scaled"
    assert row.moved == Traffic(27, 54, 27, 108, 135, 162, 7, 216)
    (odd, *_) = products(Size(192, 192, 190), 32, {"tiled": known}, sweep())
    assert (odd.moved, odd.counted) == (None, None)
    (scaled, *_) = products(SIZES[1], 32, {"tiled": replace(known, grid=(1, 1, 1))}, sweep())
    assert scaled.counted == "card"  # its grid of 2 x 2 is not 16 times that of 64


def test_without_shared_memory_the_formula_is_2_s_cubed():
    moved = Traffic(1, 2, 3, 0, 0, 0, 0)
    (row,) = products(SIZES[0], 32, {"naive": Counted(SIZES[0], (2, 2, 1), moved)}, None)
    assert row.formula == 2 * 64**3
    assert row.ratio_text() == "not known"
    assert row.error_text() == "not measured"


def test_other_tiles_are_not_mixed_in_and_leave_a_sentence_in_place_of_the_roofline():
    assert products(SIZE, 16, {}, sweep()) == ()
    assert points_at(sweep(), SIZE, 16).keys() == {CUBLAS, "NumPy", "three loops"}
    assert measured_sizes(sweep(), 16) == []
    figure = roofline(products(SIZE, 16, {}, sweep()), sweep(), None)
    assert figure.layout.annotations[0].text == "No kernel was both timed and counted at this size."


def test_the_headline_compares_with_cublas_or_says_what_tiles_save():
    assert (
        headline(products(SIZE, 32, {}, sweep()), 32)
        == "tiled reaches 50\N{NO-BREAK SPACE}% of cuBLAS, naive 5\N{NO-BREAK SPACE}%"
    )
    live = {
        "naive": Counted(SIZES[0], (1, 1, 1), Traffic(1, 40, 3, 0, 0, 0, 0)),
        "tiled": Counted(SIZES[0], (1, 1, 1), Traffic(1, 5, 3, 9, 0, 0, 1)),
    }
    assert headline(products(SIZES[0], 16, live, None), 16) == "Tiles of 16 by 16: 8 times fewer sectors to load"


def test_the_nearest_ceiling_is_the_one_a_kernel_uses_most_of():
    naive, tiled, integer = products(SIZE, 32, {}, sweep())
    assert nearest_ceiling(naive, sweep()) == ("float32", pytest.approx(2.5 / 60))
    assert nearest_ceiling(tiled, sweep()) == ("float32", pytest.approx(25 / 60))
    assert nearest_ceiling(integer, sweep())[0] == "shared read"  # type: ignore[index]


def test_the_roofline_shows_each_kernel_where_it_was_measured():
    rows = products(SIZE, 32, {}, sweep())
    figure = roofline(rows, sweep(), points_at(sweep(), SIZE, 32)[CUBLAS])
    kernels, memory, cache, cublas = figure.data
    assert list(kernels.y) == pytest.approx([2.5e12, 25e12, 20e12])
    assert list(kernels.x) == pytest.approx([row.intensity for row in rows])
    assert max(memory.y) == max(cache.y) == 60e12
    assert memory.x[1] == pytest.approx(60e12 / 4e12)  # where the two roofs meet
    assert list(cublas.x) == pytest.approx([4096 / 6])
    said = [note.text for note in figure.layout.annotations]
    assert "<b>float32 60 TFLOP/s</b>" in said
    assert {"memory copy 4 TB/s", "L2 read 6 TB/s", "each element once: 682.7 "} <= set(said)


def test_the_sweep_has_a_line_per_kernel_and_names_those_that_stand_out():
    figure = sweep_lines(sweep(), 32)
    lines = {line.name: list(zip(line.x, line.y, strict=True)) for line in figure.data}
    assert [x for x, _ in lines["tiled"]] == [64, 1024, 4096]
    assert [x for x, _ in lines["three loops"]] == [1024]
    assert lines["cuBLAS"][0] == (64, pytest.approx(50e12))
    said = {note.text for note in figure.layout.annotations}
    assert {"<b>three loops (to 1024)</b>", "<b>tiled</b>"} <= said
    assert "tiled_integer" not in "".join(said)  # one of the grey lines, which say their names when pointed at
    assert sweep_lines(sweep(), 8).data[0].name == CUBLAS  # it has no tile
    assert sweep_lines(None, 8).layout.annotations[0].text == "Nothing was measured with tiles of 8."


def test_labels_are_moved_apart_and_keep_their_order():
    assert spread_labels([0.5, 0.1, 0.52], 0.1) == pytest.approx([0.5, 0.1, 0.6])
    moved = spread_labels([1.0, 0.99, 0.98], 0.1)
    assert moved == pytest.approx([1.0, 0.9, 0.8])
    assert np.argsort(moved).tolist() == [2, 1, 0]


def test_savings_are_drawn_against_the_width_of_the_tile():
    size = Size(64, 64, 64)
    saving = Saving(16, size, Traffic(0, 32768, 0, 0, 0, 0, 0, 524288), Traffic(0, 4096, 0, 1, 1, 0, 1, 32768))
    elements, sectors, formula = loads_bars([saving]).data
    assert (list(elements.x), list(sectors.x), list(formula.x)) == ([16.0], [8.0], [16])
    assert elements.text[0] == " 16 x  524,288 → 32,768"
    unknown = Saving(16, size, Traffic(0, 32768, 0, 0, 0, 0, 0), Traffic(0, 4096, 0, 1, 1, 0, 1))
    assert loads_bars([unknown]).data[0].text[0] == "not counted"


def test_published_times_stand_beside_ours_with_their_hardware():
    rows = {(row.quoted.size.name, row.quoted.work): row for row in beside(sweep())}
    assert len(rows) == len(QUOTED)
    naive = rows["1024", "naive"]
    assert (naive.published, naive.quoted.hardware) == ("1.359 ms", "GeForce RTX 3080, kernel time by events")
    # 2 * 1024^3 operations at 2.5e12 per second; twice that with copies; start-up 0.14 s and compiling 0.25 s on top.
    assert (naive.kernel, naive.copies, naive.scratch) == ("859.0 µs", "1.718 ms", "391.7 ms")
    assert rows["1024", "on the host"].kernel == "2.147 s"
    assert rows["2000", "integers by tiles"].published == "25.73 ms"
    assert rows["2000", "integers by tiles"].kernel == "not measured"
    # It ran second in its process and was compiled beforehand: nothing of a start is in it.
    second = rows["2000", "integers by tiles"].quoted
    assert second.hardware == "V100, allocation and copies included"
    own_check = " Its own check passes because 2000 is 125 x 16: its last store has no bound."
    assert second.note.endswith("start-up was paid by the run before: compare with ours with copies." + own_check)
    assert "from scratch" in rows["2000", "naive"].quoted.note
    assert rows["512", "cuBLAS sgemm"].published == "no time published"
    assert "the row number. It is the column" in rows["512", "naive"].quoted.note
    assert "345.838 ms" in FAILED_LAUNCH
    assert "start-up, allocation and two of the three copies" in FAILED_LAUNCH


def test_ours_is_measured_with_tiles_as_large_as_theirs():
    """Theirs are 16 wide at 2000, and the second product of the run has no start-up in its time."""
    size = Size(2000, 2000, 2000)
    kernels = [
        (name, tile, rate) for name in ("naive_integer", "tiled_integer") for tile, rate in ((16, 4e12), (32, 8e12))
    ]
    points = [at_rate(name, size, rate, tile=tile, dtype="int32") for name, tile, rate in kernels]
    rows = {(row.quoted.size.name, row.quoted.work): row for row in beside(replace(sweep(), points=tuple(points)))}
    naive, tiled = rows["2000", "naive"], rows["2000", "integers by tiles"]
    # 2 * 2000^3 operations at 4e12 per second
    assert [(row.quoted.kernel, row.quoted.tile, row.kernel) for row in (naive, tiled)] == [
        ("naive_integer", 16, "4.000 ms"),
        ("tiled_integer", 16, "4.000 ms"),
    ]
    assert "from scratch" in naive.quoted.note
    own_check = " Its own check passes because 2000 is 125 x 16: its last store has no bound."
    assert tiled.quoted.note.endswith("compare with ours with copies." + own_check)
    assert (tiled.quoted.hardware, naive.quoted.hardware) == (V100_AGAIN, V100)
    assert "53.3" in rows["2000", "on the host"].quoted.note


def test_the_published_saving_stands_beside_what_was_counted():
    size = SIZES[0]
    naive = {8: 40960, 16: 32768, 32: 40960}
    tiled = {8: 8192, 16: 4096, 32: 2048}
    savings = [
        Saving(
            tile,
            size,
            Traffic(0, naive[tile], 0, 0, 0, 0, 0, 524288),
            Traffic(0, tiled[tile], 0, 1, 1, 0, 1, 524288 // tile),
        )
        for tile in naive
    ]
    said = claim(savings, None)
    assert "here 1/64, 1/256 and 1/1024." in said
    assert said.endswith("1/8, 1/16 and 1/32 of the elements; 1/5, 1/8 and 1/20 of the sectors are left.")
    counted = [
        replace(at_rate(name, size, 1e12, tile=saving.tile), moved=moved)
        for saving in savings
        for name, moved in (("naive", saving.naive), ("tiled", saving.tiled))
    ]
    by_gpu = "NVIDIA Test Card counted, at 64, 40,960 → 8,192; 32,768 → 4,096; 40,960 → 2,048 sectors."
    assert claim(savings, replace(sweep(), points=tuple(counted))) == f"{said} {by_gpu}"
    assert claim(savings, replace(sweep(), points=tuple(counted[:-1]))) == said


def test_matrices_that_zeros_fill_are_named():
    size, up_to = Size(228, 240, 112), Size(256, 256, 128)
    moved = Traffic(1, 2, 3, 4, 5, 0, 1, 6)
    live = {
        "tiled": Counted(size, (4, 8, 1), moved, up_to),
        "tiled_any": Counted(size, (4, 8, 1), moved),
        "tiled_dynamic": Counted(size, (4, 8, 1), moved, up_to),
    }
    assert filled_note(products(size, 32, live, None)) == (
        "Kernels without bounds checks get their matrices filled up with zeros, to 256x256x128 for tiled, "
        "tiled_dynamic. The zeros are counted too."
    )
    assert filled_note(products(size, 32, {"tiled_any": live["tiled_any"]}, None)) == ""
