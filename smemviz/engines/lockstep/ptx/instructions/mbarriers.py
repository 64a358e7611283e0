"""``mbarrier``: threads arrive at it and test it, and copies bring the bytes that it expects.

It is in shared memory. Its 64 bits are ours: how many arrivals a phase needs, how many of these and of the bytes are
missing, and the number of the phase.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx import access
from smemviz.engines.lockstep.ptx.clusters import OWN_BITS
from smemviz.engines.lockstep.ptx.code.module import Address, Instruction, Nowhere, Number, Operand
from smemviz.engines.lockstep.ptx.instructions.loads import address_of, space_of
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.registers import Action, read, write

_COUNT_BITS, _BYTES_BITS = 20, 21
_COUNT, _BYTES = (1 << _COUNT_BITS) - 1, (1 << _BYTES_BITS) - 1
_PENDING, _MISSING, _PHASE = _COUNT_BITS, 2 * _COUNT_BITS, 2 * _COUNT_BITS + _BYTES_BITS
_PHASES = (1 << (64 - _PHASE)) - 1
_WAITING = ("test_wait", "try_wait")
_WHAT = ("init", "inval", "arrive", "arrive_drop", *_WAITING, "pending_count", "expect_tx", "complete_tx")


def mbarrier(kernel: Kernel, instruction: Instruction) -> Action:
    """Return what an instruction on an mbarrier does."""
    what = instruction.one_of(*_WHAT)
    if what == "inval":
        return lambda m: None
    if what == "init":
        return _init(kernel, instruction)
    if what in _WAITING:
        return _test(kernel, instruction)
    if what == "pending_count":
        put, state = write(kernel, instruction.operands[0], "b32"), read(kernel, instruction.operands[1], "u64")
        return lambda m: put(m, ((state(m) >> np.uint64(_PENDING)) & np.uint64(_COUNT)).astype(np.uint32))
    place = next(i for i, operand in enumerate(instruction.operands) if isinstance(operand, Address))
    further = instruction.operands[place + 1 :]
    amount = read(kernel, further[0], "u32") if further else lambda m: np.uint32(1)
    state_operand = instruction.operands[0] if place else Nowhere()
    arrives = what in ("arrive", "arrive_drop")
    if instruction.has("expect_tx"):
        change = _change(arrivals=int(arrives), bytes_sign=1, dropped=what == "arrive_drop")
    elif what == "complete_tx":
        change = _change(arrivals=0, bytes_sign=-1)
    else:
        change = _change(arrivals=None, bytes_sign=0, dropped=what == "arrive_drop")
    return _changing(kernel, instruction, instruction.operands[place], amount, state_operand, change)


def arrive_without_count(kernel: Kernel, instruction: Instruction) -> Action:
    """Return the action of ``cp.async.mbarrier.arrive``: every copy before is done."""
    if not instruction.has("noinc"):
        # It adds one to what the phase waits for, and takes it away again.
        return lambda m: None
    change = _change(arrivals=None, bytes_sign=0)
    return _changing(kernel, instruction, instruction.operands[0], lambda m: np.uint32(1), Nowhere(), change)


def number_of(m: Machine, row: Any, address: Any) -> Any:
    """Return the number in the batch of the mbarrier at an address of the shared memory of its block ``row``.

    Of several, one each.
    """
    return row * m.shared_views[8].shape[1] + (address - m.layout.start) // 8


def bytes_came(m: Machine, at: int, nbytes: int) -> None:
    """Take bytes that have come off those that the mbarrier of a number waits for."""
    elements = m.shared_views[8].reshape(-1)
    elements[at], completed = _after(int(elements[at]), 0, -nbytes)
    m.changes += 1
    if completed:
        if m.pipelines:
            m.pipelines.complete(at)
        _pass(m, [at])


def group_action(instruction: Instruction, who: str) -> Action:
    """Return what ends a group of bulk copies or of ``wgmma``, or waits for groups."""
    if instruction.has("commit_group"):
        return lambda m: m.pipelines.commit(who, m.threads) if m.pipelines else None
    most = instruction.operands[0]
    assert isinstance(most, Number)
    return lambda m: m.pipelines.wait(who, m.threads, most.value) if m.pipelines else None


def _pass(m: Machine, mbarriers: list[int]) -> None:
    """Let go on who waits for phases of mbarriers that have ended."""
    if mbarriers:
        m.hazards.pass_mbarrier(np.unique(np.array(mbarriers) // m.shared_views[8].shape[1]))


def _space(instruction: Instruction) -> str:
    return "shared" if space_of(instruction) == "shared" else "generic"


def _init(kernel: Kernel, instruction: Instruction) -> Action:
    where, count = address_of(kernel, instruction.operands[0]), read(kernel, instruction.operands[1], "u32")
    site = kernel.memory_site(instruction, _space(instruction), "mbarrier_update", 8, "uint64")

    def run(m: Machine) -> None:
        wanted = count(m).astype(np.uint64)
        access.store(m, site, _space(instruction), where(m), [wanted | (wanted << np.uint64(_PENDING))], 8)

    return run


def _changing(
    kernel: Kernel, instruction: Instruction, operand: Operand, amount: Any, state: Operand, change: Any
) -> Action:
    where, put = address_of(kernel, operand), write(kernel, state, "b64")
    site = kernel.memory_site(instruction, _space(instruction), "mbarrier_update", 8, "uint64")

    def run(m: Machine) -> None:
        completed: list[int] = []

        def each(elements: Any, numbers: NDArray[np.int64], values: list[Any]) -> Any:
            old, done = change(elements, numbers, values[0])
            if m.pipelines:
                m.pipelines.arrive(m.threads, numbers, done)
            completed.extend(numbers[done].tolist())
            return old

        put(m, access.update(m, site, _space(instruction), where(m), 8, [amount(m)], each))
        _pass(m, completed)

    return run


def _change(*, arrivals: int | None, bytes_sign: int, dropped: bool = False) -> Any:
    """Return what changes mbarriers, thread after thread: the states before, and whether each ended a phase.

    ``arrivals`` is how many each thread makes, None for as many as it says; else it says bytes.
    """

    def change(elements: Any, numbers: NDArray[np.int64], amounts: Any) -> tuple[Any, NDArray[np.bool_]]:
        old, completed = np.empty(len(numbers), np.uint64), np.zeros(len(numbers), np.bool_)
        for thread, (number, amount) in enumerate(zip(numbers.tolist(), amounts.tolist(), strict=True)):
            state = int(elements[number])
            old[thread] = state
            arrived = amount if arrivals is None else arrivals
            state -= arrived if dropped else 0
            elements[number], completed[thread] = _after(state, arrived, bytes_sign * amount)
        return old, completed

    return change


def _after(state: int, arrived: int, more_bytes: int) -> tuple[int, bool]:
    """Return the state after arrivals and a change of the bytes missing, and whether the phase ended with them."""
    expected, pending = state & _COUNT, max(0, ((state >> _PENDING) & _COUNT) - arrived)
    missing, phase = (state >> _MISSING) & _BYTES, state >> _PHASE
    missing = (missing - (_BYTES + 1 if missing > _BYTES >> 1 else 0)) + more_bytes
    done = pending == 0 and missing == 0
    if done:
        pending, phase = expected, phase + 1
    return (expected | pending << _PENDING | (missing & _BYTES) << _MISSING | (phase & _PHASES) << _PHASE), done


def _test(kernel: Kernel, instruction: Instruction) -> Action:
    put, where = write(kernel, instruction.operands[0], "pred"), address_of(kernel, instruction.operands[1])
    site = kernel.memory_site(instruction, _space(instruction), "mbarrier_load", 8, "uint64")
    by_parity = instruction.has("parity")
    wanted = read(kernel, instruction.operands[2], "u32" if by_parity else "u64")

    def run(m: Machine) -> None:
        at = where(m)
        (state,) = access.load(m, site, _space(instruction), at, 1, 8)
        phase, before = state >> np.uint64(_PHASE), wanted(m).astype(np.uint64)
        ended = (phase & np.uint64(1)) != before if by_parity else phase != before >> np.uint64(_PHASE)
        put(m, ended)
        if m.pipelines:
            slots = m.threads[m.one_each(ended)]
            at = m.one_each(at)[m.one_each(ended)].astype(np.int64) & OWN_BITS
            m.pipelines.pass_phases(slots, number_of(m, slots // m.shape[1], at))

    return run
