"""Scripts with CuPy's raw kernels, in lockstep without CuPy and without a GPU."""

import sys
from textwrap import dedent
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from helpers.library_scripts import CUPY_TURN

import smemviz
from smemviz.engines.gpu.libraries.cupy import watched_cupy
from smemviz.engines.lockstep.host.stand_ins.arrays import Memory, MemoryPointer, bytes_at, memory_at, ndarray
from smemviz.engines.lockstep.ptx.host.cuda_launch import launch
from smemviz.engines.lockstep.ptx.host.raw_kernels import RawKernels
from smemviz.engines.recorder import Recorder
from smemviz.errors import LaunchError, UnsupportedError
from smemviz.frontends.reading import read_program


def recorded(folder, text):
    path = folder / "script.py"
    path.write_text(dedent(text))
    return smemviz.run(path, engine="lockstep")


def script(body, code="out[threadIdx.x] = n;", parameters="float *out, int n"):
    kernel = f'extern \\"C\\" __global__ void k({parameters}) {{ {code} }}'
    return f'import cupy\nk = cupy.RawKernel("{kernel}", "k")\nout = cupy.zeros(32, cupy.float32)\n{body}\n'


def test_a_kernel_is_recorded_at_its_lines_in_the_script(tmp_path):
    before = sys.modules.get("cupy")
    recording = recorded(tmp_path, CUPY_TURN)
    (launch,) = recording.launches
    assert (launch.kernel, launch.line, launch.file) == ("turn", 6, "")
    assert recording.source == CUPY_TURN
    sites = [(site.line, site.column, site.source) for site in launch.sites]
    assert sites == [
        (9, 19, "x[ty * n + tx]"),
        (9, 4, "tile[ty][tx]"),
        (11, 21, "tile[tx][ty]"),
        (11, 4, "y[ty * n + tx]"),
    ]
    for line, column, source in sites:
        assert CUPY_TURN.split("\n")[line - 1][column:].startswith(source)
    assert [row.wavefronts for row in launch.summary()] == [None, 32, 1024, None]
    assert sys.modules.get("cupy") is before  # what stands for it is gone again


def test_modules_have_templates_macros_and_several_kernels(tmp_path):
    recording = recorded(
        tmp_path,
        '''\
        import cupy as cp
        from cupy.cuda import Stream
        module = cp.RawModule(code=r"""
        template <typename T> __global__ void scale(T *a, T by) { a[threadIdx.x] *= by * FACTOR; }
        extern "C" { __global__ void two(int *a) { a[threadIdx.x] = 2; } }
        """, options=("-std=c++11", "-D", "FACTOR=2"), name_expressions=["scale<float>"])
        a = cp.ones(32, cp.float32)
        with Stream(non_blocking=True) as stream:
            module.get_function("scale<float>")((1,), (32,), (a, cp.float32(3)))
            stream.synchronize()
        b = cp.empty(32, dtype="int32")
        module.get_function("two")((1,), (32,), args=(b,))
        cp.cuda.Device(0).synchronize()
        assert float(a.sum()) == 6 * 32 and int(b.sum()) == 64
        cp.random.seed(1); one = cp.random.rand(4); cp.random.seed(1)
        assert (one == cp.random.rand(4)).all()
        ''',
    )
    assert [(one.kernel, one.line) for one in recording.launches] == [("scale<float>", 4), ("two", 5)]
    assert recording.findings == ()


def test_a_text_that_the_script_puts_together_is_a_file_of_its_own(tmp_path):
    text = script("k((1,), (32,), (out, 5))", code="out[threadIdx.x] = n + NUMBER;").replace("NUMBER", '" + "7" + "')
    (launch,) = recorded(tmp_path, text).launches
    assert launch.file.endswith("k.cu")
    recording = recorded(tmp_path, text)
    assert "out[threadIdx.x] = n + 7;" in recording.sources[launch.file]
    assert [site.source for site in launch.sites] == ["out[threadIdx.x]"]


def test_mistakes_are_found_as_in_any_kernel(tmp_path):
    recording = recorded(tmp_path, script("k((1,), (33,), (out, 5))"))
    (found,) = recording.findings
    assert (found.kind, found.line) == ("out_of_bounds", 1)
    assert recording.file_of_finding(found).endswith("k.cu")  # its quotes are escaped, so that it is not as written


