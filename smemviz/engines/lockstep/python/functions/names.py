"""What a kernel may name: one table of values and one of functions, by canonical name.

What is not in a table is refused; nothing is looked up on an object, imported or called.
"""

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

from smemviz.engines.lockstep.machine import Grid, Machine
from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.functions import (
    atomics,
    builtin_functions,
    intrinsics,
    libdevice,
    mathematics,
    ufuncs,
    warp,
)
from smemviz.engines.lockstep.python.functions.rules import Rule, plain
from smemviz.engines.lockstep.values.typing import Value
from smemviz.messages import english
from smemviz.recordings.data import WARP_SIZE

# -- cuda


def _grid(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    axes = [frame.machine.grid_index(axis) for axis in _axes(frame, node, arguments)]
    return axes[0] if len(axes) == 1 else tuple(axes)


def _gridsize(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    registers = frame.machine.registers
    sizes = [
        registers[f"cuda.gridDim.{axis}"] * registers[f"cuda.blockDim.{axis}"] for axis in _axes(frame, node, arguments)
    ]
    return sizes[0] if len(sizes) == 1 else tuple(sizes)


def _axes(frame: Frame, node: ast.Call, arguments: list[Value]) -> str:
    if type(arguments[0]) is not int or arguments[0] not in (1, 2, 3):
        raise frame.wrong(node, english("{code}: the number of axes is 1, 2 or 3", code=ast.unparse(node)))
    return "xyz"[: arguments[0]]


def _syncthreads(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    frame.machine.barrier(node, frame.mask)


def _fence(of_block: bool, frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    if frame.machine.table.has_updates:
        frame.machine.hazards.fence(frame.mask, of_block=of_block)
    return None


def _array_like(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    if not isinstance(arguments[0], View):
        raise frame.wrong(node, english("{code}: name a NumPy array of the module", code=ast.unparse(node)))
    return arguments[0]


def _unrolled(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    if not isinstance(arguments[0], tuple):
        raise frame.wrong(node, english("{code}: literal_unroll takes a tuple", code=ast.unparse(node)))
    return arguments[0]


def _register(name: str) -> Callable[[Machine], Value]:
    return lambda machine: machine.registers[name]


def _constant(value: Any) -> Callable[[Machine], Value]:
    return lambda machine: value


VALUES: dict[str, Callable[[Machine], Value]] = {
    f"cuda.{name}.{axis}": _register(f"cuda.{name}.{axis}")
    for name in ("threadIdx", "blockIdx", "blockDim", "gridDim")
    for axis in "xyz"
}
VALUES |= {"cuda.laneid": _register("cuda.laneid"), "cuda.warpsize": _constant(WARP_SIZE)}
VALUES |= {name: _constant(value) for name, value in (mathematics.CONSTANTS | ufuncs.CONSTANTS).items()}

PARAMETERS: dict[str, tuple[str, ...]] = {  # of functions whose parameters Numba knows by name
    **dict.fromkeys(("cuda.grid", "cuda.gridsize"), ("ndim",)),
    **{f"cuda.syncthreads_{name}": ("predicate",) for name in ("count", "and", "or")},
    "cuda.shfl_sync": ("mask", "value", "src_lane"),
    **{f"cuda.shfl_{way}_sync": ("mask", "value", "delta") for way in ("up", "down")},
    "cuda.shfl_xor_sync": ("mask", "value", "lane_mask"),
}


ARRAYS = ("cuda.shared.array", "cuda.local.array")  # declared, not called
CALLS: dict[str, Rule] = {
    "cuda.grid": Rule(_grid, 1, 1),
    "cuda.gridsize": Rule(_gridsize, 1, 1),
    "cuda.syncthreads": Rule(_syncthreads, 0, 0),
    "cuda.threadfence": Rule(partial(_fence, False), 0, 0),
    "cuda.threadfence_block": Rule(partial(_fence, True), 0, 0),
    "cuda.threadfence_system": Rule(partial(_fence, False), 0, 0),
    "cuda.const.array_like": Rule(_array_like, 1, 1),
    "cuda.cg.this_grid": Rule(lambda frame, node, arguments: Grid(), 0, 0),
    "cuda.literal_unroll": Rule(_unrolled, 1, 1),
}
CALLS |= builtin_functions.CALLS | warp.CALLS | intrinsics.CALLS | libdevice.CALLS | atomics.CALLS
CALLS |= ufuncs.CALLS
CALLS |= {name: plain(function, 1) for name, function in mathematics.UNARY.items()}
CALLS |= {name: plain(function, 2) for name, function in mathematics.BINARY.items()}
