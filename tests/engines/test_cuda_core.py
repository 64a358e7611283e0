"""Scripts that launch with cuda.core, in lockstep without a GPU; and on one, which is made up here."""

import ctypes
import importlib
import sys
from textwrap import dedent
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.library_scripts import SHIFT

import smemviz
from smemviz.engines.gpu.device import available
from smemviz.engines.gpu.libraries.cuda_core import watched_cuda_core
from smemviz.engines.lockstep.host.stand_ins.arrays import address, memory_at
from smemviz.engines.lockstep.ptx.host.cuda_launch import launch
from smemviz.engines.lockstep.ptx.host.raw_kernels import CUDA_CORE, RawKernels
from smemviz.engines.recorder import Recorder
from smemviz.errors import KernelFileError, LaunchError, UnsupportedError
from smemviz.frontends.reading import read_program

HEAD = '''\
import numpy as np
from cuda.core.experimental import Device, LaunchConfig, Program, ProgramOptions, LegacyPinnedMemoryResource, launch
code = """extern "C" __global__ void k(float *out, int n, float by) { if (threadIdx.x < n) out[threadIdx.x] = by; }"""
device = Device(0)
stream = device.default_stream
kernel = Program(code, "c++", ProgramOptions(std="c++17")).compile("cubin").get_kernel("k")
config = LaunchConfig(grid=1, block=32)
out = LegacyPinnedMemoryResource().allocate(128)
'''


def recorded(folder, text):
    path = folder / "script.py"
    path.write_text(dedent(text))
    return smemviz.run(path, engine="lockstep")


def test_launches_are_recorded_at_their_lines(tmp_path):
    importlib.import_module("numba.cuda")  # which imports the real one
    before = sys.modules.get("cuda.core")
    recording = recorded(tmp_path, SHIFT)
    assert recording.findings == ()
    assert [(one.kernel, one.grid, one.block) for one in recording.launches] == [
        ("shifted<float>", (3, 1, 1), (32, 1, 1)),
        ("counted", (1, 1, 1), (32, 1, 1)),
    ]
    first = recording.launches[0]
    assert [row.wavefronts for row in first.summary() if row.wavefronts] == [6, 6]  # a stride of two: two banks each
    for site in first.sites:
        assert SHIFT.split("\n")[site.line - 1][site.column :].startswith(site.source)
    assert sys.modules.get("cuda.core") is before


def test_buffers_events_and_devices(tmp_path):
    recording = recorded(
        tmp_path,
        HEAD
        + """\
import ctypes, math
assert device.compute_capability == (9, 0) and device.arch == "90" and device.properties.multiprocessor_count == 132
values = np.from_dlpack(out).view(np.float32)
before, after = device.create_event(), stream.record()
launch(stream, config, kernel, out, ctypes.c_int(16), ctypes.c_float(2.5))
launch(stream, config, kernel, int(out.handle) + 64, 16, np.float32(3))
assert values[:16].tolist() == [2.5] * 16 and values[16:].tolist() == [3] * 16 and math.isnan(after - before)
copy = device.memory_resource.allocate(128, stream)
out.copy_to(copy, stream=stream)
out.fill(0, stream=stream)
assert not values.any()
out.copy_from(copy, stream=stream)
assert values[0] == 2.5
copy.close()
assert copy.handle == 0
""",
    )
    assert recording.findings == ()
    assert len(recording.launches) == 2


