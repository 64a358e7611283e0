"""Registers that always hold generic addresses of some memory, as the text of an entry tells."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from smemviz.engines.lockstep.ptx.code.module import Instruction, Register, Symbol, Variable

_TEMPORARY = re.compile(r"[^$].*\$\d+")


Makers = Mapping[str, Sequence[Instruction]]  # the instructions that set each register


def pointers_to_shared(makers: Makers) -> set[str]:
    """Return the registers that are set only to addresses of shared variables, moved on or not."""
    return _pointers(makers, lambda maker: maker.opcode == "cvta" and maker.has("shared") and not maker.has("to"))


def pointers_to_constants(makers: Makers, variables: Collection[Variable]) -> set[str]:
    """Return the registers that are set only to addresses of what is no global memory in the source.

    That are variables in constant memory, and values without a name, ``Vector(1, 2)`` or ``Plus{}``, which the compiler
    puts into global memory where it keeps accesses as they are written.
    """
    names = {v.name for v in variables if v.space == "const" or _TEMPORARY.fullmatch(v.name)}
    if not names:
        return set()
    return _pointers(makers, lambda maker: any(isinstance(o, Symbol) and o.name in names for o in maker.operands[1:]))


def _pointers(makers: Makers, makes_one: Callable[[Instruction], bool]) -> set[str]:
    pointers = set(makers)
    while wrong := {
        name for name in pointers if not all(makes_one(maker) or _moves_one(maker, pointers) for maker in makers[name])
    }:
        pointers -= wrong
    return pointers


def _moves_one(maker: Instruction, pointers: set[str]) -> bool:
    """Tell whether an instruction makes such an address of another, if these registers hold such ones."""
    held = [isinstance(operand, Register) and operand.name in pointers for operand in maker.operands[1:]]
    match maker.opcode:
        case "mov" | "selp":
            return bool(held) and all(held[:2] if maker.opcode == "selp" else held)
        case "add":
            return any(held)
        case "sub":
            return held[0]
        case "cvta":
            return held[0] and not maker.has("to")
    return False
