"""Kernels that Numba makes of a script's functions, as the GPU's engine records them; without a GPU."""

from types import SimpleNamespace

import numba
import numpy as np
import pytest

import smemviz
from smemviz.errors import LaunchError
from smemviz.frontends.numba.python_functions import function_of

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which compiles")

from helpers.interpreted_ptx import passes_of
from numba import cuda, guvectorize, types, vectorize
from numba.cuda import dispatcher
from numba.cuda.dispatcher import CUDADispatcher
from numba.cuda.kernels import reduction
from numba.cuda.kernels.reduction import _gpu_reduce_factory
from numba.cuda.vectorizers import CUDAGUFuncVectorize

from smemviz.engines.gpu import device, gpu_recorder, python_on_gpu
from smemviz.engines.gpu.python_on_gpu import with_text
from smemviz.engines.host import calls_a_script
from smemviz.engines.launch_shape import configuration
from smemviz.engines.options import RunOptions


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch):
    """Let Numba make its kernels where there is no GPU, and compile them when they are needed."""
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=(9, 0)))
    monkeypatch.setattr(CUDAGUFuncVectorize, "_compile_kernel", lambda made, function, sig: cuda.jit(function))


def counted(kernel, grid, block, arguments):
    """Return the totals of a launch with marks at its accesses, and the sites."""
    passes = passes_of(SimpleNamespace(py_func=kernel), grid, block, arguments)
    return passes.count(), passes.sites


@pytest.mark.exhaustive
def test_vectorized_functions_have_the_text_that_lockstep_gives_them():
    def plus(a, b):
        return a + 2 * b

    signatures = ["float32(float32, float32)", "float64(float64, float64)"]
    made = vectorize(signatures, target="cuda")(plus)
    _, kernel = made.functions[np.dtype("f8"), np.dtype("f8")]
    arguments = (np.arange(100.0), np.ones(100), np.zeros(100))
    totals, sites = counted(with_text(kernel.py_func, arguments), 4, 32, arguments)
    assert np.array_equal(arguments[2], np.arange(100.0) + 2)
    assert totals.sectors.tolist() == [25, 25, 25]
    with smemviz.recording(engine="lockstep") as predicted:
        numba.vectorize(signatures, target="cuda")(plus)(*arguments[:2])  # another function meanwhile
    (launch,) = predicted.launches
    assert sites == launch.sites
    assert [row.requests for row in launch.summary()] == totals.requests.tolist()


def test_functions_of_arrays_are_given_a_row_a_number_or_an_array_of_one():
    def scaled(a, by, out):
        for k in range(a.shape[0]):
            out[0] += a[k] * by

    made = guvectorize(["void(float64[:], float64, float64[:])"], "(n),()->()", target="cuda")(scaled)
    ((_, kernel),) = made.kernelmap.values()
    arguments = (np.arange(12.0).reshape(3, 4), np.array([1.0, 2.0, 3.0]), np.zeros(3))
    function = with_text(kernel.py_func, arguments)
    assert function_of(function).source.splitlines()[-1].strip() == "scaled(a0[i, :], a1[i], a2[i:i + 1])"
    totals, sites = counted(function, 1, 32, arguments)
    assert arguments[2].tolist() == [6.0, 44.0, 114.0]
    assert (sites[0].function, sites[0].source) == ("vectorized_scaled", "a1[i]")
    assert totals.requests.tolist() == [1, *[4] * (len(sites) - 1)]


def test_two_texts_of_one_name_are_two_files():
    def made(count):
        scope = {}
        exec(f"def first(a{', b' * (count - 1)}): return a", scope)
        function = scope["first"]
        ufunc = vectorize([f"float64({', '.join(['float64'] * count)})"], target="cuda")(function)
        ((_, kernel),) = ufunc.functions.values()
        return function_of(with_text(kernel.py_func, ()))

    one, two, again = made(1), made(2), made(1)
    assert (one.file, again.source) == (again.file, one.source)
    assert one.file != two.file


