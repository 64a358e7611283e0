"""Asynchronous copies from global to shared memory. They are done at once; waiting for them is nothing to do."""

from __future__ import annotations

import numpy as np

from smemviz.engines.lockstep.ptx import access
from smemviz.engines.lockstep.ptx.code.module import Instruction, Number, PtxError
from smemviz.engines.lockstep.ptx.instructions.arithmetic import Family
from smemviz.engines.lockstep.ptx.instructions.loads import address_of
from smemviz.engines.lockstep.ptx.instructions.mbarriers import arrive_without_count
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.registers import Action, read


def _copy(kernel: Kernel, instruction: Instruction) -> Action:
    if not instruction.has("async") or instruction.has("bulk", "reduce"):
        if instruction.has("commit_group", "wait_group"):
            return lambda m: None
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    if instruction.has("commit_group", "wait_group", "wait_all"):
        return lambda m: None
    if instruction.has("mbarrier"):
        return arrive_without_count(kernel, instruction)
    size = instruction.operands[2]
    if not isinstance(size, Number):
        raise PtxError(f"{instruction.text} is not executed", instruction.place)
    to, source = address_of(kernel, instruction.operands[0]), address_of(kernel, instruction.operands[1])
    used = read(kernel, instruction.operands[3], "u32") if len(instruction.operands) > 3 else None
    loads = kernel.memory_site(instruction, "global", "load", size.value, "uint32")
    stores = kernel.memory_site(instruction, "shared", "store", size.value, "uint32")
    words = size.value // 4

    def run(m: Machine) -> None:
        values = access.load(m, loads, "global", source(m), words, 4)
        if used is not None:
            copied = used(m)
            values = [np.where(copied > 4 * i, value, np.uint32(0))[()] for i, value in enumerate(values)]
        access.store(m, stores, "shared", to(m), values, 4)

    return run


FAMILY: Family = {"cp": _copy}
