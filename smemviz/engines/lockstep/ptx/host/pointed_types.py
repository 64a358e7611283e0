"""What the parameters of a kernel point to, as far as its PTX tells: by what is computed with what is loaded."""

from __future__ import annotations

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
    computed = _computed_as(kernel.body)
    known = {variable.name: set[str]() for variable in kernel.function.parameters}
    found: dict[str, set[str]] = {}
    for instruction in kernel.body:
        if instruction.opcode not in _ACCESSING:
            continue
        values = [name for operand in instruction.operands for name in _registers(operand)]
        types = {kind for name in values for kind in computed.get(name, ())}
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


def _computed_as(body: Sequence[Instruction]) -> dict[str, set[str]]:
    """Return the types that each register is computed with; those of bits alone tell nothing."""
    types: dict[str, set[str]] = {}
    moved: list[list[str]] = []
    for instruction in body:
        own = [kind for kind in instruction.types if kind[0] != "b" or kind.startswith("bf")]
        if instruction.opcode in _MOVING:
            moved.append([name for operand in instruction.operands[:2] for name in _registers(operand)])
        elif instruction.opcode in _ACCESSING and instruction.type[0] == "u":
            continue  # older compilers load anything as unsigned
        kinds = own if instruction.opcode in ("cvt", "mma") else own[-1:] * len(instruction.operands)
        for operand, kind in zip(instruction.operands, kinds, strict=False):
            for name in _registers(operand):
                types.setdefault(name, set()).add(kind)
    changed = True
    while changed:
        changed = False
        for names in moved:
            together = set().union(*(types.get(name, set()) for name in names))
            for name in names:
                if together - types.setdefault(name, set()):
                    types[name] |= together
                    changed = True
    return types


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
