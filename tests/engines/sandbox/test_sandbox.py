"""Texts that are run on their syntax tree give what the same files give when Python runs them."""

import os
import subprocess
import sys
import tempfile
from contextlib import closing

import numpy as np
import pytest
from helpers.servers import alive, until

from smemviz.engines import run
from smemviz.engines.sandbox import SandboxLimits, Supervisor, run_text
from smemviz.errors import InputError, KernelFileError, UnsupportedError
from smemviz.paths import gallery, kernels_dir
from smemviz.recordings.findings import MAIN_FAILED

_LIMITS = SandboxLimits(log_bytes=1 << 28)
_KERNEL = """import math
import numpy as np
from numba import cuda, float32

SIZE = 32


@cuda.jit
def copy(out, values):
    tile = cuda.shared.array(SIZE, float32)
    i = cuda.threadIdx.x
    tile[i] = values[i]
    cuda.syncthreads()
    out[i] = tile[i]


"""
_LONG = ("matmul", "latency")
_KERNEL_FILES = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.exhaustive] if path.stem in _LONG else [])
    for path in gallery()
    if path.suffix == ".py"
]
_SMALLER = {"latency": {"GLOBAL": 1 << 20}}  # of files whose arrays are too large for an editor


def _main(body):
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return run_text(f"{_KERNEL}def main():\n{lines}    copy[1, SIZE](np.zeros(SIZE, np.float32), np.zeros(SIZE))\n")


@pytest.mark.parametrize("path", _KERNEL_FILES)
def test_gallery_files_give_the_same_recording_as_when_python_runs_them(path):
    constants = _SMALLER.get(path.stem, {})
    ours = run_text(path.read_text(encoding="utf-8"), constants, limits=_LIMITS, file=path.as_posix()).recording
    theirs = run(path, constants, engine="lockstep", log_bytes=_LIMITS.log_bytes)
    assert [launch.kernel for launch in ours.launches] == [launch.kernel for launch in theirs.launches]
    assert ours.findings == theirs.findings
    for one, other in zip(ours.launches, theirs.launches, strict=True):
        assert one.sites == other.sites
        np.testing.assert_array_equal(one.requests.addresses, other.requests.addresses)
        np.testing.assert_array_equal(one.requests.values, other.requests.values)


def test_constants_are_replaced_as_everywhere():
    source = (kernels_dir() / "square.py").read_text(encoding="utf-8")
    ran = run_text(source, {"IPAD": 2})
    assert ran.recording.constants["IPAD"] == 2
    assert ran.recording.constants["PITCH"] == 34


def test_the_host_part_computes_what_python_computes():
    for body, printed in [
        ("print(1, 'two', sep='-')", "1-two\n"),
        ("print(f'{math.pi:.2f} {1 + 1!r}')", "3.14 2\n"),
        ("print([i * i for i in range(5) if i % 2])", "[1, 9]\n"),
        ("a, (b, c) = 1, (2, 3)\nprint(a + b * c, a < b < c, a if b > c else c)", "7 True 3\n"),
        ("x = np.arange(6).reshape(2, 3)\nx[0] += 10\nprint(x.sum(axis=1).tolist())", "[33, 12]\n"),
        ("x = np.arange(6)\ny = x\ny += 1\nprint(int(x[-1]), x[::2].tolist())", "6 [1, 3, 5]\n"),
        ("t = 0\nfor i in range(9):\n    if i == 5:\n        break\n    t += i\nelse:\n    t = -1\nprint(t)", "10\n"),
        (
            "n = 5\nwhile n:\n    n -= 1\n    if n == 3:\n        continue\nprint(n, not n, n or 7, n and 7)",
            "0 True 7 0\n",
        ),
        ("for i, (a, b) in enumerate(zip([1, 2], (3, 4))):\n    print(i, a, b)", "0 1 3\n1 2 4\n"),
        ("def twice(x, by=2):\n    return x * by\nprint(twice(4), twice(4, by=3))", "8 12\n"),
        ("d = cuda.to_device(np.ones(3))\nprint(d.shape, d.copy_to_host().sum())", "(3,) 3.0\n"),
        ("a = np.ones((2, 3)) @ np.ones((3, 2))\nprint(a.shape, float(a.max()))", "(2, 2) 3.0\n"),
        ("print(max(3, 4), min([5, 2]), sum(range(4)), abs(-3), len('abc'), round(2.567, 1))", "4 2 6 3 3 2.6\n"),
        ("twice, n = lambda x, by=2: x * by, 3\nprint(twice(n), (lambda: n + 1)())", "6 4\n"),
        (
            "n = 3\nparts = [lambda i, k=k: i * k + n for k in range(3)]\nn = 4\nprint([f(2) for f in parts])",
            "[4, 6, 8]\n",
        ),
        ("def outer(n):\n    def inner(x):\n        return x + n\n    return inner\nprint(outer(3)(4))", "7\n"),
        (
            "try:\n    x = 1 / 0\nexcept (ValueError, ArithmeticError) as e:\n    print(f'no: {e}')",
            "no: division by zero\n",
        ),
        (
            "def f(x):\n    try:\n        if x == 1:\n            raise ValueError('one') from None\n"
            "        y = [1][x]\n"
            "    except ValueError as e:\n        return f'{e} {e!r} ' + str(e)\n    else:\n        return 'none'\n"
            "    finally:\n        print('done', x)\n"
            "print(f(0), f(1))\ntry:\n    f(2)\nexcept LookupError as e:\n    print(e)",
            "done 0\ndone 1\nnone one ValueError('one') one\ndone 2\nlist index out of range\n",
        ),
        (
            "for i in range(3):\n    try:\n        if i == 1:\n            continue\n"
            "        if i == 2:\n            break\n    finally:\n        print('after', i)",
            "after 0\nafter 1\nafter 2\n",
        ),
        (
            "try:\n    try:\n        assert False, 'first'\n"
            "    except AssertionError:\n        print('again')\n        raise\n"
            "except Exception as e:\n    print(e)",
            "again\nfirst\n",
        ),
        ("try:\n    import cupy\nexcept ImportError:\n    print('without')", "without\n"),
        (
            "try:\n    cuda.synchronize()\nexcept cuda.CudaSupportError:\n    print('never')\nelse:\n    print('here')",
            "here\n",
        ),
        (
            "x = np.ones(3)\nwith cuda.pinned(x), cuda.defer_cleanup(), cuda.stream().auto_synchronize() as s:\n"
            "    d = cuda.to_device(x, stream=s)\nprint(d.size)",
            "3\n",
        ),
        ("np.random.seed(1)\nprint(np.random.randint(0, 10, 3).shape)", "(3,)\n"),
    ]:
        assert _main(body).printed == printed


