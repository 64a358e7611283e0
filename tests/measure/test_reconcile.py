"""Verdicts on kernels that were recorded and profiled on an H200, and on the same counts with a fault put in."""

from collections.abc import Callable
from dataclasses import replace

from helpers import captured

import smemviz
from smemviz.frontends.reading import read_program
from smemviz.measure.ncu import ptx_ncu
from smemviz.measure.ncu.counters import ProfiledLaunch
from smemviz.measure.ncu.reconcile import reconcile
from smemviz.measure.ncu.sass import Instruction

_PIPE_LOADS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"


def counts(row):
    return row.requests, row.wavefronts, row.ideal, row.sectors


def test_every_site_of_every_captured_kernel_is_accounted_for():
    for name in captured.NAMES:
        for launch, counted in zip(captured.recording(name).launches, captured.profiled(name), strict=True):
            found = captured.reconciled(name, launch, counted)
            assert found.sound, (launch.kernel, [row for row in found.hardware if row.verdict == "unexplained"])


def test_the_counts_of_the_sites_add_up_to_those_of_the_instructions():
    for name in captured.NAMES:
        for launch, counted in zip(captured.recording(name).launches, captured.profiled(name), strict=True):
            found = captured.reconciled(name, launch, counted)
            given = sum(row.wavefronts or 0 for row in found.hardware)
            assert given == counted.metrics["memory_l1_wavefronts_shared"], launch.kernel
            sectors = sum(row.sectors or 0 for row in found.hardware)
            if not found.unaccounted:
                assert sectors == counted.metrics["memory_l2_theoretical_sectors_global"], launch.kernel


def test_the_square_kernels_agree_everywhere():
    for launch, counted in zip(captured.recording("square").launches, captured.profiled("square"), strict=True):
        assert [row.verdict for row in captured.reconciled("square", launch, counted).hardware] == ["agrees"] * 3
    (load,) = captured.rows("square", "set_row_read_col")[53, "tile[tx, ty]", "load"]
    assert counts(load) == (32, 1024, 32, None)
    assert load.because == "32 requests and 1,024 wavefronts, as recorded"


