"""NVRTC, NVIDIA's compiler as a library: CUDA C++ to PTX, without a GPU and without nvcc."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from smemviz.errors import MissingError
from smemviz.frontends.cuda.compiler.compilers import DeathError, answer_of
from smemviz.messages import english

_LIBRARIES = (
    "cu*/lib/libnvrtc.so.[0-9]*",
    "cuda_nvrtc/lib/libnvrtc.so.[0-9]*",
    "cu*/bin/x86_64/nvrtc64_*_0.dll",
    "cuda_nvrtc/bin/nvrtc64_*_0.dll",
)
_INCLUDES = (
    *("cu*/include", "cu*/include/cccl", "cuda_runtime/include", "cuda_cccl/include", "cuda_cccl/include/cccl"),
    *("cuda_nvcc/include", "cuda_crt/include"),
)
_DIAGNOSTIC = re.compile(
    r"^(?:At end of source|(?P<file>[^\n(]+)\((?P<line>\d+)\)): (?:catastrophic )?error(?: #\S+)?: (?P<what>[^\n]*)",
    re.M,
)
_INSTALL = "pip install 'smemviz[cpp]'"
_MISSING = f"CUDA C++ needs NVRTC, which is not installed: {_INSTALL}; kernels in Python do without"


@dataclass(frozen=True)
class Ptx:
    """What NVRTC made: PTX, and the name in it of every name that was asked for."""

    text: str
    names: Mapping[str, str]


class CompileError(Exception):
    """The first error of a compilation: the file and line that NVRTC names, 0 where it names none, and what it says."""

    def __init__(self, file: str, line: int, what: str) -> None:
        super().__init__(f"{file}({line}): {what}")
        self.file = file
        self.line = line
        self.what = what


def available() -> bool:
    """Whether NVRTC is installed."""
    return _library_path() is not None


def require() -> None:
    """Make sure of NVRTC.

    Raises:
        MissingError: when it is not installed.
    """
    if not available():
        raise MissingError(_MISSING)


@cache
def include_folders() -> tuple[Path, ...]:
    """Return the folders of headers that came with NVRTC."""
    return tuple(path for pattern in _INCLUDES for folder in _folders() for path in sorted(folder.glob(pattern)))


def compile_ptx(
    source: str, file: str, options: Sequence[str], headers: Mapping[str, str], names: Sequence[str]
) -> Ptx:
    """Compile a text; ``headers`` are found before any file, ``names`` are the kernels wanted.

    Raises:
        CompileError: for the first error in it, and where the compiler does not end with an answer.
        MissingError: when NVRTC is not installed.
    """
    library = _library_path()
    if library is None:
        raise MissingError(_MISSING)
    request = {
        "source": source,
        "file": file,
        "options": [*options, *(f"-I{folder}" for folder in include_folders())],
        "headers": dict(headers),
        "names": list(names),
    }
    answer = _answer(library, request)
    if "unloadable" in answer:
        raise MissingError(
            english("NVRTC cannot be loaded ({why}); install it again: {how}", why=answer["unloadable"], how=_INSTALL)
        )
    if "ptx" in answer:
        return Ptx(answer["ptx"], answer["names"])
    raise _error(answer["log"], file, source)


def _answer(library: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return answer_of(library, request)
    except DeathError as death:
        if death.crashed and request["names"]:
            # It crashes on the name of a template that has an error; where it is given none it says which.
            answer = _answer(library, {**request, "names": []})
            if "log" in answer:
                return answer
        raise CompileError("", 0, str(death)) from None


def _folders() -> list[Path]:
    package = importlib.util.find_spec("nvidia")
    return [Path(folder) for folder in package.submodule_search_locations or ()] if package else []


@cache
def _library_path() -> Path | None:
    paths = (path for folder in _folders() for pattern in _LIBRARIES for path in sorted(folder.glob(pattern)))
    return next((path for path in paths if "builtins" not in path.name), None)


def _error(log: str, file: str, source: str) -> CompileError:
    """Return the first error in a log, one of the text itself before one in a header."""
    errors = [(match["file"] or file, match["line"], match["what"].strip()) for match in _DIAGNOSTIC.finditer(log)]
    if not errors:
        return CompileError("", 0, next((line.strip() for line in log.splitlines() if line.strip()), "NVRTC failed"))
    where, line, what = next((error for error in errors if error[0] == file), errors[0])
    return CompileError(where, int(line or source.count("\n")), what)
