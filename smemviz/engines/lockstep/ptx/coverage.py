"""What lockstep executes of PTX, which is what CUDA C++ is compiled to: opcodes from the table, refusals by examples.

The tests run every example: each is refused with the sentence given here.
"""

from __future__ import annotations

from smemviz.engines.lockstep.ptx.instructions.table import FAMILIES
from smemviz.engines.lockstep.python.functions.coverage import Row

_BARRIERS = ("bar", "barrier")
_BRANCHES = ("bra", "brx", "call", "exit", "ret", "trap")

# Registers of the examples: %r are b32, %l b64, %f f32, %d f64, %p predicates.
_OUT = (
    ("textures", "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%l1, {%r1}];", "tex.1d.v4.f32.s32"),
    ("surfaces", "suld.b.1d.b32.trap %r1, [%l1, {%r2}];", "suld.b.1d.b32.trap"),
    ("warp group products", "wgmma.fence.sync.aligned;", "wgmma.fence.sync.aligned"),
    ("sparse products",
     "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, "
     "{%r3, %r4}, {%f1, %f2, %f3, %f4}, %r5, 0x0;",
     "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
    ("products of float64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1, %d2}, {%d3}, {%d4}, {%d1, %d2};",
     "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"),
    ("wmma of float64", "wmma.load.a.sync.aligned.row.m8n8k4.f64 {%d1}, [%l1], %r1;",
     "wmma.load.a.sync.aligned.row.m8n8k4.f64"),
    ("bulk and tensor copies",
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%l1], 16, [%r2];",
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"),
    ("barriers under a condition", "@%p1 bar.sync 0;", "a barrier under a condition"),
    ("malloc and free in a kernel", "call (%l1), malloc, (%l2);", "malloc in a kernel"),
    ("calls through a pointer", "call (%l1), %l2, (%l3), made;", "a call through a pointer"),
    ("memory made with alloca", "alloca.u64 %l1, %l2;", "alloca"),
)  # fmt: skip


def rows() -> tuple[Row, ...]:
    """Return every row: the opcodes that are executed by what they do, and what is refused."""
    inside = [Row(f"PTX: {group}", name, True) for group, family in FAMILIES.items() for name in sorted(family)]
    inside += [Row("PTX: barriers of a block and a warp", name, True) for name in _BARRIERS]
    inside += [Row("PTX: branches and calls", name, True) for name in _BRANCHES]
    clocks = (
        "each reading is 64 later than the one before, as lockstep has no time: what waits for one turns that often"
    )
    inside.append(Row("PTX: special registers", "%clock, %clock64 and %globaltimer", True, otherwise=clocks))
    refused = {"alloca", "malloc", "free"}
    outside = [Row("PTX", name, False, example, f"{what} is not executed") for name, example, what in _OUT]
    return (*(row for row in inside if row.feature not in refused), *outside)
