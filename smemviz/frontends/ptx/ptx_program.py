"""A ``.ptx`` file as data: its kernels, the source beside it, and the launches that either asks for in comments."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from smemviz.errors import KernelFileError
from smemviz.frontends.cuda.constants import read_constants
from smemviz.frontends.cuda.cuda_program import kernel_named
from smemviz.frontends.cuda.launches import LaunchPlan, plan_of, unlaunched
from smemviz.frontends.cuda.shapes import SharedDeclaration
from smemviz.frontends.cuda.text.cuda_functions import Function
from smemviz.frontends.program import Constant, Program, first_comment
from smemviz.frontends.ptx.shared_shapes import declared_shared
from smemviz.languages import CUDA_CPP, PTX, is_kernel_file, language_of
from smemviz.messages import english
from smemviz.recordings.vocabulary import ConstantValue

_ENTRY = re.compile(r"^[^\n/]*\.entry\s+(?P<name>[\w$]+)\s*(?:\((?P<parameters>[^)]*)\))?(?P<limits>[^{;]*)", re.M)
_NOTE = re.compile(r"^[^\n\"']*?(?://|#)\s*smemviz:[ \t]*(?P<launch>[^\n]*?)\s*$", re.M)
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]+)"', re.M)
_NESTED = re.compile(r"_ZN?K?(?=\d)")
_LENGTH = re.compile(r"\d+")
# What CuTe DSL and Warp write around a name.
_WRAPPED = re.compile(r"kernel_cutlass_(\w+?)_(?:tensor|ptr|\d)\w*|(\w+)_[0-9a-f]{8}_cuda_kernel_forward")
_BLOCK = re.compile(r"\.(?:reqntid|maxntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")


@dataclass(frozen=True)
class PtxProgram(Program):
    """A file of PTX; it has no constants, and what it launches stands in comments, of it or of its source.

    ``kernels`` are by the names that they have in the source, or in the PTX where several have the same there.
    """

    language = PTX

    kernels: Mapping[str, Function] = field(repr=False)
    symbols: Mapping[str, str] = field(repr=False)

    @property
    def summary(self) -> str:
        """What somebody wrote above what the compiler says, which begins with an empty line."""
        return first_comment(self.source)

    @property
    def has_main(self) -> bool:
        """Whether it has a kernel to launch."""
        return bool(self.kernels)

    @property
    def texts(self) -> tuple[list[str], dict[str, str]]:
        """What each kernel says."""
        return [], {name: self.source[kernel.start : kernel.end] for name, kernel in self.kernels.items()}

    def heads(self) -> dict[str, tuple[int, tuple[str, ...]]]:
        """Return the line of each kernel and the names of its parameters."""
        return {name: (kernel.line, kernel.parameters) for name, kernel in self.kernels.items()}

    def helper_hashes(self) -> tuple[tuple[str, str], ...]:
        """Return the path and the SHA-256 of every source file that is shown."""
        return tuple((path, hashlib.sha256(text.encode()).hexdigest()) for path, text in self.sources.values())

    @cached_property
    def sources(self) -> dict[int, tuple[str, str]]:
        """The path and the text of each source file there is, by the number that PTX has for it.

        One that lies beside the PTX is taken for that of the same name.
        """
        found: dict[int, tuple[str, str]] = {}
        for number, path in _FILE.findall(self.source) if self.trusted else ():
            beside = Path(self.file).parent / path.replace("\\", "/").rpartition("/")[2]
            if is_kernel_file(beside) and language_of(beside) is not PTX and beside.is_file():
                text = beside.read_text(encoding="utf-8-sig", errors="replace").replace("\r\n", "\n")
                found[int(number)] = beside.as_posix(), text
        return found

    @cached_property
    def shared(self) -> tuple[SharedDeclaration, ...]:
        """The shared arrays that sources in CUDA C++ declare."""
        texts = (text for path, text in self.sources.values() if language_of(path) is CUDA_CPP)
        return tuple(declaration for text in texts for declaration in declared_shared(text))

    def kernel(self, name: str, line: int) -> Function:
        """Return a kernel by its name in the source or in the PTX; ``line`` is where it is named.

        Raises:
            KernelFileError: when the file has none of that name.
        """
        return kernel_named(self.kernels, self.name_of(name), (self.file, line))

    def name_of(self, name: str) -> str:
        """Return the name of a kernel that may be named as in the PTX."""
        return next((plain for plain, symbol in self.symbols.items() if name == symbol), name)

    def planned(self) -> list[tuple[PtxProgram, LaunchPlan]]:
        """Return the launches that comments ask for, each with this program as the file with the comment names it.

        Raises:
            KernelFileError: when there are none, or one names a kernel that the file does not have.
            LaunchError: when one cannot be read.
        """
        if not self.kernels:
            raise KernelFileError(self.file, 1, english("has no .entry, so it is not PTX with a kernel"))
        plans = [(self, plan_of(self, text, line, {})) for line, text in _notes(self.source)]
        for path, text in self.sources.values() if not plans else ():
            named = replace(self, file=path)
            known = read_constants(text, {}) if language_of(path) is CUDA_CPP else {}
            scope = {name: constant.value for name, constant in known.items()}
            plans += [(named, plan_of(named, note, line, scope)) for line, note in _notes(text)]
        if plans:
            return plans
        name, kernel = next(iter(self.kernels.items()))
        launch = f"// smemviz: {name}<<<1, {self.block_of(name) or 32}>>>({', '.join(_offered(self, kernel))})"
        raise unlaunched(self.file, kernel.line, launch)

    def block_of(self, name: str) -> str:
        """Return the block that a kernel is compiled for, empty where it is for any."""
        match = _BLOCK.search(self.source, self.kernels[name].start, self.kernels[name].body)
        sizes = [size for size in match.groups() if size] if match else []
        return sizes[0] if len(sizes) == 1 else f"dim3({', '.join(sizes)})" if sizes else ""

    def _constants(self, overrides: Mapping[str, ConstantValue]) -> dict[str, Constant]:
        return {}


def parse_ptx(source: str, file: str) -> PtxProgram:
    """Read the text of a ``.ptx`` file; ``file`` is the name that errors show."""
    source = source.replace("\r\n", "\n")
    entries = [match for match in _ENTRY.finditer(source) if source[match.end() : match.end() + 1] == "{"]
    plain = [plain_name(match["name"]) for match in entries]
    kernels: dict[str, Function] = {}
    symbols: dict[str, str] = {}
    for number, match in enumerate(entries):
        symbol = match["name"]
        name = plain[number] if plain.count(plain[number]) == 1 else symbol
        end = entries[number + 1].start() if number + 1 < len(entries) else len(source)
        parameters = tuple(_parameter(part, symbol) for part in (match["parameters"] or "").split(",") if part.strip())
        line = source.count("\n", 0, match.start()) + 1
        kernels[name] = Function(name, line, True, True, match.start(), match.end(), end, parameters, (), ())
        symbols[name] = symbol
    return PtxProgram(file, source, {}, kernels, symbols)


def plain_name(symbol: str) -> str:
    """Return the name in the source of a symbol, which C++ and Numba mangle: the innermost of what it is nested in."""
    if wrapped := _WRAPPED.fullmatch(symbol):
        return wrapped[1] or wrapped[2]
    prefix = _NESTED.match(symbol)
    at, name = prefix.end() if prefix else len(symbol), symbol
    while length := _LENGTH.match(symbol, at):
        at = length.end() + int(length[0])
        name = symbol[length.end() : at]
    return name


def _parameter(text: str, symbol: str) -> str:
    name = re.sub(r"\[.*", "", text).split()[-1]
    return name.removeprefix(f"{symbol}_")


def _offered(program: PtxProgram, kernel: Function) -> Iterator[str]:
    """Give an argument for each parameter, to be filled in; one of 8 bytes is taken for a pointer."""
    head = program.source[kernel.start : kernel.body]
    for kind, sizes in re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)[^,)]*?(\[\d+\])?\s*(?=[,)])", head):
        yield "{...}" if sizes else "zeros(1024)" if kind.endswith("64") and kind[0] != "f" else "1"


def _notes(text: str) -> Iterator[tuple[int, str]]:
    """Give the line and the text of each launch in a comment."""
    for match in _NOTE.finditer(text):
        yield text.count("\n", 0, match.start("launch")) + 1, match["launch"]
