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


def whole_warps(m: Machine, one: Instruction) -> None:
    """Make sure that the lanes of every warp are there.

    Raises:
        PtxError: when some are not.
    """
    if m.active % 32:
        raise PtxError(f"{one.opcode} is run by a part of a warp", one.place)


def _matrix(kernel: Kernel, one: Instruction) -> Action:
    if not one.has("m8n8"):
        raise PtxError(f"{'.'.join(one.words)} is not executed", one.place)
    size, loads = one.one_of("x1", "x2", "x4"), one.opcode == "ldmatrix"
    count, transposed = int(size[1]), one.has("trans")
    registers, place = one.operands if loads else one.operands[::-1]
    where = address_of(kernel, place)
    items = items_of(registers)
    puts = [write(kernel, item, "b32") for item in items] if loads else []
    values = [read(kernel, item, "b32") for item in items] if not loads else []
    site = kernel.memory_site(one, "shared", f"{one.opcode}_{size}", _ROW_BYTES, "uint16")
    generic = space_of(one) == "generic"

    def run(m: Machine) -> None:
        whole_warps(m, one)
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
