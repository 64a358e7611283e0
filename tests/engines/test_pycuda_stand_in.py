"""The part of PyCUDA that scripts of courses use, where it is not installed."""

import sys
from types import ModuleType

import pytest
from helpers.library_scripts import PYCUDA_TURN

import smemviz
from smemviz.engines.recorder import Recorder
from smemviz.errors import KernelFileError, LaunchError, UnsupportedError


def recorded(folder, text):
    path = folder / "script.py"
    path.write_text(text)
    recording = smemviz.run(path, engine="lockstep")
    assert recording.findings == ()
    return recording


def test_kernels_are_recorded_at_their_lines_in_the_script(tmp_path):
    recording = recorded(tmp_path, PYCUDA_TURN)
    assert [(one.kernel, one.line, one.file) for one in recording.launches] == [("turn", 8, "")] * 3
    for launch in recording.launches:
        assert [(site.line, site.source) for site in launch.sites][1:3] == [(11, "tile[ty][tx]"), (13, "tile[tx][ty]")]
        assert [row.wavefronts for row in launch.summary()] == [None, 32, 1024, None]
    assert "pycuda" not in sys.modules


def test_memory_streams_and_what_is_asked_of_the_device(tmp_path):
    recorded(
        tmp_path,
        PYCUDA_TURN
        + """\
import pycuda.tools
both = np.ones(32, np.int32)
twice = SourceModule("__global__ void twice(int *a) { a[threadIdx.x] *= 2; }", no_extern_c=True).get_function("twice")
twice(drv.InOut(both), block=(32, 1, 1), stream=drv.Stream())
assert (both == 2).all()
memory = drv.to_device(both)
drv.memset_d32(memory, 3, 16)
twice(np.intp(int(memory) + 64), block=(16, 1, 1))
held = drv.from_device(memory, 32, np.int32)
assert held.tolist() == [3] * 16 + [4] * 16
other = drv.mem_alloc_like(held)
drv.memcpy_dtod(other, memory, held.nbytes)
drv.memcpy_dtoh_async(drv.pagelocked_empty(32, np.int32), other, drv.Stream())
assert drv.from_device_like(other, held).tolist() == held.tolist()
drv.init()
device = drv.Device(0)
assert device.compute_capability() == (9, 0) and device.get_attribute(drv.device_attribute.WARP_SIZE) == 32
context = device.make_context()
context.pop()
""",
    )


TURN = PYCUDA_TURN.split("turn(drv.In")[0]
MODULE = "from pycuda.compiler import SourceModule\n"


def test_what_pycuda_would_not_do_is_one_line_at_its_place(tmp_path):
    square, by_value = "block=(32, 32, 1))", "PyCUDA passes an array of the host by value"
    trun = PYCUDA_TURN.replace('get_function("turn")', 'get_function("trun")')
    asked = trun[: trun.index("get_function")].count("\n") + 1
    apply = f"{COUNTING}of_host = drv.managed_zeros(32, np.float32)\napply(GIVEN, block=(32, 1, 1))\n"
    for error, text, what in [
        (LaunchError, f"{TURN}turn(drv.In(x), drv.Out(y), 32, {square}", "PyCUDA does not take 32 as argument 3;"),
        (LaunchError, f"{TURN}turn(drv.In(x), drv.Out(y), np.float32(3), {square}", "PyCUDA passes 3.0 as float32;"),
        (LaunchError, f"{TURN}turn(drv.In(x), drv.Out(y), {square}", "turn takes 3 arguments"),
        (LaunchError, f"{TURN}turn(x, drv.Out(y), np.int32(32), {square}",
            rf"script.py:\d+: x is a pointer, and {by_value}; write pycuda.driver.InOut"),
        (LaunchError, apply.replace("GIVEN", "drv.pagelocked_zeros(32, np.float32)"), by_value),
        (LaunchError, apply.replace("GIVEN", "of_host + 1"), by_value),
        (LaunchError, f"{COUNTING}module.get_global('offset')\n",
            "script.py:19: there is no variable offset that a kernel uses"),
        (UnsupportedError, f"{TURN}SourceModule('').get_texref('table')\n",
            r"pycuda\.compiler\.SourceModule\.get_texref is not known where PyCUDA"),
        (UnsupportedError, f"{TURN}drv.matrix_to_texref(x, None)\n",
            r"pycuda\.driver\.matrix_to_texref is not known where PyCUDA is not installed; run it"),
        (KernelFileError, "import pycuda.scan\n", r"pycuda\.scan is not known where PyCUDA is not"),
        (KernelFileError, trun, rf":{asked}: there is no kernel trun; did you mean turn\? The file has: turn$"),
        # A text is compiled where its module is made.
        (KernelFileError, f"{MODULE}SourceModule('__global__ void f() {{ x = 1; }}')\nprint(1 / 0)\n",
            'script.py:2:37: identifier "x" is undefined'),
        (KernelFileError, f"{MODULE}\nSourceModule('__global__ void f() {{ %s = 1; }}' % 'x')\n",
            r'script.py:3:\d+: f.cu:1:\d+: identifier "x" is undefined'),
    ]:  # fmt: skip
        with pytest.raises(error, match=what):
            recorded(tmp_path, text)
    recorded(tmp_path, f"{TURN}turn(drv.In(x), drv.Out(y), np.int64(32), {square}")


COUNTING = """\
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

module = SourceModule('''
__constant__ float scale[2];
__device__ int calls = 5;
__global__ void apply(float *a) {
    a[threadIdx.x] = a[threadIdx.x] * scale[0] + scale[1];
    if (threadIdx.x == 0) calls += 1;
}
__global__ void other(float *a) { a[threadIdx.x] = calls; }
''')
apply = module.get_function("apply")
place, size = module.get_global("scale")
drv.memcpy_htod(place, np.array([2, 3], np.float32))
"""


