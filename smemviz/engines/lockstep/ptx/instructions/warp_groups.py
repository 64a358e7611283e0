"""``wgmma``: a warp group, four warps, multiplies matrices, of which descriptors say where they lie in shared memory.

It is done at once, so that fences have nothing to do, and waits are only noted. The tensor cores read an operand as
matrices of 8 rows of 16 bytes, and so are the requests: what a warp reads of A, and a quarter of B.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.code.module import (
    Group,
    Instruction,
    Number,
    Operand,
    PtxError,
    from_bf16,
    items_of,
)
from smemviz.engines.lockstep.ptx.instructions.arithmetic import Family
from smemviz.engines.lockstep.ptx.instructions.mbarriers import group_action
from smemviz.engines.lockstep.ptx.instructions.small_floats import floats
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.pipelines import PRODUCT
from smemviz.engines.lockstep.ptx.registers import Action, Read, Write, read, write
from smemviz.model.layout.operand_tiles import swizzled

_SHAPE = re.compile(r"m64n(\d+)k(\d+)")
_SIZES = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1, "s8": 1, "u8": 1}
_WIDTHS = (16, 128, 64, 32)  # of the swizzle, by a descriptor's code
_DEPTH_BYTES, _THREADS, _ROWS = 32, 128, 64
_LANE = np.arange(_THREADS)
_ROW, _COLUMN = _LANE // 32 * 16 + _LANE % 32 // 4, _LANE % 4


def _numbers(bits: NDArray[Any], kind: str) -> NDArray[Any]:
    match kind:
        case "f16":
            return bits.view(np.float16).astype(np.float32)
        case "bf16":
            return np.asarray(from_bf16(bits))
        case "tf32":  # the lowest 13 bits are not looked at
            return (bits & np.uint32(0xFFFFE000)).view(np.float32)
        case "e4m3" | "e5m2":
            return np.asarray(floats(kind)[bits])
    return bits.view(np.int8 if kind == "s8" else np.uint8).astype(np.int32)


@dataclass(frozen=True)
class _Matrix:
    """An operand: its rows of m or n, its type, and whether neighbours in memory are those of m or n, not of k."""

    rows: int
    kind: str
    across: bool

    def places(self, descriptor: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the addresses of its elements, (rows, k), and of its pieces of 16 bytes, 8 of a matrix together."""
        start, leading, stride = ((descriptor >> bit & 0x3FFF) << 4 for bit in (0, 16, 32))
        width, base, size = _WIDTHS[descriptor >> 62 & 3], descriptor >> 49 & 7, _SIZES[self.kind]
        row, k = np.arange(self.rows)[:, None], np.arange(_DEPTH_BYTES // size)[None, :]
        if self.across:
            along, of_eight = row * size, k
        else:
            along, of_eight = k * size, row
        # Groups of 8 lie a stride apart, and what goes beyond the width of the swizzle, a leading one apart; where
        # there is no swizzle and the rows are of m or n, it is the other way round.
        swapped = self.across and width == 16
        eight, beyond = (leading, stride) if swapped else (stride, leading)
        linear = start + of_eight // 8 * eight + of_eight % 8 * width + along // width * beyond + along % width
        address = swizzled(linear, width, base)
        pieces = address[:: 16 // size, :] if self.across else address[:, :: 16 // size]
        if self.across:
            pieces = pieces.reshape(len(pieces), -1, 8)
        else:
            pieces = pieces.reshape(-1, 8, pieces.shape[1]).transpose(0, 2, 1)
        return address, pieces.reshape(-1, 8)


def _product(kernel: Kernel, instruction: Instruction) -> Action:
    shape = next((match for word in instruction.words if (match := _SHAPE.fullmatch(word))), None)
    kinds = instruction.words[-3:] if instruction.words[-1] in _SIZES else instruction.words[-4:-1]
    if (
        shape is None
        or not {*kinds[1:]} <= {*_SIZES}
        or int(shape[2]) * _SIZES[kinds[1]] != _DEPTH_BYTES
        or any(word.partition("::")[0] == "sp" for word in instruction.words)
    ):
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    d_kind, a_kind, b_kind = kinds
    d, a, b, scale, *flags = instruction.operands
    in_registers = isinstance(a, Group)
    values = [flag.value if isinstance(flag, Number) else 0 for flag in flags]
    factor = values[0] * values[1] if len(values) > 1 else 1
    across = [bool(value) for value in values[2:]]
    across = [False, *across] if in_registers and across else across
    matrices = [
        _Matrix(rows, kind, bool(turned))
        for rows, kind, turned in zip((_ROWS, int(shape[1])), (a_kind, b_kind), across or (0, 0), strict=True)
    ]
    product = _Product(kernel, instruction, (d, d_kind), (a, b), matrices)
    kept = _scale(kernel, scale)

    def run(m: Machine) -> None:
        threads = m.threads
        whole = threads.reshape(-1, _THREADS) if len(threads) % _THREADS == 0 else threads[None]
        slots = m.shape[1]
        if (whole[:, 0] % slots % _THREADS != 0).any() or (whole[:, -1] - whole[:, 0] != _THREADS - 1).any():
            raise PtxError("wgmma is run by a part of a warp group", instruction.place)
        result = product.of(m, whole, factor)
        keep = m.one_each(kept(m)).reshape(-1, _THREADS)[:, :1, None]
        product.put(m, result + np.where(keep, product.before(m), 0))

    return run


def _scale(kernel: Kernel, operand: Operand) -> Read:
    """Return what reads whether a product is added to what was there."""
    if isinstance(operand, Number):
        return lambda m: np.bool_(operand.value)
    return read(kernel, operand, "pred")


class _Product:
    """The operands of one instruction, as they are in registers and in shared memory."""

    def __init__(
        self,
        kernel: Kernel,
        instruction: Instruction,
        d: tuple[Operand, str],
        sources: tuple[Operand, Operand],
        matrices: list[_Matrix],
    ) -> None:
        a, b = sources
        self._kind, self._matrices = d[1], matrices
        self._d: list[Read] = [read(kernel, item, "b32") for item in items_of(d[0])]
        self._puts: list[Write] = [write(kernel, item, "b32") for item in items_of(d[0])]
        self._a = [read(kernel, item, "b32") for item in items_of(a)] if isinstance(a, Group) else []
        self._descriptors = [None if self._a else read(kernel, a, "u64"), read(kernel, b, "u64")]
        self._sites = [
            None if number == 0 and self._a else kernel.memory_site(instruction, "shared", "wgmma", 16, "uint16")
            for number in range(2)
        ]
        self._saturates = instruction.has("satfinite")
        # Row and column of what each thread has in each register of the result.
        count, halves = len(self._d), self._kind == "f16"
        number = np.arange(2 * count if halves else count)[:, None]
        self._rows = _ROW[None, :] + 8 * (number // 2 % 2)
        self._columns = 2 * _COLUMN[None, :] + number % 2 + 8 * (number // 4)

    def of(self, m: Machine, groups: NDArray[np.intp], factor: int) -> NDArray[Any]:
        """Return A times B of each group, (groups, 64, n)."""
        a = self._fragments(m) if self._a else self._read(m, groups, 0)
        b = self._read(m, groups, 1)
        product = a @ b.transpose(0, 2, 1)
        return np.asarray(product if factor == 1 else product * product.dtype.type(factor))

    def before(self, m: Machine) -> NDArray[Any]:
        words = np.stack([m.one_each(one(m)) for one in self._d], axis=0)
        each: Any = words.view(np.int32 if self._kind == "s32" else np.float32)
        if self._kind == "f16":
            pairs = np.ascontiguousarray(words.reshape(*words.shape, 1)).view(np.float16).astype(np.float32)
            each = pairs.transpose(0, 2, 1).reshape(-1, words.shape[1])
        each = each.reshape(len(each), -1, _THREADS).transpose(1, 0, 2)
        result = np.zeros((len(each), _ROWS, self._matrices[1].rows), each.dtype)
        result[:, self._rows, self._columns] = each
        return result

    def put(self, m: Machine, result: NDArray[Any]) -> None:
        each = result[:, self._rows, self._columns].transpose(1, 0, 2).reshape(len(self._rows), -1)
        if self._kind == "f16":
            pairs = each.astype(np.float16).reshape(len(self._d), 2, -1).transpose(0, 2, 1)
            each = np.ascontiguousarray(pairs).view(np.uint32)[..., 0]
        for put, value in zip(self._puts, each, strict=True):
            put(m, m.as_active(np.ascontiguousarray(value).view(np.uint32)))

    def _fragments(self, m: Machine) -> NDArray[Any]:
        kind = self._matrices[0].kind
        size = _SIZES[kind]
        per = 4 // size
        words = np.stack([m.one_each(one(m)) for one in self._a], axis=-1)
        parts = np.ascontiguousarray(words).view(f"u{size}").reshape(-1, _THREADS, 4, per)
        result = np.zeros((len(parts), _ROWS, _DEPTH_BYTES // size), parts.dtype)
        for number in range(4):
            for part in range(per):
                column = _COLUMN * per + part + 4 * per * (number // 2)
                result[:, _ROW + 8 * (number % 2), column] = parts[:, :, number, part]
        return _numbers(result, kind)

    def _read(self, m: Machine, groups: NDArray[np.intp], number: int) -> NDArray[Any]:
        """Return an operand of each group from shared memory, (groups, rows, k), and note the requests for it."""
        matrix, source, site = self._matrices[number], self._descriptors[number], self._sites[number]
        assert source is not None
        descriptors = m.one_each(source(m)).reshape(-1, _THREADS)[:, 0].tolist()
        places = [matrix.places(descriptor) for descriptor in descriptors]
        size = _SIZES[matrix.kind]
        memory = m.shared_views[size]
        result = np.zeros((len(groups), matrix.rows, _DEPTH_BYTES // size), memory.dtype)
        for group, (address, _) in enumerate(places):
            inside = m.inside("shared", address, size)
            if not inside.all():
                m.out_of_bounds(site, "shared", address[~inside][:1])
            row = int(groups[group, 0]) // m.shape[1]
            if m.pipelines:
                at = (address[inside, None] + np.arange(size)).reshape(-1)
                m.pipelines.read(site, PRODUCT, int(groups[group, 0]), at)
            result[group][inside] = memory[row, (address[inside] - m.layout.start) // size]
        self._note(m, site, np.stack([pieces for _, pieces in places]))
        return _numbers(result, matrix.kind)

    def _note(self, m: Machine, site: int | None, pieces: NDArray[np.int64]) -> None:
        """Note a request of each warp for 4 matrices at a time, of pieces (groups, matrices, 8)."""
        rest = -pieces.shape[1] % 16
        padded = np.pad(pieces, ((0, 0), (0, rest), (0, 0)), constant_values=-1)
        per_warp = padded.reshape(len(pieces), 4, -1, 32) if rest == 0 else None
        if per_warp is None:  # few rows: the first warps have them
            per_warp = padded.reshape(len(pieces), -1, 4, 32).transpose(0, 2, 1, 3)
        for number in range(per_warp.shape[2]):
            at = per_warp[:, :, number].reshape(-1)
            chosen = np.flatnonzero((at >= 0) & m.inside("shared", at, 16))
            with m.only(chosen) as some:
                if some:
                    m.request(site, "shared", at[chosen], 16)


def _step(kernel: Kernel, instruction: Instruction) -> Action:
    if instruction.has("fence"):
        return lambda m: None
    if instruction.has("commit_group", "wait_group"):
        return group_action(instruction, PRODUCT)
    return _product(kernel, instruction)


FAMILY: Family = {"wgmma": _step}
