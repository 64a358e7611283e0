"""One walk over a kernel's syntax tree, in the order Python evaluates it, that names every site.

It follows which name stands for which array: through assignments, views, tuples and device functions. A device function
is walked once for every chain of calls that reaches it, so the same line called from two places is two sites.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from smemviz.frontends.numba.functions import Function
from smemviz.frontends.numba.sites.constructs import refusal
from smemviz.frontends.numba.sites.elements import Calls, Walk, field_name
from smemviz.frontends.numba.sites.expressions import ExpressionWalk
from smemviz.frontends.numba.sites.table import ArrayRef, Ref, SiteTable, SiteTree, TupleRef, argument_ref
from smemviz.messages import said

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
_CONTEXTS = (ast.With, ast.AsyncWith, ast.AsyncFor, ast.Try, ast.TryStar, ast.Match)
_SCOPES = (ast.Global, ast.Nonlocal, ast.Delete)
_REFUSED = (*_DEFINITIONS, *_CONTEXTS, *_SCOPES)


def find_sites(kernel: Function, arguments: Sequence[object]) -> SiteTable:
    """Walk a kernel for arguments of these types.

    Raises:
        UnsupportedError: when which array a name stands for cannot be told, or a shape is not constant.
    """
    names = [a.arg for a in (*kernel.node.args.posonlyargs, *kernel.node.args.args)]
    bound = {name: argument_ref(name, value) for name, value in zip(names, arguments, strict=False)}
    refs: dict[Calls, dict[str, Ref]] = {}
    while True:  # what a name stands for only ever widens, so this ends; once when nothing is swapped in a loop
        before = {calls: dict(names) for calls, names in refs.items()}
        walk = Walk(kernel.file, refs)
        tree = SiteTree(kernel)
        _FunctionWalk(walk, tree, bound, ()).run()
        if before == refs:
            return SiteTable(tree, tuple(walk.sites), tuple(walk.declarations), bool(walk.grids))


class _FunctionWalk(ExpressionWalk):
    """The walk of one function as reached by one chain of calls."""

    def run(self) -> Ref:
        """Walk the body; return what the function returns."""
        self.statements(self.function.node.body)
        return self.returned

    def enter(self, tree: SiteTree, bound: dict[str, Ref], calls: Calls) -> Ref:
        return _FunctionWalk(self.walk, tree, bound, calls, self.nodes).run()

    def statements(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign():
                for target in node.targets:
                    self.note_names(target, node.value)
                self.assign(node.targets, node.value)
            case ast.AnnAssign(value=ast.expr() as expression):
                self.note_names(node.target, expression)
                self.assign([node.target], expression)
            case ast.AugAssign():
                self.augmented(node)
            case ast.For():
                self.bind(node.target, self.iterated(node.iter))
                self.statements([*node.body, *node.orelse])
            case ast.Return(value=ast.expr() as expression):
                self.returned = self.join(node, self.returned, self.value(expression))
            case ast.Expr(value=ast.Call() as call):
                self.call(call, used=False)
            case _ if isinstance(node, _REFUSED):
                raise self.unsupported(node, refusal(node))
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.value(child)
                    elif isinstance(child, ast.stmt):
                        self.statement(child)

    def assign(self, targets: Sequence[ast.expr], expression: ast.expr) -> None:
        value = self.value(expression)
        if isinstance(value, ArrayRef) and value.ndim and any(isinstance(t, ast.Subscript) for t in targets):
            self.site(expression, value, "load")  # an array is copied into a part of another
        for target in targets:
            self.bind(target, value)

    def augmented(self, node: ast.AugAssign) -> None:
        target = node.target
        if isinstance(target, ast.Name):
            self.value(node.value)
            return
        base = self.value(target.value)
        if isinstance(target, ast.Attribute):
            name: str | None = target.attr
        else:
            name = field_name(target.slice)
        if name is not None:
            self.part(target, base, name, "load")
            self.value(node.value)
            self.part(target, base, name, "store")
            return
        assert isinstance(target, ast.Subscript)
        picked = self.indices(target.slice)
        if self.element(target, base, picked, "load") is not None:
            raise self.unsupported(
                node, said("{code} is an array; update it element by element", code=ast.unparse(target))
            )
        self.value(node.value)
        self.element(target, base, picked, "store")

    def bind(self, target: ast.expr, value: Ref) -> None:
        match target:
            case ast.Name():
                self.refs[target.id] = self.join(target, self.refs.get(target.id), value)
            case ast.Tuple() | ast.List():
                parts = value.items if isinstance(value, TupleRef) else (None,) * len(target.elts)
                for element, part in zip(target.elts, parts, strict=False):
                    self.bind(element, part)
            case ast.Subscript(slice=ast.Constant(value=str() as name)):
                self.part(target, self.value(target.value), name, "store")
            case ast.Subscript():
                base = self.value(target.value)
                self.element(target, base, self.indices(target.slice), "store")
            case ast.Attribute():
                self.part(target, self.value(target.value), target.attr, "store")
            case _:
                raise self.unsupported(target, said("assignment to {code} is not followed", code=ast.unparse(target)))

    # -- loops

    def iterated(self, node: ast.expr) -> Ref:
        """Visit what a loop goes over; return what its target stands for."""
        if isinstance(node, ast.Call):
            name = self.names.canonical(node.func)
            if name == "builtins.enumerate" and node.args:
                item = self.iterated(node.args[0])
                for start in (*node.args[1:], *(k.value for k in node.keywords)):
                    self.value(start)
                return TupleRef((None, item))
            if name == "builtins.zip":
                return TupleRef(tuple(self.iterated(one) for one in node.args))
        value = self.value(node)
        if isinstance(value, ArrayRef):
            if value.ndim == 1 and not value.is_record:
                self.site(node, value, "load")
                return None
            return replace(value, ndim=value.ndim - 1)
        item = None
        if isinstance(value, TupleRef):
            for one in value.items:
                item = self.join(node, item, one)
        return item
