"""A kernel instrumented: each site reports, and nothing else changes."""

import ast
import re
from dataclasses import replace
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from helpers.random_kernels import PICK, SIZE, conditional_kernel, python_file

import smemviz
from smemviz.engines.instrument import instrument
from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.python_functions import Function
from smemviz.frontends.numba.sites import find_sites
from smemviz.frontends.reading import parse_program
from smemviz.model.counting.summary import totals_of


def instrumented(body):
    """Rewrite a kernel of the arguments ``out`` and ``records``; return what became of its body, names shortened."""
    source = "def kernel(out, records):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    tree = parse_program(source, "f.py").tree
    scope = {"SIZE": 4, "cuda": ModuleType("numba.cuda"), "int32": np.int32, "np": np}
    function = Function("kernel", "f.py", source, tree, tree.body[0], scope)
    module = instrument(find_sites(function, [np.zeros(8, np.int32), np.zeros(8, [("x", np.int32)])])).module
    assert ast.unparse(tree) == ast.unparse(ast.parse(source))  # the original is untouched
    return shortened(ast.unparse(module.body[0].body))


def shortened(text):
    """Return a text with shorter names, and with the numbers of sites as they are."""
    return re.sub(r"_int64\((\d+)\)", r"\1", text.replace("__smemviz_", "_").replace("_int32", ""))


def test_a_load_and_a_store():
    assert instrumented("out[1] = out[0]") == (
        "_0 = _load_global_load(0, out, 0)\n"
        "_store_global_store(1, out, 1, _0)"
    )  # fmt: skip


def test_an_augmented_assignment_evaluates_its_index_once():
    assert instrumented("out[out[0]] += 5") == (
        "_0 = out\n"
        "_1 = _load_global_load(0, out, 0)\n"
        "_2 = _load_global_load(1, _0, _1)\n"
        "_3 = _2 + 5\n"
        "_store_global_store(2, _0, _1, _3)"
    )


def test_a_swap_reads_both_before_it_writes():
    assert instrumented("out[0], out[1] = out[1], out[0]") == (
        "_0 = (_load_global_load(0, out, 1), _load_global_load(1, out, 0))\n"
        "_store_global_store(2, out, 0, _0[0])\n"
        "_store_global_store(3, out, 1, _0[1])"
    )


def test_declarations_are_marked_and_barriers_stay():
    assert instrumented("t = cuda.shared.array(4, int32)\ncuda.syncthreads()\nt[0] = 1") == (
        "t = _declare(0, cuda.shared.array(4, int32))\ncuda.syncthreads()\n_0 = 1\n_store_shared_store(0, t, 0, _0)"
    )


def test_control_flow_and_local_arrays_stay_as_they_are():
    body = (
        "a = cuda.local.array(4, int32)\nfor i in range(3):\n    if i > 1:\n        a[i] = i\n        continue\nreturn"
    )

    assert instrumented(body) == body


def test_atomics_report_and_update():
    assert instrumented("old = cuda.atomic.add(out, 3, 1)\ncuda.atomic.compare_and_swap(out, 0, old)") == (
        "old = _atomic_global_atomic_add(0, out, 3, 1)\n"
        "_swap_global_atomic_cas(1, out, 0, old)"
    )  # fmt: skip


def test_loads_and_stores_that_hint_at_the_caches_report_and_stay_what_they_are():
    assert instrumented("cuda.stcg(out, 1, cuda.ldcs(out, 0))") == (
        "_stcg_global_store(1, out, 1, _ldcs_global_load(0, out, 0))"
    )


def test_fields_of_records_report_where_the_record_is():
    assert instrumented("records[1].x = out[0]\nrecords[2]['x'] += 1") == (
        "_0 = _load_global_load(0, out, 0)\n"
        "_store_global_store_4_pieces_x(1, records, 1, _0)\n"
        "_1 = records\n"
        "_2 = 2\n"
        "_3 = _load_global_load_4_pieces_x(2, _1, _2)\n"
        "_4 = _3 + 1\n"
        "_store_global_store_4_pieces_x(3, _1, _2, _4)"
    )


def test_what_a_device_function_takes_with_a_star_is_a_tuple():
    source = "def first(x, *rest):\n    return rest[0][x]\n\ndef kernel(out):\n    t = (2,)\n    first(1, out, *t)\n"
    tree = parse_program(source, "f.py").tree
    first, kernel = (Function(node.name, "f.py", source, tree, node, {}) for node in tree.body)
    found = instrument(
        find_sites(replace(kernel, scope={"first": SimpleNamespace(definition=first)}), [np.zeros(8, np.int32)])
    )
    texts = [shortened(ast.unparse(one.module)) for one in (found, *found.callees)]
    assert texts[0].endswith("    t = (2,)\n    _kernel_0(1, (out, *t))")
    assert texts[1] == "def _kernel_0(x, rest):\n    return _load_global_load(0, rest[0], x)"


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("out[0:4] = 1", "out[0:4] is more than one element"),
        ("r = records[1]\nout[0] = r.x", "r.x is a field of a variable"),
    ],
)
def test_what_is_not_counted_on_the_gpu_is_refused_where_it_stands(body, what):
    with pytest.raises(UnsupportedError) as caught:
        instrumented(body)

    line = 2 + body.count("\nout")
    assert str(caught.value) == f"f.py:{line}: {what}, which is not counted on the GPU; run with engine lockstep"