def test_a_site_has_its_verdict():
    for name, kernel, site, verdict, counted, because in [
        # Four loads in a row became one wide load.
        (
            *("merged", "product", (22, "left[ty, k]", "load"), "explained", (32, 64, 64, None)),
            "4 loads of left[ty, k] became one LDS.128: 128 -> 32 requests, 2 wavefronts each",
        ),
        (
            *("merged", "product", (22, "right[k, tx]", "load"), "agrees", (128, 128, 128, None)),
            "128 requests and 128 wavefronts, as recorded, by 16 LDS",
        ),
        # Two doubles became one with half the wavefronts.
        (
            *("merged", "doubles", (64, "words[tx, k]", "load"), "explained", (64, 2048, 256, None)),
            "2 loads of words[tx, k] became one LDS.128: 128 -> 64 requests, 32 wavefronts each",
        ),
        # Rows padded to odd length are not merged.
        ("merged", "padded_product", (37, "left[ty, k]", "load"), "agrees", (128, 128, 128, None), ""),
        # A load of what the thread just stored has no instruction.
        (
            *("removed", "forwarded", (16, "words[tx]", "load"), "explained", (0, 0, 0, None)),
            "all 2 loads of words[tx] were left out, because the same thread had just stored the element and kept it "
            "in a register: 2 -> 0 requests",
        ),
        ("removed", "added_twice", (25, "words[tx]", "store"), "explained", (0, 0, 0, None), "stores there again"),
        ("removed", "added_twice", (26, "words[tx]", "store"), "explained", (0, 0, 0, None), "stores there again"),
        ("removed", "added_twice", (27, "words[tx]", "store"), "agrees", (2, 2, 2, None), ""),
        # A load hoisted out of a loop is done once, and its instruction found elsewhere.
        (
            *("removed", "hoisted", (40, "words[N - 1 - tx]", "load"), "explained", (2, 2, 2, None)),
            "14 of 16 loads of words[N - 1 - tx] were left out, because the same thread had already loaded the element "
            "and kept it in a register: 16 -> 2 requests, 1 wavefront each (the instruction stands at line 37)",
        ),
        # What nothing loads is not stored, and what only that store needs is not loaded.
        ("removed", "never_read", (74, "words[tx]", "store"), "explained", (0, 0, 0, None), "nothing loads words"),
        (
            *("removed", "never_read", (74, "out[tx]", "load"), "explained", (0, None, None, 0)),
            "nothing that the kernel stores depends on the value",
        ),
        # A predicated instruction is issued by warps that have nothing to do.
        (
            *("removed", "with_barriers", (66, "words[0]", "store"), "explained", (16, 8, 8, None)),
            "8 requests and 8 wavefronts, as recorded, by 8 STS; 8 more were issued with every lane switched off",
        ),
        ("calls", "two_calls", (8, "words[n - 1 - i]", "load"), "agrees", (2, 2, 2, None), ""),  # in another file
        # A float atomic is a loop whose rounds are counted.
        (
            *("atomics", "floats", (48, "cuda.atomic.add(sums, data[tx] % BINS, float32(1.5))", "reduce_add")),
            *("explained", (58, 87, 87, None)),
            "a loop of LDS and ATOMS.CAST.SPIN, run until no other thread interferes: 4 requests took 29 rounds",
        ),
        # A complex number is moved by one instruction or by two.
        (
            *("tiles", "complex_transpose", (81, "source[ty, tx]", "load"), "explained", (16, None, None, 128)),
            "each complex number of source[ty, tx] is two floats (4 bytes each): 8 -> 16 requests, 8 sectors each",
        ),
        ("tiles", "complex_transpose", (83, "tile[tx, ty]", "load"), "explained", (8, 256, 16, None), ""),
        # Loads shared by a thread's four results are done once.
        ("tiles", "four_by_thread", (34, "left[ty + 16 * i, k]", "load"), "explained", (4096, 8192, 4096, None), ""),
        ("tiles", "four_by_thread", (34, "right[k, tx + 16 * j]", "load"), "explained", (4096, 4096, 4096, None), ""),
        # Lanes that leave an unrolled loop at different rounds go through it in other groups.
        (
            *("unrolled", "k112", (56, "a[(((x * 7) | (3 | i)) & 63)]", "load"), "explained", (28, None, None, 122)),
            "the loop was unrolled 4 times, and lanes that leave it after different numbers of rounds go through it in "
            "other groups: 16 -> 28 requests, 122 sectors, by 7 LDG.E",
        ),
        # A store that was moved behind its loop is found there, though its line has no instruction.
        (
            *("sunk", "k136", (163, "t[i]", "store"), "explained", (4, 8, 8, None)),
            "16 -> 4 requests, 2 wavefronts each (the instruction stands at line 161)",
        ),
        ("sunk", "k136", (165, "t[i]", "store"), "agrees", (4, 8, 8, None), ""),
        # What is ideal of eight bytes Nsight Compute works out by its own rule.
        (
            *("sunk", "k137", (192, "t[i]", "store"), "agrees", (2, 4, 2, None)),
            "as recorded; 4 wavefronts would be ideal, 2 by the rule of Nsight Compute",
        ),
        # A pipe that counts more than its instructions is inflated.
        (
            *("crowded", "transpose", (19, "tile[cuda.threadIdx.x, cuda.threadIdx.y]", "load")),
            *("inflated", (131_072, 4_194_304, 131_072, None)),
            "131,072 requests and 4,194,304 wavefronts, as recorded; over the whole kernel the pipe counted 4,216,207 "
            "wavefronts for 4,194,304, because global traffic competes for it",
        ),
        # Part of a log explains a launch whose totals are known.
        (
            *("crowded", "product", (36, "left[ty, k]", "load"), "explained", (4608, 9216, 9216, None)),
            "(672 of 18,432 requests were logged; the same share of all gives these counts)",
        ),
    ]:
        (row,) = captured.rows(name, kernel)[site]
        assert (row.verdict, counts(row)) == (verdict, counted)
        assert because in row.because


def test_copies_of_triton_are_loads_and_stores_at_once_and_matrices_are_in_one_counter_of_two():
    program, recording = read_program("kernels/triton/matmul.sm_80.ptx"), captured.recording("matmul_triton")
    (profiled,) = ptx_ncu.as_written(program, ["matmul"], captured.profiled("matmul_triton"))
    (launch,) = recording.launches
    made = reconcile(launch, profiled, recording.source, recording.file, (9, 0))
    assert made.sound
    assert made.unaccounted == ()
    rows = {(site.line, site.space, site.op): row for site, row in zip(launch.sites, made.hardware, strict=True)}
    assert {row.verdict for key, row in rows.items() if key[1:] != ("shared", "store")} == {"agrees"}
    for line in (30, 31):
        copy = rows[line, "shared", "store"]
        assert (copy.verdict, copy.requests, copy.ideal, copy.wavefronts) == ("inflated", 96, 384, 768)
        assert rows[line, "global", "load"].sectors == 1024
    # One request less is not what was recorded.
    fewer = [replace(x, requests=x.requests - ("LDGSTS" in x.opcode)) for x in profiled.instructions]
    changed = replace(profiled, instructions=tuple(fewer))
    assert not reconcile(launch, changed, recording.source, recording.file, (9, 0)).sound


def test_a_device_function_called_twice_has_an_instruction_for_each_call():
    rows = captured.rows("calls", "two_calls")
    assert sorted(counts(row) for row in rows[13, "words[i]", "load"]) == [(2, 2, 2, None), (2, 4, 2, None)]


