"""What a kernel may name: one table of values and one of functions, by canonical name.

What is not in a table is refused; nothing is looked up on an object, imported or called.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from smemviz.engines.lockstep.machine import Grid, Machine
from smemviz.engines.lockstep.memory.memory import Flat, View
from smemviz.engines.lockstep.python.frame import Frame, short
from smemviz.engines.lockstep.python.functions import (
    half,
    hints,
    intrinsics,
    libdevice,
    mathematics,
    output,
    ranges,
    ufuncs,
    vectors,
    warp,
)
from smemviz.engines.lockstep.python.functions.atomics import ATOMICS, atomic, compare_and_swap
from smemviz.engines.lockstep.python.functions.rules import Rule, plain
from smemviz.engines.lockstep.python.waiting import FENCES
from smemviz.engines.lockstep.values.operators import binary, truth
from smemviz.engines.lockstep.values.optional import NothingHereError, Optional
from smemviz.engines.lockstep.values.ranges import Range
from smemviz.engines.lockstep.values.texts import Texts, of_texts
from smemviz.engines.lockstep.values.times import KINDS
from smemviz.engines.lockstep.values.typing import (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT64,
    Dtype,
    NotAScalarError,
    Value,
    Vector,
    cast,
    dtype_of,
    unify,
)
from smemviz.messages import english
from smemviz.recordings.data import WARP_SIZE


def conversion(target: object, dtype: Dtype) -> Rule:
    """Return the rule of a type's name as a function; ``int`` and ``float`` leave what is one already."""

    def run(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
        if target is float and isinstance(arguments[0], str):
            return _float_of(frame, node, arguments[0])
        of_time = isinstance(arguments[0], np.ndarray | np.generic) and arguments[0].dtype.kind in KINDS
        if of_time and (arguments[0].dtype.kind == "M" or dtype != np.int64):
            raise frame.none_of_numba(node, english("{code} of {dtype}", code=short(node), dtype=arguments[0].dtype))
        if dtype == BOOL:
            return truth(arguments[0])
        own = dtype_of(arguments[0])
        if (target is int and own.kind in "iu") or (target is float and own.kind == "f"):
            return arguments[0]
        if own.kind == "c" and dtype.kind != "c":
            raise frame.wrong(
                node, english("{code}: a complex number has no {dtype}; use .real", code=ast.unparse(node), dtype=dtype)
            )
        return cast(arguments[0], dtype)

    return Rule(run, 1, 1)


def _float_of(frame: Frame, node: ast.Call, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise frame.wrong(node, english("{code} is no number", code=ast.unparse(node))) from None


# -- builtins


def _most(keep: type[ast.cmpop], frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    """Return the largest or smallest of several numbers, or of those of a tuple or a range."""
    if len(arguments) == 1 and isinstance(arguments[0], Range):
        (numbers,) = arguments
        if not np.broadcast_to(numbers.length, frame.mask.lanes.shape)[frame.mask.lanes].all():
            what = english(
                "{code}: the range is empty in some threads, which end there; ask for its len first",
                code=ast.unparse(node),
            )
            raise frame.wrong(node, what)
        arguments = [numbers.start, numbers.last]
    return _extreme(keep, *arguments)


def _extreme(keep: type[ast.cmpop], *arguments: Value) -> Value:
    _no_vector(arguments[0])
    values = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], tuple) else arguments
    both = reduce(unify, map(dtype_of, values))
    floats = len(values) == 2 and all(dtype_of(value).kind == "f" for value in values)

    def pick(left: Value, right: Value) -> Value:
        if floats:  # one instruction of CUDA, in which a number wins over NaN
            return (np.fmax if keep is ast.Gt else np.fmin)(left, right)
        test = binary(keep, right, left)
        if isinstance(test, np.ndarray):
            return np.where(test, np.asarray(right, both), np.asarray(left, both))
        return right if test else left

    return reduce(pick, [cast(value, both) for value in values])


def _abs(x: Value) -> Value:
    if dtype_of(x).kind == "c":  # as the device does; what NumPy does depends on the processor
        return np.hypot(x.real, x.imag)
    return np.abs(cast(x, INT8) if dtype_of(x) == BOOL else x)


def _len(x: Value) -> Value:
    _no_vector(x)
    if isinstance(x, View) and x.ndim:
        return x.shape[0]
    if isinstance(x, Flat):
        return x.size
    if isinstance(x, str | Texts):
        return of_texts(len, x)
    if isinstance(x, tuple):
        return len(x)
    if isinstance(x, Range):
        return x.length
    if isinstance(x, Optional):
        raise NothingHereError
    raise NotAScalarError(english("what has no length"))


def _no_vector(value: Value) -> None:
    if isinstance(value, Vector):
        raise NotAScalarError(english("a vector"))


def _tuple(x: Value) -> Value:
    _no_vector(x)
    if not isinstance(x, tuple):
        raise NotAScalarError(english("what is no tuple"))
    return x


def _ord(x: Value) -> Value:
    if not (isinstance(x, str) and len(x) == 1):
        raise NotAScalarError(english("what is no single letter"))
    return ord(x)


def _round(x: Value, digits: Value = None) -> Value:
    dtype = dtype_of(x)
    if digits is None:
        return cast(np.rint(cast(x, FLOAT64)), INT64)
    rounded = _round_to(np.asarray(cast(x, FLOAT64)), np.asarray(cast(digits, INT64)))
    return cast(rounded[()], FLOAT32 if dtype == FLOAT16 else dtype)


def _round_to(x: Any, digits: Any) -> Any:
    """Round to digits as numba-cuda does, halves to even; what would overflow stays as it is."""
    first, second = powers_of_ten(digits)
    scaled = np.where(digits >= 0, x * first * second, x / first)
    whole = np.rint(scaled)
    back = np.where(digits >= 0, whole / second / first, whole * first)
    return np.where(np.isfinite(scaled), back, x)


def powers_of_ten(digits: Any) -> tuple[Any, Any]:
    """Return the two powers by which a number is multiplied, or divided by the first, before it is rounded."""
    beyond = np.maximum(digits - _EXACT_POWER, 0)
    return 10.0 ** (np.abs(digits) - beyond).astype(np.float64), 10.0 ** beyond.astype(np.float64)


def _sum(items: Value, start: Value = 0) -> Value:
    _no_vector(items)
    if isinstance(items, Range):
        return binary(ast.Add, start, items.total)
    if not isinstance(items, tuple):
        raise NotAScalarError(english("what is no tuple"))
    return reduce(partial(binary, ast.Add), items, start)


def _complex(real: Value, *imaginary: Value) -> Value:
    if dtype_of(real).kind == "c":
        return real
    single = all(dtype_of(part) == FLOAT32 for part in (real, *imaginary))
    part = FLOAT32 if single else FLOAT64
    return ufuncs.complex_of(cast(real, part), cast(imaginary[0] if imaginary else 0.0, part))


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


def _nothing(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    return None


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
    "builtins.sum": ("iterable", "start"),
    **dict.fromkeys(("cuda.grid", "cuda.gridsize"), ("ndim",)),
    **{f"cuda.syncthreads_{name}": ("predicate",) for name in ("count", "and", "or")},
    "cuda.shfl_sync": ("mask", "value", "src_lane"),
    **{f"cuda.shfl_{way}_sync": ("mask", "value", "delta") for way in ("up", "down")},
    "cuda.shfl_xor_sync": ("mask", "value", "lane_mask"),
}

_EXACT_POWER = 22  # 10**22 is the highest power of ten that a float64 holds exactly

ARRAYS = ("cuda.shared.array", "cuda.local.array")  # declared, not called
CALLS: dict[str, Rule] = {
    "builtins.abs": plain(_abs, 1),
    "builtins.breakpoint": Rule(_nothing, 0, 0),
    "builtins.complex": plain(_complex, 1, 2),
    "builtins.divmod": plain(lambda x, y: (binary(ast.FloorDiv, x, y), binary(ast.Mod, x, y)), 2),
    "builtins.len": plain(_len, 1),
    "builtins.max": Rule(partial(_most, ast.Gt), 1, 64),
    "builtins.ord": plain(_ord, 1),
    "builtins.tuple": plain(_tuple, 1),
    "builtins.min": Rule(partial(_most, ast.Lt), 1, 64),
    "builtins.pow": plain(partial(binary, ast.Pow), 2),
    "builtins.round": plain(_round, 1, 2),
    "builtins.slice": plain(slice, 1, 3),
    "builtins.sum": plain(_sum, 1, 2),
    "cuda.grid": Rule(_grid, 1, 1),
    "cuda.gridsize": Rule(_gridsize, 1, 1),
    "cuda.syncthreads": Rule(_syncthreads, 0, 0),
    **{name: Rule(partial(_fence, name.endswith("block")), 0, 0) for name in FENCES},
    "cuda.const.array_like": Rule(_array_like, 1, 1),
    "cuda.cg.this_grid": Rule(lambda frame, node, arguments: Grid(), 0, 0),
    "cuda.literal_unroll": Rule(_unrolled, 1, 1),
    "cuda.atomic.cas": Rule(compare_and_swap, 4, 4),
    "cuda.atomic.compare_and_swap": Rule(compare_and_swap, 3, 3),
}
CALLS |= warp.CALLS | intrinsics.CALLS | half.CALLS | libdevice.CALLS | vectors.CALLS | ufuncs.CALLS | ufuncs.OF_NUMBERS
CALLS |= hints.CALLS | output.CALLS | ranges.CALLS
CALLS |= {f"cuda.atomic.{name}": Rule(partial(atomic, name), 3, 3) for name in ATOMICS}
CALLS |= {name: plain(function, 1) for name, function in mathematics.UNARY.items()}
CALLS |= {name: plain(function, 2) for name, function in mathematics.BINARY.items()}
