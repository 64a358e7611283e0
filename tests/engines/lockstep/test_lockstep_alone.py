"""Loops that one thread runs alone, or few that only compute, leave what they leave when they are interpreted."""

import ast
import contextlib
import re
import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import both_ways
from helpers.lockstep_text import body, launch_text
from helpers.same_launch import counted, recorded
from helpers.typed_expressions import inputs
from helpers.typed_programs import RESULTS, TYPES, program
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from smemviz.engines.limits import Limits
from smemviz.engines.lockstep.python.one_thread import written
from smemviz.errors import SmemvizError

SIZE = 24


BODIES = {
    "a bubble sort": """
        for i in range(out.size):
            for j in range(0, out.size - i - 1):
                if out[j] < out[j + 1]:
                    t = out[j]
                    out[j] = out[j + 1]
                    out[j + 1] = t
    """,
    "a scan in single precision, and numbers that wrap": """
        total = float32(0)
        small = uint8(250)
        for i in range(out.size):
            total += real[i]
            small = uint8(small + 3)
            out[i] = small
            real[i] = total / float32(3) + small // 7 - small % 3
    """,
    "outside and from the end": """
        for i in range(-3, out.size + 2):
            out[i] = i
            real[i - 1] += out[-1] + i
    """,
    "functions of math, in double and in single precision": """
        single = float32(0.3)
        for i in range(out.size):
            x = i * 0.37 - 3
            real[i] = math.sin(x) * math.exp(-x) + math.atan2(x, 2.0) + math.pow(2.0, x) + math.exp(300 * x)
            real[i] += math.log(x)
            single = math.cos(single) + math.hypot(single, float32(2)) + math.floor(math.sinh(single) % float32(3))
            out[i] = 1000 * single + math.ceil(x)
    """,
    "other types": """
        x = 1
        for i in range(5):
            x = x * 1.5 if i > 2 else x + 1
            if x > 3:
                x = 2.5
            real[i] = x ** 2 + x ** i + math.sqrt(x - 3) + abs(i - 3) + min(i, 3) + max(x, 2)
            out[i] = int(x * 1e18) + (i << 62) + (i >> 1) + ~i + (i ^ 5)
    """,
    "break, continue and return": """
        i = 0
        while True:
            i += 1
            if i % 3 == 0:
                continue
            if i > 10 and out[i] == 0:
                break
            for j in range(4):
                if j == 2 or (i == 7 and j == 1):
                    break
                out[i + j] = j
            if not i < 20:
                return
        out[0] = i
        for k in range(9):
            if k == 4:
                return
            out[k] = k
        out[1] = 99
    """,
    "division by nothing, and what is not a number": """
        for i in range(4):
            out[i] = 7 // (i - 2) + 7 % (i - 2)
            real[i] = 1.0 / (i - 2)
            real[i + 4] = float32(1) / float32(i - 2)
            out[i + 4] = int(1.0 / (i - 2.0))
            if not (real[i] < 3 or real[i] > 1):
                out[i + 8] = -out[i]
    """,
    "shared memory, some of it not written": """
        part = cuda.shared.array(8, float32)
        deep = cuda.shared.array((2, 3), int64)
        for i in range(6):
            part[i] = i / 3
            deep[i // 3, i % 3] += i
        for k in range(3):
            for i in range(8):
                real[i] += part[i] * part[i // 2]
    """,
    "local memory, tuples, parts of arrays and functions": """
        mine = cuda.local.array(4, float32)
        grid = cuda.shared.array((3, 4), float32)
        pair = (1, 2.5)
        z = 0j
        for i in range(4):
            mine[i] = pair[0] + i
            row = grid[i % 3]
            row[i] = mine[i]
            z = z * z + complex(i, 1)
            real[i] = z.real + z.imag + twice(i) + mine[3 - i]
            cuda.atomic.add(out, i % 2, i)
            a, b = i, i * 2
            out[i + 3] = a + b + len(pair) + cuda.threadIdx.x
            cuda.syncwarp()
    """,
    "a condition of many parts, in many branches": "for i in range(3):\n"
    + "".join(f"{' ' * depth}if i < {depth + 2}:\n" for depth in range(1, 60))
    + " " * 60
    + "out[i] = 3 if i >= 0 and "
    + " and ".join(["i < 9"] * 60)
    + " else 4\n",
    "integers at the ends of their types": """
        n = 9223372036854775800
        m = -9223372036854775800
        w = uint64(3)
        near = 1 << 31
        for i in range(12):
            n += 1
            m -= i
            w = w * uint64(6364136223846793005) - uint64(i)
            out[i] = (n * 3 + m) % 8 + ((m - n) >> 3) + (n & 255) + (i << 60) + abs(m) // 7 - (-m)
            out[i + 1] += int(w >> uint64(40)) + near * near * 4 + (n if n < m else m * 2)
            if n > 0 and m * 2 > n or i - 1 < out[i - 2]:
                out[0] = n + m if n + m != -1 else 7
            near = near * 2 + 1
    """,
    "tuples and complex numbers": """
        a, b = 0, 1
        z = 0j
        rows, columns = out.size, 3
        for i in range(9):
            a, b = b, a + b
            z = z * z + complex(0.1 * i, -0.3) - 1
            out[i], out[i + 1] = out[i + 1], out[i] + a
            real[i] = abs(z) + z.imag * columns - (z * 2.5).real
            if abs(z) > 1e300 or not 0 <= i < rows < 99 or (i > 4 and out[i] > 50 and real[i] < 1):
                break
            z = -z
        real[10] = a
    """,
    "atomics": """
        part = cuda.shared.array(4, float32)
        for i in range(4):
            part[i] = 0
        for i in range(12):
            cuda.atomic.add(out, i % 3, 3000000000000000000)
            old = cuda.atomic.sub(real, i - 2, 0.1)
            cuda.atomic.max(real, (i + 1) % 5, old * 3 if i % 2 else math.nan)
            cuda.atomic.min(part, i % 4, real[i] - 0.5)
            cuda.atomic.xor(out, i % 5, out[i] * 2)
            out[i] += cuda.atomic.exch(out, 7, i) + int(cuda.atomic.add(part, 3 - i % 4, 0.1) * 10)
            cuda.atomic.add(out, i + 20, 1)
        real[3] += part[1]
    """,
    "the larger and the smaller": """
        small = int32(-2147483648)
        for i in range(6):
            x = float32(i) * float32(0.1) - float32(0.25)
            y = math.nan if i == 3 else 0.0 * -i
            real[i] = max(x, float32(0.05)) + min(x * x, x, i)
            real[i + 6] = max(y, 0.0) + min(0.0, y) + max(i, x) + abs(x) + math.sqrt(x) + math.fabs(x)
            out[i] = max(small, int32(i - 3)) + min(small, int32(i)) + abs(small) + int(x * 1e10) + int32(x * 1e12)
            out[i + 6] = uint8(x * 100) + int16(x * 1e5) + uint64(x) + float32(1e300 * i) / float32(1e-300)
    """,
    "an index that is no integer": """
        for i in range(3):
            out[i / 1] = i
    """,
    "a name that is not assigned": """
        for i in range(3):
            if i > 5:
                y = 1
            out[i] = y
    """,
    "a step of nothing": """
        for i in range(3):
            for j in range(0, 5, i):
                out[j] = i
    """,
    "no end": """
        while out[0] == 0:
            real[0] += 1
    """,
}
TWICE = """
@cuda.jit(device=True)
def twice(x):
    total = 0
    for k in range(x):
        if k == 3:
            return -1
        total += 2
    return total

"""


