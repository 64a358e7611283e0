"""The lines of a source file that belong to a launch: its kernel, and the functions in which it has sites."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache

from smemviz.frontends.cuda import is_cuda_file
from smemviz.frontends.cuda.functions import find_functions
from smemviz.frontends.cuda.lexing import Lines
from smemviz.frontends.numba.program import lines_of
from smemviz.recordings.data import Launch, Site


def spans(file: str, source: str, kernel: Launch | None, sites: Sequence[Site]) -> list[tuple[int, int]]:
    """Return the first and last lines of the functions to show, in file order.

    Those are the functions that have one of the sites and, where ``kernel`` is of this file, its own.
    """
    named = {(site.function, site.line) for site in sites}
    if kernel is not None:
        named.add((kernel.kernel.partition("<")[0], kernel.line))
    found = {
        (first, last)
        for name, first, last in functions(file, source)
        if any(name == wanted and first <= line <= last for wanted, line in named)
    }
    return sorted(found) or [(1, len(lines_of(source)))]


@lru_cache(maxsize=16)
def functions(file: str, source: str) -> tuple[tuple[str, int, int], ...]:
    """Return every function of a file: its name, its first and its last line."""
    if is_cuda_file(file):
        lines = Lines(source)
        return tuple(
            (one.name, lines.place(one.start)[0], lines.place(one.end - 1)[0]) for one in find_functions(source)
        )
    return tuple(
        (node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)]), node.end_lineno or node.lineno)
        for node in ast.walk(parsed(source))
        if isinstance(node, ast.FunctionDef)
    )


@lru_cache(maxsize=16)
def parsed(source: str) -> ast.Module:
    """Parse a source; one that cannot be has no statement."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # in a stranger's recording
        return ast.Module([], [])
