"""What instrumented Numba kernels count, on a machine without a GPU: the requests of each class that lockstep sees."""

from importlib.util import find_spec, module_from_spec, spec_from_file_location

import numpy as np
import pytest
from helpers.random_conditions import PICK, conditional_kernel
from helpers.random_kernels import SIZE, python_file

import smemviz
from smemviz.model.counting.summary import totals_of

QUICK = ("below_zero", "a_part_that_a_function_returns")
# Numba orders nothing within a warp, and PTX is looked at for races; it ends a thread after it has counted.
FOUND_FAULTY = ("views_and_swaps", "wide_patterns", "early_return_before_a_barrier")

NEEDS_NUMBA = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="needs numba-cuda, which compiles")


def cases():
    if find_spec("numba_cuda") is None:
        return []
    from helpers.kernels_for_tests import cases as found

    return [
        pytest.param(*case[:4], id=name, marks=[] if name in QUICK else [pytest.mark.exhaustive])
        for case in found()
        if not case[4] and (name := case[0].py_func.__name__) not in FOUND_FAULTY
    ]


@NEEDS_NUMBA
@pytest.mark.parametrize(("kernel", "grid", "block", "arguments"), cases())
def test_as_many_requests_are_counted_as_lockstep_sees(kernel, grid, block, arguments):
    count(kernel, grid, block, arguments)


@NEEDS_NUMBA
@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", [1, 2, 5, 8, 13, 21, 34, 55])
def test_as_many_requests_of_conditions_are_counted_as_lockstep_sees(seed, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(python_file([conditional_kernel(seed)], before=PICK["py"]), encoding="utf-8")
    spec = spec_from_file_location("mine", file)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)

    count(module.k, 2, SIZE, (np.zeros(SIZE, np.int32), np.arange(SIZE, dtype=np.int32)))


def count(kernel, grid, block, arguments):
    """Hold what an instrumented kernel counts and writes against what lockstep sees."""
    from helpers.counted_numba import passes_of

    ours, theirs = (tuple(a.copy() if isinstance(a, np.ndarray) else a for a in arguments) for _ in range(2))
    passes = passes_of(kernel, grid, block, ours)
    totals = passes.count()
    passes.capability = (7, 5)  # where a warp does not find the largest of its values in one instruction
    older = passes.count()
    (launch,) = smemviz.record(kernel, grid, block, theirs, engine="lockstep").launches

    expected = totals_of(launch.sites, launch.requests)
    assert passes.sites == launch.sites
    for name in ("requests", "wavefronts", "ideal", "sectors", "degrees"):
        np.testing.assert_array_equal(getattr(totals, name), getattr(expected, name))
        np.testing.assert_array_equal(getattr(older, name), getattr(expected, name))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)
    blocks, warps = int(np.prod(passes.configuration.grid)), -(-int(np.prod(passes.configuration.block)) // 32)
    written, whole = passes.write(np.ones(blocks * warps, np.bool_), int(totals.requests.sum()), ())
    assert whole
    for name in ("site", "block", "warp", "epoch", "values"):  # a compiler may turn the sides of a branch around
        one, other = (getattr(of_each, name)[in_order_of_sites(of_each)] for of_each in (written, launch.requests))
        np.testing.assert_array_equal(one, other)


def in_order_of_sites(requests):
    return np.lexsort((requests.step, requests.warp, requests.block, requests.site))
