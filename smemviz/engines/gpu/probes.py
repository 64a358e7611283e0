"""The device functions that report a site: its address into the log, its cost into the counts.

A request is written by the warp together: the first active lane takes the next row of the log, every active lane
writes its address there. The address is the real one: where the element is, not where its index says it should be.

A request is counted as one of its class: what it costs (``request_classes``). Working that out takes a hundred
instructions, so every thread keeps, for each site, the address and the mask it last worked it out for. Where the same
lanes now stand at the same distances, moved together by whole words in shared memory or by whole sectors in global
memory, the class is the same too: all banks turn alike, all sectors shift alike. What is kept lies in registers, since
everything here is inlined and each site is a literal.

Masks are cast to unsigned at once: ``activemask`` and ``match_any_sync`` return signed 32-bit, and a sign extension
would count 33 lanes for 1 (seen on the H200).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import cuda

from smemviz.engines.gpu.address import (
    add_one,
    array_address,
    array_offset,
    element_address,
    element_offset,
    field_address,
)
from smemviz.engines.gpu.instrument import BARRIER, BEGIN, COUNTING_BARRIERS, DECLARE, PREFIX, field_at, probe_name
from smemviz.engines.gpu.request_classes import DEGREES, WAVEFRONTS, served_as
from smemviz.frontends.numba.sites.expressions import CACHE_HINTS
from smemviz.recordings.data import SECTOR_BYTES, WARP_SIZE, Site

# Columns of a log row's facts.
SITE, EPOCH, WARP, STEP = range(4)
FACTS = 4

# What a run of the instrumented kernel does.
COUNT, WRITE = range(2)

_ADDRESS_OF = {"shared": element_offset, "global": element_address}
_ATOMICS = {"and": "and_", "or": "or_"}


def _device(function: Callable[..., Any]) -> Any:
    return cuda.jit(device=True)(function)


def _inlined(function: Callable[..., Any]) -> Any:
    return cuda.jit(device=True, forceinline=True)(function)


@_device
def _warp_index() -> Any:
    block = cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)
    thread = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    warps = (cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z + WARP_SIZE - 1) // WARP_SIZE
    return block * warps + thread // WARP_SIZE


@_device
def _first_lane(mask: Any) -> Any:
    return numba.int32(cuda.ffs(mask) - 1)


@_device
def _lanes(mask: Any) -> Any:
    """Return how many lanes a mask has, signed: with an unsigned number Numba would go on in float64."""
    return numba.int32(cuda.popc(numba.uint32(mask)))


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
def _sum(mask: Any, lanes: Any, value: Any) -> Any:
    """Return the sum of the values (0 to 63) that ``lanes``, part of the active ``mask``, hold."""
    result = 0
    for bit in range(6):
        votes = numba.uint32(cuda.ballot_sync(mask, (value >> bit) & 1)) & lanes
        result += _lanes(votes) << bit
    return result


@_device
def _different(mask: Any, lanes: Any, key: Any, group: Any) -> Any:
    """Return, among ``lanes``, how many different keys there are whose group equals this lane's."""
    same = numba.uint32(cuda.match_any_sync(mask, key)) & lanes
    leaders = numba.uint32(cuda.ballot_sync(mask, cuda.laneid == _first_lane(same))) & lanes
    return _lanes(numba.uint32(cuda.match_any_sync(mask, group)) & leaders & lanes)


@_device
def _has_partners(mask: Any, address: Any, distance: Any) -> Any:
    """Tell whether every active lane has, at this distance, an inactive partner or one with the same address."""
    other = cuda.shfl_xor_sync(mask, numba.int32(address), distance)
    lane = cuda.laneid
    inactive = (mask >> numba.uint32(lane ^ distance)) & numba.uint32(1) == 0
    return numba.uint32(cuda.ballot_sync(mask, inactive or other == numba.int32(address))) == mask


def _shared_class(op: str, width: int) -> Any:
    """Build the device function that works out the class of a shared request."""
    unit, banks, group_size, merges, shares = served_as(op, width)

    def degree_of(mask: Any, address: Any) -> Any:
        key = address // unit
        if not shares:
            return _largest(mask, mask, _lanes(cuda.match_any_sync(mask, key % banks)))
        return _largest(mask, mask, _different(mask, mask, key, key % banks))

    def by_groups(mask: Any, address: Any) -> Any:
        size = group_size
        if merges and (_has_partners(mask, address, 1) or _has_partners(mask, address, 2)):
            size = group_size * 2
        lane = cuda.laneid
        group = lane // size
        lanes = mask
        if size < WARP_SIZE:
            lanes = mask & numba.uint32(((1 << size) - 1) << (group * size))
        key = address // unit
        degree = _largest(mask, lanes, _different(mask, lanes, key, key % banks))
        firsts = numba.uint32(cuda.ballot_sync(mask, lane == _first_lane(lanes)))
        ideal = _lanes(firsts)
        return (ideal * DEGREES + _largest(mask, mask, degree)) * WAVEFRONTS + _sum(mask, firsts, degree)

    return _device(degree_of if group_size == WARP_SIZE else by_groups)


