"""One walk over a kernel's syntax tree, in the order Python evaluates it, that names every site.

It follows which name stands for which array: through assignments, views, tuples and device functions. A device function
is walked once for every chain of calls that reaches it, so the same line called from two places is two sites.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from smemviz.frontends.numba.functions import Function
from smemviz.frontends.numba.sites import elements, expressions
from smemviz.frontends.numba.sites.constructs import refusal
from smemviz.frontends.numba.sites.members import visited
from smemviz.frontends.numba.sites.table import ArrayRef, Ref, SiteTable, SiteTree, TupleRef, argument_ref
from smemviz.frontends.numba.sites.visit import Calls, Language, Visit, Walk, field_name
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
        visited(Visit(_PYTHON, walk, tree, bound, ()))
        if before == refs:
            return SiteTable(tree, tuple(walk.sites), tuple(walk.declarations), bool(walk.grids))


def _statement(visit: Visit, node: ast.stmt) -> None:
    match node:
        case ast.Assign():
            for target in node.targets:
                expressions.note_names(visit, target, node.value)
            _assign(visit, node.targets, node.value)
        case ast.AnnAssign(value=ast.expr() as expression):
            expressions.note_names(visit, node.target, expression)
            _assign(visit, [node.target], expression)
        case ast.AugAssign():
            _augmented(visit, node)
        case ast.For():
            item = _iterated(visit, node.iter)
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
            expressions.call(visit, call, used=False)
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


def _iterated(visit: Visit, node: ast.expr) -> Ref:
    """Visit what a loop goes over; return what its target stands for."""
    if isinstance(node, ast.Call):
        name = visit.names.canonical(node.func)
        if name == "builtins.enumerate" and node.args:
            item = _iterated(visit, node.args[0])
            for start in (*node.args[1:], *(k.value for k in node.keywords)):
                visit.value(start)
            return TupleRef((None, item))
        if name == "builtins.zip":
            return TupleRef(tuple(_iterated(visit, argument) for argument in node.args))
        if name in ("numpy.ndenumerate", "numpy.nditer"):
            return _elements(visit, node, name)
        if name == "numpy.ndindex":
            sizes = [visit.value(argument) for argument in node.args]
            items = sizes[0].items if len(sizes) == 1 and isinstance(sizes[0], TupleRef) else sizes
            return TupleRef((None,) * len(items))
    value = visit.value(node)
    if isinstance(value, ArrayRef):
        return elements.along(visit, node, value)
    item = None
    if isinstance(value, TupleRef):
        for ref in value.items:
            item = visit.join(node, item, ref)
    return item


def _elements(visit: Visit, node: ast.Call, name: str) -> Ref:
    """Visit a loop over the elements of arrays; return what its target stands for."""
    visit.tree.in_lockstep.append(node)
    arrays = [visit.value(argument) for argument in node.args]
    if len(arrays) == 1 and isinstance(arrays[0], TupleRef) and name == "numpy.nditer":
        arrays = list(arrays[0].items)
    if not all(isinstance(ref, ArrayRef) and not ref.is_record for ref in arrays):
        return None
    refs = [ref for ref in arrays if isinstance(ref, ArrayRef)]
    if name == "numpy.ndenumerate":
        visit.site(node, refs[0], "load")
        return TupleRef((TupleRef((None,) * refs[0].ndim), None))
    items = tuple(replace(ref, ndim=0) for ref in refs)
    return TupleRef(items) if len(items) > 1 else items[0]


_PYTHON = Language(expressions.value_of, _statement)
