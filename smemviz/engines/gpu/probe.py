"""The device functions that report a site: its address into the warp's log, its cost into the site's totals.

A request is written by the warp together: the first active lane takes the next slot of its warp, every active lane
writes its address there. The address is the real one: where the element is, not where its index says it should be.

Masks are cast to unsigned at once: ``activemask`` and ``match_any_sync`` return signed 32-bit, and a sign extension
would count 33 lanes for 1 (seen on the H200).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import cuda

from smemviz.engines.gpu.address import array_address, element_address, to_shared
from smemviz.engines.gpu.carry import BARRIER, DECLARE, probe_name
from smemviz.recording import WARP_SIZE, Site

# Columns of the totals, per site; behind them a histogram of degrees 0 to 32.
REQUESTS, WAVEFRONTS, IDEAL, SECTORS, DEGREES = range(5)
TOTAL_COLUMNS = DEGREES + WARP_SIZE + 1

# Columns of a log row's facts.
SITE, EPOCH = range(2)

# What a run of the carrying kernel does.
COUNT, WRITE = range(2)

_SECTOR_BYTES = 32
_ATOMICS = {"and": "and_", "or": "or_"}


def _device(function: Callable[..., Any]) -> Any:
    return cuda.jit(device=True)(function)


@_device
def _warp_index() -> Any:
    block = cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)
    thread = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    warps = (cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z + 31) // 32
    return block * warps + thread // 32


@_device
def _first_lane(mask: Any) -> Any:
    return cuda.ffs(mask) - 1


@_device
def _largest(mask: Any, lanes: Any, value: Any) -> Any:
    """Return the largest of the values (0 to 63) that ``lanes``, part of the active ``mask``, hold."""
    result = 0
    left = numba.uint32(lanes)
    for bit in range(5, -1, -1):
        votes = numba.uint32(cuda.ballot_sync(mask, (value >> bit) & 1)) & left
        if votes != 0:
            result |= 1 << bit
            left = votes
    return result


@_device
def _different(mask: Any, lanes: Any, key: Any, group: Any) -> Any:
    """Return, among ``lanes``, how many different keys there are whose group equals this lane's."""
    same = numba.uint32(cuda.match_any_sync(mask, key)) & lanes
    leaders = numba.uint32(cuda.ballot_sync(mask, cuda.laneid == _first_lane(same))) & lanes
    return cuda.popc(numba.uint32(cuda.match_any_sync(mask, group)) & leaders & lanes)


@_device
def _has_partners(mask: Any, address: Any, distance: Any) -> Any:
    """Tell whether every active lane has, at this distance, an inactive partner or one with the same address."""
    other = cuda.shfl_xor_sync(mask, address, distance)
    lane = cuda.laneid
    inactive = (mask >> numba.uint32(lane ^ distance)) & numba.uint32(1) == 0
    return numba.uint32(cuda.ballot_sync(mask, inactive or other == address)) == mask


def _shared_cost(op: str, width: int) -> Any:
    """Build the device function that adds a shared request's wavefronts, ideal and degree to the totals.

    The rules are those of ``model.banks`` for compute capability 5.0 and later.
    """
    unit = max(width, 4)
    words = unit // 4
    by_lane = op.startswith(("atomic_", "reduce_")) and op != "reduce_inc"
    merges = op == "load" and words > 1
    group_size = WARP_SIZE if by_lane else WARP_SIZE // words
    banks = WARP_SIZE // words

    def cost(totals: Any, site: Any, mask: Any, address: Any) -> None:
        size = group_size
        if merges and (_has_partners(mask, address, 1) or _has_partners(mask, address, 2)):
            size = group_size * 2
        lane = cuda.laneid
        group = lane // size
        lanes = mask
        if size < 32:
            lanes = mask & numba.uint32(((1 << size) - 1) << (group * size))
        key = address // unit
        if by_lane:
            same_bank = numba.uint32(cuda.match_any_sync(mask, key % banks))
            degree = cuda.popc(same_bank & lanes)
        else:
            degree = _different(mask, lanes, key, key % banks)
        degree = _largest(mask, lanes, degree)
        if lane == _first_lane(lanes):
            cuda.atomic.add(totals, (site, WAVEFRONTS), degree)
            cuda.atomic.add(totals, (site, IDEAL), 1)
        worst = _largest(mask, mask, degree)
        if lane == _first_lane(mask):
            cuda.atomic.add(totals, (site, DEGREES + worst), 1)

    return _device(cost)


