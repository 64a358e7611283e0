"""What loops and other kernels leave in lockstep, against Numba's CUDA simulator, which runs each thread as Python."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import simulated_kernels, simulated_loops
from helpers.lockstep_text import PLACE, text_kernel

import smemviz
from smemviz.engines.launch_shape import configuration
from smemviz.engines.lockstep import launch


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """What the simulator leaves of loops, and of other kernels."""
    folder = tmp_path_factory.mktemp("simulator")
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    for module in (simulated_loops, simulated_kernels):
        path = folder / f"{module.__name__}.npz"
        command = [sys.executable, "-W", "ignore", "-m", module.__name__, path]
        subprocess.run(command, env=environment, check=True, timeout=300, cwd=Path(module.__file__).parents[1])
    return {key: array for path in folder.glob("*.npz") for key, array in np.load(path).items()}


@pytest.mark.parametrize("case", simulated_loops.CASES)
def test_a_loop_leaves_what_it_leaves_in_the_simulator(case, simulated):
    kind, _ = simulated_loops.CASES[case]
    arguments = kind.arguments()
    kernel, shape = text_kernel(simulated_loops.text_of(case)), configuration(PLACE, (1, kind.block))

    _, findings = launch(kernel, shape, arguments, PLACE)

    assert not [finding for finding in findings if not finding.harmless]
    for k, array in enumerate(simulated_loops.arrays(arguments)):
        # math.* of NumPy and of the C library differ in the last bit
        np.testing.assert_allclose(array, simulated[f"{case} {k}"], rtol=1e-13, atol=0)


@pytest.mark.parametrize("case", simulated_kernels.cases(), ids=lambda case: case[0].py_func.__name__)
def test_arrays_end_as_in_the_simulator(case, simulated):
    kernel, grid, block, arguments = case

    recording = smemviz.record(kernel, grid, block, arguments, engine="lockstep")

    assert recording.findings == ()
    for k, array in enumerate(simulated_kernels.arrays(arguments)):
        wanted = simulated[f"{kernel.py_func.__name__}_{k}"]
        # math.* of NumPy and of the C library differ in the last bit
        np.testing.assert_allclose(array, wanted, rtol=1e-14 if kernel is simulated_kernels.mathematics else 0)
