"""What CUDA has beyond loads and stores computes the same in lockstep as on a real GPU."""

import warnings
from importlib.util import find_spec

import numpy as np
import pytest

from smemviz.errors import UnsupportedError

pytestmark = pytest.mark.gpu

# Functions of the device that differ from NumPy's in the last digits: single precision in the first two.
TOLERANCES = {"floats": 1e-6, "normal_numbers": 1e-6, "complexes": 1e-14}


NOT_COUNTED = ("loops",)  # over arrays


def found_cases():
    if find_spec("numba_cuda") is None:  # the tests are skipped
        return []
    from helpers.feature_kernels import cases

    return [pytest.param(*case, id=case[0].py_func.__name__) for case in cases()]


CASES = found_cases()


@pytest.mark.parametrize(("kernel", "grid", "block", "arguments"), CASES)
def test_lockstep_computes_what_the_gpu_computes(kernel, grid, block, arguments):
    import smemviz

    real, ours = (tuple(a.copy() for a in arguments) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel[grid, block](*real)
    recording = smemviz.record(kernel, grid, block, ours, engine="lockstep")

    assert recording.findings == ()
    for one, other in zip(real, ours, strict=True):
        if one.dtype.fields is not None:
            for name in one.dtype.names:  # what lies between fields is nobody's
                np.testing.assert_array_equal(one[name], other[name])
        else:
            tolerance = TOLERANCES.get(kernel.py_func.__name__, 0)
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("kernel", "grid", "block", "arguments"), CASES)
def test_the_gpu_engine_counts_the_same_or_says_that_it_cannot(kernel, grid, block, arguments):
    import smemviz

    predicted = smemviz.record(kernel, grid, block, tuple(a.copy() for a in arguments), engine="lockstep")
    given = tuple(a.copy() for a in arguments)
    if kernel.py_func.__name__ in NOT_COUNTED:
        with pytest.raises(UnsupportedError, match=r"run with engine lockstep$"):
            smemviz.record(kernel, grid, block, given, engine="gpu")
        return
    seen = smemviz.record(kernel, grid, block, given, engine="gpu")
    assert seen.launches[0].sites == predicted.launches[0].sites
    assert seen.launches[0].summary() == predicted.launches[0].summary()
