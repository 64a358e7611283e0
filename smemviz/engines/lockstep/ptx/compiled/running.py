"""A launch that runs compiled: its memory laid out, blocks of it run, their requests taken over into the log.

It ends as it began where anything looks like a mistake of the kernel: then the machine runs it, which says what it is.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.compiled import state as s
from smemviz.engines.lockstep.ptx.compiled.accesses import ACCESSES
from smemviz.engines.lockstep.ptx.compiled.bit_words import BITS
from smemviz.engines.lockstep.ptx.compiled.conversions import CONVERSIONS
from smemviz.engines.lockstep.ptx.compiled.emitter import Emitter
from smemviz.engines.lockstep.ptx.compiled.numbers import NUMBERS
from smemviz.engines.lockstep.ptx.compiled.runtime import run_blocks, write_rows
from smemviz.engines.lockstep.ptx.compiled.settling import MARK_COLUMNS, settle
from smemviz.engines.lockstep.ptx.compiled.state_ir import LANES, NotCompiledError
from smemviz.engines.lockstep.ptx.compiled.touching import access, match, permute
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.scheduler import not_ended
from smemviz.engines.lockstep.ptx.special import special_registers
from smemviz.model.counting.service import load_loops
from smemviz.recordings.data import Requests

_ROWS = 1 << 11
_FUEL = 1 << 20
_LOOKS = 256
_MOST_CELLS = 96 << 20  # in global memory, that are looked at for races: those that are touched take 8 bytes each

_MOST_THREADS = 1 << 31  # that marks tell apart


@dataclass(frozen=True)
class CompiledKernel:
    """Machine code of a kernel; the other fields are as the ``Emitter`` has them."""

    run_warp: int
    engine: Any
    named: Mapping[tuple[str, str], int]
    operations: NDArray[np.int64]
    barriers: NDArray[np.int64]
    registers_bytes: int


@lru_cache(maxsize=64)
def compile_kernel(kernel: Kernel) -> CompiledKernel | None:
    """Compile a kernel, None for one that has instructions that are left to NumPy."""
    called = access.address, permute.address, match.address
    try:
        emitter = Emitter(kernel, NUMBERS | BITS | CONVERSIONS | ACCESSES, *called)
    except NotCompiledError:
        return None
    for address in called:
        llvm.add_symbol(f"at_{address:x}", address)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features, opt=1)
    try:
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(emitter.module)), target)
        engine.finalize_object()
    except RuntimeError:  # an older LLVM does not know an intrinsic
        return None
    operations = np.array(emitter.operations or [[0] * s.OPERATION_COLUMNS], np.int64)
    barriers = np.array(emitter.barriers or [[0] * s.BARRIER_COLUMNS], np.int64)
    run_warp = engine.get_function_address("run_warp")
    return CompiledKernel(run_warp, engine, emitter.named, operations, barriers, emitter.registers_bytes)


class CompiledLaunch:
    """One launch of a compiled kernel, with what a machine has for it."""

    def __init__(self, code: CompiledKernel, machine: Machine, most_steps: int, *, all_meet: bool = False) -> None:
        """Where ``all_meet`` a barrier that is passed after threads of the block have ended looks like a mistake."""
        self._code, self._machine, self._most_steps = code, machine, most_steps
        self._all_meet = all_meet
        warps = machine.slots_of_block // LANES
        room = _ROWS + len(code.operations)
        self._meta = np.zeros((room, s.META_COLUMNS), np.int64)
        self._addresses = np.zeros((room, LANES), np.int64)
        self._bits = np.zeros((room, LANES), np.uint64)
        self._at = np.zeros((warps, LANES), np.int32)
        self._registers = np.zeros((warps, code.registers_bytes), np.uint8)
        self._shared = np.zeros(-(-machine.layout.nbytes // 16) * 16 + 16, np.uint8)
        self._local = np.zeros(machine.kernel.local_size * machine.slots_of_block + 16, np.uint8)
        self._warps = np.zeros((warps, s.WARP_COLUMNS), np.int64)
        self._scratch = np.zeros(s.SCRATCH_BYTES, np.uint8)
        self._operations = self._with_sites()
        stores = (self._operations[:, s.KIND] == s.STORE) & (self._operations[:, s.SHARED_SITE] >= 0)
        lanes = min(LANES, math.prod(machine.configuration.block))
        self.share = machine.log.share(lanes, stores=bool(stores.any()))
        moves = [one.moved for one in machine.memory.allocations]
        self._moves = np.array(moves if any(moves) else [], np.int64)
        # Type and bytes of the numbers that each site stores in shared memory; 0 for none, -1 before that is known.
        self._kinds = np.full((len(machine.sites.sites), 2), -1, np.int64)
        self._lay_out_cells()
        self._special = special_registers(machine.configuration, machine.layout, 0, 1)
        self._rows = {
            name: np.ascontiguousarray(np.broadcast_to(self._special[name], (1, machine.slots_of_block)), np.uint32)
            for what, name in code.named
            if what == "special" and name in self._special
        }
        self._patterns = np.full((max(1, len(self._operations)), s.PATTERN_COLUMNS), -1, np.int64)
        self._pattern_rows = np.zeros((s.MOST_PATTERNS, LANES), np.int64)
        self._pattern_times, self._pattern_sites = np.zeros((2, s.MOST_PATTERNS), np.int64)
        self._units = self.share.counting.units
        self._logged = np.zeros(0, np.int64)
        self._state = self._first_state()
        self._count_patterns()

    def _with_sites(self) -> NDArray[np.int64]:
        """Return the operations with sites of the recording in the place of the kernel's."""
        operations = self._code.operations.copy()
        for operation in operations:
            for column, space in ((s.SHARED_SITE, "shared"), (s.GLOBAL_SITE, "global")):
                if operation[s.WIDTH]:  # of a kernel that has any
                    operation[column] = self._machine.sites.number_if_any(int(operation[column]), space)
        return operations

    def _lay_out_cells(self) -> None:
        machine = self._machine
        self._cell = min([8, *(site.width for site in machine.sites.sites if site.is_shared)])
        self._free = np.ones(len(self._shared) // self._cell, np.bool_)
        for array in machine.layout.placed:
            begin = array.address - machine.layout.start
            self._free[begin // self._cell : -(-(begin + array.nbytes) // self._cell)] = False
        self._written = self._free.copy()
        self._shared_cells = np.zeros(len(self._free), np.int64)
        self._shared_marks = np.zeros((len(self._free), MARK_COLUMNS), np.int32)
        allocations = machine.memory.allocations
        self._memory = np.zeros((len(allocations), s.ALLOCATION_COLUMNS), np.int64)
        cells = 0
        watched = machine.in_global.watched
        self._global_cell = next((one.nbytes for one in watched.values()), 1)
        for number, allocation in enumerate(allocations):
            marks = -1
            if number in watched:
                marks = cells
                cells += allocation.nbytes // self._global_cell + 1
            self._memory[number] = allocation.start, allocation.nbytes, allocation.data.ctypes.data, marks
        cells = min(cells, _MOST_CELLS + 1)
        self.global_cells, self._global_marks = np.zeros(cells, np.int64), np.zeros((cells, MARK_COLUMNS), np.int32)

    def _first_state(self) -> NDArray[np.int64]:
        machine = self._machine
        state = np.zeros(s.TABLE + len(self._code.named), np.int64)
        values = {
            s.FUEL: _FUEL,
            s.ROWS_LIMIT: _ROWS,
            s.SHARED_START: machine.layout.start,
            s.SHARED_BYTES: machine.layout.nbytes,
            s.LOCAL_BYTES: machine.kernel.local_size,
            s.SLOTS: machine.slots_of_block,
            s.CELL_SHIFT: self._cell.bit_length() - 1,
            s.GLOBAL_SHIFT: self._global_cell.bit_length() - 1,
            s.ALLOCATIONS: len(self._memory),
            s.THREADS: math.prod(machine.configuration.block),
            s.MANY_AT_BARRIERS: math.prod(machine.configuration.block) if self._all_meet else 0,
            s.END: len(machine.kernel.blocks),
            **{s.AXES + axis: size for axis, size in enumerate(machine.configuration.grid)},
        }
        arrays: dict[int, NDArray[Any]] = {
            s.META: self._meta,
            s.ADDRESSES: self._addresses,
            s.BITS: self._bits,
            s.MEMORY: self._memory,
            s.SHARED: self._shared,
            s.LOCAL: self._local,
            s.OPERATIONS: self._operations,
            s.WARPS: self._warps,
            s.SCRATCH: self._scratch,
            s.PATTERNS: self._patterns,
            s.PATTERN_ROWS: self._pattern_rows,
            s.PATTERN_TIMES: self._pattern_times,
            s.PATTERN_SITES: self._pattern_sites,
            s.UNITS: self._units,
        }
        for index, value in values.items():
            state[index] = value
        for index, array in arrays.items():
            state[index] = array.ctypes.data
        for (what, name), index in self._code.named.items():
            state[s.TABLE + index] = self._named(what, name)
        return state

    def _named(self, what: str, name: str) -> int:
        if what == "parameter":
            return int(self._machine.parameters[name].ctypes.data)
        if what == "symbol":
            return self._machine.symbol(name)
        if name.startswith(("tid.", "lanemask_")) or name in ("laneid", "warpid"):
            return int(self._rows[name].ctypes.data)
        return int(self._special[name])

    def run(self, blocks: range, look: Callable[[int], None]) -> bool:
        """Run some blocks; returns whether all is well, and what is looked at for races not too large.

        ``look`` is called now and then, with the block that runs.

        Raises:
            PtxError: when a loop does not end.
        """
        state = self._state
        threads = math.prod(self._machine.configuration.grid) * self._machine.slots_of_block
        if len(self._global_marks) > _MOST_CELLS or threads >= _MOST_THREADS:
            return False
        load_loops()
        state[s.BLOCK] = blocks.start
        before, looks, block, times = None, 0, -1, 0
        while True:
            result = self._go_on(blocks.stop)
            if result == s.SUSPECT or not self._settle():
                return False
            self._take()
            if result == s.DONE:
                return True
            if state[s.FUEL] >= 0:
                continue
            look(int(state[s.BLOCK]))
            if self._warps[:, s.VISITS].max() > self._most_steps:
                raise not_ended(self._machine.kernel.blocks[int(state[s.LAST])], self._most_steps)
            if not looks:
                block, times = int(state[s.BLOCK]), times + 1 if block == state[s.BLOCK] else 0
                if not times or times & times - 1:
                    state[s.FUEL] = _FUEL
                    continue
            # After many visits in one block of the grid, ever more, some are made one by one: a warp that is as it was
            # then goes in circles.
            position = self._position()
            if looks and position == before:
                return False
            before = before if looks else position
            looks = (looks + 1) % _LOOKS
            state[s.FUEL] = 1 if looks else _FUEL

    def _position(self) -> tuple[int, ...]:
        """Return a digest of what the warps do next, and how often memory has changed."""
        arrays = (self._registers, self._at, self._warps[:, s.WAITING : s.TESTS], self._local)
        return int(self._state[s.CHANGES]), *(hash(array.tobytes()) for array in arrays)

    def _go_on(self, last: int) -> int:
        return int(
            run_blocks(
                self._code.run_warp,
                self._state,
                self._at,
                self._registers,
                self._shared,
                self._local,
                self._written,
                self._free,
                self._warps,
                self._meta,
                self._addresses,
                self._operations,
                self._code.barriers,
                self._memory,
                self._shared_cells,
                self._shared_marks,
                self.global_cells,
                self._global_marks,
                self._pattern_rows,
                self._logged,
                last,
            )
        )

    def _settle(self) -> bool:
        return bool(
            settle(
                self._state,
                self._meta,
                self._addresses,
                self._operations,
                self._memory,
                self._shared_cells,
                self._shared_marks,
                self._written,
                self.global_cells,
                self._global_marks,
                self._pattern_rows,
                1,
            )
        )

    def _take(self) -> None:
        """Take the requests that wait over into the log."""
        state = self._state
        count = int(state[s.ROWS])
        state[s.ROWS] = state[s.SETTLED] = 0
        self._count_patterns()
        if not count:
            return
        meta, addresses = self._meta[:count], self._addresses[:count]
        log = self._machine.log

        def write(rows: Any, to: Requests) -> None:
            tables = (to.addresses, to.site, to.block, to.warp, to.step, to.epoch, to.values)
            these, their, bits, at = meta[rows], addresses[rows], self._bits[:count][rows], 0
            known = self._operations, self._kinds, _halves(), self._moves, self.share.spans
            while (at := write_rows(at, these, their, bits, *known, *tables)) < len(to):
                self._kinds[these[at, s.SITE]] = self._kind_of(these[at], their[at])

        log.add_rows(self.share, meta[:, s.SITE], meta[:, s.OF_BLOCK], addresses, write)
        if log.blocks_in_detail is not None:
            self._logged, state[s.COUNTED] = log.blocks_in_detail, 1

    def _count_patterns(self) -> None:
        """Count what patterns stand for, and begin to learn them anew."""
        count = int(self._state[s.LEARNT])
        if count:
            rows, sites, times = self._pattern_rows[:count], self._pattern_sites[:count], self._pattern_times[:count]
            self.share.counting.add_each(rows, sites, times)
        self._state[s.LEARNT] = 0
        self._patterns[:, s.ROW], self._patterns[:, s.CREDIT] = -1, s.MOST_CREDIT

    def _kind_of(self, request: NDArray[np.int64], addresses: NDArray[np.int64]) -> tuple[int, int]:
        """Return what a site stores, as ``_kinds`` has it, by the array that its first request is in."""
        dtype = self._machine.sites.dtype_of_store(int(request[s.SITE]), addresses, self._machine.layout.placed)
        if dtype is None or dtype.itemsize != self._operations[request[s.OPERATION], s.WIDTH]:
            return 0, 0
        return {"i": s.SIGNED, "f": s.FLOAT}.get(dtype.kind, s.UNSIGNED), dtype.itemsize


@lru_cache
def _halves() -> NDArray[np.float64]:
    """Return what each 16 bits are as a number of half precision."""
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)
