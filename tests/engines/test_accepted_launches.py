"""Scripts that launch in ways of their own run in lockstep: refused kernels, vectorized functions, child processes."""

import os
import sys
from contextlib import nullcontext
from multiprocessing import spawn
from pathlib import Path
from types import ModuleType

import pytest
from helpers.accepted import HEAD, script

import smemviz
from smemviz.engines.lockstep.host import python_in_lockstep
from smemviz.errors import KernelFileError, LaunchError, UnsupportedError

# --- scripts that launch late, elsewhere, or what is refused

LAUNCHES = f"""{HEAD}
@cuda.jit
def good(out):
    out[cuda.grid(1)] = 1

@cuda.jit
def bad(out):
    out[0] = [1, 2][0]

def go():
    good[1, 32](np.zeros(32))
"""


def test_a_script_whose_main_launches_nothing_is_run_as_a_script(tmp_path):
    for main in ["return None", "raise RuntimeError('not like this')"]:
        late = f"{LAUNCHES}\ndef main(now=False):\n    if now:\n        return go()\n    {main}\n"
        assert len(script(tmp_path, f"{late}\nif __name__ == '__main__':\n    main(True)\n").launches) == 1
        with pytest.raises(KernelFileError, match=r"main\(\) launches no kernel|not like this"):
            script(tmp_path, late)


def test_arrays_of_a_library_that_is_stood_in_for_in_scripts_only_are_launched_with_there(tmp_path, monkeypatch):
    """As of a CuPy that is installed beside a GPU, on which lockstep does not run."""
    installed = ModuleType("cupy")
    installed.ones = lambda n: object()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", installed)
    text = f"import cupy\n{LAUNCHES}\ndef main():\n    good[1, 32](cupy.ones(32))\n"
    with pytest.raises(LaunchError, match="object is not one of them"):
        script(tmp_path, text)
    assert len(script(tmp_path, f"{text}\nif __name__ == '__main__':\n    main()\n").launches) == 1


def test_a_refused_kernel_discards_nothing_that_the_others_recorded(tmp_path):
    for start in ["def main():\n    ", "if True:\n    "]:
        recording = script(tmp_path, f"{LAUNCHES}\n{start}go(); go(); bad[1, 1](np.zeros(1)); go()\n")
        assert [launch.kernel for launch in recording.launches] == ["good", "good"]
        (finding,) = recording.findings
        assert (finding.kind, finding.kernel, finding.line) == ("launch_refused", "bad", 13)
        assert finding.message.endswith("This launch and all after it are missing.")
    few = script(tmp_path, f"{LAUNCHES}\ngo()\ngood[1, 1]()\n")  # too few arguments
    assert len(few.launches) == 1
    assert [(one.kind, one.kernel, one.line) for one in few.findings] == [("launch_refused", "good", 19)]


def test_a_kernel_that_is_refused_first_is_an_error(tmp_path):
    with pytest.raises(UnsupportedError, match="a list in a kernel"):
        script(tmp_path, f"{LAUNCHES}\nbad[1, 1](np.zeros(1))\n")


# --- what Numba makes kernels of

VECTORIZED = f"""{HEAD}
from numba import guvectorize, vectorize

@vectorize(["float32(float32, float32)", "float64(float64, float64)"], target="cuda")
def plus(a, b):
    return a + 2 * b

@guvectorize(["void(float64[:], float64, float64[:])"], "(n),()->(n)", target="cuda")
def scaled(a, by, out):
    for k in range(a.shape[0]):
        out[k] = a[k] * by

@guvectorize(["void(float64[:], float64[:])"], "(n)->()", target="cuda")
def total(a, out):
    out[0] = 0
    for k in range(a.shape[0]):
        out[0] += a[k]

@vectorize(["float64(float64)"])
def on_the_host(a):
    return a + 1

START
    a = np.arange(12.0).reshape(3, 4)
    assert np.array_equal(plus(a, a[0]), a + 2 * a[0]) and plus(a, 1).shape == (3, 4)
    assert plus(np.ones(2, np.float32), np.ones(2, np.float32)).dtype == np.float32
    on_device = plus(cuda.to_device(a), cuda.to_device(a))
    assert np.array_equal(on_device.copy_to_host(), 3 * a)
    into = np.zeros((3, 4))
    assert plus(a, a, out=into) is into and np.array_equal(into, 3 * a)
    assert np.array_equal(scaled(a, np.array([1.0, 2.0, 3.0])), a * [[1], [2], [3]])
    assert np.array_equal(total(a), a.sum(axis=1))
    assert on_the_host(1.0) == 2.0
    try:
        plus(np.ones(2, np.int8), np.ones(2, np.int8))
    except TypeError as error:
        assert "No matching version" in str(error)
"""


