"""Small matrices in the registers of a warp: ``ldmatrix`` and ``stmatrix`` move, ``mma`` and ``wmma`` multiply them.

PTX does not tell in which order the elements of ``wmma`` lie in registers. It is our own here, so results are right;
which lane asks for which address is not known to anybody, so the requests are counted and their wavefronts are not.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.access import places
from smemviz.engines.lockstep.ptx.code.module import (
    DTYPES,
    SIZES,
    Instruction,
    Operand,
    PtxError,
    as_bf16,
    as_tf32,
    from_bf16,
    items_of,
)
from smemviz.engines.lockstep.ptx.instructions.arithmetic import Family
from smemviz.engines.lockstep.ptx.instructions.loads import address_of, dtype_name, space_of
from smemviz.engines.lockstep.ptx.instructions.small_floats import floats
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.memory import SHARED_WINDOW, SPACES, WINDOWS, spaces
from smemviz.engines.lockstep.ptx.registers import Action, Read, read, write

_LANE = np.arange(32)
_ROW_BYTES = 16
_GROUP, _IN_GROUP = _LANE // 4, _LANE % 4
_SHAPE = re.compile(r"m16n8k(\d+)")
_SIZES = re.compile(r"m(\d+)n(\d+)k(\d+)")
_PARTS: dict[str, Any] = {
    "f16": np.float16,
    "bf16": np.uint16,
    "s8": np.int8,
    **dict.fromkeys(("u8", "e4m3", "e5m2"), np.uint8),
}
_DEEP = {"f16": (8, 16), "bf16": (8, 16), "tf32": (4, 8), **dict.fromkeys(("s8", "u8", "e4m3", "e5m2"), (16, 32))}


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
        row_lanes = np.flatnonzero(8 * count > _LANE)
        lanes = (np.arange(len(rows))[:, None] * 32 + row_lanes).reshape(-1)
        with m.only(lanes):
            used = rows[:, row_lanes].reshape(-1)
            if not m.inside("shared", used, _ROW_BYTES).all():
                m.out_of_bounds(site, "shared", used[~m.inside("shared", used, _ROW_BYTES)])
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


def _product(kernel: Kernel, instruction: Instruction) -> Action:
    shape = next((match for word in instruction.words if (match := _SHAPE.fullmatch(word))), None)
    kinds = [word for word in instruction.words if word in (*_DEEP, "f32", "s32")][-4:]
    if (
        shape is None
        or len(kinds) < 4
        or int(shape[1]) not in _DEEP.get(kinds[1], ())
        or any(word.partition("::")[0] == "sp" for word in instruction.words)
    ):
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    depth, (d_kind, a_kind, b_kind, c_kind) = int(shape[1]), kinds
    sources = [[read(kernel, item, "b32") for item in items_of(operand)] for operand in instruction.operands[1:4]]
    puts = [write(kernel, item, "b32") for item in items_of(instruction.operands[0])]
    whole = a_kind in ("s8", "u8")
    dtype = np.dtype(np.int32 if whole else np.float32)

    def run(m: Machine) -> None:
        whole_warps(m, instruction)
        warps = m.active // 32
        a, b = np.zeros((warps, 16, depth), dtype), np.zeros((warps, depth, 8), dtype)
        for number, source in enumerate(sources[0]):
            for column, value in _pieces(m, source, a_kind):
                per_register = 4 // _width(a_kind)
                a[
                    :, _GROUP + 8 * (number % 2), per_register * _IN_GROUP + column + 4 * per_register * (number // 2)
                ] = value
        for number, source in enumerate(sources[1]):
            for row, value in _pieces(m, source, b_kind):
                per_register = 4 // _width(b_kind)
                b[:, per_register * _IN_GROUP + row + 4 * per_register * number, _GROUP] = value
        d = a @ b + _accumulator(m, sources[2], c_kind, dtype)
        _put_accumulator(m, puts, d, d_kind)

    return run


def _accumulator(m: Machine, sources: list[Read], kind: str, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return 16 x 8 numbers of each warp."""
    c = np.zeros((m.active // 32, 16, 8), dtype)
    for number, source in enumerate(sources):
        for column, value in _pieces(m, source, kind):
            if kind == "f16":
                c[:, _GROUP + 8 * number, 2 * _IN_GROUP + column] = value
            else:
                c[:, _GROUP + 8 * (number // 2), 2 * _IN_GROUP + number % 2] = value
    return c


def _put_accumulator(m: Machine, puts: list[Any], d: NDArray[Any], kind: str) -> None:
    for number, put in enumerate(puts):
        if kind == "f16":
            row = _GROUP + 8 * number
            both = np.stack([d[:, row, 2 * _IN_GROUP], d[:, row, 2 * _IN_GROUP + 1]], axis=-1).astype(np.float16)
            value = np.ascontiguousarray(both).view(np.uint32)
        else:
            value = np.ascontiguousarray(d[:, _GROUP + 8 * (number // 2), 2 * _IN_GROUP + number % 2]).view(np.uint32)
        put(m, m.as_active(value.reshape(-1)))


def _pieces(m: Machine, source: Read, kind: str) -> list[tuple[int, NDArray[Any]]]:
    """Return the numbers in a register of each lane, (warps, 32) each, by their place in it."""
    words = np.ascontiguousarray(m.one_each(source(m))).reshape(-1, 32)
    if kind in ("f32", "s32", "tf32"):
        number = words.view(np.int32 if kind == "s32" else np.float32)
        return [(0, as_tf32(number) if kind == "tf32" else number)]
    count = 4 // _width(kind)
    parts = words.view(_PARTS[kind]).reshape(len(words), 32, count)
    if kind in ("bf16", "e4m3", "e5m2"):
        parts = from_bf16(parts) if kind == "bf16" else floats(kind)[parts]
    return [(place, parts[..., place]) for place in range(count)]


def _width(kind: str) -> int:
    return {"tf32": 4, "s8": 1, "u8": 1, "e4m3": 1, "e5m2": 1}.get(kind, 2)


def _wmma(kernel: Kernel, instruction: Instruction) -> Action:
    what = instruction.words[1]
    shape = next((match for word in instruction.words if (match := _SIZES.fullmatch(word))), None)
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
        words = np.stack([m.one_each(source(m)) for source in self._reads], axis=-1)
        parts = np.ascontiguousarray(words).view(f"u{self._width}").reshape(len(words) // 32, 32, -1)
        per_lane = elements // 32
        return parts[:, :, :per_lane].transpose(0, 2, 1).reshape(len(parts), elements)

    def write(self, m: Machine, bits: NDArray[Any]) -> None:
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


def _transpose(kernel: Kernel, instruction: Instruction) -> Action:
    put, value = write(kernel, instruction.operands[0], "b32"), read(kernel, instruction.operands[1], "b32")

    def run(m: Machine) -> None:
        whole_warps(m, instruction)
        rows = np.ascontiguousarray(m.one_each(value(m))).view(np.uint16).reshape(-1, 8, 8)
        put(m, m.as_active(np.ascontiguousarray(rows.transpose(0, 2, 1)).view(np.uint32).reshape(-1)))

    return run


MOVES: Family = {**dict.fromkeys(("ldmatrix", "stmatrix"), _matrix), "movmatrix": _transpose}
PRODUCTS: Family = {"mma": _product, "wmma": _wmma}
