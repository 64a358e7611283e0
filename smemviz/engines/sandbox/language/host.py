"""What holds for every step of the host part: its bounds, and errors in one line at the line that runs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from smemviz.engines.launch_shape import Configuration
from smemviz.engines.sandbox.language.known import BUILTINS, NotAllowedError, admitted, handed
from smemviz.engines.sandbox.language.scope import KINDS, Caught, Raised, modules
from smemviz.engines.sandbox.language.sizes import KnownFunction, elements, together
from smemviz.engines.sandbox.sandbox_limits import SandboxLimits
from smemviz.errors import KernelFileError, PlaceError, SmemvizError, UnsupportedError
from smemviz.frontends.numba.python_functions import Function
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.messages import english

Launcher = Callable[[Function, Configuration, tuple[Any, ...], tuple[str, int]], None]


@dataclass(frozen=True)
class Kernel:
    """What ``@cuda.jit`` makes of a definition; ``device`` tells the functions that only kernels call."""

    definition: Function
    device: bool


@dataclass(frozen=True)
class Configured:
    """A kernel with its launch configuration."""

    kernel: Kernel
    configuration: Configuration


@dataclass(frozen=True, eq=False)
class HostFunction:
    """A function of the text that runs on the host; ``enclosing`` are the variables of the functions around it."""

    definition: Function
    defaults: tuple[Any, ...]
    enclosing: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Language:
    """What text may say: ``value`` evaluates an expression, ``execute`` executes a statement."""

    value: Callable[[Host, ast.expr], Any]
    execute: Callable[[Host, ast.stmt], None]


class Host:
    """The state of one run. ``launcher`` starts a kernel, ``printed`` is what was printed."""

    def __init__(self, language: Language, program: PythonProgram, limits: SandboxLimits, launcher: Launcher) -> None:
        self._language = language
        self.file, self.source, self.tree = program.file, program.source, program.tree
        self.limits = limits
        self.launcher = launcher
        self.modules = modules(program.file)
        dtype = KnownFunction("dtype", lambda dtype: dtype.type, lambda name: 1)
        self.globals: dict[str, Any] = {"__name__": "smemviz_editor", "__smemviz_dtype__": dtype}
        self.frames: list[dict[str, Any]] = []
        self.enclosing: tuple[dict[str, Any], ...] = ()
        self.handling: list[Raised] = []
        self.printed: list[str] = []
        self.line = 1
        self._steps = 0
        self.launches = 0
        self._characters = 0

    @property
    def names(self) -> dict[str, Any]:
        """The variables of the innermost function that runs, or of the module."""
        return self.frames[-1] if self.frames else self.globals

    def lookup(self, name: str) -> Any:
        """Return what a name stands for."""
        for scope in (self.names, *self.enclosing, self.globals, BUILTINS, KINDS):
            if name in scope:
                return scope[name]
        if name in ("print", "str"):
            return KnownFunction(name, self.print if name == "print" else self.text, together)
        raise self.error(english("NameError: {name} is not defined here", name=name))

    def value(self, node: ast.expr) -> Any:
        """Evaluate an expression."""
        self.step(node)
        return self._language.value(self, node)

    def statements(self, body: Iterable[ast.stmt]) -> None:
        """Execute statements in order."""
        for node in body:
            self.step(node)
            self._language.execute(self, node)

    # -- bounds and errors

    def error(self, what: str) -> KernelFileError:
        """Return an error at the current line."""
        return KernelFileError(self.file, self.line, what)

    def raised(self, kind: type[Exception], what: str) -> Raised:
        """Return an exception that text may catch, at the current line; it says no more than one line."""
        lines = [line.strip() for line in what.splitlines() if line.strip()][:1]
        return Raised(Caught(kind, "".join(lines)), self.error(": ".join([kind.__name__, *lines])))

    def refuse(self, what: str) -> UnsupportedError:
        """Return the refusal of a construct at the current line."""
        text = english("{what} is not run in the editor; save the file and run it with smemviz run", what=what)
        return UnsupportedError(self.file, self.line, text)

    def step(self, node: ast.stmt | ast.expr) -> None:
        """Count a step, and remember its line."""
        self.line = node.lineno
        self._steps += 1
        if self._steps > self.limits.steps:
            raise self.error(
                english(
                    "the host part took more than {most:,} steps; the editor allows no more", most=self.limits.steps
                )
            )

    def bounded(self, value: Any) -> Any:
        """Return a value that is within the limits on numbers, texts, lists and arrays."""
        if isinstance(value, int) and value.bit_length() > self.limits.integer_bits:
            raise self.error(
                english(
                    "a whole number of more than {most:,} bits; the editor allows no larger one",
                    most=self.limits.integer_bits,
                )
            )
        if isinstance(value, str) and len(value) > self.limits.characters:
            raise self.error(
                english(
                    "a text of more than {most:,} characters; the editor allows no more", most=self.limits.characters
                )
            )
        if isinstance(value, list | tuple) and len(value) > self.limits.items:
            raise self.error(
                english("a list of more than {most:,} items; the editor allows no more", most=self.limits.items)
            )
        return value

    def afford(self, numbers: int) -> None:
        """Refuse a result of so many numbers, taken as 8 bytes each, when it is too large."""
        if numbers * 8 > self.limits.array_bytes:
            raise self.error(
                english(
                    "this needs about {needed:,} bytes; the editor gives an array {most:,}",
                    needed=numbers * 8,
                    most=self.limits.array_bytes,
                )
            )

    def guarded(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call something of a library; whatever it raises becomes one line."""
        try:
            return self.bounded(admitted(function(*arguments, **options)))
        except PlaceError as error:
            raise type(error)(self.file, self.line, error.what) from None
        except SmemvizError:
            raise
        except NotAllowedError as error:
            raise self.error(
                english("{what} cannot be used in the editor; use numbers and arrays of numbers", what=error.args[0])
            ) from None
        except (RecursionError, MemoryError, Raised):
            raise
        except Exception as error:  # a library raises what it likes on what a text gives it
            raise self.raised(type(error), str(error)) from None

    def handed(self, value: Any) -> Any:
        """Return a value as a library may get it."""
        try:
            return handed(value)
        except NotAllowedError as error:
            raise self.error(
                english("{what} cannot be used here in the editor; use numbers and arrays", what=error.args[0])
            ) from None

    def text(self, value: Any) -> str:
        """Return a value as text."""
        self.afford(elements(value))
        if isinstance(value, Caught):
            return str(value)
        if isinstance(value, type) and issubclass(value, np.generic):
            return np.dtype(value).name  # as Numba's types say themselves
        return str(self.guarded(str, self.handed(value) if not isinstance(value, str) else value))

    def print(self, *values: Any, sep: str = " ", end: str = "\n", **options: Any) -> None:
        """Keep what the host part prints."""
        self.write(sep.join(map(self.text, values)) + end)

    def write(self, text: str) -> None:
        """Keep what is printed, here or in a kernel, as far as the limit on texts goes."""
        left = self.limits.characters - self._characters
        if left > 0:
            self.printed.append(text[:left])
        self._characters += len(text)
