"""Executing a script as ``python script.py`` does, in this process: the user's own code, trusted as such."""

import ast
import linecache
import re
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, ModuleType

from smemviz.engines.host import numba_type, one_line
from smemviz.engines.process import as_it_was
from smemviz.engines.remedies import wants_arguments
from smemviz.errors import (
    BlocksError,
    KernelFileError,
    LaunchError,
    MissingError,
    PlaceError,
    SmemvizError,
    UnsupportedError,
)
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.messages import english

_CALL_OF_MAIN = compile("main()", "<smemviz>", "exec")
_INSTALLED = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def execute(
    program: PythonProgram, arguments: Sequence[str], refused: Callable[[PlaceError], None], *, has_gpu: bool
) -> None:
    """Run a script as ``__main__`` with its arguments; afterwards the process is as it was.

    In a notebook a cell that fails ends only itself. What is ``refused`` there is told, one launch after the other.

    A ``main()`` is called that a file without a kernel of its own does not call itself.

    Modules that it imported from its own folder are forgotten, so that the next run reads them anew.

    Raises:
        KernelFileError: when the script raises, or exits with anything but 0; it names the line.
        MissingError: when it asks something of the GPU that only one there can answer.
    """
    module = _module("__main__", program)
    folder = Path(program.file).resolve().parent  # which the script may leave
    failed: list[PlaceError] = []
    with _as_main(module, program.file, folder, arguments), as_it_was(), _with_its_threads():
        for code in (*program.parts(), *([_CALL_OF_MAIN] if program.leaves_main else [])):
            try:
                _execute(program, code, module, folder, arguments, has_gpu=has_gpu)
            except (KernelFileError, LaunchError, UnsupportedError) as error:
                if isinstance(error, BlocksError) or not program.is_notebook:
                    raise
                if error.kernel:
                    refused(error)
                else:
                    failed.append(error)
    if len(failed) > 1:
        first, more = failed[0], len(failed) - 1
        what = english("{what}; {more} of the cells after it failed as well", what=first.what, more=more)
        raise KernelFileError(first.file, first.line, what) from first
    if failed:
        raise failed[0]


@contextmanager
def _with_its_threads() -> Iterator[None]:
    """Wait for the threads that are started meanwhile, as Python does where a script ends."""
    before = threading.enumerate()
    try:
        yield
    finally:
        for thread in threading.enumerate():
            if thread not in before and not thread.daemon:
                thread.join()


def execute_as_child(program: PythonProgram) -> None:
    """Run a script as ``multiprocessing`` does in a process that it has started anew."""
    module = sys.modules["__main__"] = sys.modules["__mp_main__"] = _module("__mp_main__", program)
    for code in program.parts():
        exec(code, module.__dict__)


def _module(name: str, program: PythonProgram) -> ModuleType:
    """Return the module that a script runs in, its text known by its file's name."""
    module = ModuleType(name)
    module.__dict__.update(__file__=program.file, __smemviz_dtype__=numba_type)
    linecache.checkcache()
    lines = program.source.splitlines(keepends=True)  # the file may have others, of a notebook and with magics
    linecache.cache[program.file] = (len(program.source), None, lines, program.file)
    return module


def _execute(
    program: PythonProgram, code: CodeType, module: ModuleType, folder: Path, arguments: Sequence[str], *, has_gpu: bool
) -> None:
    try:
        exec(code, module.__dict__)
    except SmemvizError:
        raise
    except SystemExit as error:
        if error.code:
            what = english("exits with status {code}", code=repr(error.code))
            if not arguments and re.search(r"\b(argv|argparse|click|fire|docopt)\b", program.source):
                what = f"{what}; {wants_arguments()}"
            raise _failure(program.file, folder, error, what) from None
    except Exception as error:
        if not has_gpu and type(error).__name__ == "CudaSupportError":
            asked = _failure(program.file, folder, error, english("calls the driver directly; run it on a GPU"))
            raise MissingError(str(asked)) from None
        if not has_gpu and type(error).__name__ == "DynamicLibNotFoundError":
            what = english(
                "calls the driver directly, whose launches are not recorded; launch the kernel with cuda.core or "
                "cupy.RawKernel"
            )
            raise _failure(program.file, folder, error, what) from None
        _, other = why_not_recorded(program, error) or (0, "")
        raise _failure(program.file, folder, error, other or one_line(error)) from error