def test_variables_of_a_module_last_from_launch_to_launch(tmp_path):
    recording = recorded(
        tmp_path,
        COUNTING
        + """\
x = np.ones(32, np.float32)
apply(drv.InOut(x), block=(32, 1, 1))
apply(drv.InOut(x), block=(32, 1, 1))
assert size == 8 and (x == 13).all()
calls = np.zeros(1, np.int32)
drv.memcpy_dtoh(calls, module.get_global("calls")[0])
assert calls[0] == 7
module.get_function("other")(drv.Out(x), block=(32, 1, 1))
assert (x == 7).all()
""",
    )
    assert [launch.kernel for launch in recording.launches] == ["apply", "apply", "other"]


def test_memory_that_host_and_device_share_is_the_host_s(tmp_path):
    recorded(
        tmp_path,
        COUNTING
        + """\
managed = drv.managed_zeros(32, np.float32, mem_flags=drv.mem_attach_flags.GLOBAL)
apply(managed, block=(32, 1, 1))
drv.Context.synchronize()
assert (managed == 3).all()
mapped = drv.pagelocked_zeros(shape=32, dtype=np.float32, mem_flags=drv.host_alloc_flags.DEVICEMAP)
apply(np.intp(mapped.base.get_device_pointer()), block=(32, 1, 1))
assert (mapped == 3).all()
assert type(managed + 1) is np.ndarray and type(drv.pagelocked_empty(32, np.int32)) is np.ndarray
""",
    )


def test_a_script_may_catch_what_does_not_compile(tmp_path):
    recorded(
        tmp_path,
        COUNTING
        + """\
try:
    SourceModule("__global__ void f() { x = 1; }")
except drv.CompileError as error:
    assert 'identifier "x" is undefined' in str(error) and isinstance(error, drv.Error)
else:
    raise AssertionError
apply(drv.InOut(np.ones(32, np.float32)), block=(32, 1, 1))
""",
    )


def test_elementwise_kernels_are_launched_as_pycuda_does(tmp_path):
    recording = recorded(
        tmp_path,
        """\
import numpy as np
import pycuda.autoinit
from pycuda import cumath, gpuarray
from pycuda.curandom import rand
from pycuda.elementwise import ElementwiseKernel

combine = ElementwiseKernel("float a, float *x, const int *y, float *z", "z[i] = a * x[i] + y[i]", "combine")
x = rand(33)
y = gpuarray.arange(33, dtype=np.int32)
z = gpuarray.empty_like(x)
combine(2, x, y, z)
assert np.allclose(z.get_async(), 2 * x.get() + np.arange(33), rtol=1e-6) and 0 <= x.get().min() < x.get().max() < 1
assert (cumath.fabs(z.fill(-1)).get() == 1).all()
large = gpuarray.zeros(200_000, np.float32)
ElementwiseKernel("float *x", "x[i] = i")(large)
assert (large.get() == np.arange(200_000)).all()
""",
    )
    shapes = [(launch.kernel, launch.grid, launch.block) for launch in recording.launches]
    # PyCUDA's splay: warps of 32 first, then 4 * 8 blocks for each of 132 multiprocessors
    assert shapes == [("combine", (2, 1, 1), (32, 1, 1)), ("kernel", (4224, 1, 1), (64, 1, 1))]


def test_what_scripts_ask_of_device_context_and_tools(tmp_path):
    recorded(
        tmp_path,
        COUNTING
        + """\
import pycuda
from pycuda.compiler import DynamicSourceModule
from pycuda.tools import DeviceData, context_dependent_memoize
device = drv.Context.get_device()
facts = device.get_attributes()
assert facts["WARP_SIZE"] == DeviceData().warp_size == 32 and facts["MULTIPROCESSOR_COUNT"] == 132
assert drv.get_version() and drv.Device.count() == 1 and device.pci_bus_id()
drv.Context.set_cache_config(drv.func_cache.PREFER_SHARED)
same = DynamicSourceModule("__global__ void one(int *a) { *a = 1; }").get_function("one")
flag = gpuarray.GPUArray((1,), np.int32)
same.prepare("P").prepared_call((1, 1), (1, 1, 1), flag.gpudata)
assert flag.get()[0] == 1
""",
    )


class RealFunction:
    """A kernel of a PyCUDA that there is none of."""

    def __call__(self, *args, block):
        return f"made with {block}"


def test_launches_of_an_installed_pycuda_run_and_have_one_line_each(monkeypatch):
    pytest.importorskip("numba_cuda", reason="needs numba-cuda, which reaches the driver")
    from smemviz.engines.gpu.libraries.scripts import noting_pycuda

    driver, recorder = ModuleType("pycuda.driver"), Recorder()
    driver.__dict__["Function"] = RealFunction
    monkeypatch.setitem(sys.modules, "pycuda", ModuleType("pycuda"))
    monkeypatch.setitem(sys.modules, "pycuda.driver", driver)
    kernel = RealFunction()
    with noting_pycuda(recorder):
        for _ in range(2):
            assert kernel(1, block=(32, 1, 1)) == "made with (32, 1, 1)"
    kernel(1, block=(32, 1, 1))
    (finding,) = recorder.findings
    assert finding.message == (
        "launches of PyCUDA are not recorded; launch the kernel with cupy.RawKernel or cuda.core. "
        "It ran and is not recorded."
    )