def test_what_the_kernel_would_read_wrongly_is_refused(tmp_path):
    for body, parameters, what in [
        ("k((1,), (32,), (out, 2.5))", "float *out, float n", r"n is a float32, and CuPy passes 2.5 as float64; write"),
        ("k((1,), (32,), (out, 2))", "float *out, float n", "n is a float32, and CuPy passes 2 as int64; write"),
        ("k((1,), (32,), (out, cupy.int32(2)))", "float *out, long long n", "n is a int64, and CuPy passes 2 as int32"),
        ("k((1,), (32,), (out,))", "float *out, int n", "k takes 2 arguments"),
        ("k((1,), (32,), (out[::2], 2))", "float *out, int n", "the array is not contiguous; copy it first"),
    ]:
        with pytest.raises(LaunchError, match=what) as failed:
            recorded(tmp_path, script(body, parameters=parameters))
        assert failed.value.line == 4


def test_what_is_not_known_or_not_found_is_refused_at_its_line(tmp_path):
    for body, what in [
        ("cupy.cutensor.contraction(out)", "cupy.cutensor is not known without a GPU; run it on one"),
        ("cupy.cuda.Graph()", "cupy.cuda.Graph is not known without a GPU"),
        ("cupy.RawModule(path='a.cubin')", "a RawModule of a compiled file runs on a GPU only; give it code"),
        ("k((1,), (8,), (out[:16], out[8:24]))", "two arguments are parts of one array"),
    ]:
        with pytest.raises(UnsupportedError, match=what) as failed:
            recorded(tmp_path, script(body, parameters="float *out, float *n"))
        assert failed.value.line == 4
    text = script("k((1,), (32,), (out, 5))").replace('extern \\"C\\" ', "")
    with pytest.raises(LaunchError, match=r'CuPy finds no k, which C\+\+ gives another name; write extern "C" before'):
        recorded(tmp_path, text)


class Array(ndarray):
    """An array of a CuPy that there is none of."""

    def get(self, order):
        assert order == "A"
        return np.array(self, order="A", subok=False)


class RealKernel:
    """A kernel of it; ``made`` are the launches."""

    made: ClassVar[list[str]] = []

    def __init__(self, code, name, options=(), backend="nvrtc"):
        self.name = f"_Z{len(name)}{name}" if "<" in name else name  # the compiler's, of a template
        self.attributes = {"num_regs": 8}

    def __call__(self, grid, block, args, *, shared_mem=0):
        assert all(type(one) is not np.ndarray for one in args)
        self.made.append(f"{self.name} {grid} {block} {shared_mem}")


class RealModule:
    def __init__(self, code=None, *, options=(), **named):
        self.options = options

    def get_function(self, name):
        return RealKernel("", name)


def test_on_a_gpu_each_launch_is_recorded_from_copies_and_then_made_by_cupy(tmp_path, monkeypatch):
    real = ModuleType("cupy")
    real.__dict__.update(ndarray=Array, RawKernel=RealKernel, RawModule=RealModule)
    monkeypatch.setitem(sys.modules, "cupy", real)
    monkeypatch.setattr(RealKernel, "made", [])
    path = tmp_path / "script.py"
    path.write_text(CUPY_TURN)
    recorder = Recorder()
    x, y = np.ones((32, 32), np.float32).view(Array), np.zeros((32, 32), np.float32).view(Array)
    code = CUPY_TURN.split('r"""')[1].split('"""')[0]
    with watched_cupy(RawKernels(read_program(path), recorder, launch, 1, memory_at), recorder):
        kernel = real.RawKernel(code, "turn")
        assert kernel.attributes == {"num_regs": 8}
        kernel((1,), (32, 32), (x, y, 32))
        real.RawModule(code=code).get_function("turn")((1,), (32, 32), (x, y, 32), shared_mem=64)
        template = "template <typename T> __global__ void set(T *a) { a[threadIdx.x] = 1; }"
        real.RawModule(code=template, name_expressions=["set<float>"]).get_function("set<float>")((1,), (32,), (x,))
        kernel((1,), (32, 32), (x, y[:, ::2], 32))  # not recorded, for its elements are apart
    assert real.RawKernel is RealKernel
    assert not y.any()
    assert [(one.kernel, one.line, one.dynamic_shared) for one in recorder.launches] == [
        ("turn", 6, 0),
        ("turn", 6, 64),
        ("set<float>", 1, 0),
    ]
    assert RealKernel.made == [
        "turn (1,) (32, 32) 0",
        "turn (1,) (32, 32) 64",
        "_Z10set<float> (1,) (32,) 0",
        "turn (1,) (32, 32) 0",
    ]
    assert "that is not contiguous; copy it first" in recorder.findings[0].message


