"""Loads, stores and atomics of the active threads: which memory, what is out of bounds, the request, the bytes."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.clusters import Far, is_far
from smemviz.engines.lockstep.ptx.code.module import UNSIGNED, Value
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.memory import SPACES, WINDOWS, space_at, spaces

_SHIFT = {1: 0, 2: 1, 4: 2, 8: 3}


def load(m: Machine, site: int | None, space: str, address: Value, count: int, width: int) -> list[Value]:
    """Return ``count`` neighbouring values of ``width`` bytes each, 0 where the address is out of bounds."""
    at = address.astype(np.int64)
    if (apart := _apart(m, space, at)) is not None:
        return _load_apart(m, site, space, apart, count, width)
    where = _memory_of_all(m, space, at, count * width)
    if where:
        at = at - WINDOWS[where] if space == "generic" and where != "global" else at
        m.request(site, where, at, count * width)
        return _gather(m, where, at, count, width)
    whole: list[Any] = [np.zeros(m.active, UNSIGNED[width]) for _ in range(count)]
    for where, lanes, inner in _parts(m, site, space, at, count * width, count * width):
        with m.only(lanes):
            m.request(site, where, inner, count * width)
            for value, piece in zip(whole, _gather(m, where, inner, count, width), strict=True):
                value[lanes] = piece
    return [m.as_active(value) for value in whole]


def load_first(m: Machine, site: int, address: Value, sizes: Value, most: int) -> list[Value]:
    """Return ``most`` bytes of global memory as words of 4: the first ``sizes`` of them loaded, zeros behind these.

    A thread that loads nothing makes no request, wherever its address is.
    """
    at = address.astype(np.int64)
    if (sizes == most).all():
        return load(m, site, "global", at, most // 4, 4)
    whole = np.zeros((m.active, most), np.uint8)
    flat, wanted = m.one_each(at), m.one_each(sizes).astype(np.int64)
    loading = wanted.nonzero()[0]
    with m.only(loading):
        parts = _parts(m, site, "global", flat[loading], wanted[loading], most)
    for _, inside, inner in parts:
        lanes = loading[inside]
        with m.only(lanes):
            m.request(site, "global", inner, most)
        for size in np.unique(wanted[lanes]):
            of_size = np.flatnonzero(wanted[lanes] == size)
            for elements, numbers, these in places(m, "global", inner[of_size], 1):
                whole[lanes[of_size[these]], :size] = elements[numbers[:, None] + np.arange(size)]
    return [m.as_active(whole.view(np.uint32)[:, number]) for number in range(most // 4)]


def store(m: Machine, site: int | None, space: str, address: Value, values: list[Value], width: int) -> None:
    """Store neighbouring values of ``width`` bytes each; of threads that store to one place, the last one's stays."""
    at = address.astype(np.int64)
    size = len(values) * width
    if (apart := _apart(m, space, at)) is not None:
        addresses, far = apart
        all_values = [m.one_each(value) for value in values]
        with m.only(np.flatnonzero(far)):
            Far(m, site, space, addresses[far], len(values), width).store([value[far] for value in all_values])
        with m.only(np.flatnonzero(~far)) as some:
            if some:
                store(m, site, space, addresses[~far], [value[~far] for value in all_values], width)
        return
    where = _memory_of_all(m, space, at, size)
    if where:
        at = at - WINDOWS[where] if space == "generic" and where != "global" else at
        m.request(site, where, at, size, values)
        m.changes += where != "local"
        _scatter(m, where, at, values, width)
        return
    flat = [m.one_each(value) for value in values]
    for where, lanes, inner in _parts(m, site, space, at, size, size):
        with m.only(lanes):
            stored = [value[lanes] for value in flat]
            m.request(site, where, inner, size, stored)
            m.changes += where != "local"
            _scatter(m, where, inner, stored, width)


def update(
    m: Machine,
    site: int | None,
    space: str,
    address: Value,
    width: int,
    values: list[Value],
    change: Callable[[Any, NDArray[np.int64], list[Any]], Any],
) -> Value:
    """Change elements with ``change(elements, numbers, values)``, which returns what was there before."""
    at, flat = address.astype(np.int64), [m.one_each(value) for value in values]
    old = np.zeros(m.active, UNSIGNED[width])
    if (apart := _apart(m, space, at)) is not None:
        addresses, far = apart
        with m.only(np.flatnonzero(far)):
            others = Far(m, site, space, addresses[far], 1, width)
            of_lanes = np.flatnonzero(far)[others.lanes]
            old[of_lanes] = change(others.elements, others.numbers, [value[of_lanes] for value in flat])
            others.wrote()
        with m.only(np.flatnonzero(~far)) as some:
            if some:
                mine = [value[~far] for value in flat]
                old[~far] = m.one_each(update(m, site, space, addresses[~far], width, mine, change))
        return m.as_active(old)
    for where, lanes, inner in _parts(m, site, space, at, width, width):
        with m.only(lanes):
            m.request(site, where, inner, width)
            for elements, numbers, these in places(m, where, inner, width):
                before = elements[numbers]
                old[lanes[these]] = change(elements, numbers, [value[lanes[these]] for value in flat])
                m.changes += not np.array_equal(before, elements[numbers])
    return m.as_active(old)


def _apart(m: Machine, space: str, at: Value) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
    """Return addresses one each and which are in the shared memory of another block, None where none is."""
    if m.cluster_size == 1 or space not in ("shared", "generic") or not m.active:
        return None
    flat = m.one_each(at)
    far = is_far(space, flat)
    return (flat, far) if far.any() else None


