"""A kernel file as data, in whatever language: its text, its constants and values for them, its kernels."""

import ast
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, ClassVar, Literal, Self

from smemviz.errors import ConstantError, InputError
from smemviz.languages import Language, View
from smemviz.messages import english
from smemviz.recordings.sweep import SIZE_CONSTANTS
from smemviz.recordings.vocabulary import DTYPES, ConstantValue

Kind = Literal["int", "float", "bool", "dtype"]
MAX_BITS = 4096


@dataclass(frozen=True)
class Constant:
    """One knob: its value, its kind, the line and text of its assignment, and the constants it is computed from."""

    name: str
    value: ConstantValue
    kind: Kind | str
    line: int
    text: str
    depends: tuple[str, ...] = ()


def parse_value(file: str, constant: Constant, value: object) -> ConstantValue:
    """Read a value for a constant, from text or from Python.

    Raises:
        ConstantError: when the value is of another kind than the constant.
    """
    parsed = value
    if isinstance(value, str) and constant.kind != "dtype":
        parsed = _number(value.strip())
    elif constant.kind == "dtype":
        name = value if isinstance(value, str) else str(getattr(value, "__name__", getattr(value, "name", value)))
        name = name.strip().rpartition(".")[2]
        if name in DTYPES:
            return name
    if constant.kind == "bool" and isinstance(parsed, bool):
        return parsed
    parsed = getattr(parsed, "item", lambda: parsed)()  # a NumPy scalar
    if isinstance(parsed, int) and parsed.bit_length() > (1023 if constant.kind == "float" else MAX_BITS):
        raise ConstantError(file, constant.line, english("{constant} is too large a number", constant=constant.name))
    if constant.kind == "int" and isinstance(parsed, int) and not isinstance(parsed, bool):
        return parsed
    if constant.kind == "float" and isinstance(parsed, int | float) and not isinstance(parsed, bool):
        return float(parsed)
    raise ConstantError(file, constant.line, _misfit(constant, value))


def _misfit(constant: Constant, value: object) -> str:
    values = {"constant": constant.name, "text": constant.text, "value": repr(value)}
    match constant.kind:
        case "int":
            return english("{constant} is an integer ({text}); {value} is not", **values)
        case "float":
            return english("{constant} is a number ({text}); {value} is not", **values)
        case "bool":
            return english("{constant} is True or False ({text}); {value} is not", **values)
    return english("{constant} is a Numba dtype such as float32 ({text}); {value} is not", **values)


