"""What the threads of a warp tell each other: shuffles, votes, matches, masks.

A mask names lanes. Every lane it names that has not returned must make the same call; one that is elsewhere is a
finding, because the GPU waits for it for ever. Types are numba-cuda's: ballots and matches are signed.
"""

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.functions.rules import Rule
from smemviz.engines.lockstep.values.operators import NoRuleError, truth
from smemviz.engines.lockstep.values.typing import FLOAT32, FLOAT64, INT32, INT64, Dtype, Value, cast, dtype_of
from smemviz.recordings.data import WARP_SIZE

Words = NDArray[np.uint32]

_UINT32 = np.dtype(np.uint32)
_BITS = np.uint32(1) << np.arange(WARP_SIZE, dtype=np.uint32)
_EXCHANGED = (INT32, INT64, FLOAT32, FLOAT64)
_LANE_BITS = WARP_SIZE - 1


def _words(lanes: NDArray[np.bool_]) -> Words:
    """Return one 32-bit word per warp: bit k is lane k."""
    return np.packbits(lanes.reshape(-1, WARP_SIZE), axis=1, bitorder="little").view("<u4").ravel()


def _each(words: Words) -> Words:
    """Return each lane its warp's word."""
    return np.repeat(words, WARP_SIZE)


def _spread(frame: Frame, value: Value) -> NDArray[Any]:
    """Return a value with one element per thread."""
    return np.broadcast_to(np.asarray(value, dtype_of(value)), frame.machine.slots)


