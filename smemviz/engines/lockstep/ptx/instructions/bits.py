"""Moves, logic, shifts, and bits of integers."""

from collections.abc import Callable

import numpy as np

from smemviz.engines.lockstep.ptx.code.module import (
    DTYPES,
    SIZES,
    UNSIGNED,
    Group,
    Instruction,
    Number,
    PtxError,
    Value,
)
from smemviz.engines.lockstep.ptx.instructions.arithmetic import Family, simple
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.registers import Action, own, read, write


def _move(kernel: Kernel, instruction: Instruction) -> Action:
    kind = instruction.type
    to, source = instruction.operands
    if isinstance(to, Group):
        return _unpack(kernel, instruction, to)
    if isinstance(source, Group):
        return _pack(kernel, instruction, source)
    value, put = read(kernel, source, kind), write(kernel, to, kind)
    return lambda m: put(m, own(value(m)))


def _unpack(kernel: Kernel, instruction: Instruction, to: Group) -> Action:
    size = SIZES[instruction.type] // len(to.items)
    value, unsigned = read(kernel, instruction.operands[1], f"b{8 * SIZES[instruction.type]}"), UNSIGNED[size]
    puts = [write(kernel, item, f"b{8 * size}") for item in to.items]

    def run(m: Machine) -> None:
        whole = value(m)
        for number, put in enumerate(puts):
            put(m, (whole >> whole.dtype.type(8 * size * number)).astype(unsigned))

    return run


def _pack(kernel: Kernel, instruction: Instruction, source: Group) -> Action:
    size = SIZES[instruction.type] // len(source.items)
    parts = [read(kernel, item, f"b{8 * size}") for item in source.items]
    put = write(kernel, instruction.operands[0], f"b{8 * SIZES[instruction.type]}")
    wide = UNSIGNED[SIZES[instruction.type]]

    def run(m: Machine) -> None:
        whole = parts[0](m).astype(wide)
        for number, part in enumerate(parts[1:], 1):
            whole = whole | (part(m).astype(wide) << wide.type(8 * size * number))
        put(m, whole)

    return run


def _logic(kernel: Kernel, instruction: Instruction) -> Action:
    functions: dict[str, Callable[..., Value]] = {
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "not": np.logical_not if instruction.type == "pred" else np.invert,
        "cnot": lambda a: (a == 0).astype(a.dtype),
    }
    return simple(kernel, instruction, functions[instruction.opcode])


def _shift(kernel: Kernel, instruction: Instruction) -> Action:
    dtype = DTYPES[instruction.type]
    bits = 8 * dtype.itemsize
    value = read(kernel, instruction.operands[1], instruction.type)
    put = write(kernel, instruction.operands[0], instruction.type)
    left = instruction.opcode == "shl"
    fixed = instruction.operands[2]
    if isinstance(fixed, Number) and 0 <= fixed.value < bits:
        by = dtype.type(fixed.value)
        if left:
            return lambda m: put(m, value(m) << by)
        return lambda m: put(m, value(m) >> by)
    amount = read(kernel, fixed, "u32")

    def run(m: Machine) -> None:
        by, what = amount(m), value(m)
        inside = np.minimum(by, np.uint32(bits - 1)).astype(dtype)
        if left or dtype.kind == "u":
            moved = what << inside if left else what >> inside
            put(m, np.where(by < bits, moved, dtype.type(0)).astype(dtype)[()])
        else:
            put(m, what >> inside)

    return run


def _funnel_shift(kernel: Kernel, instruction: Instruction) -> Action:
    low, high, amount = (read(kernel, operand, "u32") for operand in instruction.operands[1:4])
    put, left, wraps = write(kernel, instruction.operands[0], "b32"), instruction.has("l"), instruction.has("wrap")

    def run(m: Machine) -> None:
        by = amount(m)
        by = (by & np.uint32(31)) if wraps else np.minimum(by, np.uint32(32))
        both = (high(m).astype(np.uint64) << np.uint64(32)) | low(m)
        by = by.astype(np.uint64)
        put(m, (((both << by) >> np.uint64(32)) if left else (both >> by)).astype(np.uint32))

    return run


def _three_way(kernel: Kernel, instruction: Instruction) -> Action:
    """``lop3``: any function of three bits, by its table."""
    *sources, table = instruction.operands[1:5]
    if not isinstance(table, Number) or instruction.has("BOOL"):
        raise PtxError(f"{instruction.text} is not executed", instruction.place)
    a, b, c = (read(kernel, operand, "b32") for operand in sources)
    put, rows = write(kernel, instruction.operands[0], "b32"), [row for row in range(8) if table.value >> row & 1]

    def run(m: Machine) -> None:
        x, y, z = a(m), b(m), c(m)
        result = np.uint32(0)
        for row in rows:
            result = result | ((x if row & 4 else ~x) & (y if row & 2 else ~y) & (z if row & 1 else ~z))
        put(m, result if rows else (x ^ x))

    return run


def _bit_length(value: Value) -> Value:
    """Return how many bits unsigned numbers have."""
    length = np.zeros(value.shape, np.uint32)
    rest = value.astype(np.uint64)
    for step in (32, 16, 8, 4, 2, 1):
        big = rest >> np.uint64(step) != 0
        length = length + np.where(big, np.uint32(step), np.uint32(0))
        rest = np.where(big, rest >> np.uint64(step), rest)
    return (length + (rest != 0)).astype(np.uint32)[()]


