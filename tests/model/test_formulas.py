"""Formulas and layouts typed by a user: what they mean, and that they can do nothing else."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemviz.errors import InputError
from smemviz.model.layout.accesses import PATTERNS, access_of, lanes, totals
from smemviz.model.layout.array_requests import array_requests
from smemviz.model.layout.formulas import formula
from smemviz.model.layout.layouts import layout_of
from smemviz.model.layout.search import search
from smemviz.model.layout.swizzles import swizzle_of

LANE = np.arange(32, dtype=np.int64)
NAMES = {"lane": LANE, "warp": np.full(32, 3)}


def value(text):
    """Evaluate a formula of one number."""
    (result,) = formula(text).values(NAMES)
    return result.tolist()


def test_a_formula_means_what_it_means_in_python():
    for text in [
        "lane ^ warp",
        "lane * 4 + warp // 2 - 1",
        "(lane + warp) % 5",
        "lane >> 1 << 2 | 1",
        "~lane & 7",
        "-lane + +warp",
        "lane if lane < 16 else warp",
        "3 <= lane < 9",
        "lane == 4 or warp",
        "lane and warp",
        "not lane",
        "min(lane, 7, warp) + max(lane, 2)",
        "(lane > 3) * 5 + True",
        "lane != 2",
        "7",
    ]:
        expected = [int(eval(text, {"lane": lane, "warp": 3})) for lane in range(32)]
        assert value(text) == expected


NUMBERS = st.deferred(lambda: st.integers(0, 63).map(str) | st.sampled_from(["lane", "warp"]) | JOINED)
JOINED = st.builds(
    "({} {} {})".format, NUMBERS, st.sampled_from(["+", "-", "*", "//", "%", "&", "|", "^", "<", ">="]), NUMBERS
)


@given(NUMBERS.filter(lambda text: len(text) < 150))
def test_any_formula_means_what_it_means_in_python_or_is_refused(text):
    try:
        expected = [int(eval(text, {"lane": lane, "warp": 3})) for lane in range(32)]
    except ZeroDivisionError:
        with pytest.raises(InputError, match="divides by zero"):
            value(text)
        return
    if max(map(abs, expected)) < 2**40:
        assert value(text) == expected


def test_several_expressions_are_written_as_python_would():
    found = formula(" (lane+1)*2,(warp) ")
    assert found.text == "(lane + 1) * 2, warp"
    first, second = found.values(NAMES)
    assert first.tolist() == [2 * (lane + 1) for lane in range(32)]
    assert second.tolist() == [3] * 32
    assert formula(found.text) == found


def test_what_is_no_formula_is_refused_when_it_is_read():
    for text, says in [
        ("", "is not a formula"),
        ("lane +", "is not a formula"),
        ("x = 1", "is not a formula"),
        ("lane; warp", "is not a formula"),
        ("(" * 199, "is not a formula"),
        ("lane\0", "is not a formula"),
        ("1" * 201, "201 characters"),
    ]:
        with pytest.raises(InputError, match=says) as error:
            formula(text)
        assert "\n" not in str(error.value)


def test_what_is_no_arithmetic_is_refused_in_one_line():
    for text, says in [
        ("lane / 2", "lane / 2 cannot be used in a formula"),
        ("lane ** 2", "cannot be used in a formula"),
        ("lane.real", "lane.real cannot be used in a formula"),
        ("lane[0]", "cannot be used in a formula"),
        ("__import__('os')", "cannot be used in a formula"),
        ("min(lane)", "cannot be used in a formula"),
        ("abs(lane, 2)", "cannot be used in a formula"),
        ("min(*lane, 2)", "cannot be used in a formula"),
        ("[lane for lane in lane]", "cannot be used in a formula"),
        ("lambda: 1", "cannot be used in a formula"),
        ("lane is warp", "cannot be used in a formula"),
        ("'a' * 9", "cannot be used in a formula"),
        ("1.5", "cannot be used in a formula"),
        ("99999999999999999999", "cannot be used in a formula"),
        ("thread", "thread: thread is not known here; there are lane, warp"),
        ("lane // warp // 0", "divides by zero"),
        ("1 % lane", "divides by zero"),
        ("1 << 63", "shifts by"),
        ("1 >> -1", "shifts by"),
        ("lane << 60", "grows beyond 64 bits"),
        ("4611686018427387903 * 4 * lane", "grows beyond 64 bits"),
    ]:
        with pytest.raises(InputError) as error:
            formula(text).values(NAMES)
        assert says in str(error.value)
        assert "\n" not in str(error.value)


TYPED = st.integers(-2, 70).map(str) | st.sampled_from(["", "x", "9999999", "1e3", "٣", "0x10", "1" * 30])
TERMS = st.sampled_from(
    [
        *("lane", "warp", "step", "row", "column", "1", "(", ")", "+", "<<", "//", "%", "^", "if", "else", "not", ","),
        *("**", "min(", "9" * 18, "'a'", "[", "]", ".x", "is", "0", "~", "lambda:", "\n", "\0", "#"),
    ]
)
FORMULAS = st.lists(TERMS, max_size=8).map(" ".join)
SWIZZLES = FORMULAS | st.builds("xor {} {} {}".format, TYPED, TYPED, TYPED)
SWIZZLES |= st.builds("Swizzle<{},{},{}>".format, TYPED, TYPED, TYPED)


def options(**values):
    """Draw some options with values, right and wrong ones."""
    one = st.one_of(*(value.map(f"{name}={{}}".format) for name, value in values.items()), st.text(max_size=5))
    return st.lists(one, max_size=3).map("; ".join)


LAYOUTS = st.builds(
    "{} {}; {}".format,
    st.lists(TYPED, min_size=1, max_size=5).map("x".join),
    st.sampled_from(["", "float32", "int8", "float64", "complex128", "bool", "object", "int64 "]),
    options(pitch=TYPED, pad=TYPED, base=TYPED, swizzle=SWIZZLES),
)
ACCESSES = st.builds(
    "{}; {}".format,
    st.sampled_from(PATTERNS) | FORMULAS,
    options(
        op=st.sampled_from(["load", "store", "ldmatrix_x4", "stmatrix_x1", "atomic_add", "reduce_inc", "", "a" * 50]),
        width=TYPED,
        warps=TYPED,
        steps=TYPED,
        across=TYPED,
    ),
)


def check_one_line(error):
    """Check what a user would read."""
    assert len(str(error).splitlines()) == 1


@pytest.mark.exhaustive
@given(st.one_of(LAYOUTS, ACCESSES, SWIZZLES, st.text(max_size=30)))
def test_any_text_is_read_or_refused_in_one_line(text):
    for read in (layout_of, access_of, swizzle_of):
        with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
            try:
                read(text)
            except InputError as error:
                check_one_line(error)


@pytest.mark.exhaustive
@given(LAYOUTS | st.sampled_from(["32x32", "8x64 int8", "512 float64"]), ACCESSES)
def test_what_was_read_is_counted_or_refused_in_one_line(layout, access):
    with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
        try:
            array, one = layout_of(layout), access_of(access)
            assert totals(one, array).wavefronts >= lanes(one, array).wavefronts
            assert search(array, [array_requests(one, array)], most_pad=2)
        except InputError as error:
            check_one_line(error)
