"""The memories of a batch of blocks, and views of them: global, shared, local and constant.

A view counts in elements from the start of its memory. An element number is an integer when all threads mean the
same element, else an array with one number per thread.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.typing import Dtype, Value
from smemviz.frontends.numba.sites.fields import numbers_of
from smemviz.messages import english

Index = Any  # int, or (threads,) int64


class Memory:
    """One allocation as bytes; ``base`` is the address of the first, ``space`` its name in recordings."""

    def __init__(self, space: str, data: NDArray[np.uint8], base: int) -> None:
        self.space = space
        self.data = data
        self.base = base
        self._typed: dict[Dtype, NDArray[Any]] = {}
        self._asked: tuple[Index, int, Index] = None, 0, 0  # last: elements, of how many bytes, and their addresses

    def address(self, element: Index, itemsize: int) -> Index:
        """Return the byte address of an element number; one index is often asked for several times."""
        if type(element) is int:
            return element * itemsize + self.base
        of, size, addresses = self._asked
        if of is not element or size != itemsize:
            addresses = element * itemsize + self.base
            self._asked = element, itemsize, addresses
        return addresses

    def elements(self, dtype: Dtype) -> NDArray[Any]:
        typed = self._typed.get(dtype)
        if typed is None:
            whole = len(self.data) // dtype.itemsize * dtype.itemsize
            typed = self._typed[dtype] = self.data[:whole].view(dtype)
        return typed

    def place(self, element: Index, dtype: Dtype) -> Index:
        """Return where in ``elements`` an element number of each thread is found."""
        return element

    def read(self, element: Index, dtype: Dtype) -> Value:
        """Return the element, or one per thread."""
        flat, at = self.elements(dtype), self.place(element, dtype)
        return flat.take(at) if isinstance(at, np.ndarray) else flat[at]

    def write(self, element: Index, dtype: Dtype, value: Value, mask: Mask) -> None:
        """Store where the mask is on; of threads that store to one element, the last one's value stays."""
        flat, at = self.elements(dtype), self.place(element, dtype)
        if not isinstance(at, np.ndarray):
            flat[at] = value[np.flatnonzero(mask.lanes)[-1]] if isinstance(value, np.ndarray) else value
        elif mask.full:
            flat[at] = value
        else:
            flat[at[mask.lanes]] = value[mask.lanes] if isinstance(value, np.ndarray) else value


