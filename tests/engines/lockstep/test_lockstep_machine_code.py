"""Loops that are run in machine code once they are long: which ones, and what happens where that does not do."""

import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import both_ways, run_few
from helpers.lockstep_text import body

from smemviz.engines.lockstep.hazards.watched import Watched
from smemviz.engines.lockstep.python.one_thread import accesses, runner
from smemviz.engines.lockstep.python.one_thread.native import compiled, thread

NATIVE = {
    "integers that wrap": "for k in range(40):\n    n = n * 6364136223846793005 + 1442695040888963\n    x += n >> 60",
    "narrow ones that wrap": "for k in range(40):\n    few[i] = few[i] * 31 - k\n    x += few[i]",
    "single precision": "y = 0.5\nfor k in range(40):\n    f = f * float32(1.1) - math.sqrt(abs(f))\n    y += f\nx = y",
    "truths": "for k in range(40):\n    on[k % 8] = k > i and not on[(k + 1) % 8]\n    x += on[k % 8]",
    "quotients and remainders": "for k in range(1, 40):\n    x += (n - 1000) // k + (n - 1000) % k",
    "floats cut off": "for k in range(40):\n    x += int(f * k) - int(-f * k)",
    "the larger one": "for k in range(40):\n    x += max(k, i) - min(3, k, n)",
    "loops in loops": "for k in range(9):\n    for m in range(20, k, -3):\n        if m == 11: break\n        x += m",
    "a condition": "k = 0\nwhile k < 50 and x < 99:\n    k += i + 1\n    x += k % 3",
    "a function": "for k in range(20):\n    x += least(k, i)",
    "what only some assign": "for k in range(n):\n    if k > 1:\n        z = k\nif n > 2:\n    x += z",
}
AS_TEXT = {
    "integers without a sign": "for k in range(40):\n    w = uint64(k) * uint64(n)\n    x += w % uint64(7)",
    "complex numbers": "for k in range(40):\n    z = complex(k, i) * 2\n    x += z.real",
    "functions of math": "for k in range(40):\n    x += math.sin(k + f)",
}
OTHER_WAY = {
    "a divisor below 0 once": "for k in range(40):\n    x += n // (38 - k)",
    "a number that is too large once": "for k in range(70):\n    x += int(float(1 << 55) * (1 << k % 12)) // 1000",
}
HEAD = """
    i = cuda.threadIdx.x
    few = cuda.shared.array(32, int32)
    on = cuda.local.array(8, boolean)
    few[i] = i
    on[0] = on[3] = i > 2
    n, x, f = i + 1, 0, float32(i + 2)
"""
FUNCTION = "@cuda.jit(device=True)\ndef least(a, b):\n    if a < b:\n        return a\n    return b\n"


@pytest.fixture
def made(monkeypatch):
    """Whether loops are made machine code, one after the other."""
    run_few(monkeypatch, "machine code")
    found, native_of = [], compiled.native_of

    def noted(*text):
        native = native_of(*text)
        found.append(native is not None)
        return native

    monkeypatch.setattr(compiled, "native_of", noted)
    return found


def launch_of(lines, block):
    text = f"{textwrap.dedent(HEAD)}{lines}\nout[i] = x"

    def launch():
        out = np.zeros(32)
        return body(text, out, before=FUNCTION, block=block, harmless=True), out

    return launch


@pytest.mark.parametrize("block", [1, 5])
@pytest.mark.parametrize("lines", NATIVE.values(), ids=NATIVE)
def test_long_loops_run_in_machine_code_and_leave_the_same(monkeypatch, made, lines, block):
    alone, interpreted, ran = both_ways(monkeypatch, launch_of(lines, block))

    assert alone == interpreted
    assert made
    assert all(made)
    assert ran > 0