def _load_apart(
    m: Machine,
    site: int | None,
    space: str,
    apart: tuple[NDArray[np.int64], NDArray[np.bool_]],
    count: int,
    width: int,
) -> list[Value]:
    flat, far = apart
    whole: list[Any] = [np.zeros(m.active, UNSIGNED[width]) for _ in range(count)]
    with m.only(np.flatnonzero(far)):
        for value, piece in zip(whole, Far(m, site, space, flat[far], count, width).load(count), strict=True):
            value[far] = piece
    with m.only(np.flatnonzero(~far)) as some:
        if some:
            for value, piece in zip(whole, load(m, site, space, flat[~far], count, width), strict=True):
                value[~far] = m.one_each(piece)
    return [m.as_active(value) for value in whole]


def places(m: Machine, space: str, at: NDArray[np.int64], width: int) -> list[tuple[Any, NDArray[np.int64], Any]]:
    """Return the elements that addresses mean: flat memory, a number for each of some lanes, and which lanes."""
    if space == "global":
        numbers = m.memory.numbers(at)
        by_allocation = []
        for number in np.unique(numbers):
            lanes = np.flatnonzero(numbers == number)
            allocation = m.memory.allocations[number]
            by_allocation.append((allocation.views[width], (at[lanes] - allocation.start) >> _SHIFT[width], lanes))
        return by_allocation
    views, start = (m.shared_views, m.shared_starts) if space == "shared" else (m.local_views, m.local_starts)
    begin = start if m.lanes is None else start[m.lanes]
    return [(views[width].reshape(-1), (begin + at) >> _SHIFT[width], slice(None))]


def _memory_of_all(m: Machine, space: str, at: Value, size: int) -> str:
    """Return the one memory in which all accesses are, inside and aligned; empty where that is not so."""
    if not m.active:
        return ""
    if at.ndim:
        low, high, bits = int(at.min()), int(at.max()), int(np.bitwise_or.reduce(at, axis=None))
    else:
        low = high = bits = int(at)
    if bits & (min(size, 16) - 1):
        return ""
    if space == "generic":
        space = space_at(low)
        if space_at(high) != space:
            return ""
        low, high = low - WINDOWS[space], high - WINDOWS[space]
    return space if m.fits(space, low, high, size) else ""


def _parts(
    m: Machine, site: int | None, space: str, at: Value, size: int | NDArray[np.int64], width: int
) -> list[tuple[str, NDArray[np.intp], NDArray[np.int64]]]:
    """Return accesses divided by memory, without those out of bounds.

    Each part is a memory, numbers among the active threads, and their addresses there. ``size`` is how many bytes they
    touch, each the same or each its own, and ``width`` how many bytes the instruction is for.
    """
    if not m.active:
        return []
    flat = m.one_each(at)
    kind = spaces(flat) if space == "generic" else np.full(len(flat), SPACES.index(space))
    parts = []
    for number in np.unique(kind):
        where = SPACES[number]
        lanes = np.flatnonzero(kind == number)
        inner = flat[lanes] - (WINDOWS[where] if space == "generic" else 0)
        fine = m.inside(where, inner, size if isinstance(size, int) else size[lanes])
        with m.only(lanes[~fine]) as some:
            if some:
                m.out_of_bounds(site, where, inner[~fine])
        straight = inner % min(width, 16) == 0
        with m.only(lanes[fine & ~straight]) as some:
            if some:
                m.stop_misaligned(site, where, inner[fine & ~straight], width)
        if fine.any():
            parts.append((where, lanes[fine], inner[fine]))
    return parts


def _gather(m: Machine, space: str, at: Value, count: int, width: int) -> list[Value]:
    shift = _SHIFT[width]
    if space == "global":
        first = int(at.reshape(-1)[0])
        allocation = m.memory.nearest(first) if m.same_allocation(at) else None
        if allocation is None:
            values = [np.zeros(len(at), UNSIGNED[width]) for _ in range(count)]
            for elements, numbers, lanes in places(m, space, at, width):
                for number, value in enumerate(values):
                    value[lanes] = elements[numbers + number]
            return values
        view, element = allocation.views[width], (at - allocation.start) >> shift
        return [
            view[element + i] if element.ndim == 0 else view.take(element + i if i else element) for i in range(count)
        ]
    shared = space == "shared"
    view = m.shared_views[width] if shared else m.local_views[width]
    if m.lanes is not None:
        start = m.shared_starts if shared else m.local_starts
        element = (start[m.lanes] + at) >> shift
        flat = view.reshape(-1)
        return [flat.take(element + i) for i in range(count)]
    element = (at - m.layout.start if shared else at) >> shift
    blocks, threads = m.shape
    if shared and (element.ndim == 0 or element.shape[0] == 1):
        if element.ndim == 0:
            return [view[:, element + i, None].copy() for i in range(count)]
        return [view.take(element[0] + i, axis=1) for i in range(count)]
    if not shared and element.ndim == 0:
        return [view[:, element + i].reshape(blocks, threads).copy() for i in range(count)]
    start = m.block_starts if shared else m.local_starts.reshape(m.shape)
    element = (start >> shift) + element
    flat = view.reshape(-1)
    return [flat.take(element + i) for i in range(count)]


def _scatter(m: Machine, space: str, at: Value, values: list[Value], width: int) -> None:
    shift = _SHIFT[width]
    if m.lanes is None and space == "shared" and at.ndim and at.shape[0] == 1:
        view, element = m.shared_views[width], ((at - m.layout.start) >> shift)[0]
        for number, value in enumerate(values):
            view[:, element + number] = value
        return
    flat = m.one_each(at)
    for elements, numbers, lanes in places(m, space, flat, width):
        for number, value in enumerate(values):
            each = m.one_each(value) if value.ndim else value
            elements[numbers + number] = each[lanes] if each.ndim else each
