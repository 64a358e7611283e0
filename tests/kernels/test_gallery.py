"""Sums, the stencil, sub-matrices and chases of the gallery: right for other sizes, and what each costs."""

import itertools
import re

import numpy as np
import pytest
from helpers.gallery import h200
from helpers.tiers import one_in

import smemviz
from smemviz.engines.sandbox.run import run_text
from smemviz.errors import KernelFileError
from smemviz.frontends.reading import read_program
from smemviz.model.counting.matmul import traffic
from smemviz.paths import kernels_dir

REDUCE, STENCIL, SUBMATRIX, LATENCY = (
    kernels_dir() / f"{name}.py" for name in ("reduce", "stencil", "submatrix", "latency")
)
CHANGES = [
    (REDUCE, {"N": 100, "THREADS": 32}),
    (REDUCE, {"N": 3000, "THREADS": 1024}),
    (STENCIL, {"RADIUS": 0}),
    (STENCIL, {"RADIUS": 16, "THREADS": 32}),
    (STENCIL, {"N": 100, "THREADS": 64}),
    (STENCIL, {"N": 1000, "THREADS": 1024}),
    (SUBMATRIX, {"M": 48, "K": 32, "N": 80}),
    (SUBMATRIX, {"A_STRIDE": 72, "B_STRIDE": 65, "C_STRIDE": 100}),
]


def test_other_sizes_and_strides_give_numpys_result():
    for file, constants in CHANGES:
        assert smemviz.run(file, constants=constants, engine="lockstep").findings == ()


def test_shuffles_leave_shared_memory_one_store_a_warp_and_one_load_a_block():
    run = smemviz.run(REDUCE, engine="lockstep")

    requests = {}
    for kernel in ("halves", "shuffles"):
        launch = run[kernel]
        rows = zip(launch.sites, launch.summary(cc=(9, 0)), strict=True)
        requests[kernel] = sum(row.requests for site, row in rows if site.space == "shared")
    blocks, warps = 4, 8
    # Halves: a store and, of steps 128 to 1, two loads and a store in 4, 2, 1, 1, 1, 1, 1, 1 warps; then held[0].
    assert requests == {"halves": blocks * (warps + 3 * 12 + 1), "shuffles": blocks * (warps + 1)}


def test_adding_while_loading_needs_half_the_blocks_and_no_conflict():
    run = smemviz.run(REDUCE, engine="lockstep")
    assert (run["halves"].grid[0], run["halves_of_two_loads"].grid[0]) == (4, 2)
    assert all(row.excess in (0, None) for row in run["halves_of_two_loads"].summary())


def test_a_block_loads_its_elements_and_their_halo_once():
    run = smemviz.run(STENCIL, engine="lockstep")
    loads = {}
    for kernel in ("from_global_memory", "from_shared_memory"):
        launch = run[kernel]
        of_values = [i for i, site in enumerate(launch.sites) if (site.op, site.array) == ("load", "values")]
        loads[kernel] = sum(int((launch.requests.addresses[launch.requests.site == i] >= 0).sum()) for i in of_values)
    threads, radius, blocks = 128, 3, 4
    assert loads == {
        "from_global_memory": blocks * threads * (2 * radius + 1),
        "from_shared_memory": blocks * (threads + 2 * radius),
    }


def test_no_access_to_the_shared_array_has_a_conflict():
    launch = smemviz.run(STENCIL, engine="lockstep")["from_shared_memory"]
    shared = [row for site, row in zip(launch.sites, launch.summary(), strict=True) if site.space == "shared"]
    assert len(shared) == 3
    assert all(row.excess == 0 for row in shared)


def test_without_its_barrier_it_is_a_race():
    text = STENCIL.read_text("utf-8").replace("    cuda.syncthreads()\n", "")
    assert {one.kind for one in run_text(text).recording.findings} == {"race"}


SIDE = 64


# Per warp and k the first kernel loads a sector of a for each of its 32/T rows and T/8 of b, the second 4 of each in T.
def test_sub_matrices_divide_what_is_loaded_by_their_side():
    for tile, sectors in [(8, (40960, 8192)), (16, (32768, 4096)), (32, (40960, 2048))]:
        run = smemviz.run(SUBMATRIX, constants={"TILE": tile}, engine="lockstep")

        alone, shared, strips = (traffic(launch) for launch in run.launches)
        assert run.findings == ()
        assert strips == shared  # all tiles at once are loaded as often
        assert run["by_whole_strips"].shared_bytes == 4 * (tile * (SIDE + tile) + SIDE * tile)
        assert (alone.elements_loaded, shared.elements_loaded) == (2 * SIDE**3, 2 * SIDE**3 // tile)
        assert (alone.load_sectors, shared.load_sectors) == sectors
        assert (shared.excess, shared.shared_loads) == (0, 2 * SIDE**3 // 32)


def test_sizes_that_are_no_multiple_of_the_tile_are_refused_in_words():
    with pytest.raises(KernelFileError, match="M, K and N have to be multiples of TILE"):
        smemviz.run(SUBMATRIX, constants={"K": 30}, engine="lockstep")


MEMORIES = ["register", "shared_memory", "constant_memory", "l1_cache", "l2_cache", "global_memory"]


@pytest.fixture(scope="module")
def recorded():
    return h200("latency")


def cycles(recording, kernel):
    """Return the cycles of a step: the short chase taken off the long one, at the clock they ran at."""
    short, long = (launch.time for launch in recording.launches if launch.kernel == kernel)
    megahertz = float(short.conditions["SM clock"].removesuffix(" MHz"))
    constants = read_program(LATENCY).values
    return (long.median_us - short.median_us) * megahertz / (constants["LONG"] - constants["SHORT"])


@pytest.mark.exhaustive
def test_each_memory_is_chased_twice_and_nothing_is_found():
    run = smemviz.run(LATENCY, engine="lockstep")

    assert [launch.kernel for launch in run.launches] == [name for name in MEMORIES for _ in range(2)]
    assert run.findings == ()


@pytest.mark.parametrize(("kernel", "revisits"), one_in(3, [("l1_cache", 17), ("l2_cache", 1), ("global_memory", 1)]))
def test_a_long_chase_comes_to_a_line_again_only_in_l1(kernel, revisits):
    run = smemviz.run(LATENCY, engine="lockstep", kernels=[kernel])

    launch = run.launches[-1]
    chase = next(i for i, site in enumerate(launch.sites) if site.source == "places[place]")
    addresses = launch.requests.addresses[launch.requests.site == chase].max(axis=1)
    lines, visits = np.unique(addresses // 128, return_counts=True)
    assert len(addresses) == 1088
    assert set(visits) == {revisits}
    assert len(lines) == 1088 // revisits


def test_the_table_of_the_file_is_what_the_h200_took(recorded):
    text = LATENCY.read_text(encoding="utf-8")
    told = [int(figure) for figure in re.findall(r"^    \w+ +(\d+) +[\d-]+", text, flags=re.M)]

    measured = [cycles(recorded, kernel) for kernel in MEMORIES]
    assert told == [round(one) for one in measured]


def test_each_memory_is_slower_than_the_one_before_it(recorded):
    measured = [cycles(recorded, kernel) for kernel in MEMORIES]

    assert all(one < other for one, other in itertools.pairwise(measured))
    assert 4 <= measured[0] < 5  # an FMUL of compute capability 9.0 takes 4 cycles
