"""What calls pass, from local memory into registers where nothing else looks at it.

So it is known of an atomic in a function called whether anybody reads what it returns, and which number it adds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from smemviz.engines.lockstep.ptx.code.flatten import Flat
from smemviz.engines.lockstep.ptx.code.module import SIZES, Address, Group, Instruction, Operand, Register, Symbol


def promote(flat: Flat) -> None:
    """Put into a register each variable of a call that is only loaded and stored, in the same pieces everywhere."""
    passed = {variable.name for variable in flat.variables if variable.space == "param"}
    pieces: dict[str, dict[int, int]] = {name: {} for name in passed}
    for one in flat.body:
        plain = one.opcode in ("ld", "st") and one.has("param") and not any(isinstance(o, Group) for o in one.operands)
        for operand in one.operands:
            for name in _names(operand):
                if name not in pieces:
                    continue
                size = SIZES[one.type]
                if plain and isinstance(operand, Address) and pieces[name].setdefault(operand.offset, size) == size:
                    continue
                del pieces[name]
    pieces = {name: found for name, found in pieces.items() if not _overlap(found)}
    for name, found in pieces.items():
        flat.registers |= {_register(name, offset): f"b{8 * size}" for offset, size in found.items()}
    flat.body[:] = [_promoted(one, pieces) for one in flat.body]
    flat.variables[:] = [variable for variable in flat.variables if variable.name not in pieces]


def _promoted(one: Instruction, pieces: dict[str, dict[int, int]]) -> Instruction:
    place = next((operand for operand in one.operands if isinstance(operand, Address)), None)
    if place is None or not isinstance(place.base, Symbol) or place.base.name not in pieces:
        return one
    register = Register(_register(place.base.name, place.offset))
    operands = tuple(register if operand is place else operand for operand in one.operands)
    return replace(one, words=("mov", one.type), operands=operands)


def _register(name: str, offset: int) -> str:
    return f"{name}+{offset}"


def _overlap(pieces: dict[int, int]) -> bool:
    ends = 0
    for offset, size in sorted(pieces.items()):
        if offset < ends:
            return True
        ends = offset + size
    return False


def _names(operand: Operand) -> Iterator[str]:
    match operand:
        case Symbol(name=name) | Address(base=Symbol(name=name)):
            yield name
        case Group(items=items):
            for item in items:
                yield from _names(item)
