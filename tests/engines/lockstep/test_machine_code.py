"""Long launches of kernels in Python as machine code: the same as the interpreter, or left to it."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.interpreted_ptx import compiles  # noqa: F401 - which the mark asks
from helpers.same_requests import relative_requests
from helpers.tiers import but

import smemviz
from smemviz.engines.lockstep import machine as interpreted
from smemviz.engines.lockstep.host import python_launch
from smemviz.engines.lockstep.machine_code import launching

pytestmark = pytest.mark.skipif("not compiles()", reason="Numba does not compile for a GPU here: libNVVM is missing")

# Numba takes about a second to compile each.
_SLOW = ["another order in memory", "dynamic memory", "a sort", "a device function", "lanes of a warp", "mathematics"]
_SLOW += ["an index beyond an array", "a race", "memory that nobody wrote", "barriers in both branches"]

HEAD = "import math\nimport numpy as np\nfrom numba import cuda, float32, int32\n\n"


def file_of(tmp_path, body, launch, *, before=""):
    """Write a kernel file with one kernel ``k(a, b)``, and return its path."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    path = tmp_path / "kernel.py"
    path.write_text(f"{HEAD}{before}@cuda.jit\ndef k(a, b):\n{lines}\n\ndef main():\n    {launch}\n", encoding="utf-8")
    return path


def both(path):
    """Run a kernel file interpreted and compiled; return both launches and whether the second was compiled."""
    first, second = (smemviz.run(path, engine="lockstep", machine_code=how) for how in ("never", "always"))
    assert first.findings == second.findings
    return first.launches[0], second.launches[0]


TILE = """t = cuda.shared.array((8, 9), float32)
x, y = cuda.threadIdx.x, cuda.threadIdx.y
t[y, x] = a[y, x] * 2
cuda.syncthreads()
b[y, x] = t[x, y]"""
DYNAMIC = """t = cuda.shared.array(0, int32)
i = cuda.threadIdx.x
t[i] = a[i]
cuda.syncthreads()
for _ in range(3):
    b[i] += t[63 - i]"""
SORT = """s = cuda.shared.array(64, int32)
i = cuda.threadIdx.x
s[i] = a[i] * 7919 % 64
cuda.syncthreads()
k = 2
while k <= 64:
    j = k // 2
    while j > 0:
        o = i ^ j
        if o > i and (s[i] > s[o]) == ((i & k) == 0):
            t = s[i]
            s[i] = s[o]
            s[o] = t
        cuda.syncthreads()
        j //= 2
    k *= 2
b[i] = s[i]"""
ATOMICS = """s = cuda.shared.array(4, int32)
i = cuda.threadIdx.x
if i < 4:
    s[i] = 0
cuda.syncthreads()
cuda.atomic.add(s, i % 4, a[i])
cuda.atomic.max(b, 0, a[i])
cuda.atomic.cas(b, 1, 0, 5)
cuda.syncthreads()
cuda.atomic.add(b, 2, s[i % 4])"""
CALLS = """i = cuda.grid(1)
v = part(a, i)
while v > 1:
    v = 3 * v + 1 if v % 2 else v // 2
    b[i] += 1"""
WARPS = """i = cuda.threadIdx.x
v = a[i]
for step in (16, 8, 4, 2, 1):
    v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
if i % 32 == 0:
    b[i // 32] = v"""
SINES = """i = cuda.grid(1)
b[i] = math.sin(a[i] * 1e6) + math.exp(-a[i])"""
INTEGERS = "k[1, 64](np.arange(64, dtype=np.int32), np.zeros(64, np.int32))"
FLOATS = "k[2, 32](np.arange(64, dtype=np.float32), np.zeros(64, np.float32))"
SAME = {
    "a tile": (TILE, "k[1, (8, 8)](np.arange(64, dtype=np.float32).reshape(8, 8), np.zeros((8, 8), np.float32))", ""),
    "another order in memory": (
        TILE,
        "k[1, (8, 8)](np.arange(64, dtype=np.float32).reshape(8, 8).T, np.zeros((8, 8), np.float32))",
        "",
    ),
    "dynamic memory": (DYNAMIC, INTEGERS.replace("64]", "64, 0, 256]"), ""),
    "a sort": (SORT, INTEGERS, ""),
    "atomics": (ATOMICS, INTEGERS, ""),
    "a device function": (
        CALLS,
        INTEGERS.replace("arange(64", "arange(1, 65"),
        "@cuda.jit(device=True)\ndef part(a, i):\n    return a[i] + a[(i + 1) % 64]\n\n",
    ),
    "lanes of a warp": (WARPS, INTEGERS, ""),
    "mathematics": (SINES, FLOATS, ""),
}


