"""Functions that are launched again and again are found once, until something that they name is another."""

import sys
import textwrap
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from smemviz.frontends.numba.definitions import Definitions
from smemviz.frontends.numba.python_functions import function_of

TEXT = """
import helpers
from numba import cuda

N = 4
ZERO = 0.0
TABLE = np.arange(3)
PAIR = (1, TABLE)
LIST = [1]

@cuda.jit(device=True)
def deeper(x, y=DEFAULT):
    return x + y * DEEP

@cuda.jit(device=True)
def inner(x):
    again = helpers
    return deeper(x) + again.FACTOR + ZERO

def around(n):
    def kernel(a):
        a[0] = inner(n) + N + TABLE[0] + PAIR[0]
    return kernel

def with_list(a):
    a[0] = LIST[0]

kernel = around(1)
"""


@pytest.fixture
def names(tmp_path, monkeypatch):
    """The globals of a file with a kernel."""
    file = tmp_path / "kernels.py"
    file.write_text(textwrap.dedent(TEXT))
    helpers = ModuleType("helpers")
    helpers.FACTOR = 3
    monkeypatch.setitem(sys.modules, "helpers", helpers)
    scope = {"np": np, "DEEP": 1, "DEFAULT": 2, "other": 5, "__name__": "kernels"}
    scope["__file__"] = str(file)
    exec(compile(TEXT, str(file), "exec"), scope)
    return scope


def changed_in_place(names):
    names["TABLE"][1] = 7


CHANGES = {
    "a number": lambda names: names.update(N=5),
    "a number of another type": lambda names: names.update(N=4.0),
    "the sign of zero": lambda names: names.update(ZERO=-0.0),
    "what an array holds": changed_in_place,
    "another array that holds the same": lambda names: names.update(TABLE=names["TABLE"].copy()),
    "an array in a tuple": lambda names: names.update(PAIR=(1, np.arange(3))),
    "a number of a function that is called": lambda names: names.update(DEEP=2),
    "a default": lambda names: names.update(DEFAULT=3),
    "a number of a module that has another name": lambda names: setattr(sys.modules["helpers"], "FACTOR", 4),
    "the function under another": lambda names: setattr(names["deeper"], "py_func", names["inner"].py_func),
    "a function": lambda names: names.update(deeper=names["inner"]),
    "what a function is made with": lambda names: names.update(kernel=names["around"](2)),
    "what was no name": lambda names: names.update(a=1),
    "what is none any more": lambda names: names.pop("DEEP"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_gives_another_definition(names, change):
    find = Definitions(function_of)
    first = find(names["kernel"])
    assert find(names["kernel"]) is first
    change(names)
    now = find(names["kernel"])
    assert now is not first
    assert now.scope == {**function_of(names["kernel"]).scope}
    assert find(names["kernel"]) is now


@pytest.fixture
def names_without_arrays(names):
    """The same with a kernel that names no arrays, so that nothing has to be told from what it was."""
    text = TEXT.replace(" + TABLE[0] + PAIR[0]", "")
    Path(names["__file__"]).write_text(text)
    exec(compile(text, names["__file__"], "exec"), names)
    return names


@pytest.mark.parametrize("change", [name for name in CHANGES if "array" not in name and "tuple" not in name])
def test_a_change_is_seen_where_there_are_no_arrays(names_without_arrays, monkeypatch, change):
    names, find = names_without_arrays, Definitions(function_of)
    first = find(names["kernel"])
    with monkeypatch.context() as patch:
        patch.setattr(find, "_outside", None)
        assert find(names["kernel"]) is first
    CHANGES[change](names)
    now = find(names["kernel"])
    assert now is not first
    assert now.scope == {**function_of(names["kernel"]).scope}
    assert find(names["kernel"]) is now


def test_what_a_function_was_made_with_may_change_in_place(names_without_arrays):
    names, find = names_without_arrays, Definitions(function_of)
    first = find(names["kernel"])
    names["kernel"].__closure__[0].cell_contents = 3
    now = find(names["kernel"])
    assert now is not first
    assert now.scope["n"] == 3
    names["kernel"].__code__ = names["around"](5).__code__.replace(co_consts=(None, 0, 7))
    assert find(names["kernel"]) is not now


def test_what_a_function_does_not_name_changes_nothing(names):
    find = Definitions(function_of)
    first = find(names["kernel"])
    names.update(other=6, more=np.arange(3))
    assert find(names["kernel"]) is first
    assert find(names["around"](1)) is first
    assert find(names["kernel"]).known is first.known


def test_what_may_change_without_a_trace_is_found_each_time(names):
    find = Definitions(function_of)
    assert find(names["with_list"]) is not find(names["with_list"])


def test_a_number_is_known_again(names):
    find = Definitions(function_of)
    first = find(names["kernel"])
    for n, expected in ((5, False), (4, True)):
        names["N"] = n
        assert (find(names["kernel"]) is first) is expected
