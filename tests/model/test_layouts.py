"""Layouts and swizzles: bytes of elements, sizes, CuTe's definition, permutations, and the text of a URL."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from smemviz.errors import InputError
from smemviz.model.layout.layouts import Layout, layout_of
from smemviz.model.layout.swizzles import Cute, Free, Xor, swizzle_of


def test_a_padded_tile_lies_as_the_wider_array_does():
    layout = Layout((32, 32), "float64", pad=1, base=1024)
    assert np.array_equal(layout.table(), 1024 + 8 * np.arange(32 * 33).reshape(32, 33)[:, :32])
    assert (layout.nbytes, layout.unused_bytes) == (32 * 33 * 8, 256)
    whole = Layout((32, 32), "int32", 40, 1, 128, Xor(5))
    assert whole.plain == Layout((32, 32), "int32", 40, 0, 128)


def test_where_elements_lie_and_how_many_places_there_are():
    """Planes count rows on; one dimension has rows of banks or of a pitch, whole where it is swizzled."""
    for layout, elements, placed in [
        (Layout((4, 6), "int16", pitch=8, pad=3), 44, {0: 0, 5: 5, 6: 11, 23: 38}),
        (Layout((2, 3, 8), "float32", pad=2, swizzle=Xor(2)), 60, {8: 10 + (0 ^ 1), 3 * 8: 30 + (0 ^ 3)}),
        (Layout((100,), "float32", pad=1), 104, {31: 31, 32: 33, 99: 102}),
        (Layout((100,), "float32", pitch=10, pad=2), 120, {9: 9, 10: 12, 99: 117}),
        (Layout((100,), "float32", swizzle=Xor(2)), 128, {}),
        (Layout((100,), "float32", swizzle=Cute(3, 0, 4)), 128, {}),
        # 33 x 33 are 1,089 elements; groups of 2**(4 + 3) change places.
        (Layout((33, 33), "float32", swizzle=Cute(3, 4, 3)), 1152, {}),
        (Layout((227, 256), base=1024), 227 * 256, {}),  # the largest that a block can have
    ]:
        assert (layout.elements, layout.nbytes) == (elements, elements * layout.itemsize), layout
        assert layout.place(np.array([*placed], int)).tolist() == [*placed.values()], layout
    padded = Layout((4, 6), "int16", pitch=8, pad=3)
    assert (padded.unused_bytes, padded.address(np.array([6, -1])).tolist()) == (40, [22, -1])
    table = Layout((100,), "float32", pad=1).table()
    assert (table.shape, (table < 0).sum()) == ((4, 32), 28)


def test_a_layout_is_read_from_text_which_says_only_what_is_not_usual():
    for text, layout in [
        ("32x32", Layout((32, 32))),
        ("32X33 float64", Layout((32, 33), "float64")),
        ("4096 int8; pitch=64", Layout((4096,), "int8", 64)),
        ("64x64; pad=1;swizzle = xor 3 2;base=128 ;", Layout((64, 64), "float32", None, 1, 128, Xor(3, 2))),
        ("2x8x8 float16; swizzle=Swizzle<1,0,3>", Layout((2, 8, 8), "float16", swizzle=Cute(1, 0, 3))),
        ("8x8; swizzle=column^(row%8)", Layout((8, 8), swizzle=swizzle_of("column ^ row % 8"))),
    ]:
        assert layout_of(text) == layout
        assert layout_of(layout.text) == layout
    assert Layout((32, 32)).text == "32x32 float32"
    assert Layout((32, 32), "int32", 36, 1, 4, Xor(5)).text == "32x32 int32; pitch=36; pad=1; base=4; swizzle=xor 5 0 0"


@given(
    st.builds(
        Layout,
        st.lists(st.integers(1, 12), min_size=1, max_size=4).map(tuple),
        st.sampled_from(["int8", "float16", "float32", "complex128"]),
        st.none() | st.integers(12, 20),
        st.integers(0, 5),
        st.sampled_from([0, 16, 1024]),
        st.sampled_from([None, Cute(1, 0, 1), swizzle_of("column")]),
    )
)
def test_any_layout_is_read_back_from_its_text(layout):
    assert layout_of(layout.text) == layout


def test_what_is_no_layout_or_no_swizzle_is_refused_in_one_line():
    layouts = [
        ("", "'' is not a shape; write whole numbers with x between them, as 32x33"),
        ("32x", "'32x' is not a shape"),
        ("0x4", "a shape has one to four sizes of at least 1, not 0x4"),
        ("1x1x1x1x1", "a shape has one to four sizes"),
        ("32x32 float33", "'float33' is not a dtype"),
        ("32x32; pad=-1", "pad is '-1'; write a whole number"),
        ("32x32; pad=1; pad=2", "'pad=2' is not an option"),
        ("32x32; pads=1", "'pads=1' is not an option; write each once, as name=value: pitch, pad, base, swizzle"),
        ("32x32; pitch=31", "pitch is 31; a row has 32 elements"),
        ("100; pitch=0", "pitch is 0"),
        ("32x32 float64; base=4", "base is byte 4; float64 starts at a multiple of 8"),
        ("240x256", "is larger than, or starts behind, the 227 KiB that any block has"),
        ("9999999x9999999x9999999", "is larger than"),
        ("8x8; base=9999996", "starts behind"),
        ("32x32; swizzle=column +", "'column +' is not a formula"),
    ]
    swizzles = [
        ("xor 0", "xor 0 0 0: bits is 0; it can be 1 to 18"),
        ("xor 19", "bits is 19"),
        ("Swizzle<3, 3, 2>", "shift is 2; it can be 3 to 18"),
        ("Swizzle<3, 3>", "is not a formula"),
        ("xor 1 2 3 4", "is not a formula"),
        ("column, row", "one formula, the new column"),
        ("lane ^ row", "lane is not known here; there are row, column"),
    ]
    for read, cases in ((layout_of, layouts), (swizzle_of, swizzles)):
        for text, says in cases:
            with pytest.raises(InputError) as error:
                read(text)
            assert says in str(error.value)
            assert "\n" not in str(error.value)


def cute(x, bits, base, shift):
    """CuTe's Swizzle<bits, base, shift> as cute/swizzle.hpp writes it."""
    mask = (1 << bits) - 1
    yyy = mask << (base + max(0, shift))
    return x ^ ((x & yyy) >> shift if shift >= 0 else (x & yyy) << -shift)


