"""The pattern behind the addresses of a site: strides between its lanes, an XOR of their bits, or none.

Everywhere ``offsets`` is (n, 32) int64: a lane's byte offset from the first byte of the array, -1 for a lane that is
off. Only differences between lanes count, so requests that start elsewhere have the same pattern.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smemviz.recordings.data import WARP_SIZE, ArrayInfo

PatternKind = Literal["one lane", "one element", "stride", "groups", "xor", "irregular", "data-dependent"]

_BITS = 5  # of a lane's number
_KINDS: tuple[PatternKind, ...] = ("one lane", "stride", "xor", "irregular")
_LANES = np.arange(WARP_SIZE)
_PART = 1 << 11  # requests whose offsets fit the cache of a core


class Level(NamedTuple):
    """Lanes at one distance: ``lanes`` neighbours ``stride`` bytes apart, or as many groups of the level before."""

    lanes: int
    stride: int


@dataclass(frozen=True)
class Pattern:
    """How the addresses of a request go from lane to lane.

    ``levels`` describe ``stride`` and ``one element`` (one level) and ``groups`` (several, the innermost first); the
    others have none. ``spacing`` is the distance of active lanes, 1 for neighbours and 0 when it differs.
    ``irregular`` is what no single stride, grouping or XOR describes, such as columns of 24 that lanes go down one
    after the other; that it is ``data-dependent`` no addresses tell, only the source, where an index is loaded.
    """

    kind: PatternKind
    levels: tuple[Level, ...] = ()
    spacing: int = 1


class Patterns(NamedTuple):
    """The different patterns among requests, and which of them each request has, (n,)."""

    patterns: tuple[Pattern, ...]
    which: NDArray[np.intp]


def find_patterns(offsets: NDArray[np.int64]) -> Patterns:
    """Recover the pattern of each request."""
    several = np.count_nonzero(offsets >= 0, axis=1) > 1
    shapes = _shapes(offsets[several])
    first, like, _ = different(shapes)
    one_lane = np.zeros((int(not several.all()), 2 + _BITS), np.int64)
    parts = [_keys(shapes[first[at : at + _PART]]) for at in range(0, len(first), _PART)]
    keys = np.concatenate([one_lane, *parts])
    shape = np.zeros(len(offsets), np.intp)
    shape[several] = like + len(one_lane)
    first, like, _ = different(keys)
    unique, which = np.unique(keys[first], axis=0, return_inverse=True)
    return Patterns(tuple(_pattern(key) for key in unique.tolist()), which.reshape(-1)[like[shape]])


def different(rows: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Tell the different rows of integers, (n, m): where each is first, which one each row is, how often it is."""
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, which, times = np.unique(whole, return_index=True, return_inverse=True, return_counts=True)
    return first, which.reshape(-1), times


