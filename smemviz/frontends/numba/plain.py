"""Rewriting what Numba rewrites before it compiles: ``match``, lambdas, functions in a kernel, methods of arrays.

``match`` becomes ``if`` and ``elif``. A function defined in a kernel becomes a device function, whose first parameters
are the variables of the kernel that it reads; as in Numba, it gets what they hold where it is called, but for defaults,
which are what they were where it is defined. A list that a loop goes over, or that is asked for an item, becomes a
tuple, as Python makes it one, and an f-string of letters alone a text.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from smemviz.frontends.numba.methods import METHODS, PREFIX
from smemviz.frontends.numba.syntax import parameters, stored

_Function = ast.FunctionDef


@dataclass(frozen=True)
class Plain:
    """A function without what is rewritten, those that were defined in it, and the methods of arrays that it calls."""

    node: _Function
    inner: tuple[_Function, ...] = ()
    methods: frozenset[str] = frozenset()


@lru_cache(maxsize=256)
def plain(function: _Function) -> Plain:
    """Return a function rewritten; itself where there is nothing to rewrite."""
    rewritten = (ast.Match, ast.Lambda, ast.FunctionDef, ast.JoinedStr)
    nodes = [node for node in ast.walk(function) if node is not function]
    if not any(isinstance(node, rewritten) or _method(node) or _filled(node) or _listed(node) for node in nodes):
        return Plain(function)
    plainer = _Plainer(copy.deepcopy(function)).plain()
    return Plain(
        ast.fix_missing_locations(plainer.node), tuple(map(ast.fix_missing_locations, plainer.inner)), plainer.methods
    )


def _method(node: ast.AST) -> str:
    """Return the name of a method of arrays that is called, empty for anything else."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name), args=[], keywords=[]) if PREFIX + name in METHODS:
            return PREFIX + name
        case ast.Call(func=ast.Attribute(attr="sum"), args=[], keywords=[ast.keyword(arg="dtype")]):
            return f"{PREFIX}sum_as"
    return ""


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
    def __init__(self, function: _Function) -> None:
        self._function = function
        self._inner: dict[str, _Function] = {}
        self._stores = Counter(stored(function))
        self._methods: set[str] = set()

    def plain(self) -> Plain:
        self._function.body = [new for old in self._function.body for new in self._statements(old)]
        names = set(parameters(self._function)) | set(stored(self._function))
        closures = {name: _free(inner) & names for name, inner in self._inner.items()}
        grew = True
        while grew:  # a function takes what those that it calls take
            more = {
                n: own.union(*(closures[inner] for inner in _free(self._inner[n]) & set(closures)))
                for n, own in closures.items()
            }
            grew, closures = more != closures, more
        order = {name: sorted(own) for name, own in closures.items()}
        for name, inner in self._inner.items():
            _Captured(order).visit(inner)
            front = inner.args.posonlyargs or inner.args.args
            front[:0] = [ast.arg(captured) for captured in order[name]]
        _Captured(order).visit(self._function)
        return Plain(self._function, tuple(self._inner.values()), frozenset(self._methods))

    def _statements(self, node: ast.stmt) -> list[ast.stmt]:
        new = self.visit(node)
        return new if isinstance(new, list) else [new]

    def visit_FunctionDef(self, node: _Function) -> ast.AST | list[ast.stmt]:
        if node.decorator_list or self._stores[node.name] or node.name in self._inner:
            return node
        return self._put(node, node)

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

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as function) if self._stores[name] == 1:
                return self._put(as_function(name, function), node)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = _method(node)
        if not name:
            return node
        assert isinstance(node.func, ast.Attribute)
        self._methods.add(name)
        function = ast.copy_location(ast.Name(name, ast.Load()), node)
        arguments = [node.func.value, *(keyword.value for keyword in node.keywords)]
        return ast.copy_location(ast.Call(function, arguments, []), node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        name = f"lambda_{node.lineno}_{node.col_offset}"
        self._put(as_function(name, node), node)
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def _put(self, function: _Function, at: ast.AST) -> ast.AST | list[ast.stmt]:
        """Keep a function apart; return what computes its defaults where it is defined."""
        names = set(parameters(self._function)) | set(self._stores)
        computed: list[ast.stmt] = []
        for place, default in enumerate(function.args.defaults):
            if isinstance(at, ast.stmt) and names & _read(default):
                variable = ast.copy_location(ast.Name(f"{function.name}_default_{place}", ast.Load()), default)
                function.args.defaults[place] = variable
                self._stores[variable.id] += 1
                computed.append(ast.copy_location(ast.Assign([ast.Name(variable.id, ast.Store())], default), at))
        inner = _Plainer(function).plain()
        self._methods |= inner.methods
        self._inner |= {function.name: function for function in (*inner.inner, inner.node)}
        return [ast.fix_missing_locations(one) for one in computed] or ast.copy_location(ast.Pass(), at)

    def visit_Match(self, node: ast.Match) -> ast.AST | list[ast.stmt]:
        subject = f"match_{node.lineno}_{node.col_offset}"
        rest: list[ast.stmt] = []
        for case in reversed(node.cases):
            try:
                tests = _tests(case.pattern, subject)
            except _NotPlainError:
                return node
            tests += [case.guard] if case.guard is not None else []
            if not tests:
                rest = case.body
            else:
                test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
                rest = [ast.copy_location(ast.If(test, case.body, rest), case.pattern)]
        first = ast.copy_location(ast.Assign([ast.Name(subject, ast.Store())], node.subject), node)
        ast.fix_missing_locations(first)
        first.value = self.visit(first.value)
        return [first, *(new for old in rest for new in self._statements(ast.fix_missing_locations(old)))]


class _NotPlainError(Exception):
    """A pattern that Numba does not compile."""


def _tests(pattern: ast.pattern, subject: str) -> list[ast.expr]:
    name = ast.Name(subject, ast.Load())
    match pattern:
        case ast.MatchValue(value=value):
            return [ast.copy_location(ast.Compare(name, [ast.Eq()], [value]), pattern)]
        case ast.MatchSingleton(value=value):
            return [ast.copy_location(ast.Compare(name, [ast.Is()], [ast.Constant(value)]), pattern)]
        case ast.MatchOr(patterns=patterns):
            alternatives = [_tests(pattern, subject) for pattern in patterns]
            parts = [way[0] if len(way) == 1 else ast.BoolOp(ast.And(), way) for way in alternatives if way]
            return [ast.copy_location(ast.BoolOp(ast.Or(), parts), pattern)] if len(parts) == len(alternatives) else []
        case ast.MatchAs(pattern=inner, name=None | str() as target):
            tests = [] if inner is None else _tests(inner, subject)
            if target is None:
                return tests
            # Assigns, and holds whatever the value is.
            capture = ast.Compare(ast.NamedExpr(ast.Name(target, ast.Store()), name), [ast.Eq()], [name])
            return [*tests, ast.copy_location(ast.BoolOp(ast.Or(), [capture, ast.Constant(True)]), pattern)]
    raise _NotPlainError


class _Captured(ast.NodeTransformer):
    """Gives the calls of inner functions the variables that these take."""

    def __init__(self, taken: dict[str, list[str]]) -> None:
        self._taken = taken

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in self._taken:
            names = [ast.copy_location(ast.Name(name, ast.Load()), node.func) for name in self._taken[node.func.id]]
            node.args[:0] = names
        return node


@lru_cache(maxsize=256)
def as_function(name: str, node: ast.Lambda) -> _Function:
    """Return a lambda as a function with a name."""
    body: list[ast.stmt] = [ast.copy_location(ast.Return(node.body), node)]
    function = ast.FunctionDef(name=name, args=node.args, body=body, decorator_list=[])
    return ast.fix_missing_locations(ast.copy_location(function, node))


def _free(function: _Function) -> set[str]:
    return _read(function) - set(parameters(function)) - set(stored(function))


def _read(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
