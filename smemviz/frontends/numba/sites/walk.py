"""One walk over a kernel's syntax tree, in the order Python evaluates it, that names every site.

It follows which name stands for which array: through assignments, views, tuples and device functions. A device function
is walked once for every chain of calls that reaches it, so the same line called from two places is two sites.
"""

import ast
from collections.abc import Sequence

from smemviz.frontends.numba.python_functions import Function
from smemviz.frontends.numba.sites import elements, site_arrays
from smemviz.frontends.numba.sites.constructs import refusal
from smemviz.frontends.numba.sites.iterated import iterated
from smemviz.frontends.numba.sites.table import (
    ArrayRef,
    Calls,
    Language,
    Ref,
    SiteTable,
    SiteTree,
    Visit,
    Walk,
    argument_ref,
    field_name,
)
from smemviz.frontends.numba.syntax import positional
from smemviz.messages import english

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
_CONTEXTS = (ast.With, ast.AsyncWith, ast.AsyncFor, ast.Try, ast.TryStar, ast.Match)
_SCOPES = (ast.Global, ast.Nonlocal, ast.Delete)
_REFUSED = (*_DEFINITIONS, *_CONTEXTS, *_SCOPES)


def find_sites(kernel: Function, arguments: Sequence[object]) -> SiteTable:
    """Walk a kernel for arguments of these types.

    Raises:
        UnsupportedError: when which array a name stands for cannot be told, or a shape is not constant.
    """
    by_name = zip(positional(kernel.node), arguments, strict=False)
    bound = {name: argument_ref(name, value) for name, value in by_name}
    refs: dict[Calls, dict[str, Ref]] = {}
    while True:  # what a name stands for only ever widens, so this ends; once when nothing is swapped in a loop
        before = {calls: dict(names) for calls, names in refs.items()}
        walk = Walk(kernel.file, refs)
        tree = SiteTree(kernel)
        Visit(_PYTHON, walk, tree, bound, ()).run()
        if before == refs:
            return SiteTable(tree, tuple(walk.sites), tuple(walk.declarations), bool(walk.grids))


def _statement(visit: Visit, node: ast.stmt) -> None:
    match node:
        case ast.Assign():
            for target in node.targets:
                site_arrays.note_names(visit, target, node.value)
            _assign(visit, node.targets, node.value)
        case ast.AnnAssign(value=ast.expr() as expression):
            site_arrays.note_names(visit, node.target, expression)
            _assign(visit, [node.target], expression)
        case ast.AugAssign():
            _augmented(visit, node)
        case ast.For():
            item = iterated(visit, node.iter)
            visit.nested += 1
            elements.bind(visit, node.target, item, node.iter)
            visit.statements([*node.body, *node.orelse])
            visit.nested -= 1
        case ast.If() | ast.While():
            visit.value(node.test)
            visit.nested += 1
            visit.statements([*node.body, *node.orelse])
            visit.nested -= 1
        case ast.Return(value=ast.expr() as expression):
            visit.returned = visit.join(node, visit.returned, visit.value(expression))
        case ast.Expr(value=ast.Call() as call):
            site_arrays.call(visit, call, used=False)
        case _ if isinstance(node, _REFUSED):
            raise visit.unsupported(node, refusal(node))
        case _:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    visit.value(child)
                elif isinstance(child, ast.stmt):
                    _statement(visit, child)


def _assign(visit: Visit, targets: Sequence[ast.expr], expression: ast.expr) -> None:
    value = visit.value(expression)
    if isinstance(value, ArrayRef) and value.ndim and any(isinstance(t, ast.Subscript) for t in targets):
        visit.site(expression, value, "load")  # an array is copied into a part of another
    for target in targets:
        elements.bind(visit, target, value, expression)


def _augmented(visit: Visit, node: ast.AugAssign) -> None:
    target = node.target
    if isinstance(target, ast.Name):
        visit.value(node.value)
        return
    base = visit.value(target.value)
    if isinstance(target, ast.Attribute):
        name: str | None = target.attr
    else:
        name = field_name(target.slice)
    if name is not None:
        elements.part(visit, target, base, name, "load")
        visit.value(node.value)
        elements.part(visit, target, base, name, "store")
        return
    assert isinstance(target, ast.Subscript)
    picked = elements.indices(visit, target.slice)
    if elements.element(visit, target, base, picked, "load") is not None:
        raise visit.unsupported(
            node, english("{code} is an array; update it element by element", code=ast.unparse(target))
        )
    visit.value(node.value)
    elements.element(visit, target, base, picked, "store")


_PYTHON = Language(site_arrays.value_of, _statement)