@contextmanager
def _as_main(module: ModuleType, file: str, folder: Path, arguments: Sequence[str]) -> Iterator[None]:
    """Set up what a script finds of itself: its arguments, its module and its folder on the path."""
    before = sys.argv, list(sys.path), sys.modules["__main__"], set(sys.modules)
    sys.argv = [file, *arguments]
    sys.path.insert(0, str(folder))
    sys.modules["__main__"] = module
    try:
        yield
    finally:
        sys.argv, sys.path[:], sys.modules["__main__"], known = before
        for name in set(sys.modules) - known:
            if is_own(getattr(sys.modules[name], "__file__", None), folder):
                del sys.modules[name]


def is_own(file: str | None, folder: Path) -> bool:
    """Tell whether a file is the user's: it lies in the script's folder, and is not an installed one."""
    return bool(file) and Path(str(file)).is_relative_to(folder) and not str(file).startswith(_INSTALLED)


def _failure(file: str, folder: Path, error: BaseException, what: str) -> KernelFileError:
    """Name the script's innermost line, and where in its other files it came from, if it did."""
    own = [(file, 1)]
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == file or is_own(frame.filename, folder):
            own.append((frame.filename, frame.lineno or 1))
    line = next(line for name, line in reversed(own) if name == file)
    inner, at = own[-1]
    return KernelFileError(file, line, what if inner == file else f"{what} (at {Path(inner).name}:{at})")


_INLINE = "torch.utils.cpp_extension"
# Languages of kernels by the module that has them.
_LANGUAGES = {
    "warp": "Warp",
    "cutlass": "CuTe DSL",
    "cuda.tile": "cuTile",
    "jax.experimental.pallas": "Pallas",
    "taichi": "Taichi",
    "tilelang": "TileLang",
    _INLINE: "load_inline",
}
# How those that compile without a GPU are told to write down PTX.
_PTX_OF = {
    "cutlass": "CUTE_DSL_KEEP_PTX=1 CUTE_DSL_LINEINFO=1 CUTE_DSL_ARCH=sm_80 python",
    "warp": "wp.set_module_options({'lineinfo': True}); wp.compile_aot_module(module, arch=80, use_ptx=True)",
}


def why_not_recorded(program: PythonProgram, error: Exception | None = None) -> tuple[int, str] | None:
    """Return the line of a script that imports such a language, and what to say of its kernels.

    None where none is imported, or an error is not of the language: of its import, or met in its package.
    """
    folder = Path(program.file).parent
    for line, module in _imported(program.tree):
        name = next((name for name in _LANGUAGES if f"{module}.".startswith(f"{name}.")), "")
        is_own = (folder / f"{name.partition('.')[0]}.py").exists()  # a file beside the script
        if name and not is_own and (error is None or _is_of(error, name)):
            return line, _not_recorded(name)
    return None


def _not_recorded(name: str) -> str:
    if name == _INLINE:
        return english(
            "kernels of torch's load_inline are not recorded; save their CUDA C++ as a .cu file, and name that"
        )
    if name in _PTX_OF:
        values = {"language": _LANGUAGES[name], "how": _PTX_OF[name]}
        return english("kernels of {language} are recorded from a .ptx file alone; have it written: {how}", **values)
    return english(
        "kernels of {language} are not recorded; those of Numba, CuPy, PyCUDA, cuda.core, Triton and CUDA C++ are",
        language=_LANGUAGES[name],
    )


def _is_of(error: Exception, name: str) -> bool:
    if isinstance(error, ModuleNotFoundError):
        return (error.name or "").partition(".")[0] == name.partition(".")[0]
    folder = f"/{name.replace('.', '/')}"
    files = [Path(frame.filename).as_posix() for frame in traceback.extract_tb(error.__traceback__)]
    return any(f"{folder}/" in file or file.endswith(f"{folder}.py") for file in files)


def _imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
