"""Counting one launch: the carrying kernel in two passes, its log read back.

The first pass counts requests per warp and the totals per site over the whole grid; the second writes the log, whose
size is then known exactly. Arguments are put back as they were after each pass. The log on the device is bounded: when
all warps do not fit, those of the first, middle and last block are logged and the totals stand for the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda
from numba.cuda.cudadrv import driver
from numpy.typing import NDArray

from smemviz.engines.gpu import probe
from smemviz.engines.gpu.carry import Carrier, carry
from smemviz.engines.host import Configuration
from smemviz.engines.selection import Blocks
from smemviz.functions import Function
from smemviz.recording import WARP_SIZE, ArrayInfo, Launch, Requests, Totals
from smemviz.sites import Declaration, SiteTable, find_sites

ROW_BYTES = 2 * 8 * WARP_SIZE + 8  # addresses, values, site and epoch


@dataclass(frozen=True)
class Carrying:
    """A kernel compiled to carry its counters, for one set of argument types."""

    table: SiteTable
    kernel: Any


def carrying_kernel(function: Function, arguments: Sequence[object], options: dict[str, Any]) -> Carrying:
    """Rewrite a kernel and everything it calls; Numba compiles it at the first launch."""
    table = find_sites(function, arguments)
    probes = probe.probes(table.sites)
    return Carrying(table, cuda.jit(**options)(_compiled(carry(table), probes)))


def _compiled(carrier: Carrier, probes: dict[str, Any]) -> Any:
    """Turn a rewritten tree into a Python function that sees the probes and its rewritten callees."""
    function = carrier.tree.function
    namespace = {**function.scope, **probes}
    for callee in carrier.callees:
        namespace[callee.name] = cuda.jit(device=True)(_compiled(callee, probes))
    exec(compile(carrier.module, function.file, "exec", dont_inherit=True), namespace)
    return namespace[carrier.name]


@dataclass(frozen=True)
class _Counts:
    used: NDArray[np.int32]
    totals: NDArray[np.int64]
    bases: NDArray[np.int64]


def count(
    function: Function,
    carrying: Carrying,
    configuration: Configuration,
    arguments: Sequence[Any],
    log_bytes: int,
    logged: Blocks | None = None,
) -> Launch:
    """Run both passes of a launch and return what they saw; the arguments end as they began.

    ``logged`` are the blocks to log in full; None means all where they fit, else the first, the middle and the last.

    Raises:
        LaunchError: when the grid does not have them.
    """
    table = carrying.table
    kernel = carrying.kernel[configuration.grid, configuration.block, 0, configuration.dynamic_shared]
    blocks = math.prod(configuration.grid)
    chosen = logged.of((function.file, function.node.lineno), function.name, blocks) if logged else None
    warps_per_block = -(-math.prod(configuration.block) // WARP_SIZE)
    warps = blocks * warps_per_block
    with Arguments(arguments) as held:
        counts = _count(kernel, held, warps, table)
        first = _choose(counts.used, blocks, warps_per_block, chosen, max(log_bytes, 0) // ROW_BYTES)
        requests = _write(kernel, held, counts, first, table, warps_per_block)
        held.restore()
        arrays = tuple(_shared_arrays(table.declarations, counts.bases, configuration))
        arrays += tuple(held.arrays(function))
    static = max((a.address + a.nbytes for a in arrays if a.space == "shared" and not a.dynamic), default=0)
    start = min((a.address for a in arrays if a.space == "shared"), default=0)
    dynamic_start = min((a.address for a in arrays if a.space == "shared" and a.dynamic), default=static)
    complete = int(counts.used.sum()) == len(requests)
    return Launch(
        kernel=function.name,
        line=function.node.lineno,
        grid=configuration.grid,
        block=configuration.block,
        dynamic_shared=configuration.dynamic_shared,
        shared_bytes=max(static, dynamic_start + configuration.dynamic_shared) - start if arrays else 0,
        sites=table.sites,
        arrays=arrays,
        requests=requests,
        totals=None if complete else _totals(counts.totals),
    )


def _count(kernel: Any, held: Arguments, warps: int, table: SiteTable) -> _Counts:
    used = cuda.to_device(np.zeros(warps, np.int32))
    totals = cuda.to_device(np.zeros((max(len(table.sites), 1), probe.TOTAL_COLUMNS), np.int64))
    bases = cuda.to_device(np.zeros(max(len(table.declarations), 1), np.int64))
    first = cuda.to_device(np.full(1, -1, np.int64))
    nothing = _device_rows(1)
    kernel(*held.values, (np.int32(probe.COUNT), first, used, used, *nothing, totals, bases))
    cuda.synchronize()
    held.restore()
    return _Counts(used.copy_to_host(), totals.copy_to_host(), bases.copy_to_host())


def _device_rows(rows: int) -> tuple[Any, Any, Any]:
    """Allocate a log's facts, addresses and values; addresses start as -1 and values as NaN, both all-ones."""
    facts = cuda.device_array((rows, 2), np.int32)
    addresses = cuda.device_array((rows, WARP_SIZE), np.int64)
    values = cuda.device_array((rows, WARP_SIZE), np.float64)
    for array in (addresses, values):
        driver.device_memset(array, 0xFF, array.alloc_size)
    return facts, addresses, values


