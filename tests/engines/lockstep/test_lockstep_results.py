"""What kernels compute in lockstep, against Numba's CUDA simulator, which runs each thread as Python code."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import simulated_kernels

import smemviz

CASES = simulated_kernels.cases()


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    path = tmp_path_factory.mktemp("simulator") / "results.npz"
    script = Path(simulated_kernels.__file__)
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    subprocess.run([sys.executable, script, path], env=environment, check=True, timeout=120)
    return np.load(path)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].py_func.__name__)
def test_arrays_end_as_in_the_simulator(case, simulated):
    kernel, grid, block, arguments = case

    recording = smemviz.record(kernel, grid, block, arguments, engine="lockstep")

    assert recording.findings == ()
    for k, array in enumerate(simulated_kernels.arrays(arguments)):
        wanted = simulated[f"{kernel.py_func.__name__}_{k}"]
        # math.* of NumPy and of the C library differ in the last bit
        np.testing.assert_allclose(array, wanted, rtol=1e-14 if kernel is simulated_kernels.mathematics else 0)
