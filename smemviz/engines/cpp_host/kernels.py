"""The kernels that a program launches: compiled once it does, found by the name that its own compiler has for them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from smemviz.engines.cpp_host.building import shown
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.errors import KernelFileError, UnsupportedError
from smemviz.frontends.cuda.compiling import Compiled, compile_program
from smemviz.frontends.cuda.cuda_program import CudaProgram
from smemviz.frontends.cuda.text.cuda_functions import Function, find_functions
from smemviz.messages import english

# The mangled name of the class that a kernel's stub declares.
_LOCAL = re.compile(r"\*?Z(?P<function>.+)E4here(?:_\d*)?")

_FUNCTION = re.compile(r"\(?&\(([\w:]+)\([^()]*\)\)\)?")  # an argument of a template that is a function, with its types


@dataclass(frozen=True)
class HostEntry(Entry):
    """A kernel that a program launches: ``function`` is its definition, ``file`` where that stands."""

    function: Function
    file: str
    cooperative: bool = False

    @property
    def line(self) -> int:
        """Where it is defined."""
        return self.function.line

    @property
    def is_cooperative(self) -> bool:
        """Whether its blocks may wait for each other: it was launched for that."""
        return self.cooperative


@dataclass
class Kernels:
    """The kernels of a program and of the headers of its own, the text of each file by its path.

    ``names`` are what C++ calls those that it may launch: they are compiled together.
    """

    program: CudaProgram
    texts: dict[Path, str]
    names: tuple[str, ...] = ()
    _known: dict[str, HostEntry] = field(default_factory=dict)
    _compiled: list[Compiled] = field(default_factory=list)
    _functions: dict[str, tuple[str, Function]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path, text in self.texts.items():
            for function in find_functions(text):
                if function.is_kernel:
                    self._functions.setdefault(function.name, (shown(self.program, str(path)), function))

    def entry(self, name: str, mangled: str, place: tuple[str, int]) -> HostEntry:
        """Return a kernel by its name, ``void copy<float>(float*)``, and by that of the class its stub declares.

        Raises:
            KernelFileError: when it does not compile for the device.
            UnsupportedError: when it has a name that cannot be written.
        """
        if mangled not in self._known:
            self._known[mangled] = self._entry(expression(name), mangled, place)
        return self._known[mangled]

    def _entry(self, name: str, mangled: str, place: tuple[str, int]) -> HostEntry:
        plain = name.partition("<")[0].rpartition("::")[2]
        if plain not in self._functions or "{lambda" in name:
            what = english("the kernel {name} is not found in the text; say its launches in comments", name=name)
            raise UnsupportedError(*place, what)
        file, function = self._functions[plain]
        match = _LOCAL.fullmatch(mangled)
        symbol = f"_Z{match['function']}" if match else ""
        if match and (own := re.fullmatch(r"(\d+)(\w+)", match["function"])) and int(own[1]) == len(own[2]):
            symbol = own[2]  # extern "C"
        for compiled in self._compiled:
            if re.search(rf"\.entry {re.escape(symbol)}\(", compiled.ptx):
                return HostEntry(self.program, replace(compiled, names={name: symbol}), name, function, file)
            if name in compiled.names:
                return HostEntry(self.program, compiled, name, function, file)
        self._compiled.append(self._compile(name))
        return HostEntry(self.program, self._compiled[-1], name, function, file)

    def _compile(self, name: str) -> Compiled:
        """Compile a kernel with all that may be launched, alone where one of the others does not compile."""
        together = dict.fromkeys([name, *(expression(other) for other in self.names if "{lambda" not in other)])
        try:
            return compile_program(self.program, list(together), self.program.view)
        except KernelFileError:
            return compile_program(self.program, [name], self.program.view)


def expression(name: str) -> str:
    """Return what names a kernel in C++: ``copy<float>`` for ``void copy<float>(float*)``."""
    depth, end = 0, len(name)
    for at, character in enumerate(name):
        depth += (character == "<") - (character == ">")
        if character == "(" and depth == 0 and not name.startswith("(anonymous", at):
            end = at
            break
    return _FUNCTION.sub(r"\1", name[:end].removeprefix("void ").replace("(anonymous namespace)::", ""))
