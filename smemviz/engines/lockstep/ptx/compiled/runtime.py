"""The loops that run blocks of the grid compiled: the warps of a block in turn, each until it waits."""

from typing import Any

import numba
import numpy as np
from numba.core import cgutils
from numba.extending import intrinsic

from smemviz.engines.lockstep.ptx.compiled import state as s
from smemviz.engines.lockstep.ptx.compiled.moving import (
    double_at,
    float_at,
    get,
    lowest,
    number_at,
    ones,
    put,
    short_at,
)
from smemviz.engines.lockstep.ptx.compiled.settling import settle
from smemviz.model.counting.jit import borrowed, compiled, inlined

_LANES = 32


@intrinsic  # type: ignore[untyped-decorator]
def _run(typing_context: Any, kernel: Any, state: Any, at: Any, registers: Any, of_warp: Any) -> Any:
    """Call a compiled kernel at an address."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = cgutils.ir.IntType(64)
        kind = cgutils.ir.FunctionType(number, [number] * 4)
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    whole = numba.types.int64
    return whole(*[whole] * 5), codegen


@compiled
def _begin(
    state: Any,
    at: Any,
    registers: Any,
    shared: Any,
    local: Any,
    warps: Any,
    cells: Any,
    written: Any,
    free: Any,
    logged: Any,
) -> None:
    """Set up the next block of the grid."""
    block = state[s.BLOCK]
    place = np.searchsorted(logged, block)
    state[s.LEARNS] = state[s.COUNTED] and (place == len(logged) or logged[place] > block)
    for axis in range(3):
        state[s.AXES + 3 + axis] = block % state[s.AXES + axis]
        block //= state[s.AXES + axis]
    warps[:] = 0
    for warp in range(at.shape[0]):
        threads = min(_LANES, state[s.THREADS] - warp * _LANES)
        at[warp, :threads] = 0
        at[warp, threads:] = state[s.END]
        warps[warp, s.ALIVE] = (1 << threads) - 1
    registers[:] = 0
    shared[:] = 0
    local[:] = 0
    cells[:] = 0
    unwritten = 0
    for cell in range(len(free)):
        written[cell] = free[cell]
        unwritten += not free[cell]
    state[s.UNWRITTEN] = unwritten
    state[s.STARTED], state[s.STORES] = 1, 0
    state[s.LATEST_EXIT] = state[s.WAITS_AT] = state[s.AWAITED] = -1


@compiled
def _arrive(state: Any, barriers: Any) -> bool:
    """Note that threads wait at a barrier of the block; returns whether it is the one that others wait at."""
    here, awaited = state[s.BARRIER], state[s.AWAITED]
    state[s.AWAITED] = here
    state[s.WAITS_AT] = max(state[s.WAITS_AT], state[s.LAST])
    if awaited < 0 or awaited == here:
        return True
    one, other = barriers[here], barriers[awaited]
    # The compiler may have made several of one in the source.
    is_one = one[s.PLACE] == other[s.PLACE] and one[s.NUMBER] == other[s.NUMBER]
    return is_one and not one[s.REDUCTION] and not other[s.REDUCTION]


@compiled
def _pass_barrier(state: Any, registers: Any, warps: Any, barriers: Any) -> bool:
    """Let a block pass its barrier where all its threads have come; returns whether all is well."""
    total = yes = 0
    for warp in range(warps.shape[0]):
        if warps[warp, s.WAITING] != warps[warp, s.ALIVE]:
            return False
        total += ones(warps[warp, s.ALIVE])
        yes += ones(warps[warp, s.TESTS])
    is_well = total >= state[s.MANY_AT_BARRIERS] and state[s.LATEST_EXIT] <= state[s.WAITS_AT]
    if state[s.AWAITED] < 0 or not is_well:
        return False
    barrier = barriers[state[s.AWAITED]]
    reduction, result = barrier[s.REDUCTION], barrier[s.RESULT]
    value = yes if reduction == s.COUNTS else yes == total if reduction == s.ALL else yes > 0
    for warp in range(warps.shape[0]):
        passing = warps[warp, s.WAITING]
        if reduction and barrier[s.IS_COUNT]:
            for lane in range(_LANES):
                if passing >> lane & 1:
                    put(registers[warp].ctypes.data + result + 4 * lane, 4, np.uint64(value))
        elif reduction:
            where = registers[warp].ctypes.data + result
            kept = np.int64(get(where, 4)) & ~passing
            put(where, 4, np.uint64(kept | (passing if value else 0)))
        warps[warp, s.EPOCHS] += passing != 0
        warps[warp, s.PHASES] = warps[warp, s.WAITING] = warps[warp, s.TESTS] = 0
    state[s.STORES] = 0
    state[s.LATEST_EXIT] = state[s.WAITS_AT] = state[s.AWAITED] = -1
    return True


@inlined
def _run_warp(kernel: int, warp: int, state: Any, at: Any, registers: Any, warps: Any, barriers: Any) -> Any:
    """Run a warp until it waits for others, or has ended."""
    state[s.WARP], state[s.IN_VAIN] = warp, 0
    of_warp = np.int64(warps.ctypes.data + 8 * s.WARP_COLUMNS * warp)
    its_place = np.int64(at.ctypes.data + 4 * _LANES * warp)
    its_registers = np.int64(registers.ctypes.data + registers.shape[1] * warp)
    fuel = state[s.FUEL]
    while True:
        result = _run(np.int64(kernel), np.int64(state.ctypes.data), its_place, its_registers, of_warp)
        if result == s.GO_ON and warps[warp, s.WAITING_FOR_WARP]:
            if warps[warp, s.WAITING_FOR_WARP] != warps[warp, s.ALIVE]:
                break
            # Those that a barrier of the warp waited for have ended.
            warps[warp, s.WAITING_FOR_WARP] = 0
            warps[warp, s.PHASES] += 1
        elif result == s.WAIT:
            if not _arrive(state, barriers):
                result = s.SUSPECT
                break
        else:
            break
    warps[warp, s.VISITS] += fuel - state[s.FUEL]
    return result


@compiled
def run_blocks(
    kernel: int,
    state: Any,
    at: Any,
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
    shared_cells: Any,
    shared_marks: Any,
    global_cells: Any,
    global_marks: Any,
    patterns: Any,
    logged: Any,
    last: int,
) -> Any:
    """Run blocks of the grid from where the state says, up to the ``last`` or until Python is asked."""
    at, registers, warps, barriers = borrowed(at), borrowed(registers), borrowed(warps), borrowed(barriers)
    while state[s.BLOCK] < last:
        if not state[s.STARTED]:
            _begin(state, at, registers, shared, local, warps, shared_cells, written, free, logged)
        alive = 0
        for warp in range(at.shape[0]):
            if not warps[warp, s.ALIVE]:
                continue
            result = _run_warp(kernel, warp, state, at, registers, warps, barriers)
            if result != s.GO_ON:
                return result
            alive |= warps[warp, s.ALIVE]
        if not settle(
            state,
            meta,
            addresses,
            operations,
            memory,
            shared_cells,
            shared_marks,
            written,
            global_cells,
            global_marks,
            patterns,
            np.int64(0),  # a constant by itself would be a type of its own
        ):
            return s.SUSPECT
        while state[s.ROWS] and meta[state[s.ROWS] - 1, s.PATTERN] >= 0:  # which are counted
            state[s.ROWS] -= 1
        state[s.SETTLED] = state[s.ROWS]
        if not alive:
            state[s.STARTED] = 0
            state[s.BLOCK] += 1
            if state[s.ROWS] >= state[s.ROWS_LIMIT] // 2:
                return s.ASK
        elif not _pass_barrier(state, registers, warps, barriers):
            return s.SUSPECT
    return s.DONE


@inlined
def _number(place: int, kind: int, width: int, halves: Any) -> float:
    """Return the number whose bits are at an address."""
    bits = get(place, width)
    if kind == s.FLOAT:
        return halves[bits] if width == 2 else np.float64(float_at(place)) if width == 4 else double_at(place)
    if kind == s.UNSIGNED:
        return np.float64(bits)
    if width >= 4:
        return np.float64(short_at(place)) if width == 4 else np.float64(number_at(place))
    unused = np.int64(64 - 8 * width)
    return np.float64(np.int64(bits) << unused >> unused)


@compiled
def write_rows(
    begin: int,
    meta: Any,
    addresses: Any,
    bits: Any,
    operations: Any,
    kinds: Any,
    halves: Any,
    moves: Any,
    spans: Any,
    to: Any,
    site: Any,
    block: Any,
    warp: Any,
    step: Any,
    epoch: Any,
    values: Any,
) -> int:
    """Write requests into tables of a recording; returns how many, or the first whose site's ``kinds`` are not known.

    ``kinds`` are the type and the bytes of the numbers in ``bits``; there is no place for values where nothing stores.
    ``moves`` is how far the recording has pieces of global memory from where they are, if anywhere else. ``spans`` are
    the lowest and the highest address of each site, as they are in ``Share``.
    """
    meta, bits, operations, kinds = borrowed(meta), borrowed(bits), borrowed(operations), borrowed(kinds)
    lanes_there = to.shape[1]
    for row in range(begin, len(site)):
        number, its_site, lanes = meta[row, s.OPERATION], meta[row, s.SITE], meta[row, s.LANES]
        site[row], block[row], warp[row] = its_site, meta[row, s.OF_BLOCK], meta[row, s.OF_WARP]
        step[row], epoch[row] = meta[row, s.STEP], meta[row, s.EPOCH]
        low, high = np.uint64(spans[0, its_site]), spans[1, its_site]
        for lane in range(lanes_there):
            address = addresses[row, lane]
            to[row, lane] = address
            low, high = min(low, np.uint64(address)), max(high, address)
        spans[0, its_site], spans[1, its_site] = np.int64(low), high
        if number < 0 and len(moves):
            for lane in range(lanes_there):
                if to[row, lane] >= 0:
                    to[row, lane] += moves[(to[row, lane] - s.FIRST_ADDRESS) >> 32]
        if not len(values):
            continue
        for lane in range(lanes_there):
            values[row, lane] = np.nan
        if number < 0 or operations[number, s.KIND] != s.STORE or operations[number, s.COUNT] != 1:
            continue
        kind, width = kinds[its_site, 0], kinds[its_site, 1]
        if width < 0:
            return row
        while width and lanes:
            lane = lowest(lanes)
            lanes &= lanes - 1
            values[row, lane] = _number(bits[row].ctypes.data + 8 * lane, kind, width, halves)
    return len(site)
