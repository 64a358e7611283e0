"""An entry with the functions that it calls copied in, so that one list of instructions is all there is to run.

What a call passes lies in local memory: a parameter of the function called is the caller's variable. Where nothing else
looks at it, it goes into registers. So it is known of an atomic in a function called whether anybody reads what it
returns, and which number it adds.
"""

from collections import defaultdict
from dataclasses import dataclass, field, replace

from smemviz.engines.lockstep.ptx.code.module import (
    SIZES,
    Address,
    Changed,
    Function,
    Group,
    Guard,
    Instruction,
    Module,
    Operand,
    Pair,
    Place,
    PtxError,
    Register,
    Symbol,
    Variable,
    leaves,
)

HOST_CALLS = ("vprintf", "__assertfail", "malloc", "free")


@dataclass
class Flat:
    """An entry without calls; names of registers, labels and variables of functions copied in have a prefix."""

    body: list[Instruction] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)


def flatten(module: Module, entry: Function, *, linked: bool = False) -> Flat:
    """Return an entry without calls, but for those of functions that it will be ``linked`` with.

    Raises:
        PtxError: for a call through a pointer, a function that calls itself, or one that is not there.
    """
    flat = Flat()
    _Copy(module, flat, entry, "", {}, linked=linked).copy()
    return flat


@dataclass
class _Copy:
    """Copies one function, with ``passed`` in the place of its parameters and results."""

    _count = 0

    module: Module
    flat: Flat
    function: Function
    prefix: str
    passed: dict[str, Operand]
    calls: tuple[Place, ...] = ()
    names: frozenset[str] = frozenset()  # the functions that it is copied into
    linked: bool = False

    def __post_init__(self) -> None:
        self.names |= {self.function.name}
        self._own = {v.name for v in self.function.variables if v.space in ("param", "local")}

    def copy(self) -> None:
        function, flat, prefix = self.function, self.flat, self.prefix
        flat.registers |= {prefix + name: kind for name, kind in function.registers.items()}
        flat.tables |= {
            prefix + name: tuple(prefix + label for label in table) for name, table in function.tables.items()
        }
        for variable in function.variables:
            own = prefix + variable.name if variable.name in self._own else variable.name
            flat.variables.append(replace(variable, name=own))
        labels = defaultdict(list)
        for label, at in function.labels.items():
            labels[at].append(prefix + label)
        for number in range(len(function.body) + 1):
            for label in labels[number]:
                flat.labels[label] = len(flat.body)
            if number < len(function.body):
                self._instruction(function.body[number])
        if prefix:
            flat.labels[f"{prefix}$end"] = len(flat.body)

    def _instruction(self, instruction: Instruction) -> None:
        instruction = replace(instruction, place=self._called_from(instruction.place))
        operands = tuple(self._renamed(operand) for operand in instruction.operands)
        guard = (
            Guard(Register(self.prefix + instruction.guard.register.name), instruction.guard.negated)
            if instruction.guard
            else None
        )
        if instruction.opcode == "call":
            self._call(instruction, operands, guard)
        elif instruction.opcode == "ret" and self.prefix:
            end = (Symbol(f"{self.prefix}$end"),)
            self.flat.body.append(Instruction(("bra", "uni"), guard, end, instruction.place, instruction.text))
        else:
            self.flat.body.append(replace(instruction, operands=operands, guard=guard))

    def _called_from(self, place: Place) -> Place:
        """Return a place with that of the call that led there; the call itself where there is none."""
        if not self.calls:
            return place
        if not place.line:
            return self.calls[-1]
        return replace(place, outer=self._called_from(place.outer) if place.outer else self.calls[-1])

    def _renamed(self, operand: Operand) -> Operand:
        match operand:
            case Register(name=name):
                passed = self.passed.get(name)
                return passed if passed is not None else Register(self.prefix + name)
            case Symbol(name=name, offset=offset):
                if name in self.passed:
                    return self.passed[name]
                if name in self.function.labels or name in self._own or name in self.function.tables:
                    return Symbol(self.prefix + name, offset)
                return operand
            case Address(base=base, offset=offset):
                renamed = self._renamed(base)
                if not isinstance(renamed, Register | Symbol) and renamed is not base:
                    raise PtxError(f"[{renamed}] is not read")
                return Address(renamed, offset)
            case Group(items=items):
                return Group(tuple(self._renamed(item) for item in items))
            case Pair(first=first, second=second):
                return Pair(self._renamed(first), self._renamed(second))
            case Changed(sign=sign, inner=inner):
                return Changed(sign, self._renamed(inner))
        return operand

    def _call(self, instruction: Instruction, operands: tuple[Operand, ...], guard: Guard | None) -> None:
        results = operands[0].items if isinstance(operands[0], Group) else ()
        target = operands[int(isinstance(operands[0], Group))]
        arguments = operands[-1].items if isinstance(operands[-1], Group) and operands[-1] is not operands[0] else ()
        if not isinstance(target, Symbol):
            raise PtxError("a call through a pointer is not executed", instruction.place)
        name = target.name
        if name in HOST_CALLS:
            call = Instruction((name,), guard, (*results, *arguments), instruction.place, instruction.text)
            self.flat.body.append(call)
            return
        function = self.module.functions.get(name)
        if function is not None and not function.has_body and self.linked:
            call = Instruction(("call",), guard, (Group(results), target, Group(arguments)), instruction.place, name)
            self.flat.body.append(call)
            return
        if function is None or not function.has_body:
            raise PtxError(f"{name} has no body here and is not executed", instruction.place)
        if name in self.names:
            raise PtxError(f"{name} calls itself, which is not executed", instruction.place)
        _Copy._count += 1
        prefix = f"{_Copy._count}:"
        if guard is not None:
            skip = Guard(guard.register, not guard.negated)
            self.flat.body.append(
                Instruction(("bra",), skip, (Symbol(f"{prefix}$end"),), instruction.place, instruction.text)
            )
        places, operands = (*function.parameters, *function.results), (*arguments, *results)
        if len(places) != len(operands):
            raise PtxError(f"{name} is called with {len(arguments)} arguments", instruction.place)
        passed = {place.name: operand for place, operand in zip(places, operands, strict=True)}
        calls = (*self.calls, instruction.place)
        _Copy(self.module, self.flat, function, prefix, passed, calls, self.names, self.linked).copy()


