"""The machine that runs a launch: its blocks in batches, all threads of a batch at once.

The thread axis of a batch is laid out as (blocks, warps, 32); slots beyond the last thread of a block are off.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np

from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.hazards.findings import divergence
from smemviz.engines.lockstep.hazards.hazards import CELL_BYTES
from smemviz.engines.lockstep.hazards.watched import Watched
from smemviz.engines.lockstep.known import Known
from smemviz.engines.lockstep.memory.memory import LocalMemory, Memory, SharedMemory, View, c_strides
from smemviz.engines.lockstep.running_launch import LONG_LAUNCH_SECONDS, Place, RunningLaunch, TooLongError
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.typing import Dtype, Value
from smemviz.engines.options import LaunchOptions
from smemviz.errors import LaunchError, UnsupportedError
from smemviz.frontends.numba.python_functions import Function
from smemviz.frontends.numba.sites import SiteTable
from smemviz.messages import english


class Grid:
    """What ``cuda.cg.this_grid()`` gives."""


class Machine(RunningLaunch):
    """The launch of a kernel in Python as it runs; ``begin`` moves it to the next batch of blocks."""

    def __init__(
        self,
        kernel: Function,
        known: Known,
        configuration: Configuration,
        watched: Mapping[Any, Watched],
        place: Place,
        options: LaunchOptions,
        *,
        may_leave: bool = False,
    ) -> None:
        """One that ``may_leave`` raises ``TooLongError`` in a loop where that takes long."""
        layout = known.layout(configuration.dynamic_shared)
        super().__init__(
            kernel.name,
            configuration,
            layout,
            known.table.sites,
            watched,
            place,
            options,
            tree=kernel.node,
            uses_warps=known.uses_warps,
        )
        self.known = known
        self._leaves_at = perf_counter() + LONG_LAUNCH_SECONDS if may_leave else None
        self.constants: dict[int, tuple[Any, View]] = {}
        self.study: Any = None  # of the types of its variables, once they are asked for
        self.iterations = 0
        self.while_began: int | None = None  # at how many iterations, for the outermost that runs
        self.barriers = 0  # passed
        self.inside: tuple[Any, int] = None, 0  # an index and a size that it was found to be below last

    @property
    def table(self) -> SiteTable:
        return self.known.table

    def begin(self, first_block: int, blocks: int) -> None:
        self.first_block, self.blocks = first_block, blocks
        batch = self.known.batch(self.configuration, self.layout, first_block, blocks)
        self.slots = len(batch.root.lanes)
        self.root = self.live = batch.root
        self.registers = batch.registers
        self.allocated = 0
        self.shared_views: dict[int, View] = {}
        nbytes = batch.pitch * blocks
        self.reserve(nbytes)
        self.shared = SharedMemory(np.zeros(nbytes, np.uint8), self.layout.start, batch.pitch, batch.rows)
        self.reserve(batch.cells.count * CELL_BYTES)
        self.record(batch.cells, first_block, blocks)

    def grid_index(self, axis: str) -> Value:
        block, size = self.registers[f"cuda.blockIdx.{axis}"], self.registers[f"cuda.blockDim.{axis}"]
        return block * size + self.registers[f"cuda.threadIdx.{axis}"]

    # -- memory

    def reserve(self, nbytes: int) -> None:
        """Count bytes that are about to be allocated.

        Raises:
            LaunchError: when they are more than a launch may have.
        """
        self.allocated += nbytes
        if self.allocated > self.limits.memory_bytes:
            what = english(
                "{kernel} needs {needed:,} bytes for arrays at once in lockstep, which gives a launch {given:,}; "
                "make its arrays smaller, or run with engine gpu",
                kernel=self.name,
                needed=self.allocated,
                given=self.limits.memory_bytes,
            )
            raise LaunchError(*self.place, what)

    def shared_array(self, declaration: int) -> View:
        view = self.shared_views.get(declaration)
        if view is None:
            placed, dtype = self.layout.placed[declaration], self.table.declarations[declaration].dtype
            memory, first = self.shared, placed.address - self.layout.start
            if dtype.fields is not None:  # records need not begin at a multiple of their size
                memory, first = memory.beginning(placed.address, first), 0
            view = View(placed.name, memory, dtype, placed.shape, c_strides(placed.shape), first // dtype.itemsize)
            self.shared_views[declaration] = view
        return view

    def local_array(self, memory: LocalMemory, name: str, shape: tuple[int, ...], dtype: Dtype) -> View:
        """Return a local array, one per thread, in the memory of those of its function."""
        nbytes = math.prod(shape) * dtype.itemsize
        self.reserve(nbytes * self.slots)
        return View(name, memory, dtype, shape, c_strides(shape), memory.grow(nbytes, dtype.itemsize) // dtype.itemsize)

    # -- requests, barriers, findings and limits

    def request(self, site: int, memory: Memory, addresses: Any, mask: Mask, stored: Value = None) -> None:
        """Note that the threads of a mask execute a site; ``stored`` is what a store is about to store."""
        values = None
        record = self.table.sites[site]
        if record.space == "global":
            watched = self.in_global.watched.get(memory)
            if watched is not None:
                self.in_global.add(watched, site, addresses, mask, stored)
        else:
            self.hazards.add(site, addresses, mask, stored)
            if record.op == "store" and np.dtype(record.dtype).kind != "c":
                values = np.asarray(stored).astype(np.float64)
                values = values if values.ndim else np.full(self.slots, values)
        self.log.add(site, addresses, mask, values)

    def barrier(self, node: ast.expr, mask: Mask, *, of_grid: bool = False) -> None:
        """Pass a barrier; threads of a block that still run and are not there are a finding."""
        if mask.count != self.live.count:
            here = mask.lanes.reshape(self.blocks, -1)
            absent = self.live.lanes.reshape(self.blocks, -1) & ~here & here.any(axis=1, keepdims=True)
            if absent.any():
                row = int(np.flatnonzero(absent.any(axis=1))[0])
                present, missing = int(np.count_nonzero(here[row])), int(np.count_nonzero(absent[row]))
                waits = of_grid and bool(absent[:, 0].any())
                kind, facts = divergence(self.findings.tree, node, present, missing, waits=waits)
                self.find(kind, node.lineno, node.col_offset, absent.reshape(-1), **facts)
        self.barriers += 1
        self.hazards.barrier(mask, self.live)
        self.log.barrier(mask)

    def tick(self, file: str, line: int) -> None:
        """Count an iteration of a loop, and tell how far it is.

        Raises:
            TooLongError: when it takes long, and the launch may be left.
            UnsupportedError: when there were too many.
        """
        self.pace.look()
        if self._leaves_at is not None and perf_counter() > self._leaves_at:
            raise TooLongError
        self.iterations += 1
        began = 0 if self.limits.all_loops else self.while_began
        if began is not None and self.iterations > began + self.limits.iterations:
            what = english(
                "the loops of this launch ran {most:,} iterations in lockstep and this one has not ended; "
                "check its condition, or run with engine gpu",
                most=self.limits.iterations,
            )
            raise UnsupportedError(file, line, what)
