"""Which loops of PTX have rounds that cost the same: what compilers seldom write, and people in ``asm`` may."""

from __future__ import annotations

import pytest

from smemviz.engines.gpu.ptx.accesses import Instructions
from smemviz.engines.gpu.ptx.instrument import instrumented
from smemviz.engines.gpu.ptx.steady_loops import SteadyLoop, steady_loops
from smemviz.engines.lockstep.ptx.code.parse import parse
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.sites import SiteMap
from smemviz.engines.lockstep.ptx.steps import steps_of

TEXT = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    .shared .align 4 .b8 t[4096];
    ld.param.u32 %r1, [n];
    ld.param.u64 %rd1, [out];
    mov.u32 %r2, 0;
    mov.u32 %r3, %tid.x;
    mov.u64 %rd2, 0;
$head:
    {round}
    @%p1 bra $head;
    ret;
}}
"""
MOVE = "ld.shared.u32 %r4, [%r2]; add.s32 %r2, %r2, 4;"
TEST = "setp.lt.s32 %p1, %r2, %r1;"


def loops_with(round_: str) -> list[SteadyLoop]:
    kernel, sites = prepared(round_)
    return steady_loops(kernel, Instructions(kernel, sites).candidates)


def prepared(round_: str) -> tuple[Kernel, SiteMap]:
    kernel = Kernel(parse(TEXT.format(round=round_)), "k")
    steps_of(kernel)
    return kernel, SiteMap(kernel, "", {})


def test_a_loop_that_moves_on_by_a_word() -> None:
    (loop,) = loops_with(f"{MOVE} {TEST}")
    assert len(loop.steady) == 1
    assert loop.agreed == ("%r1", "%r2")


def test_a_predicate_that_something_else_sets_is_not_known() -> None:
    assert loops_with(f"{MOVE} {TEST} isspacep.shared %p1, %rd1;") == []


@pytest.mark.parametrize(
    ("step", "found"),
    [
        ("add.s64 %rd2, %rd2, 128;", 2),
        ("cvt.u32.u64 %r5, %rd2; add.s32 %r5, %r5, 128; cvt.u64.u32 %rd2, %r5;", 1),  # wraps in 32 bits
    ],
)
def test_a_pointer_moves_on_in_all_its_bits(step: str, found: int) -> None:
    (loop,) = loops_with(f"{MOVE} add.s64 %rd3, %rd1, %rd2; ld.global.u32 %r6, [%rd3]; {step} {TEST}")
    assert len(loop.steady) == found


def test_lanes_agree_on_what_cancels_out_in_32_bits_alone() -> None:
    """The difference of both is 0, or 2 to the power of 32 where the register is negative."""
    differ = "add.s32 %r3, %r3, 4; cvt.u64.u32 %rd3, %r3; cvt.s64.s32 %rd4, %r3; sub.s64 %rd5, %rd3, %rd4;"
    (loop,) = loops_with(f"{MOVE} {differ} add.s64 %rd2, %rd2, 1; add.s64 %rd5, %rd5, %rd2; setp.lt.u64 %p1, %rd5, 9;")
    assert loop.agreed == ("%r3", "%rd2")


def test_rounds_are_left_uncounted_only_by_the_lanes_that_made_the_last_access_together() -> None:
    kernel, sites = prepared(f"{MOVE} {TEST}")
    text = instrumented(kernel, TEXT, Instructions(kernel, sites), "count", 32, (9, 0))
    assert "setp.eq.b32 %s_p, %s_group, %s_together0;\n    setp.eq.and.b32 %s_p, %s_group, %s_mask0, %s_p;" in text


COUNTED = "setp.ne.s64 %p1, %rd4, 0; selp.b64 %rd5, -1, 0, %p1; add.s64 %rd4, %rd4, %rd5;"


def test_a_counter_that_stops_with_the_loop() -> None:
    """As Numba counts the rounds of a range."""
    (loop,) = loops_with(f"{MOVE} {COUNTED}")
    assert (len(loop.steady), loop.agreed) == (1, ("%rd4",))


def test_what_is_so_only_where_there_is_another_round_is_no_address() -> None:
    chosen = "setp.ne.s64 %p1, %rd4, 0; selp.b64 %rd5, 4, 8, %p1; ld.shared.u32 %r4, [%rd5]; add.s64 %rd4, %rd4, -1;"
    (loop,) = loops_with(f"{MOVE} {chosen}")
    assert len(loop.steady) == 1


SIGNS = {
    "shr": "shr.s64 %rd5, %rd4, 63; and.b64 %rd6, %rd5, 64;",
    "and": "and.b64 %rd5, %rd4, -9223372036854775808; shr.u64 %rd6, %rd5, 57;",
}


@pytest.mark.parametrize("sign", SIGNS.values(), ids=SIGNS)
@pytest.mark.parametrize(("step", "found"), [(4, 2), (-4, 1), (2, 1)])
def test_an_index_that_counts_from_the_end_where_it_is_below_0(sign: str, step: int, found: int) -> None:
    """It does not once it has not, if it grows."""
    element = f"{sign} add.s64 %rd7, %rd6, %rd4; ld.shared.u32 %r5, [%rd7]; add.s64 %rd4, %rd4, {step};"
    (loop,) = loops_with(f"{MOVE} {element} {TEST}")
    assert len(loop.steady) == found
    assert [form.terms for form in loop.positive] == ([(("%rd4", 1),)] if step > 0 else [])


@pytest.mark.parametrize(("step", "found"), [(8, 2), (6, 1)])
def test_rows_as_long_as_only_the_launch_says(step: int, found: int) -> None:
    """They are whole elements long, and the lanes have to agree how many."""
    element = (
        f"mul.lo.s64 %rd5, %rd2, %rd6; shl.b64 %rd5, %rd5, 2; add.s64 %rd5, %rd5, %rd1; add.s64 %rd2, %rd2, {step};"
    )
    (loop,) = loops_with(f"{MOVE} {element} ld.global.u32 %r5, [%rd5]; {TEST}")
    assert len(loop.steady) == found
    assert ("%rd6" in loop.agreed) == (found == 2)


@pytest.mark.parametrize(
    "address",
    [
        "selp.b32 %r5, 2, 3, %p1; shl.b32 %r6, %r3, %r5;",
        "selp.b32 %r5, 0, 64, %p1; or.b32 %r6, %r3, %r5;",
        "selp.b32 %r5, 4, 8, %p1; mul.lo.s32 %r6, %r3, %r5;",
    ],
)
def test_what_is_made_of_it_is_none_either(address: str) -> None:
    """In the last round it is another address."""
    counted = "setp.ne.s64 %p1, %rd4, 0; add.s64 %rd4, %rd4, -1;"
    (loop,) = loops_with(f"{MOVE} {counted} {address} ld.shared.u32 %r7, [%r6];")
    assert len(loop.steady) == 1


def test_a_branch_to_what_comes_next_tells_nothing() -> None:
    moved = "setp.ne.s64 %p2, %rd5, 0; @%p2 bra $x; $x: selp.b32 %r5, 4, 2, %p2; add.s32 %r2, %r2, %r5;"
    counted = "setp.ne.s64 %p1, %rd4, 0; add.s64 %rd4, %rd4, -1;"
    assert loops_with(f"ld.shared.u32 %r4, [%r2]; {moved} {counted}") == []


def test_a_long_way_to_where_an_address_comes_from() -> None:
    chain = " ".join(f".reg .b32 %c{n + 1}; add.s32 %c{n + 1}, %c{n}, 4;" for n in range(600))
    text = TEXT.format(round=f"{MOVE} ld.shared.u32 %r5, [%c600]; {TEST}")
    kernel = Kernel(parse(text.replace("$head:", f".reg .b32 %c0; mov.u32 %c0, %laneid; {chain}\n$head:")), "k")
    steps_of(kernel)
    (loop,) = steady_loops(kernel, Instructions(kernel, SiteMap(kernel, "", {})).candidates)
    assert len(loop.steady) == 2
