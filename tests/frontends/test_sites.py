"""Every place that touches a shared or global array is found, named and told apart."""

import sys
from types import ModuleType

import numpy as np
import pytest

from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.python_functions import function_of
from smemviz.frontends.numba.sites import find_sites
from smemviz.frontends.reading import parse_program

HEADER = """\
import numpy as np
from numba import float32, float64, int8, int32
from the_cuda import cuda
B = 32
P = 33
SHAPE = (B, P)

@cuda.jit(device=True)
def get(a, i, j=0):
    return a[i, j]

@cuda.jit(device=True)
def put(a, i, v):
    a[i] = v
    return a

@cuda.jit(device=True)
def pick(a, i):
    return get(a, i, i)

@cuda.jit(device=True)
def endless(a, i):
    return endless(a, i)

"""


@pytest.fixture
def sites_of(monkeypatch):
    """Find the sites of a kernel given by the text of its body; arguments out (1-D int32) and data (2-D float64)."""
    cuda = ModuleType("numba.cuda")

    class Jitted:
        def __init__(self, py_func):
            self.py_func = py_func

    cuda.jit = lambda function=None, **_: Jitted(function) if function else Jitted
    the_cuda = ModuleType("the_cuda")
    the_cuda.cuda = cuda
    monkeypatch.setitem(sys.modules, "the_cuda", the_cuda)

    def find(*lines):
        body = "".join(f"    {line}\n" for line in lines)
        source = f"{HEADER}@cuda.jit\ndef kernel(out, data, n=0):\n{body}"
        program = parse_program(source, "f.py")
        namespace = {}
        exec(program.code(), namespace)
        arguments = (np.zeros(8, np.int32), np.zeros((4, 4), np.float64))
        return find_sites(function_of(namespace["kernel"].py_func, source, program.tree), arguments)

    return find


def facts(table):
    return [(s.source, s.array, s.space, s.op, s.width) for s in table.sites]


TILE = "tile = cuda.shared.array((B, P), float32)"


def test_loads_come_in_the_order_python_evaluates_them(sites_of):
    table = sites_of(TILE, "x = cuda.threadIdx.x", "tile[out[x], x] += data[x, out[0]]")

    assert facts(table) == [
        ("out[x]", "out", "global", "load", 4),
        ("tile[out[x], x]", "tile", "shared", "load", 4),
        ("out[0]", "out", "global", "load", 4),
        ("data[x, out[0]]", "data", "global", "load", 8),
        ("tile[out[x], x]", "tile", "shared", "store", 4),
    ]


def test_a_chain_of_subscripts_is_one_site(sites_of):
    table = sites_of(TILE, "tile[1][2] = tile[3][4]")

    assert facts(table) == [("tile[3][4]", "tile", "shared", "load", 4), ("tile[1][2]", "tile", "shared", "store", 4)]


def test_sites_in_one_line_differ_by_column(sites_of):
    table = sites_of(TILE, "out[0] = tile[0, 0] + tile[0, 0]")

    assert [(s.line, s.column) for s in table.sites] == [(28, 13), (28, 26), (28, 4)]


def test_a_device_function_called_from_two_places_has_two_sites(sites_of):
    table = sites_of(TILE, "out[0] = get(tile, 1, 2) + get(data, 3)")

    assert facts(table)[:2] == [("a[i, j]", "tile", "shared", "load", 4), ("a[i, j]", "data", "global", "load", 8)]
    assert [s.calls for s in table.sites[:2]] == [((28, 13),), ((28, 31),)]
    assert {s.line for s in table.sites[:2]} == {10}
    assert {s.function for s in table.sites[:2]} == {"get"}


def test_calls_inside_device_functions_keep_the_whole_chain(sites_of):
    table = sites_of(TILE, "out[0] = pick(tile, 1)")

    assert table.sites[0].calls == ((28, 13), (19, 11))


def test_views_aliases_and_swaps_are_followed(sites_of):
    table = sites_of(
        TILE,
        "other = cuda.shared.array(SHAPE, dtype=np.float32)",
        "row = tile[3]",
        "a, b = tile, other",
        "row[1] = 0",
        "for i in range(3):",
        "    b[i, 0] = a[i, 1]",
        "    a, b = b, a",
        "flat = tile.reshape(B * P)",
        "flat[7] = 1",
    )

    assert [(s.source, s.array) for s in table.sites] == [
        ("row[1]", "tile"),
        ("a[i, 1]", "tile or other"),
        ("b[i, 0]", "other or tile"),
        ("flat[7]", "tile"),
    ]
    assert [(d.name, d.shape, d.dtype) for d in table.declarations] == [
        ("tile", (32, 33), "float32"),
        ("other", (32, 33), "float32"),
    ]


