"""Scripts and with statements on a real GPU: the same as lockstep, and nothing of it stays."""

from pathlib import Path

import numpy as np
import pytest
from helpers.script_files import write_script

import smemviz
from smemviz.errors import LaunchError

pytestmark = pytest.mark.gpu


@pytest.fixture
def script(tmp_path):
    return write_script(tmp_path)


def kernel_under_test():
    from numba import cuda, int32

    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(64, int32)
        i = cuda.threadIdx.x
        tile[2 * i] = out[i]
        out[i] = tile[2 * i] + 1

    return kernel


def test_a_script_makes_the_same_requests_as_in_lockstep(script):
    """Its own assertions hold too: the kernels' results are those of the plain run."""
    seen, predicted = (smemviz.run(script, engine=engine, arguments=["--steps", "3"]) for engine in ("gpu", "lockstep"))
    assert seen.findings == ()
    assert [launch.kernel for launch in seen.launches] == ["transpose"] * 3 + ["by_columns"]
    assert [launch.sites for launch in seen.launches] == [launch.sites for launch in predicted.launches]
    assert [launch.summary() for launch in seen.launches] == [launch.summary() for launch in predicted.launches]
    assert [launch.file for launch in seen.launches] == [launch.file for launch in predicted.launches]
    assert seen.sources == predicted.sources
    assert seen.device is not None


def test_kernels_of_one_definition_and_other_closures_are_told_apart():
    from numba import cuda

    def made(stride):
        size = 32 * stride

        @cuda.jit
        def strided(out):
            tile = cuda.shared.array(size, np.int32)
            i = cuda.threadIdx.x
            tile[i * stride] = i
            out[i] = tile[i * stride]

        return strided

    out = cuda.to_device(np.zeros(32, np.int32))
    with smemviz.recording() as recorded:
        for stride in (1, 2, 32):
            made(stride)[1, 32](out)
    assert [launch.summary()[0].wavefronts for launch in recorded.launches] == [1, 2, 32]


def test_launches_in_a_with_statement_happen_once_and_are_recorded():
    from numba import cuda

    kernel, numbers = kernel_under_test(), np.zeros(32, np.int32)
    before, configured = cuda.to_device(numbers), kernel[1, 32]
    with smemviz.recording() as recorded:
        configured(before)  # an array and a configuration from before
        kernel[1, 32, cuda.stream()](before)
        kernel[1, 32](numbers)
        kernel.forall(32, tpb=32)(before)
    assert before.copy_to_host().tolist() == [3] * 32
    assert numbers.tolist() == [1] * 32
    assert [launch.summary()[1].max_degree for launch in recorded.launches] == [2] * 4
    assert recorded.engine == "gpu"
    assert recorded.file == Path(__file__).as_posix()


def test_one_with_statement_in_another_tells_both():
    kernel, numbers = kernel_under_test(), np.zeros(32, np.int32)
    with smemviz.recording() as outer:
        kernel[1, 32](numbers)
        with smemviz.recording() as inner:
            kernel[1, 32](numbers)
    assert (len(outer.launches), len(inner.launches)) == (2, 1)
    assert numbers.tolist() == [2] * 32


def test_an_exception_passes_and_leaves_everything_as_it_was():
    from numba.cuda.dispatcher import CUDADispatcher

    before = dict(vars(CUDADispatcher))
    with pytest.raises(KeyError), smemviz.recording() as recorded:
        kernel_under_test()[1, 32](np.zeros(32, np.int32)) or {}["mine"]
    assert dict(vars(CUDADispatcher)) == before
    assert len(recorded.launches) == 1


def test_what_numba_launches_for_itself_happens_and_is_not_recorded():
    from numba import cuda
    from numba.cuda.random import create_xoroshiro128p_states

    with smemviz.recording() as recorded:
        create_xoroshiro128p_states(64, seed=1)
        kernel_under_test()[1, 32](np.zeros(32, np.int32))
        cuda.synchronize()
    assert [launch.kernel for launch in recorded.launches] == ["kernel"]


def test_lockstep_can_be_asked_for_beside_a_gpu():
    numbers = np.zeros(32, np.int32)
    with smemviz.recording(engine="lockstep") as recorded:
        kernel_under_test()[1, 32](numbers)
    assert (recorded.engine, recorded.device) == ("lockstep", None)
    assert numbers.tolist() == [1] * 32


# --- what a script does by itself it does recorded

HEAD = """
import math
import numba.cuda as gpu
import numpy as np
from numba import cuda, float32
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32
"""

RANDOM = """
@cuda.jit
def kernel(states, out):
    i = cuda.grid(1)
    out[i] = xoroshiro128p_uniform_float32(states, i)

out = np.zeros(64, np.float32)
kernel[2, 32](create_xoroshiro128p_states(64, seed=1), out)
assert 0 < out.min() and out.max() < 1
"""

LOOPS = """
@cuda.jit
def kernel(rows, pairs, out):
    i = cuda.grid(1)
    for x in rows[i]:
        out[i] += x
    for k, (x, y) in enumerate(zip(rows[i], rows[0]), 1):
        out[i] += k * x * y
    for a, b in pairs:
        out[i] += a - b
    a, b = pairs[i % 4]
    tile = cuda.shared.array((32, 3), float32)
    tile[i] = a, b, a
    out[i] += tile[i, 1]

rows, pairs, out = np.arange(128.0).reshape(32, 4), np.arange(8.0).reshape(4, 2), np.zeros(32)
kernel[1, 32](rows, pairs, out)
wanted = rows.sum(1) + (rows * rows[0] * [1, 2, 3, 4]).sum(1) + (pairs[:, 0] - pairs[:, 1]).sum()
assert np.allclose(out, wanted + pairs[np.arange(32) % 4, 1])
"""

