"""``ldmatrix`` and ``stmatrix``: 8 x 8 matrices of 2-byte elements between shared memory and the lanes of a warp."""

from __future__ import annotations

from typing import Any

import numpy as np

from smemviz.engines.lockstep.ptx.code.module import Instruction, PtxError, items_of
from smemviz.engines.lockstep.ptx.instructions.arithmetic import Family
from smemviz.engines.lockstep.ptx.instructions.loads import address_of, space_of
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.memory import SHARED_WINDOW
from smemviz.engines.lockstep.ptx.registers import Action, read, write

_LANE = np.arange(32)
_ROW_BYTES = 16


def whole_warps(m: Machine, instruction: Instruction) -> None:
    """Make sure that the lanes of every warp are there.

    Raises:
        PtxError: when some are not.
    """
    if m.active % 32:
        raise PtxError(f"{instruction.opcode} is run by a part of a warp", instruction.place)


def _matrix(kernel: Kernel, instruction: Instruction) -> Action:
    if not instruction.has("m8n8"):
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    size, loads = instruction.one_of("x1", "x2", "x4"), instruction.opcode == "ldmatrix"
    count, transposed = int(size[1]), instruction.has("trans")
    registers, place = instruction.operands if loads else instruction.operands[::-1]
    where = address_of(kernel, place)
    items = items_of(registers)
    puts = [write(kernel, item, "b32") for item in items] if loads else []
    values = [read(kernel, item, "b32") for item in items] if not loads else []
    site = kernel.memory_site(instruction, "shared", f"{instruction.opcode}_{size}", _ROW_BYTES, "uint16")
    generic = space_of(instruction) == "generic"

    def run(m: Machine) -> None:
        whole_warps(m, instruction)
        at = m.one_each(where(m).astype(np.int64) - (SHARED_WINDOW if generic else 0))
        rows = at.reshape(-1, 32)
        asked = np.flatnonzero(8 * count > _LANE)
        lanes = (np.arange(len(rows))[:, None] * 32 + asked).reshape(-1)
        with m.only(lanes):
            used = rows[:, asked].reshape(-1)
            if not m.inside("shared", used, _ROW_BYTES).all():
                m.out_of_bounds(site, "shared", used[~m.inside("shared", used, _ROW_BYTES)], _ROW_BYTES)
                return
            m.request(site, "shared", used, _ROW_BYTES, () if loads else [used.astype(np.uint64)] * 2)
        start = (m.shared_starts[m.threads].reshape(-1, 32) + rows)[:, : 8 * count]
        memory = m.shared_views[2].reshape(-1)
        for number in range(count):
            low, high = _elements(start[:, 8 * number : 8 * number + 8], transposed)
            if loads:
                both = memory[low].astype(np.uint32) | (memory[high].astype(np.uint32) << np.uint32(16))
                puts[number](m, m.as_active(both.reshape(-1)))
            else:
                both = m.one_each(values[number](m)).reshape(-1, 32)
                memory[low], memory[high] = both.astype(np.uint16), (both >> np.uint32(16)).astype(np.uint16)

    return run


def _elements(rows: Any, transposed: bool) -> tuple[Any, Any]:
    """Return which two elements of a matrix each lane has, from the first bytes of its 8 rows."""
    if transposed:
        column = _LANE // 4
        return rows[:, 2 * (_LANE % 4)] // 2 + column, rows[:, 2 * (_LANE % 4) + 1] // 2 + column
    first = rows[:, _LANE // 4] // 2 + 2 * (_LANE % 4)
    return first, first + 1


FAMILY: Family = {**dict.fromkeys(("ldmatrix", "stmatrix"), _matrix)}
