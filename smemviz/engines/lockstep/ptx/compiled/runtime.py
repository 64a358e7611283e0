"""The loops that run blocks of the grid compiled: the warps of a block in turn, each until it waits."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import cgutils
from numba.extending import intrinsic

from smemviz.engines.lockstep.ptx.compiled import state as s
from smemviz.engines.lockstep.ptx.compiled.settling import settle
from smemviz.engines.lockstep.ptx.compiled.touching import get, put
from smemviz.model.counting.jit import compiled

_LANES = 32
OF_WARP, OF_BLOCK = 1, 2  # what a lane waits at; a barrier of the block is that and its number


@intrinsic  # type: ignore[untyped-decorator]
def _visit(
    typing_context: Any, kernel: Any, state: Any, at: Any, registers: Any, block: Any, mask: Any, limit: Any
) -> Any:
    """Call a compiled kernel at an address."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = cgutils.ir.IntType(64)
        kind = cgutils.ir.FunctionType(number, [number] * 6)
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    whole = numba.types.int64
    return whole(*[whole] * 7), codegen


@compiled
def _begin(
    state: Any, at: Any, why: Any, registers: Any, shared: Any, local: Any, written: Any, warps: Any, free: Any
) -> None:
    """Set up the next block of the grid."""
    block = state[s.BLOCK]
    for axis in range(3):
        state[s.AXES + 3 + axis] = block % state[s.AXES + axis]
        block //= state[s.AXES + axis]
    for warp in range(at.shape[0]):
        for lane in range(_LANES):
            at[warp, lane] = 0 if warp * _LANES + lane < state[s.THREADS] else state[s.END]
    why[:] = 0
    registers[:] = 0
    shared[:] = 0
    local[:] = 0
    warps[:] = 0
    written[:] = free
    state[s.UNWRITTEN] = len(free) - free.sum()
    state[s.STARTED], state[s.STORES], state[s.LATEST_EXIT], state[s.WAITS_AT] = 1, 0, -1, -1


@compiled
def _pass_barrier(
    state: Any, at: Any, why: Any, places: Any, tests: Any, registers: Any, warps: Any, barriers: Any
) -> bool:
    """Let a block pass its barrier where all its threads have come; returns whether all is well."""
    number = -1
    last = np.int64(0)
    total = yes = 0
    for warp in range(at.shape[0]):
        for lane in range(_LANES):
            if at[warp, lane] >= state[s.END]:
                continue
            barrier = barriers[places[warp, lane]]
            if number >= 0 and (barriers[last, s.PLACE] != barrier[s.PLACE] or why[warp, lane] != number):
                return False
            number, last = why[warp, lane], np.int64(places[warp, lane])
            total += 1
            yes += tests[warp] >> lane & 1
    if number < OF_BLOCK or state[s.LATEST_EXIT] > state[s.WAITS_AT]:
        return False
    barrier = barriers[last]
    reduction, result = barrier[s.REDUCTION], barrier[s.RESULT]
    value = yes if reduction == s.COUNTS else yes == total if reduction == s.ALL else yes > 0
    for warp in range(at.shape[0]):
        passing = 0
        for lane in range(_LANES):
            passing |= (why[warp, lane] != 0) << lane
            if why[warp, lane] and reduction and barrier[s.IS_COUNT]:
                put(registers[warp].ctypes.data + result + 4 * lane, 4, np.uint64(value))
            why[warp, lane] = 0
        if reduction and not barrier[s.IS_COUNT]:
            where = registers[warp].ctypes.data + result
            kept = np.int64(get(where, 4)) & ~passing
            put(where, 4, np.uint64(kept | (passing if value else 0)))
        warps[warp, s.EPOCHS] += passing != 0
        warps[warp, s.PHASES] = 0
    tests[:] = 0
    state[s.STORES], state[s.LATEST_EXIT], state[s.WAITS_AT] = 0, -1, -1
    return True


@compiled
def _pass_of_warp(state: Any, at: Any, why: Any) -> bool:
    """Let a warp pass its barrier where all its threads have come; returns whether it does."""
    waits = False
    for lane in range(_LANES):
        if at[lane] < state[s.END]:
            if why[lane] != OF_WARP:
                return False
            waits = True
    why[:] = 0
    return waits


@compiled
def _run_warp(
    kernel: int, warp: int, state: Any, at: Any, why: Any, places: Any, tests: Any, registers: Any, warps: Any
) -> Any:
    """Run a warp until it waits for others, or has ended: of its threads those at the lowest block go first."""
    end = state[s.END]
    state[s.WARP], state[s.IN_VAIN] = warp, 0
    while True:
        lowest, limit = end, end
        for lane in range(_LANES):
            if not why[lane]:
                lowest = min(lowest, at[lane])
        if lowest >= end:
            if not _pass_of_warp(state, at, why):
                return s.GO_ON
            warps[warp, s.PHASES] += 1
            continue
        mask = 0
        for lane in range(_LANES):
            if not why[lane]:
                if at[lane] == lowest:
                    mask |= 1 << lane
                else:
                    limit = min(limit, at[lane])
        fuel = state[s.FUEL]
        result = _visit(
            np.int64(kernel),
            np.int64(state.ctypes.data),
            np.int64(at.ctypes.data),
            np.int64(registers.ctypes.data),
            np.int64(lowest),
            np.int64(mask),
            np.int64(limit),
        )
        warps[warp, s.VISITS] += fuel - state[s.FUEL]
        if result == s.WAIT or result == s.WAIT_WARP:
            barrier = state[s.BARRIER]
            for lane in range(_LANES):
                if mask >> lane & 1:
                    why[lane] = OF_WARP if result == s.WAIT_WARP else OF_BLOCK + state[s.NUMBER_OF_BARRIER]
                    places[lane] = barrier
            if result == s.WAIT:
                tests[warp] |= state[s.TEST] & mask
                state[s.WAITS_AT] = max(state[s.WAITS_AT], state[s.LAST])
        elif result != s.GO_ON:
            return result
        else:
            for lane in range(_LANES):
                if mask >> lane & 1 and at[lane] >= end:
                    state[s.LATEST_EXIT] = max(state[s.LATEST_EXIT], state[s.LAST])


@compiled
def run_blocks(
    kernel: int,
    state: Any,
    at: Any,
    why: Any,
    places: Any,
    tests: Any,
    registers: Any,
    shared: Any,
    local: Any,
    written: Any,
    free: Any,
    warps: Any,
    meta: Any,
    addresses: Any,
    operations: Any,
    barriers: Any,
    memory: Any,
    shared_marks: Any,
    global_marks: Any,
    last: int,
) -> Any:
    """Run blocks of the grid from where the state says, up to the ``last`` or until Python is asked."""
    while state[s.BLOCK] < last:
        if not state[s.STARTED]:
            _begin(state, at, why, registers, shared, local, written, warps, free)
        for warp in range(at.shape[0]):
            result = _run_warp(kernel, warp, state, at[warp], why[warp], places[warp], tests, registers[warp], warps)
            if result != s.GO_ON:
                return result
        if not settle(state, meta, addresses, operations, memory, shared_marks, written, global_marks, False):
            return s.SUSPECT
        if at.min() >= state[s.END]:
            state[s.STARTED] = 0
            state[s.BLOCK] += 1
            if state[s.ROWS] >= state[s.ROWS_LIMIT] // 2:
                return s.ASK
        elif not _pass_barrier(state, at, why, places, tests, registers, warps, barriers):
            return s.SUSPECT
    return s.DONE
