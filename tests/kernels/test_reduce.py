"""The sums of the gallery: right for other sizes, and what shuffles save."""

import pytest

import smemviz
from smemviz.paths import kernels_dir

FILE = kernels_dir() / "reduce.py"


@pytest.mark.parametrize("constants", [{"N": 100, "THREADS": 32}, {"N": 3000, "THREADS": 1024}], ids=str)
def test_other_sizes_give_numpys_sums(constants):
    assert smemviz.run(FILE, constants=constants, engine="lockstep").findings == ()


def test_shuffles_leave_shared_memory_one_store_a_warp_and_one_load_a_block():
    run = smemviz.run(FILE, engine="lockstep")

    requests = {}
    for kernel in ("halves", "shuffles"):
        launch = run[kernel]
        rows = zip(launch.sites, launch.summary(cc=(9, 0)), strict=True)
        requests[kernel] = sum(row.requests for site, row in rows if site.space == "shared")
    blocks, warps = 4, 8
    # Halves: a store and, of steps 128 to 1, two loads and a store in 4, 2, 1, 1, 1, 1, 1, 1 warps; then held[0].
    assert requests == {"halves": blocks * (warps + 3 * 12 + 1), "shuffles": blocks * (warps + 1)}


def test_adding_while_loading_needs_half_the_blocks_and_no_conflict():
    run = smemviz.run(FILE, engine="lockstep")
    assert (run["halves"].grid[0], run["halves_of_two_loads"].grid[0]) == (4, 2)
    assert all(row.excess in (0, None) for row in run["halves_of_two_loads"].summary())
