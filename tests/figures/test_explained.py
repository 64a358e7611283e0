"""Explanations: the sentences of the gallery, and arithmetic that always gives what is counted."""

import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.gallery import h200
from helpers.launches import array, launch, site
from hypothesis import given
from hypothesis import strategies as st

from smemviz import paths as resources
from smemviz.engines import run
from smemviz.frontends.reading import loaded_sites, read_program
from smemviz.languages import CUDA_CPP, spelling_of
from smemviz.model.counting.pattern import Level, Pattern
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.layout.candidates import Pad, Swizzle
from smemviz.recordings.data import ArrayInfo, Totals
from smemviz.recordings.file import load
from smemviz.wording.explanations import Explained, explain
from smemviz.wording.layout_changes import pad_text, swizzle_text
from smemviz.wording.patterns import described, distance

LANES = np.arange(32, dtype=np.int64)
TILE = ArrayInfo("tile", "shared", (32, 32), (128, 4), "int32", 1024, 1)


def gallery(file, kernel):
    """Explain a launch of the gallery as the H200 ran it, by source and operation."""
    return explained(h200(file), kernel)


def explained(recording, kernel):
    one = recording[kernel]
    said = explain(one, H200, loaded_sites(recording, one), spelling_of(recording.file_of(one)))
    return {(s.source, s.op): words for s, words in zip(one.sites, said, strict=True)}


