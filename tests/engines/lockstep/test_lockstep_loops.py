"""What loops leave in lockstep, against Numba's CUDA simulator, which runs each thread as Python code."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import simulated_loops
from helpers.lockstep_text import PLACE, text_kernel

from smemviz.engines.launch_shape import configuration
from smemviz.engines.lockstep import launch


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    path = tmp_path_factory.mktemp("simulator") / "results.npz"
    tests = Path(simulated_loops.__file__).parents[1]
    command = [sys.executable, "-W", "ignore", "-m", "helpers.simulated_loops", path]
    subprocess.run(command, env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}, check=True, timeout=300, cwd=tests)
    return np.load(path)


@pytest.mark.parametrize("case", simulated_loops.CASES)
def test_a_loop_leaves_what_it_leaves_in_the_simulator(case, simulated):
    kind, _ = simulated_loops.CASES[case]
    arguments = kind.arguments()
    kernel, shape = text_kernel(simulated_loops.text_of(case)), configuration(PLACE, (1, kind.BLOCK))

    _, findings = launch(kernel, shape, arguments, PLACE)

    assert not [finding for finding in findings if not finding.harmless]
    for k, array in enumerate(simulated_loops.arrays(arguments)):
        # math.* of NumPy and of the C library differ in the last bit
        np.testing.assert_allclose(array, simulated[f"{case} {k}"], rtol=1e-13, atol=0)
