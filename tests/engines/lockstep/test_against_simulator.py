"""What kernels leave in lockstep, against Numba's CUDA simulator, which runs each thread as Python."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import simulated_kernels

import smemviz


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """What the simulator leaves."""
    path = tmp_path_factory.mktemp("simulator") / "results.npz"
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    command = [sys.executable, "-W", "ignore", "-m", simulated_kernels.__name__, path]
    folder = Path(simulated_kernels.__file__).parents[1]
    subprocess.run(command, env=environment, check=True, timeout=300, cwd=folder)
    with np.load(path) as results:
        return dict(results)


def test_arrays_end_as_in_the_simulator(simulated):
    for case in simulated_kernels.cases():
        kernel, grid, block, arguments = case

        recording = smemviz.record(kernel, grid, block, arguments, engine="lockstep")

        assert recording.findings == ()
        for k, array in enumerate(simulated_kernels.arrays(arguments)):
            wanted = simulated[f"{kernel.py_func.__name__}_{k}"]
            # math.* of NumPy and of the C library differ in the last bit
            np.testing.assert_allclose(array, wanted, rtol=1e-14 if kernel is simulated_kernels.mathematics else 0)
