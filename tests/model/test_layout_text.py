"""Whatever stands in a URL is read or refused: no other error, nothing large made."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemviz.errors import InputError
from smemviz.model.layout.accesses import PATTERNS, access_of, lanes, totals
from smemviz.model.layout.array_requests import array_requests
from smemviz.model.layout.layouts import layout_of
from smemviz.model.layout.search import search
from smemviz.model.layout.swizzles import swizzle_of

NUMBERS = st.integers(-2, 70).map(str) | st.sampled_from(["", "x", "9999999", "1e3", "٣", "0x10", "1" * 30])
TERMS = st.sampled_from(
    [
        *("lane", "warp", "step", "row", "column", "1", "(", ")", "+", "<<", "//", "%", "^", "if", "else", "not", ","),
        *("**", "min(", "9" * 18, "'a'", "[", "]", ".x", "is", "0", "~", "lambda:", "\n", "\0", "#"),
    ]
)
FORMULAS = st.lists(TERMS, max_size=8).map(" ".join)
SWIZZLES = FORMULAS | st.builds("xor {} {} {}".format, NUMBERS, NUMBERS, NUMBERS)
SWIZZLES |= st.builds("Swizzle<{},{},{}>".format, NUMBERS, NUMBERS, NUMBERS)


def options(**values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Draw some options with values, right and wrong ones."""
    one = st.one_of(*(value.map(f"{name}={{}}".format) for name, value in values.items()), st.text(max_size=5))
    return st.lists(one, max_size=3).map("; ".join)


LAYOUTS = st.builds(
    "{} {}; {}".format,
    st.lists(NUMBERS, min_size=1, max_size=5).map("x".join),
    st.sampled_from(["", "float32", "int8", "float64", "complex128", "bool", "object", "int64 "]),
    options(pitch=NUMBERS, pad=NUMBERS, base=NUMBERS, swizzle=SWIZZLES),
)
ACCESSES = st.builds(
    "{}; {}".format,
    st.sampled_from(PATTERNS) | FORMULAS,
    options(
        op=st.sampled_from(["load", "store", "ldmatrix_x4", "stmatrix_x1", "atomic_add", "reduce_inc", "", "a" * 50]),
        width=NUMBERS,
        warps=NUMBERS,
        steps=NUMBERS,
        across=NUMBERS,
    ),
)


def check_one_line(error: InputError) -> None:
    """Check what a user would read."""
    assert len(str(error).splitlines()) == 1


@pytest.mark.exhaustive
@given(st.one_of(LAYOUTS, ACCESSES, SWIZZLES, st.text(max_size=30)))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    for read in (layout_of, access_of, swizzle_of):
        with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
            try:
                read(text)
            except InputError as error:
                check_one_line(error)


@given(LAYOUTS | st.sampled_from(["32x32", "8x64 int8", "512 float64"]), ACCESSES)
def test_what_was_read_is_counted_or_refused_in_one_line(layout: str, access: str) -> None:
    with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
        try:
            array, one = layout_of(layout), access_of(access)
            assert totals(one, array).wavefronts >= lanes(one, array).wavefronts
            assert search(array, [array_requests(one, array)], most_pad=2)
        except InputError as error:
            check_one_line(error)
