"""The tiled product of two 16 x 16 matrices by tiles of 8, in steps, from a lockstep recording."""

from collections import Counter
from functools import cache

import numpy as np

from smemviz.engines import run
from smemviz.figures.matmul.scene import scene
from smemviz.paths import kernels_dir
from smemviz.views.matmul_steps import loaded, sentence, steps


@cache
def pictured():
    launch = run(kernels_dir() / "matmul.py", {"M": 16, "K": 16, "N": 16, "TILE": 8}, "lockstep")["tiled"]
    return launch, steps(launch)


def test_a_block_loads_waits_multiplies_and_waits_for_each_tile_and_stores_at_the_end():
    _, found = pictured()
    tile = ["load", "wait", *["multiply"] * 8, "wait"]
    assert [step.kind for step in found] == 4 * [*tile, *tile, "store"]
    assert [step.block for step in found] == [block for block in range(4) for _ in range(23)]
    assert [step.turn for step in found[:11]] == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8]


def test_every_request_is_in_one_step():
    launch, found = pictured()
    rows = np.concatenate([step.rows for step in found])
    assert sorted(rows.tolist()) == list(range(len(launch.requests)))


def test_each_element_is_loaded_once_per_block_that_needs_it():
    launch, found = pictured()
    times: Counter[tuple[str, tuple[int, int]]] = Counter()
    for step in found:
        if step.kind == "load":
            times.update((t.array.name, cell) for t in loaded(launch, step.rows) if t.op == "load" for cell in t.cells)
    assert len(times) == 2 * 16 * 16
    assert set(times.values()) == {2}  # S / T


def test_a_multiplication_reads_a_column_of_one_tile_and_a_row_of_the_other():
    launch, found = pictured()
    a, b = loaded(launch, found[4].rows)
    assert (a.array.name, a.place()) == ("a_tile", "rows 0-7, column 2")
    assert (b.array.name, b.place()) == ("b_tile", "row 2, columns 0-7")
    assert (a.lanes, a.requests, a.cost) == (64, 2, 2)


def test_a_step_is_told_in_a_sentence():
    for index, said in [
        (0, "Step 1 of 92, block (0, 0): load tile 1 of 2. 64 of a and 64 of b come in, 16 sectors, and go into shared "
            "memory."),
        (1, "Step 2 of 92, block (0, 0): the barrier. The tiles must be complete before they are read, so all 64 "
            "threads wait for each other."),
        (4, "Step 5 of 92, block (0, 0): multiply, 3 of 8 in tile 1. Loads: 64 of a_tile (8 words) and 64 of b_tile "
            "(8 words); 4 wavefronts."),
        (21, "Step 22 of 92, block (0, 0): the barrier. The tiles must be read before they are overwritten. No tile "
            "follows here, so this last barrier could be left out."),
        (91, "Step 92 of 92, block (1, 1): store. Every thread writes its sum to c, 64 elements."),
    ]:  # fmt: skip
        assert sentence(*pictured(), index) == said


def test_the_picture_shows_what_moves_what_is_held_and_what_is_read():
    launch, found = pictured()
    boards = {trace.name: trace for trace in scene(launch, found, 4).data if trace.type == "heatmap"}
    idle, held, moves, read = range(4)
    assert set(boards) == {"a", "b", "c", "a_tile", "b_tile"}
    assert np.array_equal(np.unique(boards["a"].z), [idle, held])
    assert (np.asarray(boards["a_tile"].z)[:, 2] == read).all()
    assert (np.asarray(boards["b_tile"].z)[2] == read).all()
    assert np.count_nonzero(np.asarray(boards["a_tile"].z) == read) == 8
    first = {trace.name: trace for trace in scene(launch, found, 0).data if trace.type == "heatmap"}
    assert np.count_nonzero(np.asarray(first["a"].z) == moves) == 64
    assert np.count_nonzero(np.asarray(first["c"].z)) == 0


def test_the_numbers_say_how_often_an_element_was_loaded_by_now():
    launch, found = pictured()
    texts = [trace for trace in scene(launch, found, 91).data if trace.type == "scatter"]
    assert set(texts[0].text) == set(texts[1].text) == {"2"}
    assert len(texts[0].text) == 256
    assert set(texts[2].text) == {"▼"}  # the last block's part of c is being stored


def test_the_numbers_are_large_enough_to_read_and_have_room_in_their_cells():
    figure = scene(*pictured(), 0)
    loads = next(trace for trace in figure.data if trace.type == "scatter")
    cell = (figure.layout.height - 16) / abs(figure.layout.yaxis.range[1] - figure.layout.yaxis.range[0])
    assert set(loads.text) == {"▼1"}
    assert (
        10 <= loads.textfont.size <= cell / 1.7
    )  # a sign and a digit are 1.5 of their size wide, and stand clear of the next


def test_the_tiles_and_the_part_of_c_are_framed():
    launch, found = pictured()
    shapes = scene(launch, found, 91).layout.shapes
    assert [(round(shape.x1 - shape.x0, 6), round(shape.y1 - shape.y0, 6)) for shape in shapes] == [(8, 8)] * 3
