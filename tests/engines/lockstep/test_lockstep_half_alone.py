"""Loops with numbers in half precision that few threads run alone: they leave what lockstep leaves, and NumPy."""

import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import both_ways, note_machine_code, run_few
from helpers.lockstep_text import body

HEAD = """
    i = cuda.threadIdx.x
    s, m = cuda.shared.array((8, 4), float16), cuda.local.array(4, float16)
    for k in range(4):
        s[i, k], m[k] = i + k * 0.1, k * 0.3
    x, h = 0.0, float16(i)
"""
LINES = {
    "stored and loaded": "m[k % 4] = x * 0.1 + k\nb[i, k % 4] = k + i * 0.01\ns[i, 1] = b[i, 0]\n"
    "x += m[1] + b[i, k % 4] + s[i, 1]",
    "rounded": "m[1] = float32(k * 0.1)\nm[2] = k * 1000 * i\nm[3] = k > 5\n"
    "x += float64(m[1]) + (m[2] < 60000) + float16(x)",
    "added and multiplied": "m[0] = m[1] * a[k, 1] + a[k, i % 3]\nm[1] = a[k, 0] - m[0] / float16(3)\nx += m[0]",
    "beside others": "y = a[k, i % 3] * float32(0.1) + a[k, 0] * 3\nx += y + (a[k, 1] > 0.5) + (a[k, 2] == a[k, 1])",
    "a variable": "h = a[k, i % 3]\nx += -h + abs(h) + max(h, float16(0.2))\nb[i, 0] += h",
    "parts": "m[1:] = a[k, 0]\nfor v in a[k]: x += v\nx += a.T[1, k] + m[2]",
    "as an integer": "x += int(a[k, 1] * float16(9)) + int32(m[1])",
}


def launch_of(lines):
    text = f"{textwrap.dedent(HEAD)}for k in range(20):\n{textwrap.indent(lines, '    ')}\nout[i] = x + h"

    def launch():
        rng = np.random.default_rng(3)
        out, a, b = np.zeros(8), rng.normal(0, 2, (20, 3)).astype(np.float16), np.zeros((8, 4), np.float16)
        return body(text, out, a, b, block=5, parameters="out, a, b", harmless=True), out, a, b

    return launch


@pytest.mark.parametrize("name", LINES)
def test_half_precision(monkeypatch, name, way):
    made = note_machine_code(monkeypatch) if "machine" in way else [True]
    alone, interpreted, ran = both_ways(monkeypatch, launch_of(LINES[name]))

    assert alone == interpreted
    assert len(interpreted) > 2
    assert ran > 1
    assert made
    assert all(made)


def test_machine_code_rounds_to_half_precision_as_numpy_does(monkeypatch):
    run_few(monkeypatch, "machine code")
    made = note_machine_code(monkeypatch)
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    every = halves[:0x7C00].astype(np.float64)
    least = np.concatenate([every, (every[1:] + every[:-1]) / 2, [65519.99, 65520.0, 1e300, 1e-300, np.inf, np.nan]])
    given = np.concatenate([least, -least, np.nextafter(least, 0), np.nextafter(least, np.inf)])
    wide, narrow = np.zeros(len(halves)), np.zeros(len(given), np.float16)
    text = "i = cuda.grid(1)\nfor k in range(i, len(halves), 2):\n    wide[k] = halves[k]\n"
    text += "for k in range(i, len(given), 2):\n    narrow[k] = given[k]"

    body(text, halves, wide, given, narrow, block=2, parameters="halves, wide, given, narrow")

    assert made == [True, True]
    assert wide.tobytes() == halves.astype(np.float64).tobytes()
    with np.errstate(over="ignore"):
        assert narrow.tobytes() == given.astype(np.float16).tobytes()
