"""Loops that are run in machine code once they are long: which ones, and what happens where that does not do."""

import ctypes
import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import both_ways, note_machine_code, run_few
from helpers.lockstep_text import body

from smemviz.engines.lockstep.hazards.watched import Watched
from smemviz.engines.lockstep.python.functions import mathematics, names
from smemviz.engines.lockstep.python.functions.rules import plain
from smemviz.engines.lockstep.python.one_thread import accesses, runner
from smemviz.engines.lockstep.python.one_thread.native import compiled, thread
from smemviz.engines.lockstep.python.one_thread.native.ufuncs import loop_of

NATIVE = {
    "integers that wrap": "for k in range(40):\n    n = n * 6364136223846793005 + 1442695040888963\n    x += n >> 60",
    "narrow ones that wrap": "for k in range(40):\n    few[i] = few[i] * 31 - k\n    x += few[i]",
    "single precision": "for k in range(40):\n    f = f * float32(1.1) - math.sqrt(abs(f))\n    y += f",
    "truths": "for k in range(40):\n    on[k % 8] = k > i and not on[(k + 1) % 8]\n    x += on[k % 8]",
    "quotients and remainders": "for k in range(1, 40):\n    x += (n - 1000) // k + (n - 1000) % k",
    "floats cut off": "for k in range(40):\n    x += int(f * k) - int(-f * k)",
    "the larger one": "for k in range(40):\n    x += max(k, i) - min(3, k, n)",
    "loops in loops": "for k in range(9):\n    for m in range(20, k, -3):\n        if m == 11: break\n        x += m",
    "ends that are computed": "for k in range(cuda.grid(1), few.shape[0] - 20, len(few) // 16):\n    x += few[k] * k",
    "a condition": "k = 0\nwhile k < 50 and x < 99:\n    k += i + 1\n    x += k % 3",
    "a function": "for k in range(20):\n    x += least(k, i)",
    "functions of math": "for k in range(40):\n    y += math.sin(k + f) * math.atan2(f, k) + math.pow(f, 0.3)",
    "functions of single precision": "for k in range(40):\n    f = math.cos(f) + math.fmod(f, float32(0.7))\ny = f",
    "functions of integers": "for k in range(40):\n    y += math.log(k + 1) + math.sqrt(k * i) + math.floor(k / 3)",
    "functions of NumPy": "for k in range(40):\n    y += np.tanh(y / 9) + np.hypot(f, f)",
    "roots of what is below 0": "for k in range(40):\n    y -= 0.5\n    x += math.isnan(math.sqrt(y))",
    "the larger float": "for k in range(40):\n    y = max(min(y, k - 20.5), -y, 0.0) + 1",
    "what is no number": "for k in range(40):\n"
    "    y = math.exp(k * f * 30)\n    x += math.isinf(y) + 2 * math.isfinite(y)",
    "bits": "for k in range(40):\n    n = ~n * 0x5DEECE66D - k\n    x += cuda.popc(n) + cuda.clz(n) + cuda.ffs(n << k)",
    "bits of narrow ones": "for k in range(40):\n"
    "    m = int32(n * k) - few[k % 3]\n    x += cuda.clz(m) + cuda.popc(-few[i]) + ~m",
    "shifts by any distance": "for k in range(-3, 70):\n    x ^= (n << k) + (-n >> k) + (few[k % 32] << k)",
    "powers": "for k in range(40):\n    x += k ** 5 + n ** 2\n    f = f ** 3 - f ** 7\n    y += f",
    "powers of any size": "for k in range(40):\n    x += (-1) ** k + (k - 3) ** (k % 7) + n ** (i - 2)\n"
    "    f = f ** (k % 3) / float32(2)\n    y += y ** (1 - k % 4) / 9 + f",
    "remainders of floats": "for k in range(1, 40):\n    y = (y * 7.3 - k) % (k - 20.5) - y // -0.3\n"
    "    f = f % float32(0.7) * float32(9) - f // float32(-3)\nx = f",
    "remainders of what is far": "for k in range(40):\n    y += (1e17 * k % 3.0) + (k - 9) // 1e-300\n    y = y % 1e9",
    "numbers rounded": "for k in range(40):\n    x += round(k * 0.5 - 3) + round(-f * k) + round(k)",
    "quotients with their remainders": "for k in range(1, 40):\n    q, r = divmod(n * 7 - 30, k)\n    x += q * 3 - r\n"
    "    few[i], y = divmod(y * 9.5 + k, 0.25)",
    "products and sums, rounded once": "for k in range(40):\n"
    "    f = cuda.fma(f, f, float32(k))\n    y = cuda.fma(f, y, 0.1)",
    "one of two": "for k in range(40):\n    x += cuda.selp(k % 3 == i, k, n)",
    "integers without a sign": "for k in range(40):\n"
    "    w = w * w + uint64(k) * uint64(n)\n    y += (w >> uint64(9)) % uint64(7)",
    "quotients without a sign": "for k in range(40):\n    w = ~w // (w % uint64(k)) - uint64(n - k)\n    x ^= int64(w)",
    "comparisons without a sign": "for k in range(40):\n"
    "    w = -w ^ uint64(k - 20)\n    x += (w > uint64(i) - uint64(k)) + (w < 7)",
    "floats without a sign": "for k in range(40):\n    w ^= uint64(f * 1e18) << uint64(k)\n    y += float(w) + w / 3",
    "indices without a sign": "for k in range(40):\n"
    "    w = w * uint64(31) + uint64(5)\n    few[w % uint64(32)] += i\n    x += few[w & 31]",
    "a sign for a moment": "for k in range(40):\n"
    "    x += (int64(w & uint64(7)) - k > 0) + int32(w) + uint32(w)\n    w += uint64(x)",
    "complex numbers": "for k in range(40):\n"
    "    c = c * c - complex(k, i) / (c + 1j)\n    y += c.real - abs(c) + (c == 1) + (not c)",
    "complex numbers of parts": "for k in range(40):\n"
    "    c = complex(abs(c), k) / complex(math.sqrt(k + 1.0), abs(c))\n    y += c.imag + complex(abs(c)).imag",
    "numbers rounded to digits": "for k in range(40):\n"
    "    y += round(y * k, 2) + round(k * 1e5, -3) + round(1e300 / (k - 9.5), 30)\n"
    "    f = round(f, 1) * float32(1.3)\n    x += round(k, -1)",
    "powers by a function": "for k in range(40):\n    x += pow(k % 4, 2) + pow(n, k % 3)\n    y += pow(k / 7, 2.5)",
    "operators by name": "for k in range(40):\n    x = operator.add(x, operator.mul(k, n)) ^ operator.xor(k, i)\n"
    "    x += operator.lt(k, i) + operator.mod(k, 7) + operator.iadd(k, 1)\n    y = operator.truediv(y, 3)",
    "integers and truths by NumPy": "for k in range(40):\n    x += np.minimum(k, n) + np.bitwise_xor(k, few[i])\n"
    "    x += np.left_shift(k, k) + np.logical_and(k % 2, f) + np.isnan(y) + np.equal(k, 3)\n"
    "    y += np.sin(k) + np.divide(k, 3) + np.fmax(f, k)\n    w = np.bitwise_or(w, uint64(k))",
    "truths of numbers": "for k in range(40):\n    on[k % 8] = bool(k % 3) and bool(y)\n"
    "    x += bool(f - k) + on[k % 7]\n    on[1] = k & 4",
    "divisors below 0": "for k in range(40):\n    x += (n - k * 3) % -7 + (n - k * 3) // -7 + k // -2 + int64(k) % -1",
    "the least by -2": "n = -9223372036854775807 - 1\nfor k in range(40):\n    x ^= (n + k // 39) // -2 + (n + k) % -3",
    "angles": "for k in range(40):\n    y += cmath.phase(complex(k - 20, i)) + cmath.phase(c)\n    f = cmath.phase(f)",
    "functions of Python": "for k in range(40):\n"
    "    y += math.erf(f / (k + 1)) + math.erfc(k - 9) + math.remainder(k, 2.5)\n"
    "    f = math.erf(f) + math.remainder(f, float32(0.7))\n    y += math.remainder(y, k - 3) > 0",
    "bits in the other order": "for k in range(40):\n    x += cuda.brev(n * k) + cuda.brev(few[k % 32])\n"
    "    w = cuda.brev(w) ^ uint64(k)",
    "what only some assign": "for k in range(n):\n    if k > 1:\n        z = k\nif n > 2:\n    x += z",
}
BY_PYTHON = {
    "the least by -1": "n = -9223372036854775807 - 1\nfor k in range(40):\n    x ^= (n + k // 39) // -1",
    "a divisor below 0 once": "for k in range(40):\n    x += n // (38 - k)",
    "a number that is too large once": "for k in range(70):\n    x += int(float(1 << 55) * (1 << k % 12)) // 1000",
    "a function that C has another one for": "for k in range(40):\n    x += math.gamma(k / 7) + math.lgamma(f)",
    "one without a loop in NumPy": "for k in range(40):\n    y += np.sinc(f / (k + 1)) + np.sinc(k)",
    "one of several types": "for k in range(40):\n    f = f / 2 + math.ldexp(f, k % 5)\nx = f",
}
HEAD = """
    i = cuda.threadIdx.x
    few = cuda.shared.array(32, int32)
    on = cuda.local.array(8, boolean)
    few[i] = i
    on[0] = on[3] = i > 2
    n, x, f = i + 1, 0, float32(i + 2)
    w, y, c = uint64(-n), 0.5, complex(i, -1)
"""
FUNCTION = (
    "import cmath, operator\n@cuda.jit(device=True)\ndef least(a, b):\n    if a < b:\n        return a\n    return b\n"
)


