"""Rewriting what Python and Numba rewrite before Numba compiles: lists that are gone over, texts, and ``fill``.

A list that a loop goes over, or that is asked for an item, becomes a tuple, as Python makes it one; an f-string of
letters alone a text; ``a.fill(x)`` stores in all elements.
"""

import ast
import copy
from functools import lru_cache

_Function = ast.FunctionDef


@lru_cache(maxsize=256)
def plain(function: _Function) -> _Function:
    """Return a function rewritten; itself where there is nothing to rewrite."""
    nodes = [node for node in ast.walk(function) if node is not function]
    if not any(isinstance(node, ast.JoinedStr) or _filled(node) or _listed(node) for node in nodes):
        return function
    rewritten: _Function = _Plainer().visit(copy.deepcopy(function))
    return ast.fix_missing_locations(rewritten)


def _filled(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return the array that ``a.fill(x)`` fills, and with what."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=array, attr="fill"), args=[value], keywords=[])):
            return array, value
    return None


def _listed(node: ast.AST) -> ast.List | None:
    """Return the list that a loop goes over, or that is asked for an item: Python makes a tuple of it."""
    match node:
        case ast.For(iter=ast.List() as items):
            return items
        case ast.Compare(ops=[*_, ast.In() | ast.NotIn()], comparators=[*_, ast.List() as items]):
            return items
    return None


def _tuple(items: ast.expr) -> ast.Tuple:
    assert isinstance(items, ast.List)
    return ast.copy_location(ast.Tuple(items.elts, ast.Load()), items)


class _Plainer(ast.NodeTransformer):
    def visit_For(self, node: ast.For) -> ast.AST:
        if _listed(node):
            node.iter = _tuple(node.iter)
        self.generic_visit(node)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if _listed(node):
            node.comparators[-1] = _tuple(node.comparators[-1])
        self.generic_visit(node)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        parts = [str(part.value) for part in node.values if isinstance(part, ast.Constant)]
        return ast.copy_location(ast.Constant("".join(parts)), node) if len(parts) == len(node.values) else node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        filled = _filled(node)
        if filled is None:
            return node
        part = ast.copy_location(ast.Subscript(filled[0], ast.Constant(...), ast.Store()), node.value)
        return ast.copy_location(ast.Assign([part], filled[1]), node)


@lru_cache(maxsize=256)
def as_function(name: str, node: ast.Lambda) -> _Function:
    """Return a lambda as a function with a name."""
    body: list[ast.stmt] = [ast.copy_location(ast.Return(node.body), node)]
    function = ast.FunctionDef(name=name, args=node.args, body=body, decorator_list=[])
    return ast.fix_missing_locations(ast.copy_location(function, node))
