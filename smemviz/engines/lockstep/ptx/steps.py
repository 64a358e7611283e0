"""What each opcode is made into, and a function for each instruction of a kernel, block by block."""

from dataclasses import dataclass

from smemviz.engines.lockstep.ptx.code.blocks import Block
from smemviz.engines.lockstep.ptx.code.module import Instruction, PtxError, Register, Special
from smemviz.engines.lockstep.ptx.instructions import (
    arithmetic,
    async_stores,
    bits,
    comparisons,
    copies,
    host_calls,
    loads,
    matrices,
    tensor_map_edits,
    warp_groups,
    warps,
)
from smemviz.engines.lockstep.ptx.kernel import Kernel, read_by
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.registers import Action, Read, read
from smemviz.engines.lockstep.ptx.waiting import Barrier, barrier_of

FAMILIES: dict[str, arithmetic.Family] = {
    "arithmetic": arithmetic.FAMILY,
    "moves and bits": bits.FAMILY,
    "comparisons and conversions": comparisons.FAMILY,
    "loads and stores": {**loads.FAMILY, "st": async_stores.store},
    "atomics": loads.UPDATES,
    "lanes of a warp": warps.FAMILY,
    "matrices in shared memory": matrices.MOVES,
    "products of matrices": matrices.PRODUCTS,
    "products of warp groups": warp_groups.FAMILY,
    "asynchronous copies": copies.FAMILY,
    "tensor maps": tensor_map_edits.FAMILY,
    "calls of the host's": host_calls.FAMILY,
}
TABLE: arithmetic.Family = {name: build for family in FAMILIES.values() for name, build in family.items()}


def action_of(kernel: Kernel, instruction: Instruction) -> Action:
    """Return what an instruction does.

    Raises:
        PtxError: when it is not executed.
    """
    build = TABLE.get(instruction.opcode)
    if build is None:
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    try:
        action = build(kernel, instruction)
    except PtxError as error:
        raise PtxError(error.what, instruction.place) from None
    except (KeyError, ValueError, IndexError):
        raise PtxError(f"{instruction.text} is not executed", instruction.place) from None
    return _guarded(kernel, instruction, action) if instruction.guard else action


def _guarded(kernel: Kernel, instruction: Instruction, action: Action) -> Action:
    """Return the action for the threads in which a register is true."""
    assert instruction.guard is not None
    test, negated = read(kernel, instruction.guard.register, "pred"), instruction.guard.negated

    def run(m: Machine) -> None:
        wanted = test(m)
        wanted = ~wanted if negated else wanted
        if wanted.ndim == 0:
            if wanted:
                action(m)
            return
        chosen = m.one_each(wanted).nonzero()[0]
        if len(chosen) == m.active:
            action(m)
        elif len(chosen):
            with m.only(chosen):
                action(m)

    return run


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
    return Step(actions, block, guard, index, barrier, may_wait(block))


def may_wait(block: Block) -> bool:
    """Tell whether threads may run a block again and again until others have done something."""
    return any(
        instruction.opcode in _WAITING or (instruction.opcode in ("ld", "atom") and instruction.has(*_ORDERED))
        for instruction in block.body
    )


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