@_device
def _global_class(mask: Any, address: Any) -> Any:
    """Work out the class of a global request: how many sectors it touches."""
    sector = address // SECTOR_BYTES
    before = mask & ((numba.uint32(1) << numba.uint32(cuda.laneid)) - numba.uint32(1))
    neighbour = cuda.laneid if before == 0 else 31 - cuda.clz(numba.uint32(before))
    last = cuda.shfl_sync(mask, sector, neighbour)
    if cuda.all_sync(mask, last <= sector):
        return _lanes(cuda.ballot_sync(mask, last != sector)) + 1
    return _different(mask, mask, sector, 0)


@cache
def _report(space: str, op: str, width: int, keeps_value: bool = False) -> Any:
    """Build the device function that reports one address of one kind of site."""
    shared = space == "shared"
    class_of = _shared_class(op, width) if shared else _global_class
    whole = served_as(op, width).piece_bytes if shared else SECTOR_BYTES

    def report(site: Any, address: Any, value: Any, log: Any) -> None:
        mode, chosen, warp, counters, classes, used, epochs, cursor, facts, addresses, values, _, kept = log
        near, far, masks, known = kept
        if mode == COUNT:
            mask = numba.uint32(cuda.activemask())
            leader = _first_lane(mask)
            if shared:
                moved = numba.int32(numba.uint32(address - near[site]))
                fits = True
            else:
                moved = numba.int32(address - far[site])
                fits = moved == address - far[site]
            together = moved == cuda.shfl_sync(mask, moved, leader)
            # Bitwise, so that no lane goes around the vote.
            same = (masks[site] == mask) & together & fits & (moved & numba.int32(whole - 1) == 0)
            if not cuda.all_sync(mask, same):
                if shared:
                    near[site] = address
                else:
                    far[site] = address
                masks[site] = mask
                known[site] = site * classes + class_of(mask, address)
            if cuda.laneid == leader:
                add_one(counters, known[site])
        elif chosen:
            mask = numba.uint32(cuda.activemask())
            leader = _first_lane(mask)
            row = 0
            if cuda.laneid == leader:
                row = cuda.atomic.add(cursor, 0, 1)
            row = cuda.shfl_sync(mask, row, leader)
            step = 0
            if cuda.laneid == leader:
                step = cuda.atomic.add(used, warp, 1)
            if row < addresses.shape[0]:
                addresses[row, cuda.laneid] = address
                if keeps_value:
                    values[row, cuda.laneid] = value
                if cuda.laneid == leader:
                    facts[row, SITE] = site
                    facts[row, EPOCH] = epochs[warp]
                    facts[row, WARP] = warp
                    facts[row, STEP] = step

    return _inlined(report)


class _Kind(NamedTuple):
    """What a probe depends on; sites that agree in it share one, so that it is compiled once."""

    space: str
    op: str
    width: int
    dtype: str
    field: str


def _load(site: _Kind) -> Any:
    report = _report(site.space, "load", site.width)
    address_of = _ADDRESS_OF[site.space]

    def load(number: Any, array: Any, index: Any, log: Any) -> Any:
        report(number, address_of(array, index), np.nan, log)
        return array[index]

    return _inlined(load)


def _store(site: _Kind) -> Any:
    keeps_value = site.space == "shared" and np.dtype(site.dtype).kind != "c"
    report = _report(site.space, "store", site.width, keeps_value)
    cast = numba.from_dtype(np.dtype(site.dtype))
    address_of = _ADDRESS_OF[site.space]

    def store(number: Any, array: Any, index: Any, value: Any, log: Any) -> None:
        report(number, address_of(array, index), numba.float64(cast(value)), log)
        array[index] = value

    def store_only(number: Any, array: Any, index: Any, value: Any, log: Any) -> None:
        report(number, address_of(array, index), np.nan, log)
        array[index] = value

    return _inlined(store if keeps_value else store_only)


_FIELD = {
    "load": """
def load(number, array, index, log):
    report(number, address_of(array, index), nan, log)
    return array[index][{name!r}]
""",
    "store": """
def store(number, array, index, value, log):
    report(number, address_of(array, index), nan, log)
    array[index][{name!r}] = value
""",
}