def _shapes(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Take from the offsets of each request the bits that are the same in all its lanes above the first that is not."""
    rows, active = np.arange(len(offsets)), offsets >= 0
    first = offsets[rows, np.argmax(active, axis=1)]
    mask = np.bitwise_or.reduce(offsets ^ first[:, None], axis=1, where=active)
    for shift in (1, 2, 4, 8, 16, 32):
        mask |= mask >> shift
    return np.where(active, offsets & mask[:, None], -1)


def _keys(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a kind, a spacing and what each bit of the lane's number does, (n, 7), for requests of several lanes."""
    packed, spacing = _close_ranks(offsets)
    active = packed >= 0
    counts = active.sum(axis=1)
    sums, adds = _bitwise(packed, active, xor=False)
    exclusive, xors = _bitwise(packed, active, xor=True)
    xors &= (counts == WARP_SIZE) & (~adds | (_levels(exclusive) < _levels(sums)))  # the simpler of the two
    kind = np.select([xors, adds], [2, 1], 3)
    keys = np.column_stack([kind, spacing, sums])
    keys[kind == 2, 2:] = exclusive[kind == 2]
    keys[kind == 3, 1:] = 0
    return keys


def mostly_irregular(offsets: NDArray[np.int64], times: NDArray[np.int64]) -> bool:
    """Whether most of some requests are irregular; ``times`` (n,) is how often each was made."""
    patterns = find_patterns(offsets)
    often = np.bincount(patterns.which, times, len(patterns.patterns))
    return patterns.patterns[int(np.argmax(often))].kind == "irregular"


def index_steps(array: ArrayInfo, offsets: NDArray[np.int64]) -> tuple[int, ...] | None:
    """Return how the array's index changes between active neighbours of one request, None when that differs.

    ``offsets`` is (32,). Also None where the strides of the array do not tell one index from another.
    """
    on = offsets[offsets >= 0]
    if len(on) < 2 or any(stride <= 0 for stride in array.strides):
        return None
    index = []
    for stride in array.strides:
        place, on = np.divmod(on, stride)
        index.append(place)
    steps = np.unique(np.diff(np.stack(index), axis=1), axis=1)
    return tuple(steps[:, 0].tolist()) if steps.shape[1] == 1 else None


def _close_ranks(offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the active lanes from 0 where they are equally spaced, so that every second lane has a stride too.

    Returns:
        (n, 32) offsets and (n,) the spacing; requests with another set of lanes stay as they are, with a spacing of 0.
    """
    active = offsets >= 0
    counts = active.sum(axis=1)
    order = np.argsort(~active, axis=1, kind="stable")
    between = np.diff(order, axis=1)
    inside = _LANES[1:] < counts[:, None]
    spacing = np.where(counts > 1, between[:, 0], 1)
    even = np.all((between == spacing[:, None]) | ~inside, axis=1)
    closed = np.where(counts[:, None] > _LANES, np.take_along_axis(offsets, order, axis=1), -1)
    return np.where(even[:, None], closed, offsets), np.where(even, spacing, 0)


def _bitwise(
    offsets: NDArray[np.int64], active: NDArray[np.bool_], *, xor: bool
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Find what each bit of the lane's number adds to the offset (or flips in it), and whether that explains all lanes.

    Returns:
        (n, 5) the part of each bit, and (n,) whether the parts together give every active lane's offset.
    """
    combine = np.bitwise_xor if xor else np.add
    parts = np.zeros((len(offsets), _BITS), np.int64)
    rows = np.arange(len(offsets))
    for bit in range(_BITS):
        low = _LANES[_LANES >> bit & 1 == 0]
        both = active[:, low] & active[:, low | 1 << bit]
        first = low[np.argmax(both, axis=1)]
        without, with_bit = offsets[rows, first], offsets[rows, first | 1 << bit]
        part = without ^ with_bit if xor else with_bit - without
        doubled = 2 * parts[:, bit - 1] if bit else np.zeros_like(part)  # no pair of lanes tells: as the bit before
        parts[:, bit] = np.where(both.any(axis=1), part, doubled)
    predicted = np.zeros_like(offsets)
    for bit in range(_BITS):
        predicted = combine(predicted, np.where(_LANES >> bit & 1, parts[:, bit, None], 0))
    first = np.argmax(active, axis=1)
    base, start = offsets[rows, first][:, None], predicted[rows, first][:, None]
    expected = predicted ^ start ^ base if xor else predicted - start + base
    return parts, np.all((expected == offsets) | ~active, axis=1)


def _levels(parts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the strides that parts, (n, 5), are made of."""
    levels: NDArray[np.int64] = 1 + (parts[:, 1:] != 2 * parts[:, :-1]).sum(axis=1)
    return levels


def _pattern(key: list[int]) -> Pattern:
    number, spacing, *parts = key
    kind = _KINDS[number]
    if kind == "one lane" or kind == "irregular":
        return Pattern(kind)
    if kind == "xor":
        return Pattern(kind, (), spacing)
    levels: list[Level] = []
    for part in parts:
        if levels and part == levels[-1].lanes * levels[-1].stride:
            levels[-1] = Level(2 * levels[-1].lanes, levels[-1].stride)
        else:
            levels.append(Level(2, part))
    if len(levels) > 1:
        return Pattern("groups", tuple(levels), spacing)
    return Pattern("stride" if levels[0].stride else "one element", tuple(levels), spacing)
