"""Launches in a with statement, in lockstep: what is recorded, and what they leave as it was."""

import multiprocessing
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import smemviz
from smemviz.errors import InputError

# --- with smemviz.recording()


def kernel_under_test(name="kernel"):  # type: ignore[no-untyped-def]
    from numba import cuda, int32

    @cuda.jit
    def kernel(out):  # type: ignore[no-untyped-def]
        tile = cuda.shared.array(64, int32)
        i = cuda.threadIdx.x
        tile[2 * i] = out[i]
        out[i] = tile[2 * i] + 1

    kernel.py_func.__name__ = name
    return kernel


def test_launches_in_a_with_statement_are_recorded_and_happen():
    from numba import cuda

    kernel, numbers = kernel_under_test(), np.arange(32, dtype=np.int32)
    with smemviz.recording(engine="lockstep") as recorded:
        on_device = cuda.to_device(numbers)
        kernel[1, 32](on_device)
        kernel[1, 32](numbers)
        result = on_device.copy_to_host()
    assert np.array_equal(result, np.arange(1, 33))
    assert np.array_equal(numbers, np.arange(1, 33))
    assert [launch.kernel for launch in recorded.launches] == ["kernel", "kernel"]
    assert recorded["kernel"].summary()[1].max_degree == 2
    assert isinstance(recorded.recording, smemviz.Recording)
    assert recorded.file == Path(__file__).as_posix()
    assert recorded.engine == "lockstep"


def test_one_with_statement_in_another_tells_both():
    kernel, numbers = kernel_under_test(), np.zeros(32, np.int32)
    with smemviz.recording(engine="lockstep") as outer:
        kernel[1, 32](numbers)
        with smemviz.recording() as inner:
            kernel[2, 32](numbers)
        kernel[3, 32](numbers)
    assert [launch.grid[0] for launch in outer.launches] == [1, 2, 3]
    assert [launch.grid[0] for launch in inner.launches] == [2]
    # Where there is more than one block, all of them add to the same numbers.
    assert [finding.launch for finding in outer.findings] == [1, 2]
    assert [finding.launch for finding in inner.findings] == [0]


def test_one_in_another_is_of_the_same_engine():
    with (
        smemviz.recording(engine="lockstep"),
        pytest.raises(InputError, match="engine gpu inside a recording by engine lockstep"),
        smemviz.recording(engine="gpu"),
    ):
        pass


def test_an_exception_passes_and_leaves_everything_as_it_was():
    from numba import cuda
    from numba.cuda.dispatcher import CUDADispatcher

    before = dict(vars(cuda)), dict(vars(CUDADispatcher))
    with pytest.raises(KeyError), smemviz.recording(engine="lockstep") as recorded:
        kernel_under_test()[1, 32](np.zeros(32, np.int32)) or {}["mine"]
    assert (dict(vars(cuda)), dict(vars(CUDADispatcher))) == before
    assert len(recorded.launches) == 1


def test_kernels_of_two_cells_of_a_notebook_keep_the_text_of_each():
    import linecache

    cell = "from numba import cuda\n\n@cuda.jit\ndef {name}(out):\n    out[cuda.threadIdx.x] = {value}\n"
    kernels = []
    for number, name in enumerate(("one", "two"), 1):
        text, file = cell.format(name=name, value=number), f"<ipython-input-{number}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        namespace: dict[str, object] = {"__name__": "__main__"}
        exec(compile(text, file, "exec"), namespace)
        kernels.append(namespace[name])
    with smemviz.recording(engine="lockstep") as recorded:
        for kernel in kernels:
            kernel[1, 32](np.zeros(32))
    assert recorded.file == "<ipython-input-1>"
    assert [recorded.file_of(launch) for launch in recorded.launches] == ["<ipython-input-1>", "<ipython-input-2>"]
    assert [recorded.source_of(launch).splitlines()[4].strip()[-1] for launch in recorded.launches] == ["1", "2"]


