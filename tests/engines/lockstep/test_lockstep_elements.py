"""Loops over the elements of arrays make requests as loops over indices do; ranges, types and text are values."""

import numpy as np
import pytest
from helpers.lockstep_text import body, by_python, result

from smemviz.errors import UnsupportedError


def test_ranges_types_and_functions_are_values():
    part = "i = cuda.grid(1)\nr = range(2)\nif i % 2:\n    r = range(1, 9, 4)\nfor k in r:\n    out[i] += k + 10"
    own = "i = cuda.grid(1)\nr = range(i, 20, 3)\nout[i] = len(r)\nfor k in r:\n    out[i] += 1000"
    other = "t = cuda.threadIdx\nm = math\nf = m.floor\nkind = int32\nout[t.x] = kind(f(t.x / 2))"
    for text, wanted in [
        (own, [len(range(i, 20, 3)) * 1001 for i in range(32)]),
        (part, [21, 26] * 16),
        (other, [k // 2 for k in range(32)]),
        ("out[cuda.grid(1)] = ((1 << 64) >> 60) + (2**63 > 0)", [17] * 32),  # computed before it is cut off
    ]:
        assert result(text).tolist() == wanted


def test_threads_fill_parts_of_an_array_of_their_own_sizes():
    expected = np.zeros((4, 3, 3))
    for i in range(4):
        expected[i, : i % 3, : 3 - i] = i + 1
    out = np.zeros((4, 3, 3))
    body("i = cuda.grid(1)\nout[i, : i % 3, : 3 - i] = i + 1", out, block=4)
    assert out.tolist() == expected.tolist()


MIDDLE = slice(1, 4)
CORNER = (slice(1, 3), 2)
BEFORE = "MIDDLE = slice(1, 4)\nCORNER = (slice(1, 3), 2)\n"


def test_slices_pick_what_they_pick_in_python():
    for lines in [
        "out[i] = a[MIDDLE][i % 3] + 100 * len(a[MIDDLE])",
        "out[i] = m[MIDDLE, 1][1] + m[i % 4, MIDDLE][2] + 100 * m[MIDDLE][1, 2] + m[CORNER][i % 2]",
        "s = slice(i % 5, 12)\nout[i] = a[s][2]",
        "s = slice(1, 9, 3)\nif i > 9:\n    s = slice(2, 9, 3)\nelif i > 5:\n    s = slice(0, 5, 3)\nout[i] = a[s][1]",
        "s = slice(3) if i % 2 else slice(1, 3)\nout[i] = len(a[s]) + a[s][1]",
        "t = (slice(None), i % 4)\nout[i] = m[t][2] + m[(MIDDLE, 3)][0]",
        "out[slice(i, i + 1)] = 3",
    ]:
        a, m, out = np.arange(16.0) ** 2, np.arange(16.0).reshape(4, 4) * 3, np.zeros(16)
        names = {"a": a, "m": m, "MIDDLE": MIDDLE, "CORNER": CORNER}
        _, findings = body(f"i = cuda.grid(1)\n{lines}", a, m, out, before=BEFORE, parameters="a, m, out", block=16)
        assert findings == ()
        assert out.tolist() == by_python(lines, 16, **names)


def test_a_part_that_begins_elsewhere_in_each_thread_is_unpacked():
    data, out = np.arange(40), np.zeros(32)
    text = "i = cuda.threadIdx.x\nif i < 30:\n    a, b = data[i : i + 2]\n    out[i] = a * b"
    body(text, data, out, parameters="data, out")
    assert out.tolist() == [i * (i + 1) for i in range(30)] + [0, 0]


def test_parts_of_several_sizes_are_not_unpacked():
    text = "i = cuda.threadIdx.x\na, b = data[i : 2 * i]\nout[i] = a * b"
    with pytest.raises(UnsupportedError, match=r"has 31 items for 2 names"):
        body(text, np.arange(99), np.zeros(32), parameters="data, out")