def _choose(
    used: NDArray[np.int32], blocks: int, warps_per_block: int, chosen: NDArray[np.int64] | None, capacity: int
) -> NDArray[np.int64]:
    """Return where each warp's rows begin in the log, -1 for a warp that is only counted."""
    ends = np.cumsum(used, dtype=np.int64)
    if chosen is None and ends[-1] <= capacity:
        return ends - used
    if chosen is None:
        chosen = np.unique([0, blocks // 2, blocks - 1])
    warps = (chosen[:, None] * warps_per_block + np.arange(warps_per_block)).ravel()
    ends = np.cumsum(used[warps], dtype=np.int64)
    fitting = np.searchsorted(ends, capacity, side="right")
    first = np.full(len(used), -1, np.int64)
    first[warps[:fitting]] = (ends - used[warps])[:fitting]
    return first


def _write(
    kernel: Any,
    held: Arguments,
    counts: _Counts,
    first: NDArray[np.int64],
    table: SiteTable,
    warps_per_block: int,
) -> Requests:
    logged = np.flatnonzero(first >= 0)
    lengths = counts.used[logged]
    rows = int(lengths.sum())
    if rows == 0:
        return Requests.empty()
    used = cuda.to_device(np.zeros(len(first), np.int32))
    epochs = cuda.to_device(np.zeros(len(first), np.int32))
    totals = cuda.to_device(np.zeros((1, 1), np.int64))
    bases = cuda.to_device(np.zeros(max(len(table.declarations), 1), np.int64))
    facts, addresses, values = _device_rows(rows)
    log = (np.int32(probe.WRITE), cuda.to_device(first), used, epochs, facts, addresses, values, totals, bases)
    kernel(*held.values, log)
    cuda.synchronize()
    warp = np.repeat(logged, lengths)
    step = np.arange(rows) - np.repeat(first[logged], lengths)
    host_facts = facts.copy_to_host()
    return Requests(
        addresses=addresses.copy_to_host(),
        site=host_facts[:, probe.SITE].copy(),
        block=(warp // warps_per_block).astype(np.int64),
        warp=(warp % warps_per_block).astype(np.int32),
        step=step.astype(np.int32),
        epoch=host_facts[:, probe.EPOCH].copy(),
        values=values.copy_to_host(),
    ).select(np.lexsort((step, warp)))


def _totals(columns: NDArray[np.int64]) -> Totals:
    return Totals(
        requests=columns[:, probe.REQUESTS].copy(),
        wavefronts=columns[:, probe.WAVEFRONTS].copy(),
        ideal=columns[:, probe.IDEAL].copy(),
        sectors=columns[:, probe.SECTORS].copy(),
        degrees=columns[:, probe.DEGREES :].copy(),
    )


def _shared_arrays(
    declarations: Sequence[Declaration], bases: NDArray[np.int64], configuration: Configuration
) -> Iterator[ArrayInfo]:
    for declaration, base in zip(declarations, bases, strict=False):
        itemsize = declaration.dtype.itemsize
        shape = (configuration.dynamic_shared // itemsize,) if declaration.dynamic else declaration.shape
        yield ArrayInfo(
            name=declaration.name,
            space="shared",
            shape=shape,
            strides=_contiguous(shape, itemsize),
            dtype=declaration.dtype.name,
            address=int(base),
            line=declaration.line,
            dynamic=declaration.dynamic,
        )


def _contiguous(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    return tuple(itemsize * int(np.prod(shape[axis + 1 :], dtype=np.int64)) for axis in range(len(shape)))


class Arguments:
    """A launch's arguments on the device, with a copy to put them back from."""

    def __init__(self, arguments: Sequence[Any]) -> None:
        self.values = [self._on_device(value) for value in arguments]
        self._copies: list[tuple[Any, Any]] = []
        for array in arrays_in(self.values):
            if array.alloc_size:
                copy = cuda.device_array(array.alloc_size, np.uint8)
                driver.device_to_device(copy, array, array.alloc_size)
                self._copies.append((array, copy))

    def __enter__(self) -> Arguments:
        return self

    def __exit__(self, *_: object) -> None:
        self._copies.clear()

    def restore(self) -> None:
        """Put every array back as it was before the first pass."""
        for array, copy in self._copies:
            driver.device_to_device(array, copy, array.alloc_size)

    def arrays(self, function: Function) -> Iterator[ArrayInfo]:
        """Describe the arrays among the arguments, by the parameters' names."""
        for name, array in self.arrays_by_name(function):
            yield ArrayInfo(
                name=name,
                space="global",
                shape=tuple(array.shape),
                strides=tuple(array.strides),
                dtype=array.dtype.name,
                address=int(array.__cuda_array_interface__["data"][0]),
                line=function.node.lineno,
            )

    def arrays_by_name(self, function: Function) -> Iterator[tuple[str, Any]]:
        """Name the arrays among the arguments as the kernel's parameters."""
        names = [a.arg for a in (*function.node.args.posonlyargs, *function.node.args.args)]
        for name, value in zip(names, self.values, strict=False):
            yield from _named(name, value)

    def _on_device(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self._on_device(item) for item in value)
        if isinstance(value, np.ndarray):
            return cuda.to_device(value)
        return cuda.as_cuda_array(value) if hasattr(value, "__cuda_array_interface__") else value


def arrays_in(values: Sequence[Any]) -> Iterator[Any]:
    """Return the arrays among arguments, those in tuples too."""
    for value in values:
        for _, array in _named("", value):
            yield array


def _named(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _named(f"{name}[{index}]", item)
    elif hasattr(value, "__cuda_array_interface__"):
        yield name, value
