"""Layouts as Numba code: what is written lies where the layout says."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from smemviz.errors import InputError
from smemviz.model.layout.code import code, declared_shape, index_code, operations, shape_code
from smemviz.model.layout.layouts import Layout, layout_of
from smemviz.model.layout.swizzles import Cute, Xor, swizzle_of

NAMES = ("cube", "plane", "row", "column")


def places(layout):
    """Run the index that is written for every element, in an array of the declared shape."""
    names = ("i",) if len(layout.shape) == 1 else NAMES[-len(layout.shape) :]
    index = index_code(layout, names)
    shape = declared_shape(layout)
    found = []
    for at in np.ndindex(layout.shape):
        one = eval(f"({index},)", dict(zip(names, map(int, at), strict=True)))
        assert all(0 <= part < size for part, size in zip(one, shape, strict=True)), (index, at, one)
        found.append(int(np.ravel_multi_index(one, shape)))
    return found


SHAPES = st.lists(st.integers(1, 9), min_size=0, max_size=2).flatmap(
    lambda before: st.integers(1, 40).map(lambda last: (*before, last))
)
SWIZZLES = st.one_of(
    st.none(),
    st.builds(Xor, st.integers(1, 5), st.integers(0, 4), st.integers(0, 4)),
    st.builds(lambda b, m, s, sign: Cute(b, m, sign * (b + s)), *[st.integers(1, 3)] * 3, st.sampled_from([1, -1])),
    st.sampled_from(["(column ^ 1) if row > 3 else column", "column ^ (row & 1) << 1", "column"]).map(swizzle_of),
)


@given(SHAPES, SWIZZLES, st.none() | st.sampled_from([8, 12, 32, 40]), st.sampled_from([0, 0, 1, 2, 5]))
def test_the_index_that_is_written_is_where_the_layout_puts_the_element(shape, swizzle, pitch, pad):
    try:
        layout = Layout(shape, "int32", pitch, pad, swizzle=swizzle)
    except InputError:
        assume(False)
    assert places(layout) == layout.place(np.arange(np.prod(shape))).tolist()
    assert np.prod(declared_shape(layout)) == layout.elements


def test_declaration_store_and_load_stand_as_in_a_kernel():
    for layout, declaration, index in [
        ("32x32", "(32, 32), float32", "row, column"),
        ("32x32; pad=1", "(32, 33), float32", "row, column"),
        ("32x32 int32; swizzle=xor", "(32, 32), int32", "row, column ^ row"),
        ("64x32; swizzle=xor", "(64, 32), float32", "row, column ^ (row & 31)"),
        ("16x32; swizzle=xor 4 1", "(16, 32), float32", "row, column ^ (row << 1)"),
        ("64x64; swizzle=xor 3 2 1", "(64, 64), float32", "row, column ^ (((row >> 1) & 7) << 2)"),
        ("2x16x32; swizzle=xor", "(2, 16, 32), float32", "plane, row, column ^ (plane * 16 + row)"),
        ("2x16x32; swizzle=xor 4", "(2, 16, 32), float32", "plane, row, column ^ row"),
        ("2x16x32; swizzle=xor 2 1", "(2, 16, 32), float32", "plane, row, column ^ ((row & 3) << 1)"),
        ("1024; swizzle=xor", "1024, float32", "i ^ (i >> 5)"),
        ("1024; swizzle=xor 4 0 1", "1024, float32", "i ^ (i >> 6)"),
        ("1024; swizzle=xor 3 2", "1024, float32", "i ^ (((i >> 5) & 7) << 2)"),
        ("1024; pad=1", "1056, float32", "i + (i >> 5)"),
        ("1024; pad=2", "1088, float32", "i + (i >> 5) * 2"),
        ("96; pitch=12; pad=1", "104, float32", "i + (i // 12)"),
        (
            "64x64 float16; swizzle=Swizzle<3,3,3>",
            "4096, float16",
            "(row * 64 + column) ^ ((((row * 64 + column) >> 6) & 7) << 3)",
        ),
        ("64x32; swizzle=Swizzle<5,0,6>", "2048, float32", "(row * 32 + column) ^ ((row * 32 + column) >> 6)"),
        ("32x32; swizzle=(column + row) % 32", "(32, 32), float32", "row, (column + row) % 32"),
    ]:
        found = code(layout_of(layout))
        assert found.declaration == f"tile = cuda.shared.array({declaration})"
        assert (found.store, found.load) == (f"tile[{index}] = value", f"value = tile[{index}]")


def test_the_indices_of_a_kernel_take_the_place_of_names():
    layout = layout_of("32x32; swizzle=xor")
    assert index_code(layout, ["ty", "tx"]) == "ty, tx ^ ty"
    assert index_code(layout, ["a + 1", "b if c else d"]) == "a + 1, (b if c else d) ^ (a + 1)"
    assert index_code(layout, ["cuda.threadIdx.y", "k[0,1]"]) == "cuda.threadIdx.y, k[0,1] ^ cuda.threadIdx.y"
    assert index_code(layout_of("32x32; pad=1"), ["a+1", "k[0,1]"]) == "a+1, k[0,1]"
    assert index_code(layout, ["(a+1)", "b * 2"]) == "(a+1), (b * 2) ^ (a+1)"
    assert code(layout, "held", ["y", "x"]).load == "value = held[y, x ^ y]"


def test_an_index_has_as_many_parts_as_the_array_has_dimensions():
    with pytest.raises(InputError, match="32x32 float32 has 2 dimensions, not 1"):
        index_code(layout_of("32x32"), ["i"])


def test_the_declared_shape_is_written_as_numba_takes_it():
    assert shape_code(layout_of("4x8x8; pad=1")) == "(4, 8, 9)"
    assert shape_code(layout_of("100")) == "100"


def test_an_index_takes_so_many_instructions_more():
    for layout, more in [
        ("32x32", 0),
        ("32x32; pad=1", 0),
        ("32x32; swizzle=xor", 1),
        ("64x64; pad=1", 0),
        ("64x64; swizzle=xor 5", 1),
        ("64x64; swizzle=xor 5 0 1", 2),
        ("64x64; swizzle=xor 3 1 1", 1),
        ("64x64; swizzle=xor 3 2 0", 2),
        ("64x64; swizzle=Swizzle<3, 2, 3>", 3),
        ("64x64; swizzle=(column + row) % 64", 2),
        ("48x48; pad=1", 0),
        ("48x48; swizzle=xor 4", 1),
        ("48x48; swizzle=Swizzle<4, 0, 5>", 3),
        ("1024; pad=1", 1),
        ("1024; pad=2", 3),
        ("1024; pad=3", 2),
        ("1024; swizzle=xor", 2),
        ("1024; swizzle=xor 3 2", 2),
        ("1024; swizzle=Swizzle<3, 0, 5>", 2),
        ("960; pitch=24; pad=1", 2),
        ("960; pitch=24; pad=2", 4),
        ("960; pitch=24; pad=3", 3),
        ("960; pitch=24; swizzle=xor 2 1 1", 3),
        ("2x16x32; pad=1", 0),
        ("2x16x32; swizzle=xor 4", 2),
        ("2x16x32; swizzle=xor 4 1", 3),
        ("2x16x32; swizzle=xor 5", 3),
        ("4x16x32; swizzle=Swizzle<3, 0, 5>", 4),
        ("2x2x8x32; swizzle=xor 3", 2),
        ("2x2x8x32; swizzle=xor 5", 4),
    ]:
        # Half of what a kernel with one store and one load has more than with the plain array: nvdisasm 13.5 of what
        # ptxas 13.0 makes for 9.0, indices cast to uint32.
        assert operations(layout_of(layout)) == more