NAMES = """
@gpu.jit
def kernel(out):
    tile = gpu.shared.array(32 + 2, numba.float32)
    tile[gpu.threadIdx.x] = gpu.grid(1)
    gpu.syncthreads()
    out[gpu.grid(1)] = tile[31 - gpu.threadIdx.x]

out = np.zeros(64)
kernel[2, 32](out)
assert np.array_equal(out.reshape(2, 32)[:, ::-1].ravel(), np.arange(64))
"""

LATE = """
@cuda.jit
def kernel(out):
    out[cuda.grid(1)] = 1

def main(now=False):
    if now:
        kernel[1, 32](np.zeros(32))

if __name__ == "__main__":
    main(True)
"""

NUMERIC = """
@cuda.jit
def kernel(out):
    i = cuda.grid(1)
    for k in range(math.ceil(i / 4)):
        out[i] += k
    if out[i] > float("inf"):
        out[i] = 0

kernel[1, 32](np.zeros(32))
"""


DECLARED = """
@cuda.jit("int32(float64[:], int32)", device=True)
def whole(a, i):
    return a[i] + 0.75

@cuda.jit(["float32(float32)", "float64(float64)"], device=True)
def third(x):
    return x / 3

@cuda.jit
def kernel(a, out):
    i = cuda.threadIdx.x
    out[whole(a, i * 0.5)] = third(np.float32(1))

out = np.zeros(32)
kernel[1, 32](np.arange(32.0), out)
assert out[0] == np.float64(np.float32(1) / np.float32(3))
"""


@pytest.mark.parametrize("body", [RANDOM, LOOPS, NAMES, LATE, NUMERIC, DECLARED])
def test_a_script_runs_recorded_as_it_runs_by_itself(body, tmp_path):
    (tmp_path / "script.py").write_text(HEAD + "import numba\n" + body)
    seen, predicted = (smemviz.run(tmp_path / "script.py", engine=engine) for engine in ("gpu", "lockstep"))
    assert seen.findings == predicted.findings == ()
    assert [launch.sites for launch in seen.launches] == [launch.sites for launch in predicted.launches]
    assert [launch.summary() for launch in seen.launches] == [launch.summary() for launch in predicted.launches]


def test_a_kernel_that_is_not_counted_runs_and_discards_nothing(tmp_path):
    text = """
@cuda.jit
def fills(out):
    out[0:4] = 1

@cuda.jit
def kernel(out):
    out[cuda.grid(1)] += 1

out = cuda.to_device(np.zeros(32))
kernel[1, 32](out)
fills[1, 1](out)
kernel[1, 32](out)
assert out.copy_to_host().sum() == 4 * 2 + 28 * 2
"""
    (tmp_path / "script.py").write_text(HEAD + text)
    recording = smemviz.run(tmp_path / "script.py", engine="gpu")
    assert [launch.kernel for launch in recording.launches] == ["kernel", "kernel"]
    (finding,) = recording.findings
    assert (finding.kind, finding.kernel) == ("launch_refused", "fills")
    assert finding.message.endswith("It ran and is not recorded.")


def test_a_kernel_that_is_made_of_a_text_runs_and_one_line_says_so(tmp_path):
    text = """
scope = {"cuda": cuda}
exec("def ones(out): out[cuda.grid(1)] = 1", scope)
out = np.zeros(32)
cuda.jit(scope["ones"])[1, 32](out)
assert out.sum() == 32

@cuda.jit
def kernel(out):
    out[cuda.grid(1)] += 1

kernel[1, 32](out)
assert out.sum() == 64
"""
    (tmp_path / "script.py").write_text(HEAD + text)
    recording = smemviz.run(tmp_path / "script.py", engine="gpu")
    assert [launch.kernel for launch in recording.launches] == ["kernel"]
    (finding,) = recording.findings
    assert "ones was made from text" in finding.message


def test_another_number_of_arguments_is_told_with_the_names(tmp_path):
    text = "\n@cuda.jit\ndef kernel(out):\n    out[0] = 1\n\nkernel[1, 32](np.zeros(1), 2)\n"
    (tmp_path / "script.py").write_text(HEAD + text)
    with pytest.raises(LaunchError, match=r"kernel takes 1 argument \(out\); the launch gives 2"):
        smemviz.run(tmp_path / "script.py", engine="gpu")


def test_arrays_that_a_launch_copies_one_way_alone_are_recorded(tmp_path):
    text = """
import numpy as np
from numba import cuda

@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    b[i] = a[i] + 1
    c[i] += a[i]
    a[i] = -1

a, b, c = np.arange(32.0), np.zeros(32), np.ones(32)
add[1, 32](cuda.In(a), cuda.Out(b), cuda.InOut(c))
assert a[3] == 3 and b[3] == 4 and c[3] == 4
"""
    (tmp_path / "script.py").write_text(text)
    seen, predicted = (smemviz.run(tmp_path / "script.py", engine=engine) for engine in ("gpu", "lockstep"))
    assert seen.findings == predicted.findings == ()
    assert [row.sectors for row in seen["add"].summary()] == [row.sectors for row in predicted["add"].summary()]
