"""What the parameters of a kernel point to, as far as its PTX tells: by what is computed with what is loaded."""

from collections.abc import Iterator, Sequence

from smemviz.engines.lockstep.ptx.code.module import (
    SIZES,
    Address,
    Instruction,
    Operand,
    Register,
    leaves,
)
from smemviz.engines.lockstep.ptx.host.layout import origins_of
from smemviz.engines.lockstep.ptx.kernel import Kernel

_FLOATS = {"f16": "float16", "f16x2": "float16", "f32": "float32", "f64": "float64"}
_MOVING = ("mov", "shfl", "selp")  # what leaves a value as it is
_ACCESSING = ("ld", "ldu", "st", "atom", "red", "cp")


def pointed_types(kernel: Kernel) -> dict[str, str]:
    """Return the NumPy type of what each parameter points to, empty where nothing tells it; a number has none."""
    origins = origins_of(kernel.body)
    read, made = _computed_as(kernel.body)
    known = {variable.name for variable in kernel.function.parameters}
    found: dict[str, set[str]] = {}
    for instruction in kernel.body:
        if instruction.opcode not in _ACCESSING:
            continue
        loads = instruction.opcode in ("ld", "ldu")
        values = [name for operand in instruction.operands for name in _registers(operand)]
        types = {kind for name in values for kind in (read if loads else made).get(name, ())}
        if instruction.type[0] in "fs":  # older compilers load anything as unsigned
            types.add(instruction.type)
        for operand in instruction.operands:
            base = operand.base if isinstance(operand, Address) else None
            for name in origins.get(base.name, ()) if isinstance(base, Register) else ():
                if name in known:
                    found.setdefault(name, set()).add(_numpy_type(types, instruction))
    return {name: types.pop() if len(types := found[name] - {""}) == 1 else "" for name in found}


def _registers(operand: Operand) -> Iterator[str]:
    """Give the registers of an operand that hold values, and no address."""
    if not isinstance(operand, Address):
        yield from (leaf.name for leaf in leaves(operand) if isinstance(leaf, Register))


def _computed_as(body: Sequence[Instruction]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return the types that each register is read as, and made as; those of bits alone tell nothing."""
    read: dict[str, set[str]] = {}
    made: dict[str, set[str]] = {}
    moved: list[tuple[str, str]] = []
    for instruction in body:
        if instruction.opcode in _ACCESSING or not instruction.operands:
            continue
        into, *sources = instruction.operands
        if instruction.opcode in _MOVING:
            values = sources[:2] if instruction.opcode == "selp" else sources[:1]
            moved += [(one, name) for one in _registers(into) for other in values for name in _registers(other)]
            continue
        own = [kind for kind in instruction.types if kind[0] != "b" or kind.startswith("bf")]
        kinds = own if instruction.opcode in ("cvt", "mma") else own[-1:] * len(instruction.operands)
        for number, (operand, kind) in enumerate(zip(instruction.operands, kinds, strict=False)):
            for name in _registers(operand):
                (read if number else made).setdefault(name, set()).add(kind)
    changed = True
    while changed:
        changed = False
        for to, source in moved:
            for known, one, other in ((read, source, to), (made, to, source)):
                new = known.get(other, set()) - known.setdefault(one, set())
                known[one] |= new
                changed |= bool(new)
    return read, made


def _numpy_type(types: set[str], instruction: Instruction) -> str:
    """Return the one type of NumPy's that values have that are computed so, empty where there is none."""
    size = SIZES[instruction.type]
    if size == 1 and instruction.types:
        return "uint8"
    floats = {_FLOATS.get(kind, "") for kind in types if kind[0] in "fb"}
    whole = [kind for kind in types if kind[0] in "su"]
    if floats:
        return floats.pop() if len(floats) == 1 and not whole else ""
    return f"int{8 * size}" if whole else ""