def _count(kernel: Kernel, instruction: Instruction) -> Action:
    unsigned = "u" + instruction.type[1:]
    bits = 8 * SIZES[instruction.type]
    if instruction.opcode == "popc":
        return simple(kernel, instruction, lambda a: np.bitwise_count(a).astype(np.uint32), unsigned, "b32")
    if instruction.opcode == "clz":
        return simple(kernel, instruction, lambda a: np.uint32(bits) - _bit_length(a), unsigned, "b32")
    signed, shifted = instruction.type[0] == "s", instruction.has("shiftamt")

    def highest(a: Value) -> Value:
        if signed:
            a = np.where(a.view(DTYPES[instruction.type]) < 0, ~a, a).astype(a.dtype)[()]
        length = _bit_length(a)
        place = np.uint32(bits) - length if shifted else length - np.uint32(1)
        return np.where(length == 0, np.uint32(0xFFFFFFFF), place).astype(np.uint32)[()]

    return simple(kernel, instruction, highest, unsigned, "u32")


def _reverse(kernel: Kernel, instruction: Instruction) -> Action:
    masks = {1: 0x5555555555555555, 2: 0x3333333333333333, 4: 0x0F0F0F0F0F0F0F0F}

    def run(a: Value) -> Value:
        for step, mask in masks.items():
            ones = np.array(mask & (1 << 8 * a.dtype.itemsize) - 1, np.uint64).astype(a.dtype)
            by = a.dtype.type(step)
            a = ((a >> by) & ones) | ((a & ones) << by)
        return a.byteswap()

    return simple(kernel, instruction, run)


def _extract(kernel: Kernel, instruction: Instruction) -> Action:
    dtype = DTYPES[instruction.type]
    bits = 8 * dtype.itemsize
    value = read(kernel, instruction.operands[1], instruction.type)
    put = write(kernel, instruction.operands[0], instruction.type)
    at, size = (read(kernel, operand, "u32") for operand in instruction.operands[2:4])

    def run(m: Machine) -> None:
        start, length = ((x & np.uint32(255)).astype(np.uint64) for x in (at(m), size(m)))
        raw = value(m).view(UNSIGNED[dtype.itemsize]).astype(np.uint64)
        inside = np.where(start < bits, raw >> np.minimum(start, np.uint64(63)), np.uint64(0))
        mask = _ones(length)
        field = inside & mask
        if dtype.kind == "i":
            last = np.minimum(start + length - np.uint64(1), np.uint64(bits - 1))
            negative = (length > 0) & ((raw >> np.minimum(last, np.uint64(63))) & np.uint64(1) == 1)
            field = np.where(
                negative,
                field | ~_ones(np.minimum(length, np.uint64(bits) - np.minimum(start, np.uint64(bits)))),
                field,
            )
        put(m, field.astype(UNSIGNED[dtype.itemsize]).view(dtype)[()])

    return run


def _insert(kernel: Kernel, instruction: Instruction) -> Action:
    dtype = DTYPES[instruction.type]
    a, b = (read(kernel, operand, instruction.type) for operand in instruction.operands[1:3])
    at, size = (read(kernel, operand, "u32") for operand in instruction.operands[3:5])
    put = write(kernel, instruction.operands[0], instruction.type)

    def run(m: Machine) -> None:
        start, length = ((x & np.uint32(255)).astype(np.uint64) for x in (at(m), size(m)))
        near = np.minimum(start, np.uint64(63))
        mask = np.where(start < 64, _ones(length) << near, np.uint64(0))
        merged = (b(m).astype(np.uint64) & ~mask) | ((a(m).astype(np.uint64) << near) & mask)
        put(m, merged.astype(dtype)[()])

    return run


def _ones(length: Value) -> Value:
    """Return as many bits set, 64 at most."""
    unit = np.uint64(1)
    return np.where(length >= 64, ~np.uint64(0), (unit << np.minimum(length, np.uint64(63))) - unit)


def _permute(kernel: Kernel, instruction: Instruction) -> Action:
    if instruction.words[-1] != "b32":
        raise PtxError(f"{instruction.text} is not executed", instruction.place)
    low, high, choice = (read(kernel, operand, "u32") for operand in instruction.operands[1:4])
    put = write(kernel, instruction.operands[0], "b32")

    def run(m: Machine) -> None:
        both, chosen = (high(m).astype(np.uint64) << np.uint64(32)) | low(m), choice(m)
        result: Value = np.uint64(0)
        for number in range(4):
            which = (chosen >> np.uint32(4 * number)) & np.uint32(15)
            byte = (both >> ((which & np.uint32(7)).astype(np.uint64) * np.uint64(8))) & np.uint64(255)
            sign = np.where(byte & np.uint64(128), np.uint64(255), np.uint64(0))
            result = result | (np.where(which & np.uint32(8), sign, byte) << np.uint64(8 * number))
        put(m, result.astype(np.uint32)[()])

    return run


FAMILY: Family = {
    "mov": _move,
    **dict.fromkeys(("and", "or", "xor", "not", "cnot"), _logic),
    **dict.fromkeys(("shl", "shr"), _shift),
    "shf": _funnel_shift,
    "lop3": _three_way,
    **dict.fromkeys(("popc", "clz", "bfind"), _count),
    "brev": _reverse,
    "bfe": _extract,
    "bfi": _insert,
    "prmt": _permute,
}
