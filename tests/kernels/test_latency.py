"""The chases of the gallery: where they lead, and how many cycles a step took on the H200."""

import itertools
import re

import numpy as np
import pytest
from helpers.gallery import h200

import smemviz
from smemviz.frontends.reading import read_program
from smemviz.paths import kernels_dir

FILE = kernels_dir() / "latency.py"
MEMORIES = ["register", "shared_memory", "constant_memory", "l1_cache", "l2_cache", "global_memory"]


@pytest.fixture(scope="module")
def recorded():
    return h200("latency")


def cycles(recording, kernel):
    """Return the cycles of a step: the short chase taken off the long one, at the clock they ran at."""
    short, long = (launch.time for launch in recording.launches if launch.kernel == kernel)
    megahertz = float(short.conditions["SM clock"].removesuffix(" MHz"))
    constants = read_program(FILE).values
    return (long.median_us - short.median_us) * megahertz / (constants["LONG"] - constants["SHORT"])


@pytest.mark.exhaustive
def test_each_memory_is_chased_twice_and_nothing_is_found():
    run = smemviz.run(FILE, engine="lockstep")

    assert [launch.kernel for launch in run.launches] == [name for name in MEMORIES for _ in range(2)]
    assert run.findings == ()


@pytest.mark.parametrize(("kernel", "revisits"), [("l1_cache", 17), ("l2_cache", 1), ("global_memory", 1)])
def test_a_long_chase_comes_to_a_line_again_only_in_l1(kernel, revisits):
    run = smemviz.run(FILE, engine="lockstep", kernels=[kernel])

    launch = run.launches[-1]
    chase = next(i for i, site in enumerate(launch.sites) if site.source == "places[place]")
    addresses = launch.requests.addresses[launch.requests.site == chase].max(axis=1)
    lines, visits = np.unique(addresses // 128, return_counts=True)
    assert len(addresses) == 1088
    assert set(visits) == {revisits}
    assert len(lines) == 1088 // revisits


def test_the_table_of_the_file_is_what_the_h200_took(recorded):
    text = FILE.read_text(encoding="utf-8")
    told = [int(figure) for figure in re.findall(r"^    \w+ +(\d+) +[\d-]+", text, flags=re.M)]

    measured = [cycles(recorded, kernel) for kernel in MEMORIES]
    assert told == [round(one) for one in measured]


def test_each_memory_is_slower_than_the_one_before_it(recorded):
    measured = [cycles(recorded, kernel) for kernel in MEMORIES]

    assert all(one < other for one, other in itertools.pairwise(measured))
    assert 4 <= measured[0] < 5  # an FMUL of compute capability 9.0 takes 4 cycles
