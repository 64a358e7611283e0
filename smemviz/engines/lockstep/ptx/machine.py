"""The machine that runs an entry of PTX: registers and memories of a batch of blocks, requests and findings."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.hazards.shared_accesses import Cells
from smemviz.engines.lockstep.hazards.watched import Watched
from smemviz.engines.lockstep.memory.shared import SharedLayout
from smemviz.engines.lockstep.ptx.clusters import RANK_BIT, rows_of_clusters
from smemviz.engines.lockstep.ptx.code.module import DTYPES, UNSIGNED, PtxError, Value
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.memory import GlobalMemory
from smemviz.engines.lockstep.ptx.pipelines import Pipelines
from smemviz.engines.lockstep.ptx.sites import SiteMap
from smemviz.engines.lockstep.ptx.special import CLOCKS, CYCLES_OF_A_READING, cluster_registers, special_registers
from smemviz.engines.lockstep.running_launch import RunningLaunch, StoppedError
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.options import LaunchOptions
from smemviz.languages import CUDA_CPP, Spelling
from smemviz.messages import english
from smemviz.model.hardware.operations import effect_of
from smemviz.recordings.data import WARP_SIZE, ArrayInfo, Dim3
from smemviz.recordings.vocabulary import BULK, FRAGMENTS, MBARRIERS, UNCOUNTED

WORKSPACE_BYTES = 16


class Machine(RunningLaunch):
    """The launch of an entry as it runs; ``begin`` moves it to the next batch of blocks.

    ``lanes`` are the numbers of the threads that run now, None where all of the batch do.
    """

    def __init__(
        self,
        name: str,
        kernel: Kernel,
        configuration: Configuration,
        layout: SharedLayout,
        sites: SiteMap,
        watched: Mapping[Any, Watched],
        place: tuple[str, int],
        options: LaunchOptions,
        memory: GlobalMemory,
        parameters: Mapping[str, NDArray[np.uint8]],
        symbols: Mapping[str, int],
        arrays: Sequence[ArrayInfo] = (),
        grid_workspace: int | None = None,
        spelling: Spelling = CUDA_CPP.spelling,
        cluster: Dim3 = (1, 1, 1),
    ) -> None:
        """``grid_workspace`` is where blocks count each other at a barrier of the grid.

        ``cluster`` is how many blocks one has along each axis; with more than one all blocks are one batch.
        """
        super().__init__(
            name,
            configuration,
            layout,
            sites.sites,
            watched,
            place,
            options,
            spelling,
            uses_warps=kernel.uses_warps,
        )
        self.kernel = kernel
        self.sites = sites
        self.memory = memory
        self.parameters = parameters
        self.symbols = symbols
        self.globals = arrays
        self.grid_workspace = grid_workspace
        self.cluster = cluster
        self.cluster_size = math.prod(cluster)
        if self.cluster_size > 1:
            self.cluster_rows, self.ranks = rows_of_clusters(configuration.grid, cluster)
        self.cycles = 0  # of the clock
        self.changes = 0  # how often memory that others see has changed
        self.lanes: NDArray[np.intp] | None = None
        self.values: list[Value] = []
        self.remembered: dict[object, tuple[list[tuple[int, Value]], Value]] = {}

    def begin(self, first_block: int, blocks: int) -> None:
        slots = self.slots_of_block
        self.shape = (blocks, slots)
        self.count = blocks * slots
        self.first_block = first_block
        self.special_values = special_registers(self.configuration, self.layout, first_block, blocks)
        if self.cluster_size > 1:
            self.special_values |= cluster_registers(self.configuration.grid, self.cluster, self.ranks)
        threads = math.prod(self.configuration.block)
        alive = np.tile(np.arange(slots) < threads, blocks)
        self.live = Mask(alive, threads * blocks)
        self.values = [
            np.bool_(False) if kind == "pred" else UNSIGNED[DTYPES[kind].itemsize].type(0)
            for kind in self.kernel.register_types
        ]
        self.remembered = {}
        self._set_memories(blocks)
        rows = None if blocks == 1 else np.repeat(np.arange(blocks), slots)
        cells = Cells(self.sites.sites, self.layout.start, self._pitch, blocks, self.count, rows)
        self.record(cells, first_block, blocks)
        self.run_all()

    def _set_memories(self, blocks: int) -> None:
        self._pitch = -(-self.layout.nbytes // 16) * 16
        shared = np.zeros((blocks, max(self._pitch, 16)), np.uint8)
        self.shared_views: dict[int, Any] = {size: shared.view(dtype) for size, dtype in UNSIGNED.items()}
        later = {"wgmma", *BULK}.intersection(one.op for one in self.kernel.memory)
        self.pipelines = Pipelines(self, blocks, shared.shape[1]) if later else None
        self.block_starts = (np.arange(blocks) * shared.shape[1])[:, None]
        self.shared_starts = np.repeat(self.block_starts[:, 0], self.slots_of_block) - self.layout.start
        local_size = max(16, self.kernel.local_size)
        local = np.zeros((self.count if self.kernel.local_size else 1, local_size), np.uint8)
        self.local_views: dict[int, Any] = {size: local.view(dtype) for size, dtype in UNSIGNED.items()}
        self.local_starts = np.arange(self.count) * local_size

    # -- which threads run

    @property
    def active(self) -> int:
        return self.count if self.lanes is None else len(self.lanes)

    @property
    def threads(self) -> NDArray[np.intp]:
        return np.arange(self.count) if self.lanes is None else self.lanes

    def run_all(self) -> None:
        self.set_lanes(None if self.live.full else np.flatnonzero(self.live.lanes), self.live)

    def set_lanes(self, lanes: NDArray[np.intp] | None, mask: Mask | None = None) -> None:
        """Let some threads run, None for all of the batch; ``mask`` are the same threads, where that is known."""
        if lanes is not None and self.remembered:
            self.remembered = {}
        self.lanes = lanes
        self._columns: NDArray[np.intp] | None = None
        self._mask = mask

    @property
    def mask(self) -> Mask:
        if self._mask is None:
            on = np.ones(self.count, np.bool_) if self.lanes is None else np.zeros(self.count, np.bool_)
            if self.lanes is not None:
                on[self.lanes] = True
            self._mask = Mask(on, self.active)
        return self._mask

    @contextmanager
    def only(self, chosen: NDArray[np.intp]) -> Iterator[bool]:
        """Let some of the active threads run, by their numbers among these; gives whether there are any."""
        before = self.lanes, self._columns, self._mask
        self.set_lanes(chosen if self.lanes is None else self.lanes[chosen])
        try:
            yield len(chosen) > 0
        finally:
            self.lanes, self._columns, self._mask = before

    # -- values

    def pick(self, value: Value) -> Value:
        """Return the part of a register that belongs to the active threads."""
        lanes = self.lanes
        if lanes is None or value.ndim == 0:
            return value
        rows, columns = value.shape
        if columns == 1:
            return value[:, 0][lanes // self.shape[1]]
        if rows == 1 and self.shape[0] > 1:
            if self._columns is None:
                self._columns = lanes % self.shape[1]
            return value[0][self._columns]
        return value.reshape(-1)[lanes]

    def put(self, slot: int, value: Value) -> None:
        lanes = self.lanes
        if lanes is None:
            self.values[slot] = value
            return
        register = self.values[slot]
        if register.shape != self.shape:
            register = self.values[slot] = np.broadcast_to(register, self.shape).copy()
        register.reshape(-1)[lanes] = value

    def one_each(self, value: Value) -> NDArray[Any]:
        """Return a value with one element for each active thread."""
        shape = self.shape if self.lanes is None else (len(self.lanes),)
        return np.broadcast_to(value, shape).reshape(-1)

    def as_active(self, value: NDArray[Any]) -> Value:
        """Return what ``one_each`` gives in the form of a register's value."""
        return value.reshape(self.shape) if self.lanes is None else value

    def in_warps(self, value: Value, other: Any) -> NDArray[Any]:
        """Return a value as (warps, 32) over the whole batch, ``other`` for threads that do not run."""
        if self.lanes is None:
            return np.broadcast_to(value, self.shape).reshape(-1, WARP_SIZE)
        whole = np.full(self.count, other, value.dtype)
        whole[self.lanes] = value
        return whole.reshape(-1, WARP_SIZE)

    def from_warps(self, value: NDArray[Any]) -> Value:
        """Return what belongs to the active threads of an array of (warps, 32), or of (warps, 1)."""
        whole = np.broadcast_to(value, (self.count // WARP_SIZE, WARP_SIZE))
        return whole.reshape(self.shape) if self.lanes is None else whole.reshape(-1)[self.lanes]

    def special(self, name: str) -> Value:
        """Return a register of the machine.

        Raises:
            PtxError: when it is not known here.
        """
        if name in CLOCKS:
            self.cycles += CYCLES_OF_A_READING  # so that loops which wait for some time end
            return CLOCKS[name](self.cycles & 0xFFFFFFFF if "64" not in name else self.cycles)
        if self.grid_workspace is not None and name in ("envreg1", "envreg2"):
            return np.uint32(self.grid_workspace >> 32 if name == "envreg1" else self.grid_workspace & 0xFFFFFFFF)
        if name not in self.special_values:
            raise PtxError(f"%{name} is not known in lockstep")
        return self.special_values[name]

    def row_of(self, own: int, address: int) -> int:
        """Return the block of the batch that an address of shared memory is in, for a thread of the block ``own``.

        Raises:
            PtxError: where the cluster has no such block.
        """
        rank = (address >> RANK_BIT) - 1
        if rank >= self.cluster_size:
            raise PtxError(f"a cluster of {self.cluster_size} blocks has none of rank {rank}")
        return own if rank < 0 or self.cluster_size == 1 else int(self.cluster_rows[own, rank])

    def symbol(self, name: str) -> int:
        """Return the address of a variable, in the terms of its space."""
        if name in self.kernel.local:
            return self.kernel.local[name]
        if name not in self.symbols:
            raise PtxError(f"{name} has no address here")
        return self.symbols[name]

    # -- requests and bounds

    def request(
        self, site: int | None, space: str, at: Value, size: int, stored: Sequence[Value] = (), *, logged: bool = True
    ) -> None:
        """Note that the active threads touch memory; what is not ``logged`` belongs to the request before."""
        if site is None or space == "local":
            return
        strong = self.kernel.memory[site].strong
        if space == "global" and self._in_workspace(at):
            self.in_global.exchange(self.mask, returns=not stored)
            return
        number = self.sites.number(site, space)
        mask = self.mask
        op = self.kernel.memory[site].op
        if self.pipelines and op not in MBARRIERS and (strong or effect_of(op) == "update"):
            self.pipelines.exchange(self.threads)
        addresses: Any = int(at) if at.ndim == 0 else self._of_all(at)
        values = None
        if self.sites.sites[number].op in MBARRIERS:
            self.in_global.exchange_in_block(np.flatnonzero(mask.lanes))
        elif self.sites.sites[number].op in UNCOUNTED - FRAGMENTS:
            pass  # what is done by others than the threads, or elsewhere, is no access of theirs to their own memory
        elif space == "shared":
            bits = self._bits(stored, size) if stored else None
            self.hazards.add(number, addresses, mask, bits)
            if self.pipelines:
                self.pipelines.touch(site, addresses, size, stores=bool(stored))
            if len(stored) == 1 and logged:
                values = self._numbers(number, addresses, bits)
        else:
            self._watch(number, at, addresses, size, stored, strong=strong)
        if logged:
            self.log.add(number, addresses, mask, values)

    def _watch(self, site: int, at: Value, addresses: Any, size: int, stored: Sequence[Value], *, strong: bool) -> None:
        """Note an execution of a site in global memory for races in each allocation that the launch may write."""
        watched, mask = self.in_global.watched, self.mask
        if self.same_allocation(at):
            allocation = watched.get(int(self.memory.numbers(at.reshape(-1)[:1])[0]))
            if allocation is not None:
                bits = self._bits(stored, size) if stored else None
                self.in_global.add(allocation, site, addresses, mask, bits, strong=strong)
            return
        addresses = (
            np.broadcast_to(addresses, self.count)
            if len(addresses) == self.count
            else self._of_all(np.broadcast_to(at, self.shape))
        )
        numbers = self.memory.numbers(addresses)
        for number in np.unique(numbers[mask.lanes]):
            part = mask.narrow(numbers == number)
            if number in watched:
                bits = self._bits(stored, size) if stored else None
                self.in_global.add(watched[number], site, addresses, part, bits, strong=strong)

    def _in_workspace(self, at: Value) -> bool:
        """Tell whether an access is one of a barrier of the grid: how often it waits is nothing that a kernel says."""
        start = self.grid_workspace
        return start is not None and 0 <= int(np.min(at)) - start < WORKSPACE_BYTES

    def _of_all(self, at: Value, other: Any = -1) -> NDArray[Any]:
        """Return one element for each thread of the batch; of one block only where all blocks have the same."""
        if self.lanes is None:
            return at.reshape(-1) if at.shape == (1, self.shape[1]) else np.broadcast_to(at, self.shape).reshape(-1)
        whole = np.full(self.count, other, at.dtype)
        whole[self.lanes] = at
        return whole

    def _bits(self, stored: Sequence[Value], size: int) -> Any:
        """Return what a store stores, one element of ``size`` bytes for each thread of the batch."""
        if len(stored) == 1 and stored[0].ndim == 0:
            return stored[0]
        parts = [self._of_all(np.broadcast_to(v, self.shape) if self.lanes is None else v, 0) for v in stored]
        parts = [np.broadcast_to(part, self.count) for part in parts]
        if len(parts) == 1:
            return parts[0].copy()
        return np.ascontiguousarray(np.stack(parts, axis=-1)).view(f"V{size}")[:, 0]

    def _numbers(self, site: int, addresses: Any, bits: Any) -> NDArray[np.float64] | None:
        """Return what a store stores as the array's type reads it."""
        dtype = self.sites.dtype_of_store(site, addresses, self.layout.placed)
        if dtype is None or dtype.itemsize != bits.dtype.itemsize:
            return None
        numbers = np.asarray(bits).view(dtype).astype(np.float64)
        return np.broadcast_to(numbers, self.count) if numbers.ndim == 0 else numbers

    def same_allocation(self, at: Value) -> bool:
        """Tell whether addresses that are inside all lie in one allocation of global memory."""
        return at.ndim == 0 or len(self.memory.allocations) == 1 or self.memory.near(int(at.min()), int(at.max()))

    def fits(self, space: str, low: int, high: int, size: int) -> bool:
        """Tell whether accesses from a lowest to a highest address are all inside one memory."""
        if space == "global":
            return self.memory.holding(low, high + size) is not None
        start, end = self._limits(space)
        return start <= low and high + size <= end

    def _limits(self, space: str) -> tuple[int, int]:
        if space == "local":
            return 0, self.kernel.local_size
        return self.layout.start, self.layout.start + self.layout.nbytes

    def inside(self, space: str, at: NDArray[np.int64], size: int | NDArray[np.int64]) -> NDArray[np.bool_]:
        if space == "global":
            return self.memory.inside(at, size)
        start, end = self._limits(space)
        return np.asarray((at >= start) & (at + size <= end))

    # -- findings

    def out_of_bounds(self, site: int | None, space: str, at: NDArray[np.int64]) -> None:
        """Note accesses outside of their array; they do not happen."""
        first = int(at[0])
        array = self._array_near(space, first)
        if array is None:
            self._find("out_of_bounds", site, space, address=f"{first:#x}")
            return
        facts = {
            "array": array.name,
            "index": (first - array.address) // np.dtype(array.dtype).itemsize,
            "elements": math.prod(array.shape),
        }
        self._find("out_of_bounds", site, space, **facts)

    def find_at(self, site: int | None, kind: str, address: int, **facts: Any) -> None:
        """Note a mistake at an address of shared memory."""
        array = self._array_near("shared", address)
        name = array.name if array else english("byte {address}", address=address)
        self._find(kind, site, "shared", array=name, **facts)

    def _array_near(self, space: str, address: int) -> ArrayInfo | None:
        if space == "shared":
            before = [array for array in self.layout.placed if array.address <= address]
            return max(before, key=lambda array: array.address, default=None)
        near = self.memory.nearest(address) if space == "global" else None
        return next((array for array in self.globals if near and array.address == near.start), None)

    def stop_misaligned(self, site: int | None, space: str, at: NDArray[np.int64], size: int) -> None:
        """End the launch as a device does for an address that is not a multiple of the access's width."""
        self._find("misaligned", site, space, address=int(at[0]), width=size)
        raise StoppedError

    def _find(self, kind: str, site: int | None, space: str, **facts: Any) -> None:
        line, column = self.sites.place_of(site, space)
        self.find(kind, line, column, self.threads, **facts)