def test_what_nobody_wrote_is_zero_and_nothing_of_this_process():
    np.full(100_000, 7.0)  # memory that is given back, and then again to the next who asks
    body = "print(np.empty(100_000).any(), np.empty_like(np.ones(100_000)).any())"
    assert _main(body).printed == "False False\n"


def test_a_kernel_may_be_configured_and_given_device_arrays_a_stream_and_shared_bytes():
    body = (
        "stream = cuda.stream()\nout = cuda.device_array(SIZE, np.float32)\n"
        "copy.configure(1, SIZE, stream, 128)(out, cuda.to_device(np.arange(SIZE), stream=stream))\n"
        "stream.synchronize()\nassert np.array_equal(out.copy_to_host(), np.arange(SIZE)), 'copied wrongly'"
    )
    assert [launch.dynamic_shared for launch in _main(body).recording.launches] == [128, 0]


def test_what_ends_main_after_a_launch_is_a_finding_and_keeps_the_recording():
    text = f"{_KERNEL}def main():\n    copy[1, 32](np.zeros(32), np.zeros(32))\n    assert 1 > 2, 'never'\n"
    recording = run_text(text).recording
    assert [(one.kind, one.line, one.message) for one in recording.findings] == [
        (MAIN_FAILED, 19, "main() ended with AssertionError: never")
    ]
    assert len(recording.launches) == 1


def test_a_mistake_of_the_host_part_names_its_line():
    for body, line, says in [
        ("x = unknown + 1", 18, "NameError: unknown is not defined here"),
        ("x = 1\nx = 1 / 0", 19, "ZeroDivisionError: division by zero"),
        ("x = np.zeros(3)[5]", 18, "IndexError: index 5 is out of bounds for axis 0 with size 3"),
        ("x = np.zeros(3) + np.zeros(4)", 18, "ValueError: operands could not be broadcast together"),
        ("raise ValueError(f'{1 + 1} is\\nno size')", 18, "ValueError: 2 is"),
        ("try:\n    x = [][0]\nexcept ValueError:\n    pass", 19, "IndexError: list index out of range"),
        ("try:\n    x = [][0]\nexcept None:\n    pass", 20, "None is not a class of exceptions"),
        ("try:\n    x = [][0]\nexcept IndexError:\n    raise NotImplementedError", 21, "NotImplementedError"),
        ("raise 5", 18, "5 is not an exception"),
        ("raise", 18, "RuntimeError: no exception to raise again"),
        ("(lambda x: x)()", 18, "<lambda> takes x"),
        ("copy(1)", 18, "copy needs a launch: copy[grid, block](...)"),
        ("copy[1]()", 18, "a launch needs kernel[grid, block]"),
        ("cuda.syncthreads()", 18, "cuda.syncthreads is for kernels; this line runs on the host"),
    ]:
        with pytest.raises(InputError) as caught:
            _main(body)
        assert str(caught.value).startswith(f"editor.py:{line}: {says}")


def test_what_is_not_run_is_named_with_what_would_run_it():
    for body in [
        "with x:\n    pass",
        "with cuda.stream():\n    pass",
        "try:\n    pass\nexcept* ValueError:\n    pass",
        "async def f():\n    pass",
        "x = {1}",
    ]:
        with pytest.raises(
            UnsupportedError, match="is not run in the editor; save the file and run it with smemviz run"
        ):
            _main(body)