@pytest.mark.parametrize("block", [1, 5])
@pytest.mark.parametrize("lines", AS_TEXT.values(), ids=AS_TEXT)
def test_loops_with_other_numbers_run_as_text(monkeypatch, made, lines, block):
    alone, interpreted, ran = both_ways(monkeypatch, launch_of(lines, block))

    assert alone == interpreted
    assert not any(made)
    assert ran > 0


@pytest.mark.parametrize("block", [1, 5])
@pytest.mark.parametrize("lines", OTHER_WAY.values(), ids=OTHER_WAY)
def test_what_machine_code_leaves_out_is_done_as_text(monkeypatch, made, lines, block):
    alone, interpreted, ran = both_ways(monkeypatch, launch_of(lines, block))

    assert alone == interpreted
    assert made[-1]
    assert ran > 0


@pytest.mark.parametrize(
    "head", ["for k in range(60):", "for k in range(60, 0, -1):", "k = 0\nwhile k < 60:\n    k += 1"]
)
def test_one_thread_goes_on_as_text_where_machine_code_cannot(monkeypatch, made, head):
    monkeypatch.setattr(accesses, "_ENOUGH", 0)
    monkeypatch.setattr(thread, "_OFTEN", 5)
    step = "k += 1" if "while" in head else "pass"
    lines = f"{head}\n    {step}\n    few[k % 32] += k\n    x += few[(k + 1) % 32]"
    lines += "\n    if 20 < k < 40:\n        out[k + 30] = k"

    alone, interpreted, ran = both_ways(monkeypatch, launch_of(lines, 1))

    assert alone == interpreted
    assert made[-1]
    assert ran == 1


def test_a_loop_becomes_long_by_how_often_it_is_run(monkeypatch):
    native = []
    native_of = compiled.native_of
    monkeypatch.setattr(compiled, "native_of", lambda *text: native.append(text) or native_of(*text))
    lines = "for k in range(6):\n    cuda.syncwarp()\n    for m in range(1500):\n        x += m * i"

    launch_of(lines, 30)()

    assert len(native) == 1


def test_short_loops_are_not_compiled(monkeypatch):
    monkeypatch.setattr(compiled, "native_of", None)

    launch_of(f"for k in range({runner.OFTEN_TOGETHER // 2}):\n    x += k", 5)()


@pytest.mark.parametrize("number", [np.int32, np.int64])
def test_threads_have_numbers_of_either_size(monkeypatch, made, number):
    monkeypatch.setattr(Watched, "_nobody", lambda self: np.zeros(len(self.contents), number))

    lines = "out[i] = i\nfor k in range(40):\n    out[i] += k * i"
    alone, interpreted, ran = both_ways(monkeypatch, launch_of(lines, 5))

    assert alone == interpreted
    assert made[-1]
    assert ran > 0


WIDE = {
    "a mask that is not reached": "for k in range(3000):\n    n = k + 1000\n    if n < 0:\n        n = n & 255\nx = n",
    "a remainder now and then": """
for k in range(99):
    n = n * 3 + k
    if n > 1000:
        n = (n - (-8)) % 16 + (-8)
x = n""",
    "products without a sign": "h = uint32(4000000000)\nfor k in range(40):\n    x += h * h > uint32(7)",
    "the whole range downwards": """
for k in range(0, -9223372036854775807 - 1 + 0 * n, -1):
    x += 1
    if k < -50:
        break""",
    "the whole range upwards": """
for k in range(0, 9223372036854775807, 2):
    x += 1
    if k > 50:
        out[900] = 1
    if k > 60:
        break""",
}


@pytest.mark.parametrize("way", ["machine code", "machine code in parts"])
@pytest.mark.parametrize("block", [1, 2, 5])
@pytest.mark.parametrize("lines", WIDE.values(), ids=WIDE)
def test_what_only_looks_settled_is_left_as_it_is(monkeypatch, lines, block, way):
    run_few(monkeypatch, way)

    alone, interpreted, _ = both_ways(monkeypatch, launch_of(lines, block))

    assert alone == interpreted
