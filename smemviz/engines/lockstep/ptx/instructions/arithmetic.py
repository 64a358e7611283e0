"""Arithmetic on integers and floats, and mathematical functions."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from smemviz.engines.lockstep.ptx.code.module import DTYPES, Instruction, PtxError, Value, as_bf16, from_bf16
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.registers import Action, read, write
from smemviz.engines.lockstep.values.rounding import EXACT, directed

ROUNDED = {"rz": "rz", "rm": "rd", "rp": "ru"}  # PTX's words, CUDA's names

Family = dict[str, Callable[[Kernel, Instruction], Action]]


def simple(
    kernel: Kernel, instruction: Instruction, function: Callable[..., Value], kind: str = "", result: str = ""
) -> Action:
    """Return an action that applies a function to the sources and writes what comes out."""
    kind = kind or instruction.type
    if not _takes(function, len(instruction.operands) - 1):
        raise PtxError(f"{instruction.text} is not executed", instruction.place)
    if kind in ("bf16", "bf16x2", "f16x2"):
        return _packed(kernel, instruction, function, kind)
    if kind in ("f32", "f64") and not instruction.has("sat"):
        function = _one_way(instruction, function)
    sources = [read(kernel, operand, kind) for operand in instruction.operands[1:]]
    put = write(kernel, instruction.operands[0], result or kind)
    if len(sources) == 1:
        (a,) = sources
        return lambda m: put(m, function(a(m)))
    if len(sources) == 2:
        a, b = sources
        return lambda m: put(m, function(a(m), b(m)))
    if len(sources) == 3:
        a, b, c = sources
        return lambda m: put(m, function(a(m), b(m), c(m)))
    raise PtxError(f"{instruction.text} is not executed", instruction.place)


def _takes(function: Callable[..., Value], sources: int) -> bool:
    if isinstance(function, np.ufunc):
        return function.nin == sources
    try:
        inspect.signature(function).bind(*range(sources))
    except TypeError:
        return False
    return True


def _one_way(instruction: Instruction, function: Callable[..., Value]) -> Callable[..., Value]:
    """Return a function of floats as an instruction rounds it: down, up or toward zero where that is written."""
    way = next((way for word, way in ROUNDED.items() if instruction.has(word)), "")
    name = {"mad": "fma"}.get(instruction.opcode, instruction.opcode)
    if not way or name not in EXACT:
        return function
    return lambda *values: directed(name, way, function(*values), *values)[()]


def _packed(kernel: Kernel, instruction: Instruction, function: Callable[..., Value], kind: str) -> Action:
    """Apply a function to halves: two in a register, or bfloat16, which NumPy does not have."""
    bits = "b16" if kind == "bf16" else "b32"
    sources = [read(kernel, operand, bits) for operand in instruction.operands[1:]]
    put = write(kernel, instruction.operands[0], bits)
    to_float: Callable[[Value], Value] = from_bf16
    from_float: Callable[[Value], Value] = as_bf16
    if kind == "f16x2":
        to_float, from_float = (lambda v: v.view(np.float16)), (lambda v: v.astype(np.float16).view(np.uint16))

    def parts(value: Value) -> list[Value]:
        if bits == "b16":
            return [to_float(value)]
        return [to_float(value.astype(np.uint16)), to_float((value >> np.uint32(16)).astype(np.uint16))]

    def run(m: Machine) -> None:
        results = [from_float(function(*each)) for each in zip(*(parts(source(m)) for source in sources), strict=True)]
        value = results[0]
        if len(results) == 2:
            value = results[0].astype(np.uint32) | (results[1].astype(np.uint32) << np.uint32(16))
        put(m, value)

    return run


def quotient(a: Value, b: Value) -> Value:
    """Divide integers as the GPU does: towards zero, all bits set for a division by zero."""
    dtype = np.result_type(a, b)
    divisor = np.where(b == 0, dtype.type(1), b)
    ratio = a // divisor
    if dtype.kind == "i":
        ratio = ratio + ((ratio * divisor != a) & ((a < 0) ^ (divisor < 0)))
    return np.where(b == 0, ~dtype.type(0), ratio).astype(dtype)[()]


def remainder(a: Value, b: Value) -> Value:
    """Return what ``quotient`` leaves."""
    return (a - quotient(a, b) * b).astype(np.result_type(a, b))


def high_part(a: Value, b: Value) -> Value:
    """Return the upper half of a product."""
    dtype = np.result_type(a, b)
    if dtype.itemsize == 8:
        wide = np.frompyfunc(lambda x, y: (int(x) * int(y) >> 64) & (1 << 64) - 1, 2, 1)(a, b)
        return np.asarray(wide).astype(np.uint64).view(dtype)[()]
    wider = np.dtype(f"{dtype.kind}{2 * dtype.itemsize}")
    return ((a.astype(wider) * b.astype(wider)) >> wider.type(8 * dtype.itemsize)).astype(dtype)


def _saturated(function: Callable[..., Value]) -> Callable[..., Value]:
    def run(*values: Value) -> Value:
        result = function(*values)
        # Not a number becomes 0.
        return np.clip(np.nan_to_num(result, nan=0.0), 0, 1).astype(result.dtype)[()]

    return run


def _add(kernel: Kernel, instruction: Instruction) -> Action:
    function: Callable[..., Value] = np.add if instruction.opcode == "add" else np.subtract
    if instruction.has("cc"):
        return _with_carry(kernel, instruction)
    if instruction.has("sat"):
        return simple(
            kernel, instruction, _saturated(function) if DTYPES[instruction.type].kind == "f" else _clamped(function)
        )
    return simple(kernel, instruction, function)


def _clamped(function: Callable[..., Value]) -> Callable[..., Value]:
    def run(a: Value, b: Value) -> Value:
        limits = np.iinfo(a.dtype)
        return np.clip(function(a.astype(np.int64), b.astype(np.int64)), limits.min, limits.max).astype(a.dtype)

    return run


def _with_carry(kernel: Kernel, instruction: Instruction) -> Action:
    """Add or subtract with the carry of the instruction before, or leaving one."""
    unsigned = "u" + instruction.type[1:]
    sources = [read(kernel, operand, unsigned) for operand in instruction.operands[1:]]
    put = write(kernel, instruction.operands[0], unsigned)
    opcode = instruction.opcode
    takes, leaves = opcode.endswith("c"), instruction.has("cc")
    slot = kernel.carry_slot

    def run(m: Machine) -> None:
        values = [source(m) for source in sources]
        zero = values[0].dtype.type(0)
        carried = m.pick(m.values[slot]).astype(zero.dtype) if takes else zero
        if opcode.startswith("sub"):
            a, b = values
            result = a - b - carried
            carry = (a < b) | ((a - b) < carried)
        else:
            a = values[0] * values[1] if opcode == "madc" or opcode == "mad" else values[0]
            if "hi" in instruction.words:
                a = high_part(values[0], values[1])
            b = values[-1]
            result = a + b + carried
            carry = ((a + b) < b) | (result < carried)
        put(m, result)
        if leaves:
            m.put(slot, np.asarray(carry)[()])

    return run


def _multiply(kernel: Kernel, instruction: Instruction) -> Action:
    if instruction.has("wide"):
        wide = _wider(instruction.type)
        to = DTYPES[wide]
        return simple(kernel, instruction, lambda a, b: a.astype(to) * b.astype(to), instruction.type, wide)
    if instruction.has("hi"):
        return simple(kernel, instruction, high_part)
    return simple(kernel, instruction, _saturated(np.multiply) if instruction.has("sat") else np.multiply)


def _multiply_add(kernel: Kernel, instruction: Instruction) -> Action:
    if instruction.opcode == "madc" or instruction.has("cc"):
        return _with_carry(kernel, instruction)
    kind = instruction.type
    if instruction.has("wide"):
        wide = _wider(kind)
        to = DTYPES[wide]
        a, b = (read(kernel, operand, kind) for operand in instruction.operands[1:3])
        c, put = read(kernel, instruction.operands[3], wide), write(kernel, instruction.operands[0], wide)
        return lambda m: put(m, a(m).astype(to) * b(m).astype(to) + c(m))
    if instruction.has("hi"):
        return simple(kernel, instruction, lambda a, b, c: high_part(a, b) + c)
    function: Callable[..., Value] = lambda a, b, c: a * b + c  # noqa: E731
    if instruction.opcode == "fma":
        function = _fused(kind)
    if instruction.has("sat"):
        function = _saturated(function)
    if instruction.has("relu"):
        inner = function
        function = lambda a, b, c: np.maximum(inner(a, b, c), 0).astype(a.dtype)  # noqa: E731
    return simple(kernel, instruction, function)


def _fused(kind: str) -> Callable[..., Value]:
    """Return a product and sum that are rounded once."""
    if kind in ("f16", "f16x2", "bf16", "bf16x2"):  # two halves' product, and what is added to it, are exact
        return lambda a, b, c: (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(a.dtype)
    return _fused_floats


def _fused_floats(a: Value, b: Value, c: Value) -> Value:
    from smemviz.engines.lockstep.values.fused import fused

    return fused(a, b, c)


def _wider(kind: str) -> str:
    return f"{kind[0]}{2 * int(kind[1:])}"


def _divide(kernel: Kernel, instruction: Instruction) -> Action:
    return simple(kernel, instruction, np.divide if DTYPES[instruction.type].kind == "f" else quotient)


def _extreme(kernel: Kernel, instruction: Instruction) -> Action:
    least = instruction.opcode == "min"
    is_float = instruction.type in ("f16", "f32", "f64", "f16x2", "bf16", "bf16x2")
    if instruction.has("NaN"):
        is_float = False  # NumPy's minimum gives a NaN where there is one
    function: Any = (np.fmin if least else np.fmax) if is_float else (np.minimum if least else np.maximum)
    if len(instruction.operands) == 4:
        return simple(kernel, instruction, lambda a, b, c: function(function(a, b), c))
    return simple(kernel, instruction, function)


def _function(function: Callable[[Value], Value]) -> Callable[[Kernel, Instruction], Action]:
    def build(kernel: Kernel, instruction: Instruction) -> Action:
        return simple(kernel, instruction, lambda a: function(a).astype(a.dtype))

    return build


def _difference(a: Value, b: Value, c: Value) -> Value:
    return np.where(a > b, a - b, b - a).astype(a.dtype)[()] + c


def _dot(kernel: Kernel, instruction: Instruction) -> Action:
    """Sum the products of four bytes, or of two halves with two bytes."""
    first, second = instruction.types[-2:]
    signed = "s32" if "s" in first[0] + second[0] else "u32"
    a, b = read(kernel, instruction.operands[1], "b32"), read(kernel, instruction.operands[2], "b32")
    c, put = read(kernel, instruction.operands[3], signed), write(kernel, instruction.operands[0], signed)
    halves = instruction.opcode == "dp2a"

    def piece(value: Value, kind: str, number: int, bits: int) -> Value:
        part = (value >> np.uint32(bits * number)).astype(np.dtype(f"{'i' if kind[0] == 's' else 'u'}{bits // 8}"))
        return part.astype(DTYPES[signed])

    def run(m: Machine) -> None:
        x, y, total = a(m), b(m), c(m)
        for number in range(2 if halves else 4):
            other = number + 2 * instruction.has("hi") if halves else number
            total = total + piece(x, first, number, 16 if halves else 8) * piece(y, second, other, 8)
        put(m, total)

    return run


def _multiply_24(kernel: Kernel, instruction: Instruction) -> Action:
    """Multiply the lower 24 bits of each factor; of the 48 bits that come out, take the lower or the upper 32."""
    if instruction.has("sat"):
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    dtype = DTYPES[instruction.type]
    wide = np.dtype(np.int64 if dtype.kind == "i" else np.uint64)
    up, down = wide.type(40), wide.type(16 if instruction.has("hi") else 0)

    def product(a: Value, b: Value, *c: Value) -> Value:
        a, b = (((value.astype(wide) << up) >> up) for value in (a, b))
        return sum(c, ((a * b) >> down).astype(dtype))

    return simple(kernel, instruction, product)


FAMILY: Family = {
    **dict.fromkeys(("add", "sub"), _add),
    **dict.fromkeys(("addc", "subc"), _with_carry),
    "mul": _multiply,
    **dict.fromkeys(("mad", "madc", "fma"), _multiply_add),
    **dict.fromkeys(("mul24", "mad24"), _multiply_24),
    "div": _divide,
    "rem": lambda kernel, instruction: simple(kernel, instruction, remainder),
    **dict.fromkeys(("min", "max"), _extreme),
    "neg": lambda kernel, instruction: simple(kernel, instruction, np.negative),
    "abs": lambda kernel, instruction: simple(kernel, instruction, np.abs),
    "copysign": lambda kernel, instruction: simple(kernel, instruction, lambda sign, size: np.copysign(size, sign)),
    "sad": lambda kernel, instruction: simple(kernel, instruction, _difference),
    **dict.fromkeys(("dp4a", "dp2a"), _dot),
    "ex2": _function(np.exp2),
    "lg2": _function(np.log2),
    "sin": _function(np.sin),
    "cos": _function(np.cos),
    "tanh": _function(np.tanh),
    "sqrt": _function(np.sqrt),
    "rcp": _function(lambda a: a.dtype.type(1) / a),
    "rsqrt": _function(lambda a: a.dtype.type(1) / np.sqrt(a)),
}
