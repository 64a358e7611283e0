"""Every witness, word for word."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.gallery import h200
from helpers.launches import array, launch, site
from helpers.strategies import a_recording

from smemviz import paths as resources
from smemviz.engines import run
from smemviz.errors import InputError
from smemviz.frontends.reading import read_program
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.data import ArrayInfo, Totals
from smemviz.testing.limits import Limit, SiteSelection, exceeded

LANES = np.arange(32, dtype=np.int64)
BANKS = "  bank          0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31"


def text(recording, one, quantity, most, **selected):
    """Return the witness against a limit as text."""
    found = exceeded(recording, one, Limit(quantity, most), SiteSelection(**selected))  # type: ignore[arg-type]
    return found.text


def one_request(offsets, quantity, most, *, op="load", width=4, dtype="int32"):
    """Return the witness of a single request to an array of 8 KiB, in line 1 of a file."""
    info = ArrayInfo("held", "shared", (8192 // width,), (width,), dtype, 1024, 1)
    rows = [(0, np.where(np.asarray(offsets) < 0, -1, 1024 + np.asarray(offsets)))]
    one = launch((site("held", "shared", op, width, dtype),), rows, (info,))
    return text(a_recording(one), one, quantity, most)


def drawn(*rows):
    """Return the lines of wavefronts that have lanes in the banks named: ``1: 0@0 16@1``."""
    lines = [BANKS]
    for row in rows:
        number, _, lanes = row.partition(": ")
        cells = dict(reversed(one.split("@")) for one in lanes.split())
        lines.append(f"  wavefront {number:>2}" + "".join(f"{cells.get(str(bank), '.'):>3}" for bank in range(32)))
    return "\n".join(lines)


def test_the_witness_of_a_column():
    recording = h200("square")
    assert text(recording, recording["set_row_read_col"], "max_degree", 1) == (
        "kernels/square.py:53: load of tile[tx, ty] in set_row_read_col is 32-way; at most 1-way is allowed\n"
        "  block 0, warp 0, step 1: 32 lanes, 32 wavefronts where 1 would do\n"
        "  bank 0: lanes 0-31 ask for words 0, 32, 64, 96, ..., 992\n"
        "\n" + drawn("1: 0@0", "2: 1@0", "3: 2@0", "4: 3@0") + "\n"
        "  ... and 28 more\n"
        "\n"
        "  why: Neighbouring lanes are 32 words apart, 1 row down: "
        "gcd(32, 32) = 32, so 32 lanes fall into 1 of 32 banks, 32-way.\n"
        "  to pass: pad the row of tile by 1, (32, 32) -> (32, 33) (128 bytes more), or swizzle to tile[r, c ^ r]: "
        "no excess is left at its 2 accesses, 992 before."
    )


def test_the_witness_of_two_columns_side_by_side():
    recording = h200("rectangle")
    assert text(recording, recording["set_row_read_col"], "excess", 0) == (
        "kernels/rectangle.py:55: load of tile[icol, irow] in set_row_read_col takes 240 wavefronts in excess; "
        "at most 0 are allowed\n"
        "  block 0, warp 0, step 1: 32 lanes, 16 wavefronts where 1 would do\n"
        "  bank 0: lanes 0-15 ask for words 0, 32, 64, 96, ..., 480\n"
        "\n" + drawn("1: 0@0 16@1", "2: 1@0 17@1", "3: 2@0 18@1", "4: 3@0 19@1") + "\n"
        "  ... and 12 more\n"
        "\n"
        "  why: Lanes in groups of 16 are 32 words apart, the groups 1 word apart: "
        "bank 0 has to deliver 16 different words to lanes 0-15, 16-way.\n"
        "  to pass: pad the row of tile by 2, (16, 32) -> (16, 34) (128 bytes more), "
        "or swizzle to tile[r, c ^ (r << 1)]: no excess is left at its 2 accesses, 240 before."
    )


def test_excess_counts_over_all_sites_that_are_meant():
    recording = h200("square")
    one = recording["set_col_read_col"]
    assert text(recording, one, "excess", 1000).startswith(
        "kernels/square.py:38: store of tile[tx, ty] in set_col_read_col takes 992 wavefronts in excess "
        "of 1984 in all; at most 1000 are allowed\n"
    )
    limit = Limit("excess", 1000)
    assert exceeded(recording, one, limit, SiteSelection(line=40)) is None
    assert exceeded(recording, one, limit, SiteSelection(site=one.sites[0])) is None
    assert exceeded(recording, one, limit, SiteSelection(source="tile[tx, ty]")) is not None


def test_the_witness_of_sectors():
    recording = h200("transpose")
    assert text(recording, recording["load_rows_store_columns"], "sectors_per_request", 4) == (
        "kernels/transpose.py:30: store of out[column, row] in load_rows_store_columns moves 32 sectors per request; "
        "at most 4 are allowed\n"
        "  block 0, warp 0, step 1: 32 lanes, 32 sectors for 128 bytes\n"
        "  from the lowest address on: lane 0 at byte 0, lane 1 at byte 256, lane 2 at byte 512, ...\n"
        "  why: Neighbouring lanes are 64 words apart, 1 row down: 32 lanes need 128 bytes, 32 sectors move.\n"
        "  to pass: let neighbouring lanes take neighbouring elements; 128 bytes fit 4 sectors."
    )


def test_the_witness_of_float64_shows_the_phase_in_conflict():
    # Lanes 0 to 15 side by side, lanes 16 to 31 down a column of 16 numbers: the second half-warp is in conflict.
    offsets = np.where(LANES < 16, 8 * LANES, 256 * (LANES - 16))
    assert one_request(offsets, "max_degree", 1, width=8, dtype="float64") == (
        "kernels/square.py:1: load of held[i] in kernel is 16-way; at most 1-way is allowed\n"
        "  block 0, warp 0, step 0: 32 lanes, 17 wavefronts where 2 would do\n"
        "  bank 0: lanes 16-31 ask for words 0, 64, 128, 192, ..., 960\n"
        "\n" + drawn("2: 16@0 16@1", "3: 17@0 17@1", "4: 18@0 18@1", "5: 19@0 19@1") + "\n"
        "  ... and 12 more\n"
        "\n"
        "  why: No single stride, grouping or XOR describes these lanes: "
        "bank 0 has to deliver 16 different words to lanes 16-31, 16-way.\n"
        "  to pass: leave 1 element of held unused after every 32, index i + i // 32 (256 bytes more), "
        "or swizzle to held[i ^ (i // 32 % 16)]: no excess is left at its one access, 15 before."
    )


def test_another_compute_capability_has_its_own_banks():
    recording = h200("square")
    found = exceeded(
        recording, recording["set_row_read_col"], Limit("max_degree", 1), SiteSelection(), Hardware((1, 3))
    )
    assert found.text.startswith(
        "kernels/square.py:53: load of tile[tx, ty] in set_row_read_col is 16-way; at most 1-way is allowed\n"
        "  block 0, warp 0, step 1: 32 lanes, 32 wavefronts where 2 would do\n"
        "  bank 0: lanes 0-15 ask for words 0, 32, 64, 96, ..., 480\n"
        "\n"
        "  bank          0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15\n"
        "  wavefront  1  0  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .\n"
    )


def test_lanes_on_one_word_are_drawn_together():
    assert one_request(128 * (LANES // 16), "max_degree", 1) == (
        "kernels/square.py:1: load of held[i] in kernel is 2-way; at most 1-way is allowed\n"
        "  block 0, warp 0, step 0: 32 lanes, 2 wavefronts where 1 would do\n"
        "  bank 0: lanes 0-31 ask for words 0, 32\n"
        "\n" + drawn("1: *@0", "2: *@0") + "\n"
        "  * several lanes on one word\n"
        "\n"
        "  why: Lanes in groups of 16 ask for the same element, the groups 32 words apart: "
        "bank 0 has to deliver 2 different words to lanes 0-31, 2-way.\n"
        "  to pass: leave 1 element of held unused after every 32, index i + i // 32 (256 bytes more), "
        "or swizzle to held[i ^ (i // 32 % 2)]: no excess is left at its one access, 1 before."
    )


def test_the_witness_of_an_atomic_on_one_word():
    assert one_request(np.where(LANES < 3, 0, -1), "max_degree", 2, op="atomic_add") == (
        "kernels/square.py:1: atomic add of held[i] in kernel is 3-way; at most 2-way is allowed\n"
        "  block 0, warp 0, step 0: 3 lanes, 3 wavefronts where 1 would do\n"
        "  bank 0: lanes 0-2 ask for word 0\n"
        "\n" + drawn("1: 0@0", "2: 1@0", "3: 2@0") + "\n"
        "\n"
        "  why: All lanes ask for the same element: an atomic serves the 3 lanes one after the other, 3-way.\n"
        "  to pass: no pad or swizzle helps."
    )


def test_what_would_pass_is_told_last():
    twenty = read_program(resources.kernels_dir() / "rectangle.py").with_constants({"BDIMY": 20})
    for recording, kernel, quantity, most, last in [
        # Three bits of the row spread a column over eight banks: four rows in each.
        (h200("square"), "set_row_read_col", "max_degree", 4,
            "pad the row of tile by 1, (32, 32) -> (32, 33) (128 bytes more): "
            "no excess is left at its 2 accesses, 992 before; or swizzle to tile[r, c ^ (r % 8)]: "
            "96 of 992 excess wavefronts remain."),
        (h200("transpose"), "copy", "sectors_per_request", 2, "allow more: 128 bytes are at least 4 sectors."),
        (run(twenty, engine="lockstep"), "set_row_read_col", "excess", 20,
            "pad the row of tile by 1, (20, 32) -> (20, 33) (80 bytes more), "
            "or swizzle to tile[r, c ^ ((r >> 1) << 1)]: 20 of 364 excess wavefronts remain."),
        (h200("histogram"), "count_in_shared_memory", "max_degree", 1,
            "no pad or swizzle is sure to help where data decides which words are asked for."),
    ]:  # fmt: skip
        assert text(recording, recording[kernel], quantity, most).endswith(f"\n  to pass: {last}")
    info = array("held", "shared", (32,), 1024)
    one = launch((site("held", "shared", "load"),), [(0, 1024 + 128 * LANES)], (info,))
    outside = "to pass: keep the index inside of its array; no pad or swizzle helps."
    assert text(a_recording(one), one, "max_degree", 1).endswith(outside)
    assert one_request(128 * (LANES % 2), "max_degree", 1, op="atomic_add").endswith(
        "  why: Lanes in groups of 2 are 32 words apart, the groups at the same place: "
        "lanes 0-31 meet in bank 0, 16 of them on word 0; an atomic serves them one by one, 32-way.\n"
        "  to pass: no pad or swizzle is enough. Leave 1 element of held unused after every 32, "
        "index i + i // 32 (256 bytes more), or swizzle to held[i ^ (i // 32 % 2)]: "
        "15 of 31 excess wavefronts remain."
    )


def test_what_was_counted_but_not_logged_has_no_picture():
    degrees = np.zeros((1, 33), np.int64)
    degrees[0, 4] = 7
    totals = Totals(*(np.array([n]) for n in (7, 28, 7, 0)), degrees)
    one = replace(launch((site("held", "shared", "load"),), [], (array("held", "shared", (32,), 1024),)), totals=totals)
    assert text(a_recording(one), one, "max_degree", 2) == (
        "kernels/square.py:1: load of held[i] in kernel is 4-way; at most 2-way is allowed\n"
        "  none of the requests that exceed it was logged"
    )


def test_an_impossible_limit_is_refused():
    for quantity, most, message in [
        ("max_degree", 0, "max_degree must be a number of 1 or more, not 0"),
        ("excess", -1, "excess must be a number of 0 or more, not -1"),
        ("excess", True, "excess must be a number of 0 or more, not True"),
        ("sectors_per_request", float("nan"), "sectors_per_request must be a number of 0 or more, not nan"),
        ("max_degree", "1", "max_degree must be a number of 1 or more, not '1'"),
    ]:
        with pytest.raises(InputError) as refused:
            Limit(quantity, most)
        assert str(refused.value) == message


def test_a_place_without_an_access_is_no_way_to_pass():
    recording = h200("square")
    one = recording["set_row_read_col"]
    for selection, message in [
        (SiteSelection(line=52), "at line 52; it has: 51 tile[ty, tx], 53 tile[tx, ty]"),
        (SiteSelection(source="out[idx]"), "at out[idx]; it has: 51 tile[ty, tx], 53 tile[tx, ty]"),
        (SiteSelection(site=one.sites[2]), "at out[idx] in line 53; it has: 51 tile[ty, tx], 53 tile[tx, ty]"),
        (SiteSelection(51, "tile[tx, ty]"), "at line 51, tile[tx, ty]; it has: 51 tile[ty, tx], 53 tile[tx, ty]"),
    ]:
        with pytest.raises(InputError) as refused:
            exceeded(recording, one, Limit("max_degree", 1), selection)
        assert str(refused.value) == (
            f"kernels/square.py:44: set_row_read_col has no access to shared memory {message}"
        )
    with pytest.raises(InputError, match=r"transpose.py:\d+: copy has no access to shared memory; it has: none$"):
        exceeded(h200("transpose"), h200("transpose")["copy"], Limit("excess", 0), SiteSelection())


def test_what_cannot_be_told_or_never_ran_is_no_way_to_pass():
    for op, dtype, rows, message in [
        (
            *("atomic_add", "float32", [(0, 1024 + 4 * LANES)]),
            ": line 1, held[i] cannot be checked. "
            "A float atomic is a compare-and-swap loop; how often it runs depends on the data.",
        ),
        ("load", "int32", [], " never ran held[i]"),
    ]:
        one = launch((site("held", "shared", op, 4, dtype),), rows, (array("held", "shared", (64,), 1024),))
        with pytest.raises(InputError) as refused:
            exceeded(a_recording(one), one, Limit("max_degree", 32), SiteSelection())
        assert str(refused.value) == f"kernels/square.py:1: kernel{message}"