def test_a_loop_over_an_array_goes_over_its_places():
    assert instrumented("for x in out:\n    if x:\n        continue\n    out[0] = x") == (
        "_1 = out\n"
        "for _0 in range(len(_1)):\n"
        "    _round()\n"
        "    x = _load_global_load(0, _1, _0)\n"
        "    if x:\n"
        "        continue\n"
        "    _2 = x\n"
        "    _store_global_store(1, out, 0, _2)"
    )


def test_a_compiler_may_write_out_rounds_that_all_lanes_make():
    """Where some lanes leave between copies of a round, the requests of one would be those of several groups."""
    for loop, is_fixed in [
        ("for k in range(8):", True),
        ("for k in range(2 * SIZE, 0, -1):", True),
        ("for k in range(n):", False),
        ("for k in range(out.size):", False),
        ("for k in range(out[0]):", False),
        ("for k in (1, 2):", False),
        ("while n:", False),
    ]:
        text = instrumented(f"n = 3\n{loop}\n    n -= 1").splitlines()
        assert text[2:] == ["    n -= 1"] if is_fixed else ["    _round()", "    n -= 1"]


def test_a_loop_over_arrays_side_by_side_ends_with_the_shortest():
    assert instrumented("for i, (x, y) in enumerate(zip(out, out[2:]), 5):\n    pass") == (
        "_1 = out\n"
        "_2 = out[2:]\n"
        "for _0 in range(min(len(_1), len(_2))):\n"
        "    _round()\n"
        "    i, (x, y) = (5 + _0, (_load_global_load(0, _1, _0), _load_global_load(1, _2, _0)))\n"
        "    pass"
    )


def test_the_items_of_a_row_are_loaded_and_stored_one_by_one():
    assert instrumented("grid = out.reshape(4, 2)\nx, y = grid[out[0]]\ngrid[3] = y, x") == (
        "grid = out.reshape(4, 2)\n"
        "_0 = grid[_load_global_load(0, out, 0)]\n"
        "x, y = (_load_global_load(1, _0, 0), _load_global_load(1, _0, 1))\n"
        "_1 = (y, x)\n"
        "_2 = grid[3]\n"
        "_store_global_store(2, _2, 0, _1[0])\n"
        "_store_global_store(2, _2, 1, _1[1])"
    )


def test_a_loop_over_rows_that_are_unpacked_loads_their_items():
    assert instrumented("grid = out.reshape(4, 2)\nfor x, y in grid:\n    pass") == (
        "grid = out.reshape(4, 2)\n"
        "_1 = grid\n"
        "for _0 in range(len(_1)):\n"
        "    _round()\n"
        "    x, y = (_load_global_load(0, _1[_0], 0), _load_global_load(0, _1[_0], 1))\n"
        "    pass"
    )


QUICK = ("below_zero",)
# Numba orders nothing within a warp, and PTX is looked at for races; it ends a thread after it has counted.
FOUND_FAULTY = ("views_and_swaps", "wide_patterns", "early_return_before_a_barrier")

NEEDS_NUMBA = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="needs numba-cuda, which compiles")


def cases():
    if find_spec("numba_cuda") is None:
        return []
    from helpers.kernels_for_tests import cases as found

    return [
        pytest.param(*case[:4], id=name, marks=[] if name in QUICK else [pytest.mark.exhaustive])
        for case in found()
        if not case[4] and (name := case[0].py_func.__name__) not in FOUND_FAULTY
    ]


@NEEDS_NUMBA
@pytest.mark.parametrize(("kernel", "grid", "block", "arguments"), cases())
def test_as_many_requests_are_counted_as_lockstep_sees(kernel, grid, block, arguments):
    count(kernel, grid, block, arguments)


@NEEDS_NUMBA
@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", [1, 2, 5, 8, 13, 21, 34, 55])
def test_as_many_requests_of_conditions_are_counted_as_lockstep_sees(seed, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(python_file([conditional_kernel(seed)], before=PICK["py"]), encoding="utf-8")
    spec = spec_from_file_location("mine", file)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)

    count(module.k, 2, SIZE, (np.zeros(SIZE, np.int32), np.arange(SIZE, dtype=np.int32)))


def count(kernel, grid, block, arguments):
    """Hold what an instrumented kernel counts and writes against what lockstep sees."""
    from helpers.interpreted_ptx import passes_of

    ours, theirs = (tuple(a.copy() if isinstance(a, np.ndarray) else a for a in arguments) for _ in range(2))
    passes = passes_of(kernel, grid, block, ours)
    totals = passes.count()
    passes.capability = (7, 5)  # where a warp does not find the largest of its values in one instruction
    older = passes.count()
    (launch,) = smemviz.record(kernel, grid, block, theirs, engine="lockstep").launches

    expected = totals_of(launch.sites, launch.requests)
    assert passes.sites == launch.sites
    for name in ("requests", "wavefronts", "ideal", "sectors", "degrees"):
        np.testing.assert_array_equal(getattr(totals, name), getattr(expected, name))
        np.testing.assert_array_equal(getattr(older, name), getattr(expected, name))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)
    blocks, warps = int(np.prod(passes.configuration.grid)), -(-int(np.prod(passes.configuration.block)) // 32)
    written, whole = passes.write(np.ones(blocks * warps, np.bool_), int(totals.requests.sum()), ())
    assert whole
    for name in ("site", "block", "warp", "epoch", "values"):  # a compiler may turn the sides of a branch around
        one, other = (getattr(of_each, name)[in_order_of_sites(of_each)] for of_each in (written, launch.requests))
        np.testing.assert_array_equal(one, other)


def in_order_of_sites(requests):
    return np.lexsort((requests.step, requests.warp, requests.block, requests.site))
