"""Swizzles: CuTe's definition, and that every one is a permutation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from smemviz.errors import InputError
from smemviz.model.layout.layouts import Layout
from smemviz.model.layout.swizzles import Cute, Free, Swizzle, Xor, swizzle_of


def cute(x: int, bits: int, base: int, shift: int) -> int:
    """CuTe's Swizzle<bits, base, shift> as cute/swizzle.hpp writes it."""
    mask = (1 << bits) - 1
    yyy = mask << (base + max(0, shift))
    return x ^ ((x & yyy) >> shift if shift >= 0 else (x & yyy) << -shift)


@pytest.mark.parametrize(
    ("bits", "base", "shift"), [(3, 3, 3), (2, 4, 3), (1, 0, 1), (5, 0, 5), (3, 0, -3), (2, 1, -4)]
)
def test_a_swizzle_goes_where_cute_sends_it(bits: int, base: int, shift: int) -> None:
    element = np.arange(4096)
    found = Cute(bits, base, shift).place(*np.divmod(element, 64), 64)
    assert found.tolist() == [cute(x, bits, base, shift) for x in range(4096)]


def test_the_classic_xor_is_column_by_row() -> None:
    row, column = np.divmod(np.arange(1024), 32)
    for text in ("xor", "xor 5", "xor 5 0 0", "column ^ row", "Swizzle<5, 0, 5>"):
        place = swizzle_of(text).place(row, column, 32)
        assert np.array_equal(place, row * 32 + (column ^ row)), text


@pytest.mark.parametrize(("bits", "base", "shift"), [(5, 0, 0), (3, 2, 0), (2, 1, 2), (1, 4, 1)])
def test_an_xor_of_rows_of_a_power_of_two_is_one_of_cute(bits: int, base: int, shift: int) -> None:
    row, column = np.divmod(np.arange(2048), 32)
    assert np.array_equal(
        Xor(bits, base, shift).place(row, column, 32), Cute(bits, base, 5 + shift - base).place(row, column, 32)
    )


SWIZZLES = st.one_of(
    st.builds(Xor, st.integers(1, 6), st.integers(0, 6), st.integers(0, 6)),
    st.builds(
        lambda bits, base, more, sign: Cute(bits, base, sign * (bits + more)),
        st.integers(1, 5),
        st.integers(0, 6),
        st.integers(0, 6),
        st.sampled_from([1, -1]),
    ),
    st.sampled_from(["column ^ row % 4", "(column + row) % 24", "23 - column", "(column * 5 + 3 * row) % 24"]).map(
        swizzle_of
    ),
)


@given(swizzle=SWIZZLES, rows=st.integers(1, 40), columns=st.integers(1, 70), pad=st.integers(0, 5))
def test_every_swizzle_that_an_array_takes_is_a_permutation_of_what_is_declared(
    swizzle: Swizzle, rows: int, columns: int, pad: int
) -> None:
    if isinstance(swizzle, Free):
        columns = 24
    try:
        layout = Layout((rows, columns), "int8", pad=pad, swizzle=swizzle)
    except InputError:
        assume(False)
    places = layout.place(np.arange(rows * columns))
    assert len(np.unique(places)) == rows * columns
    assert places.min() >= 0
    assert places.max() < layout.elements
    if not isinstance(swizzle, Cute):
        assert np.array_equal(places // layout.stride, np.repeat(np.arange(rows), columns))


@given(SWIZZLES)
def test_a_swizzle_is_read_back_from_its_text(swizzle: Swizzle) -> None:
    assert swizzle_of(swizzle.text) == swizzle


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("xor 0", "xor 0 0 0: bits is 0; it can be 1 to 18"),
        ("xor 19", "bits is 19"),
        ("Swizzle<3, 3, 2>", "shift is 2; it can be 3 to 18"),
        ("Swizzle<3, 3>", "is no formula"),
        ("xor 1 2 3 4", "is no formula"),
        ("column, row", "one formula, the new column"),
        ("lane ^ row", "lane is not known here; there are row, column"),
    ],
)
def test_what_is_no_swizzle_is_refused_in_one_line(text: str, says: str) -> None:
    with pytest.raises(InputError) as error:
        swizzle_of(text)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("swizzle", "says"),
    [
        ("column + row", "takes (1, 31) to column 32, outside of its row of 32"),
        ("column - 1", "takes (0, 0) to column -1"),
        ("column // 2", "puts (0, 0) and (0, 1) in one place"),
        ("xor 6", "permutes 64 columns, the row has room for 32"),
        ("column // row", "divides by zero"),
    ],
)
def test_what_is_no_permutation_of_the_rows_is_refused(swizzle: str, says: str) -> None:
    with pytest.raises(InputError) as error:
        Layout((32, 32), swizzle=swizzle_of(swizzle))
    assert says in str(error.value)
