"""Asynchronous copies from global to shared memory, ``cp.async``, done at once; and ``mbarrier``, which waits for them.

A copy may have a source size, or a predicate by which the source is ignored: what is not read of the source is zero in
shared memory. Global memory is touched by the threads alone that read something.

An ``mbarrier`` is in shared memory, where threads arrive at it and test it. Its 64 bits are ours: how many arrivals a
phase needs, how many are missing, and the number of the phase. Bytes that a transaction is to bring are there at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx import access
from smemviz.engines.lockstep.ptx.code.module import (
    Address,
    Instruction,
    Nowhere,
    Number,
    Operand,
    PtxError,
    Register,
    Value,
)
from smemviz.engines.lockstep.ptx.instructions.arithmetic import Family
from smemviz.engines.lockstep.ptx.instructions.loads import address_of, space_of
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.registers import Action, Read, read, write

_COUNT_BITS = 20
_COUNT = (1 << _COUNT_BITS) - 1
_PHASE = 2 * _COUNT_BITS


def _mbarrier(kernel: Kernel, instruction: Instruction) -> Action:
    what = instruction.one_of(
        *(
            "init",
            "inval",
            "arrive",
            "arrive_drop",
            "test_wait",
            "try_wait",
            "pending_count",
            "expect_tx",
            "complete_tx",
        )
    )
    if what in ("inval", "expect_tx", "complete_tx") and not instruction.has("arrive", "arrive_drop"):
        return lambda m: None
    if what == "init":
        return _init(kernel, instruction)
    if what in ("test_wait", "try_wait"):
        return _test(kernel, instruction)
    if what == "pending_count" or instruction.has("arrive_drop", "cluster"):
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    return _arrive(kernel, instruction)


def _space(instruction: Instruction) -> str:
    space = space_of(instruction)
    return "shared" if space == "shared" else "generic"


def _init(kernel: Kernel, instruction: Instruction) -> Action:
    where, count = address_of(kernel, instruction.operands[0]), read(kernel, instruction.operands[1], "u32")
    site = kernel.memory_site(instruction, _space(instruction), "store", 8, "uint64")

    def run(m: Machine) -> None:
        wanted = count(m).astype(np.uint64)
        access.store(m, site, _space(instruction), where(m), [wanted | (wanted << np.uint64(_COUNT_BITS))], 8)

    return run


def _arrive(kernel: Kernel, instruction: Instruction) -> Action:
    place = next(i for i, operand in enumerate(instruction.operands) if isinstance(operand, Address))
    where = address_of(kernel, instruction.operands[place])
    further = instruction.operands[place + 1 :]
    count = read(kernel, further[0], "u32") if further and not instruction.has("expect_tx") else None
    state = instruction.operands[0] if place else Nowhere()
    put = write(kernel, state, "b64")
    return _arriving(kernel, instruction, where, count, put)


def arrive_without_count(kernel: Kernel, instruction: Instruction) -> Action:
    """Return the action of ``cp.async.mbarrier.arrive``: every copy before is done."""
    if not instruction.has("noinc"):
        # It adds one to what the phase waits for, and takes it away again.
        return lambda m: None
    return _arriving(kernel, instruction, address_of(kernel, instruction.operands[0]), None, lambda m, value: None)


def _arriving(kernel: Kernel, instruction: Instruction, where: Any, count: Any, put: Any) -> Action:
    site = kernel.memory_site(instruction, _space(instruction), "atomic_add", 8, "uint64")
    one_each = np.uint32(1)

    def run(m: Machine) -> None:
        old = access.update(m, site, _space(instruction), where(m), 8, [count(m) if count else one_each], _arrived)
        put(m, old)

    return run


def _arrived(elements: Any, numbers: NDArray[np.int64], values: list[Any]) -> Any:
    """Let threads arrive one after the other; the phase ends with the last one it needs."""
    old = np.empty(len(numbers), np.uint64)
    for thread, (number, count) in enumerate(zip(numbers.tolist(), values[0].tolist(), strict=True)):
        state = int(elements[number])
        old[thread] = state
        expected, pending, phase = state & _COUNT, (state >> _COUNT_BITS) & _COUNT, state >> _PHASE
        pending -= count
        if pending <= 0:
            pending, phase = expected, phase + 1
        elements[number] = expected | pending << _COUNT_BITS | phase << _PHASE
    return old


def _test(kernel: Kernel, instruction: Instruction) -> Action:
    put, where = write(kernel, instruction.operands[0], "pred"), address_of(kernel, instruction.operands[1])
    site = kernel.memory_site(instruction, _space(instruction), "load", 8, "uint64")
    by_parity = instruction.has("parity")
    wanted = read(kernel, instruction.operands[2], "u32" if by_parity else "u64")

    def run(m: Machine) -> None:
        (state,) = access.load(m, site, _space(instruction), where(m), 1, 8)
        phase, before = state >> np.uint64(_PHASE), wanted(m).astype(np.uint64)
        if by_parity:
            put(m, (phase & np.uint64(1)) != before)
        else:
            put(m, phase != before >> np.uint64(_PHASE))

    return run


_SIZES = (4, 8, 16)


def source_size(instruction: Instruction) -> Operand | None:
    """Return the operand that says how many bytes a copy reads, or the predicate that it reads none."""
    policies = int(instruction.has("L2::cache_hint"))
    return instruction.operands[3] if len(instruction.operands) - policies > 3 else None


def _copy(kernel: Kernel, instruction: Instruction) -> Action:
    if instruction.has("commit_group", "wait_group", "wait_all") and not instruction.has("reduce"):
        return lambda m: None
    if not instruction.has("async") or instruction.has("bulk", "reduce"):
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    if instruction.has("mbarrier"):
        return arrive_without_count(kernel, instruction)
    size = instruction.operands[2]
    if not isinstance(size, Number) or size.value not in _SIZES:
        raise PtxError(f"{instruction.text} is not executed", instruction.place)
    to, source = address_of(kernel, instruction.operands[0]), address_of(kernel, instruction.operands[1])
    used = _bytes_read(kernel, source_size(instruction), size.value)
    loads = kernel.memory_site(instruction, "global", "load", size.value, "uint32")
    stores = kernel.memory_site(instruction, "shared", "store", size.value, "uint32")

    def run(m: Machine) -> None:
        values = access.load_first(m, loads, source(m), used(m), size.value)
        access.store(m, stores, "shared", to(m), values, 4)

    return run


def _bytes_read(kernel: Kernel, operand: Operand | None, most: int) -> Read:
    """Return what reads how many bytes of the source are read."""
    every = np.uint32(most)
    if operand is None:
        return lambda m: every
    if isinstance(operand, Register) and kernel.registers[operand.name] == "pred":
        is_ignored = read(kernel, operand, "pred")

        def unless_ignored(m: Machine) -> Value:
            return np.where(is_ignored(m), np.uint32(0), every)[()]

        return unless_ignored
    size = read(kernel, operand, "u32")
    return lambda m: np.minimum(size(m), every)


FAMILY: Family = {"cp": _copy, "mbarrier": _mbarrier}
