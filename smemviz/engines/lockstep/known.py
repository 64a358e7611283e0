"""What is known of a kernel for arguments of some types, and of its batches of blocks, kept from launch to launch."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.hazards.shared_accesses import Cells
from smemviz.engines.lockstep.hazards.watched import accessed_arrays
from smemviz.engines.lockstep.memory.arguments import described
from smemviz.engines.lockstep.memory.shared import SharedLayout, place
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.typing import NotAScalarError, Value, dtype_of
from smemviz.frontends.numba.python_functions import Function
from smemviz.frontends.numba.sites import SiteTable, SiteTree, find_sites
from smemviz.recordings.data import WARP_SIZE, Dim3


@dataclass(frozen=True, eq=False)
class Batch:
    """A batch: ``registers`` number its threads and blocks, ``root`` has all threads.

    ``rows`` is each slot's block, None where there is one only; ``pitch`` is bytes from one block's shared memory to
    the next.
    """

    registers: Mapping[str, Value]
    root: Mask
    rows: NDArray[np.int64] | None
    pitch: int
    cells: Cells


def batch_of(table: SiteTable, layout: SharedLayout, grid: Dim3, block: Dim3, first_block: int, blocks: int) -> Batch:
    """Return a batch of so many blocks of a grid, from the first on."""
    coordinates, lanes = _threads(block, blocks)
    rows = None if blocks == 1 else _block_rows(blocks, len(lanes) // blocks)
    registers = dict(coordinates)
    linear: Any = first_block if rows is None else first_block + rows
    left = math.prod(grid)
    for axis, size in zip("xyz", grid, strict=True):
        last = size == left  # no axis behind it is longer than 1: what is slow to divide need not be
        registers[f"cuda.blockIdx.{axis}"] = 0 if size == 1 else linear if last else linear % size
        linear, left = linear if last else linear // size, left // size
        registers[f"cuda.gridDim.{axis}"] = size
    for axis, size in zip("xyz", block, strict=True):
        registers[f"cuda.blockDim.{axis}"] = size
    # Whole records of every kind fit from one block to the next.
    unit = math.lcm(16, *(d.dtype.itemsize for d in table.declarations if d.dtype.fields is not None))
    pitch = -(-layout.nbytes // unit) * unit
    cells = Cells(table.sites, layout.start, pitch, blocks, len(lanes), rows)
    return Batch(registers, Mask(lanes, int(np.count_nonzero(lanes))), rows, pitch, cells)


@lru_cache(maxsize=16)
def _threads(block: Dim3, blocks: int) -> tuple[Mapping[str, Any], NDArray[np.bool_]]:
    """Return the registers that number the threads of a batch, and which slots are threads."""
    threads = block[0] * block[1] * block[2]
    slots = -(-threads // WARP_SIZE) * WARP_SIZE
    linear = np.tile(np.arange(slots), blocks)
    registers: dict[str, Any] = {"cuda.laneid": linear % WARP_SIZE}
    for axis, size in zip("xyz", block, strict=True):
        registers[f"cuda.threadIdx.{axis}"] = 0 if size == 1 else linear % size
        linear = linear // size
    return registers, np.tile(np.arange(slots) < threads, blocks)


@lru_cache(maxsize=16)
def _block_rows(blocks: int, slots: int) -> NDArray[np.int64]:
    return np.repeat(np.arange(blocks), slots)


_MOST_LAYOUTS = 64  # sizes of dynamic memory
_MOST_BATCHES = 4  # grids, each with the numbers of all its threads
_OF_WARPS = re.compile(r"laneid|warpsize|syncwarp|activemask|\w+_sync")


@dataclass(eq=False)
class Known:
    """Where a kernel accesses arrays; for every declaration of a shared one the first that is the same array.

    ``studied`` are the types of the variables of functions, ``conversions`` the rules of calls of types,
    ``machine_code`` what the kernel is compiled to for arguments of Numba's types, None where it is not;
    ``machine_code_pays`` whether that made a launch to its end, None before one has taken long. It is one launch's
    alone: ``known_of`` takes it from the kernel, and ``leave`` puts it back.
    """

    table: SiteTable
    types: Hashable
    same: list[int] = field(init=False)
    studied: dict[Hashable, Any] = field(default_factory=dict)
    conversions: dict[Hashable, Any] = field(default_factory=dict)
    machine_code: dict[Hashable, Any] = field(default_factory=dict)
    machine_code_pays: bool | None = None
    _layouts: LRUCache[int, SharedLayout] = field(default_factory=lambda: LRUCache(_MOST_LAYOUTS))
    _batches: LRUCache[Hashable, Batch] = field(default_factory=lambda: LRUCache(_MOST_BATCHES))

    def __post_init__(self) -> None:
        self.same = _same_memory(self.table)

    @cached_property
    def accessed(self) -> dict[str, tuple[int, bool]]:
        """How wide the narrowest access to each array in global memory is, in bytes, and whether it is written."""
        return accessed_arrays(self.table.sites)

    @cached_property
    def may_leave(self) -> bool:
        """Whether a launch may go on as machine code: it has loops, and its blocks do not wait for each other."""
        nodes = (node for function in self.table.root.functions for node in ast.walk(function.node))
        return not self.table.cooperative and any(isinstance(node, ast.For | ast.While) for node in nodes)

    @cached_property
    def uses_warps(self) -> bool:
        """Whether the kernel or a function that it calls names lanes, or what a warp does together."""
        nodes = (node for function in self.table.root.functions for node in ast.walk(function.node))
        names = (getattr(node, "id", getattr(node, "attr", "")) for node in nodes)
        return any(_OF_WARPS.fullmatch(name) for name in names)

    def layout(self, dynamic: int) -> SharedLayout:
        """Return where shared arrays lie with so many bytes of dynamic memory."""
        layout = self._layouts.get(dynamic)
        if layout is None:
            layout = self._layouts[dynamic] = place(self.table.declarations, self.same, dynamic)
        return layout

    def batch(self, launched: Configuration, layout: SharedLayout, first_block: int, blocks: int) -> Batch:
        """Return a batch of blocks; that of a whole grid is made once."""
        grid, block, dynamic = launched.grid, launched.block, launched.dynamic_shared
        if blocks < math.prod(grid):
            return batch_of(self.table, layout, grid, block, first_block, blocks)
        batch = self._batches.get((grid, block, dynamic))
        if batch is None:
            batch = batch_of(self.table, layout, grid, block, first_block, blocks)
            self._batches[grid, block, dynamic] = batch
        return batch

    def leave(self, kernel: Function) -> None:
        kernel.known[self.types] = self


def known_of(kernel: Function, values: Sequence[Any]) -> Known:
    """Take what is known of a kernel for arguments of these types, for one launch.

    Of a launch in another thread meanwhile, or behind one that ended with an error, nothing is known yet.

    Raises:
        UnsupportedError: as ``find_sites`` does.
    """
    types = tuple(map(_type_of, values))
    known: Known | None = kernel.known.pop(types, None)
    return known or Known(find_sites(kernel, [described(value) for value in values]), types)


def _type_of(value: Any) -> Any:
    """Return the type of an argument: of an array with the layout of its records, which ``==`` does not look at."""
    array = described(value)
    if isinstance(array, tuple):
        return (type(value), *map(_type_of, value))
    if isinstance(array, np.ndarray):
        return array.ndim, array.dtype if array.dtype.fields is None else repr(array.dtype)
    try:
        return dtype_of(value)
    except NotAScalarError:
        return type(value)


def _same_memory(table: SiteTable) -> list[int]:
    """Return for every declaration the first one at the same place of the source: they are one array."""
    first: dict[Any, int] = {}
    same = list(range(len(table.declarations)))

    def visit(tree: SiteTree) -> None:
        for node, index in tree.declarations.items():
            declared = table.declarations[index]
            same[index] = first.setdefault((node, declared.shape, declared.dtype), index)
        for inner in tree.calls.values():
            visit(inner)

    visit(table.root)
    lowest = {index: min(i for i, s in enumerate(same) if s == index) for index in set(same)}
    return [lowest[index] for index in same]