@pytest.mark.exhaustive
@pytest.mark.parametrize(("size", "grid"), [(256, 2), (100, 1)])
def test_a_reduction_makes_the_requests_that_lockstep_sees(size, grid):
    kernel = _gpu_reduce_factory(lambda a, b: max(a, b), types.float64)
    assert calls_a_script(kernel.py_func)
    arguments = (np.arange(float(size)), np.zeros(grid), np.float64(0), True)
    launch = smemviz.record(kernel, grid, size // grid, arguments, engine="lockstep").launches[0]
    totals, sites = counted(kernel.py_func, grid, size // grid, arguments)
    assert sites == launch.sites
    assert arguments[1][-1] == size - 1
    assert totals.requests.tolist() == [row.requests for row in launch.summary()]
    assert totals.wavefronts.tolist() == [row.wavefronts or 0 for row in launch.summary()]


def test_device_functions_keep_the_signatures_that_they_are_declared_with():
    """Without them 2 * 0.3 stays a float64, which is no index, and the sum is of float64."""

    @cuda.jit("int32(float64[:], int32)", device=True)
    def whole(a, i):
        return a[i] + 0.75

    @cuda.jit(["float32(float32)", "float64(float64)"], device=True)
    def third(x):
        return x / 3

    @cuda.jit
    def kernel(a, out):
        i = cuda.threadIdx.x
        out[whole(a, i * 0.5)] = third(np.float32(1)) + i

    arguments = (np.arange(32.0), np.zeros(32))
    expected = smemviz.record(kernel, 1, 32, (arguments[0], np.zeros(32)), engine="lockstep").launches[0]
    totals, sites = counted(kernel.py_func, 1, 32, arguments)
    assert sites == expected.sites
    assert arguments[1][0] == np.float64(np.float32(1) / np.float32(3)) + 1
    assert totals.sectors.tolist() == [row.sectors for row in expected.summary()]


def of_numba():
    """Return a kernel that comes with Numba and is made of nothing else."""
    scope = {"cuda": cuda}
    exec(compile("def inside(out): out[0] = 1", reduction.__file__, "exec"), scope)
    return cuda.jit(scope["inside"])


# --- launches that are intercepted, and happen nowhere


@pytest.fixture
def launched(monkeypatch):
    """Return a function that launches a kernel; it returns what was shown of it, and how often it happened."""
    monkeypatch.setattr(python_on_gpu, "require", lambda: None)
    monkeypatch.setattr(gpu_recorder, "device", lambda: SimpleNamespace(compute_capability=(9, 0)))
    monkeypatch.setattr(cuda, "synchronize", lambda: None)
    happened = []
    monkeypatch.setattr(CUDADispatcher, "call", lambda *of_launch: happened.append(of_launch))
    shown = []
    watcher = SimpleNamespace(launch=lambda kernel, function, config, arguments: shown.append(function.name))

    def launch(kernel, *arguments, watcher=watcher):
        config = configuration(("", 1), (1, 32))
        what = SimpleNamespace(
            dispatcher=kernel, griddim=config.grid, blockdim=config.block, stream=0, sharedmem=config.dynamic_shared
        )
        with python_on_gpu.intercepted(watcher, function_of):
            kernel.call(arguments, what)
        return shown, len(happened)

    return launch


def test_kernels_made_of_functions_are_shown_and_happen(launched):
    @vectorize(["float64(float64)"], target="cuda")
    def same(a):
        return a

    ((_, kernel),) = same.functions.values()
    assert launched(kernel, np.ones(1), np.ones(1)) == (["vectorized_same"], 1)
    total = _gpu_reduce_factory(lambda a, b: a + b, types.float64)
    shown, happened = launched(total, np.ones(1), np.ones(1), 0.0, True)
    assert (shown[1:], happened) == (["gpu_reduce_block_strided"], 2)
    assert launched(of_numba(), np.ones(1))[1] == 3
    assert len(shown) == 2


# What takes the card is left out: arrays that are moved to it, and how large Numba finds that blocks can be.
WITH_MAIN = """
import importlib
import numpy as np
from numba import types, vectorize
from numba.cuda.kernels.reduction import _gpu_reduce_factory

cuda = importlib.import_module("numba.cuda")

@vectorize(["float64(float64)"], target="cuda")
def same(a):
    return a

@cuda.jit
def kernel(out):
    out[0] = 1

def main():
    out = np.ones(64)
    kernel[1, 32](out)
    next(iter(same.functions.values()))[1][1, 32](out, out)
    _gpu_reduce_factory(lambda a, b: a + b, types.float64)[1, 64, 0, 8](out, out, 0.0, True)
    kernel.forall(64, tpb=32)(out)
"""


def test_a_file_with_main_shows_every_kernel_and_not_what_is_launched_to_time_it(monkeypatch, tmp_path):
    from smemviz.frontends.reading import read_program

    monkeypatch.setattr(python_on_gpu, "require", lambda: None)
    monkeypatch.setattr(python_on_gpu, "device", lambda: None)
    monkeypatch.setattr(gpu_recorder, "device", lambda: SimpleNamespace(compute_capability=(9, 0)))
    monkeypatch.setattr(cuda, "synchronize", lambda: None)
    monkeypatch.setattr(CUDADispatcher, "specialize", lambda kernel, *args: kernel)
    happened, shown = [], []
    monkeypatch.setattr(CUDADispatcher, "call", lambda kernel, *of_launch: happened.append(kernel.py_func.__name__))
    (tmp_path / "kernels.py").write_text(WITH_MAIN)

    def time_it(kernel, function, config, arguments):
        shown.append((function.name, *config.grid[:1], *config.block[:1], config.stream, config.dynamic_shared))
        kernel.configure(config.grid, config.block, config.stream, config.dynamic_shared)(*arguments)

    python_on_gpu.watch(read_program(tmp_path / "kernels.py"), SimpleNamespace(launch=time_it))
    assert shown == [
        ("kernel", 1, 32, 0, 0),
        ("vectorized_same", 1, 32, 0, 0),
        ("gpu_reduce_block_strided", 1, 64, 0, 8),
        ("kernel", 2, 32, 0, 0),
    ]
    names = ["kernel", "__vectorized_same", "gpu_reduce_block_strided", "kernel"]
    assert happened == [name for name in names for _ in range(2)]


def test_a_kernel_of_a_text_happens_and_one_line_says_why_it_is_not_shown(launched):
    scope = {"cuda": cuda}
    exec("def ones(out): out[0] = 1", scope)
    kernel, watcher = cuda.jit(scope["ones"]), gpu_recorder.Recorder(RunOptions())
    watcher.findings.append(None)  # so that it is told, not raised
    assert [launched(kernel, np.ones(1), watcher=watcher)[1] for _ in range(2)] == [1, 2]
    watcher.end()
    _, finding = watcher.findings
    assert finding.message == (
        "ones was made from text; define it in a file to see its accesses. It ran and is not recorded."
    )


def test_another_number_of_arguments_is_told_with_the_names(launched):
    @cuda.jit
    def kernel(out):
        out[0] = 1

    with pytest.raises(LaunchError, match=r"kernel takes 1 argument \(out\); the launch gives 2"):
        launched(kernel, np.ones(1), 2)


def test_a_process_that_is_forked_after_the_first_use_is_told_so_and_fails_as_it_does_by_itself(launched, monkeypatch):
    monkeypatch.setattr(device.driver, "pid", -1)

    @cuda.jit
    def kernel(out):
        out[0] = 1

    watcher = gpu_recorder.Recorder(RunOptions())
    assert launched(kernel, np.ones(1), watcher=watcher)[1] == 1
    (finding,) = watcher.findings
    assert (finding.kind, finding.kernel) == ("launch_refused", "kernel")
    assert finding.message.startswith("a process that is forked from one that has used the GPU cannot use it; start it")


def test_whether_there_is_a_gpu_is_asked_without_the_driver_in_this_process(monkeypatch):
    monkeypatch.setattr(device.driver, "pid", None)
    monkeypatch.setattr(device, "available", lambda: pytest.fail("this process cannot fork any more"))
    device.is_there.cache_clear()
    assert device.is_there() in (True, False)
    device.is_there.cache_clear()