def promote(flat: Flat) -> None:
    """Put into a register each variable of a call that is only loaded and stored, in the same pieces everywhere."""
    passed = {variable.name for variable in flat.variables if variable.space == "param"}
    pieces: dict[str, dict[int, int]] = {name: {} for name in passed}
    for instruction in flat.body:
        plain = (
            instruction.opcode in ("ld", "st")
            and instruction.has("param")
            and not any(isinstance(o, Group) for o in instruction.operands)
        )
        for operand in instruction.operands:
            for leaf in leaves(operand):
                if not isinstance(leaf, Symbol) or leaf.name not in pieces:
                    continue
                size, sizes = SIZES[instruction.type], pieces[leaf.name]
                if plain and isinstance(operand, Address) and sizes.setdefault(operand.offset, size) == size:
                    continue
                del pieces[leaf.name]
    pieces = {name: sizes for name, sizes in pieces.items() if not _overlap(sizes)}
    for name, sizes in pieces.items():
        flat.registers |= {_register(name, offset): f"b{8 * size}" for offset, size in sizes.items()}
    flat.body[:] = [_promoted(instruction, pieces) for instruction in flat.body]
    flat.variables[:] = [variable for variable in flat.variables if variable.name not in pieces]


def _promoted(instruction: Instruction, pieces: dict[str, dict[int, int]]) -> Instruction:
    place = next((operand for operand in instruction.operands if isinstance(operand, Address)), None)
    if place is None or not isinstance(place.base, Symbol) or place.base.name not in pieces:
        return instruction
    register = Register(_register(place.base.name, place.offset))
    operands = tuple(register if operand is place else operand for operand in instruction.operands)
    return replace(instruction, words=("mov", instruction.type), operands=operands)


def _register(name: str, offset: int) -> str:
    return f"{name}+{offset}"


def _overlap(pieces: dict[int, int]) -> bool:
    ends = 0
    for offset, size in sorted(pieces.items()):
        if offset < ends:
            return True
        ends = offset + size
    return False
