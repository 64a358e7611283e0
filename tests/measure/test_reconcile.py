"""Verdicts on kernels that were recorded and profiled on an H200, and on the same counts with a fault put in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from helpers import captured

import smemviz
from smemviz.measure.ncu.counters import ProfiledLaunch
from smemviz.measure.ncu.reconcile import reconcile
from smemviz.measure.ncu.sass import Instruction
from smemviz.recordings.data import SiteHardware

_PIPE_LOADS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"


def counts(row: SiteHardware) -> tuple[int | None, ...]:
    return row.requests, row.wavefronts, row.ideal, row.sectors


@pytest.mark.parametrize("name", captured.NAMES)
def test_every_site_of_every_captured_kernel_is_accounted_for(name: str) -> None:
    for launch, counted in zip(captured.recording(name).launches, captured.profiled(name), strict=True):
        found = captured.reconciled(name, launch, counted)
        assert found.sound, (launch.kernel, [row for row in found.hardware if row.verdict == "unexplained"])


@pytest.mark.parametrize("name", captured.NAMES)
def test_the_counts_of_the_sites_add_up_to_those_of_the_instructions(name: str) -> None:
    for launch, counted in zip(captured.recording(name).launches, captured.profiled(name), strict=True):
        found = captured.reconciled(name, launch, counted)
        given = sum(row.wavefronts or 0 for row in found.hardware)
        assert given == counted.metrics["memory_l1_wavefronts_shared"], launch.kernel
        sectors = sum(row.sectors or 0 for row in found.hardware)
        if not found.unaccounted:
            assert sectors == counted.metrics["memory_l2_theoretical_sectors_global"], launch.kernel


def test_the_square_kernels_agree_everywhere() -> None:
    for launch, counted in zip(captured.recording("square").launches, captured.profiled("square"), strict=True):
        assert [row.verdict for row in captured.reconciled("square", launch, counted).hardware] == ["agrees"] * 3
    (load,) = captured.rows("square", "set_row_read_col")[53, "tile[tx, ty]", "load"]
    assert counts(load) == (32, 1024, 32, None)
    assert load.because == "32 requests and 1,024 wavefronts, as recorded"


def test_four_loads_in_a_row_became_one_wide_load() -> None:
    rows = captured.rows("merged", "product")
    (left,), (right,) = rows[22, "left[ty, k]", "load"], rows[22, "right[k, tx]", "load"]
    assert (left.verdict, counts(left)) == ("explained", (32, 64, 64, None))
    assert left.because == "4 loads of left[ty, k] became one LDS.128: 128 -> 32 requests, 2 wavefronts each"
    assert (right.verdict, counts(right)) == ("agrees", (128, 128, 128, None))
    assert right.because == "128 requests and 128 wavefronts, as recorded, by 16 LDS"


def test_two_doubles_in_a_row_became_one_wide_load_with_half_the_wavefronts() -> None:
    (load,) = captured.rows("merged", "doubles")[64, "words[tx, k]", "load"]
    assert counts(load) == (64, 2048, 256, None)
    assert load.because == "2 loads of words[tx, k] became one LDS.128: 128 -> 64 requests, 32 wavefronts each"


def test_rows_padded_to_odd_length_are_not_merged() -> None:
    (left,) = captured.rows("merged", "padded_product")[37, "left[ty, k]", "load"]
    assert (left.verdict, left.requests) == ("agrees", 128)


def test_a_load_of_what_the_thread_just_stored_has_no_instruction() -> None:
    (load,) = captured.rows("removed", "forwarded")[16, "words[tx]", "load"]
    assert (load.verdict, counts(load)) == ("explained", (0, 0, 0, None))
    assert load.because == (
        "all 2 loads of words[tx] were left out, because the same thread had just stored the element and kept it in a "
        "register: 2 -> 0 requests"
    )


def test_stores_that_are_overwritten_have_no_instruction() -> None:
    rows = captured.rows("removed", "added_twice")
    assert "stores there again" in rows[25, "words[tx]", "store"][0].because
    assert "stores there again" in rows[26, "words[tx]", "store"][0].because
    assert rows[27, "words[tx]", "store"][0].verdict == "agrees"


def test_a_load_hoisted_out_of_a_loop_is_done_once_and_its_instruction_found_elsewhere() -> None:
    (load,) = captured.rows("removed", "hoisted")[40, "words[N - 1 - tx]", "load"]
    assert counts(load) == (2, 2, 2, None)
    assert load.because == (
        "14 of 16 loads of words[N - 1 - tx] were left out, because the same thread had already loaded the element and "
        "kept it in a register: 16 -> 2 requests, 1 wavefront each (the instruction stands at line 37)"
    )


def test_what_nothing_loads_is_not_stored_and_what_only_that_store_needs_is_not_loaded() -> None:
    rows = captured.rows("removed", "never_read")
    assert "nothing loads words" in rows[74, "words[tx]", "store"][0].because
    assert "nothing that the kernel stores depends on the value" in rows[74, "out[tx]", "load"][0].because


def test_a_predicated_instruction_is_issued_by_warps_that_have_nothing_to_do() -> None:
    (store,) = captured.rows("removed", "with_barriers")[66, "words[0]", "store"]
    assert (store.verdict, counts(store)) == ("explained", (16, 8, 8, None))
    assert store.because == (
        "8 requests and 8 wavefronts, as recorded, by 8 STS; 8 more were issued with every lane switched off"
    )


def test_a_device_function_called_twice_has_an_instruction_for_each_call() -> None:
    rows = captured.rows("calls", "two_calls")
    assert sorted(counts(row) for row in rows[13, "words[i]", "load"]) == [(2, 2, 2, None), (2, 4, 2, None)]
    assert rows[8, "words[n - 1 - i]", "load"][0].verdict == "agrees"  # in another file


def test_a_float_atomic_is_a_loop_whose_rounds_are_counted() -> None:
    (row,) = captured.rows("atomics", "floats")[
        48, "cuda.atomic.add(sums, data[tx] % BINS, float32(1.5))", "reduce_add"
    ]
    assert (row.verdict, counts(row)) == ("explained", (58, 87, 87, None))
    assert "a loop of LDS and ATOMS.CAST.SPIN" in row.because
    assert "4 requests took 29 rounds" in row.because


def test_a_complex_number_is_moved_by_one_instruction_or_by_two() -> None:
    rows = captured.rows("tiles", "complex_transpose")
    assert rows[81, "source[ty, tx]", "load"][0].because == (
        "each complex number of source[ty, tx] is two floats (4 bytes each): 8 -> 16 requests, 8 sectors each"
    )
    assert counts(rows[83, "tile[tx, ty]", "load"][0]) == (8, 256, 16, None)


def test_loads_shared_by_a_threads_four_results_are_done_once() -> None:
    rows = captured.rows("tiles", "four_by_thread")
    assert counts(rows[34, "left[ty + 16 * i, k]", "load"][0]) == (4096, 8192, 4096, None)
    assert counts(rows[34, "right[k, tx + 16 * j]", "load"][0]) == (4096, 4096, 4096, None)


def test_lanes_that_leave_an_unrolled_loop_at_different_rounds_go_through_it_in_other_groups() -> None:
    rows = captured.rows("unrolled", "k112")
    (load,) = rows[56, "a[(((x * 7) | (3 | i)) & 63)]", "load"]
    assert (load.verdict, counts(load)) == ("explained", (28, None, None, 122))
    assert load.because == (
        "the loop was unrolled 4 times, and lanes that leave it after different numbers of rounds go through it in "
        "other groups: 16 -> 28 requests, 122 sectors, by 7 LDG.E"
    )


def test_a_store_that_was_moved_behind_its_loop_is_found_there_though_its_line_has_no_instruction() -> None:
    rows = captured.rows("sunk", "k136")
    assert counts(rows[163, "t[i]", "store"][0]) == (4, 8, 8, None)
    assert rows[163, "t[i]", "store"][0].because.endswith(
        "16 -> 4 requests, 2 wavefronts each (the instruction stands at line 161)"
    )
    assert rows[165, "t[i]", "store"][0].verdict == "agrees"


def test_what_is_ideal_of_eight_bytes_nsight_compute_works_out_by_its_own_rule() -> None:
    (store,) = captured.rows("sunk", "k137")[192, "t[i]", "store"]
    assert (store.verdict, counts(store)) == ("agrees", (2, 4, 2, None))
    assert store.because.endswith("as recorded; 4 wavefronts would be ideal, 2 by the rule of Nsight Compute")


def test_an_instruction_of_a_library_is_named_and_belongs_to_no_site() -> None:
    found = captured.reconciled("tiles", *captured.pair("tiles", "stencil"))
    assert found.unaccounted == (
        "tiles.py:95: LDG.E.CONSTANT on global memory belongs to no access: 48 requests, 48 sectors",
    )


def test_a_pipe_that_counts_more_than_its_instructions_is_inflated() -> None:
    rows = captured.rows("crowded", "transpose")
    (load,) = rows[19, "tile[cuda.threadIdx.x, cuda.threadIdx.y]", "load"]
    assert (load.verdict, counts(load)) == ("inflated", (131_072, 4_194_304, 131_072, None))
    assert load.because == (
        "131,072 requests and 4,194,304 wavefronts, as recorded; over the whole kernel the pipe counted 4,216,207 "
        "wavefronts for 4,194,304, because global traffic competes for it"
    )
    assert rows[15, "source[y, x]", "load"][0].verdict == "agrees"


def test_part_of_a_log_explains_a_launch_whose_totals_are_known() -> None:
    launch, _ = captured.pair("crowded", "product")
    assert launch.missing > 0
    (left,) = captured.rows("crowded", "product")[36, "left[ty, k]", "load"]
    assert (left.verdict, counts(left)) == ("explained", (4608, 9216, 9216, None))
    assert left.because.endswith("(672 of 18,432 requests were logged; the same share of all gives these counts)")


Change = Callable[[Instruction], Instruction | None]


def with_fault(counted: ProfiledLaunch, opcode: str, change: Change) -> ProfiledLaunch:
    """Change, or drop, the first instruction of an opcode."""
    instructions = list(counted.instructions)
    index = next(i for i, one in enumerate(instructions) if one.opcode == opcode)
    changed = change(instructions.pop(index))
    if changed is not None:
        instructions.insert(index, changed)
    return replace(counted, instructions=tuple(instructions), metrics={})


@pytest.mark.parametrize(
    ("kernel", "opcode", "change"),
    [
        ("product", "LDS.128", lambda one: replace(one, wavefronts=one.wavefronts + 1)),
        ("product", "LDS.128", lambda one: replace(one, requests=one.requests - 1)),
        ("product", "LDS.128", lambda one: replace(one, width=8)),
        ("product", "LDS", lambda one: replace(one, ideal=one.ideal - 1)),
        ("product", "LDS", lambda one: replace(one, requests=one.requests + 1, lanes=one.lanes + 1)),
        ("product", "LDS", lambda one: None),
        ("product", "STS", lambda one: None),
        ("product", "LDG.E", lambda one: replace(one, sectors=one.sectors * 2)),
        ("doubles", "STS.64", lambda one: replace(one, wavefronts=one.wavefronts // 2)),
    ],
)
def test_a_count_that_is_off_is_unexplained(kernel: str, opcode: str, change: Change) -> None:
    launch, counted = captured.pair("merged", kernel)
    assert captured.reconciled("merged", launch, counted).sound
    found = captured.reconciled("merged", launch, with_fault(counted, opcode, change))
    assert not found.sound
    assert any(row.verdict == "unexplained" for row in found.hardware)


def test_an_unexplained_site_shows_both_counts() -> None:
    launch, counted = captured.pair("square", "set_row_read_col")
    faulty = with_fault(counted, "LDS", lambda one: replace(one, wavefronts=1000))
    found = captured.reconciled("square", launch, faulty)
    assert [row.verdict for row in found.hardware] == ["agrees", "unexplained", "agrees"]
    assert counts(found.hardware[1]) == (32, 1000, 32, None)
    assert found.hardware[1].because == (
        "32 requests and 1,024 wavefronts were recorded, but the hardware has 32 requests and 1,000 wavefronts on this "
        "line in LDS; nothing that compilers are known to do gives that"
    )


def test_a_shared_instruction_too_many_makes_the_launch_unsound() -> None:
    launch, counted = captured.pair("removed", "forwarded")
    extra = replace(counted.instructions[0], kind="atomic", opcode="ATOMS.ADD")
    found = captured.reconciled("removed", launch, replace(counted, instructions=(*counted.instructions, extra)))
    assert not found.sound
    assert "ATOMS.ADD on shared memory belongs to no access: 2 requests, 2 wavefronts" in found.unaccounted[0]


def test_counts_of_instructions_without_a_line_make_the_launch_unsound() -> None:
    launch, counted = captured.pair("square", "set_row_read_col")
    more = counted.metrics | {"memory_l1_wavefronts_shared": 1060.0}
    found = captured.reconciled("square", launch, replace(counted, metrics=more))
    assert found.unaccounted == ("4 wavefronts of shared memory belong to instructions without a source line",)
    assert not found.sound


def test_a_pipe_that_counts_less_than_its_instructions_is_unexplained() -> None:
    launch, counted = captured.pair("square", "set_row_read_col")
    found = captured.reconciled("square", launch, replace(counted, metrics=counted.metrics | {_PIPE_LOADS: 1000.0}))
    assert [row.verdict for row in found.hardware] == ["agrees", "unexplained", "agrees"]
    assert "a counter of the whole launch has 1,000 wavefronts, not 1,024" in found.hardware[1].because


def test_one_instruction_that_serves_two_sites_stands_at_the_first() -> None:
    launch, counted = captured.pair("calls", "two_calls")
    one, two = (one for one in counted.instructions if one.line == 13)
    both = replace(one, requests=4, lanes=128, wavefronts=one.wavefronts + two.wavefronts, ideal=one.ideal + two.ideal)
    launch = replace(launch, sites=tuple(replace(s, array="one") if s.line == 13 else s for s in launch.sites))
    rest = tuple(x for x in counted.instructions if x.line != 13)
    found = captured.reconciled("calls", launch, replace(counted, instructions=(*rest, both)))
    rows = [row for site, row in zip(launch.sites, found.hardware, strict=True) if site.line == 13]
    assert [counts(row) for row in rows] == [(4, 6, 4, None), (0, 0, 0, None)]
    assert rows[0].because == ("1 LDS did the work of 2 accesses together: 4 requests and 6 wavefronts, as recorded")


def test_loads_of_both_branches_that_became_one_are_explained(tmp_path: Path) -> None:
    """Met on an H200: the same element, loaded by some lanes in one branch and by the others in another."""
    path = tmp_path / "k.py"
    path.write_text(
        "import numpy as np\nfrom numba import cuda, int32\n\n@cuda.jit\ndef k(out):\n"
        "    t = cuda.shared.array(32, int32)\n    i = cuda.threadIdx.x\n    t[i] = i\n    cuda.syncthreads()\n"
        "    if i & 1:\n        x = t[31 - i]\n    else:\n        x = t[31 - i] + 7\n    out[i] = x\n\n"
        "def main():\n    k[1, 32](np.zeros(32, np.int32))\n"
    )
    recording = smemviz.run(path, engine="lockstep")
    launch = recording.launches[0]
    loads = [number for number, site in enumerate(launch.sites) if site.op == "load"]
    assert [launch.sites[number].line for number in loads] == [11, 13]
    once = Instruction(path.as_posix(), 10, "LDS R0, [R1]", "LDS", "shared", "load", 4, 1, 32, 1, 1, 0)
    found = reconcile(launch, ProfiledLaunch("k", (once,), {}), recording.source, recording.file, (9, 0))
    said = "t[31 - i] is loaded once for all lanes of a warp: 2 -> 1 request, 1 wavefront"
    assert [found.hardware[number].verdict for number in loads] == ["explained"] * 2
    assert all(found.hardware[number].because.startswith(said) for number in loads)
