"""Counting one launch: the instrumented kernel in two passes, its counts and its log read back.

The first pass counts over the whole grid; the second writes the log. Arguments are put back as they were after each
pass. The log on the device is bounded: when all requests do not fit, or when blocks are asked for, those of some blocks
are logged and the totals stand for the rest. When even these do not fit, a third pass logs the first of their warps
that do, each with all of its requests.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numba import cuda
from numba.cuda.cudadrv import driver
from numba.cuda.cudadrv.devicearray import DeviceNDArray
from numpy.typing import NDArray

from smemviz.engines.gpu import probes as probe
from smemviz.engines.gpu import request_classes as classes
from smemviz.engines.gpu.instrument import Instrumented, instrument
from smemviz.engines.host import Configuration
from smemviz.engines.selection import Blocks
from smemviz.frontends.numba.functions import Function
from smemviz.frontends.numba.sites import Declaration, SiteTable, find_sites
from smemviz.frontends.numba.sites.fields import dtype_name
from smemviz.recordings.data import WARP_SIZE, ArrayInfo, Launch, Requests

# With more, fewer warps run at once; with fewer, they spill: where each request of a product, 2,048 cubed, is counted
# by itself, that takes 16 times as long as the clean kernel with these, 18 with 64, 21 with 255 (H200).
_MOST_REGISTERS = 72

ROW_BYTES = 2 * 8 * WARP_SIZE + 8 * probe.FACTS  # addresses, values, facts


@dataclass(frozen=True)
class InstrumentedKernel:
    """An instrumented kernel, compiled, for one set of argument types."""

    table: SiteTable
    kernel: Any


def instrumented_kernel(
    function: Function, arguments: Sequence[object], threads: int, options: Mapping[str, Any] = MappingProxyType({})
) -> InstrumentedKernel:
    """Rewrite a kernel and everything it calls, for blocks of so many threads; Numba compiles it at the first launch.

    It takes more registers than the clean one, but no more than blocks of this size can start with.
    """
    table = find_sites(function, arguments)
    probes = probe.probes(table.sites)
    registers = min(options.get("max_registers") or _MOST_REGISTERS, most_registers(threads))
    return InstrumentedKernel(
        table, cuda.jit(**{**options, "max_registers": registers})(_compiled(instrument(table), probes))
    )


def most_registers(threads: int) -> int:
    """Return how many registers a thread can have in a block of so many threads on the device in use.

    Registers are given out to four warps at a time and by eight a thread (CUDA programming guide, since 3.0).
    """
    in_block = int(cuda.get_current_device().MAX_REGISTERS_PER_BLOCK)
    return min(_MOST_REGISTERS, in_block // (-(-threads // 128) * 128) // 8 * 8)


def _compiled(rewritten: Instrumented, probes: dict[str, Any]) -> Any:
    """Turn a rewritten tree into a Python function that sees the probes and its rewritten callees."""
    function = rewritten.tree.function
    namespace = {**function.scope, **probes}
    for callee in rewritten.callees:
        namespace[callee.name] = cuda.jit(device=True, forceinline=True)(_compiled(callee, probes))
    exec(compile(rewritten.module, function.file, "exec", dont_inherit=True), namespace)
    return namespace[rewritten.name]


def count(
    function: Function,
    instrumented: InstrumentedKernel,
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
    table = instrumented.table
    kernel = instrumented.kernel[configuration.grid, configuration.block, 0, configuration.dynamic_shared]
    blocks = math.prod(configuration.grid)
    warps_per_block = -(-math.prod(configuration.block) // WARP_SIZE)
    warps = blocks * warps_per_block
    numbers = logged.of((function.file, function.node.lineno), function.name, blocks) if logged else _some(blocks)
    capacity = max(log_bytes, 0) // ROW_BYTES
    with Arguments(arguments) as held:
        bases = _zeros(max(len(table.declarations), 1), np.int64)
        counts = _count(kernel, held, table, bases)
        totals = classes.totals(table.sites, counts)
        total = int(totals.requests.sum())
        everything = logged is None and total <= capacity
        chosen = np.ones(warps, np.bool_) if everything else _warps_of(numbers, blocks, warps_per_block)
        requests = _write(kernel, held, chosen, min(total, capacity), warps_per_block, bases)
        arrays = tuple(_shared_arrays(table.declarations, bases.copy_to_host(), configuration))
        arrays += tuple(held.arrays(function))
    static = max((a.address + a.nbytes for a in arrays if a.space == "shared" and not a.dynamic), default=0)
    start = min((a.address for a in arrays if a.space == "shared"), default=0)
    dynamic_start = min((a.address for a in arrays if a.space == "shared" and a.dynamic), default=static)
    complete = int(totals.requests.sum()) == len(requests)
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
        totals=None if complete else totals,
    )


def _some(blocks: int) -> NDArray[np.int64]:
    return np.unique([0, blocks // 2, blocks - 1])


def _warps_of(numbers: NDArray[np.int64], blocks: int, warps_per_block: int) -> NDArray[np.bool_]:
    """Return for every warp of the grid whether its block is among these numbers."""
    chosen = np.zeros((blocks, warps_per_block), np.bool_)
    chosen[numbers] = True
    return chosen.ravel()


def _count(kernel: Any, held: Arguments, table: SiteTable, bases: Any) -> NDArray[np.int64]:
    """Return how many requests there were of each class, shaped (copies, sites, classes)."""
    shape = classes.shape_of_counts(table.sites)
    counts = _zeros(math.prod(shape), np.int64)
    run_pass(kernel, held, probe.COUNT, np.zeros(1, np.bool_), shape, counts, _device_rows(1), bases)
    totals: NDArray[np.int64] = counts.copy_to_host().reshape(shape)
    return totals


def _write(
    kernel: Any, held: Arguments, chosen: NDArray[np.bool_], rows: int, warps_per_block: int, bases: Any
) -> Requests:
    """Return the requests of the chosen warps, or of the first of them that have room in so many rows."""
    if rows == 0:
        return Requests.empty()
    facts, addresses, values = log = _device_rows(rows)
    used = _write_pass(kernel, held, chosen, log, bases)
    if used.sum() > rows:
        chosen = chosen & (np.cumsum(used, dtype=np.int64) <= rows)
        used = _write_pass(kernel, held, chosen, log, bases)
    written = min(int(used.sum()), rows)
    if written == 0:
        return Requests.empty()
    site, epoch, warp, step = facts[:written].copy_to_host().T
    return Requests(
        addresses=addresses[:written].copy_to_host(),
        site=site.astype(np.int32),
        block=warp // warps_per_block,
        warp=(warp % warps_per_block).astype(np.int32),
        step=step.astype(np.int32),
        epoch=epoch.astype(np.int32),
        values=values[:written].copy_to_host(),
    ).select(np.lexsort((step, warp)))


def _write_pass(
    kernel: Any, held: Arguments, chosen: NDArray[np.bool_], log: tuple[Any, Any, Any], bases: Any
) -> NDArray[np.int32]:
    """Log the chosen warps as far as there are rows; return how many requests each of them made."""
    for array in log[1:]:  # -1 for a lane that is off, NaN for what was not stored: both are all-ones
        driver.device_memset(array, 0xFF, array.alloc_size)
    return run_pass(kernel, held, probe.WRITE, chosen, (1, 1, 1), _zeros(1, np.int64), log, bases)


def run_pass(
    kernel: Any,
    held: Arguments,
    mode: int,
    chosen: NDArray[np.bool_],
    shape: tuple[int, int, int],
    counts: Any,
    log: tuple[Any, Any, Any],
    bases: Any,
) -> NDArray[np.int32]:
    """Run the instrumented kernel once and put the arguments back; return how many requests each chosen warp made.

    ``chosen`` has one entry per warp of the grid; a pass that counts does not look at it.
    """
    used, epochs = _zeros(len(chosen), np.int32), _zeros(len(chosen), np.int32)
    cursor = _zeros(1, np.int64)
    sizes = tuple(np.int32(size) for size in shape)
    kernel(*held.values, (np.int32(mode), cuda.to_device(chosen), sizes, counts, used, epochs, cursor, *log, bases))
    cuda.synchronize()
    held.restore()
    requests: NDArray[np.int32] = used.copy_to_host()
    return requests


def _zeros(size: int, dtype: type) -> Any:
    """Allocate an array of zeros on the device, without making it on the host first."""
    array = cuda.device_array(size, dtype)
    driver.device_memset(array, 0, array.alloc_size)
    return array


def _device_rows(rows: int) -> tuple[Any, Any, Any]:
    """Allocate a log's facts, addresses and values."""
    facts = cuda.device_array((rows, probe.FACTS), np.int64)
    return facts, cuda.device_array((rows, WARP_SIZE), np.int64), cuda.device_array((rows, WARP_SIZE), np.float64)


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
            dtype=dtype_name(declaration.dtype),
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
                dtype=dtype_name(array.dtype),
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
        if isinstance(value, DeviceNDArray):  # as_cuda_array would lose the fields of records
            return value
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