def _field_of_record(action: str, site: _Kind) -> Any:
    namespace = {
        "nan": np.nan,
        "address_of": field_address(site.field, site.space == "shared"),
        "report": _report(site.space, site.op, site.width),
    }
    exec(_FIELD[action].format(name=site.field), namespace)
    return _inlined(namespace[action])


# Numba types ``cuda.atomic.add`` only where it stands as written, so these are written for each function.
_CALL = """
def call(number, array, {parameters}, log):
    report(number, address_of(array, {index}), nan, log)
    return cuda.{name}(array, {parameters})
"""
_BARRIER = """
def counting_barrier(predicate, log):
    barrier(log)
    return cuda.{name}(predicate)
"""


def _call(site: _Kind, name: str, parameters: str) -> Any:
    index = "index" if "index" in parameters else "0"
    namespace = {
        "cuda": cuda,
        "nan": np.nan,
        "address_of": _ADDRESS_OF[site.space],
        "report": _report(site.space, site.op, site.width),
    }
    exec(_CALL.format(name=name, parameters=parameters, index=index), namespace)
    return _inlined(namespace["call"])


def _atomic(site: _Kind) -> Any:
    name = "add" if site.op == "reduce_inc" else site.op.partition("_")[2]
    return _call(site, f"atomic.{_ATOMICS.get(name, name)}", "index, old, value" if name == "cas" else "index, value")


def _swap(site: _Kind) -> Any:
    return _call(site, "atomic.compare_and_swap", "old, value")


def _hinted(name: str) -> Callable[[_Kind], Any]:
    return lambda site: _call(site, name, "index" if CACHE_HINTS[name] == "load" else "index, value")


@_inlined
def _begin(launch: Any, kept: Any) -> Any:
    """Return what reports of this thread need: of the launch, of the warp, and what the thread keeps."""
    mode, chosen, shape, counts, used, epochs, cursor, facts, addresses, values, bases = launch
    copies, sites, classes = shape
    warp = _warp_index()
    masks = kept[2]
    for site in range(masks.shape[0]):
        masks[site] = 0
    logged = mode == WRITE and chosen[warp]
    counters = array_address(counts) + 8 * (warp % copies) * sites * classes
    return mode, logged, warp, counters, classes, used, epochs, cursor, facts, addresses, values, bases, kept


@_inlined
def _declare(number: Any, array: Any, log: Any) -> Any:
    """Note where a shared array begins, once a launch, and hand the array on."""
    bases = log[11]
    if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0 and cuda.threadIdx.z == 0:
        bases[number] = array_offset(array)
    return array


@_inlined
def _barrier(log: Any) -> None:
    """Note that the warp reaches a barrier."""
    mode, chosen, warp, epochs = log[0], log[1], log[2], log[6]
    if mode == WRITE and chosen:
        mask = numba.uint32(cuda.activemask())
        if cuda.laneid == _first_lane(mask):
            cuda.atomic.add(epochs, warp, 1)


@cache
def _counting_barrier(name: str) -> Any:
    namespace = {"cuda": cuda, "barrier": _barrier}
    exec(_BARRIER.format(name=name), namespace)
    return _inlined(namespace["counting_barrier"])


_BUILDERS: dict[str, Callable[[_Kind], Any]] = {"load": _load, "store": _store, "atomic": _atomic, "swap": _swap}
_BUILDERS |= {name: _hinted(name) for name in CACHE_HINTS}


@cache
def _built(action: str, kind: _Kind) -> Any:
    return _field_of_record(action, kind) if kind.field else _BUILDERS[action](kind)


def probes(sites: Sequence[Site]) -> dict[str, Any]:
    """Return every device function that the instrumented kernels of these sites may call, by name."""
    names: dict[str, Any] = {BEGIN: _begin, DECLARE: _declare, BARRIER: _barrier}
    names |= {f"{PREFIX}cuda": cuda, f"{PREFIX}uint32": numba.uint32, f"{PREFIX}int64": numba.int64}
    names |= {PREFIX + name: _counting_barrier(name) for name in COUNTING_BARRIERS}
    for site in sites:
        hints = [name for name, op in CACHE_HINTS.items() if op == site.op and site.space == "global"]
        actions = [site.op, *(hints if not field_at(site) else [])]
        for action in actions if site.op in ("load", "store") else ["atomic", "swap"]:
            kind = _Kind(site.space, site.op, site.width, site.dtype, field_at(site))
            names.setdefault(probe_name(action, site), _built(action, kind))
    return names
