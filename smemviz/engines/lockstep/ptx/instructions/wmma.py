"""``wmma``: products of matrices whose elements lie in registers in an order that PTX does not tell.

The order here is our own, so results are right; which lane asks for which address is not known to anybody, and so the
requests are counted and their wavefronts are not.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.access import places
from smemviz.engines.lockstep.ptx.code.module import SIZES, Instruction, Operand, PtxError, items_of
from smemviz.engines.lockstep.ptx.dtypes import DTYPES, as_bf16, as_tf32, from_bf16
from smemviz.engines.lockstep.ptx.instructions.arithmetic import Family
from smemviz.engines.lockstep.ptx.instructions.loads import address_of, dtype_name, space_of
from smemviz.engines.lockstep.ptx.instructions.matrices import whole_warps
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.memory import SPACES, WINDOWS, spaces
from smemviz.engines.lockstep.ptx.registers import Action, Read, read, write

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")


def _wmma(kernel: Kernel, instruction: Instruction) -> Action:
    what = instruction.words[1]
    shape = next((match for word in instruction.words if (match := _SHAPE.fullmatch(word))), None)
    if shape is None or what not in ("load", "store", "mma") or instruction.types[-1] in ("f64", "b1"):
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    m, n, k = (int(size) for size in shape.groups())
    sizes = {"a": (m, k), "b": (k, n), "c": (m, n), "d": (m, n)}
    if what == "mma":
        return _multiply(kernel, instruction, sizes)
    part = instruction.words[2]
    rows, columns = sizes[part]
    kind = instruction.types[-1]
    loads = what == "load"
    registers, place, stride = (
        instruction.operands if loads else (instruction.operands[1], instruction.operands[0], instruction.operands[2])
    )
    where, step = address_of(kernel, place), read(kernel, stride, "u32")
    space, width, by_rows = space_of(instruction), SIZES[kind], instruction.one_of("row", "col") == "row"
    site = kernel.memory_site(instruction, space, f"wmma_{what}", width, dtype_name("b16" if kind == "bf16" else kind))
    in_registers = _Fragment(kernel, registers, kind)
    row, column = np.divmod(np.arange(rows * columns), columns)

    def run(machine: Machine) -> None:
        whole_warps(machine, instruction)
        at = machine.one_each(where(machine).astype(np.int64)).reshape(-1, 32)[:, :1]
        across = machine.one_each(step(machine)).astype(np.int64).reshape(-1, 32)[:, :1]
        name = SPACES[int(spaces(at.reshape(-1)[:1])[0])] if space == "generic" else space
        at = at - (WINDOWS[name] if space == "generic" else 0)
        offset = (row * across + column) if by_rows else (column * across + row)
        elements = (at + offset * width).reshape(-1)
        threads = np.repeat(machine.threads[::32], rows * columns)
        if not machine.inside(name, elements, width).all():
            machine.out_of_bounds(site, name, elements[~machine.inside(name, elements, width)])
            return
        values = None if loads else in_registers.read(machine, rows * columns)
        for first in range(0, rows * columns, 32):  # one request, whose lanes have several elements each
            at_once = elements.reshape(len(at), -1)[:, first : first + 32].reshape(-1)
            stored = [] if values is None else [machine.as_active(values[:, first : first + 32].reshape(-1))]
            machine.request(site, name, machine.as_active(at_once), width, stored, logged=first == 0)
        before = machine.lanes
        machine.set_lanes(threads)
        fragment = np.zeros(len(elements), f"u{width}")
        for memory, numbers, lanes in places(machine, name, elements, width):
            if values is None:
                fragment[lanes] = memory[numbers]
            else:
                memory[numbers] = values.reshape(-1)[lanes]
        machine.set_lanes(before)
        if loads:
            in_registers.write(machine, fragment.reshape(len(at), -1))

    return run


class _Fragment:
    """The registers of a fragment: element e of the matrix is in lane e % 32, in order."""

    def __init__(self, kernel: Kernel, operand: Operand, kind: str) -> None:
        items = items_of(operand)
        self._reads: list[Read] = [read(kernel, item, "b32") for item in items]
        self._puts = [write(kernel, item, "b32") for item in items]
        self._width = SIZES[kind]

    def read(self, m: Machine, elements: int) -> NDArray[Any]:
        """Return the bits of (warps, elements)."""
        words = np.stack([m.one_each(source(m)) for source in self._reads], axis=-1)
        parts = np.ascontiguousarray(words).view(f"u{self._width}").reshape(len(words) // 32, 32, -1)
        per_lane = elements // 32
        return parts[:, :, :per_lane].transpose(0, 2, 1).reshape(len(parts), elements)

    def write(self, m: Machine, bits: NDArray[Any]) -> None:
        """Set the registers from the bits of (warps, elements)."""
        parts = bits.reshape(len(bits), -1, 32).transpose(0, 2, 1)
        room = len(self._puts) * 4 // self._width
        # A fragment may have room for its elements twice.
        parts = np.tile(parts, (1, 1, -(-room // parts.shape[2])))[:, :, :room]
        words = np.ascontiguousarray(parts).view(np.uint32).reshape(-1, len(self._puts))
        for number, put in enumerate(self._puts):
            put(m, m.as_active(np.ascontiguousarray(words[:, number])))


def _multiply(kernel: Kernel, instruction: Instruction, sizes: dict[str, tuple[int, int]]) -> Action:
    types = instruction.types
    if len(types) == 2:  # of d and c; a and b are halves
        kinds = {"d": types[0], "a": "f16", "b": "f16", "c": types[1]}
    else:
        kinds = dict(zip("dabc", types[-4:], strict=True))
    parts = {
        part: _Fragment(kernel, operand, kinds[part])
        for part, operand in zip("dabc", instruction.operands, strict=True)
    }
    whole = kinds["c"] == "s32"

    def run(m: Machine) -> None:
        whole_warps(m, instruction)
        values = {}
        for part in "abc":
            rows, columns = sizes[part]
            bits = parts[part].read(m, rows * columns).reshape(-1, rows, columns)
            values[part] = _numbers(bits, kinds[part]).astype(np.int32 if whole else np.float32)
        d = values["a"] @ values["b"] + values["c"]
        kind = kinds["d"]
        bits = as_bf16(d) if kind == "bf16" else d.astype(DTYPES[kind]).view(f"u{SIZES[kind]}")
        parts["d"].write(m, bits.reshape(len(d), -1))

    return run


def _numbers(bits: NDArray[Any], kind: str) -> Any:
    if kind == "bf16":
        return from_bf16(bits)
    numbers = np.ascontiguousarray(bits).view(DTYPES[kind])
    return as_tf32(numbers) if kind == "tf32" else numbers


FAMILY: Family = {"wmma": _wmma}