def test_a_swizzle_goes_where_cute_sends_it():
    for bits, base, shift in [(3, 3, 3), (2, 4, 3), (1, 0, 1), (5, 0, 5), (3, 0, -3), (2, 1, -4)]:
        element = np.arange(4096)
        found = Cute(bits, base, shift).place(*np.divmod(element, 64), 64)
        assert found.tolist() == [cute(x, bits, base, shift) for x in range(4096)]


def test_the_classic_xor_is_column_by_row():
    row, column = np.divmod(np.arange(1024), 32)
    for text in ("xor", "xor 5", "xor 5 0 0", "column ^ row", "Swizzle<5, 0, 5>"):
        place = swizzle_of(text).place(row, column, 32)
        assert np.array_equal(place, row * 32 + (column ^ row)), text


def test_an_xor_of_rows_of_a_power_of_two_is_one_of_cute():
    for bits, base, shift in [(5, 0, 0), (3, 2, 0), (2, 1, 2), (1, 4, 1)]:
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
def test_every_swizzle_that_an_array_takes_is_a_permutation_of_what_is_declared(swizzle, rows, columns, pad):
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
def test_a_swizzle_is_read_back_from_its_text(swizzle):
    assert swizzle_of(swizzle.text) == swizzle


def test_what_is_no_permutation_of_the_rows_is_refused():
    for swizzle, says in [
        ("column + row", "takes (1, 31) to column 32, outside of its row of 32"),
        ("column - 1", "takes (0, 0) to column -1"),
        ("column // 2", "puts (0, 0) and (0, 1) in one place"),
        ("xor 6", "permutes 64 columns, the row has room for 32"),
        ("column // row", "divides by zero"),
    ]:
        with pytest.raises(InputError) as error:
            Layout((32, 32), swizzle=swizzle_of(swizzle))
        assert says in str(error.value)
