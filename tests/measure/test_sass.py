"""Reading the instructions of a launch from Nsight Compute's listing."""

import pytest
from helpers import captured

from smemviz.measure.ncu.sass import Counts, function_name, read_listings
from smemviz.measure.ncu.verdicts import Subject, changed, moved_together


def test_an_instruction_has_its_line_opcode_width_and_counts():
    first = read_listings(captured.text("merged.source.csv"))[0]
    wide = [one for one in first.instructions if one.opcode == "LDS.128"]
    assert len(wide) == 4
    assert {(one.line, one.space, one.kind, one.width) for one in wide} == {(22, "shared", "load", 16)}
    # 8 warps of 32 lanes; two rows of 16 floats in each warp, 2 wavefronts for each request
    assert {(one.requests, one.lanes, one.wavefronts, one.ideal, one.sectors) for one in wide} == {(8, 256, 16, 16, 0)}
    assert wide[0].text == "LDS.128 R4, [R26]"
    assert wide[0].operand == "[R26]"


def test_a_predicate_is_no_part_of_the_opcode_and_lanes_are_those_it_leaves_on():
    with_barriers = read_listings(captured.text("removed.source.csv"))[4]
    stores = [one for one in with_barriers.instructions if one.line == 66]
    # thread 0 of 64 stores: both warps issue each of the 8 unrolled stores, one lane of one warp is on
    assert [(one.opcode, one.requests, one.lanes, one.wavefronts) for one in stores] == [("STS", 2, 1, 1)] * 8


def test_loads_stores_and_atomics_are_told_by_their_opcodes():
    kinds = {
        one.opcode.split(".")[0]: (one.space, one.kind)
        for name in ("atomics", "calls")
        for listing in read_listings(captured.text(f"{name}.source.csv"))
        for one in listing.instructions
    }
    assert kinds == {
        "LDS": ("shared", "load"),
        "STS": ("shared", "store"),
        "LDG": ("global", "load"),
        "STG": ("global", "store"),
        "ATOMS": ("shared", "atomic"),
        "REDG": ("global", "atomic"),
        "LD": ("shared", "load"),  # through a generic pointer, for one array or the other
        "ST": ("shared", "store"),
    }


def test_each_launch_of_one_kernel_has_its_own_listing():
    names = [function_name(one.kernel) for one in read_listings(captured.text("merged.source.csv"))]
    assert names == ["product", "padded_product", "four_sites", "doubles", "bytes_in_a_row", "product"]


def test_a_launch_has_the_instructions_of_every_file_it_was_made_from():
    listings = read_listings(captured.text("calls.source.csv"))
    assert [function_name(one.kernel) for one in listings] == ["two_calls", "traded"]
    places = {(one.file.rpartition("/")[2], one.line) for one in listings[0].instructions if one.kind == "load"}
    assert places == {("calls.py", 13), ("helpers.py", 8)}


def test_a_column_that_is_left_out_counts_nothing():
    never_read = read_listings(captured.text("removed.source.csv"))[5]
    assert [(one.opcode, one.wavefronts, one.sectors) for one in never_read.instructions] == [("STG.E", 0, 8)]


def test_a_kernel_is_known_by_its_plain_name():
    for kernel, name in [
        ("smemviz_kernel_file::load[abi:v1,cw51c](Array<int, (int)1, C, mutable, aligned>)", "load"),
        ("load[v1,cw51c](Array<int, 1, C, mutable, aligned>)", "load"),
        ("module::factory::_3clocals_3e::inner[abi:v2](int)", "inner"),
        ("reduce(float*)", "reduce"),
        ("__vectorized_plus[abi:v1,cw51c](Array<double, 1, C>)", "vectorized_plus"),
        ("__gufunc_scaled[abi:v2](Array<double, 2, C>)", "vectorized_scaled"),
        ("set_row(int *)", "set_row"),
        ("void copy<float, (int)32>(T1 *, const T1 *)", "copy"),
        ("void space::copy<16>(float *)", "copy"),
        ("(anonymous namespace)::hidden(int *)", "hidden"),
        ("copy<float, 32>", "copy"),
    ]:
        assert function_name(kernel) == name


def test_another_text_is_refused():
    with pytest.raises(ValueError, match="not a listing"):
        read_listings("==ERROR== no such page\n")


def test_a_complex_number_is_two_of_its_own_parts():
    for width, parts in [(8, "two floats (4 bytes each)"), (16, "two doubles (8 bytes each)")]:
        subject = Subject(("held[i]",), "load", "shared", width, 8, True)
        counts = {width // 2: Counts(16, 512, 16, 16, 0)}
        assert changed(subject, "", width // 2, counts, ()) == (
            f"each complex number of held[i] is {parts}: 8 -> 16 requests, 1 wavefront each"
        )
        assert moved_together(width) == f"One instruction moved both {parts.removeprefix('two ')} of a number."
