"""Scripts as they are, in lockstep: what is recorded, what they see of the world, and that nothing of it stays."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.script_files import write_script
from numba import cuda

import smemviz
from smemviz.engines.launch_shape import is_library
from smemviz.errors import CutShortError, InputError, KernelFileError, MissingError
from smemviz.frontends.reading import read_program

SMALL = """
import numpy as np
from numba import cuda

@cuda.jit
def kernel(out):
    tile = cuda.shared.array(32, np.int32)
    i = cuda.threadIdx.x
    tile[i] = i
    out[i] = tile[i]
"""


@pytest.fixture
def script(tmp_path):
    return write_script(tmp_path)


def small(folder, rest):
    path = folder / "small.py"
    path.write_text(SMALL + rest)
    return path


def run(path, *arguments, **more):
    return smemviz.run(path, engine="lockstep", arguments=arguments or None, **more)  # type: ignore[arg-type]


# --- what is recorded


def test_every_launch_of_every_kernel_is_recorded_also_of_imported_ones(script):
    recording = run(script, "--steps", "2")
    assert [launch.kernel for launch in recording.launches] == ["transpose", "transpose", "by_columns"]
    loads = [launch.summary()[2].wavefronts for launch in recording.launches]
    assert loads == [32, 32, 1024]  # a warp's load: 1 wavefront along a row, 32 down a column; 32 warps
    assert recording.findings == ()


def test_each_kernel_and_each_site_knows_its_file(script, tmp_path):
    recording = run(script)
    own, imported = recording.launches
    beside = (tmp_path / "tiles.py").as_posix()
    assert recording.file == script.as_posix()
    assert recording.file_of(own) == script.as_posix()
    assert recording.file_of(imported) == beside
    stores = [next(site for site in launch.sites if site.op == "store") for launch in (own, imported)]
    assert [recording.file_of(*pair) for pair in zip((own, imported), stores, strict=True)] == [beside, beside]
    assert (stores[0].file, stores[1].file) == (beside, "")  # empty: that of the kernel
    assert recording.source_of(own) == script.read_text()
    for launch in recording.launches:
        for site in launch.sites:
            line = recording.source_of(launch, site).splitlines()[site.line - 1]
            assert line[site.column : site.end_column] == site.source


def test_files_are_kept_in_the_recording_s_file(script, tmp_path):
    recording = run(script)
    recording.save(tmp_path / "train.smem.npz")
    loaded = smemviz.load(tmp_path / "train.smem.npz")
    assert loaded.sources == {(tmp_path / "tiles.py").as_posix(): (tmp_path / "tiles.py").read_text()}
    assert [launch.file for launch in loaded.launches] == ["", (tmp_path / "tiles.py").as_posix()]
    assert [launch.sites for launch in loaded.launches] == [launch.sites for launch in recording.launches]


def test_a_file_that_names_a_text_it_does_not_hold_is_refused(script, tmp_path):
    from dataclasses import replace

    recording = replace(run(script), sources={})
    recording.save(tmp_path / "bad.smem.npz")
    with pytest.raises(InputError, match=r"it names the file '.*tiles.py' and does not hold it"):
        smemviz.load(tmp_path / "bad.smem.npz")


def test_kernels_of_one_definition_and_other_closures_are_told_apart(tmp_path):
    rest = """
def made(stride):
    size = 32 * stride

    @cuda.jit
    def strided(out):
        tile = cuda.shared.array(size, np.int32)
        i = cuda.threadIdx.x
        tile[i * stride] = i
        out[i] = tile[i * stride]
    return strided

for stride in (1, 2, 32):
    made(stride)[1, 32](np.zeros(32, np.int32))
