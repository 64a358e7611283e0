"""Running the host part of a kernel file, with another module in the place of ``numba.cuda``.

The file is executed as it is; only what it imports as ``numba.cuda`` differs, so a kernel file needs nothing of
smemviz and, in lockstep, nothing of CUDA.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import math
import operator
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from numbers import Integral
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from smemviz.engines.process import as_it_was
from smemviz.engines.remedies import remedy
from smemviz.errors import KernelFileError, LaunchError, NoAttributeError, NoImportError, PlaceError, SmemvizError
from smemviz.frontends.numba.python_functions import python_function
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.messages import english
from smemviz.paths import is_packaged
from smemviz.recordings.data import ArrayInfo, Dim3, Launch, Requests, Site, Totals
from smemviz.recordings.findings import LAUNCH_REFUSED, MAIN_FAILED, Finding

_MODULE_NAME = "smemviz_kernel_file"
_path_lock = threading.RLock()


@dataclass(frozen=True)
class Configuration:
    """What stands in the brackets of ``kernel[grid, block, stream, dynamic_shared]``, sizes as three numbers."""

    grid: Dim3
    block: Dim3
    stream: Any = 0
    dynamic_shared: int = 0

    @property
    def threads(self) -> int:
        """All threads of the grid."""
        return math.prod(self.grid) * math.prod(self.block)

    def launched(
        self,
        kernel: str,
        line: int,
        shared_bytes: int,
        sites: tuple[Site, ...],
        arrays: tuple[ArrayInfo, ...],
        requests: Requests,
        totals: Totals | None,
        file: str = "",
    ) -> Launch:
        """Return what a launch of this shape did, as a recording has it."""
        return Launch(
            kernel=kernel,
            line=line,
            grid=self.grid,
            block=self.block,
            dynamic_shared=self.dynamic_shared,
            shared_bytes=shared_bytes,
            sites=sites,
            arrays=arrays,
            requests=requests,
            totals=totals,
            file=file,
        )


def configuration(place: tuple[str, int], launch_shape: object) -> Configuration:
    """Read a launch configuration; ``place`` is the file and line that errors name.

    Raises:
        LaunchError: when it is not two to four values, or a size is not a positive integer.
    """
    values = launch_shape if isinstance(launch_shape, tuple) else (launch_shape,)
    if not 2 <= len(values) <= 4:
        raise LaunchError(
            *place, english("a launch needs kernel[grid, block], then perhaps a stream and dynamic shared bytes")
        )
    grid, block = _dim3(place, "grid", values[0]), _dim3(place, "block", values[1])
    shared = values[3] if len(values) > 3 else 0
    try:
        dynamic = operator.index(shared)
    except TypeError:  # an array has __index__, too
        dynamic = -1
    if dynamic < 0:
        raise LaunchError(
            *place, english("dynamic shared memory is a number of bytes; {value} is not", value=repr(shared))
        )
    stream = values[2] if len(values) > 2 else 0
    if len(values) > 2 and isinstance(stream, Integral) and stream:
        raise LaunchError(
            *place,
            english(
                "the third value of a launch is a stream; {value} is none. Dynamic shared memory is the fourth: "
                "kernel[grid, block, 0, {value}]",
                value=stream,
            ),
        )
    return Configuration(grid, block, stream, dynamic)


def _dim3(place: tuple[str, int], what: str, size: object) -> Dim3:
    if type(size) is int and size > 0:
        return size, 1, 1
    values = tuple(size) if isinstance(size, Sequence) else (size,)
    try:
        sizes = [operator.index(value) for value in values]
    except TypeError:
        sizes = []
    if not 1 <= len(sizes) <= 3:
        if what == "grid":
            raise LaunchError(*place, english("the grid is one to three integers; {value} is not", value=repr(size)))
        raise LaunchError(*place, english("the block is one to three integers; {value} is not", value=repr(size)))
    sizes += [1] * (3 - len(sizes))
    if min(sizes) < 1:
        if what == "grid":
            raise LaunchError(*place, english("the grid {sizes} has a size below 1", sizes=tuple(sizes)))
        raise LaunchError(*place, english("the block {sizes} has a size below 1", sizes=tuple(sizes)))
    return sizes[0], sizes[1], sizes[2]


def launch_place(file: str) -> tuple[str, int]:
    """Return the file and line of the innermost running frame of ``file``: the launch a user wrote.

    With no file it is the innermost frame of anything but smemviz and Numba.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name == file or not (file or is_library(name)):
            return name, frame.f_lineno
        frame = frame.f_back
    return file, 1


def is_library(file: str) -> bool:
    """Tell whether a source file is one of smemviz, its gallery left out, or of Numba."""
    return file.startswith(_libraries()) and not is_packaged(file)


def calls_a_script(kernel: FunctionType) -> bool:
    """Tell whether a kernel of Numba's own is made of a function of the script, as those of ``cuda.reduce`` are."""
    called = map(python_function, inspect.getclosurevars(kernel).nonlocals.values())
    return any(function is not None and not is_library(function.__code__.co_filename) for function in called)


@cache
def _libraries() -> tuple[str, ...]:
    """Return the folders of smemviz and of Numba, found without loading Numba: a confined process could not."""
    specs = (find_spec(name) for name in ("smemviz", "numba", "numba_cuda"))  # the last holds numba.cuda if it is there
    return tuple(f"{Path(spec.origin).parent}{os.sep}" for spec in specs if spec and spec.origin)


