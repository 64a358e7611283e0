"""The stencil of the gallery: right for other sizes, and what the halo and the barrier are for."""

from __future__ import annotations

import pytest

import smemviz
from smemviz.engines.sandbox.run import run_text
from smemviz.paths import kernels_dir

FILE = kernels_dir() / "stencil.py"


@pytest.mark.parametrize(
    "constants",
    [{"RADIUS": 0}, {"RADIUS": 16, "THREADS": 32}, {"N": 100, "THREADS": 64}, {"N": 1000, "THREADS": 1024}],
    ids=str,
)
def test_other_sizes_give_numpys_sums(constants: dict[str, int]) -> None:
    assert smemviz.run(FILE, constants=constants, engine="lockstep").findings == ()


def test_a_block_loads_its_elements_and_their_halo_once() -> None:
    run = smemviz.run(FILE, engine="lockstep")
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


def test_no_access_to_the_shared_array_has_a_conflict() -> None:
    launch = smemviz.run(FILE, engine="lockstep")["from_shared_memory"]
    shared = [row for site, row in zip(launch.sites, launch.summary(), strict=True) if site.space == "shared"]
    assert len(shared) == 3
    assert all(row.excess == 0 for row in shared)


def test_without_its_barrier_it_is_a_race() -> None:
    text = FILE.read_text("utf-8").replace("    cuda.syncthreads()\n", "")
    assert {one.kind for one in run_text(text).recording.findings} == {"race"}
