"""The threads of a batch of blocks and where they find shared memory, which is the same in all launches alike."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.shared_accesses import Cells
from smemviz.engines.lockstep.memory.shared import SharedLayout
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.typing import Value
from smemviz.frontends.numba.sites import SiteTable
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