def _number(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # TypeError of {[]}
        return text


@dataclass(frozen=True)
class Program(ABC):
    """A kernel file with values for its constants.

    ``kernels`` are its kernels by name, each as its language has them. ``overrides`` are the constants that differ from
    the source. What is not ``trusted`` came from a browser or in a recording, and is not executed. ``view`` tells
    whether its accesses are counted as they are written, or as the compiler leaves them.
    """

    language: ClassVar[Language]

    file: str
    source: str
    constants: Mapping[str, Constant]
    kernels: Mapping[str, Any] = field(repr=False)
    overrides: Mapping[str, ConstantValue] = field(default_factory=dict, kw_only=True)
    trusted: bool = field(default=True, kw_only=True)
    view: View = field(default="source", kw_only=True)

    @property
    def sha256(self) -> str:
        """The SHA-256 of the source, as hexadecimal."""
        return source_sha256(self.source)

    @property
    def values(self) -> dict[str, ConstantValue]:
        """The value of every constant, overrides and what follows from them included."""
        return {name: constant.value for name, constant in self.constants.items()}

    def with_constants(self, values: Mapping[str, object]) -> Self:
        """Return the program with constants replaced; text is read as on the command line (``"2"``, ``"float32"``).

        Raises:
            ConstantError: for a name the file does not have, or a value of another kind.
        """
        if not values:
            return self
        own = self._constants({}) if self.overrides else self.constants
        overrides = dict(self.overrides)
        for name, value in values.items():
            if name not in self.constants:
                known = ", ".join(self.constants) or "none"
                raise ConstantError(
                    self.file, 1, english("there is no constant {name}; the file has: {known}", name=name, known=known)
                )
            constant = self.constants[name]
            overrides[name] = parse_value(self.file, constant, value)
            if not constant.depends and overrides[name] == own[name].value:
                del overrides[name]
        return replace(self, overrides=overrides, constants=self._constants(overrides))

    @abstractmethod
    def _constants(self, overrides: Mapping[str, ConstantValue]) -> dict[str, Constant]:
        """Read the constants, some of them given another value."""

    @property
    def variant(self) -> str:
        """What tells runs of the same file with the same constants apart."""
        return self.view if len(self.language.views) > 1 else ""

    def in_view(self, view: str | None) -> Self:
        """Return the program with its accesses counted in another view, None for the one that it has.

        Raises:
            InputError: when its language has no such view.
        """
        views = self.language.views
        if view is None:
            return self
        if view in views:
            return replace(self, view=view)
        if len(views) == 1:
            values = {"file": self.file, "language": self.language.title}
            raise InputError(english("{file} is {language}, which has one view only; leave out the view", **values))
        raise InputError(english("there is no view {view}; use source or compiled", view=repr(view)))

    def with_compiler(self, options: Sequence[str], folders: Sequence[str], before: Sequence[str]) -> Self:
        """Return the program as it is compiled with options, with more folders of headers, and headers read first.

        Raises:
            InputError: when its language has no such options.
        """
        raise InputError(f"{self.file}: -I, -D, -include and -std are for CUDA C++; name a file that ends in .cu")

    def in_project(self) -> Self:
        """Return the program with what the project that its file lies in has for it, as far as its language knows."""
        return self

    def with_units(self, files: Sequence[tuple[str, str]]) -> Self:
        """Return the program linked with other files, each its name and its text.

        Raises:
            InputError: when its language links none.
        """
        raise InputError(f"{self.file}: is run by itself; several files make a program in CUDA C++ only")

    @property
    @abstractmethod
    def summary(self) -> str:
        """What the file says of itself, in its first paragraph."""

    @property
    @abstractmethod
    def has_main(self) -> bool:
        """Whether the file says what to launch."""

    @property
    def is_script(self) -> bool:
        """Whether it can only be run as a script."""
        return False

    @property
    @abstractmethod
    def texts(self) -> tuple[list[str], dict[str, str]]:
        """What the functions that kernels may call say, and what each kernel says, without comments."""

    @abstractmethod
    def heads(self) -> dict[str, tuple[int, tuple[str, ...]]]:
        """Return the line of each kernel and the names of its parameters."""

    @abstractmethod
    def helper_hashes(self) -> tuple[tuple[str, str], ...]:
        """Return the path and the SHA-256 of every other file that a run depends on."""

    def forget(self, helpers: Iterable[str]) -> None:  # noqa: B027, for a language that keeps none
        """Let the next run read these other files anew."""


def source_sha256(source: str) -> str:
    """Hash a source text, line ends normalised so that a checkout on Windows hashes the same."""
    return hashlib.sha256(source.replace("\r\n", "\n").encode()).hexdigest()


def digests(program: Program) -> dict[str, str]:
    """Return a digest of each kernel: of its code, of the functions it may call, and of the file's other constants."""
    shared, kernels = program.texts
    shared += [f"{c.name} = {c.text}" for c in program.constants.values() if c.name not in (*SIZE_CONSTANTS, "TILE")]
    texts = {name: "\n".join([*shared, text]) for name, text in kernels.items()}
    return {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in texts.items()}


def first_comment(source: str) -> str:
    """Return the first paragraph of the comment that a text begins with, "" where it says what to launch."""
    lines = takewhile(lambda line: line.startswith("//") and line.strip("/ "), source.splitlines())
    words = " ".join(line.strip("/ ") for line in lines)
    return "" if words.startswith("smemviz:") else words
