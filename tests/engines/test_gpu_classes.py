"""Counts by class, as the GPU makes them, turned into totals; no GPU is needed for that."""

import numpy as np

from smemviz.engines.gpu.ptx.access_calls import served_as, shape_of_counts, totals
from smemviz.recordings.data import Site
from smemviz.recordings.vocabulary import ATOMICS, POPULATION_COUNT, REDUCTIONS


def site(space, op, width):
    return Site(1, 0, 1, 1, "a[i]", "a", space, op, width, "float32", "kernel")


def test_wavefronts_of_a_warp_served_as_one_group_are_its_degree():
    sites = (site("global", "load", 4), site("shared", "store", 4), site("shared", "atomic_add", 8))
    assert shape_of_counts(sites) == (1024, 3, 33)
    counts = np.zeros((2, 3, 33), np.int64)
    counts[0, 0, 4], counts[1, 0, 4], counts[1, 0, 32] = 10, 20, 1
    counts[0, 1, 1], counts[1, 1, 2] = 100, 3
    counts[1, 2, 32] = 7

    found = totals(sites, counts)

    assert found.requests.tolist() == [31, 103, 7]
    assert found.sectors.tolist() == [30 * 4 + 32, 0, 0]
    assert found.wavefronts.tolist() == [0, 100 + 2 * 3, 7 * 32]
    assert found.ideal.tolist() == [0, 103, 7]
    assert found.degrees.sum(axis=1).tolist() == [0, 103, 7]
    assert (found.degrees[1, 1], found.degrees[1, 2], found.degrees[2, 32]) == (100, 3, 7)


def test_a_warp_served_in_groups_has_a_degree_and_an_ideal_beside_its_wavefronts():
    sites = (site("shared", "load", 8), site("shared", "store", 16), site("shared", "load", 4))
    copies, _, classes = shape_of_counts(sites)
    assert classes == 5 * 33 * 33
    assert copies * 3 * classes * 8 <= 32 * 1024 * 1024
    counts = np.zeros((1, 3, classes), np.int64)
    counts[0, 0, (2 * 33 + 16) * 33 + 17] = 5  # one half 16-way, the other without a conflict
    counts[0, 1, (4 * 33 + 8) * 33 + 32] = 2
    counts[0, 2, 9] = 1

    found = totals(sites, counts)

    assert found.requests.tolist() == [5, 2, 1]
    assert found.wavefronts.tolist() == [85, 64, 9]
    assert found.ideal.tolist() == [10, 8, 1]
    assert (found.degrees[0, 16], found.degrees[1, 8], found.degrees[2, 9]) == (5, 2, 1)


def test_a_kernel_without_sites_has_no_totals():
    assert totals((), np.zeros(shape_of_counts(()), np.int64)).requests.tolist() == []


def test_the_device_serves_a_request_by_the_rule_of_the_model():
    """The numbers stood in the device functions, whose counts were held against Nsight Compute's on an H200."""
    for ops, widths, served in [
        (("load", "store", POPULATION_COUNT), (1, 2, 4), (4, 32, 32, False, True)),
        (("load",), (8,), (8, 16, 16, True, True)),
        (("load",), (16,), (16, 8, 8, True, True)),
        (("store",), (8,), (8, 16, 16, False, True)),
        (("store",), (16,), (16, 8, 8, False, True)),
        (sorted(ATOMICS | REDUCTIONS - {POPULATION_COUNT}), (4,), (4, 32, 32, False, False)),
        (sorted(ATOMICS | REDUCTIONS - {POPULATION_COUNT}), (8,), (8, 16, 32, False, False)),
    ]:
        for op in ops:
            for width in widths:
                assert served_as(op, width) == served, (op, width)
