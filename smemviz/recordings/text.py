"""The text of a source file: its lines, and where a function of it stands."""

from __future__ import annotations

import ast
from io import StringIO


def lines_of(source: str) -> list[str]:
    """Return the lines of a source as Python counts them; for ``str.splitlines`` a form feed, too, ends one."""
    return [line.removesuffix("\n") for line in StringIO(source, newline=None)]


def find_function(tree: ast.Module, name: str, line: int) -> ast.FunctionDef | None:
    """Find the definition of a function by its name and the line of its ``def`` or first decorator."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first <= line <= node.lineno:
                return node
    return None