"""
    recording = run(small(tmp_path, rest))
    assert [launch.summary()[0].wavefronts for launch in recording.launches] == [1, 2, 32]


def test_a_script_needs_no_if_name_is_main(tmp_path):
    recording = run(small(tmp_path, "kernel[2, 32](np.zeros(32, np.int32))\n"))
    assert [(launch.kernel, launch.grid) for launch in recording.launches] == [("kernel", (2, 1, 1))]


def test_constants_of_a_script_can_be_replaced(script):
    recording = run(script, constants={"PITCH": 32})
    assert recording.constants == {"PITCH": 32}
    assert recording["transpose"].shared_bytes == 4096


def test_what_numba_launches_for_itself_happens_and_is_not_recorded(tmp_path):
    rest = """
from numba.np.arraymath import less_than

assert cuda.reduce(less_than)(np.ones(2)) == 0
kernel.forall(32, tpb=32)(np.zeros(32, np.int32))
"""
    recording = run(small(tmp_path, rest))
    assert [launch.kernel for launch in recording.launches] == ["kernel"]


def test_the_gallery_of_an_installed_package_is_no_library():
    package = Path(smemviz.__file__).parent
    assert is_library(str(package / "engines" / "host.py"))
    assert is_library(inspect.getfile(cuda))
    assert not is_library(str(package / "_data" / "kernels" / "square.py"))


# --- what a script sees


def test_a_script_finds_itself_as_python_would_have_started_it(tmp_path):
    rest = """