def one_site(offsets, *, op="load", width=4, dtype="int32", size=4096, times=1):
    info = array("held", "shared", (size // width,), 1024, (width,))
    sites = (site("held", "shared", op, width, dtype),)
    rows = [(0, np.where(np.asarray(offsets) < 0, -1, 1024 + np.asarray(offsets)))] * times
    return explain(launch(sites, rows, (info,)))[0]


def test_a_column_meets_in_one_bank_and_a_pad_of_one_cures_it():
    said = gallery("square", "set_row_read_col")
    column = said["tile[tx, ty]", "load"]
    assert column.pattern == "stride of 32 words"
    assert column.because == (
        "Neighbouring lanes are 32 words apart, 1 row down: "
        "gcd(32, 32) = 32, so 32 lanes fall into 1 of 32 banks, 32-way."
    )
    assert column.fix == (
        "Pad the row of tile by 1, (32, 32) -> (32, 33) (128 bytes more), or swizzle to tile[r, c ^ r]: "
        "no excess is left at its 2 accesses, 992 before."
    )
    assert column.patterns == ((Pattern("stride", (Level(32, 128),)), 32),)
    row = said["tile[ty, tx]", "store"]
    assert row.because == (
        "Neighbouring lanes are 1 word apart, 1 column right: "
        "gcd(1, 32) = 1, so 32 lanes fall into 32 of 32 banks, one each."
    )
    assert row.fix is None
    assert said["out[idx]", "store"].because == (
        "Neighbouring lanes are 1 word apart: 32 lanes need 128 bytes, 4 sectors move."
    )


def test_of_several_patterns_the_costliest_is_told():
    said = gallery("reduce", "neighbours_by_close_threads")["held[i]", "load"]
    assert said.pattern == "mixed: stride of 8 words; stride of 16 words; stride of 32 words and 5 more"
    assert said.because == (
        "In 4 of 48 requests, neighbouring lanes are 8 words apart: "
        "gcd(8, 32) = 8, so 32 lanes fall into 4 of 32 banks, 8-way."
    )
    assert sum(times for _, times in said.patterns) == 48


def test_other_kernels_of_the_gallery_are_told_by_their_pattern_its_banks_and_its_fix():
    for file, kernel, access, pattern, because, fix in [
        ("square", "set_row_read_col_pad", ("tile[tx, ty]", "load"), "stride of 33 words",
            "Neighbouring lanes are 33 words apart, 1 row down: "
            "gcd(33, 32) = 1, so 32 lanes fall into 32 of 32 banks, one each.", None),
        ("square", "set_row_read_col_dyn", ("tile[col_idx]", "load"), "stride of 32 words",
            "Neighbouring lanes are 32 words apart: gcd(32, 32) = 32, so 32 lanes fall into 1 of 32 banks, 32-way.",
            "Leave 1 element of tile unused after every 32, index i + i // 32 (128 bytes more), or swizzle to "
            "tile[i ^ (i // 32)]: no excess is left at its 2 accesses, 992 before."),
        ("rectangle", "set_row_read_col", ("tile[icol, irow]", "load"), "groups of 16 lanes: 32 words, then 1 word",
            "Lanes in groups of 16 are 32 words apart, the groups 1 word apart: "
            "bank 0 has to deliver 16 different words to lanes 0-15, 16-way.",
            "Pad the row of tile by 2, (16, 32) -> (16, 34) (128 bytes more), or swizzle to tile[r, c ^ (r << 1)]: "
            "no excess is left at its 2 accesses, 240 before."),
        ("reduce", "neighbours_by_spread_threads", ("held[t]", "load"), None,
            "In 32 of 188 requests, every second lane is active, and the active lanes are 2 words apart: "
            "no bank has to deliver two different words at once.", None),
        ("transpose", "swizzled_tile", ("held[tx, ty ^ tx]", "load"),
            "mixed: XOR swizzle; stride of 31 words; stride of 33 words",
            "In 180 of 192 requests, an XOR permutes the addresses of the lanes, as a swizzle does: "
            "no bank has to deliver two different words at once.", None),
        ("histogram", "count_in_shared_memory", ("cuda.atomic.add(held, values[i], 1)", "reduce_inc"),
            "data-dependent", "Loaded data decides where each lane goes: "
            "bank 5 has to deliver 5 different words to lanes 2, 20, 25, 27-28, 5-way.",
            "No pad or swizzle is sure to help where data decides which words are asked for."),
    ]:  # fmt: skip
        said = gallery(file, kernel)[access]
        assert (said.because, said.fix) == (because, fix)
        assert pattern in (said.pattern, None)


def test_a_tile_that_a_tensor_copy_fills_gets_a_swizzle_that_copies_have_and_no_pad():
    folder = resources.kernels_dir() / "hopper/recordings/sm_90"
    recording = load(folder / "turn.cu.smem.npz")
    matrices = next(s for (_, op), s in explained(recording, "turn_plain").items() if op == "ldmatrix_x4")
    assert matrices.pad is None
    assert matrices.swizzle.layout == Swizzle(64, 3, 3)
    assert matrices.fix == (
        "Swizzle to tile[i ^ ((i / 64 % 8) << 3)]: no excess is left at its one access, 1,792 before. "
        "A tensor copy stores it so with CU_TENSOR_MAP_SWIZZLE_128B."
    )


def made(file, kernel, **constants):
    program = read_program(resources.kernels_dir() / f"{file}.py").with_constants(constants)
    return explained(run(program, engine="lockstep"), kernel)


def test_squares_whose_side_is_no_power_of_two_get_a_pad_or_a_swizzle_where_one_helps():
    for kernel, side, pattern, fix in [
        ("set_row_read_col", 24, None, r"Pad the row of tile by 2.* 30 of .*"),
        ("set_row_read_col", 20, None, r"Pad the row of tile by 2.* 22 of .*"),
        (
            "set_row_read_col",
            12,
            "irregular",
            r"Swizzle to tile\[r, c \^ \(\(r >> 3\) << 1\)\]: 4 of 5 excess .* remain\.",
        ),
        ("set_col_read_col", 5, "irregular", None),
    ]:
        said = made("square", kernel, BDIMX=side)["tile[tx, ty]", "load"]
        assert pattern in (said.pattern, None), side
        assert re.fullmatch(fix, said.fix or "") if fix else said.fix is None, side
    assert said.because == (  # it has no conflict, and is not put down to data
        "No single stride, grouping or XOR describes these lanes: no bank has to deliver two different words at once."
    )


def test_columns_that_are_no_power_of_two_are_irregular_and_get_a_pad_all_the_same():
    said = made("rectangle", "set_row_read_col", BDIMY=20)["tile[icol, irow]", "load"]
    assert said.pattern == "mixed: irregular; groups of 16 lanes: 32 words, then -127 words"
    assert said.because == (
        "In 16 of 20 requests, no single stride, grouping or XOR describes these lanes: "
        "bank 0 has to deliver 20 different words to lanes 0-19, 20-way."
    )
    assert said.fix == (
        "Pad the row of tile by 2, (20, 32) -> (20, 34) (160 bytes more), "
        "or swizzle to tile[r, c ^ ((r % 16) << 1)]: 16 of 364 excess wavefronts remain."
    )
    assert [score.wavefronts for score in said.pad.before] == [20, 384]
    assert [score.wavefronts for score in said.pad.after] == [20, 36]


def test_an_atomic_says_which_lanes_wait_for_which_and_what_cannot_be_known():
    said = one_site(np.zeros(32), op="atomic_add")
    together = "All lanes ask for the same element: an atomic serves the 32 lanes one after the other, 32-way."
    assert said.because == together
    assert said.fix == "No pad or swizzle helps lanes that update the same element; give warps copies to add up later."
    said = one_site(4 * np.where(LANES < 3, 0, np.where(LANES == 3, 32, LANES)), op="atomic_add")
    assert said.because == (
        "No single stride, grouping or XOR describes these lanes: "
        "lanes 0-3 meet in bank 0, 3 of them on word 0; an atomic serves them one by one, 4-way."
    )
    said = one_site(4 * LANES, op="atomic_add", dtype="float32")
    loop = "a float atomic is a compare-and-swap loop; how often it runs depends on the data."
    assert (said.because, said.fix) == (f"Neighbouring lanes are 1 word apart: {loop}", None)


def test_one_element_for_all_lanes_is_broadcast_or_kept_once():
    for op, width, dtype, said in [
        ("load", 4, "int32", "it is broadcast to all of them"),
        ("load", 16, "complex128", "2 wavefronts broadcast it to all of them, group of lanes by group"),  # by 16 lanes
        ("store", 4, "int32", "one of their values is kept, and which one is undefined"),
        ("store", 8, "float64", "one of their values is kept, and which one is undefined"),  # in two wavefronts
        ("reduce_inc", 4, "int32", "one update counts all of them"),
    ]:
        because = one_site(np.zeros(32), op=op, width=width, dtype=dtype).because
        assert because == f"All lanes ask for the same element: {said}."


def test_wide_elements_are_served_in_phases():
    said = one_site(264 * LANES, width=8, dtype="float64", size=16384)
    assert said.because == (
        "Neighbouring lanes are 66 words apart: 16 lanes are served together, and in units of 8 bytes "
        "gcd(33, 16) = 1, so 16 lanes fall into 16 of 16 pairs of banks, one each."
    )
    conflict = one_site(256 * LANES, width=8, dtype="float64", size=16384)
    assert conflict.because.endswith("gcd(32, 16) = 16, so 16 lanes fall into 1 of 16 pairs of banks, 16-way.")


def test_on_fermi_a_request_of_16_bytes_is_one_way_more():
    info = array("held", "shared", (1024,), 1024, (16,))
    rows = [(0, 1024 + 16 * LANES)]
    (said,) = explain(launch((site("held", "shared", "load", 16, "complex128"),), rows, (info,)), Hardware((2, 0)))
    assert said.because == (
        "Neighbouring lanes are 4 words apart: 8 lanes are served together, and in units of 16 bytes "
        "gcd(1, 8) = 1, so 8 lanes fall into 8 of 8 groups of 4 banks, one each; "
        "on Fermi an access of 16 bytes is one way more, 2-way."
    )
    assert said.fix is None


def test_a_pad_that_does_not_fit_is_told_so():
    info = array("held", "shared", (96, 128), 1024, (512, 4))
    one = replace(launch((site("held", "shared", "load"),), [(0, 1024 + 512 * LANES)], (info,)), shared_bytes=49152)
    (said,) = explain(one)
    assert said.fix == (
        "Pad the row of held by 1, (96, 128) -> (96, 129) (384 bytes more), or swizzle to held[r, c ^ (r % 32)]: "
        "no excess is left at its one access, 31 before. "
        "With the pad a block takes 49,536 bytes, more than the 49,152 of static shared memory."
    )


def test_what_was_not_logged_is_not_spoken_for():
    degrees = np.zeros((1, 33), np.int64)
    degrees[0, 32] = 7
    totals = Totals(*(np.array([n]) for n in (7, 224, 7, 0)), degrees)
    one = launch((site("tile", "shared", "load"),), [(0, 1024 + 128 * LANES)], (TILE,), totals)
    (said,) = explain(one)
    assert said.fix.endswith("no excess is left at its one access, 31 before. Based on the logged requests only.")
    one = launch((site("held", "shared", "load"),), [], (array("held", "shared", (32,), 1024),))
    assert explain(one) == (Explained((), "unknown", "None of its requests was logged."),)


def test_another_bank_mode_is_explained_by_its_own_counts():
    for bank_bytes in [4, 8]:
        info = array("held", "shared", (1024,), 0)
        one = launch((site("held", "shared", "load"),), [(0, 128 * LANES)], (info,))
        (said,) = explain(one, Hardware((3, 5), bank_bytes))
        (row,) = summarize(one, Hardware((3, 5), bank_bytes))
        assert f"bank 0 has to deliver {row.max_degree} different words" in said.because
        assert said.because.endswith(f" {row.max_degree}-way.")


@pytest.mark.exhaustive
@given(
    width=st.sampled_from([1, 2, 4, 8, 16]),
    stride=st.integers(-70, 70),
    active=st.integers(1, 32),
    op=st.sampled_from(["load", "store"]),
)
def test_the_degree_in_the_sentence_is_the_one_that_is_counted(width, stride, active, op):
    offsets = np.where(active > LANES, 70 * 32 * width + stride * width * LANES, -1)
    info = array("held", "shared", (9000,), 1024, (width,))
    one = launch((site("held", "shared", op, width),), [(0, np.where(offsets < 0, -1, 1024 + offsets))], (info,))
    (row,), (said,) = one.summary(), explain(one)
    told = re.search(r"(\d+)-way", said.because)
    assert int(told[1] if told else 1) == row.max_degree
    assert (said.fix is None) == (row.excess == 0)


def test_distances_are_in_words_where_they_can_be_and_a_pad_is_written_as_a_shape():
    assert [distance(n) for n in (4, 128, -4, -12, 1, 6, 0)] == [
        "1 word", "32 words", "-1 word", "-3 words", "1 byte", "6 bytes", "0 words"
    ]  # fmt: skip
    assert pad_text(TILE, Pad(32, 2), 256) == "pad the row of tile by 2, (32, 32) -> (32, 34) (256 bytes more)"


def test_groups_are_described_from_the_inside_out():
    for levels, text in [
        ([(4, 0), (8, 4)], "lanes in groups of 4 ask for the same element, the groups 1 word apart"),
        ([(16, 4), (2, 0)], "lanes in groups of 16 are 1 word apart, the groups at the same place"),
        (
            [(4, 4), (4, 64), (2, 512)],
            "the lanes lie in 3 strides, one within the other",
        ),
    ]:
        assert described(Pattern("groups", tuple(Level(*level) for level in levels)), None) == text


def test_steps_of_the_index_are_told_by_row_and_column():
    for steps, text in [
        ((1, 0), "1 row down"),
        ((-2, 0), "2 rows up"),
        ((0, 1), "1 column right"),
        ((0, -1), "1 column left"),
        ((1, 1), "1 row down and 1 column right"),
        ((1, 0, 0), "the index goes on by (1, 0, 0)"),
        ((0, 1, 0), "1 row down"),
    ]:
        pattern = Pattern("stride", (Level(32, 128),))
        assert described(pattern, steps) == f"neighbouring lanes are 32 words apart, {text}"
        assert described(pattern, steps, CUDA_CPP.spelling).endswith(text.replace("(1, 0, 0)", "[1][0][0]"))


def test_a_swizzle_is_written_as_an_index():
    for shape, swizzle, text in [
        ((32, 32), Swizzle(32, 5), "swizzle to tile[r, c ^ r]"),
        ((64, 32), Swizzle(32, 5), "swizzle to tile[r, c ^ (r % 32)]"),
        ((32, 32), Swizzle(32, 2, 0, 3), "swizzle to tile[r, c ^ (r >> 3)]"),
        ((64, 32), Swizzle(32, 4, 0, 1), "swizzle to tile[r, c ^ ((r >> 1) % 16)]"),
        ((64, 32), Swizzle(32, 3, 2), "swizzle to tile[r, c ^ ((r % 8) << 2)]"),
        ((4, 32, 32), Swizzle(32, 5), "swizzle to tile[..., r, c ^ (r % 32)]"),
        ((4, 3, 32), Swizzle(32, 5), "swizzle to tile[..., r, c ^ (r % 32)], r counted through all planes"),
        ((1024,), Swizzle(32, 5), "swizzle to tile[i ^ (i // 32)]"),
        ((4096,), Swizzle(32, 3, 2, 1), "swizzle to tile[i ^ ((i // 64 % 8) << 2)]"),
        ((2, 32), Swizzle(8, 2), "swizzle to tile[r, c ^ (c // 8)]"),
        ((2, 32), Swizzle(8, 1, 2), "swizzle to tile[r, c ^ ((c // 8 % 2) << 2)]"),
        ((4, 8, 32), Swizzle(8, 2), "swizzle to tile[..., r, c ^ (c // 8)]"),
        (
            (16, 32),
            Swizzle(8, 3),
            "swizzle to tile[i ^ (i // 8 % 8)], i counting the elements row by row in one dimension",
        ),
        ((100,), Swizzle(8, 3), "swizzle to tile[i ^ (i // 8 % 8)] (16 bytes more)"),
    ]:
        info = ArrayInfo("tile", "shared", shape, tuple([128] * (len(shape) - 1) + [4]), "int32", 1024, 1)
        assert swizzle_text(info, swizzle) == text
        if len(shape) == 2 and "r, c" in text:  # what is written is what was scored
            r, c = np.mgrid[: shape[0], : shape[1]]
            formula = text.removeprefix("swizzle to tile[r, ").removesuffix("]")
            assert np.array_equal(swizzle.place(r * 32 + c), r * 32 + eval(formula, {"r": r, "c": c}))
        if "tile[i" in text:
            i = np.arange(np.prod(shape))
            formula = text.removeprefix("swizzle to tile[").partition("]")[0]
            assert np.array_equal(swizzle.place(i), eval(formula, {"i": i}))