def _global_cost() -> Any:
    """Build the device function that adds a global request's sectors to the totals."""

    def cost(totals: Any, site: Any, mask: Any, address: Any) -> None:
        sectors = _different(mask, mask, address // _SECTOR_BYTES, 0)
        if cuda.laneid == _first_lane(mask):
            cuda.atomic.add(totals, (site, SECTORS), sectors)

    return _device(cost)


@cache
def _report(space: str, op: str, width: int) -> Any:
    """Build the device function that reports one address of one kind of site."""
    shared = space == "shared"
    cost = _shared_cost(op, width) if shared else _global_cost()

    def report(site: Any, address: Any, value: Any, log: Any) -> None:
        mode, first, used, epochs, facts, addresses, values, totals, _ = log
        mask = numba.uint32(cuda.activemask())
        leader = _first_lane(mask)
        warp = _warp_index()
        if shared:
            address = to_shared(address)
        if mode == COUNT:
            if cuda.laneid == leader:
                cuda.atomic.add(used, warp, 1)
                cuda.atomic.add(totals, (site, REQUESTS), 1)
            cost(totals, site, mask, address)
        elif first[warp] >= 0:
            slot = 0
            if cuda.laneid == leader:
                slot = cuda.atomic.add(used, warp, 1)
            row = first[warp] + cuda.shfl_sync(mask, slot, leader)
            addresses[row, cuda.laneid] = address
            values[row, cuda.laneid] = value
            if cuda.laneid == leader:
                facts[row, SITE] = site
                facts[row, EPOCH] = epochs[warp]

    return _device(report)


def _load(site: Site) -> Any:
    report = _report(site.space, "load", site.width)

    def load(number: Any, array: Any, index: Any, log: Any) -> Any:
        report(number, element_address(array, index), np.nan, log)
        return array[index]

    return _device(load)


def _store(site: Site) -> Any:
    report = _report(site.space, "store", site.width)
    cast = numba.from_dtype(np.dtype(site.dtype))
    keeps_value = site.space == "shared" and np.dtype(site.dtype).kind != "c"

    def store(number: Any, array: Any, index: Any, value: Any, log: Any) -> None:
        report(number, element_address(array, index), numba.float64(cast(value)), log)
        array[index] = value

    def store_only(number: Any, array: Any, index: Any, value: Any, log: Any) -> None:
        report(number, element_address(array, index), np.nan, log)
        array[index] = value

    return _device(store if keeps_value else store_only)


# Numba types ``cuda.atomic.add`` only where it stands as written, so these are written for each operation.
_UPDATE = """
def update(number, array, {parameters}, log):
    report(number, element_address(array, {index}), nan, log)
    return cuda.atomic.{name}(array, {parameters})
"""


def _update(site: Site, name: str, parameters: str) -> Any:
    index = "index" if "index" in parameters else "0"
    namespace = {
        "cuda": cuda,
        "nan": np.nan,
        "element_address": element_address,
        "report": _report(site.space, site.op, site.width),
    }
    exec(_UPDATE.format(name=name, parameters=parameters, index=index), namespace)
    return _device(namespace["update"])


def _atomic(site: Site) -> Any:
    name = "add" if site.op == "reduce_inc" else site.op.partition("_")[2]
    return _update(site, _ATOMICS.get(name, name), "index, old, value" if name == "cas" else "index, value")


def _swap(site: Site) -> Any:
    return _update(site, "compare_and_swap", "old, value")


@_device
def _declare(number: Any, array: Any, log: Any) -> Any:
    """Note where a shared array begins, once a launch, and hand the array on."""
    bases = log[8]
    if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0 and cuda.threadIdx.z == 0:
        bases[number] = to_shared(array_address(array))
    return array


@_device
def _barrier(log: Any) -> None:
    """Note that the warp reaches a barrier."""
    mode, _, _, epochs, _, _, _, _, _ = log
    mask = numba.uint32(cuda.activemask())
    if mode == WRITE and cuda.laneid == _first_lane(mask):
        cuda.atomic.add(epochs, _warp_index(), 1)


_BUILDERS = {"load": _load, "store": _store, "atomic": _atomic, "swap": _swap}


def probes(sites: Sequence[Site]) -> dict[str, Any]:
    """Return every device function that carrying kernels of these sites may call, by name."""
    found: dict[str, Any] = {DECLARE: _declare, BARRIER: _barrier}
    for site in sites:
        for action in [site.op] if site.op in ("load", "store") else ["atomic", "swap"]:
            found.setdefault(probe_name(action, site), _BUILDERS[action](site))
    return found
