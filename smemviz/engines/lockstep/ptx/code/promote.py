"""What calls pass, from local memory into registers where nothing else looks at it.

So it is known of an atomic in a function called whether anybody reads what it returns, and which number it adds.
"""

from __future__ import annotations

from dataclasses import replace

from smemviz.engines.lockstep.ptx.code.flatten import Flat
from smemviz.engines.lockstep.ptx.code.module import SIZES, Address, Group, Instruction, Register, Symbol, leaves


def promote(flat: Flat) -> None:
    """Put into a register each variable of a call that is only loaded and stored, in the same pieces everywhere."""
    passed = {variable.name for variable in flat.variables if variable.space == "param"}
    pieces: dict[str, dict[int, int]] = {name: {} for name in passed}
    for instruction in flat.body:
        plain = (
            instruction.opcode in ("ld", "st")
            and instruction.has("param")
            and not any(isinstance(o, Group) for o in instruction.operands)
        )
        for operand in instruction.operands:
            for leaf in leaves(operand):
                if not isinstance(leaf, Symbol) or leaf.name not in pieces:
                    continue
                size, sizes = SIZES[instruction.type], pieces[leaf.name]
                if plain and isinstance(operand, Address) and sizes.setdefault(operand.offset, size) == size:
                    continue
                del pieces[leaf.name]
    pieces = {name: sizes for name, sizes in pieces.items() if not _overlap(sizes)}
    for name, sizes in pieces.items():
        flat.registers |= {_register(name, offset): f"b{8 * size}" for offset, size in sizes.items()}
    flat.body[:] = [_promoted(instruction, pieces) for instruction in flat.body]
    flat.variables[:] = [variable for variable in flat.variables if variable.name not in pieces]


def _promoted(instruction: Instruction, pieces: dict[str, dict[int, int]]) -> Instruction:
    place = next((operand for operand in instruction.operands if isinstance(operand, Address)), None)
    if place is None or not isinstance(place.base, Symbol) or place.base.name not in pieces:
        return instruction
    register = Register(_register(place.base.name, place.offset))
    operands = tuple(register if operand is place else operand for operand in instruction.operands)
    return replace(instruction, words=("mov", instruction.type), operands=operands)


def _register(name: str, offset: int) -> str:
    return f"{name}+{offset}"


def _overlap(pieces: dict[int, int]) -> bool:
    ends = 0
    for offset, size in sorted(pieces.items()):
        if offset < ends:
            return True
        ends = offset + size
    return False
