"""The part of PyCUDA that scripts of courses use, where it is not installed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from helpers.pycuda_scripts import TURN

import smemviz
from smemviz.engines.recorder import Recorder
from smemviz.errors import KernelFileError, LaunchError, UnsupportedError
from smemviz.recordings.recording import Recording


def recorded(folder: Path, text: str) -> Recording:
    path = folder / "script.py"
    path.write_text(text)
    recording = smemviz.run(path, engine="lockstep")
    assert recording.findings == ()
    return recording


def test_kernels_are_recorded_at_their_lines_in_the_script(tmp_path: Path) -> None:
    recording = recorded(tmp_path, TURN)
    assert [(one.kernel, one.line, one.file) for one in recording.launches] == [("turn", 8, "")] * 3
    for launch in recording.launches:
        assert [(site.line, site.source) for site in launch.sites][1:3] == [(11, "tile[ty][tx]"), (13, "tile[tx][ty]")]
        assert [row.wavefronts for row in launch.summary()] == [None, 32, 1024, None]
    assert "pycuda" not in sys.modules


def test_memory_streams_and_what_is_asked_of_the_device(tmp_path: Path) -> None:
    recorded(
        tmp_path,
        TURN
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


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("(drv.In(x), drv.Out(y), 32, block=(32, 32, 1))", "PyCUDA takes no 32 as argument 3; write numpy.int32"),
        ("(drv.In(x), drv.Out(y), np.int64(32), block=(32, 32, 1))", None),
        ("(drv.In(x), drv.Out(y), np.float32(32), block=(32, 32, 1))", r"PyCUDA passes 32.0 as float32; write numpy"),
        ("(drv.In(x), drv.Out(y), block=(32, 32, 1))", "turn takes 3 arguments"),
    ],
)
def test_numbers_are_passed_as_numpy_has_them(tmp_path: Path, call: str, what: str | None) -> None:
    text = TURN.split("turn(drv.In")[0] + f"turn{call}\n"
    if what is None:
        recorded(tmp_path, text)
        return
    with pytest.raises(LaunchError, match=what):
        recorded(tmp_path, text)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (
            "SourceModule('').get_global('table')",
            r"pycuda\.compiler\.SourceModule\.get_global is not known where PyCUDA",
        ),
        ("drv.matrix_to_texref(x, None)", r"pycuda\.driver\.matrix_to_texref is not known where PyCUDA is not; run it"),
    ],
)
def test_what_is_missing_is_one_line(tmp_path: Path, line: str, what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        recorded(tmp_path, TURN.split("turn(drv.In")[0] + line + "\n")


def test_an_array_of_the_host_for_a_pointer_is_given_to_the_device(tmp_path: Path) -> None:
    said = r"script.py:\d+: x is a pointer, and PyCUDA passes an array of the host by value; write pycuda.driver.InOut"
    with pytest.raises(LaunchError, match=said):
        recorded(tmp_path, TURN.split("turn(drv.In")[0] + "turn(x, drv.Out(y), np.int32(32), block=(32, 32, 1))\n")


def test_a_kernel_that_is_not_there_is_told_where_it_is_asked_for(tmp_path: Path) -> None:
    text = TURN.replace('get_function("turn")', 'get_function("trun")')
    line = text[: text.index("get_function")].count("\n") + 1
    with pytest.raises(KernelFileError) as met:
        recorded(tmp_path, text)
    assert str(met.value).endswith(f":{line}: there is no kernel trun; did you mean turn? The file has: turn")


def test_modules_that_are_missing_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(KernelFileError, match=r"pycuda\.curandom is not known where PyCUDA is not"):
        recorded(tmp_path, "import pycuda.curandom\n")


class RealFunction:
    """A kernel of a PyCUDA that there is none of."""

    def __call__(self, *args: object, block: tuple[int, int, int]) -> str:
        return f"made with {block}"


def test_launches_of_an_installed_pycuda_run_and_have_one_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba_cuda", reason="needs numba-cuda, which reaches the driver")
    from smemviz.engines.gpu.libraries.pycuda import noting_pycuda

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
