"""A function for each instruction of a kernel, block by block."""

from __future__ import annotations

from dataclasses import dataclass

from smemviz.engines.lockstep.ptx.barriers import Barrier, barrier_of
from smemviz.engines.lockstep.ptx.code.blocks import Block
from smemviz.engines.lockstep.ptx.code.module import Place
from smemviz.engines.lockstep.ptx.instructions.table import action_of
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.registers import Action, Read, read
from smemviz.engines.lockstep.ptx.remembering import remembering

_WAITING = ("nanosleep", "mbarrier")
_ORDERED = ("volatile", "relaxed", "acquire", "cas", "exch", "try_wait", "test_wait")


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
