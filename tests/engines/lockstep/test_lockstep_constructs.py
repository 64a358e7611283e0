"""Every construct either runs in lockstep or is refused in one line that says why and what to do."""

import ast
import re

import numpy as np
import pytest
from helpers.constructs import arguments, constructs
from helpers.lockstep_text import kernel_of, launch_text, result
from helpers.tiers import one_in

from smemviz.errors import SmemvizError
from smemviz.frontends.numba.plain import plain
from smemviz.frontends.numba.sites import find_sites

ALL = constructs()


def said_of(one):
    """Return with which sentence lockstep refuses a construct, empty where it runs."""
    try:
        launch_text(one.text, *arguments(), block=8)
    except SmemvizError as error:
        return str(error).partition(": ")[2]
    return ""


@pytest.mark.parametrize("first", one_in(10, range(0, len(ALL), 20)))
def test_a_construct_runs_or_is_refused_in_one_line(first):
    some = ALL[first : first + 20]
    assert {one.name: said_of(one) for one in some} == {one.name: one.says for one in some}
    assert all("\n" not in one.says for one in some)


def test_what_numba_compiles_is_not_said_to_be_refused_by_numba():
    refused = re.compile(r"Numba does not compile it|as well|in Numba (too|either)")
    assert [one.name for one in ALL if one.numba and refused.search(one.says)] == []


# They stand for something that Numba compiles in other places.
_NOT_TOLD = ("array a.ctypes", "l = cuda.local.array(4, np.datetime64);out[i] = 1")


def test_what_numba_refuses_is_not_said_to_run_on_a_gpu():
    elsewhere = "run with engine gpu"
    assert [one.name for one in ALL if not one.numba and elsewhere in one.says and one.name not in _NOT_TOLD] == []


def test_a_function_without_anything_to_rewrite_is_left_alone():
    function = ast.parse("def f(x):\n    return x").body[0]
    assert plain(function) is function


FUNCTIONS = """
@cuda.jit(device=True)
def first(q):
    for k in range(4):
        if k * k > q:
            return k

@cuda.jit(device=True)
def same(x, y):
    return x == y

"""
COMPUTED = [  # a body of threads i, and what the first ones leave
    ("x = None\nif i % 3 == 1:\n    x = i\nout[i] = -1 if x is None else x\n"
        "if x is not None and x > 5:\n    out[i] = 100",
        [-1, 1, -1, -1, 4, -1, -1, 100, -1]),
    ("found = first(i)\nout[i] = 9 if found is None else found", [1, 2, 2, 2, 3, 3, 3, 3, 3, 9]),
    ("column = out[:, None]\ncolumn[i, 0] = column.shape[0] * 10 + column.shape[1]", [321, 321]),
    # What is None before a loop is asked for in every turn, and a choice that one turn decides is open in the next.
    ("last = None\nfirsts = 0\nfor k in range(6):\n    firsts += 1 if last is None else 0\n    last = (k * 5 + i) % 6\n"
        "out[i] = 10 * firsts + (0 if last is None else last)", [11, 12, 13]),
    ("y = None\nfor k in range(3):\n    y = (1 if y is None else 5) if i % 2 == 0 or y is None else None\n"
        "out[i] = -1 if y is None else y", [5, 1, 5, 1]),
    # What is surely given a number is one.
    ("x = None\nfor k in range(3):\n    x = k\n    out[i] = x", [2] * 32),
    ("x = None\nfor k in range(3):\n    if k == 1:\n        x = k\n        break\n"
        "if x is not None:\n    out[i] = x", [1] * 32),
    ("x = None\nfor k in range(3):\n    x = k\nout[i] = -1 if x is None else x", [2] * 32),
    ("x = None\nk = 0\nwhile k < 3:\n    x = k\n    k += 1\nif x is not None:\n    out[i] = x", [2] * 32),
    ("x = None\nfor k in range(3):\n    x = k\nx = 7\nout[i] = x", [7] * 32),
    ("mode = 'fast'\nif same(mode, 'fast') and mode != 'slow':\n    out[i] = len(mode)", [4] * 32),
]  # fmt: skip


def test_none_new_axes_and_texts_are_values():
    for lines, wanted in COMPUTED:
        left = result(f"i = cuda.grid(1)\n{lines}", before=FUNCTIONS)
        assert left[: len(wanted)].tolist() == wanted, lines
    with pytest.raises(SmemvizError, match="one name stands for different texts in different threads"):
        result("mode = 'fast' if cuda.grid(1) > 3 else 'slow'\nout[cuda.grid(1)] = mode == 'fast'")


def test_what_goes_over_an_array_by_itself_is_refused_on_every_engine():
    for code in [
        "out.sum()",
        "np.mean(out)",
        "max(out)",
        "3 in out",
        "out.flat[2]",
        "np.fmax(out, 1, out)",
        "out.item()",
    ]:
        kernel = kernel_of(f"@cuda.jit\ndef kernel(out):\n    out[0] = {code}\n")
        with pytest.raises(SmemvizError) as error:
            find_sites(kernel, [np.zeros(4)])
        code = code.removesuffix("[2]")
        assert f"{code} in a kernel is not followed; write a loop" in str(error.value)
