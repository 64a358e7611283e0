"""The lines of a source file that belong to a launch: its kernel, and the functions in which it has sites."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache

from smemviz.program import lines_of
from smemviz.recording import Site


def spans(source: str, kernel: ast.FunctionDef | None, sites: Sequence[Site]) -> list[tuple[int, int]]:
    """Return the first and last lines of the functions to show, in file order."""
    functions = {kernel} if kernel is not None else set()
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.FunctionDef) and any(
            node.lineno <= site.line <= (node.end_lineno or 0) and node.name == site.function for site in sites
        ):
            functions.add(node)
    found = [
        (min([node.lineno, *(d.lineno for d in node.decorator_list)]), node.end_lineno or node.lineno)
        for node in functions
    ]
    return sorted(found) or [(1, len(lines_of(source)))]


@lru_cache(maxsize=16)
def parsed(source: str) -> ast.Module:
    """Parse a source; one that cannot be has no statement."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # in a stranger's recording
        return ast.Module([], [])
