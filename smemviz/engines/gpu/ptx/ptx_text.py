"""Text of PTX from an entry with its calls copied in: every name is one that PTX takes, what calls passed is local."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from smemviz.engines.lockstep.ptx.code.flatten import HOST_CALLS
from smemviz.engines.lockstep.ptx.code.module import (
    SIZES,
    Address,
    Changed,
    Group,
    Instruction,
    Module,
    Nowhere,
    Number,
    Operand,
    Pair,
    PtxError,
    Register,
    Special,
    Symbol,
    Variable,
    items_of,
)
from smemviz.engines.lockstep.ptx.kernel import Kernel

_ELSEWHERE = ".extern .func"
_HEAD = re.compile(r"^\.(?:version|target|address_size)[^\n]*", re.MULTILINE)
_VERSION = re.compile(r"^\.version\s+(\d+)\.(\d+)", re.MULTILINE)
_ENTRY = re.compile(r"^\.(?:visible|weak)\s+\.entry\s+([\w$.]+)", re.MULTILINE)
_BRACE = re.compile(r"[{}]")
_TARGET = re.compile(r"^\.target\s+sm_(\d+)\w*", re.MULTILINE)
# PTX that drivers of 12.x take, by their minor version; from 13.0 on the numbers run together.
_PTX_OF_12 = (0, 1, 2, 3, 4, 5, 5, 6, 7, 8)
_KINDS = {1: "b16", 2: "b16", 4: "b32", 8: "b64"}  # of registers by bytes: there is none of 8 bits


def head(ptx: str) -> str:
    """Return the lines that a text of PTX begins with: version, target and size of addresses."""
    return "\n".join(match[0] for match in _HEAD.finditer(ptx))


def alone(ptx: str, symbol: str) -> str:
    """Return PTX without its other entries: a driver refuses a module if one takes more than a block can have."""
    kept, start = [], 0
    for entry in _ENTRY.finditer(ptx):
        if entry[1] != symbol:
            kept.append(ptx[start : entry.start()])
            start = _end_of_body(ptx, entry.end())
    return "".join((*kept, ptx[start:]))


def _end_of_body(ptx: str, start: int) -> int:
    """Return where the function whose head is at ``start`` ends; blocks in it, of asm, may be in braces too."""
    depth = 0
    for brace in _BRACE.finditer(ptx, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    return len(ptx)


def for_driver(ptx: str, version: int, capability: tuple[int, int]) -> str:
    """Return PTX with the version and the target lowered to what a driver and a GPU know.

    ``version`` is the driver's own number, 13000 for CUDA 13.0.
    """
    major, minor = version // 1000, version % 1000 // 10
    known = (8, _PTX_OF_12[min(minor, len(_PTX_OF_12) - 1)]) if major == 12 else (major - 4, minor)
    ours = 10 * capability[0] + capability[1]

    def lower_version(match: re.Match[str]) -> str:
        return ".version {}.{}".format(*min(known, (int(match[1]), int(match[2]))))

    def lower_target(match: re.Match[str]) -> str:
        return match[0] if int(match[1]) <= ours else f".target sm_{ours}"

    return _TARGET.sub(lower_target, _VERSION.sub(lower_version, ptx))


def calls_elsewhere(ptx: str) -> bool:
    """Tell whether PTX calls functions that are not in it."""
    return _ELSEWHERE in ptx


def variables(module: Module) -> Iterator[str]:
    """Give the declarations of a module's variables."""
    for variable in module.variables.values():
        if variable.space in ("global", "const", "shared"):
            yield declaration(variable)


def declaration(variable: Variable, name: str = "") -> str:
    """Return the declaration of a variable, under another name if one is given."""
    text = f".{variable.space} .align {variable.alignment} .{variable.type} {name or variable.name}"
    if variable.dynamic:
        return f".extern {text}[];"
    initial, unit = variable.initial, SIZES[variable.type]
    if variable.size == unit and not (initial or "").startswith("{"):
        return f"{text} = {initial};" if initial else f"{text};"
    return f"{text}[{variable.size // unit}]{f' = {initial}' if initial else ''};"


def _passed(variable: Variable, name: str) -> str:
    if variable.size == SIZES.get(variable.type):
        return f".param .{variable.type} {name}"
    return f".param .align {variable.alignment} .b8 {name}[{variable.size}]"


