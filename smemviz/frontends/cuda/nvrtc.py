"""NVRTC, NVIDIA's compiler as a library, through ctypes: CUDA C++ to PTX, without a GPU and without nvcc."""

from __future__ import annotations

import ctypes
import importlib.util
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from smemviz.errors import MissingError

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
    r"^(?P<file>[^\n(]+)\((?P<line>\d+)\): (?:catastrophic )?error(?: #\S+)?: (?P<what>[^\n]*)", re.M
)
_MISSING = "CUDA C++ needs NVRTC, which is not installed: pip install 'smemviz[cpp]'; kernels in Python do without"


@dataclass(frozen=True)
class Ptx:
    """What NVRTC made: PTX, and the name in it of every name that was asked for."""

    text: str
    names: Mapping[str, str]


class CompileError(Exception):
    """The first error of a compilation: the file and line that NVRTC names, and what it says."""

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
        CompileError: for the first error in it.
        MissingError: when NVRTC is not installed.
    """
    library = _library()
    program = ctypes.c_void_p()
    files = [(name.encode(), text.encode()) for name, text in headers.items()]
    texts = (ctypes.c_char_p * len(files))(*(text for _, text in files))
    called = (ctypes.c_char_p * len(files))(*(name for name, _ in files))
    _check(library, library.nvrtcCreateProgram(
        ctypes.byref(program), source.encode(), file.encode(), len(files), texts, called
    ))  # fmt: skip
    try:
        for name in names:
            _check(library, library.nvrtcAddNameExpression(program, name.encode()))
        words = [option.encode() for option in (*options, *(f"-I{folder}" for folder in include_folders()))]
        array = (ctypes.c_char_p * len(words))(*words)
        if library.nvrtcCompileProgram(program, len(words), array):
            raise _error(_text(program, library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog), file)
        lowered = {}
        for name in names:
            symbol = ctypes.c_char_p()
            _check(library, library.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(symbol)))
            lowered[name] = (symbol.value or b"").decode()
        return Ptx(_text(program, library.nvrtcGetPTXSize, library.nvrtcGetPTX), lowered)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _folders() -> list[Path]:
    package = importlib.util.find_spec("nvidia")
    return [Path(folder) for folder in package.submodule_search_locations or ()] if package else []


@cache
def _library_path() -> Path | None:
    paths = (path for folder in _folders() for pattern in _LIBRARIES for path in sorted(folder.glob(pattern)))
    return next((path for path in paths if "builtins" not in path.name), None)


@cache
def _library() -> Any:
    path = _library_path()
    if path is None:
        raise MissingError(_MISSING)
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise MissingError(f"NVRTC cannot be loaded ({error}); install it again: pip install 'smemviz[cpp]'") from None
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    return library


def _check(library: Any, result: int) -> None:
    if result:
        raise CompileError("", 0, library.nvrtcGetErrorString(result).decode())


def _text(program: ctypes.c_void_p, size: Callable[..., int], fill: Callable[..., int]) -> str:
    length = ctypes.c_size_t()
    size(program, ctypes.byref(length))
    text = ctypes.create_string_buffer(length.value)
    fill(program, text)
    return text.value.decode(errors="replace")


def _error(log: str, file: str) -> CompileError:
    """Return the first error in a log, one of the text itself before one in a header."""
    diagnostics = list(_DIAGNOSTIC.finditer(log))
    if not diagnostics:
        return CompileError(file, 0, next((line.strip() for line in log.splitlines() if line.strip()), "NVRTC failed"))
    first = next((match for match in diagnostics if match["file"] == file), diagnostics[0])
    return CompileError(first["file"], int(first["line"]), first["what"].strip())
