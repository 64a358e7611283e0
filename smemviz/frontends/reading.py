"""Reading a kernel file, in whatever language it is written."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from smemviz.errors import InputError
from smemviz.frontends.cuda import CudaProgram, View, is_cuda_file, nvrtc, parse_cuda
from smemviz.frontends.cuda.launches import planned_launches
from smemviz.frontends.numba.notebook import NOTEBOOK, script_of, without_magics
from smemviz.frontends.numba.program import Program, parse_python
from smemviz.messages import english

_MAX_SOURCE_BYTES = 4 * 1024 * 1024
_MAX_NOTEBOOK_BYTES = 64 * 1024 * 1024  # with the pictures that its cells drew


def read_program(path: str | Path) -> Program:
    """Read a kernel file.

    Raises:
        InputError: when it is not a readable text file.
        KernelFileError: when it is not valid Python.
    """
    return parse_program(read_source(path), Path(path).as_posix())


def read_source(path: str | Path) -> str:
    """Read the text of a kernel file, of a notebook the code of its cells.

    Raises:
        InputError: when it is not a readable text file.
    """
    path = Path(path)
    is_notebook = path.suffix == NOTEBOOK
    if path.suffix == ".npz":
        raise InputError(
            english("{path}: is a recording; print it with smemviz show, or name the kernel file", path=path)
        )
    try:
        status = path.stat()
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):  # a pipe would be waited for
            raise InputError(english("{path}: is not a file; name a Python file with @cuda.jit kernels", path=path))
        if status.st_size > _MAX_SOURCE_BYTES and not (is_notebook and status.st_size <= _MAX_NOTEBOOK_BYTES):
            raise InputError(english("{path}: larger than 4 MiB; that is no kernel file", path=path))
        text = path.read_text(encoding="utf-8-sig")  # some editors put a mark before the text
        return code_in(text, path)
    except FileNotFoundError:
        raise InputError(english("{path}: no such file", path=path)) from None
    except IsADirectoryError:
        raise InputError(english("{path}: is a folder; name a kernel file in it", path=path)) from None
    except UnicodeDecodeError:
        if is_cuda_file(path.as_posix()):
            raise InputError(english("{path}: is not UTF-8 text; save it as UTF-8", path=path)) from None
        raise InputError(
            english("{path}: is not UTF-8 text; name a Python file with @cuda.jit kernels", path=path)
        ) from None
    except OSError as error:
        raise InputError(english("{path}: cannot be read: {error}", path=path, error=error.strerror)) from None


def code_in(text: str, path: Path) -> str:
    """Return the code in a file's text, of a notebook that of its cells; ``path`` tells which it is."""
    if path.suffix == NOTEBOOK:
        return script_of(text, path.as_posix())
    return without_magics(text) if path.suffix == ".py" else text


def parse_program(source: str, file: str) -> Program:
    """Read a kernel file's text; ``file`` is the name that errors show, and its ending tells the language."""
    return parse_cuda(source, file) if is_cuda_file(file) else parse_python(source, file)


def check_runnable(program: Program) -> None:
    """Make sure that a program has what a run needs, and that it can be run here.

    Raises:
        KernelFileError: naming what is missing.
        MissingError: when it is CUDA C++ and NVRTC is not installed.
    """
    if isinstance(program, CudaProgram):
        nvrtc.require()
        planned_launches(program)
    else:
        program.require_main()


def recorded_program(source: str, file: str, values: Mapping[str, object]) -> Program:
    """Read the text in a recording, with the values of its constants.

    Raises:
        KernelFileError: when it is not valid Python.
    """
    return with_values(parse_program(source, file), values)


def with_values(program: Program, values: Mapping[str, object]) -> Program:
    """Return a program in which constants have given values, overriding only what does not follow from the others."""
    for name, value in values.items():
        if name in program.constants and program.constants[name].value != value:
            program = program.with_constants({name: value})
    return program


def as_seen(program: Program, view: View) -> Program:
    """Return a program of CUDA C++ in the view of a recording; any other has one view."""
    return replace(program, view=view) if isinstance(program, CudaProgram) else program
