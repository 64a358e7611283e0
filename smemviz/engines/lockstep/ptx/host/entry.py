"""What is launched: one kernel of a compiled file, and the variables of its module.

Those, ``__device__`` and ``__constant__``, last from one launch to the next.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.code.module import SIZES, Module, PtxError, Variable
from smemviz.engines.lockstep.ptx.code.operands import integer, split
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.memory import GlobalMemory
from smemviz.frontends.cuda.compiling import Compiled
from smemviz.frontends.cuda.text.cuda_functions import Function
from smemviz.languages import Spelling


class Variables:
    """The bytes of a module's variables as its last launch left them, by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, NDArray[np.uint8]] = {}

    def bytes_of(self, name: str, initial: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the bytes of a variable, which are ``initial`` as long as nothing was stored in it."""
        return self._by_name.setdefault(name, initial)

    def copied(self) -> Variables:
        """Return copies, for a launch that leaves them as they are."""
        copied = Variables()
        copied._by_name = {name: data.copy() for name, data in self._by_name.items()}
        return copied

    def named(self, module: Module, name: str) -> NDArray[np.uint8] | None:
        """Return the bytes of a variable that a module has, None where it has none of that name."""
        variable = module.variables.get(name)
        if variable is None or variable.space not in ("global", "const"):
            return None
        return self.bytes_of(name, initial_bytes(variable)[0])

    def of_kernel(self, kernel: Kernel) -> dict[str, NDArray[np.uint8]]:
        """Return those that a kernel names, but for those that hold addresses of others."""
        read = {variable.name: initial_bytes(variable) for variable in kernel.constants}
        return {name: self.bytes_of(name, data) for name, (data, pointers) in read.items() if not pointers}

    def keep(self, kernel: Kernel, memory: GlobalMemory) -> None:
        """Keep what a launch of a kernel left in those that it names."""
        left = {allocation.name: allocation for allocation in memory.allocations}
        for name, data in self.of_kernel(kernel).items():
            data[:] = left[name].data[: len(data)]


def initial_bytes(variable: Variable) -> tuple[NDArray[np.uint8], dict[int, str]]:
    """Return what a variable of the module begins as, and the bytes at which addresses of others are added.

    Raises:
        PtxError: when its initial value is not read.
    """
    data = np.zeros(variable.size, np.uint8)
    pointers: dict[int, str] = {}
    if variable.initial is None:
        return data, pointers
    width = SIZES[variable.type]
    values = data[: variable.size // width * width].view(f"u{width}")
    for number, text in enumerate(_values(variable.initial)):
        if number >= len(values):
            break
        values[number] = _value(text, width, number, pointers)
    return data, pointers


def _values(text: str) -> list[str]:
    """Return the numbers of nested braces in order."""
    text = text.strip()
    if not text.startswith("{"):
        return [text]
    return [value for part in split(text[1:-1]) for value in _values(part)]


def _value(text: str, width: int, number: int, pointers: dict[int, str]) -> Any:
    if text[:2] in ("0f", "0F", "0d", "0D"):
        return int(text[2:], 16)
    if re.fullmatch(r"-?[0-9]\w*", text):
        return integer(text) & ((1 << 8 * width) - 1)
    symbol = re.fullmatch(r"(?:generic\()?([\w$]+)\)?(?:\+(\d+))?", text)
    if symbol is None or width != 8:
        raise PtxError(f"the initial value {text} is not read")
    pointers[8 * number] = symbol[1]
    return int(symbol[2] or 0)


_COOPERATIVE = re.compile(r"\bthis_grid\b")


class Defining(Protocol):
    """The text that defines a kernel."""

    @property
    def file(self) -> str:
        """The file that errors name."""

    @property
    def device_text(self) -> str:
        """What is compiled for the device."""

    @property
    def spelling(self) -> Spelling:
        """What its language calls what a mistake is mended with."""

    def kernel(self, name: str, line: int) -> Function:
        """Return a kernel by its name; ``line`` is where it is named."""


@dataclass(frozen=True)
class DefinedElsewhere:
    """Where a kernel that is given as PTX is defined, and what it takes."""

    file: str
    name: str
    line: int
    parameters: tuple[str, ...]
    spelling: Spelling
    device_text = ""  # its blocks are not known to wait for each other

    def kernel(self, name: str, line: int) -> Function:
        """Return its head."""
        return Function(self.name, self.line, True, True, 0, 0, 0, self.parameters, (), ())


@dataclass(frozen=True)
class Entry:
    """A kernel ready to be launched: its name as it was asked for, and what was made of it.

    ``variables`` are those of its module where they last from launch to launch; else each launch has them anew.
    """

    program: Defining
    compiled: Compiled
    name: str
    variables: Variables | None = field(default=None, compare=False, kw_only=True)

    @property
    def symbol(self) -> str:
        return self.compiled.names[self.name]

    @property
    def plain(self) -> str:
        """Its name without a template's arguments."""
        return self.name.partition("<")[0].strip().rpartition("::")[2]

    @property
    def line(self) -> int:
        return self.program.kernel(self.name, 1).line

    @property
    def is_cooperative(self) -> bool:
        """Whether its blocks may wait for each other."""
        return _COOPERATIVE.search(self.program.device_text) is not None
