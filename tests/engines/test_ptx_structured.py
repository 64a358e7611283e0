"""Where the lanes of a warp meet in a kernel that is counted on a GPU: before every block, as in lockstep."""

from smemviz.engines.gpu.ptx.ptx_text import EntryText, alone
from smemviz.engines.gpu.ptx.structured import structured
from smemviz.engines.lockstep.ptx.code.blocks import find_blocks, levels_of
from smemviz.engines.lockstep.ptx.code.parse import parse
from smemviz.engines.lockstep.ptx.kernel import Kernel

TEXT = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{{
    .reg .pred %p<9>;
    .reg .b32 %r<9>;
    {body}
    ret;
}}
"""
# (a and b) or c, with two sides, after which all go on.
OPERANDS = """
    setp.eq.s32 %p1, %r1, 0; @%p1 bra $C;
    setp.eq.s32 %p2, %r1, 1; @%p2 bra $X;
$C: setp.eq.s32 %p3, %r1, 2; @%p3 bra $X;
    mov.b32 %r2, 4; bra $P;
$X: mov.b32 %r2, 5;
$P: mov.b32 %r3, 6;
"""


def kernel(body):
    return Kernel(parse(TEXT.format(body=body)), "k")


def text_of(kernel):
    """Return the instructions with the labels before them."""
    text = EntryText(kernel)
    labels = text.labels_at()
    lines = [
        " ".join([*(f"{label}:" for label in labels[at]), text.guard(one) + text.instruction(one)])
        for at, one in enumerate(kernel.body)
    ]
    return [*lines, *(f"{label}:" for label in labels[len(kernel.body)])]


def ways_part(kernel):
    return any(level.parts_lanes for level in levels_of(find_blocks(kernel.flat)).all())


def test_lanes_leave_out_what_they_do_not_go_to_one_part_after_the_other():
    made = structured(kernel(OPERANDS))

    assert not ways_part(made)
    assert text_of(made)[:14] == [
        "$v_0: setp.eq.s32 %v0, %v1, 0;",
        "mov.b32 %v2, 1;",
        "@%v0 mov.b32 %v2, 2;",
        "$v_1: setp.ne.s32 %v3, %v2, 1;",
        "@%v3 bra $v_3;",
        "$v_2: setp.eq.s32 %v4, %v1, 1;",
        "mov.b32 %v2, 2;",
        "@%v4 mov.b32 %v2, 4;",
        "$v_3: setp.ne.s32 %v3, %v2, 2;",
        "@%v3 bra $v_5;",
        "$v_4: setp.eq.s32 %v5, %v1, 2;",
        "mov.b32 %v2, 3;",
        "@%v5 mov.b32 %v2, 4;",
        "$v_5: setp.ne.s32 %v3, %v2, 3;",
    ]


def test_a_kernel_whose_lanes_meet_anyway_stays_as_it_is():
    for body in [
        "setp.eq.s32 %p1, %r1, 0; @%p1 bra $X; mov.b32 %r2, 4; bra $P; $X: mov.b32 %r2, 5; $P: mov.b32 %r3, 6;",
        "@%p1 bra $P; setp.eq.s32 %p2, %r1, 1; @%p2 bra $P; mov.b32 %r2, 4; $P: mov.b32 %r3, 6;",
        "$H: setp.eq.s32 %p1, %r1, 0; @%p1 bra $P; setp.eq.s32 %p2, %r1, 1; @%p2 bra $H; $P: mov.b32 %r3, 6;",
    ]:
        same = kernel(body)
        assert structured(same) is same


def test_lanes_meet_in_every_shape_of_loops_and_branches():
    for body in [
        OPERANDS.replace("$P: mov.b32 %r3, 6;", "$P: @%p1 bra $Q; mov.b32 %r3, 6; $Q: mov.b32 %r4, 7;"),
        # The operands are those of a loop that is left from two places, for one that some leave out.
        "$H:" + OPERANDS.replace("bra $P", "bra $E") + "@%p1 bra $H; bra $Q; $E: mov.b32 %r4, 7; $Q: ret;",
        # A loop with one way around among operands, and a loop around all of it.
        "$O:" + OPERANDS.replace("$C:", "$C: @%p5 bra $C;") + "@%p1 bra $O;",
        # Only the outer of two loops is left for two places, from within the inner one.
        "$O: mov.b32 %r2, 1; $H: @%p1 bra $E; @%p2 bra $H; @%p3 bra $O; bra $Q; $E: mov.b32 %r4, 7; $Q: ret;",
        # Some go round at once, others later, and the rest leave.
        "$H: setp.eq.s32 %p1, %r1, 0; @%p1 bra $H; setp.eq.s32 %p2, %r1, 1; @%p2 bra $H;",
        "$H:" + OPERANDS.replace("bra $P", "bra $H"),
        OPERANDS.replace("mov.b32 %r2, 4;", "$I: @%p4 bra $P; @%p5 bra $X; @%p6 bra $I;"),
        OPERANDS.replace("mov.b32 %r2, 4; bra $P;", "brx.idx %r1, T; T: .branchtargets $X, $P;"),
    ]:
        before = kernel(body)
        made = structured(before)

        assert ways_part(before)
        assert not ways_part(made)
        kept = [one for one in before.body if one.opcode not in ("bra", "brx")]
        assert [one for one in kept if not any(one is other for other in made.body)] == []
        text_of(made)


def test_a_way_into_the_middle_of_a_loop_is_left_as_it_is():
    same = kernel("@%p1 bra $M; $H: mov.b32 %r2, 1; $M: @%p2 bra $H; @%p3 bra $M; $P: mov.b32 %r3, 1;" + OPERANDS)
    assert structured(same) is same


HEAD = ".version 8.5\n.target sm_90\n.address_size 64\n.extern .shared .align 16 .b8 held[];\n"
SMALL = ".visible .entry small(\n\t.param .u64 small_param_0\n)\n{\n\tret;\n}\n"
LARGE = ".visible .entry large()\n.maxntid 32, 1, 1\n{\n\t.shared .b8 tile[65536];\n{\n.reg .pred p;\n}\n\tret;\n}\n"
TEMPLATE = ".weak .entry _Z5smallIfEvPT_(\n\t.param .u64 x\n)\n{\n\tret;\n}\n"
HELPER = ".func (.param .b32 out) helper(.param .b32 in)\n{\n\tret;\n}\n"


def test_the_other_entries_are_left_out_and_functions_stay():
    assert alone(HEAD + SMALL + LARGE + HELPER, "small") == HEAD + SMALL + "\n" + HELPER


def test_templates_are_entries_too():
    assert alone(HEAD + TEMPLATE + HELPER + SMALL, "_Z5smallIfEvPT_") == HEAD + TEMPLATE + HELPER + "\n"
