"""What is asked of the syntax tree of functions again and again: parameters, and the names that are assigned."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def positional(function: ast.FunctionDef) -> list[str]:
    """Return the parameters of a function that a call gives by their place."""
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]


def parameters(function: ast.FunctionDef) -> list[str]:
    """Return the parameters of a function, those that a call has to name and those with stars included."""
    starred = (argument for argument in (function.args.vararg, function.args.kwarg) if argument)
    return [*positional(function), *(argument.arg for argument in (*function.args.kwonlyargs, *starred))]


def stored(node: ast.AST) -> Iterator[str]:
    """Give the names that a piece of code assigns, each as often as it does."""
    return (part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))


def item_sources(source: ast.expr, count: int) -> list[ast.expr]:
    """Return what each of several targets is given: the items of a tuple that are written out, else all of it."""
    if isinstance(source, ast.Tuple) and not any(isinstance(item, ast.Starred) for item in source.elts):
        return source.elts if len(source.elts) == count else [source] * count
    return [source] * count
