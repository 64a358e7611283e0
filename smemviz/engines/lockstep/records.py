"""Fields: of arrays of records and of single ones, and the halves of complex numbers.

A field is a view of the same bytes. Where its place is a multiple of its size in every record, it is a strided array;
where not, the device reads and writes it byte by byte, and so do its requests.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.memory import Index, LocalMemory, Memory, View, c_strides
from smemviz.engines.lockstep.typing import Dtype
from smemviz.sites.fields import field_of


def is_known(dtype: Dtype) -> bool:
    """Tell whether a kernel may have arrays of a type: numbers, and records of numbers and arrays of them."""
    if dtype.subdtype is not None:
        return is_known(dtype.base)
    if dtype.fields is not None:
        return all(is_known(part[0]) for part in dtype.fields.values())
    return dtype.kind in "biufc"


def field_view(view: View, name: str) -> View | None:
    """Return the view of a field, None where there is no such one.

    Raises:
        ValueError: for an array in records that are not aligned.
    """
    found = field_of(view.dtype, name)
    if found is None:
        return None
    size, unit = view.dtype.itemsize, found.dtype.itemsize
    if found.offset % unit == 0 and size % unit == 0 and not isinstance(view.memory, FieldMemory):
        step = size // unit
        return replace(
            view,
            dtype=found.dtype,
            shape=(*view.shape, *found.shape),
            strides=(*(stride * step for stride in view.strides), *c_strides(found.shape)),
            offset=view.offset * step + found.offset // unit,
        )
    if found.shape:
        raise ValueError(f"the array {name} in records that are not aligned; use align=True")
    return replace(view, memory=_field_memory(view, found.offset, found.dtype, found.aligned), dtype=found.dtype)


def _field_memory(view: View, offset: int, dtype: Dtype, aligned: bool) -> FieldMemory:
    parent, size = view.memory, view.dtype.itemsize
    if isinstance(parent, FieldMemory):
        size, offset = parent.size, parent.offset + offset
        parent = parent.parent
    found = parent.fields.get((size, offset, dtype))
    if not isinstance(found, FieldMemory):
        found = parent.fields[size, offset, dtype] = FieldMemory(parent, size, offset, dtype, aligned)
    return found


class FieldMemory(Memory):
    """One field of every record in a memory; an element number counts records of ``size`` bytes."""

    def __init__(self, parent: Memory, size: int, offset: int, dtype: Dtype, aligned: bool) -> None:
        super().__init__(parent.space, parent.data, parent.base)
        self.parent = parent
        self.size = size
        self.offset = offset
        self.pieces = 1 if aligned else dtype.itemsize
        self._dtype = dtype

    def elements(self, dtype: Dtype) -> NDArray[Any]:
        found = self._typed.get(dtype)
        if found is None:
            found = self._typed[dtype] = self._strided(dtype)
        return found

    def _strided(self, dtype: Dtype) -> NDArray[Any]:
        local = isinstance(self.parent, LocalMemory)
        # A thread's copies of one local field lie together, so that its bytes are those of all threads' fields.
        size, offset = (dtype.itemsize, 0) if local else (self.size, self.offset)
        count = (len(self.data) - offset - dtype.itemsize) // size + 1
        return np.ndarray((count,), dtype, self.data, offset, (size,))

    def place(self, element: Index, dtype: Dtype) -> Index:
        if isinstance(self.parent, LocalMemory):
            lanes = self.parent.lanes
            return (element * self.size + self.offset) * len(lanes) // dtype.itemsize + lanes
        return self.parent.place(element, np.dtype((np.void, self.size)))

    def address(self, element: Index, dtype: Dtype) -> Index:
        return element * self.size + self.offset + self.base