def test_a_tuple_as_an_index_counts_its_parts(sites_of):
    table = sites_of("pos = cuda.grid(2)", "data[pos] = 1", "x, y = pos", "data[x, y] = 2")

    assert [s.source for s in table.sites] == ["data[pos]", "data[x, y]"]


def test_local_and_constant_arrays_shapes_and_tuples_are_no_sites(sites_of):
    table = sites_of("mine = cuda.local.array(4, int32)", "mine[0] = data.shape[1] + SHAPE[0]", "out[0] = mine[0]")

    assert facts(table) == [("out[0]", "out", "global", "store", 4)]


def test_a_device_function_may_return_its_array(sites_of):
    table = sites_of("dyn = cuda.shared.array(0, int8)", "back = put(dyn, 1, 2)", "back[0] = 1")

    assert facts(table) == [("a[i]", "dyn", "shared", "store", 1), ("back[0]", "dyn", "shared", "store", 1)]
    assert table.declarations[0].dynamic


def test_atomics_are_reductions_when_nothing_uses_what_they_return(sites_of):
    table = sites_of(
        "cuda.atomic.add(out, 0, 2)",
        "cuda.atomic.add(out, 0, 1)",
        "cuda.atomic.add(data, (0, 1), 1)",
        "old = cuda.atomic.max(out, 0, 2)",
        "cuda.atomic.exch(out, 0, 2)",
        "cuda.atomic.compare_and_swap(out, 0, 2)",
        "cuda.atomic.and_(out, 0, 2)",
    )

    assert [s.op for s in table.sites] == [
        "reduce_add",
        "reduce_inc",
        "reduce_add",
        "atomic_max",
        "atomic_exch",
        "atomic_cas",
        "reduce_and",
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "t = cuda.shared.array(n, int32)",
            "cuda.shared.array needs a constant shape, in Numba too; 'n' is an argument. "
            "Make it a module constant, or use dynamic shared memory.",
        ),
        (
            "t = cuda.shared.array((B, B + 1), int32)",
            "cuda.shared.array needs a constant shape, in Numba too; 'B + 1' is not a constant. "
            "Make it a module constant, or use dynamic shared memory.",
        ),
        (
            "t = cuda.local.array(n, int32)",
            "cuda.local.array needs a constant shape, in Numba too; 'n' is an argument. Make it a module constant.",
        ),
        ("t = cuda.shared.array(B, B)", "cuda.shared.array needs a dtype; 'B' is not one"),
        ("t = cuda.shared.array(B)", "cuda.shared.array needs a shape and a dtype"),
        (
            "t = cuda.shared.array((0, 2), int8)",
            "cuda.shared.array of shape (0, 2) has no elements; make each size 1 or more (0 alone: dynamic)",
        ),
        ("data[1, 2, 3] = 0", "data[1, 2, 3] has 3 indices for 2 axes"),
        ("data[1] += 1", "data[1] is an array; update it element by element"),
        ("n[0] = 1", "it is not known which array n is"),
        (
            "cuda.atomic.add(out[n], 0, 1)",
            "out[n] is an element and not an array, in Numba too; write cuda.atomic.add(out, n, ...)",
        ),
        ("a = out if n else data", "one name stands for two kinds of array here; give each its own name"),
        ("endless(out, 1)", "endless calls itself, which is not followed in Python kernels; write a loop"),
        (
            "[x for x in range(3)]",
            "a list comprehension in a kernel is not followed; Numba does not compile it for CUDA; write a loop",
        ),
        ("import os", "an import in a kernel is not followed; Numba refuses it as well; import at the top of the file"),
    ],
)
def test_what_cannot_be_followed_is_named_with_its_line(sites_of, line, message):
    with pytest.raises(UnsupportedError) as caught:
        sites_of(line)

    where = 23 if "endless" in line else 27
    assert str(caught.value) == f"f.py:{where}: {message}"
