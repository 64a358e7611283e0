"""What Python's entry among the languages names: how its files are read, and what is known of them by their text."""

from __future__ import annotations

import ast
from pathlib import Path

from smemviz.frontends.numba.notebook import NOTEBOOK, script_of, without_magics
from smemviz.frontends.numba.python_program import PythonProgram, parse_python
from smemviz.frontends.numba.reads import code_reads, constants_read
from smemviz.frontends.numba.sites.loaded import loaded_sites
from smemviz.frontends.program import Program

__all__ = ["check_runnable", "code_in", "code_reads", "constants_read", "functions", "is_available", "loaded_sites"]

parse = parse_python
_NOTEBOOK_BYTES = 64 * 1024 * 1024  # with the pictures that its cells drew


def code_in(text: str, path: Path) -> str:
    """Return the code in a file's text, of a notebook that of its cells."""
    if path.suffix == NOTEBOOK:
        return script_of(text, path.as_posix())
    return without_magics(text) if path.suffix == ".py" else text


def most_bytes(path: Path, usual: int) -> int:
    """Return how long a file may be."""
    return _NOTEBOOK_BYTES if path.suffix == NOTEBOOK else usual


def is_available() -> bool:
    """Tell whether this machine has what a run needs."""
    return True


def check_runnable(program: Program) -> None:
    """Make sure that a program has a kernel and a ``main()``."""
    assert isinstance(program, PythonProgram)
    program.require_main()


def functions(source: str) -> tuple[tuple[str, int, int], ...]:
    """Return every function of a source: its name, its first and its last line."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # in a stranger's recording
        return ()
    return tuple(
        (node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)]), node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    )
