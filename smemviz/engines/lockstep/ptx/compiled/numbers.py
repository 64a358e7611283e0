"""How compiled kernels compute: an emitter for each opcode of arithmetic."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from smemviz.engines.lockstep.ptx.code.module import DTYPES, Instruction
from smemviz.engines.lockstep.ptx.compiled.emitter import Emit, Emitter
from smemviz.engines.lockstep.ptx.compiled.state_ir import NotCompiledError, constant, vector

_FLOATS = ("f32", "f64")
_HALVES = ("f16", "f16x2")
_OTHER_ROUNDING = ("rz", "rm", "rp", "rna")
_PAIRS = ir.VectorType(ir.HalfType(), 64)


def _sources(e: Emitter, instruction: Instruction, kind: str = "") -> list[Any]:
    return [e.read(operand, kind or instruction.type) for operand in instruction.operands[1:]]


def refuse(instruction: Instruction, *words: str) -> None:
    """Leave an instruction with one of some modifiers to NumPy."""
    if instruction.has(*words):
        raise NotCompiledError(instruction.text)


def saturated(e: Emitter, instruction: Instruction, value: Any) -> Any:
    """Return a result between 0 and 1 where the instruction says so; what is not a number is 0 then."""
    if not instruction.has("sat"):
        return value
    if value.type not in (vector("f32"), vector("f64")):
        raise NotCompiledError(instruction.text)
    return e.intrinsic("minnum", e.intrinsic("maxnum", value, constant(value.type, 0.0)), constant(value.type, 1.0))


def simple(
    of_integers: Callable[..., Any] | None, of_floats: Callable[..., Any] | None, *, of_signed: Any = None
) -> Emit:
    """Return an emitter for what is one operation on vectors."""

    def emit(e: Emitter, instruction: Instruction) -> None:
        kind = instruction.type
        refuse(instruction, "relu", "NaN", *(_OTHER_ROUNDING if kind[0] == "f" else ()))
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
        result = saturated(e, instruction, function(e, *values))
        e.write(instruction.operands[0], kind, e.b.bitcast(result, vector("b32")) if kind == "f16x2" else result)

    return emit


def of_builder(name: str) -> Callable[..., Any]:
    """Return what makes an instruction of LLVM."""
    return lambda e, *values: getattr(e.b, name)(*values)


def of_intrinsic(name: str) -> Callable[..., Any]:
    """Return what calls an intrinsic of LLVM."""
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


def _with_carry(e: Emitter, instruction: Instruction) -> None:
    """Add, subtract, or multiply and add, with the carry of an instruction before, or leaving one."""
    kind, opcode = f"u{instruction.type[1:]}", instruction.opcode
    takes = opcode in ("addc", "subc", "madc")
    if e.guard is not None or (takes and e.carry is None):
        raise NotCompiledError(instruction.text)
    *factors, a, b = _sources(e, instruction, kind)
    if factors:
        a = _high(e, factors[0], a, kind) if instruction.has("hi") else e.b.mul(factors[0], a)
    carried = e.b.zext(e.carry, a.type) if takes else constant(a.type, 0)
    if opcode.startswith("sub"):
        part = e.b.sub(a, b)
        result = e.b.sub(part, carried)
        first, second = e.b.icmp_unsigned("<", a, b), e.b.icmp_unsigned("<", part, carried)
    else:
        part = e.b.add(a, b)
        result = e.b.add(part, carried)
        first, second = e.b.icmp_unsigned("<", part, b), e.b.icmp_unsigned("<", result, carried)
    e.write(instruction.operands[0], kind, result)
    if instruction.has("cc"):
        e.carry = e.b.or_(first, second)


def _or_with_carry(emit: Emit) -> Emit:
    return lambda e, instruction: (_with_carry if instruction.has("cc") else emit)(e, instruction)


def _multiply(e: Emitter, instruction: Instruction) -> None:
    kind = instruction.type
    if instruction.has("wide"):
        a, b = _sources(e, instruction)
        e.write(instruction.operands[0], _wider(kind), _wide_product(e, a, b, signed=kind[0] == "s"))
    elif instruction.has("hi"):
        a, b = _sources(e, instruction)
        e.write(instruction.operands[0], kind, _high(e, a, b, kind))
    else:
        simple(of_builder("mul"), of_builder("fmul"))(e, instruction)


def _wider(kind: str) -> str:
    return f"{kind[0]}{2 * int(kind[1:])}"


def _high(e: Emitter, a: Any, b: Any, kind: str) -> Any:
    product = _wide_product(e, a, b, signed=kind[0] == "s")
    return e.b.trunc(e.b.lshr(product, constant(product.type, a.type.element.width)), a.type)


def _rounded_one_way(e: Emitter, a: Any, b: Any, c: Any, *, down: bool) -> Any:
    """Return ``a * b + c`` of single precision, rounded down or up: in double precision the product is exact."""
    build, double, bits = e.b, vector("f64"), vector("b32")
    product, addend = build.fmul(build.fpext(a, double), build.fpext(b, double)), build.fpext(c, double)
    total = build.fadd(product, addend)
    part = build.fsub(total, product)
    lost = build.fadd(
        build.fsub(product, build.fsub(total, part)), build.fsub(addend, part)
    )  # what the sum has rounded away
    nearest = build.fptrunc(total, a.type)
    beyond, zero = ">" if down else "<", constant(double, 0.0)
    back = build.fpext(nearest, double)
    same = build.and_(build.fcmp_ordered("==", back, total), build.fcmp_ordered("<" if down else ">", lost, zero))
    is_beyond = build.or_(build.fcmp_ordered(beyond, back, total), same)
    number = build.bitcast(nearest, bits)
    away = build.fcmp_ordered("<" if down else ">", nearest, constant(a.type, 0.0))
    moved = build.select(away, build.add(number, constant(bits, 1)), build.sub(number, constant(bits, 1)))
    least = constant(bits, 0x80000001 if down else 1)
    moved = build.select(build.fcmp_ordered("==", nearest, constant(a.type, 0.0)), least, moved)
    return build.bitcast(build.select(is_beyond, moved, number), a.type)


def _multiply_add(e: Emitter, instruction: Instruction) -> None:
    kind = instruction.type
    refuse(instruction, "relu")
    if kind == "f32" and instruction.has("rm", "rp"):
        e.write(
            instruction.operands[0], kind, _rounded_one_way(e, *_sources(e, instruction), down=instruction.has("rm"))
        )
        return
    refuse(instruction, *(_OTHER_ROUNDING if kind[0] == "f" else ()))
    if kind in _FLOATS:
        a, b, c = _sources(e, instruction)
        fused = instruction.opcode == "fma"
        result = e.intrinsic("fma", a, b, c) if fused else e.b.fadd(e.b.fmul(a, b), c)
        e.write(instruction.operands[0], kind, saturated(e, instruction, result))
        return
    refuse(instruction, "sat")
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


def _copy_sign(e: Emitter, sign: Any, size: Any) -> Any:
    return e.intrinsic("copysign", size, sign)


def _difference(e: Emitter, a: Any, b: Any, c: Any, *, compare: str) -> Any:
    above = getattr(e.b, compare)(">", a, b)
    return e.b.add(e.b.select(above, e.b.sub(a, b), e.b.sub(b, a)), c)


def _nothing(value: Any) -> Any:
    raise NotCompiledError(str(value.type))


NUMBERS: dict[str, Emit] = {
    "add": _or_with_carry(simple(of_builder("add"), of_builder("fadd"))),
    "sub": _or_with_carry(simple(of_builder("sub"), of_builder("fsub"))),
    **dict.fromkeys(("addc", "subc", "madc"), _with_carry),
    "mul": _multiply,
    "mad": _or_with_carry(_multiply_add),
    "fma": _multiply_add,
    "div": simple(
        lambda e, a, b: _quotient(e, a, b, signed=False),
        of_builder("fdiv"),
        of_signed=lambda e, a, b: _quotient(e, a, b, signed=True),
    ),
    "rem": simple(
        lambda e, a, b: _remainder(e, a, b, signed=False),
        None,
        of_signed=lambda e, a, b: _remainder(e, a, b, signed=True),
    ),
    "min": simple(_chosen("<", "icmp_unsigned"), _extreme_of_floats("minnum"), of_signed=_chosen("<", "icmp_signed")),
    "max": simple(_chosen(">", "icmp_unsigned"), _extreme_of_floats("maxnum"), of_signed=_chosen(">", "icmp_signed")),
    "neg": simple(of_builder("neg"), of_builder("fneg")),
    "abs": simple(_absolute, lambda e, a: e.intrinsic("fabs", a) if a.type != _PAIRS else _nothing(a)),
    "sad": simple(
        lambda e, *v: _difference(e, *v, compare="icmp_unsigned"),
        None,
        of_signed=lambda e, *v: _difference(e, *v, compare="icmp_signed"),
    ),
    "copysign": simple(None, _copy_sign),
    "ex2": _function(of_intrinsic("exp2")),
    "lg2": _function(of_intrinsic("log2")),
    "sin": _function(of_intrinsic("sin")),
    "cos": _function(of_intrinsic("cos")),
    "sqrt": _function(of_intrinsic("sqrt")),
    "rcp": _function(_one_over),
    "rsqrt": _function(lambda e, value: _one_over(e, e.intrinsic("sqrt", value))),
}