@pytest.mark.parametrize("start", ["if True:", "@cuda.jit\ndef other(a):\n    pass\n\ndef main():"])
def test_vectorized_functions_are_kernels(tmp_path, start):
    recording = script(tmp_path, VECTORIZED.replace("START", start))
    assert recording.findings == ()
    names = [launch.kernel for launch in recording.launches]
    assert names == ["vectorized_plus"] * 5 + ["vectorized_scaled", "vectorized_total"]
    launch = recording["vectorized_scaled"]
    assert recording.source_of(launch).splitlines()[3] == "        scaled(a0[i, :], a1[i], a2[i, :])"
    inside = next(site for site in launch.sites if site.source == "a[k]")
    assert recording.file_of(launch) != recording.file
    assert (inside.function, inside.line, recording.file_of(launch, inside)) == ("scaled", 16, recording.file)
    recording.save(tmp_path / "it.smem.npz")
    assert smemviz.load(tmp_path / "it.smem.npz")["vectorized_total"].sites


def test_numbers_and_rows_given_to_vectorized_functions_are_there_once(tmp_path):
    """As recorded on a GPU: a stride of 0 along the one axis, copies along several; blocks as large as they may be."""
    start = "if True:\n    n, row = np.ones(5000), np.arange(4.0)\n    plus(n, 2.0)\n    plus(2.0, np.ones((8, 64)))"
    start += "\n    scaled(row, n)\n    total(np.ones((2, 3, 4)))"
    recording = script(tmp_path, VECTORIZED[: VECTORIZED.index("START")] + start)
    found = []
    for launch in recording.launches:
        sectors = {site.array: per.sectors for site, per in zip(launch.sites, launch.summary(), strict=True)}
        found.append(
            (launch.grid[0], launch.block[0], {name: sectors[name] for name in ("a0", "a1") if name in sectors})
        )
    assert found == [
        (5, 1024, {"a0": 1250, "a1": 157}),  # 157 warps
        (1, 1024, {"a0": 128, "a1": 128}),
        (5, 1024, {"a0": 4 * 157, "a1": 1250}),
        (1, 1024, {"a0": 24, "a1": 8}),  # what it adds up in
    ]


def test_numba_cuda_has_the_decorators_of_vectorized_functions_itself(tmp_path):
    for start in ["if True:", "@cuda.jit\ndef other(a):\n    pass\n\ndef main():"]:
        text = VECTORIZED.replace("@guvectorize", "@cuda.guvectorize").replace(
            '@vectorize(["float32', '@cuda.vectorize(["float32'
        )
        recording = script(tmp_path, text.replace(', target="cuda"', "").replace("START", start))
        assert len(recording.launches) == 7


def test_a_main_is_called_once_in_a_file_whose_kernels_numba_makes(tmp_path):
    for call in ["", "\n\nif __name__ == '__main__':\n    main()", "\n\nfor job in (main,):\n    job()"]:
        start = "def main():\n    plus(np.ones(3), 2.0)"
        recording = script(tmp_path, VECTORIZED[: VECTORIZED.index("START")] + start + call)
        assert [launch.kernel for launch in recording.launches] == ["vectorized_plus"]


def test_what_numba_knows_before_types_refuses_nothing(tmp_path):
    """Under a condition of constants or parameters, in functions written into their caller, and of one's own name."""
    before = """
DEBUG = False

@cuda.jit(device=True)
def pow(x, n):
    if n is None:
        return x
    return x * x

@cuda.jit(device=True, inline=True)
def rest(a, i):
    return a[i:]

@cuda.jit(device=True)
def view(a, start=None):
    if start is None:
        return a
    return a[start:]

@cuda.jit
def all_of_them(a, b):
    previous = n = None
    for i in range(4):
        if DEBUG:
            a[i] = previous + 1
        a[i] = pow(a[i], n)
        previous, n = a[i], i
    part, whole = rest(a, 2), view(a)
    part[1], whole[4] = 5, b[0] + 1

a, b = np.full(5, 3.0), np.full(1, 7.0)
all_of_them.forall(0)(a, b)
all_of_them[1, 1](cuda.InOut(a), b)
assert a.tolist() == [3, 9, 9, 5, 8]
kept = np.full(2, 5.0)
all_of_them[1, 1](np.zeros(5), kept)

@cuda.jit
def into(x, a):
    x[0] = a[0] + 1

into[1, 1](cuda.Out(kept), kept)
assert kept.tolist() == [5, 5]
"""
    assert script(tmp_path, HEAD + before).findings == ()


def test_what_is_asked_of_the_compiled_kernel_is_refused_and_what_was_recorded_kept(tmp_path):
    recording = script(tmp_path, f"{LAUNCHES}\ngo()\ngood.specialize(1)[1, 1](np.zeros(1))\ngood.inspect_asm()\n")
    assert len(recording.launches) == 2
    assert "good.inspect_asm asks the compiled kernel" in recording.findings[0].message


