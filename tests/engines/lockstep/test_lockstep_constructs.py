"""Every construct either runs in lockstep or is refused in one line that says why and what to do."""

import ast
import re

import numpy as np
import pytest
from helpers.constructs import Construct, arguments, constructs
from helpers.lockstep_text import kernel_of, launch_text, result
from helpers.tiers import one_in

from smemviz.errors import SmemvizError
from smemviz.frontends.numba.plain import plain
from smemviz.frontends.numba.sites import find_sites

ALL = constructs()


def said_of(one: Construct) -> str:
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


def test_a_variable_that_is_none_in_some_threads_is_asked_for_that():
    text = """
        i = cuda.grid(1)
        x = None
        if i % 3 == 1:
            x = i
        out[i] = -1 if x is None else x
        if x is not None and x > 5:
            out[i] = 100
    """
    assert list(result(text, n=32)[:9]) == [-1, 1, -1, -1, 4, -1, -1, 100, -1]


def test_a_function_returns_nothing_in_some_threads():
    before = """
        @cuda.jit(device=True)
        def first(q):
            for k in range(4):
                if k * k > q:
                    return k

    """
    text = "found = first(cuda.grid(1))\nout[cuda.grid(1)] = 9 if found is None else found"
    assert list(result(text, before=before, n=32)[:10]) == [1, 2, 2, 2, 3, 3, 3, 3, 3, 9]


def test_a_new_axis_in_an_index_has_one_element():
    text = """
        column = out[:, None]
        i = cuda.grid(1)
        column[i, 0] = column.shape[0] * 10 + column.shape[1]
    """
    assert list(result(text, n=32)[:2]) == [321, 321]


def test_a_function_without_anything_to_rewrite_is_left_alone():
    function = ast.parse("def f(x):\n    return x").body[0]
    assert plain(function) is function


def test_what_is_none_before_a_loop_is_asked_for_in_every_turn():
    text = """
        i = cuda.grid(1)
        last = None
        firsts = 0
        for k in range(6):
            firsts += 1 if last is None else 0
            last = (k * 5 + i) % 6
        out[i] = 10 * firsts + (0 if last is None else last)
    """
    assert list(result(text, n=32)[:3]) == [11, 12, 13]


def test_a_choice_that_one_turn_of_a_loop_decides_is_open_in_the_next():
    text = """
        i = cuda.grid(1)
        y = None
        for k in range(3):
            y = (1 if y is None else 5) if i % 2 == 0 or y is None else None
        out[i] = -1 if y is None else y
    """
    assert list(result(text, n=32)[:4]) == [5, 1, 5, 1]


def test_what_is_surely_given_a_number_is_one():
    for use, value in [
        ("for k in range(3):\n    x = k\n    out[i] = x", 2),
        ("for k in range(3):\n    if k == 1:\n        x = k\n        break\nif x is not None:\n    out[i] = x", 1),
        ("for k in range(3):\n    x = k\nout[i] = -1 if x is None else x", 2),
        ("k = 0\nwhile k < 3:\n    x = k\n    k += 1\nif x is not None:\n    out[i] = x", 2),
        ("for k in range(3):\n    x = k\nx = 7\nout[i] = x", 7),
    ]:
        assert set(result(f"i = cuda.grid(1)\nx = None\n{use}")) == {value}


def test_a_text_is_compared_and_has_a_length():
    before = """
        @cuda.jit(device=True)
        def same(x, y):
            return x == y

    """
    text = "mode = 'fast'\nif same(mode, 'fast') and mode != 'slow':\n    out[cuda.grid(1)] = len(mode)"
    assert set(result(text, before=before)) == {4}


def test_texts_that_differ_between_threads_are_not_executed():
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
