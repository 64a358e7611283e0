"""PTX from text. Nothing is executed here, and what an instruction means is not looked at."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeVar

from smemviz.engines.lockstep.ptx.code.module import (
    SIZES,
    Function,
    Guard,
    Instruction,
    Module,
    Place,
    PtxError,
    Register,
    Symbol,
    Variable,
)
from smemviz.engines.lockstep.ptx.code.operands import operand, split

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)
_OUTSIDE = re.compile(r"^\s*\.(?:file|version|target|address_size|pragma)\b[^\n]*", re.MULTILINE)
_SECTION = re.compile(r"^\s*\.section\s+\S+\s*\{[^}]*\}", re.MULTILINE)
_NOTHING = re.compile(r"[\s;]*")
_HEAD = re.compile(
    r"\.(?P<kind>entry|func)\s*(?:\((?P<results>[^)]*)\)\s*)?(?P<name>[\w$%]+)\s*(?:\((?P<parameters>.*?)\))?"
)
_VARIABLE = re.compile(
    r"(?:\.(?:visible|extern|weak|common)\s+)*\.(?P<space>global|const|shared|local|param)\s+(?P<rest>.*)"
)
_POINTER = re.compile(r"\.ptr(?:\s+\.(?:global|const|shared|local))?(?:\s+\.align\s+\d+)?")
_ATTRIBUTES = re.compile(r"\.align\s+\d+|\.v[248]\b|\.attribute\([^)]*\)")
_DECLARED = re.compile(r"\.(\w+)\s+([\w$%]+)\s*((?:\[[^\]]*\]\s*)*)")
_LOCATION = re.compile(r"\.loc\s+(\d+)\s+(\d+)[^\n]*?(?:inlined_at\s+(\d+)\s+(\d+)[^\n]*)?(?:\n|$)")
_CLUSTER = re.compile(r"\.reqnctapercluster\s+(\d+)\s*(?:,\s*(\d+)\s*)?(?:,\s*(\d+))?")
_LABEL = re.compile(r"([\w$%]+)\s*:(?!:)")
_OPCODE = re.compile(r"[\w.:]*")
_MANY = re.compile(r"([\w$%]+)<(\d+)>")
_NUMBERED = re.compile(r"(.*?)(\d+)")
_GUARD = re.compile(r"@(!?)\s*([\w$%]+)\s+")
_LONGEST_SHOWN = 60
_Read = TypeVar("_Read")
_IGNORED = (".pragma", ".callprototype", ".calltargets")


def files_of(text: str) -> dict[int, str]:
    """Return the paths that a module names, by their numbers."""
    return {int(number): path for number, path in _FILE.findall(text)}


def parse(text: str) -> Module:
    """Read a module.

    Raises:
        PtxError: where it is not PTX.
    """
    files = files_of(text)
    text = _COMMENT.sub(" ", text)
    text = _SECTION.sub("", _OUTSIDE.sub("", text))
    functions: dict[str, Function] = {}
    variables: dict[str, Variable] = {}
    at = 0
    while True:
        at = _end(_NOTHING, text, at)
        if at >= len(text):
            return Module(functions, variables, files)
        semicolon, brace = _find(text, ";", at), _find(text, "{", at)
        head = text[at : min(semicolon, brace)]
        if re.search(r"\.(?:entry|func)\b", head):
            function = _read(_function, head, Place())
            if semicolon < brace:
                functions.setdefault(function.name, function)
                at = semicolon + 1
                continue
            at = _closing(text, brace)
            _Body(function).read(text[brace + 1 : at - 1])
            functions[function.name] = function
        else:
            variable = _read(_variable, text[at:semicolon], Place())
            if variable is None:
                raise PtxError(f"{_shown(text[at:semicolon])} is not read")
            variables[variable.name] = variable
            at = semicolon + 1


def _read(read: Callable[[str], _Read], text: str, place: Place) -> _Read:
    """Read a statement.

    Raises:
        PtxError: where it is none that is known.
    """
    try:
        return read(text)
    except (IndexError, KeyError, ValueError):
        raise PtxError(f"{_shown(text)} is not read", place) from None


def _shown(text: str) -> str:
    """Return the beginning of a text that is not read."""
    first = text.strip().partition("\n")[0]
    return first if len(first) <= _LONGEST_SHOWN else f"{first[:_LONGEST_SHOWN]}..."


def _find(text: str, what: str, at: int) -> int:
    index = text.find(what, at)
    return index if index >= 0 else len(text)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _closing(text: str, brace: int) -> int:
    """Return where the text goes on after the brace that closes the one at ``brace``."""
    depth, at = 1, brace + 1
    while depth and at < len(text):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return at


def _function(head: str) -> Function:
    match = _HEAD.search(" ".join(head.split()))
    if match is None:
        raise PtxError(f"{_shown(head)} is not read")
    parameters, results = (
        tuple(variable for part in split(match[what] or "") if (variable := _variable(part)))
        for what in ("parameters", "results")
    )
    function = Function(match["name"], parameters, results)
    if cluster := _CLUSTER.search(head):
        x, y, z = (int(size or 1) for size in cluster.groups())
        function.cluster = x, y, z
    return function


def _variable(text: str) -> Variable | None:
    text = " ".join(text.split())
    match = _VARIABLE.match(text)
    if match is None:
        if text.startswith(".reg"):  # a parameter of a function may be a register
            kind, name = text.split()[-2:]
            return Variable(name, "reg", kind[1:], SIZES[kind[1:]], SIZES[kind[1:]])
        return None
    rest, _, initial = match["rest"].partition("=")
    alignment = re.search(r"\.align\s+(\d+)", rest)
    vector = re.search(r"\.v([248])\b", rest)
    declared = _DECLARED.search(_ATTRIBUTES.sub("", _POINTER.sub("", rest)))
    if declared is None:
        return None
    kind, name, axes = declared.groups()
    unit = SIZES.get(kind, 8) * (int(vector[1]) if vector else 1)
    size = unit
    for extent in re.findall(r"\[([^\]]*)\]", axes):
        size *= int(extent) if extent.strip() else 0
    return Variable(name, match["space"], kind, int(alignment[1]) if alignment else unit, size, initial.strip() or None)


class _Many(NamedTuple):
    """Registers declared together, ``%r<31>``, in the scope of this number."""

    type: str
    size: int
    scope: int


class _Body:
    """Reads the body of a function; registers of inner scopes get names of their own."""

    def __init__(self, function: Function) -> None:
        self._function = function
        function.has_body = True
        self._scopes: list[tuple[int, dict[str, tuple[str, str]], dict[str, _Many]]] = [(0, {}, {})]
        self._scope_count = 0
        self._place = Place()
        self._label = ""
        for variable in (*function.parameters, *function.results):
            if variable.space == "reg":
                self._scopes[0][1][variable.name] = (variable.type, variable.name)

    def read(self, text: str) -> None:
        at = 0
        while True:
            at = _end(_NOTHING, text, at)
            if at >= len(text):
                return
            at = self._next(text, at)

    def _next(self, text: str, at: int) -> int:
        if text[at] == "{":
            self._scope_count += 1
            self._scopes.append((self._scope_count, {}, {}))
            return at + 1
        if text[at] == "}":
            self._scopes.pop()
            return at + 1
        location = _LOCATION.match(text, at)
        if location:
            outer = Place(int(location[3]), int(location[4])) if location[3] else None
            self._place = Place(int(location[1]), int(location[2]), outer)
            if not self._function.place.line:
                self._function.place = self._place
            return location.end()
        label = _LABEL.match(text, at)
        if label:
            self._label = label[1]
            self._function.labels[self._label] = len(self._function.body)
            return label.end()
        end = _find(text, ";", at)
        _read(self._statement, text[at:end].strip(), self._place)
        return end + 1

    def _statement(self, text: str) -> None:
        if text.startswith(".reg"):
            kind, names = text[4:].split(None, 1)
            self._declare(kind[1:], names)
        elif text.startswith(_IGNORED):
            return
        elif text.startswith(".branchtargets"):
            self._function.tables[self._label] = tuple(split(text.removeprefix(".branchtargets")))
        elif text.startswith("."):
            self._variable(text)
        else:
            self._instruction(text)

    def _variable(self, text: str) -> None:
        variable = _variable(text)
        if variable is None:
            raise PtxError(f"{_shown(text)} is not read", self._place)
        if variable.space == "param":  # several calls name theirs alike
            number, single, _ = self._scopes[-1]
            single[variable.name] = ("param", f"{variable.name}@{number}")
            variable = replace(variable, name=f"{variable.name}@{number}")
        self._function.variables.append(variable)

    def _declare(self, kind: str, names: str) -> None:
        number, single, many = self._scopes[-1]
        for name in split(names):
            match = _MANY.fullmatch(name)
            if match:
                many[match[1]] = _Many(kind, int(match[2]), number)
            else:
                single[name] = (kind, f"{name}@{number}" if number else name)

    def _instruction(self, text: str) -> None:
        words, guard = " ".join(text.split()), None
        match = _GUARD.match(words)
        if match:
            register = self._known(match[2])
            if not isinstance(register, Register):
                raise PtxError(f"{match[2]} is no register", self._place)
            guard, words = Guard(register, bool(match[1])), words[match.end() :]
        opcode = words[: _end(_OPCODE, words, 0)]  # what people write in asm may have no blank behind it
        try:
            operands = tuple(operand(part, self._known) for part in split(words[len(opcode) :].strip()))
        except PtxError as error:
            raise PtxError(f"{_shown(words)}: {error.what}", self._place) from None
        self._function.body.append(Instruction(tuple(opcode.split(".")), guard, operands, self._place, words))

    def _known(self, name: str) -> Register | Symbol | None:
        """Return the register, or the variable of an inner scope, that a name means here."""
        for number, single, many in reversed(self._scopes):
            if name in single:
                kind, key = single[name]
                if kind == "param":
                    return Symbol(key)
                self._function.registers[key] = kind
                return Register(key)
            match = _NUMBERED.fullmatch(name) if name.startswith("%") else None
            declared = many.get(match[1]) if match else None
            if match and declared and int(match[2]) < declared.size:
                key = f"{name}@{number}" if number else name
                self._function.registers[key] = declared.type
                return Register(key)
        return None
