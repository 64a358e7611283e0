"""``st``, plain or asynchronous: ``st.async`` stores in the cluster and has an mbarrier there count the bytes."""

from typing import Any

import numpy as np

from smemviz.engines.lockstep.ptx import access
from smemviz.engines.lockstep.ptx.clusters import OWN_BITS
from smemviz.engines.lockstep.ptx.code.module import SIZES, Instruction, PtxError, items_of
from smemviz.engines.lockstep.ptx.instructions.loads import address_of, dtype_name, plain_store
from smemviz.engines.lockstep.ptx.instructions.mbarriers import bytes_came, number_of
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.registers import Action, read


def store(kernel: Kernel, instruction: Instruction) -> Action:
    """Return what a store does.

    Raises:
        PtxError: for one that is not executed.
    """
    if not instruction.has("async"):
        return plain_store(kernel, instruction)
    if not instruction.has("shared::cluster") or len(instruction.operands) != len(("to", "value", "mbarrier")):
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    width = SIZES[instruction.type]
    where, told = (address_of(kernel, instruction.operands[number]) for number in (0, 2))
    values = [read(kernel, source, f"b{8 * width}") for source in items_of(instruction.operands[1])]
    nbytes = width * len(values)
    site = kernel.memory_site(instruction, "shared", "store", nbytes, dtype_name(f"u{8 * width}"))

    def run(m: Machine) -> None:
        at: Any = m.one_each(told(m)).astype(np.int64)
        inside = m.inside("shared", at & OWN_BITS, 8)
        if not inside.all():
            m.out_of_bounds(site, "shared", at[~inside][:1])
            return
        access.store(m, site, "shared", where(m), [value(m) for value in values], width)
        for thread, address in zip(m.threads.tolist(), at.tolist(), strict=True):
            row = m.row_of(thread // m.shape[1], address)
            bytes_came(m, number_of(m, row, address & OWN_BITS), nbytes)

    return run