FORKED = f"""{HEAD}
import multiprocessing

@cuda.jit
def kernel(out):
    out[cuda.grid(1)] = 1
    if out.size == 2:
        out[7] = 1

def work(n):
    out = np.zeros(n)
    kernel[1, n](out)
    return out.sum()

if __name__ == "__main__":
    kernel[1, 8](np.zeros(8))
    with multiprocessing.get_context("METHOD").Pool(1) as pool:
        assert pool.map(work, [4, 2]) == [4, 2]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize(
    "method", ["fork", *(pytest.param(one, marks=pytest.mark.exhaustive) for one in ("spawn", "forkserver"))]
)
def test_launches_in_child_processes_are_recorded_too(tmp_path, method):
    recording = script(tmp_path, FORKED.replace("METHOD", method))
    assert [launch.block[0] for launch in recording.launches] == [8, 4, 2]
    assert [(one.kind, one.launch) for one in recording.findings] == [("out_of_bounds", 2)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_that_are_started_anew_enter_the_recorder(tmp_path, method, monkeypatch):
    """As on a GPU, which a forked process cannot use once its parent has."""
    monkeypatch.setattr(python_in_lockstep, "_forking", nullcontext)
    text = FORKED.replace("METHOD", method).replace("out[cuda.grid(1)] = 1", "out[cuda.grid(1)] = N")
    text = text.replace("[4, 2]) == [4, 2]", "[4, 2]) == [4 * N, 2 * N]")
    (tmp_path / "script.py").write_text(text.replace("import multi", "N = 1\nimport multi"))
    before = spawn.get_preparation_data
    recording = smemviz.run(tmp_path / "script.py", engine="lockstep", constants={"N": 3})
    assert [launch.block[0] for launch in recording.launches] == [8, 4, 2]
    assert [(one.kind, one.launch) for one in recording.findings] == [("out_of_bounds", 2)]
    assert spawn.get_preparation_data is before


def test_of_several_signatures_of_a_device_function_the_one_that_fits_is_taken(tmp_path):
    for threads in [1, 32]:
        text = f"""{HEAD}
@cuda.jit(["float32(float32)", "float64(float64)"], device=True)
def third(x):
    return x / 3

@cuda.jit
def kernel(out):
    out[2 * cuda.grid(1)] = third(float32(1))
    out[2 * cuda.grid(1) + 1] = third(1.0)

out = np.zeros(64)
kernel[1, {threads}](out)
assert out[:2].tolist() == [float(np.float32(1) / np.float32(3)), 1 / 3]
"""
        assert script(tmp_path, text).findings == ()


REDUCED = """
import numpy as np
from numba import cuda

@cuda.reduce
def total(a, b):
    return a + b

@cuda.jit
def kernel(out):
    out[0] = 1

def main():
    assert total(np.arange(300.0)) == 44850
    assert cuda.reduce(lambda a, b: max(a, b))(np.arange(64, dtype=np.int32)) == 63
    kernel[1, 1](np.zeros(1))
    sums = cuda.device_array(1, np.float32)
    assert total(cuda.to_device(np.arange(10, dtype=np.float32)), res=sums, init=5, size=4) is None
    assert sums.copy_to_host().tolist() == [11]
    assert total(np.zeros(0), init=3) == 3
"""


@pytest.mark.parametrize("ending", ["", "\nmain()\n"])
def test_a_reduction_launches_the_kernels_that_numba_launches_on_a_gpu(tmp_path, ending):
    """300 numbers are two blocks of 128, then 44, then the three that these leave."""
    path = tmp_path / "kernels.py"
    path.write_text(REDUCED + ending)
    recording = smemviz.run(path, engine="lockstep", arguments=[] if ending else None)
    assert recording.findings == ()
    reductions = [launch for launch in recording.launches if launch.kernel == "gpu_reduce_block_strided"]
    assert [(one.grid[0], one.block[0]) for one in reductions] == [(2, 128), (1, 44), (1, 3), (1, 64), (1, 4)]
    assert {Path(one.file).name for one in reductions} == {"reduction.py"}
    counted = {s.source: r for s, r in zip(reductions[0].sites, reductions[0].summary(), strict=True) if r.requests}
    assert counted["sm_this[laneid]"].wavefronts == 40  # five steps in each of eight warps, of 16 lanes and less
    assert counted["sm_this[laneid + width]"].excess == 0


def test_a_script_of_cuda_reduce_alone_is_recorded(tmp_path):
    text = "import numpy as np\nfrom numba import cuda\nassert cuda.reduce(lambda a, b: a + b)(np.ones(2)) == 2\n"
    (launch,) = script(tmp_path, text).launches
    assert (launch.grid[0], launch.block[0]) == (1, 2)


def test_a_vectorized_function_without_a_signature_is_told_of_one(tmp_path):
    text = """
import numpy as np
from numba import vectorize

@vectorize(target="cuda")
def same(x, y):
    return x

same(np.ones(3), np.ones(3, np.float32))
"""
    with pytest.raises(KernelFileError, match=r"vectorize\(\['float64\(float64, float32\)'\], target='cuda'\)"):
        script(tmp_path, text)


def test_what_threads_launch_that_go_on_behind_the_script_is_recorded(tmp_path):
    text = """
import threading, time

@cuda.jit
def late(out):
    out[cuda.grid(1)] = 1

def wait():
    time.sleep(0.2)
    late[1, 32](np.zeros(32))

threading.Thread(target=wait).start()
"""
    assert [launch.kernel for launch in script(tmp_path, HEAD + text).launches] == ["late"]