@pytest.mark.parametrize("name", but(_SLOW, SAME))
def test_the_same_is_recorded(tmp_path, name):
    body, launch, before = SAME[name]
    walked, compiled = both(file_of(tmp_path, body, launch, before=before))
    assert compiled.machine_code
    assert not walked.machine_code
    assert relative_requests(walked) == relative_requests(compiled)
    assert [site.wavefronts for site in walked.sites] == [site.wavefronts for site in compiled.sites]
    for facts in ("sites", "arrays", "shared_bytes", "totals", "line", "file"):
        assert getattr(walked, facts) == getattr(compiled, facts)
    np.testing.assert_array_equal(walked.requests.epoch, compiled.requests.epoch)
    np.testing.assert_allclose(
        np.sort(walked.requests.values, axis=None), np.sort(compiled.requests.values, axis=None), rtol=1e-5
    )


LEFT = {
    "an index beyond an array": "b[cuda.threadIdx.x] = a[cuda.threadIdx.x + 1]",
    "an index beyond one axis": "b[cuda.threadIdx.x] = a.reshape(8, 8)[0, cuda.threadIdx.x % 9]",
    "a race": "a[0] = cuda.threadIdx.x",
    "memory that nobody wrote": "s = cuda.shared.array(64, int32)\nb[cuda.threadIdx.x] = s[cuda.threadIdx.x]",
    "a barrier in one branch": "if cuda.threadIdx.x < 32:\n    cuda.syncthreads()\nb[cuda.threadIdx.x] = 1",
    "barriers in both branches": "if cuda.threadIdx.x < 32:\n    cuda.syncthreads()\nelse:\n    cuda.syncthreads()",
    "a variable that may mean nothing": "if a[cuda.threadIdx.x] > 9:\n    x = 1\nb[cuda.threadIdx.x] = x",
    "an error": "if a[0] == 0:\n    raise ValueError",
}


@pytest.mark.parametrize("name", but(_SLOW, LEFT))
def test_what_may_be_a_mistake_is_left_to_the_interpreter(tmp_path, name):
    _, compiled = both(file_of(tmp_path, LEFT[name], INTEGERS))
    assert not compiled.machine_code


def test_what_is_not_compiled_is_interpreted(tmp_path):
    for body in ["print(a[0])", "t = cuda.local.array(4, int32)\nt[0] = a[0]\nb[0] = t[0]"]:
        _, compiled = both(file_of(tmp_path, body, "k[1, 1](np.ones(4, np.int32), np.zeros(4, np.int32))"))
        assert not compiled.machine_code


def test_only_a_long_launch_with_a_loop_is_compiled(tmp_path, monkeypatch):
    asked = []

    def launch(*given):
        asked.append(given[0].name)
        return made(*given)

    made = launching.launch_compiled
    monkeypatch.setattr(launching, "launch_compiled", launch)
    loop = "for i in range(100):\n    b[0] += a[i % 64]"
    one = INTEGERS.replace("64]", "1]")
    quick = smemviz.run(file_of(tmp_path, loop, one), engine="lockstep")
    assert not asked
    monkeypatch.setattr(interpreted, "LONG_LAUNCH_SECONDS", 0.0)
    smemviz.run(file_of(tmp_path, "b[0] = a[0]", one), engine="lockstep")
    assert not asked
    long = smemviz.run(file_of(tmp_path, loop, one), engine="lockstep")
    assert asked == ["k"]
    assert long.launches[0].machine_code
    assert relative_requests(quick.launches[0]) == relative_requests(long.launches[0])


def test_a_launch_that_is_left_half_way_begins_anew_and_prints_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(interpreted, "LONG_LAUNCH_SECONDS", 0.0)
    monkeypatch.setattr(launching, "launch_compiled", lambda *given: None)
    file = file_of(
        tmp_path,
        "print(7)\nfor i in range(100):\n    b[0] += 1\nprint(8)",
        "b = np.zeros(1)\n    k[1, 1](b, b)\n    print(b[0])",
    )
    assert smemviz.run(file, engine="lockstep").launches[0].request_count == 200
    assert capsys.readouterr().out.split() == ["7", "8", "100.0"]


def test_a_kernel_that_took_long_is_not_interpreted_first_again(tmp_path, monkeypatch):
    begun = []

    def interpret(*given):
        begun.append(given)
        return interpreted_to_its_end(*given)

    interpreted_to_its_end = python_launch.interpret
    monkeypatch.setattr(python_launch, "interpret", interpret)
    monkeypatch.setattr(interpreted, "LONG_LAUNCH_SECONDS", 0.0)
    thrice = "for _ in range(3):\n        k[1, 1](np.ones(4), np.zeros(4))"
    good = smemviz.run(file_of(tmp_path, "for i in range(4):\n    b[i] += a[i]", thrice), engine="lockstep")
    assert [launch.machine_code for launch in good.launches] == [True] * 3
    assert len(begun) == 1
    begun.clear()
    left = smemviz.run(file_of(tmp_path, "for i in range(5):\n    b[i] = a[0]", thrice), engine="lockstep")
    assert [launch.machine_code for launch in left.launches] == [False] * 3
    assert len(begun) == 4