def _member_mask(frame: Frame, node: ast.Call, members_mask: Value) -> Words:
    """Return each lane's mask; lanes that it names and that are elsewhere are a finding."""
    if dtype_of(members_mask).kind not in "iu":
        raise NoRuleError(f"{ast.unparse(node.func)} with a mask of {dtype_of(members_mask)}")
    members = _spread(frame, cast(members_mask, _UINT32))
    machine, mask = frame.machine, frame.mask
    here = _words(mask.lanes)
    elsewhere = _words(machine.live.lanes) & ~here
    if elsewhere.any():
        waiting = mask.lanes & (members & _each(elsewhere) != 0)
        if waiting.any():
            first = int(np.flatnonzero(waiting)[0])
            missing = int(members[first] & elsewhere[first // WARP_SIZE]).bit_count()
            facts = {
                "function": ast.unparse(node.func),
                "lanes": int(members[first]).bit_count(),
                "mask": f"0x{int(members[first]):08x}",
                "missing": missing,
            }
            machine.find("barrier_divergence", node.lineno, node.col_offset, waiting, **facts)
    return members


def _exchanged(frame: Frame, node: ast.Call, value: Value) -> NDArray[Any]:
    dtype = dtype_of(value)
    if dtype not in _EXCHANGED:
        raise NoRuleError(f"{ast.unparse(node.func)} of {dtype} (int32, int64, float32 and float64 only)")
    return _spread(frame, value)


def _shuffle(source: Callable[[Any, Any], Any], frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    """Return each lane the value of another; ``source(lane, b)`` may be outside the warp, then it is its own."""
    mask, value, b = arguments
    if dtype_of(b).kind not in "iu":
        raise NoRuleError(f"{ast.unparse(node.func)} with a lane of {dtype_of(b)}")
    _member_mask(frame, node, mask)
    values = _exchanged(frame, node, value)
    lane = frame.machine.registers["cuda.laneid"]
    other = source(lane, cast(cast(b, _UINT32), INT64) & _LANE_BITS)
    other = np.where((other < 0) | (other >= WARP_SIZE), lane, other)
    return values.take(np.arange(len(lane)) - lane + other)


def _ballot(frame: Frame, node: ast.Call, arguments: list[Value]) -> tuple[Words, Words]:
    """Return, for each lane, the active lanes of its mask and those of them whose predicate holds."""
    mask, predicate = arguments
    if dtype_of(predicate).kind not in "biu":
        raise NoRuleError(f"{ast.unparse(node.func)} of {dtype_of(predicate)}")
    members = _member_mask(frame, node, mask)
    holds = _each(_words(frame.mask.lanes & _spread(frame, truth(predicate))))
    members = members & _each(_words(frame.mask.lanes))
    return members, holds & members


def _vote(judge: Callable[[Words, Words], Value], frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    members, holds = _ballot(frame, node, arguments)
    return judge(members, holds)


def _matched(dtype: Dtype) -> Dtype | None:
    """Return the type in which numba-cuda compares values: 32 or 64 bits, signed or float."""
    if dtype.kind == "f":
        return FLOAT64 if dtype == FLOAT64 else FLOAT32
    if dtype.kind not in "biu":
        return None
    if dtype == np.uint64:
        return FLOAT64
    return INT64 if dtype in (INT64, _UINT32) else INT32


def _matching(frame: Frame, node: ast.Call, arguments: list[Value]) -> tuple[Words, Words]:
    """Return, for each lane, the active lanes of its mask and those of them that have its value, bit by bit."""
    mask, value = arguments
    dtype = _matched(dtype_of(value))
    if dtype is None:
        raise NoRuleError(f"{ast.unparse(node.func)} of {dtype_of(value)}")
    members = _member_mask(frame, node, mask) & _each(_words(frame.mask.lanes))
    value = cast(value, dtype)
    values = np.ascontiguousarray(_spread(frame, value)).view(f"u{dtype.itemsize}").reshape(-1, WARP_SIZE)
    same = values[:, :, None] == values[:, None, :]
    words = np.where(same, _BITS, np.uint32(0)).sum(axis=2, dtype=np.uint32).ravel()
    return members, words & members


def _match_all(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    members, same = _matching(frame, node, arguments)
    every = same == members
    return np.where(every, members, np.uint32(0)).view(INT32), every


def _syncwarp(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    if arguments:
        _member_mask(frame, node, arguments[0])
    frame.machine.hazards.syncwarp(frame.mask, frame.machine.live)


def _syncthreads(
    reduce: Callable[[NDArray[np.bool_], NDArray[np.bool_]], Any], frame: Frame, node: ast.Call, arguments: list[Value]
) -> Value:
    """Pass a barrier and return each thread what ``reduce(holds, present)`` gives for its block, an int32."""
    (predicate,) = arguments
    if dtype_of(predicate).kind not in "iu":
        raise NoRuleError(f"{ast.unparse(node.func)} of {dtype_of(predicate)}")
    machine, present = frame.machine, frame.mask.lanes.reshape(frame.machine.blocks, -1)
    machine.barrier(node, frame.mask)
    holds = _spread(frame, cast(predicate, INT32)).reshape(present.shape) != 0
    return np.repeat(reduce(holds, present).astype(np.int32), present.shape[1])


CALLS: dict[str, Rule] = {
    "cuda.shfl_sync": Rule(partial(_shuffle, lambda lane, b: b), 3, 3),
    "cuda.shfl_up_sync": Rule(partial(_shuffle, lambda lane, b: lane - b), 3, 3),
    "cuda.shfl_down_sync": Rule(partial(_shuffle, lambda lane, b: lane + b), 3, 3),
    "cuda.shfl_xor_sync": Rule(partial(_shuffle, lambda lane, b: lane ^ b), 3, 3),
    "cuda.all_sync": Rule(partial(_vote, lambda members, holds: holds == members), 2, 2),
    "cuda.any_sync": Rule(partial(_vote, lambda members, holds: holds != 0), 2, 2),
    "cuda.eq_sync": Rule(partial(_vote, lambda members, holds: (holds == members) | (holds == 0)), 2, 2),
    "cuda.ballot_sync": Rule(partial(_vote, lambda members, holds: holds.view(INT32)), 2, 2),
    "cuda.match_any_sync": Rule(lambda frame, node, arguments: _matching(frame, node, arguments)[1].view(INT32), 2, 2),
    "cuda.match_all_sync": Rule(_match_all, 2, 2),
    "cuda.activemask": Rule(lambda frame, node, arguments: _each(_words(frame.mask.lanes)), 0, 0),
    "cuda.lanemask_lt": Rule(lambda frame, *_: (_BITS - np.uint32(1))[frame.machine.registers["cuda.laneid"]], 0, 0),
    "cuda.syncwarp": Rule(_syncwarp, 0, 1),
    "cuda.syncthreads_count": Rule(partial(_syncthreads, lambda h, p: (h & p).sum(axis=1)), 1, 1),
    "cuda.syncthreads_and": Rule(partial(_syncthreads, lambda h, p: (h | ~p).all(axis=1)), 1, 1),
    "cuda.syncthreads_or": Rule(partial(_syncthreads, lambda h, p: (h & p).any(axis=1)), 1, 1),
}
