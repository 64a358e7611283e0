"""Asynchronous copies from global to shared memory, ``cp.async``, done at once.

A copy may have a source size, or a predicate by which the source is ignored: what is not read of the source is zero in
shared memory. Global memory is touched by the threads alone that read something.
"""

import numpy as np

from smemviz.engines.lockstep.ptx import access
from smemviz.engines.lockstep.ptx.code.module import Instruction, Number, Operand, PtxError, Register, Value
from smemviz.engines.lockstep.ptx.instructions.arithmetic import Family
from smemviz.engines.lockstep.ptx.instructions.bulk_copies import bulk_copy
from smemviz.engines.lockstep.ptx.instructions.loads import address_of
from smemviz.engines.lockstep.ptx.instructions.mbarriers import arrive_without_count, mbarrier
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.registers import Action, Read, read

_SIZES = (4, 8, 16)


def source_size(instruction: Instruction) -> Operand | None:
    """Return the operand that says how many bytes a copy reads, or the predicate that it reads none."""
    policies = int(instruction.has("L2::cache_hint"))
    return instruction.operands[3] if len(instruction.operands) - policies > 3 else None


def _copy(kernel: Kernel, instruction: Instruction) -> Action:
    if instruction.has("bulk"):
        return bulk_copy(kernel, instruction)
    if instruction.has("commit_group", "wait_group", "wait_all"):
        return lambda m: None
    if not instruction.has("async") or instruction.has("reduce"):
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    if instruction.has("mbarrier"):
        return arrive_without_count(kernel, instruction)
    size = instruction.operands[2]
    if not isinstance(size, Number) or size.value not in _SIZES:
        raise PtxError(f"{instruction.text} is not executed", instruction.place)
    to, source = address_of(kernel, instruction.operands[0]), address_of(kernel, instruction.operands[1])
    used = _bytes_read(kernel, source_size(instruction), size.value)
    loads = kernel.memory_site(instruction, "global", "load", size.value, "uint32")
    stores = kernel.memory_site(instruction, "shared", "store", size.value, "uint32")

    def run(m: Machine) -> None:
        values = access.load_first(m, loads, source(m), used(m), size.value)
        access.store(m, stores, "shared", to(m), values, 4)

    return run


def _bytes_read(kernel: Kernel, operand: Operand | None, most: int) -> Read:
    """Return what reads how many bytes of the source are read."""
    every = np.uint32(most)
    if operand is None:
        return lambda m: every
    if isinstance(operand, Register) and kernel.registers[operand.name] == "pred":
        is_ignored = read(kernel, operand, "pred")

        def unless_ignored(m: Machine) -> Value:
            return np.where(is_ignored(m), np.uint32(0), every)[()]

        return unless_ignored
    size = read(kernel, operand, "u32")
    return lambda m: np.minimum(size(m), every)


FAMILY: Family = {"cp": _copy, "mbarrier": mbarrier}
