"""Whether an index is computed from the lane, the launch and constants alone, so that no data decides what it is."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from smemviz.constants import DTYPES, dotted_name
from smemviz.program import Program
from smemviz.recording import Site

_COMPUTING = {*DTYPES, "int", "float", "bool", "min", "max", "abs", "len", "range", "divmod", "grid", "gridsize"}
_SIZES = ("shape", "strides")


def index_is_computed(program: Program, kernel: str, site: Site) -> bool:
    """Whether nothing that a kernel loads, or that a function returns, can change the index of a site.

    False where that cannot be told: in device functions, and for kernels that are not in sight.
    """
    function = program.kernels.get(kernel)
    if function is None or site.calls or site.file:
        return False
    found, names = list(_indices(function, site)), _names_with_data(function)
    return bool(found) and not any(_has_data(index, names) for index in found)


def _indices(function: ast.FunctionDef, site: Site) -> Iterator[ast.expr]:
    """Give the indices that begin where a site does: one, or those of ``held[row][column]``."""
    for node in ast.walk(function):
        match node:
            case ast.Subscript(slice=index) | ast.Call(args=[_, index, *_]) if (node.lineno, node.col_offset) == (
                site.line,
                site.column,
            ):
                yield index


def _names_with_data(function: ast.FunctionDef) -> set[str]:
    """Return the variables that hold data at some time: what was assigned from it, or where it decides the way."""
    names: set[str] = set()
    while True:
        more = {name for node in ast.walk(function) for name in _gets_data(node, names)} - names
        if not more:
            return names
        names |= more


def _gets_data(node: ast.AST, names: set[str]) -> Iterable[str]:
    """Return the variables into which a statement puts data."""
    match node:
        case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.NamedExpr(value=value) if _has_data(
            value, names
        ):
            return _stored(node)
        case ast.AnnAssign(value=ast.expr() as value) if _has_data(value, names):
            return _stored(node)
        case ast.If(test=test) | ast.While(test=test) | ast.For(iter=test) if _has_data(test, names):
            return _stored(node)
        case ast.For() | ast.While() if _data_leaves(node, names):
            return _stored(node)
    return ()


def _data_leaves(loop: ast.For | ast.While, names: set[str]) -> bool:
    """Whether data decides when a loop, or a turn of it, ends."""
    ways = (node for node in ast.walk(loop) if isinstance(node, ast.If) and _has_data(node.test, names))
    return any(isinstance(node, ast.Break | ast.Continue) for way in ways for node in ast.walk(way))


def _stored(statement: ast.AST) -> Iterator[str]:
    return (n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _has_data(expression: ast.expr, names: set[str]) -> bool:
    """Whether an expression loads something, calls what may, or has a variable with data."""
    for node in ast.walk(expression):
        match node:
            case ast.Name(id=name) if name in names:
                return True
            case ast.Subscript(value=ast.Attribute(attr=attribute)) if attribute in _SIZES:
                continue
            case ast.Subscript():
                return True
            case ast.Call(func=called) if dotted_name(called).rpartition(".")[2] not in _COMPUTING:
                return True
    return False