def run_main(program: PythonProgram, cuda: ModuleType | None = None) -> None:
    """Execute a kernel file with ``cuda`` as its ``numba.cuda``, Numba's own if there is none; then call ``main()``.

    Raises:
        KernelFileError: when the file lacks a part or raises; it names the line in the file.
    """
    program.require_main()
    namespace = namespace_for(program.file, cuda)
    with _import_path(program.file), as_it_was():
        _guarded(program.file, program.code(), namespace)


def namespace_for(file: str, cuda: ModuleType | None) -> dict[str, Any]:
    """Return the globals a kernel file starts with; its imports of ``numba.cuda`` find ``cuda``, if there is one."""
    namespace: dict[str, Any] = {"__name__": _MODULE_NAME, "__file__": file, "__smemviz_dtype__": numba_type}
    if cuda is not None:
        namespace["__builtins__"] = {**vars(builtins), "__import__": _importing(cuda)}
    return namespace


def _importing(cuda: ModuleType) -> Callable[..., Any]:
    """Return the import statement of a file that finds ``cuda`` as its ``numba.cuda``."""

    def import_module(
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        if level == 0 and name == "numba" and fromlist:
            return _Numba(cuda)
        if level == 0 and (name == "numba" or name.startswith("numba.cuda")):
            return _submodule(cuda, name, fromlist) if fromlist else _Numba(cuda)
        return builtins.__import__(name, globals, locals, fromlist or (), level)

    return import_module


class _Numba(ModuleType):
    """``numba`` with another ``cuda`` in it, and what comes with that."""

    def __init__(self, cuda: ModuleType) -> None:
        super().__init__("numba")
        self.cuda = cuda
        vars(self).update(getattr(cuda, "in_numba", {}))

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("numba"), name)


def _submodule(cuda: ModuleType, name: str, fromlist: Sequence[str]) -> Any:
    """Return a module in ``cuda``, which has the names that are imported from it."""
    module: Any = cuda
    for part in name.split(".")[2:]:
        try:
            module = getattr(module, part)
        except AttributeError:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name) from None
    try:
        for part in fromlist:
            if part != "*":
                getattr(module, part)
    except NoAttributeError as error:
        raise NoImportError(error.file, error.line, error.what) from None
    except AttributeError:
        pass  # Python says so itself
    return module


def numba_type(name: str) -> Any:
    """Return Numba's type of a name, which a program's code asks for as ``__smemviz_dtype__``."""
    return getattr(importlib.import_module("numba").types, name)


def _guarded(file: str, code: CodeType, namespace: dict[str, Any]) -> None:
    try:
        exec(code, namespace)
        namespace["main"]()
    except SmemvizError:
        raise
    except SystemExit as error:
        if error.code:
            raise KernelFileError(
                file, _line_in(file, error), english("exits with status {code}", code=repr(error.code))
            ) from None
    except Exception as error:
        raise KernelFileError(file, _line_in(file, error), one_line(error)) from error


def main_failed(error: PlaceError) -> Finding:
    """Turn what ended ``main()`` after it launched something into a finding, so that what was recorded is kept."""
    is_sentence = not isinstance(error, KernelFileError)  # and no exception's name
    return Finding.of(MAIN_FAILED, "main", error.line, {"what": error.what, "is_sentence": is_sentence})


def running_line(error: BaseException) -> int:
    """Return the line of the user's that was running when something stopped it."""
    names = [frame for frame in traceback.extract_tb(error.__traceback__) if not is_library(frame.filename)]
    own = [frame.lineno for frame in names if not frame.filename.startswith(("<", sys.prefix, sys.base_prefix))]
    return (own[-1] if own else None) or 1


def stopped(line: int) -> Finding:
    """Turn Ctrl-C or SIGTERM into a finding at the line that was running, so that what was recorded is kept."""
    return Finding.of(MAIN_FAILED, "main", line, {})


def not_recorded(error: PlaceError, *, has_run: bool = False, in_cell: bool = False) -> Finding:
    """Turn the refusal to record a kernel into a finding, so that what the others recorded is kept.

    ``has_run`` is whether the launch was made all the same, ``in_cell`` whether others follow in a notebook.
    """
    if not error.kernel:
        return main_failed(error)
    missing = "its recording" if has_run else "its cell" if in_cell else "all after it"
    return Finding.of(LAUNCH_REFUSED, error.kernel, error.line, {"what": sentence(error.what), "missing": missing})


def sentence(text: str) -> str:
    """Return a text with a full stop at its end."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def one_line(error: Exception) -> str:
    """Say what an exception says, without the lines in which Numba only names its own stages, and what to do."""
    lines = [line.strip() for line in str(error).splitlines()]
    lines = [line for line in lines if line and not line.startswith("Failed in ")]
    if isinstance(error, MemoryError):
        if not lines:
            return english("there is not enough memory (no size is known); make the arrays smaller")
        return english("there is not enough memory ({size}); make the arrays smaller", size=lines[0])
    return (f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__) + remedy(error)


def _line_in(file: str, error: BaseException) -> int:
    """Return the innermost line of ``file`` that an exception passed through."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return (lines[-1] if lines else None) or 1


@contextmanager
def _import_path(file: str) -> Iterator[None]:
    """Let a kernel file import what stands beside it."""
    folder = str(Path(file).resolve().parent)
    with _path_lock:
        sys.path.insert(0, folder)
    try:
        yield
    finally:
        with _path_lock:
            sys.path.remove(folder)
