"""How compiled kernels move and change bits: an emitter for each opcode."""

from typing import Any

from llvmlite import ir

from smemviz.engines.lockstep.ptx.code.module import SIZES, Group, Instruction, Number
from smemviz.engines.lockstep.ptx.compiled.emitter import Emit, Emitter
from smemviz.engines.lockstep.ptx.compiled.numbers import of_builder, of_intrinsic, simple
from smemviz.engines.lockstep.ptx.compiled.state_ir import BIT, LONG, WORD, NotCompiledError, constant, vector


def _move(e: Emitter, instruction: Instruction) -> None:
    kind = instruction.type
    to, source = instruction.operands
    bits = 8 * SIZES[kind]
    if isinstance(to, Group):
        value, part = e.read(source, f"b{bits}"), bits // len(to.items)
        for number, item in enumerate(to.items):
            piece = e.b.lshr(value, constant(value.type, part * number))
            e.write(item, f"b{part}", e.b.trunc(piece, vector(ir.IntType(part))))
    elif isinstance(source, Group):
        part, whole = bits // len(source.items), vector(ir.IntType(bits))
        value = constant(whole, 0)
        for number, item in enumerate(source.items):
            piece = e.b.zext(e.read(item, f"b{part}"), whole)
            value = e.b.or_(value, e.b.shl(piece, constant(whole, part * number)))
        e.write(to, kind, value)
    else:
        e.write(to, kind, e.read(source, kind))


def _shift(e: Emitter, instruction: Instruction) -> None:
    kind = instruction.type
    bits = 8 * SIZES[kind]
    value, amount = e.read(instruction.operands[1], kind), e.read(instruction.operands[2], "u32")
    inside = e.b.icmp_unsigned("<", amount, constant(WORD, bits))
    by = e.b.select(inside, amount, constant(WORD, bits - 1))
    by = e.b.zext(by, value.type) if bits > 32 else e.b.trunc(by, value.type) if bits < 32 else by
    if instruction.opcode == "shr" and kind[0] == "s":
        result = e.b.ashr(value, by)
    else:
        moved = e.b.shl(value, by) if instruction.opcode == "shl" else e.b.lshr(value, by)
        result = e.b.select(inside, moved, constant(value.type, 0))
    e.write(instruction.operands[0], kind, result)


def _funnel_shift(e: Emitter, instruction: Instruction) -> None:
    low, high, by = (e.read(operand, "u32") for operand in instruction.operands[1:4])
    whole = vector(LONG)
    if instruction.has("wrap"):
        by = e.b.and_(by, constant(WORD, 31))
    else:
        by = e.b.select(e.b.icmp_unsigned("<", by, constant(WORD, 32)), by, constant(WORD, 32))
    both = e.b.or_(e.b.shl(e.b.zext(high, whole), constant(whole, 32)), e.b.zext(low, whole))
    by = e.b.zext(by, whole)
    left = instruction.has("l")
    result = e.b.lshr(e.b.shl(both, by), constant(whole, 32)) if left else e.b.lshr(both, by)
    e.write(instruction.operands[0], "b32", e.b.trunc(result, vector(WORD)))


def _three_way(e: Emitter, instruction: Instruction) -> None:
    *sources, table = instruction.operands[1:5]
    if not isinstance(table, Number) or instruction.has("BOOL"):
        raise NotCompiledError(instruction.text)
    values = [e.read(operand, "b32") for operand in sources]
    result = constant(WORD, 0)
    for row in range(8):
        if table.value >> row & 1:
            a, b, c = (value if row & bit else e.b.not_(value) for value, bit in zip(values, (4, 2, 1), strict=True))
            result = e.b.or_(result, e.b.and_(e.b.and_(a, b), c))
    e.write(instruction.operands[0], "b32", result)


def _leading_zeros(e: Emitter, value: Any) -> Any:
    return e.intrinsic("ctlz", value, flags=[BIT(0)])


def _count(e: Emitter, instruction: Instruction) -> None:
    kind = instruction.type
    value = e.read(instruction.operands[1], kind)
    width = value.type.element.width
    if instruction.opcode == "popc":
        result = e.intrinsic("ctpop", value)
    elif instruction.opcode == "clz":
        result = _leading_zeros(e, value)
    else:
        if kind[0] == "s":
            value = e.b.select(e.b.icmp_signed("<", value, constant(value.type, 0)), e.b.not_(value), value)
        zeros = _leading_zeros(e, value)
        place = zeros if instruction.has("shiftamt") else e.b.sub(constant(value.type, width - 1), zeros)
        none = e.b.icmp_unsigned("==", value, constant(value.type, 0))
        result = e.b.select(none, constant(value.type, (1 << width) - 1), place)
    result = e.b.trunc(result, vector(WORD)) if width > 32 else result
    e.write(instruction.operands[0], "b32", result)


