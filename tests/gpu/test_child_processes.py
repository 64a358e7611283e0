"""Processes that a script starts: what they launch on a GPU is recorded where a GPU can be used."""

import subprocess
import sys

import pytest

import smemviz

pytestmark = pytest.mark.gpu

SCRIPT = """
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
import numpy as np
from numba import cuda

N = 1

@cuda.jit
def kernel(out):
    out[cuda.grid(1)] = N

def work(n):
    out = np.zeros(n)
    kernel[1, n](out)
    return out.sum()

if __name__ == "__main__":
    method, first, executor = sys.argv[1:]
    if int(first):
        work(8)
    context = multiprocessing.get_context(method)
    if int(executor):
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            assert list(pool.map(work, [4, 2])) == [4 * N, 2 * N]
    else:
        with context.Pool(1) as pool:
            assert pool.map(work, [4, 2]) == [4 * N, 2 * N]
"""


def recorded(folder, *arguments, engine="gpu"):
    """Run the script by itself, in a process that has not used the GPU; return its recording."""
    path = folder / "script.py"
    path.write_text(SCRIPT)
    command = [sys.executable, "-m", "smemviz", "run", str(path), "--engine", engine, "--set", "N=3"]
    command += ["-o", str(folder / "it.smem.npz"), "--", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    print(done.stdout, done.stderr)
    return smemviz.load(folder / "it.smem.npz")


@pytest.mark.parametrize("executor", ["0", "1"])
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_that_are_started_anew_are_recorded(tmp_path, method, executor):
    recording = recorded(tmp_path, method, "1", executor)
    assert recording.findings == ()
    assert [launch.block[0] for launch in recording.launches] == [8, 4, 2]
    assert recording.engine == "gpu"


@pytest.mark.parametrize("engine", ["gpu", "auto"])
def test_a_forked_process_is_recorded_where_its_parent_has_not_used_the_gpu(tmp_path, engine):
    recording = recorded(tmp_path, "fork", "0", "0", engine=engine)
    assert recording.findings == ()
    assert [launch.block[0] for launch in recording.launches] == [4, 2]
    assert recording.engine == "gpu"


def test_a_forked_process_fails_where_its_parent_has_used_it_as_it_does_by_itself(tmp_path):
    recording = recorded(tmp_path, "fork", "1", "0")
    assert [launch.block[0] for launch in recording.launches] == [8]
    assert {finding.kind for finding in recording.findings} == {"launch_refused", "main_failed"}
    told = next(finding for finding in recording.findings if finding.kind == "launch_refused")
    assert "a process that is forked from one that has used the GPU cannot use it" in told.message


WITH_STATEMENT = """
import sys
from concurrent.futures import ProcessPoolExecutor
import multiprocessing
import numpy as np
from numba import cuda
import smemviz

@cuda.jit
def kernel(out):
    out[cuda.grid(1)] = 1

def work(n):
    out = np.zeros(n)
    kernel[1, n](out)
    return out.sum()

if __name__ == "__main__":
    with smemviz.recording() as recorded:
        work(8)
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(sys.argv[1])) as pool:
            assert list(pool.map(work, [4, 2])) == [4, 2]
    assert recorded.findings == () and recorded.engine == "gpu"
    print([launch.block[0] for launch in recorded.launches])
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_that_are_started_in_a_with_statement_are_recorded(tmp_path, method):
    (tmp_path / "script.py").write_text(WITH_STATEMENT)
    command = [sys.executable, str(tmp_path / "script.py"), method]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout == "[8, 4, 2]\n", done.stderr
