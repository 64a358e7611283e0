"""Every suggestion, run, gives exactly the wavefronts it promised, and the arrays it gave before."""

import math

import pytest
from helpers.made_kernels import tile_program
from hypothesis import given
from hypothesis import strategies as st

from smemviz.engines import run
from smemviz.frontends.reading import read_program
from smemviz.model.hardware.hardware import H200
from smemviz.model.layout.candidates import Pad, Swizzle
from smemviz.paths import kernels_dir
from smemviz.suggest.find import Suggestion, suggestions
from smemviz.suggest.verify import Verifier


def written(program):
    """Return the suggestions for a program that can be written into it."""
    found = suggestions(run(program, engine="lockstep"), program)
    return [one for one in found if isinstance(one, Suggestion) and one.rewrite]


def verifier_of(program):
    """Return what runs a program rewritten."""
    return Verifier(program, run(program, engine="lockstep"), "lockstep", (), H200)


def hold_to_it(program):
    """Run every suggestion; return kernel, wavefronts before and after."""
    verifier = verifier_of(program)
    kept = []
    for one in written(program):
        check = verifier.check([one])
        assert check.problem is None, (one.kernel, one.layout)
        assert check.counted == tuple(promise.after.wavefronts for promise in one.promises)
        kept.append((one.kernel, one.before, one.after))
    return kept


def test_the_gallery_s_naive_kernels_are_fixed():
    # 6,336 and 384: counted by Nsight Compute for tile and padded_tile on an H200, in the recording of transpose.py
    assert hold_to_it(read_program(kernels_dir() / "transpose.py")) == [("tile", 6336, 384)] * 2


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("file", "kept"),
    [
        ("square.py", {
            "set_col_read_col": (2048, 64), "set_row_read_col": (1056, 64), "set_row_read_col_dyn": (1056, 64)
        }),
        ("rectangle.py", {
            "set_col_read_col": (512, 32), "set_row_read_col": (272, 32), "set_row_read_col_dyn": (272, 32)
        }),
        ("reduce.py", {"neighbours_by_close_threads": (600, 180)}),
        ("matmul.py", {"tiled_transposed": (16384, 8448), "tiled_swapped": (16384, 8448)}),
        ("histogram.py", {}),
        ("reverse.py", {}),
    ],
)  # fmt: skip
def test_every_promise_of_the_gallery_is_kept(file, kept):
    found = hold_to_it(read_program(kernels_dir() / file))
    assert {kernel: (before, after) for kernel, before, after in found} == kept


@pytest.mark.exhaustive
def test_without_its_pad_the_rectangle_gets_the_pad_of_two_that_it_is_known_for():
    program = read_program(kernels_dir() / "rectangle.py").with_constants({"IPAD": 0})
    pads = [one for one in written(program) if one.rewrite and one.rewrite.constants]
    assert [(one.kernel, one.rewrite and dict(one.rewrite.constants)) for one in pads] == [
        ("set_row_read_col_pad", {"IPAD": 2}),
        ("set_row_read_col_dyn_pad", {"IPAD": 2}),
    ]
    hold_to_it(program)


@pytest.mark.exhaustive
def test_a_constant_that_two_kernels_share_says_whom_it_changes_too():
    program = read_program(kernels_dir() / "rectangle.py").with_constants({"IPAD": 1})
    one = next(one for one in written(program) if one.kernel == "set_row_read_col_pad")
    check = verifier_of(program).check([one])
    assert check.notes == ("changes set_row_read_col_dyn_pad too: 48 -> 32 wavefronts",)


def test_lanes_far_apart_in_one_row_are_fixed_by_cute_s_swizzle_alone():
    for shape, dtype, lanes_apart, elements, swizzle, before, after in [
        # Two blocks, a store without excess and a load whose lanes are 128 bytes apart in their row: of 4 bytes 128
        # requests of 1 and of 32 wavefronts, of 16 bytes of 4 and of 32, of 2 bytes of 1 and of 16, two in a word.
        ("(2, 1024)", "float32", 32, 2048, Swizzle(32, 5), 4224, 256),
        ("(1, 4, 512)", "complex128", 8, 2048, Swizzle(8, 3), 4608, 1024),
        ("(2, 1024)", "float16", 64, 2048, Swizzle(32, 5), 2176, 256),
    ]:
        columns = int(shape.rpartition(" ")[2].removesuffix(")"))
        row = f"n // {columns}"
        index = (
            f"{row}, n % {columns}",
            f"{row}, n % {columns // lanes_apart} * {lanes_apart} + n % {columns} // {columns // lanes_apart}",
        )
        store, load = (f"0, {one}" if shape.count(",") > 1 else one for one in index)
        program = tile_program(shape, dtype, store, load, elements)
        assert hold_to_it(program) == [("turn", before, after)]
        (one,) = written(program)
        assert (one.layout, one.more_bytes, one.excess) == (swizzle, 0, 0)


