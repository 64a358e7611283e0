"""How compiled kernels compute: arithmetic, bits, comparisons and conversions, an emitter for each opcode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from smemviz.engines.lockstep.ptx.code.module import DTYPES, SIZES, Group, Instruction, Number
from smemviz.engines.lockstep.ptx.compiled.emitter import (
    BIT,
    LONG,
    WORD,
    Emit,
    Emitter,
    NotCompiledError,
    constant,
    first_and_second,
    vector,
)

_FLOATS = ("f32", "f64")
_HALVES = ("f16", "f16x2")
_OTHER_ROUNDING = ("rz", "rm", "rp", "rna")
_PAIRS = ir.VectorType(ir.HalfType(), 64)


def _sources(e: Emitter, instruction: Instruction, kind: str = "") -> list[Any]:
    return [e.read(operand, kind or instruction.type) for operand in instruction.operands[1:]]


def _refuse(instruction: Instruction, *words: str) -> None:
    if instruction.has(*words):
        raise NotCompiledError(instruction.text)


def _simple(
    of_integers: Callable[..., Any] | None, of_floats: Callable[..., Any] | None, *, of_signed: Any = None
) -> Emit:
    """Return an emitter for what is one operation on vectors."""

    def emit(e: Emitter, instruction: Instruction) -> None:
        kind = instruction.type
        _refuse(instruction, "sat", "cc", "relu", "NaN", *(_OTHER_ROUNDING if kind[0] == "f" else ()))
        function = of_integers
        if kind in _FLOATS or kind in _HALVES:
            function = of_floats
        elif kind.startswith("bf"):
            function = None
        elif kind[0] == "s" and of_signed is not None:
            function = of_signed
        if function is None:
            raise NotCompiledError(instruction.text)
        values = _sources(e, instruction)
        if kind == "f16x2":
            values = [e.b.bitcast(value, _PAIRS) for value in values]
        result = function(e, *values)
        e.write(instruction.operands[0], kind, e.b.bitcast(result, vector("b32")) if kind == "f16x2" else result)

    return emit


def _of_builder(name: str) -> Callable[..., Any]:
    return lambda e, *values: getattr(e.b, name)(*values)


def _of_intrinsic(name: str) -> Callable[..., Any]:
    return lambda e, *values: e.intrinsic(name, *values)


def _chosen(comparison: str, name: str) -> Callable[..., Any]:
    def emit(e: Emitter, a: Any, b: Any, *c: Any) -> Any:
        result = e.b.select(getattr(e.b, name)(comparison, a, b), a, b)
        return emit(e, result, *c) if c else result

    return emit


def _extreme_of_floats(name: str) -> Callable[..., Any]:
    def emit(e: Emitter, a: Any, b: Any, *c: Any) -> Any:
        if a.type == _PAIRS:
            raise NotCompiledError(name)
        result = e.intrinsic(name, a, b)
        return emit(e, result, *c) if c else result

    return emit


def _wide_product(e: Emitter, a: Any, b: Any, *, signed: bool) -> Any:
    wider = vector(ir.IntType(2 * a.type.element.width))
    extend = e.b.sext if signed else e.b.zext
    return e.b.mul(extend(a, wider), extend(b, wider))


def _multiply(e: Emitter, instruction: Instruction) -> None:
    kind = instruction.type
    if instruction.has("wide"):
        a, b = _sources(e, instruction)
        e.write(instruction.operands[0], _wider(kind), _wide_product(e, a, b, signed=kind[0] == "s"))
    elif instruction.has("hi"):
        a, b = _sources(e, instruction)
        e.write(instruction.operands[0], kind, _high(e, a, b, kind))
    else:
        _simple(_of_builder("mul"), _of_builder("fmul"))(e, instruction)


def _wider(kind: str) -> str:
    return f"{kind[0]}{2 * int(kind[1:])}"


def _high(e: Emitter, a: Any, b: Any, kind: str) -> Any:
    product = _wide_product(e, a, b, signed=kind[0] == "s")
    return e.b.trunc(e.b.lshr(product, constant(product.type, a.type.element.width)), a.type)


def _multiply_add(e: Emitter, instruction: Instruction) -> None:
    kind = instruction.type
    _refuse(instruction, "cc", "sat", "relu", *(_OTHER_ROUNDING if kind[0] == "f" else ()))
    if kind in _FLOATS:
        a, b, c = _sources(e, instruction)
        fused = instruction.opcode == "fma"
        result = e.intrinsic("fma", a, b, c) if fused else e.b.fadd(e.b.fmul(a, b), c)
        e.write(instruction.operands[0], kind, result)
        return
    if DTYPES[kind].kind == "f" or kind[:2] == "bf":
        raise NotCompiledError(instruction.text)
    a, b = (e.read(operand, kind) for operand in instruction.operands[1:3])
    wide = _wider(kind) if instruction.has("wide") else kind
    c = e.read(instruction.operands[3], wide)
    if instruction.has("wide"):
        product = _wide_product(e, a, b, signed=kind[0] == "s")
    else:
        product = _high(e, a, b, kind) if instruction.has("hi") else e.b.mul(a, b)
    e.write(instruction.operands[0], wide, e.b.add(product, c))


def _quotient(e: Emitter, a: Any, b: Any, *, signed: bool) -> Any:
    by_zero = e.b.icmp_unsigned("==", b, constant(b.type, 0))
    unsafe = by_zero
    if signed:
        lowest = constant(a.type, 1 << a.type.element.width - 1)
        minus_one = constant(a.type, (1 << a.type.element.width) - 1)
        overflows = e.b.and_(e.b.icmp_unsigned("==", a, lowest), e.b.icmp_unsigned("==", b, minus_one))
        unsafe = e.b.or_(by_zero, overflows)
    divisor = e.b.select(unsafe, constant(b.type, 1), b)
    ratio = e.b.sdiv(a, divisor) if signed else e.b.udiv(a, divisor)
    return e.b.select(by_zero, constant(a.type, (1 << a.type.element.width) - 1), ratio)


def _remainder(e: Emitter, a: Any, b: Any, *, signed: bool) -> Any:
    return e.b.sub(a, e.b.mul(_quotient(e, a, b, signed=signed), b))


def _absolute(e: Emitter, a: Any) -> Any:
    return e.b.select(e.b.icmp_signed("<", a, constant(a.type, 0)), e.b.neg(a), a)


def _one_over(e: Emitter, value: Any) -> Any:
    return e.b.fdiv(constant(value.type, 1.0), value)


def _function(emit: Callable[[Emitter, Any], Any]) -> Emit:
    """Return an emitter of a mathematical function of floats."""

    def emit_one(e: Emitter, instruction: Instruction) -> None:
        if instruction.type not in _FLOATS:
            raise NotCompiledError(instruction.text)
        (value,) = _sources(e, instruction)
        e.write(instruction.operands[0], instruction.type, emit(e, value))

    return emit_one


# -- bits


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


# -- comparisons and conversions

_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UNSIGNED_SIGNS = {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}


def _compared(e: Emitter, name: str, kind: str, a: Any, b: Any) -> Any:
    if kind in (*_FLOATS, "f16"):
        if name in ("num", "nan"):
            return e.b.fcmp_ordered("ord", a, b) if name == "num" else e.b.fcmp_unordered("uno", a, b)
        if name in _SIGNS:
            return e.b.fcmp_ordered(_SIGNS[name], a, b)
        return e.b.fcmp_unordered(_SIGNS[name[:-1]], a, b)
    if kind[:2] == "bf" or kind == "f16x2":
        raise NotCompiledError(kind)
    if name in _UNSIGNED_SIGNS:
        return e.b.icmp_unsigned(_UNSIGNED_SIGNS[name], a, b)
    return (e.b.icmp_signed if kind[0] == "s" else e.b.icmp_unsigned)(_SIGNS[name], a, b)


def _set_predicate(e: Emitter, instruction: Instruction) -> None:
    kind = instruction.type
    a, b = (e.read(operand, kind) for operand in instruction.operands[1:3])
    holds = _compared(e, instruction.words[1], kind, a, b)
    to, other_to = first_and_second(instruction.operands[0])
    opposite = e.b.not_(holds)
    if len(instruction.operands) > 3:
        also = e.read(instruction.operands[3], "pred")
        combine = getattr(e.b, {"and": "and_", "or": "or_", "xor": "xor"}[instruction.words[2]])
        holds, opposite = combine(holds, also), combine(opposite, also)
    e.write(to, "pred", holds)
    if other_to is not None:
        e.write(other_to, "pred", opposite)


def _set(e: Emitter, instruction: Instruction) -> None:
    result, kind = instruction.types[0], instruction.types[-1]
    if len(instruction.operands) > 3 or result not in ("u32", "s32", "f32", "b32"):
        raise NotCompiledError(instruction.text)
    a, b = (e.read(operand, kind) for operand in instruction.operands[1:3])
    whole = vector(result)
    yes = constant(whole, 1.0 if result == "f32" else 0xFFFFFFFF)
    no = constant(whole, 0.0 if result == "f32" else 0)
    e.write(instruction.operands[0], result, e.b.select(_compared(e, instruction.words[1], kind, a, b), yes, no))


def _select(e: Emitter, instruction: Instruction) -> None:
    kind = instruction.type
    a, b = (e.read(operand, kind) for operand in instruction.operands[1:3])
    e.write(instruction.operands[0], kind, e.b.select(e.read(instruction.operands[3], "pred"), a, b))


_ROUNDINGS = {"n": "rint", "z": "trunc", "m": "floor", "p": "ceil"}


def _convert(e: Emitter, instruction: Instruction) -> None:
    if len(instruction.types) < 2 or instruction.has("relu"):
        raise NotCompiledError(instruction.text)
    to, source = instruction.types[:2]
    if to[:2] == "bf" or source[:2] == "bf":
        _convert_bfloat(e, instruction, to, source)
        return
    rounding = next((w for w in instruction.words if len(w) in (2, 3) and w[0] == "r" and w[1] in "nzmpa"), "")
    if to == "f16x2":
        high, low = (e.read(operand, "f32") for operand in instruction.operands[1:3])
        halves = [_bits_of(e, e.b.fptrunc(value, vector("f16")), WORD) for value in (high, low)]
        e.write(instruction.operands[0], "b32", e.b.or_(e.b.shl(halves[0], constant(WORD, 16)), halves[1]))
        return
    kinds = ("f16", *_FLOATS)
    from_float, to_float = source in kinds, to in kinds
    if (not from_float and source[0] not in "us") or (not to_float and to[0] not in "us"):
        raise NotCompiledError(instruction.text)
    value = e.read(instruction.operands[1], source)
    whole = vector(to)
    if from_float and to_float:
        _refuse(instruction, "sat")
        if rounding.endswith("i"):
            value = e.intrinsic(_ROUNDINGS[rounding[1]], value)
        elif rounding and rounding != "rn":
            raise NotCompiledError(instruction.text)
        if SIZES[source] == 8 and SIZES[to] == 2:
            raise NotCompiledError(instruction.text)
        narrower = SIZES[to] < SIZES[source]
        if SIZES[to] != SIZES[source]:
            value = e.b.fptrunc(value, whole) if narrower else e.b.fpext(value, whole)
    elif from_float:
        if source == "f16":
            value = e.b.fpext(value, vector("f32"))
        value = e.intrinsic(_ROUNDINGS[rounding[1] if rounding else "z"], value)
        value = _to_integer(e, value, whole, signed=to[0] == "s")
    elif to_float:
        if rounding not in ("", "rn") or to == "f16" or instruction.has("sat"):
            raise NotCompiledError(instruction.text)
        value = e.b.sitofp(value, whole) if source[0] == "s" else e.b.uitofp(value, whole)
    else:
        _refuse(instruction, "sat")
        if SIZES[to] < SIZES[source]:
            value = e.b.trunc(value, whole)
        elif SIZES[to] > SIZES[source]:
            value = e.b.sext(value, whole) if source[0] == "s" else e.b.zext(value, whole)
    e.write(instruction.operands[0], to, value)


def _convert_bfloat(e: Emitter, instruction: Instruction, to: str, source: str) -> None:
    if source == "bf16" and to == "f32":
        bits = e.b.zext(e.read(instruction.operands[1], "b16"), vector(WORD))
        e.write(instruction.operands[0], "b32", e.b.shl(bits, constant(WORD, 16)))
        return
    if source != "f32" or not instruction.has("rn"):
        raise NotCompiledError(instruction.text)
    parts = []
    for operand in instruction.operands[1:]:
        value = e.read(operand, "f32")
        bits = e.b.bitcast(value, vector(WORD))
        odd = e.b.and_(e.b.lshr(bits, constant(WORD, 16)), constant(WORD, 1))
        rounded = e.b.lshr(e.b.add(bits, e.b.add(odd, constant(WORD, 0x7FFF))), constant(WORD, 16))
        parts.append(e.b.select(e.b.fcmp_unordered("uno", value, value), constant(WORD, 0x7FFF), rounded))
    if len(parts) == 1:
        e.write(instruction.operands[0], "b16", e.b.trunc(parts[0], vector("b16")))
    else:
        e.write(instruction.operands[0], "b32", e.b.or_(e.b.shl(parts[0], constant(WORD, 16)), parts[1]))


def _copy_sign(e: Emitter, sign: Any, size: Any) -> Any:
    return e.intrinsic("copysign", size, sign)


def _to_integer(e: Emitter, value: Any, whole: Any, *, signed: bool) -> Any:
    """Return the nearest integer that there is, 0 for what is not a number."""
    source = "f32" if value.type == vector("f32") else "f64"
    name = f"llvm.fpto{'s' if signed else 'u'}i.sat.v32i{whole.element.width}.v32{source}"
    function = e.module.globals.get(name) or ir.Function(e.module, ir.FunctionType(whole, [value.type]), name)
    return e.b.call(function, [value])


def _bits_of(e: Emitter, halves: Any, kind: Any) -> Any:
    return e.b.zext(e.b.bitcast(halves, vector("b16")), vector(kind))


def _difference(e: Emitter, a: Any, b: Any, c: Any, *, compare: str) -> Any:
    above = getattr(e.b, compare)(">", a, b)
    return e.b.add(e.b.select(above, e.b.sub(a, b), e.b.sub(b, a)), c)


def _complement(e: Emitter, value: Any) -> Any:
    none = e.b.icmp_unsigned("==", value, constant(value.type, 0))
    return e.b.zext(none, value.type)


NUMBERS: dict[str, Emit] = {
    "add": _simple(_of_builder("add"), _of_builder("fadd")),
    "sub": _simple(_of_builder("sub"), _of_builder("fsub")),
    "mul": _multiply,
    **dict.fromkeys(("mad", "fma"), _multiply_add),
    "div": _simple(
        lambda e, a, b: _quotient(e, a, b, signed=False),
        _of_builder("fdiv"),
        of_signed=lambda e, a, b: _quotient(e, a, b, signed=True),
    ),
    "rem": _simple(
        lambda e, a, b: _remainder(e, a, b, signed=False),
        None,
        of_signed=lambda e, a, b: _remainder(e, a, b, signed=True),
    ),
    "min": _simple(_chosen("<", "icmp_unsigned"), _extreme_of_floats("minnum"), of_signed=_chosen("<", "icmp_signed")),
    "max": _simple(_chosen(">", "icmp_unsigned"), _extreme_of_floats("maxnum"), of_signed=_chosen(">", "icmp_signed")),
    "neg": _simple(_of_builder("neg"), _of_builder("fneg")),
    "abs": _simple(_absolute, lambda e, a: e.intrinsic("fabs", a) if a.type != _PAIRS else _nothing(a)),
    "sad": _simple(
        lambda e, *v: _difference(e, *v, compare="icmp_unsigned"),
        None,
        of_signed=lambda e, *v: _difference(e, *v, compare="icmp_signed"),
    ),
    "copysign": _simple(None, _copy_sign),
    "ex2": _function(_of_intrinsic("exp2")),
    "lg2": _function(_of_intrinsic("log2")),
    "sin": _function(_of_intrinsic("sin")),
    "cos": _function(_of_intrinsic("cos")),
    "sqrt": _function(_of_intrinsic("sqrt")),
    "rcp": _function(_one_over),
    "rsqrt": _function(lambda e, value: _one_over(e, e.intrinsic("sqrt", value))),
    "mov": _move,
    "and": _simple(_of_builder("and_"), None),
    "or": _simple(_of_builder("or_"), None),
    "xor": _simple(_of_builder("xor"), None),
    "not": _simple(_of_builder("not_"), None),
    "cnot": _simple(_complement, None),
    **dict.fromkeys(("shl", "shr"), _shift),
    "shf": _funnel_shift,
    "lop3": _three_way,
    **dict.fromkeys(("popc", "clz", "bfind"), _count),
    "brev": _simple(_of_intrinsic("bitreverse"), None),
    "bfe": _extract,
    "bfi": _insert,
    "prmt": _permute,
    "setp": _set_predicate,
    "set": _set,
    "selp": _select,
    "cvt": _convert,
}


def _nothing(value: Any) -> Any:
    raise NotCompiledError(str(value.type))
