"""How many cycles a request costs on this card, by the clock of the multiprocessor: no profiler needed.

One block of 32 warps repeats one request, so that the shared-memory data stage is the bottleneck; the difference
between a long and a short run takes off what surrounds the loop.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import cuda
from numba.cuda.extending import intrinsic
from numba.cuda.np import arrayobj

from smemviz.engines.gpu.gpu_recorder import quiet
from smemviz.engines.gpu.marks import shared_offset
from smemviz.measure.calibration.calibrate import WINDOW_BYTES, Pattern
from smemviz.recordings.data import WARP_SIZE

_WARPS = 32
_UNROLLED = 16
_SHORT, _LONG = 8, 40  # repeats of the unrolled request
_TRIES = 3

# PTX by operation and width; volatile, so that nothing is merged or left out.
_LOADS = {1: "u8 %x", 2: "u16 %x", 4: "u32 %x", 8: "v2.u32 {%x, %y}", 16: "v4.u32 {%x, %y, %z, %w}"}
_STORES = {1: "u8 [$0], %x", 2: "u16 [$0], %x", 4: "u32 [$0], %x"}
_STORES |= {8: "v2.u32 [$0], {%x, %x}", 16: "v4.u32 [$0], {%x, %x, %x, %x}"}
_ATOMICS = {
    "atomic_add": "atom.shared.add.u32 %x, [$0], %x;",
    "atomic_exch": "atom.shared.exch.b32 %x, [$0], %x;",
    "atomic_max": "atom.shared.max.u32 %x, [$0], %x;",
    "reduce_add": "red.shared.add.u32 [$0], %x;",
    "reduce_inc": "red.shared.add.u32 [$0], 1;",
}


def _assembly(op: str, width: int) -> str:
    if op == "load":
        body = f"ld.volatile.shared.{_LOADS[width]}, [$0];"
    elif op == "store":
        body = f"st.volatile.shared.{_STORES[width]};"
    else:
        body = _ATOMICS[op]
    kind = {1: "u16", 2: "u16"}.get(width, "u32")
    names = ("x", "y", "z", "w")
    for name in names:
        body = body.replace(f"%{name}", f"%smemviz_{name}")
    declared = ", ".join(f"%smemviz_{name}" for name in names)
    first = "" if op == "load" else f" mov.{kind} %smemviz_x, 3;"
    return f"{{ .reg .{kind} {declared};{first} {body} }}"


def _access(op: str, width: int) -> Any:
    text = _assembly(op, width)

    @intrinsic  # type: ignore[untyped-decorator]
    def access(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
            kind = ir.FunctionType(ir.VoidType(), [ir.IntType(32)])
            builder.call(ir.InlineAsm(kind, text, "r", side_effect=True), arguments)
            return context.get_dummy_value()

        return numba.cuda.types.void(address), generate

    return access


@intrinsic  # type: ignore[untyped-decorator]
def _clock(typing_context: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [])
        return builder.call(ir.InlineAsm(kind, "mov.u64 $0, %clock64;", "=l", side_effect=True), [])

    return numba.cuda.types.int64(), generate


@intrinsic  # type: ignore[untyped-decorator]
def _start_of(typing_context: Any, array: Any) -> Any:
    """Return where a shared array begins: its byte offset in the shared window of the block."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        pointer = arrayobj.make_array(array)(context, builder, arguments[0]).data
        return shared_offset(builder, pointer, ir.IntType(32))

    return numba.cuda.types.int32(array), generate


@cache
def _kernel(op: str, width: int) -> Any:
    access = _access(op, width)
    elements = WINDOW_BYTES // 4

    # A thousand threads fit only with at most 64 registers each.
    @cuda.jit(max_registers=64)  # type: ignore[untyped-decorator]
    def repeat(offsets: Any, repeats: Any, times: Any) -> None:
        memory = cuda.shared.array(elements, numba.int32)
        thread = cuda.threadIdx.x
        for i in range(thread, elements, cuda.blockDim.x):
            memory[i] = 0
        offset = offsets[thread % 32]
        address = numba.int32(_start_of(memory) + offset)
        cuda.syncthreads()
        if offset >= 0:
            start = _clock()
            for _ in range(repeats):
                access(address)
                access(address)
                access(address)
                access(address)
                access(address)
                access(address)
                access(address)
                access(address)
                access(address)
                access(address)
                access(address)
                access(address)
                access(address)
                access(address)
                access(address)
                access(address)
            times[thread, 0] = start
            times[thread, 1] = _clock()

    return repeat


def cycles(patterns: Sequence[Pattern]) -> list[float]:
    """Return the cycles that each request costs in steady state."""
    with quiet():
        return [_cycles(pattern) for pattern in patterns]


def _cycles(pattern: Pattern) -> float:
    kernel = _kernel(pattern.op, pattern.width)
    offsets = cuda.to_device(pattern.addresses.astype(np.int32))
    lanes = np.tile(pattern.addresses >= 0, _WARPS)
    cycles = {repeats: min(_run(kernel, offsets, repeats, lanes) for _ in range(_TRIES)) for repeats in (_SHORT, _LONG)}
    return (cycles[_LONG] - cycles[_SHORT]) / ((_LONG - _SHORT) * _UNROLLED * _WARPS)


def _run(kernel: Any, offsets: Any, repeats: int, lanes: Any) -> int:
    times = cuda.device_array((_WARPS * WARP_SIZE, 2), np.int64)
    kernel[1, _WARPS * WARP_SIZE](offsets, repeats, times)
    ticks = times.copy_to_host()[lanes]
    return int(ticks[:, 1].max() - ticks[:, 0].min())
