"""Comparing, choosing, and converting."""

from collections.abc import Callable
from typing import Any

import numpy as np

from smemviz.engines.lockstep.ptx.code.module import (
    DTYPES,
    Instruction,
    Pair,
    PtxError,
    Value,
    as_bf16,
    as_tf32,
    from_bf16,
)
from smemviz.engines.lockstep.ptx.instructions import small_floats
from smemviz.engines.lockstep.ptx.instructions.arithmetic import ROUNDED, Family, simple
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.registers import Action, own, read, write
from smemviz.engines.lockstep.values.rounding import directed

_COMPARE: dict[str, Callable[[Value, Value], Value]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}
_COMBINE: dict[str, Callable[[Value, Value], Value]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}
_ROUNDING = {"n": np.rint, "z": np.trunc, "m": np.floor, "p": np.ceil}


def comparison(name: str, kind: str) -> Callable[[Value, Value], Value]:
    """Return a comparison of two values of a type by its name in PTX."""
    if name == "num":
        return lambda a, b: ~(np.isnan(a) | np.isnan(b))
    if name == "nan":
        return lambda a, b: np.isnan(a) | np.isnan(b)
    is_float = DTYPES[kind].kind == "f" or kind == "bf16"
    if is_float and name.endswith("u"):
        inner = _COMPARE[name[:-1]]
        return lambda a, b: inner(a, b) | np.isnan(a) | np.isnan(b)
    if is_float and name == "ne":
        return lambda a, b: (a != b) & ~(np.isnan(a) | np.isnan(b))
    return _COMPARE[name]


def _set_predicate(kernel: Kernel, instruction: Instruction) -> Action:
    kind = instruction.type
    if kind in ("f16x2", "bf16x2"):
        raise PtxError(f"{instruction.text} is not executed", instruction.place)
    compare = comparison(instruction.words[1], kind)
    a, b = (read(kernel, operand, kind) for operand in instruction.operands[1:3])
    other = read(kernel, instruction.operands[3], "pred") if len(instruction.operands) > 3 else None
    combine = _COMBINE.get(instruction.words[2])
    to = instruction.operands[0]
    pair = isinstance(to, Pair)
    put = write(kernel, to.first if isinstance(to, Pair) else to, "pred")
    put_not = write(kernel, to.second, "pred") if isinstance(to, Pair) else None
    widen = from_bf16 if kind == "bf16" else (lambda value: value)

    def run(m: Machine) -> None:
        holds = compare(widen(a(m)), widen(b(m)))
        opposite = np.logical_not(holds) if pair else None
        if combine and other:
            also = other(m)
            holds = combine(holds, also)
            opposite = combine(opposite, also) if pair else None
        put(m, holds)
        if put_not:
            put_not(m, opposite)

    return run


def _plain(value: Value) -> Value:
    """Return a NumPy scalar for an array without axes."""
    return value[()]


def _set(kernel: Kernel, instruction: Instruction) -> Action:
    result, kind = instruction.types[0], instruction.types[-1]
    compare, dtype = comparison(instruction.words[1], kind), DTYPES[result]
    a, b = (read(kernel, operand, kind) for operand in instruction.operands[1:3])
    put = write(kernel, instruction.operands[0], result)
    yes = dtype.type(1) if dtype.kind == "f" else np.uint32(0xFFFFFFFF).view(dtype)
    return lambda m: put(m, _plain(np.where(compare(a(m), b(m)), yes, dtype.type(0)).astype(dtype)))


def _select(kernel: Kernel, instruction: Instruction) -> Action:
    a, b = (read(kernel, operand, instruction.type) for operand in instruction.operands[1:3])
    test, put = read(kernel, instruction.operands[3], "pred"), write(kernel, instruction.operands[0], instruction.type)

    def run(m: Machine) -> None:
        chosen = test(m)
        put(m, np.where(chosen, a(m), b(m)) if chosen.ndim else own(a(m) if chosen else b(m)))

    return run


def _select_by_sign(kernel: Kernel, instruction: Instruction) -> Action:
    kind, by = instruction.types[0], instruction.types[-1]
    a, b = (read(kernel, operand, kind) for operand in instruction.operands[1:3])
    sign, put = read(kernel, instruction.operands[3], by), write(kernel, instruction.operands[0], kind)
    return lambda m: put(m, _plain(np.where(sign(m) >= 0, a(m), b(m))))


def _test(kernel: Kernel, instruction: Instruction) -> Action:
    tests: dict[str, Callable[[Value], Value]] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "notanumber": np.isnan,
        "number": lambda v: ~np.isnan(v),
        "normal": lambda v: np.isfinite(v) & (np.abs(v) >= np.finfo(v.dtype).tiny),
        "subnormal": lambda v: (v != 0) & (np.abs(v) < np.finfo(v.dtype).tiny),
    }
    return simple(kernel, instruction, tests[instruction.one_of(*tests)], instruction.type, "pred")


