"""The control flow of a kernel as a GPU follows it with the lanes together that are together in lockstep.

Where lanes may stay apart (see ``levels``), the parts of a level stand one after the other, in the order of lockstep. A
register says to which block a thread goes next, and each part is left out by the threads that go elsewhere: all of
them are together again before the next. A loop is left behind its last block, by all that leave it in a round.
"""

from collections.abc import Sequence
from copy import copy

from smemviz.engines.lockstep.ptx.code.blocks import Block, Level, blocks_of, levels_of
from smemviz.engines.lockstep.ptx.code.flatten import Flat
from smemviz.engines.lockstep.ptx.code.module import Guard, Instruction, Number, Operand, Place, Register, Symbol
from smemviz.engines.lockstep.ptx.kernel import Kernel

_NEXT = Register("%next")  # the number of the block that a thread goes to
_IS = Register("%is")  # whether it goes to one


def structured(kernel: Kernel) -> Kernel:
    """Return a kernel whose lanes meet on a GPU where they do in lockstep; the same where they do so anyway.

    One that goes into the middle of a loop, as only ``goto`` can, is left as it is.
    """
    levels = levels_of(kernel.blocks)
    if not levels.is_entered_at_heads or not any(level.parts_lanes for level in levels.all()):
        return kernel
    new = copy(kernel)
    new.flat = _Writer(kernel, levels).written()
    new.body, new.registers = new.flat.body, new.flat.registers
    return new


class _Writer:
    def __init__(self, kernel: Kernel, levels: Level) -> None:
        self._blocks: Sequence[Block] = kernel.blocks
        self._levels = levels
        self._outer = {loop: level for level in levels.all() for loop in level.loops}
        registers = {**kernel.registers, _NEXT.name: "b32", _IS.name: "pred"}
        self._flat = Flat(registers=registers, variables=kernel.flat.variables)

    def written(self) -> Flat:
        self._level(self._levels)
        self._label(_at(len(self._blocks)))
        return self._flat

    def _level(self, level: Level) -> None:
        going = {level.blocks.start}
        for part in level.parts:
            first, after = blocks_of(part).start, f"after_{len(self._flat.labels)}"
            if level.parts_lanes and going != {first}:
                self._test("ne", first)
                self._go(after, Guard(_IS, negated=False))
            if isinstance(part, Level):
                self._loop(part, level, after)
                going.update(part.ways_out)
            else:
                self._block(part, level, after)
                going.update(level.targets[part])
            going.discard(first)
            self._label(after)

    def _loop(self, loop: Level, level: Level, after: str) -> None:
        """Write a loop that stands at a level, and how threads go on from it."""
        self._level(loop)
        if loop.parts_lanes:
            self._test("eq", loop.blocks.start)
            self._go(_at(loop.blocks.start), Guard(_IS, negated=False))
            if not level.parts_lanes:
                self._leave(loop, level)
        elif level.parts_lanes:
            for way in loop.ways_out:  # at most one
                self._label(_leaving(loop))
                self._set_next(way)

    def _leave(self, loop: Level, level: Level) -> None:
        """Go from the end of a loop to where each thread goes next."""
        for way in loop.ways_out[:-1]:
            self._test("eq", way)
            self._go(self._where(way, level), Guard(_IS, negated=False))
        for way in loop.ways_out[-1:]:
            self._go(self._where(way, level))

    def _block(self, number: int, level: Level, after: str) -> None:
        block = self._blocks[number]
        end = block.end
        self._label(_at(number))
        self._flat.body += block.body
        if end is not None and end.opcode == "brx":
            self._choose(number, level, after)
        elif end is not None and end.opcode == "bra":
            if end.guard is not None and level.parts_lanes:
                self._set_next(block.following)
            self._go_on(block.targets[0], level, end.guard)
            if end.guard is not None and not level.parts_lanes:
                self._go_on(block.following, level)
        else:
            self._flat.body += [end] if end is not None else []
            if block.following in level.targets[number]:
                self._go_on(block.following, level)

    def _go_on(self, number: int, level: Level, guard: Guard | None = None) -> None:
        if level.parts_lanes:
            self._set_next(number, guard)
        else:
            self._go(self._where(number, level), guard)

    def _choose(self, number: int, level: Level, after: str) -> None:
        block = self._blocks[number]
        assert block.end is not None
        table = f"table_{number}"
        self._flat.body.append(_made("brx.idx", block.end.guard, block.end.operands[0], Symbol(table)))
        self._go_on(block.following, level)
        if not level.parts_lanes:
            self._flat.tables[table] = tuple(self._where(target, level) for target in block.targets)
            return
        self._go(after)
        self._flat.tables[table] = tuple(f"choice_{number}_{target}" for target in block.targets)
        for target in dict.fromkeys(block.targets):
            self._label(f"choice_{number}_{target}")
            self._set_next(target)
            self._go(after)

    def _where(self, number: int, level: Level) -> str:
        """Return the label by which a block is gone to from a level at which threads go straight to one."""
        while number not in level.blocks and level in self._outer:
            if self._outer[level].parts_lanes:
                return _leaving(level)
            level = self._outer[level]
        return _at(number)

    def _label(self, name: str) -> None:
        self._flat.labels[name] = len(self._flat.body)

    def _set_next(self, number: int, guard: Guard | None = None) -> None:
        self._flat.body.append(_made("mov.b32", guard, _NEXT, Number(number)))

    def _test(self, comparison: str, number: int) -> None:
        self._flat.body.append(_made(f"setp.{comparison}.s32", None, _IS, _NEXT, Number(number)))

    def _go(self, label: str, guard: Guard | None = None) -> None:
        self._flat.body.append(_made("bra", guard, Symbol(label)))


def _at(number: int) -> str:
    return f"block_{number}"


def _leaving(loop: Level) -> str:
    return f"leaving_{loop.blocks.start}"


def _made(words: str, guard: Guard | None, *operands: Operand) -> Instruction:
    return Instruction(tuple(words.split(".")), guard, operands, Place(), words)