def test_what_is_not_launched_or_known_is_one_line(tmp_path):
    for body, error, what in [
        ("launch(stream, config, kernel, out, 32, 2.5)", LaunchError, r"cuda.core passes 2.5 as float64; write numpy"),
        ("launch(stream, config, kernel, np.zeros(32), 32, 1)", LaunchError, "takes the address of an array"),
        ("launch(kernel, config, out, 32, 1)", LaunchError, r"write launch\(stream, LaunchConfig"),
        ("launch(stream, LaunchConfig(grid=1, cluster=2, block=1), kernel)", UnsupportedError, "launch of clusters"),
        ("Program('', 'ptx')", UnsupportedError, "a Program of ptx runs on a GPU only"),
        ("kernel.attributes", UnsupportedError, "cuda.core.Kernel.attributes is not known without a GPU"),
        ("stream.create_graph_builder()", UnsupportedError, "cuda.core.Stream.create_graph_builder is not known"),
        ("from cuda.core.experimental import Linker", UnsupportedError, "cuda.core.experimental.Linker is not known"),
        ("import cuda.core.utils", KernelFileError, "cuda.core.utils is not known without a GPU"),
    ]:
        with pytest.raises(error, match=what) as failed:
            recorded(tmp_path, HEAD + body)
        assert failed.value.line == len(HEAD.splitlines()) + 1  # type: ignore[attr-defined]


def test_a_script_that_asks_the_driver_itself_is_told_what_to_do(tmp_path):
    pytest.importorskip("cuda.bindings")
    if available():
        pytest.skip("a GPU is here, and its driver answers")
    with pytest.raises(KernelFileError, match="calls the driver directly, whose") as failed:
        recorded(tmp_path, HEAD + "from cuda.bindings import driver; driver.cuInit(0)")
    assert failed.value.line == len(HEAD.splitlines()) + 1


def test_a_kernel_without_its_name_is_not_found(tmp_path):
    text = HEAD.replace('extern "C" ', "") + "launch(stream, config, kernel, out, 32, np.float32(1))"
    with pytest.raises(LaunchError, match=r"cuda.core finds no k, which C\+\+ gives another name"):
        recorded(tmp_path, text)


class Buffer:
    """A buffer of a cuda.core that there is none of."""

    def __init__(self, array):
        self.array = array
        self.handle = address(array)


def a_real_module(made):
    """Return a cuda.core whose launches are noted."""
    kernel = SimpleNamespace(num_arguments=3)
    code = SimpleNamespace(get_kernel=lambda name: kernel)
    program = SimpleNamespace(compile=lambda target, name_expressions=(), logs=None: code, backend="NVRTC")
    real: Any = ModuleType("cuda.core")
    real.Program = lambda code, code_type, options=None: program
    real.Device = lambda: SimpleNamespace(sync=lambda: None)
    real.Linker = lambda *codes, options=None: made.append(codes)
    real.launch = lambda stream, config, one, *values: made.append((one is kernel, values))
    return real


def test_on_a_gpu_each_launch_is_recorded_and_then_made_by_cuda_core(tmp_path, monkeypatch):
    made: list[Any] = []
    real: Any = a_real_module(made)
    monkeypatch.setitem(sys.modules, "cuda.core", real)
    monkeypatch.setitem(sys.modules, "cuda.core.experimental", None)
    path = tmp_path / "script.py"
    path.write_text(HEAD)
    code = HEAD.split('"""')[1]
    recorder = Recorder()
    kernels = RawKernels(read_program(path), recorder, launch, 1, memory_at, CUDA_CORE)
    out = np.zeros(32, np.float32)
    config = SimpleNamespace(grid=1, block=32, shmem_size=None, cluster=None)
    with watched_cuda_core(kernels, recorder):
        program = real.Program(code, "c++", SimpleNamespace(define_macro="X"))
        assert program.backend == "NVRTC"
        compiled = program.compile("cubin")
        kernel = compiled.get_kernel(b"k")
        assert kernel.num_arguments == 3
        real.launch(None, config, kernel, Buffer(out), ctypes.c_int(32), np.float32(2))
        real.launch(None, SimpleNamespace(cluster=2), kernel, 1)
        real.Linker(compiled)
    assert [(one.kernel, one.line) for one in recorder.launches] == [("k", 3)]
    assert [one[0] for one in made[:2]] == [True, True]
    assert not hasattr(made[2][0], "_given")
    assert "a launch of clusters is not recorded" in recorder.findings[0].message