class EntryText:
    """Writes the parts of one entry."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._registers: dict[str, str] = {}
        self._locals = {name: f"v_local_{number}" for number, name in enumerate(kernel.local)}
        self._labels = {name: f"$v_{number}" for number, name in enumerate((*kernel.flat.labels, *kernel.flat.tables))}

    def labels_at(self) -> dict[int, list[str]]:
        """Return the labels that stand before each instruction of the body, and at its end."""
        labels: dict[int, list[str]] = defaultdict(list)
        for name, at in self.kernel.flat.labels.items():
            labels[at].append(self._labels[name])
        return labels

    def parameters(self) -> Iterator[str]:
        """Give the declarations of the parameters."""
        for variable in self.kernel.function.parameters:
            yield _passed(variable, variable.name)

    def declarations(self) -> Iterator[str]:
        """Give the declarations that the instructions written so far need."""
        for name, written in self._registers.items():
            kind = self.kernel.registers[name]
            yield f".reg .{_KINDS[1] if SIZES[kind] == 1 and kind != 'pred' else kind} {written};"
        inside = {variable.name: variable for variable in self.kernel.flat.variables}
        for name, written in self._locals.items():
            variable = replace(inside[name], space="local", type="b8", initial=None)
            yield declaration(replace(variable, size=max(1, variable.size)), written)
        for name, targets in self.kernel.flat.tables.items():
            yield f"{self._labels[name]}: .branchtargets {', '.join(self._labels[target] for target in targets)};"

    def shared(self) -> Iterator[str]:
        """Give the declarations of shared variables that functions make, which a module has no others for."""
        for variable in self.kernel.shared:
            if variable.name not in self.kernel.module.variables:
                yield declaration(variable)

    def kind(self, register: Register) -> str:
        """Return the type that a register is declared with."""
        kind = self.kernel.registers[register.name]
        return _KINDS[1] if SIZES[kind] == 1 and kind != "pred" else kind

    def guard(self, instruction: Instruction) -> str:
        """Return the guard of an instruction with the space after it, nothing where it has none."""
        if instruction.guard is None:
            return ""
        return f"@{'!' if instruction.guard.negated else ''}{self.operand(instruction.guard.register)} "

    def skipping(self, bytes_read: Operand, label: str) -> Iterator[str]:
        """Go to a label where a copy reads nothing: of 0 bytes, or by a predicate that holds."""
        text = self.operand(bytes_read)
        if isinstance(bytes_read, Register) and self.kind(bytes_read) == "pred":
            yield f"@{text} bra {label};"
        else:
            yield f"setp.eq.u32 %s_on, {text}, 0;"
            yield f"@%s_on bra {label};"

    def instruction(self, instruction: Instruction) -> str:
        """Return an instruction without its guard, nothing for one that only talks to the host.

        Raises:
            PtxError: for one that cannot be written.
        """
        if instruction.opcode in HOST_CALLS:  # what the clean kernel prints is not printed twice
            return "trap;" if instruction.opcode == "__assertfail" else ""
        if instruction.opcode == "call":
            return self._call(instruction)
        if instruction.opcode == "mov" and len(instruction.operands) == 2:
            return self._move(instruction)
        words: Sequence[str] = instruction.words
        if instruction.opcode == "bra":
            words = [word for word in words if word != "uni"]
        elif instruction.opcode in ("ld", "st") and instruction.has("param") and self._is_local(instruction):
            words = ["local" if word == "param" else word for word in words]
        operands = ", ".join(self.operand(operand) for operand in instruction.operands)
        return f"{'.'.join(words)} {operands};" if operands else f"{'.'.join(words)};"

    def called(self) -> Iterator[str]:
        """Give the declarations of the functions that are elsewhere and are called."""
        names = dict.fromkeys(one.text for one in self.kernel.body if one.opcode == "call")
        for function in map(self.kernel.module.functions.__getitem__, names):
            results, parameters = (
                ", ".join(_passed(variable, f"{letter}_{number}") for number, variable in enumerate(variables))
                for letter, variables in (("r", function.results), ("p", function.parameters))
            )
            yield f"{_ELSEWHERE} {f'({results}) ' if results else ''}{function.name} ({parameters});"

    def _call(self, instruction: Instruction) -> str:
        """Return a call of a function that is elsewhere: what it passes lies in local memory.

        Raises:
            PtxError: for one that only some lanes make.
        """
        function = self.kernel.module.functions[instruction.text]
        if instruction.guard is not None:
            raise PtxError(f"a guarded call of {function.name} is not counted on the GPU", instruction.place)
        taken, _, given = instruction.operands
        lines: list[str] = []
        for letter, group, variables in (("r", taken, function.results), ("p", given, function.parameters)):
            for number, (operand, variable) in enumerate(zip(items_of(group), variables, strict=True)):
                lines.append(f"{_passed(variable, f'{letter}_{number}')};")
                if letter == "p":
                    lines += self._pieces(variable.size, self.operand(operand), "local", f"p_{number}", "param")
        results, parameters = (
            ", ".join(f"{letter}_{number}" for number in range(len(variables)))
            for letter, variables in (("r", function.results), ("p", function.parameters))
        )
        lines.append(f"call {f'({results}), ' if results else ''}{function.name}, ({parameters});")
        for number, (operand, variable) in enumerate(zip(items_of(taken), function.results, strict=True)):
            lines += self._pieces(variable.size, f"r_{number}", "param", self.operand(operand), "local")
        return f"{{ {' '.join(lines)} }}"

    def _pieces(self, size: int, source: str, source_space: str, to: str, space: str) -> Iterator[str]:
        at = 0
        while at < size:
            piece = next(piece for piece in (8, 4, 2, 1) if at + piece <= size and at % piece == 0)
            register = "%s_value" if piece == 8 else "%s_low"
            yield f"ld.{source_space}.b{8 * piece} {register}, [{source}+{at}];"
            yield f"st.{space}.b{8 * piece} [{to}+{at}], {register};"
            at += piece

    def operand(self, operand: Operand) -> str:
        """Return an operand.

        Raises:
            PtxError: for one that cannot be written.
        """
        match operand:
            case Register(name=name):
                if name not in self.kernel.registers:
                    raise PtxError(f"{name} is no register")
                return self._registers.setdefault(name, f"%v{len(self._registers)}")
            case Number(value=value, bits=bits):
                return f"0{'f' if bits == 32 else 'd'}{value:0{bits // 4}X}" if bits else str(value)
            case Special(name=name):
                return f"%{name}"
            case Symbol(name=name, offset=offset):
                known = self._labels.get(name) or self._locals.get(name, name)
                return f"{known}+{offset}" if offset else known
            case Address(base=base, offset=offset):
                return f"[{self.operand(base)}{f'+{offset}' if offset else ''}]"
            case Group(items=items):
                return f"{{{', '.join(self.operand(item) for item in items)}}}"
            case Pair(first=first, second=second):
                return f"{self.operand(first)}|{self.operand(second)}"
            case Changed(sign=sign, inner=inner):
                return f"{sign}{self.operand(inner)}"
            case Nowhere():
                return "_"
        raise PtxError(f"{operand} is not written")

    def _is_local(self, instruction: Instruction) -> bool:
        """Tell whether a load or store of a parameter is one of what a call passes."""
        addresses = [operand for operand in instruction.operands if isinstance(operand, Address)]
        return any(isinstance(place.base, Symbol) and place.base.name in self._locals for place in addresses)

    def _move(self, instruction: Instruction) -> str:
        """Return a move, which may be what is left of passing something: then sizes may differ."""
        to, source = instruction.operands
        if instruction.type == "pred" or not isinstance(to, Register) or isinstance(source, Group | Special | Symbol):
            return f"{'.'.join(instruction.words)} {self.operand(to)}, {self.operand(source)};"
        size, room = SIZES[instruction.type], SIZES[self.kind(to)]
        if isinstance(source, Register) and (size < room or size < SIZES[self.kind(source)]):
            sign = "s" if instruction.type.startswith("s") else "u"
            return f"cvt.u{8 * room}.{sign}{8 * size} {self.operand(to)}, {self.operand(source)};"
        kind = _KINDS[room] if size < room or size == 1 else instruction.type
        return f"mov.{kind} {self.operand(to)}, {self.operand(source)};"
