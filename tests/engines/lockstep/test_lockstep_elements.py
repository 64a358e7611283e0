"""Loops over the elements of arrays make requests as loops over indices do; ranges, types and text are values."""

import ast
import operator

import numpy as np
import pytest
from helpers.lockstep_text import body, by_python, launch_text, result, rows
from helpers.same_requests import relative_requests

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


def test_an_iterator_that_a_variable_holds_loads_what_it_goes_over():
    data, out = np.arange(1.0, 6), np.zeros(32)
    text = "i = cuda.laneid\npairs = enumerate(data)\nif i < 8:\n    for k, x in pairs:\n        out[i] += k * x"
    launch, _ = body(text, data, out, parameters="data, out")
    assert (launch.sites[0].source, launch.sites[0].op) == ("data", "load")
    assert len(rows(launch, 0)) == 5
    assert out.tolist() == [40.0] * 8 + [0.0] * 24  # 0 * 1 + 1 * 2 + 2 * 3 + 3 * 4 + 4 * 5


def test_threads_that_part_go_through_one_iterator_each():
    text = """
        numbers = iter(range(4))
        i = cuda.laneid
        if i < 3:
            for k in numbers:
                out[i] += k
        else:
            for k in numbers:
                out[i] += 10 * k
    """
    assert result(text).tolist() == [6] * 3 + [60] * 29


def test_a_second_loop_gets_what_the_first_one_left_of_an_iterator():
    data, out = np.arange(1.0, 6), np.zeros(32)
    text = """
        i = cuda.laneid
        items = iter(data)
        for x in items:
            out[i] += x
            break
        for x, y in zip(items, items):
            out[i] += 10 * x * y
        for x in items:
            out[i] += 1000 * x
        for x in items:
            out[i] = -1
    """
    launch, _ = body(text, data, out, parameters="data, out")
    assert out.tolist() == [1 + 10 * (2 * 3 + 4 * 5)] * 32  # as compiled by numba-cuda 0.30.4, and in Python
    assert len(rows(launch, 0)) == 5


def test_a_loop_in_a_loop_takes_the_items_of_both():
    text = "n = iter(range(4))\nfor k in n:\n    for m in n:\n        out[cuda.laneid] += 10 * k + m"
    assert result(text).tolist() == [1 + 2 + 3] * 32


def test_threads_that_left_an_iterator_at_different_items_do_not_go_on_in_lockstep():
    text = """
        numbers = iter(range(4))
        for k in numbers:
            if k == cuda.laneid:
                break
        for k in numbers:
            out[k] = 2
    """
    said = r":12: iter\(range\(4\)\), resumed by threads that left it at different items, is not executed in lock"
    with pytest.raises(UnsupportedError, match=said):
        result(text)


def test_an_iterator_in_a_zip_keeps_the_item_for_which_the_one_before_it_has_no_partner():
    text = """
        i = cuda.laneid
        numbers = iter(range(34))
        for x, y in zip(range(i), numbers):
            out[i] += x - y
        if i == 31:
            for y in numbers:
                out[i] += y
    """
    assert result(text).tolist() == [0] * 31 + [31 + 32 + 33]  # as compiled by numba-cuda 0.30.4, and in Python


def test_a_device_function_loads_from_an_iterator_for_its_own_threads_only():
    data, out = np.arange(1.0, 6), np.zeros(32)
    text = """
        @cuda.jit(device=True)
        def first(items, i):
            if i > 2:
                for x in items:
                    return x
            return 0.0

        @cuda.jit
        def kernel(data, out):
            i = cuda.laneid
            items = iter(data)
            out[i] = first(items, i)
    """
    launch, _ = launch_text(text, data, out)
    assert out.tolist() == [0.0] * 3 + [1.0] * 29
    assert [np.flatnonzero(row >= 0).tolist() for row in rows(launch, 0)] == [list(range(3, 32))]
