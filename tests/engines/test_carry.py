"""A kernel rewritten to carry its counters: each site reports, and nothing else changes."""

import ast
from types import ModuleType

import numpy as np

from smemviz.engines.gpu.carry import carry
from smemviz.functions import Function
from smemviz.program import parse_program
from smemviz.sites import find_sites


def carried(body):
    """Rewrite a kernel of one argument, ``out``; return the text of what was its body, names shortened."""
    return with_beginning(body).partition("\n")[2]


def with_beginning(body):
    """Return that text with the statement before it."""
    source = "def kernel(out):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    tree = parse_program(source, "f.py").tree
    scope = {"cuda": ModuleType("numba.cuda"), "int32": np.int32}
    function = Function("kernel", "f.py", source, tree, tree.body[0], scope)
    module = carry(find_sites(function, [np.zeros(8, np.int32)])).module
    assert ast.unparse(tree) == ast.unparse(ast.parse(source))  # the original is untouched
    return ast.unparse(module.body[0].body).replace("__smemviz_", "_").replace("_int32", "")


def test_a_kernel_begins_with_a_log_that_keeps_a_place_for_each_site():
    kept = ", ".join(f"_cuda.local.array(2, _{kind})" for kind in ("uint32", "int64", "uint32", "uint32"))
    assert with_beginning("out[1] = out[0]").splitlines()[0] == f"_log = _begin(_launch, ({kept}))"


def test_a_load_and_a_store():
    assert carried("out[1] = out[0]") == (
        "_0 = _load_global_load(0, out, 0, _log)\n"
        "_store_global_store(1, out, 1, _0, _log)"
    )  # fmt: skip


def test_an_augmented_assignment_evaluates_its_index_once():
    assert carried("out[out[0]] += 5") == (
        "_0 = out\n"
        "_1 = _load_global_load(0, out, 0, _log)\n"
        "_2 = _load_global_load(1, _0, _1, _log)\n"
        "_3 = _2 + 5\n"
        "_store_global_store(2, _0, _1, _3, _log)"
    )


def test_a_swap_reads_both_before_it_writes():
    assert carried("out[0], out[1] = out[1], out[0]") == (
        "_0 = (_load_global_load(0, out, 1, _log), _load_global_load(1, out, 0, _log))\n"
        "_store_global_store(2, out, 0, _0[0], _log)\n"
        "_store_global_store(3, out, 1, _0[1], _log)"
    )


def test_declarations_and_barriers_report_too():
    assert carried("t = cuda.shared.array(4, int32)\ncuda.syncthreads()\nt[0] = 1") == (
        "t = _declare(0, cuda.shared.array(4, int32), _log)\n"
        "_barrier(_log)\n"
        "cuda.syncthreads()\n"
        "_0 = 1\n"
        "_store_shared_store(0, t, 0, _0, _log)"
    )


def test_control_flow_and_local_arrays_stay_as_they_are():
    body = (
        "a = cuda.local.array(4, int32)\nfor i in range(3):\n    if i > 1:\n        a[i] = i\n        continue\nreturn"
    )

    assert carried(body) == body


def test_atomics_report_and_update():
    assert carried("old = cuda.atomic.add(out, 3, 1)\ncuda.atomic.compare_and_swap(out, 0, old)") == (
        "old = _atomic_global_atomic_add(0, out, 3, 1, _log)\n"
        "_swap_global_atomic_cas(1, out, 0, old, _log)"
    )  # fmt: skip