class RealElementwise:
    """An elementwise kernel of it that adds; what it has made is in ``made``."""

    made: ClassVar[list[tuple[object, ...]]] = []

    def __init__(self, in_params, out_params, operation, name="kernel"):
        self.name = name

    def __call__(self, x, y, out=None):
        self.made.append((x.shape, y.shape))
        if "no" in self.name:
            raise TypeError("by itself")
        out = np.zeros(np.broadcast_shapes(x.shape, y.shape), np.float32).view(Array) if out is None else out
        out[...] = np.add(x, y)
        return out


@pytest.fixture
def real_cupy(monkeypatch):
    real = ModuleType("cupy")
    real.__dict__.update(ndarray=Array, RawKernel=RealKernel, RawModule=RealModule, ElementwiseKernel=RealElementwise)
    real.__dict__.update(asarray=lambda array: np.asarray(array).view(Array), fuse=lambda function: function)
    monkeypatch.setitem(sys.modules, "cupy", real)
    monkeypatch.setattr(RealElementwise, "made", [])
    return real


def watched(folder):
    (folder / "script.py").write_text("import cupy\n")
    recorder = Recorder()
    kernels = RawKernels(read_program(folder / "script.py"), recorder, launch, 1, memory_at)
    return recorder, watched_cupy(kernels, recorder)


def test_on_a_gpu_a_kernel_is_recorded_with_the_variables_that_its_module_has(tmp_path, real_cupy, monkeypatch):
    class DriverError(Exception):
        pass

    held = Memory(4)

    def get_global(module, name):
        if name != "offset":
            raise DriverError
        return MemoryPointer(held, 0)

    real_cupy.__dict__["cuda"] = SimpleNamespace(driver=SimpleNamespace(CUDADriverError=DriverError))
    monkeypatch.setattr(RealModule, "get_global", get_global, raising=False)
    recorder, watching = watched(tmp_path)
    code = """
    __constant__ int offset;
    static __device__ int calls = 1;
    extern "C" __global__ void write(int *a) { a[threadIdx.x + offset] = calls; }
    """
    a = np.zeros(64, np.int32).view(Array)
    with watching:
        kernel = real_cupy.RawModule(code=code).get_function("write")
        for offset in (0, 17):
            bytes_at(held.ptr, 4).view(np.int32)[:] = offset
            kernel((1,), (32,), (a,))
    firsts = [launch.requests.addresses[-1, 0] - launch.arrays[0].address for launch in recorder.launches]
    assert firsts == [0, 17 * 4]


def test_on_a_gpu_an_elementwise_kernel_is_recorded_as_it_is_written_and_then_made_by_cupy(tmp_path, real_cupy):
    recorder, watching = watched(tmp_path)
    x, out = np.arange(32, dtype=np.float32).view(Array), np.zeros(32, np.float32).view(Array)
    with watching:
        add = real_cupy.ElementwiseKernel("T x, T y", "T z", "z = x + y", "add")
        assert (add(x, x) == 2 * x).all()
        assert add(x, x, out) is out
    assert real_cupy.ElementwiseKernel is RealElementwise
    assert [(one.kernel, one.grid, one.block) for one in recorder.launches] == [("add", (1, 1, 1), (128, 1, 1))] * 2
    assert recorder.findings == []
    assert len(RealElementwise.made) == 2


def test_what_cupy_refuses_it_refuses_by_itself_and_what_is_not_recorded_runs_and_is_one_line(tmp_path, real_cupy):
    recorder, watching = watched(tmp_path)
    x = np.arange(32, dtype=np.float32).view(Array)
    with watching:
        add = real_cupy.ElementwiseKernel("T x, T y", "T z", "z = x + y + unknown_to_it", "add")
        for _ in range(2):
            assert (add(x, x) == 2 * x).all()
        with pytest.raises(TypeError, match="by itself"):
            real_cupy.ElementwiseKernel("T x, T y", "T z", "z = x + y", "no")(x, x.astype(np.float64))
        double = real_cupy.fuse(lambda x: 2 * x)
        assert (double(x) == 2 * x).all()
    compiled, fused = recorder.findings
    assert recorder.launches == []
    assert "unknown_to_it" in compiled.message
    assert compiled.message.endswith("It ran and is not recorded.")
    assert compiled.kernel == "add"
    assert fused.message == "kernels of cupy.fuse are not recorded; write a cupy.RawKernel. It ran and is not recorded."
