"""How compiled kernels compare, choose and convert: an emitter for each opcode."""

from typing import Any

from llvmlite import ir

from smemviz.engines.lockstep.ptx.code.module import SIZES, Instruction
from smemviz.engines.lockstep.ptx.compiled.emitter import Emit, Emitter
from smemviz.engines.lockstep.ptx.compiled.kept import first_and_second
from smemviz.engines.lockstep.ptx.compiled.numbers import refuse, saturated
from smemviz.engines.lockstep.ptx.compiled.state_ir import WORD, NotCompiledError, constant, vector

_FLOATS = ("f32", "f64")
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
        if rounding.endswith("i"):
            value = e.intrinsic(_ROUNDINGS[rounding[1]], value)
        elif rounding and rounding != "rn":
            raise NotCompiledError(instruction.text)
        if SIZES[source] == 8 and SIZES[to] == 2:
            raise NotCompiledError(instruction.text)
        narrower = SIZES[to] < SIZES[source]
        if SIZES[to] != SIZES[source]:
            value = e.b.fptrunc(value, whole) if narrower else e.b.fpext(value, whole)
        value = saturated(e, instruction, value)
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
        refuse(instruction, "sat")
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


def _to_integer(e: Emitter, value: Any, whole: Any, *, signed: bool) -> Any:
    """Return the nearest integer that there is, 0 for what is not a number."""
    source = "f32" if value.type == vector("f32") else "f64"
    name = f"llvm.fpto{'s' if signed else 'u'}i.sat.v32i{whole.element.width}.v32{source}"
    function = e.module.globals.get(name) or ir.Function(e.module, ir.FunctionType(whole, [value.type]), name)
    return e.b.call(function, [value])


def _bits_of(e: Emitter, halves: Any, kind: Any) -> Any:
    return e.b.zext(e.b.bitcast(halves, vector("b16")), vector(kind))


CONVERSIONS: dict[str, Emit] = {
    "setp": _set_predicate,
    "set": _set,
    "selp": _select,
    "cvt": _convert,
}
