"""The matrix products of the gallery: right at any size, and what each costs."""

import numpy as np
import pytest
from helpers.gallery import h200, matmul

import smemviz
from smemviz.paths import kernels_dir

FILE = kernels_dir() / "matmul.py"
CONTRACT = [
    *("naive", "naive_swapped", "naive_integer"),
    *("tiled", "tiled_swapped", "tiled_dynamic", "tiled_any", "tiled_integer", "tiled_unbounded"),
    *("tiled_transposed", "tiled_transposed_padded", "tiled_transposed_swizzled"),
    *("register_1d", "register_2d", "vector_loads", "double_buffered", "paired_lanes"),
]
SIDE = 64


@pytest.fixture(scope="module")
def run():
    return matmul()


def cost(launch, space, op):
    """Return requests, wavefronts and sectors of the sites of one kind, added up."""
    rows = [
        row
        for site, row in zip(launch.sites, launch.summary(cc=(9, 0)), strict=True)
        if (site.space, site.op) == (space, op)
    ]
    return tuple(sum(getattr(row, name) or 0 for row in rows) for name in ("requests", "wavefronts", "sectors"))


def test_the_kernels_are_launched_in_order_and_nothing_is_found(run):
    assert [launch.kernel for launch in run.launches] == CONTRACT
    assert run.findings == ()


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "constants",
    [
        {"M": 45, "K": 33, "N": 70},
        {"M": 228, "K": 240, "N": 112, "TILE": 16},
        {"M": 33, "K": 20, "N": 40, "TILE": 8, "DTYPE": "float64"},
        {"M": 1, "K": 1, "N": 1},
    ],
    ids=str,
)
def test_sizes_that_are_no_multiple_of_the_tile_give_numpys_product_and_one_finding(constants):
    """``main()`` compares each product with NumPy's; what it says would be a finding of its own."""
    found = smemviz.run(FILE, constants=constants, engine="lockstep").findings

    assert [(finding.kind, finding.kernel) for finding in found] == [("out_of_bounds", "tiled_unbounded")]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "constants", [{"PANEL": 128, "DTYPE": "int32"}, {"TILE": 16, "RESULTS": 4, "PANEL": 32}], ids=str
)
def test_other_panels_and_types_give_numpys_product(constants):
    assert smemviz.run(FILE, constants=constants, engine="lockstep").findings == ()


@pytest.mark.exhaustive
def test_the_missing_bound_is_found_at_the_right_edge_and_nowhere_else():
    run = smemviz.run(FILE, constants={"N": 70}, engine="lockstep")

    (finding,) = run.findings
    line = FILE.read_text(encoding="utf-8").splitlines()[finding.line - 1]
    assert line.strip() == "c[row, column] = total"
    assert finding.block == (2, 0, 0)
    assert finding.threads[0] == (6, 0, 0)  # column 64 + 6 of 70
    assert finding.message.startswith("c[0, 70] is outside shape (64, 70)")


def test_why_the_thread_in_x_takes_the_column(run):
    """Sectors per request, from the size: a broadcast and a row of 128 bytes against 32 rows and a broadcast."""
    requests = SIDE**3 // 32

    assert cost(run["naive"], "global", "load") == (2 * requests, 0, requests * (1 + 4))
    assert cost(run["naive_swapped"], "global", "load") == (2 * requests, 0, requests * (32 + 1))
    assert cost(run["naive"], "global", "store")[2] == SIDE**2 // 8
    assert cost(run["naive_swapped"], "global", "store")[2] == SIDE**2


def test_a_tile_that_is_filled_with_the_indices_swapped_loads_a_sector_for_each_lane(run):
    """Each of the 2 x 2 x 2 tiles of a and of b is filled by 32 warps: 32 sectors a request, where 4 are coalesced."""
    requests = 2 * 8 * 32

    assert cost(run["tiled"], "global", "load") == (requests, 0, requests * 4)
    assert cost(run["tiled_swapped"], "global", "load") == (requests, 0, requests * 32)
    assert cost(run["tiled_swapped"], "shared", "store") == (requests, requests * 32, 0)
    assert cost(run["tiled_swapped"], "global", "store") == cost(run["tiled"], "global", "store")


def test_integers_cost_what_floats_of_as_many_bytes_cost(run):
    for space, op in (("global", "load"), ("global", "store")):
        assert cost(run["naive_integer"], space, op) == cost(run["naive"], space, op)


def test_only_the_transposed_tile_without_a_cure_collides(run):
    for kernel, stores in [
        ("tiled", 1),
        ("tiled_transposed", 32),
        ("tiled_transposed_padded", 1),
        ("tiled_transposed_swizzled", 1),
    ]:
        tiles = (SIDE // 32) ** 3  # of each matrix, each stored by 32 warps

        assert cost(run[kernel], "shared", "store")[1] == tiles * 32 * (stores + 1)
        assert cost(run[kernel], "shared", "load")[1] == 2 * SIDE**3 // 32


@pytest.mark.exhaustive
@pytest.mark.parametrize("n", [64, 100, 320])
def test_the_transposed_tile_has_the_excess_that_others_published(n):
    """31 * 32 * floor(N/32)^2 * ceil(N/32) store wavefronts, for a grid of floor(N/32) x floor(N/32) blocks."""
    kernel = transposed()
    matrix = np.ones((n, n), np.float32)

    recording = smemviz.record(
        kernel, (n // 32, n // 32), (32, 32), (np.zeros_like(matrix), matrix, matrix), engine="lockstep"
    )

    assert recording.findings == ()
    assert stores_excess(recording) == 31 * 32 * (n // 32) ** 2 * -(-n // 32)


def test_each_rung_loads_less_from_shared_memory(run):
    """Requests, from the size: 2 a product, 9/8 with 8 results, 16 for 64 with 8 x 8, 4 of 16 bytes for those."""
    products = SIDE**3 // 32  # by a warp at once

    loads = {kernel: cost(run[kernel], "shared", "load")[0] for kernel in CONTRACT[2:]}
    assert loads["tiled"] == 2 * products
    assert loads["register_1d"] == products * 9 // 8
    assert loads["register_2d"] == products * 16 // 64
    assert loads["vector_loads"] == loads["double_buffered"] == loads["paired_lanes"] == products * 4 // 64


def test_pairing_lanes_halves_the_wavefronts_of_one_load_of_two():
    """Nsight Compute's counts on the H200: a load of 16 bytes costs 2 wavefronts where lanes share half, else 4."""
    recording = h200("matmul")

    found = {}
    for kernel in ("double_buffered", "paired_lanes"):
        launch = recording[kernel]
        loads = [
            hardware.wavefronts / hardware.requests
            for site, hardware in zip(launch.sites, launch.hardware, strict=True)
            if (site.space, site.op) == ("shared", "load")
        ]
        found[kernel] = loads
    assert found == {"double_buffered": [2, 4], "paired_lanes": [2, 2]}


def transposed():
    """Return the kernel of the file as Numba makes it."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    namespace = {"__name__": "matmul"}
    exec(compile(FILE.read_text(encoding="utf-8"), str(FILE), "exec"), namespace)
    return namespace["tiled_transposed"]


def stores_excess(recording):
    """Return the excess wavefronts of the shared stores of a recording's only launch."""
    (launch,) = recording.launches
    rows = zip(launch.sites, launch.summary(cc=(9, 0)), strict=True)
    return sum(row.excess for site, row in rows if (site.space, site.op) == ("shared", "store"))
