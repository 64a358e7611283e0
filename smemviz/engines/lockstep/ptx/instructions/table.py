"""Every opcode that is executed, and what makes an action of it."""

from __future__ import annotations

from smemviz.engines.lockstep.ptx.code.module import Instruction, PtxError
from smemviz.engines.lockstep.ptx.instructions import (
    arithmetic,
    atomics,
    bits,
    comparisons,
    copies,
    host_calls,
    loads,
    matrices,
    mbarriers,
    warps,
    wmma,
)
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.registers import Action, read

FAMILIES: dict[str, arithmetic.Family] = {
    "arithmetic": arithmetic.FAMILY,
    "moves and bits": bits.FAMILY,
    "comparisons and conversions": comparisons.FAMILY,
    "loads and stores": loads.FAMILY,
    "atomics": atomics.FAMILY,
    "lanes of a warp": warps.FAMILY,
    "matrices in shared memory": matrices.FAMILY,
    "products of matrices": {**matrices.PRODUCTS, **wmma.FAMILY},
    "asynchronous copies": {**copies.FAMILY, **mbarriers.FAMILY},
    "calls of the host's": host_calls.FAMILY,
}
TABLE: arithmetic.Family = {name: build for family in FAMILIES.values() for name, build in family.items()}


def action_of(kernel: Kernel, instruction: Instruction) -> Action:
    """Return what an instruction does.

    Raises:
        PtxError: when it is not executed.
    """
    build = TABLE.get(instruction.opcode)
    if build is None:
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    try:
        action = build(kernel, instruction)
    except PtxError as error:
        raise PtxError(error.what, instruction.place) from None
    except (KeyError, ValueError, IndexError):
        raise PtxError(f"{instruction.text} is not executed", instruction.place) from None
    return _guarded(kernel, instruction, action) if instruction.guard else action


def _guarded(kernel: Kernel, instruction: Instruction, action: Action) -> Action:
    """Return the action for the threads in which a register is true."""
    assert instruction.guard is not None
    test, negated = read(kernel, instruction.guard.register, "pred"), instruction.guard.negated

    def run(m: Machine) -> None:
        wanted = test(m)
        wanted = ~wanted if negated else wanted
        if wanted.ndim == 0:
            if wanted:
                action(m)
            return
        chosen = m.one_each(wanted).nonzero()[0]
        if len(chosen) == m.active:
            action(m)
        elif len(chosen):
            with m.only(chosen):
                action(m)

    return run
