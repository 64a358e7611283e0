"""Device functions that a loop of one thread calls: their bodies stand in its text, and leave what they left."""

import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import WAYS, both_ways, run_few
from helpers.lockstep_text import launch_text

from smemviz.engines.limits import Limits
from smemviz.engines.lockstep.python.frame import Frame

FUNCTIONS = """
LIMIT = 3

@cuda.jit(device=True)
def twice(x):
    return x * 2

@cuda.jit(device=True)
def step(x):
    "Go on."
    if x % 2 == 0:
        return x // 2
    return 3 * x + 1

@cuda.jit(device=True)
def mixed(x):
    if x > 3:
        return 1
    elif x == 2:
        return 0.5
    return float32(x)

@cuda.jit(device=True)
def first_above(a, least):
    for k in range(a.size):
        if a[k] > least:
            return k
    return -1

@cuda.jit(device=True)
def pair_above(a, least):
    for k in range(LIMIT):
        j = 0
        while j < len(a):
            if a[j] + k > least and j > k:
                return k, j
            j += 1
            if j > 40:
                continue
    return -1, 0.5

@cuda.jit(device=True)
def put(a, i, x):
    if i < 0:
        return
    a[i % a.shape[0]] = x
    cuda.atomic.add(a, 0, 1)

@cuda.jit(device=True)
def shifted(a, b, i):
    x = a[i - 2]
    x += twice(b[i])
    a[i] = x
    return x

@cuda.jit("float32(float32, int32)", device=True)
def typed(x, n):
    return x / 3 + n

@cuda.jit(device=True)
def looped(x, n):
    s = 0
    for k in range(n):
        if k % 3 == 2:
            continue
        s += x * k
    return s

@cuda.jit(device=True)
def changed(x, k):
    x += k
    k = x * 1.5
    return x, k

@cuda.jit(device=True)
def own(k):
    t = cuda.local.array(3, int64)
    t[k % 3] = k
    return t[1]

@cuda.jit(device=True)
def fill(t, k):
    for j in range(len(t)):
        t[j] += j * k

@cuda.jit(device=True)
def filled(k):
    t = cuda.local.array((2, 3), float32)
    s = cuda.local.array(4, int32)
    if k > 4:
        return t[1, 2]
    t[k % 2, k % 3] = k
    s[k % 5] = 1
    fill(s, k)
    return t[0, 0] + t[1, 1] * s[3] + s[-1]

@cuda.jit(device=True)
def some(k):
    if k > 3:
        t = cuda.local.array(3, int64)
        t[k % 3] = k
        return t[1]
    return 0

@cuda.jit(device=True)
def kept(a, i, x):
    a[i] = x
    return x

@cuda.jit(device=True)
def sizes(a, b, k):
    for j in range(a.shape[0]):
        a[j] = len(a) * 100 + len(b) * 10 + k

@cuda.jit(device=True)
def exchange(a, i, j):
    t = a[i]
    a[i] = a[j]
    a[j] = t

@cuda.jit(device=True)
def sort(a):
    for i in range(1, a.size):
        j = i
        while j > 0 and a[j - 1] > a[j]:
            exchange(a, j, j - 1)
            j -= 1

@cuda.jit(device=True)
def spread(a, k):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] += i + a.ndim + a.size
        sort(a[i])
    exchange(a[:, k % a.shape[1]], 0, 1)
    a[1:][0, k % 2] += a[0][1]

@cuda.jit(device=True)
def spread_own(k):
    t = cuda.local.array((3, 4), int32)
    for i in range(3):
        for j in range(4):
            t[i, j] = (i * 5 + j * 3 + k) % 7
    spread(t, k)
    spread(t[1:], k)
    return t[0, 0] + 10 * t[1, 2] + 100 * t[2, 3]

@cuda.jit(device=True)
def corner(a, k):
    n, m = a.shape
    sizes = a.shape
    return a[k % n, k % m] + sizes[1] * len(sizes)

@cuda.jit(device=True)
def deep(a, k):
    return step(looped(twice(k), 3)) + first_above(a, k) + cuda.blockDim.x
"""
CALLS = {
    "one expression, twice": "out[k] = twice(k) + twice(twice(k) + 1)",
    "two returns": "x = step(x)\nout[k] = x",
    "returns of three types": "out[k] = 10 * mixed(k)",
    "a return in a loop": "out[k] = first_above(real, k / 10)",
    "a return in two loops, of two numbers": "y, z = pair_above(real, k * 0.3)\nout[k] = y + 8 * z",
    "no value": "put(out, k - 3, x)",
    "stores, loads from the end, and a call in a call": "x = shifted(out, real, k)",
    "types of a signature": "out[k] = 100 * typed(k, k * 0.9)",
    "a loop": "out[k] = looped(k, k + 2)",
    "parameters that change": "y, z = changed(x, k)\nx += 1\nout[k] = y + z * 2",
    "functions in functions": "out[k] = deep(real, k)",
    "in conditions": "if twice(k) > 5 and step(k) != 4:\n    out[k] = step(k) if k % 3 else first_above(real, 0.5)",
    "as an argument and an index": "out[step(k) % 20] = max(twice(k), looped(2, k))",
    "outside": "shifted(out, real, k + 20)",
    "no end": "while step(x) != 0:\n    x += twice(1)",
    "a nested loop": "for j in range(3):\n    if step(j) > 4:\n        break\n    x += looped(j, 3)\nout[k] = x",
}
CALLS |= {
    "a local array": "out[k] = own(k)",
    "a local array that is given on": "out[k] = own(k) + filled(k + 2)",
}
CALLS |= {
    "a local array in the loop": """
mine = cuda.local.array((2, 3), int32)
mine[k % 2, k % 3] += k
out[k] = mine[0, k % 3] + filled(k)
for j in range(2):
    if j < k:
        other = cuda.local.array(3, int32)
        other[k % 3] += j
        x += other[1] + mine[j, 2]
""",
    "sizes": "n, m = square.shape\nout[k] = corner(square, k) + corner(square[1:, k % 3:], k) + n * m",
    "a place in the grid": "y, z = cuda.grid(2)\nn, m = cuda.gridsize(2)\nout[k] = y + 3 * z + n * m * k",
}
CALLS |= {
    "a row": "out[k] = first_above(square[k % 4], 3)",
    "a row, whole and sorted": "square[k % 4, k % 3] = k % 5\nsort(square[k % 4])\nsort(square[k % 4, :])",
    "a column": "sort(square[:, k % 4])",
    "rows of rows": "spread(square, k)\nspread(square[1:3, :2], k)",
    "rows of local arrays": "out[k] = spread_own(k)",
    "slices": "sort(out[k:k + 4])\nsort(out[:k])\nsort(out[20 - k:])\nsort(out[:])",
    "slices of several sizes": "sizes(out[k:2 * k], real[k:], k)\nx += out[k]",
    "slices cut off at the ends": "sizes(out[k + 12:k + 18], real[-k:22], k)\nsizes(out[9 - k:k], real[k:-3], k)",
    "rows outside": "out[k] = first_above(square[k - 4], 3) + first_above(square[k // 2], 11)",
    "rows outside, between loads": "out[k] = out[k + 1] + first_above(square[out[k] - 1], x) + out[2 * k]",
    "elements outside a row": "exchange(square[k % 4], k - 5, 1)\nexchange(out[k:], 22 - 2 * k, 0)",
    "a row by name": "row = square[k % 4]\nsort(row)\nx += row[k % 5 - 1] + row.shape[0]\nrow[0] = x % 5",
    "a row by name, in loops": """
row = square[k % 4, 1:]
for j in range(3):
    row[j] += j
    for n in range(2):
        x += row[j - n] + first_above(row[n:], 2)
""",
    "a row by name, outside": "row = square[k - 6]\nx += first_above(row, 3)\nout[k] = row[1] + row.size",
    "a row by name, by indices that change": """
row = square[x % 5, k % 3:]
x += 1
k = x
x += row[k % 5 - 2] + row.size
""",
    "a slice by name, at times": "if k % 3:\n    row = out[k - 2:k + 1]\n    row[1] += k\n    sort(row)",
    "a row by name that functions name too": "row = square[k % 4]\nspread(square[row[1] % 3:], k)\nput(row, k, x)",
    "nothing": "sort(out[k:k])\nsort(none[k % 2])\nexchange(none[0], 0, 1)\nspread(none[k:], k)",
    "an element of a row": "out[k] = twice(square[k % 4][k - 3]) + step(square[1:][k % 4, 0]) + twice(out[:5][k])",
    "an atomic in a slice": "put(out[k:], k - 3, x)\ncuda.atomic.max(square[1:], (k % 4, 1), k)",
    "rows without a call": "square[k % 3][k % 4] += square[1:][k % 4][1]\nout[k] = square[k % 2, 1:][k % 5 - 1]",
}
NOT_WRITTEN = {
    "a local array of some": "out[k] = some(k)",
    "every second element": "sort(out[k::2])",
    "a transposed array": "sort(square.T[k % 4])",
    "a row by name that is left to the interpreter": "row = square[k % 4]\nout[k] = max(row.shape) + row[1:][0]",
    "two rows by one name": "row = square[0]\nif k > 3:\n    row = square[k % 4]\nx += row[1]",
    "a local array by the name of another": """
mine = cuda.local.array(3, int32)
if k > 3:
    mine = cuda.local.array(4, int32)
mine[k % 3] += 1
x += mine[1]
""",
    "a new axis": "spread(square[None, k % 4], 0)",
}
KERNEL = """
@cuda.jit
def kernel(out, real, square, none):
    x = 12
    if cuda.grid(1) == {thread}:
        for k in range({turns}):
{body}
        out[cuda.grid(1)] += x
"""


