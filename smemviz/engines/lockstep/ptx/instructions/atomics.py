"""Atomics: the threads that update one element do so one after the other, in order of their number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx import access
from smemviz.engines.lockstep.ptx.code.module import SIZES, Group, Instruction, PtxError
from smemviz.engines.lockstep.ptx.dtypes import DTYPES
from smemviz.engines.lockstep.ptx.instructions.arithmetic import Family
from smemviz.engines.lockstep.ptx.instructions.loads import RELEASING, address_of, dtype_name, space_of
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.registers import Action, read, write
from smemviz.engines.lockstep.python.functions.atomics import ATOMICS, in_turn, swap_in_turn

_NAMES = ("add", "min", "max", "exch", "cas", "inc", "dec", "and", "or", "xor")
_OF_OTHERS = {"and": "and_", "or": "or_"}


def _atomic(kernel: Kernel, instruction: Instruction) -> Action:
    name, kind = instruction.one_of(*_NAMES), instruction.type
    if kind in ("f16", "f16x2", "bf16", "bf16x2", "b128") or isinstance(instruction.operands[-1], Group):
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    if instruction.has("async", "mbarrier"):
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    dtype, width = DTYPES[kind], SIZES[kind]
    returns = instruction.opcode == "atom" and kernel.is_read(instruction.operands[0])
    operands = instruction.operands if instruction.opcode == "red" else instruction.operands[1:]
    where = address_of(kernel, operands[0])
    values = [read(kernel, operand, kind) for operand in operands[1:]]
    put = write(kernel, instruction.operands[0], kind) if returns else None
    site = kernel.memory_site(
        instruction, space_of(instruction), _op(kernel, instruction, name, returns), width, dtype_name(kind)
    )
    space, change = space_of(instruction), _change(name, dtype, returns)

    releases = instruction.has(*RELEASING)

    def run(m: Machine) -> None:
        if releases:
            m.hazards.fence(m.mask)
        old = access.update(m, site, space, where(m), width, [value(m) for value in values], change)
        if put:
            put(m, old.view(dtype))

    return run


def _op(kernel: Kernel, instruction: Instruction, name: str, returns: bool) -> str:
    """Return what an atomic is called: a reduction returns nothing, and one that adds 1 is a count of its own."""
    if returns or name in ("exch", "cas"):
        return f"atomic_{name}"
    one_more = name == "add" and DTYPES[instruction.type].kind in "iu" and kernel.number(instruction.operands[-1]) == 1
    return "reduce_inc" if one_more and SIZES[instruction.type] == 4 else f"reduce_{name}"


def _change(name: str, dtype: Any, returns: bool) -> Callable[[Any, NDArray[np.int64], list[Any]], Any]:
    """Return what changes elements and returns the old ones."""
    rule = None if name == "cas" else ATOMICS[_OF_OTHERS.get(name, name)]
    is_number = dtype.kind == "f" and name in ("min", "max")

    def change(elements: Any, numbers: NDArray[np.int64], values: list[Any]) -> Any:
        typed, operands = elements.view(dtype), [np.ascontiguousarray(value).view(dtype) for value in values]
        if rule is None:
            old = swap_in_turn(typed, numbers, *operands)
        elif not returns and rule.at_once is not None and not is_number:
            rule.at_once.at(typed, numbers, operands[0])
            return 0
        else:
            old = in_turn(rule.update, typed, numbers, *operands)
        return old.view(elements.dtype)

    return change


FAMILY: Family = {**dict.fromkeys(("atom", "red"), _atomic)}