def _convert(kernel: Kernel, instruction: Instruction) -> Action:
    if small_floats.converts(instruction):
        return small_floats.convert(kernel, instruction)
    if len(instruction.types) < 2:
        raise PtxError(f"{instruction.text} is not executed", instruction.place)
    to, source = instruction.types[0], instruction.types[1]
    rounding = next((w for w in instruction.words if len(w) in (2, 3) and w[0] == "r" and w[1] in "nzmpa"), "")
    if to in ("f16x2", "bf16x2"):
        return _convert_two(kernel, instruction, to)
    value = read(kernel, instruction.operands[1], "b16" if source == "bf16" else source)
    put = write(kernel, instruction.operands[0], {"bf16": "b16", "tf32": "b32"}.get(to, to))
    dtype, source_dtype = DTYPES[to], DTYPES[source]
    function: Callable[[Value], Value]
    if source == "bf16":
        wide: Callable[[Value], Value] = from_bf16
        function = lambda v: wide(v).astype(np.float32)  # noqa: E731
        source_dtype = np.dtype(np.float32)
    else:
        function = lambda v: v  # noqa: E731
    last: Callable[[Value], Value]
    if to == "tf32":
        last = lambda v: as_tf32(v).view(np.uint32)  # noqa: E731
    elif to == "bf16":
        narrow = _narrowing(to, rounding)
        last = lambda v: narrow(v.astype(np.float32))  # noqa: E731
    elif source_dtype.kind == "f" and dtype.kind in "iu":
        last = _to_integer(dtype, rounding)
    elif source_dtype.kind == "f" and rounding.endswith("i"):
        last = lambda v: _ROUNDING[rounding[1]](v).astype(dtype)  # noqa: E731
    elif instruction.has("sat") and dtype.kind == "f":
        last = lambda v: np.clip(np.nan_to_num(v, nan=0.0), 0, 1).astype(dtype)[()]  # noqa: E731
    elif instruction.has("sat"):
        limits = np.iinfo(dtype)
        last = lambda v: np.clip(v.astype(np.int64), limits.min, limits.max).astype(dtype)[()]  # noqa: E731
    elif to == "f16" and source_dtype.itemsize > 2 and rounding != "rn":
        last = _narrowing(to, rounding)
    elif dtype in (np.float32, np.float64) and rounding in ROUNDED:
        last = lambda v: directed("cvt", ROUNDED[rounding], v.astype(dtype), v)[()]  # noqa: E731
    else:
        last = lambda v: v.astype(dtype)  # noqa: E731
    relu = instruction.has("relu")
    return lambda m: put(m, last(np.maximum(function(value(m)), 0) if relu else function(value(m))))


def _to_integer(dtype: Any, rounding: str) -> Callable[[Value], Value]:
    """Return a conversion that keeps to the nearest number there is, 0 for what is none."""
    limits = np.iinfo(dtype)
    turn = _ROUNDING[rounding[1] if rounding else "z"]

    def run(value: Value) -> Value:
        whole = turn(value.astype(np.float64))
        above, below = whole >= float(limits.max), whole <= float(limits.min)
        plain = np.where(above | below | np.isnan(whole), 0, whole).astype(dtype)
        return np.where(above, limits.max, np.where(below, limits.min, plain)).astype(dtype)[()]

    return run


def _convert_two(kernel: Kernel, instruction: Instruction, to: str) -> Action:
    high, low = (read(kernel, operand, "f32") for operand in instruction.operands[1:3])
    put = write(kernel, instruction.operands[0], "b32")
    narrow = _narrowing(to[:-2], next((word for word in instruction.words if word in ("rz", "rm", "rp")), "rn"))

    def bits(value: Value) -> Value:
        return narrow(np.maximum(value, 0) if relu else value).view(np.uint16).astype(np.uint32)

    relu = instruction.has("relu")
    return lambda m: put(m, (bits(high(m)) << np.uint32(16)) | bits(low(m)))


def _narrowing(kind: str, rounding: str) -> Callable[[Value], Value]:
    """Return a conversion to ``f16``, or to the bits of ``bf16``, that rounds as it says."""
    if rounding not in ("rz", "rm", "rp"):
        return as_bf16 if kind == "bf16" else lambda v: v.astype(np.float16)

    def directed_bfloat(value: Value) -> Value:
        bits = value.view(np.uint32)
        away = (bits & 0xFFFF > 0) & {"rz": np.False_, "rm": bits >> 31 == 1, "rp": bits >> 31 == 0}[rounding]
        return np.where(np.isnan(value), 0x7FFF, (bits >> 16) + away).astype(np.uint16)[()]

    def directed_half(value: Value) -> Value:
        half = value.astype(np.float16)
        wide = half.astype(value.dtype)
        beyond = {"rz": np.abs(wide) > np.abs(value), "rm": wide > value, "rp": wide < value}[rounding]
        to = {"rz": 0, "rm": -np.inf, "rp": np.inf}[rounding]
        return np.where(beyond, np.nextafter(half, np.float16(to)), half)[()]

    return directed_bfloat if kind == "bf16" else directed_half


FAMILY: Family = {
    "setp": _set_predicate,
    "set": _set,
    "selp": _select,
    "slct": _select_by_sign,
    "testp": _test,
    "cvt": _convert,
}