@pytest.fixture
def made(monkeypatch):
    """Whether loops are made machine code, one after the other."""
    run_few(monkeypatch, "machine code")
    return note_machine_code(monkeypatch)


def launch_of(lines, block):
    text = f"{textwrap.dedent(HEAD)}{lines}\nout[i] = x + y"

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


@pytest.mark.parametrize("block", [1, 3])
@pytest.mark.parametrize("lines", BY_PYTHON.values(), ids=BY_PYTHON)
def test_what_machine_code_has_not_is_done_by_python(monkeypatch, made, lines, block):
    alone, interpreted, ran = both_ways(monkeypatch, launch_of(lines, block))

    assert alone == interpreted
    assert all(made)
    assert ran > 0


def test_more_threads_call_together_what_takes_as_long_for_one(monkeypatch, made):
    alone, interpreted, ran = both_ways(monkeypatch, launch_of("for k in range(40):\n    y += np.sinc(f * k)", 5))

    assert alone == interpreted
    assert not made
    assert not ran


def test_after_an_error_in_python_the_loop_runs_as_text(monkeypatch, made):
    failed = []

    def fails_once(x):
        if made and not failed:
            failed.append(x)
            raise ArithmeticError
        return 1.5

    monkeypatch.setitem(names.CALLS, "numpy.sinc", plain(fails_once, 1))

    alone, interpreted, ran = both_ways(monkeypatch, launch_of("for k in range(40):\n    y += np.sinc(f * k)", 1))

    assert alone == interpreted
    assert made == [True]
    assert failed
    assert ran == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", sorted(n for n in mathematics.UNARY | mathematics.BINARY if mathematics.of_floats(n)))
def test_functions_give_what_numpy_gives_for_a_number(name, dtype):
    ufunc = mathematics.of_floats(name)
    rng, many = np.random.default_rng(3), 40
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, 0.5, 1e30]
    numbers = np.concatenate([rng.normal(0, 3, (2, many)), rng.normal(0, 1e6, (2, many)), [special, special[::-1]]], 1)
    loop = loop_of(ufunc, (np.dtype(dtype),) * ufunc.nin)
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(loop.address)

    with np.errstate(all="ignore"):
        for given in numbers.T.astype(dtype):
            memory = np.array([*given[: ufunc.nin], 0], dtype)
            addresses = memory.ctypes.data + memory.itemsize * np.arange(ufunc.nin + 1)
            steps = np.array([0] * ufunc.nin + [memory.itemsize])
            run(addresses.ctypes.data, np.array([1]).ctypes.data, steps.ctypes.data, loop.data)

            assert memory[-1].tobytes() == ufunc(*given[: ufunc.nin]).tobytes()


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
