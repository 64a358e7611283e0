"""``tensormap``: kernels that change a tensor map in memory, and copy one to where copies take it from."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.code.module import Instruction, Number, PtxError
from smemviz.engines.lockstep.ptx.instructions.arithmetic import Family
from smemviz.engines.lockstep.ptx.instructions.loads import address_of
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.memory import SHARED_WINDOW, space_at
from smemviz.engines.lockstep.ptx.registers import Action, Read, read
from smemviz.engines.lockstep.ptx.tensor_maps import NBYTES, replace_field

# The fields that programs change, as a map here has them; one of several is named by its axis.
_FIELDS = {"global_address": "address", "global_dim": "sizes", "global_stride": "strides", "box_dim": "box"}


def _tensormap(kernel: Kernel, instruction: Instruction) -> Action:
    fields = [_FIELDS[word] for word in instruction.words if word in _FIELDS]
    if not instruction.has("cp_fenceproxy") and not (instruction.has("replace") and fields):
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    where = address_of(kernel, instruction.operands[0])
    if not fields:
        source = address_of(kernel, instruction.operands[1])

        def copy(m: Machine) -> None:
            first = m.only(np.arange(1))  # the lanes of a warp do it together
            with first:
                _map(m, where, instruction)[:] = _map(m, source, instruction)
            m.changes += 1

        return copy
    axis = instruction.operands[1] if len(instruction.operands) > len(("map", "value")) else Number(0)
    value = read(kernel, instruction.operands[-1], instruction.type)
    if not isinstance(axis, Number):
        raise PtxError(f"{instruction.text} is not executed", instruction.place)

    def run(m: Machine) -> None:
        for place in range(m.active):
            with m.only(np.array([place])):
                replace_field(_map(m, where, instruction), fields[0], int(axis.value), int(m.one_each(value(m))[0]))
        m.changes += 1

    return run


def _map(m: Machine, address: Read, instruction: Instruction) -> NDArray[np.uint8]:
    """Return the bytes of the map at an address of the one thread that runs."""
    at = int(m.one_each(address(m).astype(np.int64))[0])
    shared = instruction.has("shared::cta") and space_at(at) == "global" and m.memory.holding(at, at + NBYTES) is None
    if shared or space_at(at) == "shared":
        at = at - SHARED_WINDOW if at >= SHARED_WINDOW else at
        if m.fits("shared", at, at, NBYTES):
            row: Any = int(m.threads[0]) // m.shape[1]
            return np.asarray(m.shared_views[1][row, at - m.layout.start :][:NBYTES])
    elif (allocation := m.memory.holding(at, at + NBYTES)) is not None:
        return allocation.data[at - allocation.start :][:NBYTES]
    raise PtxError(f"{instruction.opcode} is given an address of no tensor map", instruction.place)


FAMILY: Family = {"tensormap": _tensormap}
