"""The formulas of a matrix product, and what lockstep counts of the gallery's kernels against them."""

from dataclasses import replace

import pytest
from helpers.gallery import matmul

from smemviz.engines import run
from smemviz.model.counting.matmul import (
    Counted,
    attainable,
    best_intensity,
    counted,
    filled,
    intensity,
    scaled,
    shares,
    traffic,
)
from smemviz.paths import kernels_dir
from smemviz.recordings.sweep import Size, Traffic
from smemviz.views.matmul_products import products

CUBE = Size(64, 64, 64)


def test_a_cube_is_2_s_cubed_operations_and_3_s_squared_elements():
    assert CUBE.operations == 2 * 64**3
    assert CUBE.elements == 3 * 64**2
    assert (CUBE.name, Size(228, 240, 112).name) == ("64", "228x240x112")


def test_without_tiles_2_s_cubed_elements_are_loaded_and_with_tiles_the_tth_part():
    assert CUBE.loads() == 2 * 64**3
    assert [CUBE.loads(64 // tile, 64 // tile) for tile in (8, 16, 32)] == [2 * 64**3 // tile for tile in (8, 16, 32)]


def test_blocks_over_an_edge_load_each_row_and_column_once():
    # 228 x 240 x 112 by tiles of 32 is 4 blocks across and 8 down: a four times over, b eight times.
    assert Size(228, 240, 112).loads(4, 8) == 4 * 228 * 240 + 8 * 240 * 112


@pytest.mark.parametrize("tile", [16, *(pytest.param(tile, marks=pytest.mark.exhaustive) for tile in (8, 32))])
def test_lockstep_counts_the_elements_of_the_formula(tile):
    recording = matmul(tile)
    assert traffic(recording["naive"]).elements_loaded == 2 * 64**3
    assert traffic(recording["naive_swapped"]).elements_loaded == 2 * 64**3
    for kernel in ("tiled", "tiled_dynamic", "tiled_any", "tiled_integer", "tiled_transposed"):
        moved = traffic(recording[kernel])
        assert moved.elements_loaded == 32 * moved.load_requests == 8 * moved.load_sectors == 2 * 64**3 // tile


# Per warp and k the naive kernel moves a sector of a for each of its 32/T rows and T/8 of b; a warp of the tiled kernel
# moves 4 of each once per T. The quotients are 5, 8 and 20: less than T, for a warp's lanes share sectors anyway.
@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("tile", "naive", "tiled"),
    [(8, 40960, 8192), (16, 32768, 4096), (32, 40960, 2048)],
)
def test_sectors_fall_less_than_elements(tile, naive, tiled):
    recording = matmul(tile)
    assert traffic(recording["naive"]).load_sectors == naive
    assert traffic(recording["tiled"]).load_sectors == tiled


# Filled with zeros to 256 x 256 x 128, by tiles of 32: 4 blocks across, 8 down; of 2000 to 2016: 63 each way.
def test_a_matrix_filled_with_zeros_is_loaded_with_its_zeros():
    for size, shapes, grid, loaded in [
        (Size(228, 240, 112), ((256, 256), (256, 128)), (4, 8), 524_288),
        (Size(2000, 2000, 2000), ((2016, 2016), (2016, 2016)), (63, 63), 512_096_256),
    ]:
        given = filled(size, *shapes)
        assert given.loads(*grid) == loaded
        assert filled(size, (size.m, size.k), (size.k, size.n)) is None


@pytest.mark.exhaustive
def test_the_formula_of_a_kernel_without_edges_is_what_it_loads():
    size = Size(20, 24, 36)
    live = {launch.kernel: counted(launch, size) for launch in matmul(16, 20, 24, 36).launches}
    rows = {row.kernel: row for row in products(size, 16, live, None)}
    for kernel in ("tiled", "tiled_swapped", "tiled_dynamic", "tiled_any", "tiled_integer", "register_1d"):
        moved = rows[kernel].moved
        assert rows[kernel].formula == moved.elements_loaded, kernel
    assert (rows["tiled"].filled, rows["tiled_any"].filled) == (Size(32, 32, 48), None)


@pytest.mark.exhaustive
def test_any_size_loads_what_its_blocks_share():
    moved = traffic(matmul(16, 20, 24, 36)["tiled_any"])
    assert moved.elements_loaded == Size(20, 24, 36).loads(3, 2)


@pytest.mark.exhaustive
def test_a_log_that_is_cut_short_has_no_elements():
    cut = run(kernels_dir() / "matmul.py", {"TILE": 32}, "lockstep", log_bytes=0)
    moved = traffic(cut["tiled"])
    assert moved.elements_loaded is None
    assert moved.load_sectors == 2048


def test_intensity_is_operations_by_bytes_of_sectors():
    moved = traffic(matmul()["tiled"])
    assert moved.global_bytes == 32 * (2048 + 512)
    assert intensity(CUBE, moved) == 2 * 64**3 / (32 * 2560)
    assert best_intensity(CUBE, 4) == pytest.approx(64 / 6)


def test_under_a_roof_memory_is_the_limit_first_and_then_the_arithmetic():
    assert attainable(0.5, 4e12, 60e12) == 2e12
    assert attainable(100, 4e12, 60e12) == 60e12


def test_shares_are_of_operations_and_of_wavefronts():
    moved = Traffic(0, 0, 0, shared_loads=900, shared_stores=100, excess=0, max_degree=1)
    found = shares(CUBE, moved, 1e-6, {"float32": 1e12, "shared read": 1e12})
    assert found == {"float32": 2 * 64**3 / 1e6, "shared read": 1000 * 128 / 1e6}
    assert shares(CUBE, None, 1e-6, {"shared read": 1e12}) == {}


@pytest.mark.exhaustive
def test_a_cube_of_64_tells_what_larger_ones_move():
    small = {launch.kernel: Counted(CUBE, launch.grid, traffic(launch)) for launch in matmul().launches}
    size = Size(128, 128, 128)
    large = run(kernels_dir() / "matmul.py", {"M": 128, "K": 128, "N": 128, "TILE": 32}, "lockstep", log_bytes=0)
    assert len(large.launches) == len(small)
    for launch in large.launches:
        found = scaled(small[launch.kernel], size, launch.grid)
        assert found is not None
        assert replace(found, elements_loaded=None) == traffic(launch), launch.kernel


def test_other_sizes_and_grids_do_not_follow():
    for size, grid in [
        (Size(96, 96, 96), (3, 3, 1)),
        (Size(128, 128, 64), (4, 4, 1)),
        (Size(128, 128, 128), (2, 2, 1)),
    ]:
        assert scaled(Counted(CUBE, (2, 2, 1), Traffic(1, 1, 1, 1, 1, 0, 1)), size, grid) is None


def test_16_bytes_move_at_once_in_shared_memory_and_pairs_of_lanes_save_half_of_b():
    # Wavefronts that Nsight Compute counted on the H200: stores of a and b, loads of a, loads of b.
    assert [
        (moved.shared_stores, moved.shared_loads, moved.untold)
        for moved in (traffic(matmul()[kernel]) for kernel in ("vector_loads", "double_buffered", "paired_lanes"))
    ] == [(128 + 128, 512 + 1024, 0), (128 + 128, 512 + 1024, 0), (128 + 128, 512 + 512, 0)]
    assert traffic(matmul()["vector_loads"]).elements_loaded == CUBE.loads(1, 1)


def test_what_cannot_be_told_is_counted_apart():
    launch = matmul()["vector_loads"]
    halves = tuple(replace(site, dtype="complex64" if site.width == 16 else site.dtype) for site in launch.sites)
    moved = traffic(replace(launch, sites=halves))
    assert moved.untold == 32 + 2 * 256  # stores of 16 bytes, and loads from both tiles
    assert moved.shares
    assert shares(CUBE, moved, 1e-6, {"shared read": 1e12}) == {}
