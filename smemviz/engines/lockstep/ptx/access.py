"""Loads, stores and atomics of the active threads: which memory, what is out of bounds, the request, the bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.memory import SPACES, WINDOWS, spaces
from smemviz.engines.lockstep.ptx.registers import UNSIGNED, Value

if TYPE_CHECKING:
    from smemviz.engines.lockstep.ptx.machine import Machine

_SHIFT = {1: 0, 2: 1, 4: 2, 8: 3}


def load(m: Machine, site: int | None, space: str, address: Value, count: int, width: int) -> list[Value]:
    """Return ``count`` neighbouring values of ``width`` bytes each, 0 where the address is out of bounds."""
    made: list[Value] = []

    def run(where: str, at: Value) -> None:
        made.extend(_gather(m, where, at, count, width))

    def part(lanes: NDArray[np.intp], found: list[Value]) -> None:
        for value, piece in zip(whole, found, strict=True):
            value[lanes] = piece

    whole: list[Any] = []
    at = _signed(address)
    split = _parts(m, site, space, at, count * width)
    if split is None:
        where, at = _resolved(space, at)
        m.request(site, where, at, count * width)
        run(where, at)
        return made
    whole = [np.zeros(m.active, UNSIGNED[width]) for _ in range(count)]
    for where, lanes, inner in split:
        with m.only(lanes):
            m.request(site, where, inner, count * width)
            part(lanes, _gather(m, where, inner, count, width))
    return [m.as_active(value) for value in whole]


def store(m: Machine, site: int | None, space: str, address: Value, values: list[Value], width: int) -> None:
    """Store neighbouring values of ``width`` bytes each; of threads that store to one place, the last one's stays."""
    at = _signed(address)
    size = len(values) * width
    split = _parts(m, site, space, at, size)
    if split is None:
        where, at = _resolved(space, at)
        m.request(site, where, at, size, values)
        _scatter(m, where, at, values, width)
        return
    flat = [m.one_each(value) for value in values]
    for where, lanes, inner in split:
        with m.only(lanes):
            kept = [value[lanes] for value in flat]
            m.request(site, where, inner, size, kept)
            _scatter(m, where, inner, kept, width)


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
    at, flat = m.one_each(_signed(address)), [m.one_each(value) for value in values]
    old = np.zeros(m.active, UNSIGNED[width])
    split = _parts(m, site, space, at, width)
    if split is None:
        where, inner = _resolved(space, at)
        split = [(where, np.arange(m.active), inner)]
    for where, lanes, inner in split:
        with m.only(lanes):
            m.request(site, where, inner, width)
            for elements, numbers, these in places(m, where, inner, width):
                old[lanes[these]] = change(elements, numbers, [value[lanes[these]] for value in flat])
    return m.as_active(old)


def places(m: Machine, space: str, at: NDArray[np.int64], width: int) -> list[tuple[Any, NDArray[np.int64], Any]]:
    """Return the elements that addresses mean: flat memory, a number for each of some lanes, and which lanes."""
    if space == "global":
        numbers = m.memory.numbers(at)
        found = []
        for number in np.unique(numbers):
            lanes = np.flatnonzero(numbers == number)
            one = m.memory.allocations[number]
            found.append((one.views[width], (at[lanes] - one.start) >> _SHIFT[width], lanes))
        return found
    views, start = (m.shared_views, m.shared_starts) if space == "shared" else (m.local_views, m.local_starts)
    begin = start if m.lanes is None else start[m.lanes]
    return [(views[width].reshape(-1), (begin + at) >> _SHIFT[width], slice(None))]


def _signed(address: Value) -> Value:
    return address.astype(np.int64)


def _resolved(space: str, at: Value) -> tuple[str, Value]:
    """Return the memory that addresses of one memory mean, and the addresses in its own terms."""
    if space != "generic":
        return space, at
    first = at if at.ndim == 0 else at.reshape(-1)[:1]
    where = SPACES[int(spaces(np.atleast_1d(first))[0])]
    return where, at - WINDOWS[where] if WINDOWS[where] else at


def _parts(
    m: Machine, site: int | None, space: str, at: Value, size: int
) -> list[tuple[str, NDArray[np.intp], NDArray[np.int64]]] | None:
    """Return accesses divided by memory, without those out of bounds; None where that is all of them, in one memory.

    Each part is a memory, numbers among the active threads, and their addresses there.
    """
    if not m.active:
        return []
    low, high = int(at.min()), int(at.max())
    if space == "generic":
        first, last = spaces(np.array([low, high]))
        if first == last:
            window = WINDOWS[SPACES[first]]
            if m.fits(SPACES[first], low - window, high - window, size) and not m.misaligned(at, size):
                return None
    elif m.fits(space, low, high, size) and not m.misaligned(at, size):
        return None
    flat = m.one_each(at)
    kind = spaces(flat) if space == "generic" else np.full(len(flat), SPACES.index(space))
    found = []
    for number in np.unique(kind):
        where = SPACES[number]
        lanes = np.flatnonzero(kind == number)
        inner = flat[lanes] - (WINDOWS[where] if space == "generic" else 0)
        fine = m.inside(where, inner, size)
        with m.only(lanes[~fine]) as some:
            if some:
                m.out_of_bounds(site, where, inner[~fine], size)
        straight = inner % min(size, 16) == 0
        with m.only(lanes[fine & ~straight]) as some:
            if some:
                m.stop_misaligned(site, where, inner[fine & ~straight], size)
        if fine.any():
            found.append((where, lanes[fine], inner[fine]))
    return found


def _gather(m: Machine, space: str, at: Value, count: int, width: int) -> list[Value]:
    shift = _SHIFT[width]
    if space == "global":
        low, high = int(at.min()), int(at.max())
        one = m.memory.holding(low, high + count * width)
        if one is None:
            found = [np.zeros(len(at), UNSIGNED[width]) for _ in range(count)]
            for elements, numbers, lanes in places(m, space, at, width):
                for number, value in enumerate(found):
                    value[lanes] = elements[numbers + number]
            return found
        view, element = one.views[width], (at - one.start) >> shift
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
