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
    products,
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
    "products of matrices": {**products.FAMILY, **wmma.FAMILY},
    "asynchronous copies": {**copies.FAMILY, **mbarriers.FAMILY},
    "calls of the host's": host_calls.FAMILY,
}
TABLE: arithmetic.Family = {name: build for family in FAMILIES.values() for name, build in family.items()}


def action_of(kernel: Kernel, one: Instruction) -> Action:
    """Return what an instruction does.

    Raises:
        PtxError: when it is not executed.
    """
    build = TABLE.get(one.opcode)
    if build is None:
        raise PtxError(f"{'.'.join(one.words)} is not executed", one.place)
    try:
        action = build(kernel, one)
    except PtxError as error:
        raise PtxError(error.what, one.place) from None
    except (KeyError, ValueError, IndexError):
        raise PtxError(f"{one.text} is not executed", one.place) from None
    return _guarded(kernel, one, action) if one.guard else action


def _guarded(kernel: Kernel, one: Instruction, action: Action) -> Action:
    """Return the action for the threads in which a register is true."""
    assert one.guard is not None
    test, negated = read(kernel, one.guard.register, "pred"), one.guard.negated

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