import os, sys
import __main__
assert sys.argv == [__file__, "-x", "--"], sys.argv
assert sys.path[0] == os.path.dirname(os.path.abspath(__file__))
assert __main__.kernel is kernel and __name__ == "__main__"
kernel[1, 32](np.zeros(32, np.int32))
"""
    assert len(run(small(tmp_path, rest), "-x", "--").launches) == 1


def test_the_process_is_afterwards_as_it_was(script):
    from numba import cuda
    from numba.cuda.dispatcher import CUDADispatcher

    before = dict(vars(cuda)), dict(vars(CUDADispatcher)), list(sys.argv), list(sys.path), sys.modules["__main__"]
    run(script)
    with pytest.raises(KernelFileError):
        run(script, "--steps", "many")
    assert (dict(vars(cuda)), dict(vars(CUDADispatcher)), sys.argv, sys.path, sys.modules["__main__"]) == before
    assert "tiles" not in sys.modules


def test_a_module_is_read_anew_by_the_next_run(script, tmp_path):
    assert run(script)["by_columns"].summary()[2].max_degree == 32
    changed = (tmp_path / "tiles.py").read_text().replace("(32, 32)", "(32, 33)")
    (tmp_path / "tiles.py").write_text(changed)
    assert run(script)["by_columns"].summary()[2].max_degree == 1


def test_a_program_already_read_is_never_run_as_a_script(script):
    with pytest.raises(KernelFileError, match="no kernel here"):
        smemviz.run(read_program(script), engine="lockstep")


# --- mistakes


def test_a_mistake_is_one_line_that_names_its_place(tmp_path):
    for rest, said in [
        (
            "",
            "small.py:6: kernel is never launched; add a main() that does, such as "
            "def main(): kernel[1, 32](np.zeros(32))",
        ),
        ("def main(n): pass\n", "small.py:12: main() is called without arguments; give each a default"),
        ("print(1 / 0)\n", "small.py:12: ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(3)\n", "small.py:12: exits with status 3"),
        (
            "import nowhere\n",
            "small.py:12: ModuleNotFoundError: No module named 'nowhere'; "
            "put nowhere.py beside the file, or install the package that has it",
        ),
        (
            "import numpy.nowhere\n",
            "small.py:12: ModuleNotFoundError: No module named 'numpy.nowhere'; "
            "the numpy that is installed has no such part",
        ),
        (
            "import sys; n = int(sys.argv[1])\n",
            "small.py:12: IndexError: list index out of range; it reads arguments: "
            "write them after --, as in smemviz run FILE -- 1024",
        ),
        (
            "import sys\nif len(sys.argv) < 2: sys.exit(2)\n",
            "small.py:13: exits with status 2; it reads arguments: write them after --",
        ),
        (
            "np.zeros(3, np.float)\n",
            "small.py:12: AttributeError: module 'numpy' has no attribute 'float'.; "
            "it is written for an older NumPy: write float instead",
        ),
        ("kernel[1, 32]()\n", "small.py:12: kernel takes 1 argument (out); the launch gives 0"),
        ("kernel[0, 32](None)\n", "small.py:12: the grid (0, 1, 1) has a size below 1"),
        ("import broken\n", "small.py:12: SyntaxError: '(' was never closed (broken.py, line 1)"),
        ("import sys; sys.exit('no data')\n", "small.py:12: exits with status 'no data'"),
        ("assert False\n", "small.py:12: AssertionError"),
        ("raise ValueError('one\\ntwo')\n", "small.py:12: ValueError: one"),
        (
            "open('nowhere.txt')\n",
            "small.py:12: FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.txt'; it was looked for in ",
        ),
        (
            "kernel[1, 32]('text')\n",
            "small.py:12: out: a kernel takes arrays, numbers and tuples; str is not one of them",
        ),
        (
            "@cuda.jit(argtypes=[])\ndef other(): pass\n",
            "small.py:12: Numba refuses argtypes too; write cuda.jit('void(float32[:])') instead",
        ),
        (
            "@cuda.jit(anew=True)\ndef other(): pass\n",
            "small.py:12: cuda.jit has no option anew, in Numba either; leave it out",
        ),
        (
            "cuda.to_device([1.0]).sum()\n",
            "small.py:12: AttributeError: a device array has no sum, in Numba either; copy it to the host: "
            ".copy_to_host().sum",
        ),
        ("kernel(None)\n", "small.py:12: kernel needs a launch: kernel[grid, block](...)"),
        ("cuda.threadIdx.x + 1\n", "small.py:12: TypeError: unsupported operand"),
    ]:
        (tmp_path / "broken.py").write_text("print(1\n")
        with pytest.raises(InputError) as error:
            run(small(tmp_path, "\n" + rest if rest else rest))
        assert str(error.value).removeprefix(f"{tmp_path.as_posix()}/").startswith(said)
        assert "\n" not in str(error.value)


def test_a_mistake_in_a_module_names_both_places(tmp_path):
    (tmp_path / "beside.py").write_text("def fail():\n    raise ValueError('no')\n")
    with pytest.raises(KernelFileError) as error:
        run(small(tmp_path, "\nimport beside\nbeside.fail()\n"))
    assert str(error.value).endswith("small.py:13: ValueError: no (at beside.py:2)")


def test_what_only_a_driver_can_answer_is_missing_here(tmp_path):
    if smemviz.engines.backend.chosen("auto") == "gpu":
        pytest.skip("a GPU is here, and its driver answers")
    with pytest.raises(MissingError) as error:
        run(small(tmp_path, "\ncuda.cudadrv.driver.driver.cuDriverGetVersion()\n"))
    assert str(error.value).endswith("small.py:12: calls the driver directly; run it on a GPU")


def test_what_was_launched_before_a_mistake_is_kept(tmp_path):
    recording = run(small(tmp_path, "\nkernel[1, 32](np.zeros(32, np.int32))\nraise ValueError('no')\n"))
    assert len(recording.launches) == 1
    (finding,) = recording.findings
    assert (finding.kind, finding.line) == ("main_failed", 13)
    assert finding.message == "the script ended with ValueError: no"


def test_a_module_of_a_package_around_the_script_is_found_with_its_path(tmp_path):
    (tmp_path / "layers" / "inner").mkdir(parents=True)
    with pytest.raises(InputError) as error:
        run(small(tmp_path / "layers" / "inner", "\nimport layers.conv\n"))
    assert str(error.value).endswith(f"it lies in {tmp_path}; run with PYTHONPATH={tmp_path}")


@pytest.mark.filterwarnings("ignore::ImportWarning")
def test_a_part_of_a_package_that_is_run_says_so(tmp_path):
    with pytest.raises(InputError, match=r"ImportError: .*; the file is a part of a package: run the script that"):
        run(small(tmp_path, "\nfrom . import other\n"))


def test_a_kernel_with_the_name_main_is_launched_by_the_script(tmp_path):
    text = "\n@cuda.jit\ndef main():\n    pass\n\nif __name__ == '__main__':\n    main[1, 32]()\n"
    assert [launch.kernel for launch in run(small(tmp_path, text)).launches] == ["main"]


def test_what_was_recorded_before_ctrl_c_is_kept(tmp_path):
    with pytest.raises(KeyboardInterrupt) as stop:
        run(small(tmp_path, "\nkernel[1, 32](np.zeros(32))\nraise KeyboardInterrupt\n"))
    assert isinstance(stop.value, CutShortError)
    recording = stop.value.recording
    assert len(recording.launches) == 1
    assert [(one.line, one.message) for one in recording.findings] == [
        (13, "stopped here; the launches after it are missing")
    ]
    with pytest.raises(KeyboardInterrupt):
        run(small(tmp_path, "\nraise KeyboardInterrupt\n"))


def test_a_launch_that_cannot_be_made_ends_the_script_with_a_sentence(tmp_path):
    once = "\nkernel[1, 32](np.zeros(32))\nkernel[1, 8 / 2](np.zeros(32))\n"
    (finding,) = run(small(tmp_path, once)).findings
    assert finding.message == "the script ended here: the block is one to three integers; 4.0 is not"


def test_constants_that_are_not_given_by_name_are_refused():
    with pytest.raises(InputError, match="constants are given by name"):
        smemviz.run("kernels/square.py", constants=["IPAD"])  # type: ignore[arg-type]


# --- on the command line


def test_run_hands_on_what_stands_after_two_dashes(script, command):
    written = command("run", script, "--engine", "lockstep", "--json", "--", "--steps", "3")
    data = json.loads(written.out)
    assert [(launch["kernel"], Path(launch["file"]).name) for launch in data["launches"]] == [
        *[("transpose", "train.py")] * 3,
        ("by_columns", "tiles.py"),
    ]
    assert data["file"] == script.as_posix()
    assert [Path(site.get("file", "")).name for site in data["launches"][0]["sites"]] == ["", "tiles.py", "", ""]
    assert written.err.startswith(f"steps 3 of {script.as_posix()} took nan")


def test_a_table_names_the_file_of_an_imported_kernel_and_site(script, monkeypatch, command):
    monkeypatch.chdir(script.parent)
    out = command("run", "train.py", "--engine", "lockstep").out
    assert "by_columns: grid 1 x 1 x 1, block 32 x 32 x 1, 4096 bytes of shared memory, in tiles.py" in out
    assert "19 > tiles.py:7" in out


def test_a_kernel_file_is_run_as_a_script_when_it_gets_arguments(command):
    assert command("run", "kernels/square.py", "--engine", "lockstep", "--").out.startswith(
        "square.py: all six kernels agree with NumPy\n"
    )


@pytest.mark.exhaustive
def test_a_script_runs_where_numba_s_simulator_is_asked_for_only_after_saying_so(script):
    told = subprocess.run(
        [sys.executable, "-m", "smemviz", "run", str(script), "--engine", "lockstep"],
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        timeout=120,
    )
    said = "smemviz: Numba's simulator is on; unset NUMBA_ENABLE_CUDASIM, lockstep needs none\n"
    assert (told.returncode, told.stderr) == (2, said)


def test_on_the_gpu_a_script_that_launches_nothing_is_told_what_is_not_recorded_there(tmp_path, monkeypatch):
    from smemviz.engines import script as module

    seeing = module._seeing
    monkeypatch.setattr(module, "chosen", lambda engine: "gpu")
    monkeypatch.setattr(module, "_seeing", lambda kind, *rest: seeing("lockstep", *rest))
    with pytest.raises(InputError, match="Those of PyCUDA and of the driver itself are not recorded"):
        run(small(tmp_path, ""))
