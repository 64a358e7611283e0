"""Loops over the elements of arrays make requests as loops over indices do; ranges, types and text are values."""

import ast

import numpy as np
import pytest
from helpers.lockstep_text import body, by_python, result, rows

from smemviz.engines.gpu.instrument import instrument
from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.python_functions import Function
from smemviz.frontends.numba.sites import find_sites

TABLE = np.arange(12, dtype=np.float32).reshape(3, 4)
BY_INDEX = "for i in range(3):\n    for j in range(4):\n        out[0] += table[i, j]"


@pytest.mark.parametrize(
    "text",
    [
        "for x in table.flat:\n    out[0] += x",
        "for k in range(12):\n    out[0] += table.flat[k]",
        "for place, x in np.ndenumerate(table):\n    out[0] += x",
        "for x in np.nditer(table):\n    out[0] += x.item()",
        "for x in np.nditer(table):\n    out[0] += x[()]",
    ],
)
def test_elements_are_requested_one_by_one(text):
    plain, other = np.zeros(1), np.zeros(1)
    expected, _ = body(BY_INDEX, plain, TABLE, parameters="out, table", block=1)
    launch, _ = body(text, other, TABLE, parameters="out, table", block=1)
    first, *_ = (k for k, site in enumerate(expected.sites) if site.array == "table")
    (site,) = (k for k, site in enumerate(launch.sites) if site.array == "table")
    assert np.array_equal(rows(launch, site), rows(expected, first))
    assert other == plain


def test_a_number_behind_the_end_of_an_array_is_found():
    _, (finding,) = body("out[0] = table.flat[12 + 0 * out.size]", np.zeros(1), TABLE, parameters="out, table", block=1)
    assert finding.message.startswith("table[3, 0] is outside shape (3, 4)")


@pytest.mark.parametrize("text", ["out[0] = table.flat[3]", "for k, x in np.ndenumerate(table):\n    out[0] += x"])
def test_on_the_gpu_they_are_refused(text):
    source = "def kernel(out, table):\n" + "".join(f"    {line}\n" for line in text.splitlines())
    tree = ast.parse(source)
    function = Function("kernel", "mine.py", source, tree, tree.body[0], {"np": np})
    with pytest.raises(
        UnsupportedError, match="item by item, which is not counted on the GPU; run with engine lockstep"
    ):
        instrument(find_sites(function, (np.zeros(1), TABLE)))


def test_threads_have_ranges_of_their_own():
    text = "i = cuda.grid(1)\nr = range(i, 20, 3)\nout[i] = len(r) + 100 * (8 in r)\nfor k in r:\n    out[i] += 1000"
    expected = [len(range(i, 20, 3)) * 1001 + 100 * (8 in range(i, 20, 3)) for i in range(32)]
    assert list(result(text)) == expected


def test_threads_that_part_keep_ranges_of_their_own():
    text = "i = cuda.grid(1)\nr = range(2)\nif i % 2:\n    r = range(1, 9, 4)\nfor k in r:\n    out[i] += k + 10"
    assert list(result(text)[:4]) == [21, 26, 21, 26]


@pytest.mark.parametrize("threads", [1, 32])
def test_the_largest_and_smallest_of_a_range_are_each_threads_own(threads):
    lines = "out[i] = max(range(i + 1)) + 100 * min(range(i, 40, 3)) - max(range(i + 9, i, -2)) - min(range(i, -9, -4))"
    lines += "\nif i > 2:\n    out[i] += 10000 * max(range(2, i, 2) if i > 3 else range(1))"
    out = result(f"i = cuda.grid(1)\n{lines}", "float64", n=threads, block=threads)
    assert out.tolist() == by_python(lines, threads)


def test_what_is_written_out_is_computed_before_it_is_cut_off():
    assert result("out[0] = (1 << 64) >> 60", n=1, block=1) == 16
    assert result("out[0] = 2**63 > 0", n=1, block=1) == 1


def test_isinstance_is_of_the_very_type():
    text = "out[0] = isinstance(int32(1), int) + 2 * isinstance(int64(1), int) + 4 * isinstance(1.0, float)"
    assert result(text, n=1, block=1) == 2 + 4


def test_other_names_for_functions_types_and_modules_are_followed():
    text = "t = cuda.threadIdx\nm = math\nf = m.floor\nkind = int32\nout[t.x] = kind(f(t.x / 2))"
    assert list(result(text)) == [k // 2 for k in range(32)]


def test_threads_go_over_the_indices_of_arrays_of_their_own_sizes():
    lines = "for p, q in np.ndindex(2, i % 4):\n    out[i] = 3 * out[i] + 10 * p + q + 1"
    assert list(result(f"i = cuda.grid(1)\n{lines}", dtype="float64", n=32)) == by_python(lines, 32, np=np)


def test_threads_fill_parts_of_an_array_of_their_own_sizes():
    expected = np.zeros((4, 3, 3))
    for i in range(4):
        expected[i, : i % 3, : 3 - i] = i + 1
    out = np.zeros((4, 3, 3))
    body("i = cuda.grid(1)\nout[i, : i % 3, : 3 - i] = i + 1", out, block=4)
    assert out.tolist() == expected.tolist()
