"""What a rewritten kernel does at a request to write it down: its first lane takes the next row of the log.

There is no branch in it, see ``instrument``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smemviz.engines.gpu.ptx import access_calls
from smemviz.recordings.data import WARP_SIZE


def launch_facts() -> Iterator[str]:
    """Read what a warp is told of its launch: whether it is chosen, its number, and where it writes."""
    yield from call("chosen", [("b64", "%s_launch")], ("b32", "%s_some"))
    yield "setp.ne.u32 %s_chosen, %s_some, 0;"
    yield "mov.b32 %s_epoch, 0;"
    yield from call("warp", [("b64", "%s_launch")], ("b64", "%s_warp"))
    for name in ("log", "rows", "cursor", "used"):
        yield f"ld.global.u64 %s_{name}, [%s_launch+{8 * access_calls.LAUNCH.index(name)}];"
    yield "shl.b64 %s_far, %s_warp, 2;"
    yield "add.s64 %s_used, %s_used, %s_far;"


def row(site: str) -> Iterator[str]:
    """Write the addresses and values of a group of lanes, if there is room."""
    yield from leader()
    yield "setp.eq.u32 %s_p, %s_lane, %s_leader;"
    yield "mov.b64 %s_far, -1;"
    yield "@%s_p atom.global.add.u64 %s_far, [%s_cursor], 1;"
    yield "@%s_p atom.global.add.u32 %s_other, [%s_used], 1;"
    yield "mov.b64 {%s_low, %s_some}, %s_far;"
    for name in ("low", "some"):
        yield f"shfl.sync.idx.b32 %s_{name}, %s_{name}, %s_leader, 31, %s_group;"
    yield "mov.b64 %s_far, {%s_low, %s_some};"
    yield "setp.lt.u64 %s_q, %s_far, %s_rows;"
    yield f"mad.lo.u64 %s_counter, %s_far, {access_calls.ROW_BYTES}, %s_log;"
    yield "mad.wide.u32 %s_far, %s_lane, 8, %s_counter;"
    yield "@%s_q st.global.u64 [%s_far], %s_address;"
    yield f"@%s_q st.global.u64 [%s_far+{8 * WARP_SIZE}], %s_value;"
    yield "and.pred %s_p, %s_p, %s_q;"
    yield f"mov.b64 %s_far, {site};"
    yield f"@%s_p st.global.u64 [%s_counter+{8 * access_calls.SITE}], %s_far;"
    yield f"@%s_p st.global.u64 [%s_counter+{8 * access_calls.WARP}], %s_warp;"
    for place, name in ((access_calls.EPOCH, "epoch"), (access_calls.STEP, "other")):
        yield f"cvt.u64.u32 %s_far, %s_{name};"
        yield f"@%s_p st.global.u64 [%s_counter+{8 * place}], %s_far;"


def leader() -> Iterator[str]:
    """Find the first lane of a group."""
    yield "brev.b32 %s_leader, %s_group;"
    yield "clz.b32 %s_leader, %s_leader;"


def call(name: str, arguments: Sequence[tuple[str, str]], result: tuple[str, str] | None = None) -> Iterator[str]:
    """Give a call of one of the functions of ``reports``, with the types of what it passes."""
    yield "{"
    for number, (kind, _) in enumerate(arguments):
        yield f".param .{kind} s_{number};"
    if result:
        yield f".param .{result[0]} s_result;"
    for number, (kind, value) in enumerate(arguments):
        yield f"st.param.{kind} [s_{number}], {value};"
    names = ", ".join(f"s_{number}" for number in range(len(arguments)))
    yield f"call {'(s_result), ' if result else ''}smemviz_{name}, ({names});"
    if result:
        yield f"ld.param.{result[0]} {result[1]}, [s_result];"
    yield "}"
