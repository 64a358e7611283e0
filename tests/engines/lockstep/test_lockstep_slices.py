"""Slices that a name stands for, the functions of operator that take them, and methods of a thread's index."""

import operator

import numpy as np
import pytest
from helpers.lockstep_text import body, by_python, result
from helpers.same_requests import relative_requests

from smemviz.errors import UnsupportedError

MIDDLE = slice(1, 4)
CORNER = (slice(1, 3), 2)
BEFORE = "import operator\nMIDDLE = slice(1, 4)\nCORNER = (slice(1, 3), 2)\n"


@pytest.mark.parametrize(
    "lines",
    [
        "out[i] = a[MIDDLE][i % 3] + 100 * len(a[MIDDLE])",
        "out[i] = m[MIDDLE, 1][1] + m[i % 4, MIDDLE][2] + 100 * m[MIDDLE][1, 2] + m[CORNER][i % 2]",
        "out[i] = MIDDLE.start + 10 * MIDDLE.stop + 100 * slice(7).stop + MIDDLE.indices(3)[1]",
        "s = slice(i % 5, 12)\nout[i] = a[s][2] + s.start",
        "s = slice(1, 9, 3)\nif i > 9:\n    s = slice(2, 9, 3)\nelif i > 5:\n    s = slice(0, 5, 3)\nout[i] = a[s][1]",
        "s = slice(3) if i % 2 else slice(1, 3)\nout[i] = len(a[s]) + a[s][1]",
        "t = (slice(None), i % 4)\nout[i] = m[t][2] + m[(MIDDLE, 3)][0]",
        "out[slice(i, i + 1)] = 3",
        "out[i] = operator.getitem(a, i % 16) + operator.getitem(m, (1, i % 4)) + operator.getitem((5, 6), 1)",
        "out[i] = operator.getitem(a, slice(2, 5))[i % 3] + operator.getitem(m, MIDDLE)[1, 1]",
        "operator.setitem(out, i, a[i % 16] + 1)\noperator.setitem(out, slice(i, i + 1), out[i] * 2)",
    ],
)
def test_slices_pick_what_they_pick_in_python(lines):
    a, m, out = np.arange(16.0) ** 2, np.arange(16.0).reshape(4, 4) * 3, np.zeros(16)
    names = {"a": a, "m": m, "operator": operator, "MIDDLE": MIDDLE, "CORNER": CORNER}
    _, findings = body(f"i = cuda.grid(1)\n{lines}", a, m, out, before=BEFORE, parameters="a, m, out", block=16)
    assert findings == ()
    assert out.tolist() == by_python(lines, 16, **names)


def test_what_functions_of_operator_load_and_store_is_counted_as_the_element_is():
    launches = [
        body(f"i = cuda.grid(1)\n{text}", np.arange(64.0), np.zeros(32), before=BEFORE, parameters="a, out")[0]
        for text in ("operator.setitem(out, i, operator.getitem(a, 2 * i))", "out[i] = a[2 * i]")
    ]
    sites = [[(site.op, site.array, site.width) for site in launch.sites] for launch in launches]
    assert sites == [[("load", "a", 8), ("store", "out", 8)]] * 2
    assert relative_requests(launches[0]) == relative_requests(launches[1])


def test_an_index_of_a_thread_has_the_methods_of_a_number_of_32_bits():
    text = """
        i = cuda.threadIdx.x
        out[i] = cuda.threadIdx.x.view(np.float32).view(np.int32) + 100 * cuda.threadIdx.x.bit_count()
        out[i] += 1000 * (cuda.threadIdx.x.real + cuda.laneid.item())
    """
    assert result(text).tolist() == [i + 100 * i.bit_count() + 2000 * i for i in range(32)]
    view = "out[cuda.threadIdx.x] = cuda.threadIdx.x.view(np.float32)"
    assert (result(view, "float32") == np.arange(32, dtype=np.int32).view(np.float32)).all()


def test_a_part_that_begins_elsewhere_in_each_thread_is_unpacked():
    data, out = np.arange(40), np.zeros(32)
    text = "i = cuda.threadIdx.x\nif i < 30:\n    a, b = data[i : i + 2]\n    out[i] = a * b"
    body(text, data, out, parameters="data, out")
    assert out.tolist() == [i * (i + 1) for i in range(30)] + [0, 0]


def test_parts_of_several_sizes_are_not_unpacked():
    text = "i = cuda.threadIdx.x\na, b = data[i : 2 * i]\nout[i] = a * b"
    with pytest.raises(UnsupportedError, match=r"has 31 items for 2 names"):
        body(text, np.arange(99), np.zeros(32), parameters="data, out")