class SharedMemory(Memory):
    """The shared memory of the blocks of a batch, one after the other."""

    def __init__(self, data: NDArray[np.uint8], base: int, pitch: int, block: NDArray[np.int64] | None) -> None:
        """``pitch`` is bytes per block, ``block`` each thread's row, None where there is one block only."""
        super().__init__("shared", data, base)
        self._pitch = pitch
        self._block = block
        self._start: dict[int, NDArray[np.int64]] = {}

    def beginning(self, address: int, first: int) -> SharedMemory:
        """Return the same memory from an address on, which is byte ``first`` of each block."""
        return SharedMemory(self.data[first:], address, self._pitch, self._block)

    def place(self, element: Index, dtype: Dtype) -> Index:
        """Add the start of the thread's block."""
        if self._block is None:
            return element
        start = self._start.get(dtype.itemsize)
        if start is None:
            start = self._start[dtype.itemsize] = self._block * (self._pitch // dtype.itemsize)
        return start + element


class LocalMemory(Memory):
    """The local arrays of a function in every thread; element k of all threads lies together."""

    def __init__(self, threads: int) -> None:
        super().__init__("local", np.zeros(0, np.uint8), 0)
        self.lanes = np.arange(threads)

    def grow(self, nbytes: int, itemsize: int) -> int:
        """Make room for so many bytes of each thread, all zeros; return the first, a multiple of any element's size."""
        before = len(self.data) // len(self.lanes)
        first = -(-before // math.lcm(16, itemsize)) * math.lcm(16, itemsize)
        self.data = np.concatenate([self.data, np.zeros((first - before + nbytes) * len(self.lanes), np.uint8)])
        self._typed.clear()
        return first

    def read(self, element: Index, dtype: Dtype) -> Value:
        """Return each thread's copy; one row where all threads mean the same element."""
        if isinstance(element, np.ndarray):
            return super().read(element, dtype)
        return self.elements(dtype).reshape(-1, len(self.lanes))[element].copy()

    def place(self, element: Index, dtype: Dtype) -> Index:
        """Return the thread's own copy of the element."""
        return element * len(self.lanes) + self.lanes


class LocalPieces(Memory):
    """A local array of every thread, seen as elements of another width than its own of ``unit`` bytes."""

    def __init__(self, own: LocalMemory, unit: int) -> None:
        super().__init__("local", own.data, 0)
        self.own = own
        self.unit = np.dtype(f"V{unit}")

    def read(self, element: Index, dtype: Dtype) -> Value:
        """Return each thread's copy, put together of several elements or cut out of one."""
        several, many = dtype.itemsize // self.unit.itemsize, self.unit.itemsize // dtype.itemsize
        if several:
            parts = [self.own.read(element * several + part, self.unit) for part in range(several)]
            return np.stack(parts, axis=-1).view(dtype)[..., 0]
        return self._cut(element // many, dtype)[np.arange(len(self.own.lanes)), element % many]

    def write(self, element: Index, dtype: Dtype, value: Value, mask: Mask) -> None:
        """Store where the mask is on, into several elements or a part of one."""
        several, many = dtype.itemsize // self.unit.itemsize, self.unit.itemsize // dtype.itemsize
        threads = len(self.own.lanes)
        if several:
            parts = np.full(threads, value, dtype).view(self.unit).reshape(threads, several)
            for part in range(several):
                self.own.write(element * several + part, self.unit, parts[:, part], mask)
            return
        whole = self._cut(element // many, dtype)
        whole[np.arange(threads), element % many] = value
        self.own.write(element // many, self.unit, whole.view(self.unit)[:, 0], mask)

    def _cut(self, element: Index, dtype: Dtype) -> NDArray[Any]:
        """Return each thread's copy of an element of the array's own as a row of elements of a smaller type."""
        part: NDArray[Any] = self.own.read(element, self.unit)[:, None].view(dtype)
        return part


@dataclass(frozen=True, slots=True)
class View:
    """An array as a kernel sees it; ``shape``, ``strides`` and ``offset`` count elements.

    A size or the offset is an array where a slice or an index differs between threads. ``valid`` tells where that
    index was inside, None where it was so in all threads. Of a part that indices picked out of an array, ``picked`` has
    the index on each axis of that array, None for an axis of the part, and ``whole`` its shape; both are empty for an
    array, and for a part that a message cannot name so.
    """

    name: str
    memory: Memory
    dtype: Dtype
    shape: tuple[Any, ...]
    strides: tuple[int, ...]
    offset: Index
    valid: NDArray[np.bool_] | None = None
    picked: tuple[Any, ...] = ()
    whole: tuple[Any, ...] = ()

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def contiguous(self) -> bool:
        """Whether the elements follow each other in C order."""
        return self.strides == c_strides(self.shape)

    def address(self, element: Index) -> Index:
        return self.memory.address(element, self.dtype.itemsize)

    def reshape(self, shape: tuple[int, ...]) -> View:
        """Return the view with another shape; ``ValueError`` when the elements do not fit it."""
        size = int(np.prod(self.shape, dtype=object)) if self.shape else 1
        if shape.count(-1) == 1:
            known = -int(np.prod(shape, dtype=object))
            shape = tuple(size // known if known and s == -1 else s for s in shape)
        if not self.contiguous or min(shape, default=0) < 0 or int(np.prod(shape, dtype=object)) != size:
            what = english(
                "{array} of shape {shape} cannot be reshaped to {wanted}",
                array=self.name,
                shape=self.shape,
                wanted=shape,
            )
            raise ValueError(what)
        return replace(self, shape=shape, strides=c_strides(shape), picked=(), whole=())

    def transpose(self) -> View:
        return replace(self, shape=self.shape[::-1], strides=self.strides[::-1], picked=(), whole=())

    def view(self, dtype: Dtype) -> View:
        """Return the same bytes as another type; ``ValueError`` when they do not divide into it."""
        old, new = self.dtype.itemsize, dtype.itemsize
        names = {"array": self.name, "dtype": dtype}
        local_records = isinstance(self.memory, LocalMemory) and self.dtype.fields is not None
        if local_records and len(_widths(self.dtype) | _widths(dtype)) > 1:
            what = english(
                "{array} has records of numbers of several sizes, which are not viewed as {dtype} in lockstep; "
                "use its fields",
                **names,
            )
            raise ValueError(what)
        if old == new:
            return replace(self, dtype=dtype)
        if not self.shape or not self.contiguous:
            what = english("{array} cannot be viewed as {dtype}: its elements have {old} bytes", **names, old=old)
            raise ValueError(what)
        last = self.shape[-1] * old
        offset = self.offset * old
        if np.any(np.asarray(last) % new) or np.any(np.asarray(offset) % new):
            what = english(
                "{array} cannot be viewed as {dtype}: its rows do not divide into {new} bytes", **names, new=new
            )
            raise ValueError(what)
        shape = (*self.shape[:-1], last // new)
        memory = self.memory
        if isinstance(memory, LocalPieces):
            memory = memory.own if memory.unit.itemsize == new else memory
        elif isinstance(memory, LocalMemory) and not local_records:
            memory = LocalPieces(memory, old)
        strides, offset = c_strides(shape), offset // new
        return View(self.name, memory, dtype, shape, strides, offset, self.valid)


def _widths(dtype: Dtype) -> set[int]:
    """Return of how many bytes the numbers in an element are."""
    return {number.itemsize for number, _ in numbers_of(dtype)} if dtype.fields is not None else {dtype.itemsize}


def c_strides(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the strides of elements in C order."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step = step * size
    return tuple(reversed(strides))
