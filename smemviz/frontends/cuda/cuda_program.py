"""A ``.cu`` file as data: its text, its constants, its kernels and the launches that it asks for."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from smemviz.errors import KernelFileError
from smemviz.frontends.cuda.constants import read_constants, with_values
from smemviz.frontends.cuda.device_text import device_texts
from smemviz.frontends.cuda.includes import Missing, own_headers
from smemviz.frontends.cuda.text.cuda_functions import Function, find_functions
from smemviz.frontends.cuda.text.lexing import code, scan
from smemviz.frontends.program import Constant, Program, first_comment
from smemviz.languages import CUDA_CPP, Spelling
from smemviz.messages import english
from smemviz.recordings.vocabulary import ConstantValue

NOTE = re.compile(r"//\s*smemviz:\s*(.*)", re.DOTALL)  # a launch in a comment
_MARKS_OF_A_PROJECT = ("CMakeLists.txt", "Makefile", ".git")
_MOST_ABOVE = 4  # folders above a file that may be the project's


@dataclass(frozen=True)
class CudaProgram(Program):
    """A file of CUDA C++ with values for its constants; it has no Python, and what it launches stands in comments.

    ``view`` tells whether its accesses are counted as they are written, or as the compiler leaves them; ``options`` are
    definitions of macros that the compiler is given, ``folders`` those that headers are in besides the file's own,
    ``before`` the headers that are read before its text, and ``units`` the other files that it is linked with.
    """

    language = CUDA_CPP

    kernels: Mapping[str, Function] = field(repr=False)
    options: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    units: tuple[CudaProgram, ...] = ()

    @property
    def spelling(self) -> Spelling:
        """What C++ calls what a mistake is mended with."""
        return CUDA_CPP.spelling

    @property
    def summary(self) -> str:
        """What the file says of itself in the first paragraph of the comment that it begins with."""
        return first_comment(self.source)

    def with_compiler(self, options: Sequence[str], folders: Sequence[str], before: Sequence[str]) -> CudaProgram:
        """Return the program as it is compiled with options, with more folders of headers, and headers read first."""
        with_them = replace(self, options=tuple(options), folders=tuple(folders), before=tuple(before))
        return replace(with_them, units=tuple(unit.with_compiler(options, folders, before) for unit in self.units))

    def in_project(self) -> CudaProgram:
        """Return the program with the ``include`` folder of its project, the last place to look for a header."""
        above = Path(self.file).resolve().parents[:_MOST_ABOVE]
        roots = (folder for folder in above if any((folder / mark).exists() for mark in _MARKS_OF_A_PROJECT))
        folders = [(root / "include").as_posix() for root in roots if (root / "include").is_dir()]
        return self.with_compiler(self.options, (*self.folders, *folders), self.before) if folders else self

    def with_units(self, files: Sequence[tuple[str, str]]) -> CudaProgram:
        """Return the program linked with other files, each its name and its text, compiled as it is."""
        units = tuple(parse_cuda(text, name) for name, text in files)
        return replace(self, units=units).with_compiler(self.options, self.folders, self.before)

    def heads(self) -> dict[str, tuple[int, tuple[str, ...]]]:
        """Return the line of each kernel and the names of its parameters."""
        return {name: (function.line, function.parameters) for name, function in self.kernel_functions.items()}

    def helper_hashes(self) -> tuple[tuple[str, str], ...]:
        """Return the path and the SHA-256 of every header that it includes."""
        headers, _ = self.headers()
        return tuple(sorted((name, hashlib.sha256(text.encode()).hexdigest()) for name, text in headers.items()))

    @property
    def has_main(self) -> bool:
        """Whether it can be run: it says what to launch."""
        return bool(self.kernel_functions) or self.runs_main

    @property
    def runs_main(self) -> bool:
        """Whether its own ``main()`` says what to launch, and no comment does."""
        has_notes = any(token.kind == "comment" and NOTE.fullmatch(token.text) for token in scan(self.source))
        defined = (function.name for unit in (self, *self.units) for function in unit.definitions)
        return not has_notes and "main" in defined

    @cached_property
    def text(self) -> str:
        """The text with the values of its constants in place."""
        return with_values(self.source, self.overrides)

    def headers(self) -> tuple[dict[str, str], tuple[Missing, ...]]:
        """Return the texts of its own headers by their names, as they are now, and those that are missing.

        Raises:
            KernelFileError: for whatever else would have the compiler look at a file.
        """
        first = "".join(f'#include "{name}"\n' for name in self.before)
        return own_headers(first + self.text, self.file, self.folders)

    def scope(self) -> dict[str, ConstantValue]:
        """Return what names in its launches stand for: macros that it is given, its headers' constants, and its own."""
        given = (option[2:].partition("=") for option in self.options if option.startswith("-D"))
        texts = ["".join(f"#define {name} {value or 1}\n" for name, _, value in given)]
        texts += self.headers()[0].values() if self.trusted else ()
        # Twice, for a header may use what one that comes later here defines.
        known = read_constants("\n".join((*texts, *texts, self.text)), {})
        return {name: constant.value for name, constant in known.items()} | self.values

    @property
    def texts(self) -> tuple[list[str], dict[str, str]]:
        """What the functions that kernels may call say, and what each kernel says, without comments."""

        def text_of_function(function: Function) -> str:
            return " ".join(token.text for token in code(self.source[function.start : function.end]))

        functions = find_functions(self.source)
        called = [text_of_function(function) for function in functions if function.on_device and not function.is_kernel]
        return called, {function.name: text_of_function(function) for function in functions if function.is_kernel}

    @cached_property
    def definitions(self) -> tuple[Function, ...]:
        """Every function with a body, in order."""
        return find_functions(self.text)

    @cached_property
    def device_text(self) -> str:
        """The text with blanks in the place of what only the host uses."""
        return device_texts({"": self.text})[""]

    @property
    def kernel_functions(self) -> dict[str, Function]:
        """The kernels, by name."""
        return {function.name: function for function in self.definitions if function.is_kernel}

    def kernel(self, name: str, line: int) -> Function:
        """Return a kernel by its name, a template's with or without its arguments; ``line`` is where it is named.

        Raises:
            KernelFileError: when the file has none of that name.
        """
        plain = name.partition("<")[0].strip().rpartition("::")[2]
        if not self.kernel_functions:
            raise KernelFileError(self.file, line, english("has no __global__ function; write a kernel"))
        return kernel_named(self.kernel_functions, plain, (self.file, line))

    def _constants(self, overrides: Mapping[str, ConstantValue]) -> dict[str, Constant]:
        return read_constants(self.source, overrides)


def kernel_named(known: Mapping[str, Function], name: str, place: tuple[str, int]) -> Function:
    """Return one of a file's kernels by its name, which is named at a place.

    Raises:
        KernelFileError: when there is none of that name.
    """
    if name in known:
        return known[name]
    names = ", ".join(known)
    what = english("there is no kernel {name}; the file has: {known}", name=name, known=names)
    if near := get_close_matches(name, known, n=1):
        what = english(
            "there is no kernel {name}; did you mean {near}? The file has: {known}",
            name=name,
            near=near[0],
            known=names,
        )
    raise KernelFileError(*place, what)


def parse_cuda(source: str, file: str) -> CudaProgram:
    """Read the text of a ``.cu`` file; ``file`` is the name that errors show."""
    source = source.replace("\r\n", "\n")
    kernels = {function.name: function for function in find_functions(source) if function.is_kernel}
    return CudaProgram(file, source, read_constants(source, {}), kernels)
