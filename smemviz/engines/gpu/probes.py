"""The device functions that report a site: its address into the log, its cost into the counts.

A request is written by the warp together: the first active lane takes the next row of the log, every active lane
writes its address there. The address is the real one: where the element is, not where its index says it should be.

A request is counted as one of its class: what it costs (``warp_classes``). An element of a loop whose rounds cost the
same (``steady_loops``) is counted once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import cuda

from smemviz.engines.gpu.address import (
    add,
    array_address,
    array_offset,
    element_address,
    element_offset,
    field_address,
)
from smemviz.engines.gpu.instrument import (
    AGREED,
    BARRIER,
    BEGIN,
    COUNTING_BARRIERS,
    DECLARE,
    PREFIX,
    TOGETHER,
    field_at,
    probe_name,
)
from smemviz.engines.gpu.request_classes import ServedAs, served_as
from smemviz.engines.gpu.warp_classes import first_lane, inlined, knowing
from smemviz.frontends.numba.sites.expressions import CACHE_HINTS
from smemviz.recordings.data import WARP_SIZE, Site

# Columns of a log row's facts.
SITE, EPOCH, WARP, STEP = range(4)
FACTS = 4

# What a run of the instrumented kernel does.
COUNT, WRITE = range(2)

_ADDRESS_OF = {"shared": element_offset, "global": element_address}
_ATOMICS = {"and": "and_", "or": "or_"}


@inlined
def _warp_index() -> Any:
    block = cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)
    thread = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    warps = (cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z + WARP_SIZE - 1) // WARP_SIZE
    return block * warps + thread // WARP_SIZE


@cache
def _report(served: ServedAs | None) -> Any:
    """Build the device function that reports one address, of shared memory that serves it so or of global memory."""
    know = knowing(served)

    def report(site: Any, address: Any, value: Any, log: Any) -> None:
        mode, chosen, warp, counters, classes, used, epochs, cursor, facts, addresses, values, _, kept = log
        if mode == COUNT:
            mask = numba.uint32(cuda.activemask())
            leader = first_lane(mask)
            know(site, address, mask, leader, classes, kept)
            if cuda.laneid == leader:
                add(counters, kept[3][site], 1)
        elif chosen:
            mask = numba.uint32(cuda.activemask())
            leader = first_lane(mask)
            row = 0
            if cuda.laneid == leader:
                row = cuda.atomic.add(cursor, 0, 1)
            row = cuda.shfl_sync(mask, row, leader)
            step = 0
            if cuda.laneid == leader:
                step = cuda.atomic.add(used, warp, 1)
            if row < addresses.shape[0]:
                addresses[row, cuda.laneid] = address
                values[row, cuda.laneid] = value
                if cuda.laneid == leader:
                    facts[row, SITE] = site
                    facts[row, EPOCH] = epochs[warp]
                    facts[row, WARP] = warp
                    facts[row, STEP] = step

    return inlined(report)


class _Kind(NamedTuple):
    """What a probe depends on; sites that agree in it share one, so that it is compiled once."""

    space: str
    op: str
    width: int
    dtype: str
    field: str


def _served(site: _Kind) -> ServedAs | None:
    """Return how shared memory serves a site, None for one of global memory."""
    return served_as(site.op, site.width) if site.space == "shared" else None


def _load(site: _Kind) -> Any:
    report = _report(_served(site))
    address_of = _ADDRESS_OF[site.space]

    def load(number: Any, array: Any, index: Any, log: Any) -> Any:
        report(number, address_of(array, index), np.nan, log)
        return array[index]

    return inlined(load)


def _store(site: _Kind) -> Any:
    keeps_value = site.space == "shared" and np.dtype(site.dtype).kind != "c"
    report = _report(_served(site))
    cast = numba.from_dtype(np.dtype(site.dtype))
    address_of = _ADDRESS_OF[site.space]

    def store(number: Any, array: Any, index: Any, value: Any, log: Any) -> None:
        report(number, address_of(array, index), numba.float64(cast(value)), log)
        array[index] = value

    def store_only(number: Any, array: Any, index: Any, value: Any, log: Any) -> None:
        report(number, address_of(array, index), np.nan, log)
        array[index] = value

    return inlined(store if keeps_value else store_only)


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
        "report": _report(_served(site)),
    }
    exec(_FIELD[action].format(name=site.field), namespace)
    return inlined(namespace[action])


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
        "report": _report(_served(site)),
    }
    exec(_CALL.format(name=name, parameters=parameters, index=index), namespace)
    return inlined(namespace["call"])


def _atomic(site: _Kind) -> Any:
    name = "add" if site.op == "reduce_inc" else site.op.partition("_")[2]
    return _call(site, f"atomic.{_ATOMICS.get(name, name)}", "index, old, value" if name == "cas" else "index, value")


def _swap(site: _Kind) -> Any:
    return _call(site, "atomic.compare_and_swap", "old, value")


def _hinted(name: str) -> Callable[[_Kind], Any]:
    return lambda site: _call(site, name, "index" if CACHE_HINTS[name] == "load" else "index, value")


def _steady(site: _Kind) -> Any:
    """Build the device function that tells whether an element moves by the same whole words in all lanes."""
    whole = served_as(site.op, site.width).piece_bytes
    address_of = _ADDRESS_OF[site.space]

    def steady(number: Any, array: Any, index: Any, later: Any, log: Any) -> Any:
        mask = numba.uint32(cuda.activemask())
        moved = numba.int32(numba.uint32(address_of(array, later) - address_of(array, index)))
        first = cuda.shfl_sync(mask, moved, first_lane(mask))
        return (moved == first) & (moved & numba.int32(whole - 1) == 0)

    return inlined(steady)


def _many(site: _Kind) -> Any:
    """Build the device function that counts an element once for each round of a loop."""
    know = knowing(_served(site))
    address_of = _ADDRESS_OF[site.space]

    def many(number: Any, array: Any, index: Any, rounds: Any, log: Any) -> None:
        counters, classes, kept = log[3], log[4], log[12]
        mask = numba.uint32(cuda.activemask())
        leader = first_lane(mask)
        know(number, address_of(array, index), mask, leader, classes, kept)
        if cuda.laneid == leader:
            add(counters, kept[3][number], numba.int64(rounds))

    return inlined(many)


@inlined
def _agreed(start: Any, stop: Any, log: Any) -> Any:
    """Tell whether all lanes that count go round a loop as often, and at least once."""
    agreed = False
    if log[0] == COUNT:
        mask = numba.uint32(cuda.activemask())
        leader = first_lane(mask)
        first, last = numba.int64(start), numba.int64(stop)
        same = (first == cuda.shfl_sync(mask, first, leader)) & (last == cuda.shfl_sync(mask, last, leader))
        agreed = cuda.all_sync(mask, same & (first < last))
    return agreed


@inlined
def _together(fits: Any, log: Any) -> Any:
    """Tell whether something holds for all lanes."""
    return cuda.all_sync(numba.uint32(cuda.activemask()), fits)


@inlined
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


@inlined
def _declare(number: Any, array: Any, log: Any) -> Any:
    """Note where a shared array begins, once a launch, and hand the array on."""
    bases = log[11]
    if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0 and cuda.threadIdx.z == 0:
        bases[number] = array_offset(array)
    return array


@inlined
def _barrier(log: Any) -> None:
    """Note that the warp reaches a barrier."""
    mode, chosen, warp, epochs = log[0], log[1], log[2], log[6]
    if mode == WRITE and chosen:
        mask = numba.uint32(cuda.activemask())
        if cuda.laneid == first_lane(mask):
            cuda.atomic.add(epochs, warp, 1)


@cache
def _counting_barrier(name: str) -> Any:
    namespace = {"cuda": cuda, "barrier": _barrier}
    exec(_BARRIER.format(name=name), namespace)
    return inlined(namespace["counting_barrier"])


_BUILDERS: dict[str, Callable[[_Kind], Any]] = {"load": _load, "store": _store, "atomic": _atomic, "swap": _swap}
_BUILDERS |= {"steady": _steady, "many": _many}
_BUILDERS |= {name: _hinted(name) for name in CACHE_HINTS}


@cache
def _built(action: str, kind: _Kind) -> Any:
    return _field_of_record(action, kind) if kind.field else _BUILDERS[action](kind)


def probes(sites: Sequence[Site]) -> dict[str, Any]:
    """Return every device function that the instrumented kernels of these sites may call, by name."""
    names: dict[str, Any] = {BEGIN: _begin, DECLARE: _declare, BARRIER: _barrier}
    names |= {AGREED: _agreed, TOGETHER: _together}
    names |= {f"{PREFIX}cuda": cuda, f"{PREFIX}uint32": numba.uint32, f"{PREFIX}int64": numba.int64}
    names |= {PREFIX + name: _counting_barrier(name) for name in COUNTING_BARRIERS}
    for site in sites:
        hints = [name for name, op in CACHE_HINTS.items() if op == site.op and site.space == "global"]
        loops = ["steady", "many"] if site.space == "shared" else []
        actions = [site.op, *(hints + loops if not field_at(site) else [])]
        for action in actions if site.op in ("load", "store") else ["atomic", "swap"]:
            kind = _Kind(site.space, site.op, site.width, site.dtype, field_at(site))
            names.setdefault(probe_name(action, site), _built(action, kind))
    return names