def test_an_instruction_of_a_library_is_named_and_belongs_to_no_site():
    found = captured.reconciled("tiles", *captured.pair("tiles", "stencil"))
    assert found.unaccounted == (
        "tiles.py:95: LDG.E.CONSTANT on global memory belongs to no access: 48 requests, 48 sectors",
    )


Change = Callable[[Instruction], Instruction | None]


def with_fault(counted, opcode, change):
    """Change, or drop, the first instruction of an opcode."""
    instructions = list(counted.instructions)
    index = next(i for i, one in enumerate(instructions) if one.opcode == opcode)
    changed = change(instructions.pop(index))
    if changed is not None:
        instructions.insert(index, changed)
    return replace(counted, instructions=tuple(instructions), metrics={})


def test_a_count_that_is_off_is_unexplained():
    for kernel, opcode, change in [
        ("product", "LDS.128", lambda one: replace(one, wavefronts=one.wavefronts + 1)),
        ("product", "LDS.128", lambda one: replace(one, requests=one.requests - 1)),
        ("product", "LDS.128", lambda one: replace(one, width=8)),
        ("product", "LDS", lambda one: replace(one, ideal=one.ideal - 1)),
        ("product", "LDS", lambda one: replace(one, requests=one.requests + 1, lanes=one.lanes + 1)),
        ("product", "LDS", lambda one: None),
        ("product", "STS", lambda one: None),
        ("product", "LDG.E", lambda one: replace(one, sectors=one.sectors * 2)),
        ("doubles", "STS.64", lambda one: replace(one, wavefronts=one.wavefronts // 2)),
    ]:
        launch, counted = captured.pair("merged", kernel)
        found = captured.reconciled("merged", launch, with_fault(counted, opcode, change))
        assert not found.sound
        assert any(row.verdict == "unexplained" for row in found.hardware)


def test_an_unexplained_site_shows_both_counts():
    launch, counted = captured.pair("square", "set_row_read_col")
    faulty = with_fault(counted, "LDS", lambda one: replace(one, wavefronts=1000))
    found = captured.reconciled("square", launch, faulty)
    assert [row.verdict for row in found.hardware] == ["agrees", "unexplained", "agrees"]
    assert counts(found.hardware[1]) == (32, 1000, 32, None)
    assert found.hardware[1].because == (
        "32 requests and 1,024 wavefronts were recorded, but the hardware has 32 requests and 1,000 wavefronts on this "
        "line in LDS; no known optimization explains that"
    )


def test_a_shared_instruction_too_many_makes_the_launch_unsound():
    launch, counted = captured.pair("removed", "forwarded")
    extra = replace(counted.instructions[0], kind="atomic", opcode="ATOMS.ADD")
    found = captured.reconciled("removed", launch, replace(counted, instructions=(*counted.instructions, extra)))
    assert not found.sound
    assert "ATOMS.ADD on shared memory belongs to no access: 2 requests, 2 wavefronts" in found.unaccounted[0]


def test_counts_of_instructions_without_a_line_make_the_launch_unsound():
    launch, counted = captured.pair("square", "set_row_read_col")
    more = counted.metrics | {"memory_l1_wavefronts_shared": 1060.0}
    found = captured.reconciled("square", launch, replace(counted, metrics=more))
    assert found.unaccounted == ("4 wavefronts of shared memory belong to instructions without a source line",)
    assert not found.sound


def test_a_pipe_that_counts_less_than_its_instructions_is_unexplained():
    launch, counted = captured.pair("square", "set_row_read_col")
    found = captured.reconciled("square", launch, replace(counted, metrics=counted.metrics | {_PIPE_LOADS: 1000.0}))
    assert [row.verdict for row in found.hardware] == ["agrees", "unexplained", "agrees"]
    assert "a counter of the whole launch has 1,000 wavefronts, not 1,024" in found.hardware[1].because


def test_one_instruction_that_serves_two_sites_stands_at_the_first():
    launch, counted = captured.pair("calls", "two_calls")
    one, two = (one for one in counted.instructions if one.line == 13)
    both = replace(one, requests=4, lanes=128, wavefronts=one.wavefronts + two.wavefronts, ideal=one.ideal + two.ideal)
    launch = replace(launch, sites=tuple(replace(s, array="one") if s.line == 13 else s for s in launch.sites))
    rest = tuple(x for x in counted.instructions if x.line != 13)
    found = captured.reconciled("calls", launch, replace(counted, instructions=(*rest, both)))
    rows = [row for site, row in zip(launch.sites, found.hardware, strict=True) if site.line == 13]
    assert [counts(row) for row in rows] == [(4, 6, 4, None), (0, 0, 0, None)]
    assert rows[0].because == ("1 LDS did the work of 2 accesses together: 4 requests and 6 wavefronts, as recorded")


def test_loads_of_both_branches_that_became_one_are_explained(tmp_path):
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
