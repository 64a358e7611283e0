"""One entry of a module: its blocks, registers and variables, and what its text tells of them before it runs."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from smemviz.engines.lockstep.ptx.code.blocks import find_blocks
from smemviz.engines.lockstep.ptx.code.flatten import flatten, promote
from smemviz.engines.lockstep.ptx.code.module import (
    Address,
    Function,
    Instruction,
    Module,
    Number,
    Operand,
    Place,
    PtxError,
    Register,
    Special,
    Symbol,
    Variable,
    leaves,
)

_TEMPORARY = re.compile(r"[^$].*\$\d+")


Makers = Mapping[str, Sequence[Instruction]]  # the instructions that set each register


def pointers_to_shared(makers: Makers) -> set[str]:
    """Return the registers that are set only to addresses of shared variables, moved on or not."""
    return _pointers(makers, lambda maker: maker.opcode == "cvta" and maker.has("shared") and not maker.has("to"))


def pointers_to_constants(makers: Makers, variables: Collection[Variable]) -> set[str]:
    """Return the registers that are set only to addresses of what is no global memory in the source.

    That are variables in constant memory, and values without a name, ``Vector(1, 2)`` or ``Plus{}``, which the compiler
    puts into global memory where it keeps accesses as they are written.
    """
    names = {v.name for v in variables if v.space == "const" or _TEMPORARY.fullmatch(v.name)}
    if not names:
        return set()
    return _pointers(makers, lambda maker: any(isinstance(o, Symbol) and o.name in names for o in maker.operands[1:]))


def _pointers(makers: Makers, makes_one: Callable[[Instruction], bool]) -> set[str]:
    pointers = set(makers)
    while wrong := {
        name for name in pointers if not all(makes_one(maker) or _moves_one(maker, pointers) for maker in makers[name])
    }:
        pointers -= wrong
    return pointers


def _moves_one(maker: Instruction, pointers: set[str]) -> bool:
    """Tell whether an instruction makes such an address of another, if these registers hold such ones."""
    held = [isinstance(operand, Register) and operand.name in pointers for operand in maker.operands[1:]]
    match maker.opcode:
        case "mov" | "selp":
            return bool(held) and all(held[:2] if maker.opcode == "selp" else held)
        case "add":
            return any(held)
        case "sub":
            return held[0]
        case "cvta":
            return held[0] and not maker.has("to")
    return False


_STRONG = ("volatile", "relaxed", "acquire", "release", "mmio")
_WITHOUT_RESULT = ("st", "red", "bra", "brx", "bar", "barrier", "stmatrix", "cp", "vprintf", "__assertfail")
_CARRY = "%carry"  # of add.cc and its kin
_OF_WARPS = {
    *("shfl", "vote", "match", "redux", "activemask", "elect"),
    *("mma", "wmma", "wgmma", "ldmatrix", "stmatrix", "movmatrix"),
}


@dataclass(frozen=True)
class MemoryInstruction:
    """A place of the PTX that touches shared or global memory, or, where the space is generic, either."""

    place: Place
    space: str
    op: str
    width: int
    dtype: str
    strong: bool = False  # what others see at once, as ``volatile`` and ``acquire`` do


class Kernel:
    """One entry function; ``memory`` lists the instructions that touch memory, once its steps are made.

    One that is to be ``linked`` may call functions that are elsewhere.

    Raises:
        PtxError: when it is not there, or is not read.
    """

    def __init__(self, module: Module, name: str, *, linked: bool = False) -> None:
        if name not in module.functions:
            raise PtxError(f"{name} is not in the PTX; does an asm end its kernel?")
        self.compiled_pays: bool | None = None  # not known before a launch has taken long
        self.function: Function = module.functions[name]
        self.module = module
        flat = flatten(module, self.function, linked=linked)
        promote(flat)
        self.registers = flat.registers
        self.memory: list[MemoryInstruction] = []
        self._slots: dict[str, int] = {}
        self.registers[_CARRY] = "pred"
        self.carry_slot = self.slot(_CARRY)
        self.flat = flat
        self._sites_of: dict[int, list[int]] = {}
        self.body = flat.body
        self._reads = _needed(flat.body)
        self._numbers = _numbers(flat.body)
        self.makers = _makers(flat.body)
        used = {leaf for instruction in flat.body for operand in instruction.operands for leaf in leaves(operand)}
        names = {leaf.name for leaf in used if isinstance(leaf, Symbol)}
        outer = [v for v in module.variables.values() if v.name in names]
        self.shared: tuple[Variable, ...] = tuple(
            {v.name: v for v in (*flat.variables, *outer) if v.space == "shared"}.values()
        )
        self.constants = tuple(v for v in outer if v.space in ("global", "const"))
        self._to_constants = pointers_to_constants(self.makers, self.constants)
        self.uses_warps = Special("laneid") in used or any(
            one.opcode in _OF_WARPS or one.words[:2] == ("bar", "warp") for one in flat.body
        )
        self.uses_clusters = any(one.opcode == "mapa" for one in flat.body)
        self.local, self.local_size = _placed([v for v in flat.variables if v.space in ("local", "param")])
        self.blocks = find_blocks(flat)

    def slot(self, register: str) -> int:
        return self._slots.setdefault(register, len(self._slots))

    @property
    def register_types(self) -> list[str]:
        return [self.registers[name] for name in self._slots]

    def memory_site(self, instruction: Instruction, space: str, op: str, width: int, dtype: str) -> int:
        """Note a place that touches memory and return its number."""
        self.memory.append(MemoryInstruction(instruction.place, space, op, width, dtype, instruction.has(*_STRONG)))
        number = len(self.memory) - 1
        self._sites_of.setdefault(id(instruction), []).append(number)
        return number

    def sites_of(self, instruction: Instruction) -> list[int]:
        """Return the numbers of the places that an instruction of the body touches memory in, in their order."""
        return self._sites_of.get(id(instruction), [])

    def is_read(self, operand: Operand) -> bool:
        """Tell whether anything reads what an instruction leaves in a destination."""
        return isinstance(operand, Register) and operand.name in self._reads

    def maker(self, register: str) -> Instruction | None:
        """Return the one instruction that sets a register, always, None where there is no such one."""
        makers = self.makers.get(register, ())
        return makers[0] if len(makers) == 1 and makers[0].guard is None else None

    def is_of_constant(self, operand: Operand) -> bool:
        """Tell whether a generic address is one of what the source has in no global memory."""
        base = operand.base if isinstance(operand, Address) else None
        return isinstance(base, Register) and base.name in self._to_constants

    def number(self, operand: Operand) -> int | None:
        """Return the integer that an operand always is, None where that is not known."""
        if isinstance(operand, Number) and not operand.bits:
            return operand.value
        return self._numbers.get(operand.name) if isinstance(operand, Register) else None


def _makers(body: list[Instruction]) -> dict[str, list[Instruction]]:
    """Return the instructions that set each register."""
    makers: dict[str, list[Instruction]] = {}
    for instruction in body:
        for name in written_by(instruction):
            makers.setdefault(name, []).append(instruction)
    return makers


def _placed(variables: list[Variable]) -> tuple[dict[str, int], int]:
    """Return where variables lie in the local memory of a thread, and how large that is."""
    offsets, end = {}, 0
    for variable in variables:
        offsets[variable.name] = -(-end // variable.alignment) * variable.alignment
        end = offsets[variable.name] + variable.size
    return offsets, -(-end // 16) * 16


def _registers(operand: Operand) -> Iterator[str]:
    return (leaf.name for leaf in leaves(operand) if isinstance(leaf, Register))


def read_by(instruction: Instruction) -> Iterator[str]:
    """Give the registers that an instruction reads."""
    if instruction.guard:
        yield instruction.guard.register.name
    writes = instruction.opcode not in _WITHOUT_RESULT
    for number, operand in enumerate(instruction.operands):
        if not (writes and number == 0) or isinstance(operand, Address):
            yield from _registers(operand)


def written_by(instruction: Instruction) -> Iterator[str]:
    """Give the registers that an instruction writes."""
    reduces = instruction.opcode in ("bar", "barrier") and instruction.has("red")
    results = instruction.operands[:1] if reduces or instruction.opcode not in _WITHOUT_RESULT else ()
    yield from (name for result in results if not isinstance(result, Address) for name in _registers(result))


def _needed(body: list[Instruction]) -> set[str]:
    """Return the registers that something reads, other than to move them where nothing reads them."""
    needed: set[str] = set()
    moved: dict[str, set[str]] = {}
    for instruction in body:
        match instruction.opcode, instruction.operands:
            case "mov", (Register(name=to), Register(name=source)):
                moved.setdefault(to, set()).add(source)
            case _:
                needed.update(read_by(instruction))
    waiting = list(needed)
    while waiting:
        for source in moved.get(waiting.pop(), set()) - needed:
            needed.add(source)
            waiting.append(source)
    return needed


def _numbers(body: list[Instruction]) -> dict[str, int]:
    """Return the registers that are set once, to a number."""
    sets = Counter(name for instruction in body for name in written_by(instruction))
    numbers: dict[str, int] = {}
    for instruction in body:  # what a call passes is set before it is read
        if instruction.opcode != "mov" or instruction.guard is not None:
            continue
        match instruction.operands:
            case (Register(name=to), Number(value=value, bits=0)) if sets[to] == 1:
                numbers[to] = value
            case (Register(name=to), Register(name=source)) if sets[to] == 1 and source in numbers:
                numbers[to] = numbers[source]
    return numbers
