"""Kernels that Numba makes of a script's functions on a real GPU: recorded as in lockstep, and timed."""

from pathlib import Path

import pytest

import smemviz

pytestmark = pytest.mark.gpu

HEAD = """
import numpy as np
from numba import cuda, vectorize
"""

VECTORIZED = """
from numba import guvectorize

@vectorize(["float32(float32, float32)", "float64(float64, float64)"], target="cuda")
def plus(a, b):
    return a + 2 * b

@guvectorize(["void(float64[:], float64, float64[:])"], "(n),()->(n)", target="cuda")
def scaled(a, by, out):
    for k in range(a.shape[0]):
        out[k] = a[k] * by

@cuda.jit
def kernel(out):
    out[cuda.grid(1)] += 1

a = np.arange(64.0)
out = plus(a, a)
kernel[2, 32](out)
assert np.array_equal(out, 3 * a + 1)
assert np.array_equal(plus(cuda.to_device(a), cuda.to_device(a)).copy_to_host(), 3 * a)
assert np.array_equal(plus(a.reshape(8, 8), 1.0), a.reshape(8, 8) + 2)
assert np.array_equal(scaled(a.reshape(16, 4), np.arange(16.0)), a.reshape(16, 4) * np.arange(16.0)[:, None])
assert plus.reduce(np.ones(3)) == 5
"""


def test_vectorized_functions_are_recorded_as_in_lockstep(tmp_path):
    (tmp_path / "script.py").write_text(HEAD + VECTORIZED)
    seen, predicted = (smemviz.run(tmp_path / "script.py", engine=engine) for engine in ("gpu", "lockstep"))
    assert seen.findings == predicted.findings == ()
    names = ["vectorized_plus", "kernel", "vectorized_plus", "vectorized_plus", "vectorized_scaled"]
    assert [launch.kernel for launch in seen.launches] == names + ["vectorized_plus"] * 2
    for one, other in zip(seen.launches[:5], predicted.launches[:5], strict=True):
        assert (one.sites, one.file, one.grid, one.block) == (other.sites, other.file, other.grid, other.block)
        for row, told in zip(one.summary(), other.summary(), strict=True):
            assert (row.requests, row.sectors) == (told.requests, told.sectors)
    assert seen.sources == predicted.sources


def test_the_kernels_of_a_reduction_are_recorded_with_numba_s_lines(tmp_path):
    """300 numbers are two blocks of 128, then 44, then the three that these leave."""
    text = """
@cuda.reduce
def total(a, b):
    return a + b

assert total(np.arange(300.0)) == 44850
assert cuda.reduce(lambda a, b: max(a, b))(np.arange(64, dtype=np.int32)) == 63
"""
    (tmp_path / "script.py").write_text(HEAD + text)
    recording, predicted = (smemviz.run(tmp_path / "script.py", engine=engine) for engine in ("gpu", "lockstep"))
    assert recording.findings == predicted.findings == ()
    assert {launch.kernel for launch in recording.launches} == {"gpu_reduce_block_strided"}
    for one, other in zip(recording.launches, predicted.launches, strict=True):
        assert (one.sites, one.grid, one.block) == (other.sites, other.grid, other.block)
        counts = ([(row.requests, row.wavefronts) for row in launch.summary()] for launch in (one, other))
        assert next(counts) == next(counts)
    shapes = [(launch.grid[0], launch.block[0]) for launch in recording.launches]
    assert shapes == [(2, 128), (1, 44), (1, 3), (1, 64)]
    assert {Path(launch.file).name for launch in recording.launches} == {"reduction.py"}
    first = recording.launches[0]
    counted = {site.source: row.wavefronts for site, row in zip(first.sites[:3], first.summary()[:3], strict=True)}
    assert counted["sm_this[laneid]"] == 16  # eight warps store 8 bytes a lane, in two groups of 16


WITH_MAIN = """
import importlib
from numba import guvectorize

gpu = importlib.import_module("numba.cuda")

@vectorize(["float64(float64, float64)"], target="cuda")
def plus(a, b):
    return a + 2 * b

@guvectorize(["void(float64[:], float64, float64[:])"], "(n),()->(n)", target="cuda")
def scaled(a, by, out):
    for k in range(a.shape[0]):
        out[k] = a[k] * by

@cuda.reduce
def total(a, b):
    return a + b

@gpu.jit
def kernel(out):
    out[gpu.grid(1)] += 1

def main():
    a = np.arange(64.0)
    out = plus(a, a)
    kernel[2, 32](out)
    kernel.forall(64, tpb=32)(out)
    assert np.array_equal(out, 3 * a + 2)
    assert np.array_equal(scaled(a.reshape(16, 4), np.arange(16.0)), a.reshape(16, 4) * np.arange(16.0)[:, None])
    assert total(a) == a.sum()
"""
MADE = ["vectorized_plus", "kernel", "kernel", "vectorized_scaled", "gpu_reduce_block_strided"]


def test_a_file_with_main_has_every_kernel_once_that_a_script_has(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + WITH_MAIN)
    (tmp_path / "script.py").write_text(HEAD + WITH_MAIN + "\nmain()\n")
    seen, as_script = smemviz.run(path, engine="gpu"), smemviz.run(tmp_path / "script.py", engine="gpu", arguments=[])
    assert seen.findings == as_script.findings == ()
    assert [launch.kernel for launch in seen.launches] == [launch.kernel for launch in as_script.launches] == MADE
    assert [launch.summary() for launch in seen.launches] == [launch.summary() for launch in as_script.launches]


def test_kernels_that_numba_makes_are_timed_once_each_and_none_for_being_timed(tmp_path):
    from smemviz.frontends.reading import read_program
    from smemviz.measure.time.python_time import time_program

    path = tmp_path / "kernels.py"
    path.write_text(HEAD + WITH_MAIN)
    timed = time_program(read_program(path))
    assert list(timed.kernels) == MADE
    assert all(time.median_us > 0 for time in timed.times)
    assert not any("on a stream" in note for time in timed.times for note in time.notes)
