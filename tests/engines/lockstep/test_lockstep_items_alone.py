"""Loops over arrays, tuples and what is made of them that few threads run alone, one after the other."""

import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import both_ways
from helpers.lockstep_text import body

from smemviz.engines.lockstep.python.one_thread.native import compiled

pytestmark = pytest.mark.usefixtures("way")

BEFORE = """
    TURNS = (-1, 0, 1)
    SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1))
    SHARES = (0.5, 0.25, -0.125, 0.0625, 3.0)
    NARROW = (np.float32(0.1), np.float32(0.7))
    FEW = np.arange(1.0, 6.0)

    @cuda.jit(device=True)
    def total(items, k):
        s = 0.0
        for x in items:
            if x > k:
                return s
            s += x
        return s + len(items)

    @cuda.jit(device=True)
    def near(k):
        n = 0
        for step in TURNS:
            n += k * step
        for step in (k, n + 1):
            n += step
        return n
"""
HEAD = """
    i = cuda.threadIdx.x
    tile = cuda.shared.array((8, 8), float32)
    flags = cuda.shared.array(8, boolean)
    mine = cuda.local.array(5, float64)
    const = cuda.const.array_like(FEW)
    mine[0] = mine[2] = mine[3] = mine[4] = i
    mine[1] = 0.5
    tile[0, i] = tile[2, 7 - i] = i
    flags[i] = i % 3 == 0
    cuda.syncthreads()
    pair = (i, 7)
    ways = ((i, -1), (2, i + 1))
    m, x, y = 3, 0, 0.5
"""
ITEMS = {
    "numbers that are written out": "for s in (3, 1, 4, 1, 5):\n    x += s * i",
    "numbers at even distances": "for s in (-1, 0, 1):\n    y += real[5 + s + i]",
    "numbers that go down": "for s in (9, 6, 3, 0):\n    y += real[s]",
    "one number again and again": "for s in (2, 2, 2):\n    x += s\nfor s in (4,):\n    x += s",
    "floats": "for s in (0.5, -0.25, 0.5):\n    y = y * s + i",
    "truths": "for on in (True, False, True, True):\n    if on: x += i + 1",
    "numbers that are not known before": "for k in range(3):\n"
    "    for s in (i, m, i + m):\n        x += s\n        m += 1",
    "numbers that are loaded": "for k in range(3):\n    for s in (real[k], real[k + i]):\n        y += s",
    "numbers of the module": "for s in TURNS:\n    for w in SHARES:\n        y += s * w * real[i + 1 + s]",
    "single precision of the module": "for w in NARROW:\n    y += w * float32(i)",
    "a tuple that a name stands for": "for s in pair:\n    x += s\n    for a, b in ways:\n        x += a * s - b",
    "pairs of numbers": "for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):\n    x += dx * i - 2 * dy",
    "pairs of the module": "for dx, dy in SIDES:\n    y += given[2 + dy, 1 + dx] * (i + 1)",
    "pairs in pairs": "for (a, b), c in (((1, 2.0), 3), ((4, 5.5), 6)):\n    y += a * b - c * i",
    "an array in global memory": "for v in real:\n    y += v * (i + 1)",
    "an array in shared memory": "for on in flags:\n    x += on\nfor row in tile:\n    for v in row:\n        y += v",
    "an array in local memory": "for v in mine:\n    y += v * v",
    "an array of constants": "for v in const:\n    y += v / (i + 1)",
    "a part of an array": "for v in real[i : 2 * i + 3]:\n    y += v\nfor v in real[5:]:\n    y -= v",
    "a part that is beyond the end": "for v in real[20 : 30 + i]:\n    y += v",
    "ends that count from the last": "for k in range(-30, 30, 7):\n"
    "    for v in real[-4 - i :]:\n        y += v\n    for v in real[i - 3 : -i]:\n        y += v * k\n"
    "    for v in real[k : k + 9]:\n        y += v\n    for v in real[:k]:\n        y -= v",
    "what is unpacked": "for a, b in zip(SHARES, iter(other[1:])):\n    y += a * b\n"
    "for k, m, n in given[:, i % 2 : i % 2 + 3]:\n    x += k * m - n * i",
    "what is outside of what is unpacked": "for a, b in given:\n    y += a * b",
    "what is unpacked and numbered": "for k, (a, (b, c)) in enumerate(zip(other, pairs), i):\n    y += a * b - c * k",
    "tuples that are unrolled": "for s in cuda.literal_unroll((3, 1, 4)):\n    x += s * i",
    "nothing": "for k in range(3):\n    for v in real[i + 3 : i + k]:\n        y += v\n"
    "    for k, v in enumerate(empty):\n        x += k\n    else:\n        x += 5",
    "as many as each has": "for v in real[: i % 4 + 1]:\n    y += v",
    "rows": "for row in given:\n    y += row[1] * row[i % 4]\n    for k in range(len(row)):\n        x += row[k]",
    "rows of a row": "for plane in cube:\n    for row in plane:\n        for v in row:\n            y += v * (i + 1)",
    "rows in a function": "for row in given:\n    y += total(row, 7 + i)",
    "a row by its number": "for k in range(4):\n    for v in given[k]:\n        y += v * k",
    "elements that do not follow each other": "for k in range(4):\n    for v in given[:, k]:\n        y += v * i",
    "elements and their numbers": "for k, v in enumerate(real):\n    y += k * v",
    "numbers from somewhere on": "for k, v in enumerate(real[:9], i + 2):\n    y += k * v",
    "numbers in numbers": "for k, (n, v) in enumerate(enumerate(real, -3), 5):\n    y += k * n * v",
    "numbers of rows": "for k, row in enumerate(given):\n    y += k * row[3]",
    "two arrays": "for v, w in zip(real, other):\n    y += v * w\n    x += 1",
    "two parts": "for v, w in zip(real[i:], other[: i + 2]):\n    y += v * w\n    x += 1",
    "one array twice": "for v, w in zip(real, real[1:]):\n    y += v * w + i",
    "an array and numbers": "for v, k, s in zip(real, range(i, 40, 2), SHARES):\n    y += v * k * s\n    x += k",
    "numbers that run down": "for k, v in zip(range(9, -9, -m), other):\n    y += v * k\n    x += k",
    "numbers of a range": "for k, n in enumerate(range(3, 20 - i, 4), i):\n    x += k * n",
    "numbers that are far from each other": "n = (1 << 62) + i\n"
    "for k, v in zip(range(-n, n, 1 << 59), real):\n    x ^= k\n    y += v",
    "all of it": "for k, (v, (s, w)) in enumerate(zip(tile[1], zip(TURNS, other[i:])), 1):\n    y += k * v * s * w",
    "through an iterator": "for k, v in iter(enumerate(iter(real))):\n    y += k * v",
    "one alone": "for (v,) in zip(real):\n    y += v",
    "what is stored on the way": "for k, v in enumerate(mine):\n    if k < 4: mine[k + 1] = v + k\n    y += v",
    "what is stored in shared memory": "for k, v in enumerate(tile[i, 1:]):\n"
    "    if k < 6: tile[i, k + 2] = v + k\n    y += v",
    "a target that is assigned again": "for v in real:\n    v = v * 2 + i\n    y += v",
    "a number that is assigned again": "for k, v in enumerate(real):\n    k = k * 2 + i\n    x += k",
    "what the loop has assigned since": "n = 5\nfor q in range(2):\n"
    "    for v in real[:n]:\n        n += 1\n        y += v",
    "a target after the loop": "v = float32(1.5)\nfor k, v in enumerate(real[: i + 1]):\n    y += v\ny += v + k",
    "until something is found": "for k, v in enumerate(real):\n    if v > i + 2.5: break\n    y += v\ny += k",
    "all but some": "for k, v in enumerate(real):\n    if k % 3 == i % 3: continue\n    y += v",
    "behind what was not left": "for q in range(4):\n    for s in (1, 3, 5):\n        if s == q + i: break\n"
    "        x += s\n    else:\n        y += real[q]",
    "targets of two types": "for v in (1, 2):\n    x += v\nfor v in real:\n    y += v\nfor v in (i, 3):\n    x += v",
    "a function that goes over an array": "for k in range(6):\n"
    "    y += total(real[k : k + 8], 5 + i)\n    y += total(real, k)",
    "a function that goes over numbers": "for k in range(6):\n    x += near(k + i)",
    "what is outside, further on": "for k, v in enumerate(real):\n    if k == 13 + i: v = real[k * 9]\n    y += v * k",
    "loops in loops": "for q in range(3):\n    for row in tile:\n        for k, v in enumerate(row[q:]):\n"
    "            for s in TURNS:\n                y += s * k * v\n                if k > 2: break\n            x += k",
}