def test_a_text_without_a_launch_says_what_is_missing():
    with pytest.raises(KernelFileError, match="launches no kernel"):
        run_text(f"{_KERNEL}def main():\n    pass\n")


def test_the_supervisor_gives_what_the_text_gives():
    text = f"{_KERNEL}def main():\n    copy[1, 32](np.zeros(32, np.float32), np.zeros(32))\n    print(SIZE)\n"
    with closing(Supervisor()) as supervisor:
        ran = supervisor.run(text, {"SIZE": 64})
    assert ran.printed == "64\n"
    assert ran.recording.launches[0].shared_bytes == 256
    with pytest.raises(InputError, match="the server is shutting down"):
        supervisor.run(text)


def test_names_of_cuda_can_be_imported_one_by_one():
    names = "from numba.cuda import jit, shared, syncthreads, threadIdx, to_device"
    text = _KERNEL.replace("cuda.", "").replace("from numba import cuda,", f"{names}\nfrom numba import")
    ran = run_text(f"{text}def main():\n    copy[1, SIZE](np.zeros(SIZE, np.float32), to_device(np.zeros(SIZE)))\n")
    assert [row.requests for row in ran.recording.launches[0].summary()] == [1, 1, 1, 1]


def test_a_module_has_what_is_none():
    assert _main("print(np.zeros(3)[np.newaxis].shape)").printed == "(1, 3)\n"


def test_what_a_kernel_prints_is_shown_and_is_no_answer():
    """A process answers on its standard output, where a kernel may not write."""
    text = (
        'from numba import cuda\n\n\n@cuda.jit\ndef loud():\n    print(\'{"error": "forged"}\', cuda.threadIdx.x)\n\n\n'
    )
    with closing(Supervisor()) as supervisor:
        ran = supervisor.run(f"{text}def main():\n    print('before')\n    loud[1, 2]()\n    print('after')\n")
    assert ran.printed == 'before\n{"error": "forged"} 0\n{"error": "forged"} 1\nafter\n'


@pytest.mark.exhaustive
def test_a_text_is_run_where_modules_of_the_standard_library_are_hidden(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit\n")
    monkeypatch.chdir(tmp_path)
    with closing(Supervisor()) as supervisor:
        assert supervisor.run(f"{_KERNEL}def main():\n    copy[1, SIZE](np.zeros(SIZE), np.zeros(SIZE))\n")


@pytest.mark.exhaustive
def test_no_place_for_temporary_files_is_needed(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "gone"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with closing(Supervisor()) as supervisor:
        ran = supervisor.run(f"{_KERNEL}def main():\n    copy[1, SIZE](np.zeros(SIZE), np.zeros(SIZE))\n")
    assert len(ran.recording.launches) == 1


_IN_A_DEVICE_FUNCTION = """
from numba import cuda
import math
import numpy as np

@cuda.jit(device=True)
def device(x):
    return {code}

@cuda.jit
def kernel(out):
    out[cuda.threadIdx.x] = device(out[cuda.threadIdx.x])

def main():
    kernel[1, 32](np.zeros(32, np.float32))
"""


@pytest.mark.exhaustive
def test_a_line_that_is_refused_in_a_device_function_is_named():
    refused = ("math.comb(5, 2)", "np.mean(x)", "np.linalg.norm(x)", "'a' + x", "{1: x}[1]")
    with closing(Supervisor()) as supervisor:
        for code in refused:
            with pytest.raises(UnsupportedError, match=r"^editor.py:8: ") as raised:
                supervisor.run(_IN_A_DEVICE_FUNCTION.replace("{code}", code))
            assert "failed" not in str(raised.value)


@pytest.mark.exhaustive
def test_a_refusal_loads_no_numba_which_a_confined_process_cannot():
    refused = _IN_A_DEVICE_FUNCTION.replace("{code}", "np.mean(x)")
    code = f"""
import sys
from smemviz.engines.sandbox import run_text
from smemviz.errors import UnsupportedError
try:
    run_text({refused!r})
except UnsupportedError as error:
    print(error.line, "numba" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "8 False\n"


_SERVER = """
import os, sys, threading
from smemviz.engines.sandbox import Supervisor, SandboxLimits
supervisor = Supervisor(SandboxLimits(seconds=600))
threading.Thread(target=supervisor.run, args=(sys.argv[1],), daemon=True).start()
while not supervisor._all or not all(worker.ready.is_set() for worker in supervisor._all):
    pass
print(*(worker.process.pid for worker in supervisor._all), flush=True)
threading.Event().wait()
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_when_the_server_is_killed_its_processes_end_and_leave_nothing(tmp_path):
    endless = f"{_KERNEL}def main():\n" + "    for i in range(10_000):\n        np.zeros(8_000_000)\n"
    command = [sys.executable, "-c", _SERVER, endless]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        workers = [int(pid) for pid in server.stdout.readline().split()]
        assert workers
        server.kill()
    until(lambda: not any(map(alive, workers)))
    assert list(tmp_path.iterdir()) == []
