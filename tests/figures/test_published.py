"""Published figures beside those of the gallery's recordings."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.gallery import h200

import smemviz
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import Hardware
from smemviz.paths import kernels_dir
from smemviz.views.published_findings import published


def test_latencies_stand_beside_the_cycles_that_are_often_quoted():
    assert [(row.what.removeprefix("one step, "), row.published, row.ours) for row in published(h200("latency"))] == [
        ("registers", "1 cycle", "4 cycles"),
        ("shared memory", "5 cycles", "29 cycles"),
        ("constant memory", "5 cycles", "34 cycles"),
        ("L1", "none", "40 cycles"),
        ("L2", "none", "288 cycles"),
        ("global memory", "500 cycles", "667 cycles"),
    ]


def test_all_wavefronts_of_the_square_kernels_stand_beside_those_that_others_counted():
    rows = published(h200("square"))
    assert [(row.published, row.ours) for row in rows] == [
        ("32 and 32", "32 and 32"),
        ("1,024 and 1,024", "1,024 and 1,024"),
        ("conflicts on the load only", "32 and 1,024"),
        ("conflicts on the load only", "32 and 1,024"),
        ("no conflict", "32 and 32"),
        ("no conflict", "32 and 32"),
        ("about 2 times", "2.2 times"),
        ("no difference", "no difference"),
        ("dynamic has little overhead", "1.271 µs against 1.316 µs"),
        ("one element is not always enough", "32 and 48"),
        ("may violate memory", "out of bounds"),
        ("either, in CUDA C++", "in the kernel"),
    ]


def test_a_pad_of_one_leaves_conflicts_with_banks_of_64_bits_and_a_pad_of_two_none():
    """A word of 8 bytes holds two neighbours of a row; every 33rd of a column begins half a bank further."""
    pad = published(h200("square"))[9]
    assert (pad.hardware, pad.ours) == ("compute capability 3.x", "32 and 48")
    assert pad.note.startswith("Pad the row of tile by 1, (32, 33) -> (32, 34)")
    padded = smemviz.run(kernels_dir() / "square.py", constants={"IPAD": 2}, kernels=["set_row_read_col_pad"])
    assert [row.wavefronts for row in summarize(padded.launches[0], Hardware((3, 5), 8))][:2] == [32, 32]


@pytest.mark.parametrize("file", ["square.py", "square.cu"])
def test_the_indices_of_a_square_leave_the_tile_of_a_rectangle(file):
    run = smemviz.run(kernels_dir() / file, constants={"BDIMY": 16}, engine="lockstep")
    outside = ["set_row_read_col", "set_row_read_col_pad", "set_row_read_col_dyn_pad"]
    of_file = ["set_row_read_col_file"] if file.endswith(".cu") else []
    assert [(finding.kind, finding.kernel) for finding in run.findings] == [
        ("out_of_bounds", kernel) for kernel in outside + of_file
    ]
    assert len(run.launches) == 6 + 2 * len(of_file)


def test_claims_stand_beside_what_the_hardware_or_lockstep_counted():
    of_blocks = "1 / (block size x block size), here 1/256"
    cpp, whole = (smemviz.run(kernels_dir() / file, engine="lockstep") for file in ("square.cu", "submatrix.py"))
    for recording, at, claimed, ours, note in [
        (h200("reverse"), 0, None, "no difference", "Static declaration: 2 and 2."),
        (cpp, -1, "either, in CUDA C++", "no difference",
            "Declared in the file: 32 and 1,024 with a static array, 32 and 1,024 with a dynamic one."),
        (whole, -1, "as fast, and more memory", "not measured",  # all of a height
            "9,216 bytes of shared memory instead of 2,048, 17,408 wavefronts against 17,408."),
        (h200("submatrix"), 0, of_blocks, "1/16, 524,288 → 32,768", None),
        (h200("submatrix"), 1, of_blocks, "1/8, 32,768 → 4,096", None),
    ]:  # fmt: skip
        row = published(recording)[at]
        assert row.ours == ours
        assert claimed in (row.published, None)
        assert note in (row.note, None)


def test_the_8_way_conflict_that_is_quoted_is_what_3x_counts_in_either_bank_mode():
    by_columns = published(h200("rectangle"))[1]
    assert (by_columns.published, by_columns.ours) == ("8 and 8", "16 and 16")
    assert by_columns.hardware == "a book, of compute capability 3.x"
    assert by_columns.note == (
        "8 is what compute capability 3.x counts, in either bank mode; since 5.0 the 32 rows that a warp reads lie in "
        "2 banks: 16-way. The source repeats the figure of its book; its own GPU, of 7.5 or later, cannot have counted "
        "it."
    )
    launch = h200("rectangle")["set_col_read_col"]
    for bank_bytes in (4, 8):
        store, load = summarize(launch, Hardware((3, 5), bank_bytes))[:2]
        assert [(row.wavefronts, row.requests, row.max_degree) for row in (store, load)] == [(128, 16, 8)] * 2


def test_the_overhead_of_a_dynamic_array_is_a_few_percent():
    overhead = published(h200("square"))[8]
    assert overhead.note == "4 % more for the dynamic array."


def test_other_files_have_nothing_published():
    for name in ["latency.py", "square.py", "reduce.py"]:
        assert published(replace(h200("reduce"), file=name)) == ()


def test_without_two_lengths_there_are_no_cycles():
    for constants in [{"LONG": 7, "SHORT": 7}, {"LONG": float("inf"), "SHORT": 1}, {"LONG": "int8", "SHORT": 1}]:
        assert {row.ours for row in published(replace(h200("latency"), constants=constants))} == {"not measured"}


def test_a_kernel_of_the_name_that_ran_nothing_has_no_wavefronts():
    recording = h200("rectangle")
    idle = tuple(replace(one, requests=one.requests.select(np.zeros(0, np.intp))) for one in recording.launches)
    assert {row.ours for row in published(replace(recording, launches=idle))} == {"0 and 0"}
    bare = tuple(replace(one, sites=()) for one in idle)
    assert {row.ours for row in published(replace(recording, launches=bare))} == {""}


def test_without_times_there_are_no_cycles():
    recording = h200("latency")
    untimed = replace(recording, launches=tuple(replace(launch, time=None) for launch in recording.launches))
    assert {row.ours for row in published(untimed)} == {"not measured"}
