"""Where the shared arrays of a kernel lie in a block's shared memory."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from smemviz.engines.lockstep.memory.memory import c_strides
from smemviz.frontends.numba.sites import Declaration
from smemviz.frontends.numba.sites.fields import alignment, dtype_name
from smemviz.languages import Spelling
from smemviz.recordings.data import ArrayInfo

# What a block of compute capability 9.0 finds at the start of its window belongs to the system (seen on an H200).
WINDOW_START = 1024
_DYNAMIC_ALIGNMENT = 16


@dataclass(frozen=True)
class SharedLayout:
    """The shared arrays of a launch, one per declaration; sizes in bytes, ``start`` the address of the first."""

    start: int
    static: int
    dynamic: int
    nbytes: int
    placed: tuple[ArrayInfo, ...]


def place(declarations: Sequence[Declaration], same: Sequence[int], dynamic: int) -> SharedLayout:
    """Place static arrays in order of declaration, each aligned to its element, and dynamic memory after them.

    ``same[i]`` is the first declaration that is the same memory as ``i``: a device function that is called from two
    places declares one array. Every dynamic array starts where dynamic memory starts and is as large as it is.
    """
    end = WINDOW_START
    addresses: dict[int, int] = {}
    for i, declaration in enumerate(declarations):
        if declaration.dynamic:
            continue
        if same[i] == i:
            unit = max(alignment(declaration.dtype), declaration.alignment)
            addresses[i] = -(-end // unit) * unit
            end = addresses[i] + declaration.dtype.itemsize * math.prod(declaration.shape)
        addresses[i] = addresses[same[i]]
    static = end - WINDOW_START
    base = -(-end // _DYNAMIC_ALIGNMENT) * _DYNAMIC_ALIGNMENT if dynamic else end
    placed = []
    for i, declaration in enumerate(declarations):
        itemsize = declaration.dtype.itemsize
        shape = (dynamic // itemsize,) if declaration.dynamic else declaration.shape
        placed.append(
            ArrayInfo(
                name=declaration.name,
                space="shared",
                shape=shape,
                strides=tuple(s * itemsize for s in c_strides(shape)),
                dtype=dtype_name(declaration.dtype),
                address=base if declaration.dynamic else addresses[i],
                line=declaration.line,
                dynamic=declaration.dynamic,
            )
        )
    return SharedLayout(WINDOW_START, static, dynamic, base + dynamic - WINDOW_START, tuple(placed))


def array_at(placed: Sequence[ArrayInfo], names: str, address: int) -> ArrayInfo:
    """Return the array at an address of the window; of several there, one of the names that a site gives."""
    there = [array for array in placed if 0 <= address - array.address < array.nbytes]
    return next((array for array in there if array.name in names.split(" or ")), there[0])


def element_name(array: ArrayInfo, address: int, spelling: Spelling) -> str:
    """Return the element of an array at an address: ``tile[3, 5]``, or ``tile[3][5]``."""
    index = np.unravel_index((address - array.address) // array.itemsize, array.shape)
    return spelling.element(array.name, [int(i) for i in index])