def test_where_rows_are_no_power_of_two_cute_s_swizzle_goes_across_them():
    # Rows of 12 doubles have room for 2 bits of XOR; lanes are 4 doubles apart, which leaves 16 lanes 4 pairs of banks.
    # Ideal are 2 wavefronts for each of the 24 requests of two blocks.
    program = tile_program("(16, 12)", "float64", "n // 12, n % 12", "n % 48 // 3, n % 3 * 4 + n // 48", 192, 32)
    assert hold_to_it(program) == [("turn", 120, 48), ("turn", 120, 72), ("turn", 120, 96)]
    assert [one.layout for one in written(program)] == [Swizzle(16, 2), Swizzle(12, 2), Pad(12, 1)]


DTYPES = {"int8": 1, "int16": 2, "float16": 2, "int32": 4, "float32": 4, "float64": 8, "complex128": 16}


@st.composite
def flat(draw):
    """Draw arrays of one dimension, stored with one stride and loaded with another."""
    size = draw(st.sampled_from([64, 96, 128, 256, 260]))
    strides = [k for k in range(1, 66) if math.gcd(k, size) == 1]
    indices = st.one_of(
        st.sampled_from(strides).map(lambda k: f"n * {k} % {size}"),
        st.sampled_from([k for k in range(2, size) if size % k == 0]).map(
            lambda k: f"n // {k} + n % {k} * {size // k}"
        ),
    )
    dtype = draw(st.sampled_from(list(DTYPES)))
    shape = draw(st.sampled_from([f"{size}", f"({size},)"]))
    return tile_program(shape, dtype, draw(indices), draw(indices), size, draw(st.sampled_from([32, 64, 40])))


@st.composite
def tiles(draw):
    """Draw arrays of two or three dimensions, stored along one direction and loaded along another."""
    rows, columns = draw(st.sampled_from([(32, 32), (16, 32), (32, 16), (8, 64), (12, 20), (33, 8), (64, 4)]))
    ways = st.sampled_from(
        [
            f"n // {columns}, n % {columns}",
            f"n % {rows}, n // {rows}",
            f"n // {columns}, (n + n // {columns}) % {columns}",
            f"n % {rows}, (n // {rows} + 3 * (n % {rows})) % {columns}",
        ]
    )
    dtype = draw(st.sampled_from(list(DTYPES)))
    store, load = draw(ways), draw(ways)
    if draw(st.booleans()):
        return tile_program(f"({rows}, {columns})", dtype, store, load, rows * columns)
    planes = f"n // {rows * columns}, "
    store, load = (planes + way.replace("n", f"(n % {rows * columns})") for way in (store, load))
    return tile_program(f"(2, {rows}, {columns})", dtype, store, load, 2 * rows * columns)


@st.composite
def wide(draw):
    """Draw arrays of few long rows in which neighbouring lanes are far apart."""
    rows, columns = draw(st.sampled_from([(1, 256), (2, 512), (3, 128), (2, 96), (5, 20), (4, 160)]))
    apart = st.sampled_from([k for k in (1, 2, 4, 5, 8, 10, 16, 32, 64) if columns % k == 0])
    store, load = (
        f"n // {columns}, n % {columns // k} * {k} + n % {columns} // {columns // k}"
        for k in (draw(apart), draw(apart))
    )
    return tile_program(f"({rows}, {columns})", draw(st.sampled_from(list(DTYPES))), store, load, rows * columns)


@pytest.mark.exhaustive
@given(wide())
def test_an_array_of_long_rows_takes_the_wavefronts_promised(program):
    hold_to_it(program)


@pytest.mark.exhaustive
@given(tiles())
def test_a_tile_takes_the_wavefronts_promised(program):
    hold_to_it(program)


@pytest.mark.exhaustive
@given(flat())
def test_an_array_of_one_dimension_takes_the_wavefronts_promised(program):
    hold_to_it(program)
