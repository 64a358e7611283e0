"""The device functions that work out what a request costs, its class (``request_classes``), with the lanes of its warp.

Working that out takes a hundred instructions, so every thread keeps, for each site, the address and the mask it last
worked it out for. Where the same lanes now stand at the same distances, moved together by whole words in shared memory
or by whole sectors in global memory, the class is the same too: all banks turn alike, all sectors shift alike. What is
kept lies in registers, since everything here is inlined and each site is a literal.

Masks are cast to unsigned at once: ``activemask`` and ``match_any_sync`` return signed 32-bit, and a sign extension
would count 33 lanes for 1 (seen on the H200).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from numba import cuda

from smemviz.engines.gpu.request_classes import DEGREES, WAVEFRONTS, ServedAs
from smemviz.recordings.data import SECTOR_BYTES, WARP_SIZE


def _device(function: Callable[..., Any]) -> Any:
    return cuda.jit(device=True)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Make a device function of one, which is copied to where it is called."""
    return cuda.jit(device=True, forceinline=True)(function)


@_device
def first_lane(mask: Any) -> Any:
    """Return the number of the first lane of a mask."""
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
    leaders = numba.uint32(cuda.ballot_sync(mask, cuda.laneid == first_lane(same))) & lanes
    return _lanes(numba.uint32(cuda.match_any_sync(mask, group)) & leaders & lanes)


@_device
def _has_partners(mask: Any, address: Any, distance: Any) -> Any:
    """Tell whether every active lane has, at this distance, an inactive partner or one with the same address."""
    other = cuda.shfl_xor_sync(mask, numba.int32(address), distance)
    lane = cuda.laneid
    inactive = (mask >> numba.uint32(lane ^ distance)) & numba.uint32(1) == 0
    return numba.uint32(cuda.ballot_sync(mask, inactive or other == numba.int32(address))) == mask


def _shared_class(served: ServedAs) -> Any:
    """Build the device function that works out the class of a shared request."""
    unit, banks, group_size, merges, shares = served

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
        firsts = numba.uint32(cuda.ballot_sync(mask, lane == first_lane(lanes)))
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
def knowing(served: ServedAs | None) -> Any:
    """Build the device function that makes sure that a thread knows the class of a request.

    That is of one of shared memory, which is served so, or of global memory.
    """
    shared = served is not None
    class_of = _shared_class(served) if served else _global_class
    whole = served.piece_bytes if served else SECTOR_BYTES

    def know(site: Any, address: Any, mask: Any, leader: Any, classes: Any, kept: Any) -> None:
        near, far, masks, known = kept
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

    return inlined(know)