def launch(lines, thread=0, block=1, turns=10):
    out, real = np.arange(24) % 7, np.linspace(0, 1, 24).astype(np.float32)
    square, none = np.arange(16).reshape(4, 4), np.zeros((2, 0))
    text = FUNCTIONS + KERNEL.format(body=textwrap.indent(lines, " " * 12), thread=thread, turns=turns)
    limits = Limits(iterations=5000)
    return launch_text(text, out, real, square, none, block=block, limits=limits, harmless=True), out, real, square


@pytest.mark.parametrize("lines", [*CALLS.values(), *NOT_WRITTEN.values()], ids=[*CALLS, *NOT_WRITTEN])
@pytest.mark.parametrize(("thread", "block"), [(0, 1), (3, 40)])
def test_a_loop_that_calls_functions_leaves_the_same(monkeypatch, lines, thread, block):
    alone, interpreted, ran = both_ways(monkeypatch, lambda: launch(lines, thread, block))

    assert alone == interpreted
    assert ran > 0 or lines in NOT_WRITTEN.values()


@pytest.mark.parametrize("lines", CALLS.values(), ids=CALLS)
def test_functions_are_not_called_turn_by_turn(monkeypatch, lines):
    if lines.startswith("while"):
        lines = lines.replace("!= 0", "!= 2048")
    called = []
    callee = Frame.callee
    monkeypatch.setattr(Frame, "callee", lambda *given: called.append(given) or callee(*given))

    def calls(turns):
        called.clear()
        launch(lines, turns=turns)
        return len(called)

    assert calls(20) == calls(15)