@pytest.mark.parametrize("text", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("grid", [1, 3])
@pytest.mark.parametrize("thread", [None, 5])
@pytest.mark.parametrize("log_bytes", [1 << 27, 9000])
def test_a_loop_leaves_the_same(monkeypatch, text, grid, thread, log_bytes):
    """In a launch of one thread, or where all others skip the loop; ``log_bytes`` are enough for all or for a part."""
    text = textwrap.dedent(text)
    if thread is not None:
        text = f"if cuda.grid(1) == {thread}:\n" + textwrap.indent(text, "    ") + "\nout[2] = 4"

    def launch():
        out, real = np.arange(SIZE) % 7, np.linspace(0, 1, SIZE).astype(np.float32)
        options = {"before": TWICE, "parameters": "out, real", "grid": grid, "block": 1 if thread is None else 48}
        limits = Limits(iterations=500)
        return body(text, out, real, harmless=True, log_bytes=log_bytes, limits=limits, **options), out, real

    whole = grid == 1 or log_bytes > 9000  # which requests of several warps are kept within a limit may differ
    alone, interpreted, ran = both_ways(monkeypatch, launch, recorded if whole else counted)

    assert alone == interpreted
    if thread is None:
        assert ran > 0 or grid > 1


TURNS = """
    i = 0
    while i < 40:
        for j in range(7):
            if j == i % 9:
                break
            out[j] += 1
        if out[0] % 3:
            k = 0
            while k < i % 5:
                k += 1
                if k == 3:
                    continue
                out[k] += k
        j = i
        while out[j % 8] > j:
            j += 1
        i += 1
"""


@pytest.mark.parametrize("apart", [19, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_as_many_turns_are_counted(monkeypatch, apart):
    """Whatever the limit: it is met in the same turn of the same loop, or in none."""

    def left(most):
        def launch():
            out = np.zeros(SIZE, np.int64)
            parameters = {"before": TWICE, "parameters": "out", "block": 1, "limits": Limits(iterations=most)}
            return body(textwrap.dedent(TURNS), out, harmless=True, **parameters), out

        alone, interpreted, _ = both_ways(monkeypatch, launch)
        assert alone == interpreted
        return len(alone)

    lengths = [left(most) for most in [*range(1, 12), *range(300, 420, apart)]]

    assert set(lengths) == {2, 3}  # both an error and what was recorded are among them


OWN = re.compile(
    r"loop|[VUMRAFPz]|me|noted?|group|stored|due|bound|it|w|iterations|begin_while|while_began|min|get|real|imag|range|"
    r"int|float|complex|bool|abs|len|[tvkcgpmbofxR]\d+|[ns]\d+_\d+|read|open|statement|value|truth|apply|compare|call|"
    r"no_step|load|store|locate|write|atomic|index|within|fresh|leave_out|stop|only_counts|safe|least|max|count|part|place|slice"
)
STRANGE = """
    __class__ = x ** 0
    for __import__ in range(3):
        exec = real[__import__] + __class__
        real[__import__] = exec * x if exec > 1 else math.sqrt(exec)
        out[__import__ + 3] = bound(__import__) + real[__import__:][1]
"""


def test_a_function_of_math_is_called_as_it_is(monkeypatch):
    texts = []
    compiled = written._compiled
    monkeypatch.setattr(written, "_compiled", lambda writer: texts.append("\n".join(writer.lines)) or compiled(writer))
    body("if cuda.grid(1) == 0:\n    for i in range(9):\n        out[0] += math.sin(i * 0.1)", np.zeros(1))
    assert "R.call" not in texts[0]


def test_nothing_that_a_kernel_says_gets_into_the_text(monkeypatch):
    texts, code = [], written._code
    monkeypatch.setattr(written, "_code", lambda text: texts.append(text) or code(text))
    for text in (*BODIES.values(), STRANGE):
        out, real = np.arange(SIZE) % 7, np.linspace(0, 1, SIZE).astype(np.float32)
        before = TWICE + TWICE.replace("twice", "bound")
        parameters = {"before": before, "parameters": "out, real, x", "block": 1, "limits": Limits(iterations=5000)}
        with contextlib.suppress(SmemvizError):
            body(textwrap.dedent(text), out, real, 2.5, **parameters)
    assert len(texts) > len(BODIES)
    for node in (node for text in texts for node in ast.walk(ast.parse(text))):
        for name in (getattr(node, "id", None), getattr(node, "attr", None), getattr(node, "arg", None)):
            assert name is None or OWN.fullmatch(name)
        assert not isinstance(node, ast.Constant) or isinstance(node.value, int | float | None)


RACES = """
    part = cuda.shared.array(8, int64)
    i = cuda.threadIdx.x
    if i < 8:
        part[i] = i
    out[i] = i
    if i == {thread}:
        for k in range(8):
            part[k] += k
            out[k] = k % 3
            out[k + 8] += part[7 - k]
    {barrier}
    if i > 40:
        out[i - 32] = part[i % 8]
        for k in range(2):
            part[k] = 1
"""


@pytest.mark.parametrize("barrier", ["cuda.syncthreads()", "pass"])
@pytest.mark.parametrize("thread", [0, 6, 41])
def test_races_with_other_threads_are_found_alike(monkeypatch, barrier, thread):
    def launch():
        out = np.zeros(64, np.int64)
        return body(RACES.format(barrier=barrier, thread=thread), out, harmless=True, block=42), out

    alone, interpreted, ran = both_ways(monkeypatch, launch)

    assert alone == interpreted
    assert alone[1] != ()
    assert ran > 0


MESSAGES = """
    for b in range(4):
        if cuda.grid(1) == 32 * b:
            out[8 + b] = 1
            {before}
            for k in range(3):
                cuda.atomic.add(out, k, k)
                {fence}
                old = cuda.atomic.add(out, 4, 1)
            if old == {last}:
                for k in range(8):
                    out[16] += out[8 + k]
"""


@pytest.mark.parametrize("before", ["cuda.threadfence()", "pass"])
@pytest.mark.parametrize("fence", ["cuda.threadfence()", "pass"])
@pytest.mark.parametrize("last", [3, 11])
def test_what_blocks_tell_each_other_is_heard_alike(monkeypatch, before, fence, last):
    def launch():
        out = np.zeros(64, np.int64)
        return body(MESSAGES.format(before=before, fence=fence, last=last), out, harmless=True, grid=4, block=32), out

    alone, interpreted, ran = both_ways(monkeypatch, launch)

    assert alone == interpreted
    assert ran > 0


def typed(lines, head, steps):
    text = "".join(f"        {line}\n" for line in lines)
    stores = "".join(f"        out[{k}, i] = {result}\n" for k, result in enumerate(RESULTS))
    arrays = ", ".join(f"a_{name}" for name in TYPES)
    return f"@cuda.jit\ndef kernel({arrays}, n, out):\n{head}    for i in range({steps}):\n{text}{stores}"


@pytest.mark.exhaustive
@pytest.mark.parametrize("head", ["", "    if cuda.threadIdx.x != 5:\n        return\n"])
@settings(deadline=None, max_examples=15, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_random_programs_leave_the_same(head, seed):
    def launch():
        given = [np.clip(inputs(seed)[name][:4], -1000, 1000).astype(name) for name in TYPES]
        out = np.zeros((len(RESULTS), 4))
        return launch_text(typed(program(seed), head, 4), *given, 2, out, block=32 if head else 1), out

    with pytest.MonkeyPatch.context() as patch:
        alone, interpreted, _ = both_ways(patch, launch)
    assert alone == interpreted
