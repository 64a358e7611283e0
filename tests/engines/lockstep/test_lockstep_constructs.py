"""Every construct either runs in lockstep or is refused in one line that says why and what to do."""

import ast
import re

import pytest
from helpers.constructs import Construct, arguments, constructs
from helpers.lockstep_text import START, body, launch_text, result
from helpers.tiers import one_in

from smemviz.errors import SmemvizError
from smemviz.frontends.numba.plain import plain

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


def test_an_inner_function_takes_what_its_variables_hold_where_it_is_called():
    text = "k = 1\nf = lambda x: x + k\nk = i * 10\nout[i] = f(2)"
    assert list(result("i = cuda.grid(1)\n" + text)[:3]) == [2, 12, 22]


def test_inner_functions_call_each_other_and_store():
    text = """
        def put(j, x):
            out[j] = twice(x) + k
        def twice(x):
            return 2 * x
        i = cuda.grid(1)
        k = 5
        put(i, i)
    """
    assert list(result(text, n=32)[:3]) == [5, 7, 9]


def test_the_site_in_an_inner_function_is_where_it_is_written():
    launch, _ = body("def f(j):\n    out[j] = 1\nf(cuda.grid(1))", arguments()[2], block=8)
    (site,) = launch.sites
    assert (site.line, site.source, site.function, len(site.calls)) == (START + 3, "out[j]", "f", 1)


def test_a_match_ends_with_the_first_case_that_fits():
    text = """
        i = cuda.grid(1)
        match i % 5:
            case 0 | 1:
                out[i] = 10
            case k if k > 3:
                out[i] = k
            case 2:
                out[i] = 20
            case _:
                out[i] = 30
    """
    assert list(result(text)[:6]) == [10, 10, 20, 30, 4, 10]


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
    text = """
        def first(q):
            for k in range(4):
                if k * k > q:
                    return k
        found = first(cuda.grid(1))
        out[cuda.grid(1)] = 9 if found is None else found
    """
    assert list(result(text, n=32)[:10]) == [1, 2, 2, 2, 3, 3, 3, 3, 3, 9]


def test_a_new_axis_in_an_index_has_one_element():
    text = """
        column = out[:, None]
        i = cuda.grid(1)
        column[i, 0] = column.shape[0] * 10 + column.shape[1]
    """
    assert list(result(text, n=32)[:2]) == [321, 321]


def test_a_function_without_anything_to_rewrite_is_left_alone():
    function = ast.parse("def f(x):\n    return x").body[0]
    assert plain(function).node is function


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


@pytest.mark.parametrize(
    ("use", "code"),
    [
        ("for k in range(3):\n    if x is None or k < x:\n        x = k", "k < x"),
        ("for k in range(3):\n    x = k\nif x is not None:\n    out[i] = x", "out[i] = x"),
        ("k = 0\nwhile k < 3:\n    if x is not None:\n        out[i] += x\n    x = k\n    k += 1", "out[i] += x"),
        ("for k in range(3):\n    for j in range(3):\n        x = j\nout[i] = max(x, 2)", "max(x, 2)"),
        ("while True:\n    if x is not None:\n        break\n    x = i\nout[i] = x + 1", "x + 1"),
    ],
)
def test_what_is_none_before_a_loop_is_no_number_in_it(use, code):
    with pytest.raises(SmemvizError) as error:
        result(f"i = cuda.grid(1)\nx = None\n{use}")
    assert f"{code}, where x is None before the loop: Numba does not compile it for CUDA; write x = -1" in str(
        error.value
    )


@pytest.mark.parametrize(
    ("use", "value"),
    [
        ("for k in range(3):\n    x = k\n    out[i] = x", 2),
        ("for k in range(3):\n    if k == 1:\n        x = k\n        break\nif x is not None:\n    out[i] = x", 1),
        ("for k in range(3):\n    x = k\nout[i] = -1 if x is None else x", 2),
        ("k = 0\nwhile k < 3:\n    x = k\n    k += 1\nif x is not None:\n    out[i] = x", 2),
        ("for k in range(3):\n    x = k\nx = 7\nout[i] = x", 7),
    ],
)
def test_what_is_surely_given_a_number_is_one(use, value):
    assert set(result(f"i = cuda.grid(1)\nx = None\n{use}")) == {value}