@pytest.mark.parametrize("threads", [1, 3, 7])
@pytest.mark.parametrize("name", ITEMS)
def test_a_loop_over_items_leaves_the_same_alone(monkeypatch, name, threads, way):
    text, made = ITEMS[name], []
    if "machine" in way:
        native_of = compiled.native_of

        def noted(*text):
            made.append(native_of(*text))
            return made[-1]

        monkeypatch.setattr(compiled, "native_of", noted)
    loops, lines = sum(line.startswith("for") for line in text.splitlines()), textwrap.indent(text, "    ")
    text = f"{textwrap.dedent(HEAD)}if i < {threads}:\n{lines}\nout[i] = x + y"

    def launch():
        rng = np.random.default_rng(3)
        out, real, other = np.zeros(8), np.arange(0.5, 24, dtype=np.float32), rng.random(9)
        given, cube = rng.integers(-9, 9, (5, 4)), rng.random((2, 3, 2))
        arrays = out, real, other, given, cube, np.zeros(0), rng.random((7, 2))
        options = {"parameters": "out, real, other, given, cube, empty, pairs", "before": BEFORE, "harmless": True}
        return body(text, *arrays, block=8, **options), out

    alone, interpreted, ran = both_ways(monkeypatch, launch)

    assert alone == interpreted
    assert ran == loops or "outside" in name
    if "machine" in way:
        assert made
        assert all(made)
