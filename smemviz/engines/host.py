"""Running the host part of a kernel file, with another module in the place of ``numba.cuda``.

The file is executed as it is; only what it imports as ``numba.cuda`` differs, so a kernel file needs nothing of
smemviz and, in lockstep, nothing of CUDA.
"""

import builtins
import importlib
import inspect
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from smemviz.engines.launch_shape import is_library
from smemviz.engines.process import as_it_was
from smemviz.engines.remedies import remedy
from smemviz.errors import KernelFileError, NoAttributeError, NoImportError, SmemvizError
from smemviz.frontends.numba.python_functions import python_function
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.messages import english

_MODULE_NAME = "smemviz_kernel_file"
_path_lock = threading.RLock()


def calls_a_script(kernel: FunctionType) -> bool:
    """Tell whether a kernel of Numba's own is made of a function of the script, as those of ``cuda.reduce`` are."""
    called = map(python_function, inspect.getclosurevars(kernel).nonlocals.values())
    return any(function is not None and not is_library(function.__code__.co_filename) for function in called)


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


def one_line(error: Exception) -> str:
    """Say what an exception says, without the lines in which Numba only names its own stages, and what to do."""
    if hasattr(error, "error_message"):  # Triton's, of which str() begins with the text of the kernel
        return _of_triton(error)
    lines = [line.strip() for line in str(error).splitlines()]
    lines = [line for line in lines if line and not line.startswith("Failed in ")]
    if isinstance(error, MemoryError):
        if not lines:
            return english("there is not enough memory (no size is known); make the arrays smaller")
        return english("there is not enough memory ({size}); make the arrays smaller", size=lines[0])
    return (f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__) + remedy(error)


def _of_triton(error: Any) -> str:
    """Say what Triton says of a kernel that it does not compile, and where: in the function that was called last."""
    while not error.error_message and hasattr(error.__cause__, "error_message"):
        error = error.__cause__
    what = (error.error_message or str(error.__cause__ or error)).strip().splitlines()[-1]
    line = getattr(error.node, "lineno", 0)
    text = (error.src or "").splitlines()[line - 1 : line]
    where = english(" (at {text})", text=text[0].strip()) if text else ""
    return f"{type(error).__name__}: {what}{where}"


def _line_in(file: str, error: BaseException) -> int:
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