def _ones(e: Emitter, length: Any) -> Any:
    """Return 64 bits of which as many as ``length`` are set."""
    inside = e.b.icmp_unsigned("<", length, constant(LONG, 64))
    by = e.b.select(inside, length, constant(LONG, 63))
    some = e.b.sub(e.b.shl(constant(LONG, 1), by), constant(LONG, 1))
    return e.b.select(inside, some, constant(LONG, (1 << 64) - 1))


def _least(e: Emitter, value: Any, most: int) -> Any:
    limit = constant(value.type, most)
    return e.b.select(e.b.icmp_unsigned("<", value, limit), value, limit)


def _field(e: Emitter, *operands: Any) -> tuple[Any, ...]:
    return tuple(e.b.zext(e.b.and_(e.read(operand, "u32"), constant(WORD, 255)), vector(LONG)) for operand in operands)


def _extract(e: Emitter, instruction: Instruction) -> None:
    kind = instruction.type
    bits, whole = 8 * SIZES[kind], vector(LONG)
    raw = e.read(instruction.operands[1], f"u{bits}")
    raw = e.b.zext(raw, whole) if bits < 64 else raw
    start, length = _field(e, *instruction.operands[2:4])
    inside = e.b.icmp_unsigned("<", start, constant(LONG, bits))
    part = e.b.select(inside, e.b.lshr(raw, _least(e, start, 63)), constant(LONG, 0))
    result = e.b.and_(part, _ones(e, length))
    if kind[0] == "s":
        last = _least(e, e.b.sub(e.b.add(start, length), constant(LONG, 1)), bits - 1)
        sign = e.b.and_(e.b.lshr(raw, last), constant(LONG, 1))
        has_length = e.b.icmp_unsigned(">", length, constant(LONG, 0))
        negative = e.b.and_(has_length, e.b.icmp_unsigned("==", sign, constant(LONG, 1)))
        room = e.b.sub(constant(LONG, bits), _least(e, start, bits))
        shorter = e.b.select(e.b.icmp_unsigned("<", length, room), length, room)
        result = e.b.select(negative, e.b.or_(result, e.b.not_(_ones(e, shorter))), result)
    e.write(instruction.operands[0], kind, e.b.trunc(result, vector(ir.IntType(bits))) if bits < 64 else result)


def _insert(e: Emitter, instruction: Instruction) -> None:
    bits, whole = 8 * SIZES[instruction.type], vector(LONG)
    a, b = (e.read(operand, f"u{bits}") for operand in instruction.operands[1:3])
    a, b = (e.b.zext(value, whole) if bits < 64 else value for value in (a, b))
    start, length = _field(e, *instruction.operands[3:5])
    near = _least(e, start, 63)
    inside = e.b.icmp_unsigned("<", start, constant(LONG, 64))
    mask = e.b.select(inside, e.b.shl(_ones(e, length), near), constant(LONG, 0))
    merged = e.b.or_(e.b.and_(b, e.b.not_(mask)), e.b.and_(e.b.shl(a, near), mask))
    result = e.b.trunc(merged, vector(ir.IntType(bits))) if bits < 64 else merged
    e.write(instruction.operands[0], instruction.type, result)


def _permute(e: Emitter, instruction: Instruction) -> None:
    if instruction.words[-1] != "b32":
        raise NotCompiledError(instruction.text)
    low, high, choice = (e.read(operand, "u32") for operand in instruction.operands[1:4])
    whole = vector(LONG)
    both = e.b.or_(e.b.shl(e.b.zext(high, whole), constant(whole, 32)), e.b.zext(low, whole))
    result = constant(WORD, 0)
    for number in range(4):
        which = e.b.lshr(choice, constant(WORD, 4 * number))
        by = e.b.zext(e.b.shl(e.b.and_(which, constant(WORD, 7)), constant(WORD, 3)), whole)
        byte = e.b.trunc(e.b.and_(e.b.lshr(both, by), constant(LONG, 255)), vector(WORD))
        sign = e.b.ashr(e.b.shl(byte, constant(WORD, 24)), constant(WORD, 31))
        replicates = e.b.icmp_unsigned("!=", e.b.and_(which, constant(WORD, 8)), constant(WORD, 0))
        byte = e.b.select(replicates, e.b.and_(sign, constant(WORD, 255)), byte)
        result = e.b.or_(result, e.b.shl(byte, constant(WORD, 8 * number)))
    e.write(instruction.operands[0], "b32", result)


def _complement(e: Emitter, value: Any) -> Any:
    none = e.b.icmp_unsigned("==", value, constant(value.type, 0))
    return e.b.zext(none, value.type)


BITS: dict[str, Emit] = {
    "mov": _move,
    "and": simple(of_builder("and_"), None),
    "or": simple(of_builder("or_"), None),
    "xor": simple(of_builder("xor"), None),
    "not": simple(of_builder("not_"), None),
    "cnot": simple(_complement, None),
    **dict.fromkeys(("shl", "shr"), _shift),
    "shf": _funnel_shift,
    "lop3": _three_way,
    **dict.fromkeys(("popc", "clz", "bfind"), _count),
    "brev": simple(of_intrinsic("bitreverse"), None),
    "bfe": _extract,
    "bfi": _insert,
    "prmt": _permute,
}
