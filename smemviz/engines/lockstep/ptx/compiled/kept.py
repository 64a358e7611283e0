"""What is known of a kernel before its IR is emitted: which registers stay in memory, and which blocks end it."""

from dataclasses import replace

from smemviz.engines.lockstep.ptx.code.blocks import Block
from smemviz.engines.lockstep.ptx.code.module import SIZES, Operand, Pair
from smemviz.engines.lockstep.ptx.compiled.state_ir import LANES
from smemviz.engines.lockstep.ptx.kernel import Kernel, read_by, written_by


def kept_registers(kernel: Kernel) -> tuple[dict[str, int], int]:
    """Return where registers that a block reads before it sets them lie in memory, and the bytes of all."""
    kept: dict[str, None] = {}
    for block in kernel.blocks:
        known: set[str] = set()
        for instruction in (*block.body, *((block.end,) if block.end else ())):
            written = list(written_by(instruction))
            before = [*read_by(instruction), *(written if instruction.guard else ())]
            kept |= dict.fromkeys(name for name in before if name not in known)
            known.update(written)
        if block.end is not None and block.end.opcode in ("bar", "barrier"):
            kept |= dict.fromkeys(written_by(block.end))
    offsets, at = {}, 0
    for name in kept:
        offsets[name] = at
        kind = kernel.registers[name]
        at += 32 if kind == "pred" else LANES * SIZES[kind]
    return offsets, max(32, at)


def ended(block: Block, ending: set[int], end: int) -> Block:
    """Return a block that goes to the end of the kernel where it goes to a block that does nothing but end."""
    targets = tuple(end if target in ending else target for target in block.targets)
    return replace(block, targets=targets, following=end if block.following in ending else block.following)


def first_and_second(operand: Operand) -> tuple[Operand, Operand | None]:
    """Return the two destinations of a pair, or the only one."""
    return (operand.first, operand.second) if isinstance(operand, Pair) else (operand, None)
