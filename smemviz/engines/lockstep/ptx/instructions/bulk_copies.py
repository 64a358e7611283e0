"""Copies that one thread has made of many bytes, ``cp.async.bulk``, with a tensor map or without, done at once.

The copy engine makes them, not the threads: one request is noted of the thread that asks, in shared memory, and none
in global memory, as the counters of the load and store unit have none.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.clusters import OWN_BITS, RANK_BIT
from smemviz.engines.lockstep.ptx.code.module import (
    DTYPES,
    SIZES,
    Address,
    Group,
    Instruction,
    Operand,
    PtxError,
    Register,
    as_bf16,
    from_bf16,
)
from smemviz.engines.lockstep.ptx.instructions.loads import address_of
from smemviz.engines.lockstep.ptx.instructions.mbarriers import bytes_came, group_action, number_of
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.memory import SHARED_WINDOW
from smemviz.engines.lockstep.ptx.pipelines import COPY
from smemviz.engines.lockstep.ptx.registers import Action, Read, read
from smemviz.engines.lockstep.ptx.tensor_maps import NBYTES, TensorMap, decoded

_RANK = re.compile(r"([1-5])d")
_ALIGNMENT, _SWIZZLED_ALIGNMENT = 16, 128
_REDUCTIONS: dict[str, Any] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_TENSOR_TYPES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32", "tf32", "tf32")


def bulk_copy(kernel: Kernel, instruction: Instruction) -> Action:
    """Return what a bulk copy does.

    Raises:
        PtxError: for one that is not executed.
    """
    if instruction.has("prefetch"):
        return lambda m: None
    if instruction.has("commit_group", "wait_group"):
        return group_action(instruction, COPY)
    rank = next((int(match[1]) for word in instruction.words if (match := _RANK.fullmatch(word))), 0)
    spaces = [word.partition("::")[0] for word in instruction.words if word.partition("::")[0] in ("shared", "global")]
    other = [word for word in instruction.words if word.startswith(("im2col", "tile::"))]
    if other or len(spaces) != 2 or (instruction.has("tensor") != bool(rank)):
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    copy = _Copy(kernel, instruction, spaces, rank)

    def run(m: Machine) -> None:
        for place, thread in enumerate(m.threads.tolist()):
            with m.only(np.array([place])):
                copy.make(m, thread)
        m.changes += 1

    return run


class _Copy:
    """One instruction: what its operands are, and how a thread makes it."""

    def __init__(self, kernel: Kernel, instruction: Instruction, spaces: list[str], rank: int) -> None:
        self._instruction = instruction
        to, source, *rest = instruction.operands
        self._loads, self._within = spaces == ["shared", "global"], spaces == ["shared", "shared"]
        self._map: Read | None = None
        self._at: list[Read] = []
        if rank:
            place = source if self._loads else to
            if not isinstance(place, Group) or not isinstance(place.items[1], Group):
                raise PtxError(f"{instruction.text} is not executed", instruction.place)
            self._map = _address(kernel, place.items[0])
            self._at = [read(kernel, item, "s32") for item in place.items[1].items]
        self._to = address_of(kernel, to) if isinstance(to, Address) else None
        self._source = address_of(kernel, source) if isinstance(source, Address) else None
        self._size = read(kernel, rest.pop(0), "u32") if not rank else None
        self._barrier = address_of(kernel, rest.pop(0)) if spaces[0] == "shared" else None
        self._blocks = read(kernel, rest.pop(0), "u16") if instruction.has("multicast::cluster") else None
        self._reduces = next((word for word in instruction.words if word in _REDUCTIONS), "")
        self._type = instruction.type
        op = "bulk_store" if spaces[0] == "shared" else "bulk_load"
        self._site = kernel.memory_site(instruction, "shared", op, 16, "uint8")

    def make(self, m: Machine, thread: int) -> None:
        """Make the copy of the one thread that runs."""
        tensor = self._tensor(m)
        nbytes = tensor.nbytes if tensor else int(m.one_each(self._size(m))[0]) if self._size else 0
        own = thread // m.shape[1]
        if self._loads or self._within:
            assert self._to is not None
            assert self._barrier is not None
            to, barrier = _shared(m, self._to), _shared(m, self._barrier)
            self._note(m, to, tensor)
            inner = barrier & OWN_BITS
            if not self._inside(m, "shared", np.array([inner]), 8).all():
                return
            if tensor:
                data = self._box(m, tensor)
            elif self._within:
                assert self._source is not None
                data = self._shared_bytes(m, thread, _shared(m, self._source) + np.arange(nbytes))
            else:
                assert self._source is not None
                data = self._global(m, int(m.one_each(self._source(m))[0]) + np.arange(nbytes))
            offsets = (to & OWN_BITS) + np.arange(nbytes) if tensor is None else _bytes(tensor, to & OWN_BITS)
            for row in self._rows(m, own, to):
                told = number_of(m, m.row_of(own, barrier) if self._blocks is None else row, inner)
                self._put_shared(m, thread, row, offsets, data, told)
                bytes_came(m, told, nbytes)
            return
        assert self._source is not None
        start = _shared(m, self._source)
        self._note(m, start, tensor)
        offsets = start + np.arange(nbytes) if tensor is None else _bytes(tensor, start)
        data = self._shared_bytes(m, thread, offsets)
        if tensor:
            at = [int(m.one_each(one(m))[0]) for one in self._at]
            if min(at) < 0:
                what = "a bulk store of a tensor to a coordinate below zero, which stops a GPU, is not executed"
                raise PtxError(what, self._instruction.place)
            addresses, inside = tensor.elements(at)
            places = (addresses[:, None] + np.arange(tensor.itemsize))[inside].reshape(-1)
            data = data.reshape(-1, tensor.itemsize)[inside].reshape(-1)
            kind = _TENSOR_TYPES[tensor.kind]
        else:
            assert self._to is not None
            places, kind = int(m.one_each(self._to(m))[0]) + np.arange(nbytes), self._type
        self._put_global(m, places, data, kind)

    def _tensor(self, m: Machine) -> TensorMap | None:
        if self._map is None:
            return None
        start = int(m.one_each(self._map(m))[0])
        allocation = m.memory.holding(start, start + NBYTES)
        first = start - allocation.start if allocation else 0
        tensor = decoded(allocation.data[first : first + NBYTES]) if allocation else None
        if tensor is None or len(tensor.box) != len(self._at):
            what = f"{'.'.join(self._instruction.words)} is given no tensor map of {len(self._at)} dimensions"
            raise PtxError(what, self._instruction.place)
        return tensor

    def _rows(self, m: Machine, own: int, to: int) -> list[int]:
        """Return the blocks of the batch that a copy into shared memory goes to."""
        if self._blocks is None:
            return [m.row_of(own, to)]
        mask = int(m.one_each(self._blocks(m))[0])
        return [m.row_of(own, (rank + 1) << RANK_BIT) for rank in range(16) if mask >> rank & 1]

    def _note(self, m: Machine, start: int, tensor: TensorMap | None) -> None:
        alignment = _SWIZZLED_ALIGNMENT if tensor else _ALIGNMENT
        at = np.array([start & OWN_BITS])
        if at[0] % alignment:
            m.stop_misaligned(self._site, "shared", at, alignment)
        m.request(self._site, "shared", at, 16, logged=True)

    def _box(self, m: Machine, tensor: TensorMap) -> NDArray[np.uint8]:
        addresses, inside = tensor.elements([int(m.one_each(one(m))[0]) for one in self._at])
        data = np.tile(tensor.fill(), (len(addresses), 1))
        data[inside] = self._global(m, (addresses[inside, None] + np.arange(tensor.itemsize)).reshape(-1)).reshape(
            -1, tensor.itemsize
        )
        return data.reshape(-1)

    def _inside(self, m: Machine, space: str, at: NDArray[np.int64], size: int = 1) -> NDArray[np.bool_]:
        inside = m.inside(space, at, size)
        if not inside.all():
            m.out_of_bounds(self._site, space, at[~inside][:1])
        return inside

    def _global(self, m: Machine, at: NDArray[np.int64]) -> NDArray[np.uint8]:
        data, inside = np.zeros(len(at), np.uint8), self._inside(m, "global", at)
        if inside.any():
            allocation = m.memory.nearest(int(at[inside][0]))
            assert allocation is not None
            data[inside] = allocation.data[at[inside] - allocation.start]
        return data

    def _put_global(self, m: Machine, at: NDArray[np.int64], data: NDArray[np.uint8], kind: str) -> None:
        inside = self._inside(m, "global", at)
        if not inside.any():
            return
        allocation = m.memory.nearest(int(at[inside][0]))
        assert allocation is not None
        places = at[inside] - allocation.start
        data = data[inside]
        if self._reduces:
            before = allocation.data[places]
            data = _reduced(self._reduces, before, data, kind)
        allocation.data[places] = data

    def _shared_bytes(self, m: Machine, thread: int, at: NDArray[np.int64]) -> NDArray[np.uint8]:
        data, inside = np.zeros(len(at), np.uint8), self._inside(m, "shared", at)
        if m.pipelines and inside.any():
            m.pipelines.read(self._site, COPY, thread, at[inside], in_group=not self._within)
        data[inside] = m.shared_views[1][thread // m.shape[1], at[inside] - m.layout.start]
        return data

    def _put_shared(
        self, m: Machine, thread: int, row: int, at: NDArray[np.int64], data: NDArray[np.uint8], told: int
    ) -> None:
        inside = self._inside(m, "shared", at)
        if m.pipelines and inside.any():
            m.pipelines.copied(self._site, thread, row, at[inside], told)
        m.shared_views[1][row, at[inside] - m.layout.start] = data[inside]
        if inside.any():
            m.hazards.written(row, int(at[inside].min()), int(np.ptp(at[inside])) + 1)


def _address(kernel: Kernel, operand: Operand) -> Read:
    return address_of(kernel, Address(operand)) if isinstance(operand, Register) else address_of(kernel, operand)


def _shared(m: Machine, address: Read) -> int:
    at = int(m.one_each(address(m).astype(np.int64))[0])
    return at - SHARED_WINDOW if at >= SHARED_WINDOW else at


def _bytes(tensor: TensorMap, start: int) -> NDArray[np.int64]:
    return (tensor.offsets(start)[:, None] + np.arange(tensor.itemsize)).reshape(-1)


def _reduced(name: str, before: NDArray[np.uint8], data: NDArray[np.uint8], kind: str) -> NDArray[np.uint8]:
    """Return what a reduction of elements of a type makes of bytes."""
    if kind == "bf16":
        values = (from_bf16(np.ascontiguousarray(part).view(np.uint16)) for part in (before, data))
        return np.ascontiguousarray(as_bf16(_REDUCTIONS[name](*values))).view(np.uint8)
    size = f"u{SIZES[kind]}" if name in ("and", "or", "xor") else DTYPES[kind]
    left, right = (np.ascontiguousarray(part).view(size) for part in (before, data))
    return np.ascontiguousarray(_REDUCTIONS[name](left, right)).view(np.uint8)
