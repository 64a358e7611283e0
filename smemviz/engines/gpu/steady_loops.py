"""Loops of a kernel whose rounds cost the same: elements of shared arrays that move on by the same distance each round.

Found in the syntax tree are loops over a range, of assignments alone, and in them elements whose index grows with the
loop's variable. That the distance is the same for all lanes, and whole words, is looked at when the kernel runs.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from copy import deepcopy

from smemviz.frontends.numba.functions import as_dtype, canonical_name
from smemviz.frontends.numba.sites import SiteTree
from smemviz.recordings.data import Site

_STATEMENTS = (ast.Assign, ast.AugAssign, ast.AnnAssign)
_PART_LANES = (ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.Lambda, ast.ListComp, ast.GeneratorExp)
_MODULES = ("math.", "builtins.", "numpy.", "operator.")


def steady_elements(node: ast.For, tree: SiteTree, sites: Sequence[Site]) -> dict[ast.Subscript, int]:
    """Return the elements that a loop may count at once, each with the site it is; none where it is no such loop."""
    if not (isinstance(node.target, ast.Name) and _is_range(node.iter, tree) and not node.orelse):
        return {}
    assigned: set[str] = set()
    for statement in node.body:
        if not isinstance(statement, _STATEMENTS):
            return {}
        assigned |= {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    if node.target.id in assigned:
        return {}
    assigned.add(node.target.id)
    parts = [part for statement in node.body for part in ast.walk(statement)]
    if any(_parts_lanes(part) or (isinstance(part, ast.Call) and not _is_plain(part, tree)) for part in parts):
        return {}
    found: dict[ast.Subscript, int] = {}
    for part in parts:
        number = tree.loads.get(part, tree.stores.get(part))
        if number is None or sites[number].space != "shared" or (part in tree.loads and part in tree.stores):
            continue
        if (
            isinstance(part, ast.Subscript)
            and _is_fixed(part.value, assigned)
            and _grows(part, assigned, node.target.id)
        ):
            found[part] = number
    return found


def index_parts(element: ast.Subscript) -> list[ast.expr]:
    """Return the indices of an element, one for each dimension."""
    return element.slice.elts if isinstance(element.slice, ast.Tuple) else [element.slice]


def names(node: ast.AST, name: str) -> bool:
    """Tell whether a name occurs in an expression."""
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def with_value(node: ast.expr, name: str, value: ast.expr) -> ast.expr:
    """Return an expression with another one in the place of a name."""
    replaced: ast.expr = _Replaced(name, value).visit(deepcopy(node))
    return replaced


class _Replaced(ast.NodeTransformer):
    def __init__(self, name: str, value: ast.expr) -> None:
        self._name = name
        self._value = value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._value if node.id == self._name else node


def _is_range(node: ast.expr, tree: SiteTree) -> bool:
    """Tell whether a loop goes over ``range(stop)`` or ``range(start, stop)`` of plain numbers."""
    return (
        isinstance(node, ast.Call)
        and canonical_name(node.func, tree.function) == "builtins.range"
        and len(node.args) in (1, 2)
        and not node.keywords
        and not any(isinstance(part, ast.Call | ast.Subscript) for argument in node.args for part in ast.walk(argument))
    )


def _parts_lanes(part: ast.AST) -> bool:
    """Tell whether lanes may leave out a part of an expression, as in ``a < b < c`` where a is not less."""
    return isinstance(part, _PART_LANES) or (isinstance(part, ast.Compare) and len(part.ops) > 1)


def _is_plain(call: ast.Call, tree: SiteTree) -> bool:
    """Tell whether a call only computes: no site, no barrier, no way for lanes to part."""
    if any(call in table for table in (tree.loads, tree.stores, tree.atomics, tree.declarations, tree.calls)):
        return False
    if canonical_name(call.func, tree.function).startswith(_MODULES):
        return True
    try:
        return as_dtype(tree.function.lookup(ast.unparse(call.func))) is not None
    except KeyError:
        return False


def _is_fixed(node: ast.expr, assigned: set[str]) -> bool:
    return not any(names(node, name) for name in assigned) and not any(
        isinstance(part, ast.Call | ast.Subscript) for part in ast.walk(node)
    )


def _grows(element: ast.Subscript, assigned: set[str], variable: str) -> bool:
    """Tell whether the indices of an element are sums in which the variable stands at most once as a factor."""
    return all(_degree(part, assigned, variable) in (0, 1) for part in index_parts(element))


def _degree(node: ast.expr, assigned: set[str], variable: str) -> int | None:
    """Return how often the variable is a factor of a sum, None where it is something else than a sum."""
    if isinstance(node, ast.Name) and node.id == variable:
        return 1
    if _is_fixed(node, assigned):
        return None if isinstance(node, ast.Slice) else 0
    match node:
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner):
            return _degree(inner, assigned, variable)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as op, right=right):
            first, second = _degree(left, assigned, variable), _degree(right, assigned, variable)
            if first is None or second is None:
                return None
            return first + second if isinstance(op, ast.Mult) else max(first, second)
    return None
