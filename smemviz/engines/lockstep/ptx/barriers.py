"""Barriers of a block and of a warp: who waits for whom, and what ``barrier.red`` gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from smemviz.engines.lockstep.ptx.code.module import Instruction, Number, Operand, Pair, PtxError
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.registers import Read, Write, read, write

BARRIERS = 17  # of a block: 16 with a number, and that of its cluster
_OF_CLUSTER = 16


@dataclass(frozen=True)
class Barrier:
    """A barrier instruction. ``number`` is which of a block's it is, None for one of a warp.

    ``count`` is for how many threads it waits, None for all of the block; ``members`` the lanes that a warp's is for.
    With ``arrives`` a thread goes on at once. ``reduction`` is what ``result`` gets of ``test`` in all threads.
    """

    number: Read | None
    count: Read | None = None
    members: Read | None = None
    arrives: bool = False
    reduction: str | None = None
    test: Read | None = None
    result: Write | None = None


def barrier_of(kernel: Kernel, instruction: Instruction) -> Barrier:
    """Return a barrier instruction made ready.

    Raises:
        PtxError: for one that is not executed.
    """
    if instruction.guard is not None:
        raise PtxError("a barrier under a condition is not executed", instruction.place)
    operands = instruction.operands
    if instruction.has("warp"):
        return Barrier(None, members=read(kernel, operands[0], "u32"))
    if instruction.has("cluster"):
        # A launch has no clusters here, so that each block is one: all its threads meet where they wait.
        return Barrier(read(kernel, Number(_OF_CLUSTER), "u32"), arrives=instruction.has("arrive"))
    if not instruction.has("red"):
        number, *count = operands or (Number(0),)
        return Barrier(read(kernel, number, "u32"), _threads(kernel, count), arrives=instruction.has("arrive"))
    what = instruction.one_of("popc", "and", "or")
    destination, number, *count, test = operands
    if isinstance(destination, Pair):
        raise PtxError(f"{instruction.text} is not executed", instruction.place)
    return Barrier(
        read(kernel, number, "u32"),
        _threads(kernel, count),
        reduction=what,
        test=read(kernel, test, "pred"),
        result=write(kernel, destination, "u32" if what == "popc" else "pred"),
    )


def _threads(kernel: Kernel, count: Sequence[Operand]) -> Read | None:
    """Return what reads for how many threads a barrier waits, None where it does not say."""
    return read(kernel, count[0], "u32") if count else None