def test_a_recording_is_named_after_the_first_kernel_that_is_not_numba_s():
    from numba import cuda

    @cuda.reduce
    def total(a, b):  # type: ignore[no-untyped-def]
        return a + b

    with smemviz.recording(engine="lockstep") as recorded:
        assert total(np.arange(100, dtype=np.int64)) == 4950
        kernel_under_test()[1, 32](np.zeros(32, np.int32))
    assert recorded.file == Path(__file__).as_posix()


def test_nothing_recorded_says_so_and_a_launch_that_no_device_would_start_is_a_finding():
    with smemviz.recording(engine="lockstep") as recorded, pytest.raises(InputError, match="read after its end"):
        recorded.launches  # noqa: B018
    with pytest.raises(InputError, match="launch a kernel in the with statement"):
        recorded["kernel"]
    with smemviz.recording(engine="lockstep") as recorded:
        kernel_under_test()[1, 2048](np.zeros(32, np.int32))
    assert (len(recorded.launches), [finding.kind for finding in recorded.findings]) == (0, ["launch_refused"])
    assert recorded.file == Path(__file__).as_posix()


def test_the_function_has_its_name_although_a_module_has_it_too():
    import smemviz.recordings.data
    import smemviz.recordings.file

    assert callable(smemviz.recording)
    assert sys.modules["smemviz.recordings.recording"].Recording is smemviz.Recording
    assert smemviz.errors.InputError is InputError


# --- processes that are started meanwhile

WORKERS = """
import multiprocessing
import sys
from contextlib import nullcontext
import numpy as np
from numba import cuda
import smemviz
from smemviz.engines.lockstep.host import python_in_lockstep

python_in_lockstep._forking = nullcontext  # as on a GPU, which a forked process cannot use once its parent has

@cuda.jit
def kernel(out):
    out[cuda.grid(1)] = 1

def work(n):
    out = np.zeros(n)
    kernel[1, n](out)
    return out.sum()

if __name__ == "__main__":
    with smemviz.recording(engine="lockstep") as recorded:
        with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
            assert pool.map(work, [4, 2]) == [4, 2]
    assert recorded.file == __file__ and recorded.findings == () and "def work" in recorded.source
    print([launch.block[0] for launch in recorded.launches])
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_launches_of_processes_that_are_started_in_it_are_recorded(tmp_path, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {method}")
    (tmp_path / "script.py").write_text(WORKERS)
    command = [sys.executable, "-W", "ignore", str(tmp_path / "script.py"), method]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("[4, 2]\n", "")


def test_a_recording_is_asked_for_kernels_and_gone_through():
    kernel = kernel_under_test()
    with smemviz.recording(engine="lockstep") as recorded:
        kernel[1, 32](np.zeros(32, np.int32))
        kernel[2, 32](np.zeros(64, np.int32))
    for one in (recorded, recorded.recording):
        assert ("kernel" in one, "other" in one, recorded.launches[1] in one, 0 in one) == (True, False, True, False)
        assert [launch.grid for launch in one] == [(1, 1, 1), (2, 1, 1)]
        assert len(one) == 2
    assert smemviz.Recording.__bool__(recorded.recording)


def test_a_script_that_records_itself_does_so_when_it_is_recorded(tmp_path):
    """Its kernel is made while the script is recorded, and launched in the statement."""
    script = tmp_path / "script.py"
    script.write_text("""
import numpy as np
from numba import cuda
import smemviz

@cuda.jit
def kernel(out):
    out[cuda.threadIdx.x] = 1

kernel[1, 32](np.zeros(32))
with smemviz.recording() as recorded:
    kernel[2, 32](np.zeros(32))
assert [launch.grid for launch in recorded] == [(2, 1, 1)], recorded
assert recorded["kernel"].grid == (2, 1, 1)
kernel[3, 32](np.zeros(32))
""")
    recording = smemviz.run(script, engine="lockstep")
    assert recording.mistakes == ()
    assert [launch.grid[0] for launch in recording] == [1, 2, 3]
