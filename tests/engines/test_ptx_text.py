"""PTX with one entry of several, as a driver is given it."""

from __future__ import annotations

from smemviz.engines.gpu.ptx.ptx_text import alone

HEAD = ".version 8.5\n.target sm_90\n.address_size 64\n.extern .shared .align 16 .b8 held[];\n"
SMALL = ".visible .entry small(\n\t.param .u64 small_param_0\n)\n{\n\tret;\n}\n"
LARGE = ".visible .entry large()\n.maxntid 32, 1, 1\n{\n\t.shared .b8 tile[65536];\n{\n.reg .pred p;\n}\n\tret;\n}\n"
TEMPLATE = ".weak .entry _Z5smallIfEvPT_(\n\t.param .u64 x\n)\n{\n\tret;\n}\n"
HELPER = ".func (.param .b32 out) helper(.param .b32 in)\n{\n\tret;\n}\n"


def test_the_other_entries_are_left_out_and_functions_stay():
    assert alone(HEAD + SMALL + LARGE + HELPER, "small") == HEAD + SMALL + "\n" + HELPER


def test_templates_are_entries_too():
    assert alone(HEAD + TEMPLATE + HELPER + SMALL, "_Z5smallIfEvPT_") == HEAD + TEMPLATE + HELPER + "\n"