def test_a_function_that_is_called_again_is_told_the_sizes_of_its_arrays(monkeypatch):
    lines = "sizes(out[0:3], real, 1)\nsizes(out[4:9], real[2:4], 2)\nsizes(out[9:11], real[:7], 3)"
    text = FUNCTIONS + "\n@cuda.jit\ndef kernel(out, real):\n" + textwrap.indent(lines, "    ")

    def again():
        out = np.zeros(12, np.int64)
        return launch_text(text, out, np.zeros(8), block=1), out

    alone, interpreted, ran = both_ways(monkeypatch, again)

    assert alone == interpreted
    assert ran == 3
    assert again()[1].tolist() == [381] * 3 + [0] + [522] * 5 + [273] * 2 + [0]


def test_few_threads_that_only_compute_call_functions(monkeypatch):
    text = FUNCTIONS + "\n@cuda.jit\ndef kernel(out):\n    x = cuda.grid(1) + 7\n"
    text += "    for k in range(40):\n        x = step(x) + twice(k) + filled(x % 7)\n    out[cuda.grid(1)] = x\n"

    def few():
        out = np.zeros(8)
        return launch_text(text, out, block=8), out

    alone, interpreted, ran = both_ways(monkeypatch, few)

    assert alone == interpreted
    assert ran > 0


OWN_ROWS = """
@cuda.jit
def kernel(out):
    s, i = cuda.shared.array((8, 5), int32), cuda.threadIdx.x
    for k in range(5):
        s[i, k] = (k * 3 + i) % 5
    for k in range(6):
        s[i, k % 5] += k
        sort(s[i])
        sort(s[i, :3])
        exchange(s[i, 2:], 1, 0)
    out[i] = s[i, 2]
"""
STORES_IN_A_CONDITION = """
@cuda.jit
def kernel(out):
    s, x, i = cuda.shared.array(8, int32), 0, cuda.threadIdx.x
    while kept(s, i, x) < 30 + i and s[i] < 60:
        x += 1
    out[i] = x
"""


@pytest.mark.parametrize("kernel", [OWN_ROWS, STORES_IN_A_CONDITION])
@pytest.mark.parametrize("way", WAYS)
def test_few_threads_give_functions_what_is_their_own(monkeypatch, kernel, way):
    run_few(monkeypatch, way)

    def few():
        out = np.zeros(8)
        return launch_text(FUNCTIONS + kernel, out, block=8), out

    alone, interpreted, ran = both_ways(monkeypatch, few)

    assert alone == interpreted
    assert ran > 0
