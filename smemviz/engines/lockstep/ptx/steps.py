"""A function for each instruction of a kernel, block by block."""

from __future__ import annotations

from dataclasses import dataclass

from smemviz.engines.lockstep.ptx.code.blocks import Block
from smemviz.engines.lockstep.ptx.code.module import Instruction, Place, Register, Special
from smemviz.engines.lockstep.ptx.instructions import arithmetic, bits, comparisons
from smemviz.engines.lockstep.ptx.instructions.table import action_of
from smemviz.engines.lockstep.ptx.kernel import Kernel, read_by
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.registers import Action, Read, read
from smemviz.engines.lockstep.ptx.waiting import Barrier, barrier_of

_WAITING = ("nanosleep", "mbarrier")
_ORDERED = ("volatile", "relaxed", "acquire", "cas", "exch", "try_wait", "test_wait")
_PURE = {*arithmetic.FAMILY, *bits.FAMILY, *comparisons.FAMILY, "cvta"} - {"addc", "subc", "madc"}
_CLOCKS = ("clock", "globaltimer")
_IN_VAIN = 4  # times that other values were there, before an instruction is no longer looked at


@dataclass(frozen=True)
class Step:
    """A block made ready: what to do, and the guard of its end; ``waits`` tells that it may wait for other threads."""

    actions: tuple[Action, ...]
    block: Block
    guard: Read | None
    index: Read | None
    barrier: Barrier | None
    waits: bool
    place: Place


def steps_of(kernel: Kernel) -> tuple[Step, ...]:
    """Make a kernel's blocks ready.

    Raises:
        PtxError: for an instruction that is not executed.
    """
    return tuple(_step(kernel, block) for block in kernel.blocks)


def _step(kernel: Kernel, block: Block) -> Step:
    actions = tuple(remembering(kernel, instruction, action_of(kernel, instruction)) for instruction in block.body)
    guard = read(kernel, block.end.guard.register, "pred") if block.end and block.end.guard else None
    index = read(kernel, block.end.operands[0], "u32") if block.end and block.end.opcode == "brx" else None
    barrier = barrier_of(kernel, block.end) if block.end and block.end.opcode in ("bar", "barrier") else None
    everything = (*block.body, *((block.end,) if block.end else ()))
    waits = any(
        instruction.opcode in _WAITING or (instruction.opcode in ("ld", "atom") and instruction.has(*_ORDERED))
        for instruction in block.body
    )
    return Step(actions, block, guard, index, barrier, waits, everything[0].place if everything else Place())


def remembering(kernel: Kernel, instruction: Instruction, action: Action) -> Action:
    """Return an action that does nothing anew while all threads run and its sources are the very same values.

    Registers are written in place only while some threads run, and then everything is forgotten; so a value that is
    the same object is the same. What has a value of its own for every thread of a batch is not kept: that is large.
    """
    to = instruction.operands[0] if instruction.operands else None
    clock = any(isinstance(operand, Special) and operand.name.startswith(_CLOCKS) for operand in instruction.operands)
    if (
        instruction.opcode not in _PURE
        or instruction.has("cc")
        or instruction.guard
        or clock
        or not isinstance(to, Register)
    ):
        return action
    destination, slots = kernel.slot(to.name), [kernel.slot(name) for name in dict.fromkeys(read_by(instruction))]
    vain = [0]

    def run(m: Machine) -> None:
        if m.lanes is not None or vain[0] > _IN_VAIN:
            action(m)
            return
        values = m.values
        known = m.remembered.get(action)
        if known is not None:
            for slot, value in known[0]:
                if values[slot] is not value:
                    vain[0] += 1
                    break
            else:
                vain[0] = 0
                values[destination] = known[1]
                return
        before = [(slot, values[slot]) for slot in slots]
        action(m)
        result = values[destination]
        if result.size <= m.shape[1]:
            m.remembered[action] = before, result

    return run
