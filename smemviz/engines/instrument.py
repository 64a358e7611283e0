"""Rewriting a kernel so that every site tells its number in the PTX.

``tile[y, x]`` becomes ``load_k(site, tile, (y, x))``, where ``load_k`` is a device function that makes the access: one
of ``gpu.marks`` marks it before, one of ``lockstep.machine_code.accessors`` names the site in the instruction. What
Python evaluates first stays first; each device function is cloned for every chain of calls that reaches it, so a clone
knows its sites as numbers. Nothing here needs CUDA: trees go in, trees come out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.python_functions import canonical_name, declared_inline, declared_signatures
from smemviz.frontends.numba.sites import SiteTable, SiteTree
from smemviz.frontends.numba.sites.names import Names
from smemviz.recordings.data import Site

PREFIX = "__smemviz_"
DECLARE = f"{PREFIX}declare"
ROUND = f"{PREFIX}round"

_Node = TypeVar("_Node", bound=ast.AST)


@dataclass(frozen=True)
class Instrumented:
    """A rewritten function: its name, its module, and those that the device functions it calls became.

    ``signatures`` are Numba's, those that a device function is declared with; ``inline`` is its option of that name.
    """

    name: str
    module: ast.Module
    tree: SiteTree
    callees: tuple[Instrumented, ...]
    signatures: tuple[Any, ...] = ()
    inline: Any = "never"


def mark_name(action: str, site: Site) -> str:
    """Name the device function that marks and makes an access of a kind; ``action`` is what it does there."""
    pieces = [f"{site.pieces}_pieces"] if site.pieces > 1 else []
    parts = [f"{PREFIX}{action}", site.space, site.op, site.dtype, *pieces, *filter(None, [field_at(site)])]
    return "_".join(parts)


def field_at(site: Site) -> str:
    """Return the name of the field that a site is about, empty where it is a whole element."""
    return _field(ast.parse(f"({site.source})", mode="eval").body)


def instrument(table: SiteTable) -> Instrumented:
    """Rewrite a kernel and the device functions it reaches."""
    return _Rewrite(table, table.root, PREFIX + table.root.function.name).function()


def python_function(
    rewritten: Instrumented, accessing: Mapping[str, Any], known: Callable[[Any], Any] = lambda value: value
) -> Any:
    """Turn a rewritten tree into a Python function that sees what makes its accesses and its rewritten callees.

    ``known`` gives of what a name outside stands for what Numba knows it as.
    """
    from numba.cuda.decorators import jit

    function = rewritten.tree.function
    namespace = {name: known(value) for name, value in function.scope.items()} | dict(accessing)
    for callee in rewritten.callees:
        signatures = list(callee.signatures) or None
        into_callers = jit(signatures, device=True, inline=callee.inline, forceinline=True)
        namespace[callee.name] = into_callers(python_function(callee, accessing, known))
    exec(compile(rewritten.module, function.file, "exec", dont_inherit=True), namespace)
    return namespace[rewritten.name]


class _Rewrite:
    """The rewriting of one function as reached by one chain of calls."""

    def __init__(self, table: SiteTable, tree: SiteTree, name: str) -> None:
        self.table = table
        self.tree = tree
        self.name = name
        self.callees: list[Instrumented] = []
        self.temporaries = 0

    def function(self) -> Instrumented:
        for test in self.tree.in_lockstep:
            raise self.refused(test, "item by item")
        node = self.tree.function.node
        starred = [node.args.vararg] if node.args.vararg else []  # a tuple, for nothing may come behind a star
        parameters = (*node.args.posonlyargs, *node.args.args, *starred)
        arguments = ast.arguments(
            posonlyargs=[],
            args=[ast.arg(a.arg) for a in parameters],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        )
        body = self.body(node.body)
        function = ast.copy_location(
            ast.FunctionDef(name=self.name, args=arguments, body=body, decorator_list=[]), node
        )
        module = ast.fix_missing_locations(ast.Module([function], []))
        return Instrumented(self.name, module, self.tree, tuple(self.callees))

    # -- statements

    def body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        return [new for old in statements for new in self.statement(old)]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.Assign(targets=[ast.Tuple() | ast.List() as target]) if node.value in self.tree.loads:
                row, first = self.temporary(node, self.copy(node.value))
                items = self.items(node.value, row, target)
                return [first, *self.assign(node, target, items)]
            case ast.Assign(targets=[ast.Subscript() as target], value=ast.Tuple() as given) if self.stores(target):
                return self.row(node, target, given)
            case ast.Assign() if any(self.stores(target) for target in node.targets):
                value, first = self.temporary(node, self.expression(node.value))
                return [first, *(new for target in node.targets for new in self.assign(node, target, value))]
            case ast.AnnAssign(value=ast.expr() as expression) if self.stores(node.target):
                value, first = self.temporary(node, self.expression(expression))
                return [first, *self.assign(node, node.target, value)]
            case ast.AugAssign() if node.target in self.tree.stores:
                return self.augmented(node, self.element(node.target))
            case ast.For() if any(iterable in self.tree.loads for iterable in self.iterables(node.iter)):
                return self.loop(node)
            case ast.For() | ast.While():
                return [self.rounds(node, self.copy(node))]
            case _:
                return [self.copy(node)]

    def rounds(self, node: ast.For | ast.While, new: ast.For | ast.While) -> ast.stmt:
        """Keep the compiler from writing out several rounds of a loop, unless all lanes go round as often.

        Lanes that leave between these would make the requests of one round in groups of their own.
        """
        if not self.is_fixed_range(node):
            new.body.insert(0, self.place(ast.Expr(self.call(ROUND)), node))
        return new

    def is_fixed_range(self, node: ast.stmt) -> bool:
        """Tell whether a statement loops over a range of numbers that are known before the kernel runs."""
        if not (isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and self.builtin(node.iter) == "range"):
            return False
        names = Names(self.tree.function)
        plain = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context)
        parts = [part for argument in node.iter.args for part in ast.walk(argument)]
        return all(isinstance(part, plain) or self.is_number(part, names) for part in parts)

    def is_number(self, node: ast.AST, names: Names) -> bool:
        return isinstance(node, ast.Name) and isinstance(names.constant(node), int)

    # -- rows of arrays, item by item

    def iterables(self, node: ast.expr) -> list[ast.expr]:
        """Return what a loop goes over, seen through ``enumerate`` and ``zip``."""
        if isinstance(node, ast.Call) and self.builtin(node) in ("enumerate", "zip"):
            return [inner for argument in node.args for inner in self.iterables(argument)]
        return [node]

    def builtin(self, node: ast.Call) -> str:
        return canonical_name(node.func, self.tree.function).removeprefix("builtins.")

    def items(self, node: ast.expr, row: ast.expr, target: ast.Tuple | ast.List) -> ast.expr:
        site = self.tree.loads[node]
        parts = [self.site("load", site, row, ast.Constant(k)) for k in range(len(target.elts))]
        return ast.Tuple(list(parts), ast.Load())

    def row(self, at: ast.stmt, target: ast.Subscript, value: ast.Tuple) -> list[ast.stmt]:
        items, first = self.temporary(at, self.expression(value))
        view = ast.Subscript(self.expression(target.value), self.expression(target.slice), ast.Load())
        base, second = self.temporary(at, view)
        stores = [
            ast.Expr(self.site("store", self.tree.stores[target], base, ast.Constant(k), _item(items, ast.Constant(k))))
            for k in range(len(value.elts))
        ]
        return [first, second, *(self.place(store, at) for store in stores)]

    def loop(self, node: ast.For) -> list[ast.stmt]:
        """Loop over the places in arrays instead of their items."""
        number = ast.Name(f"{PREFIX}{self.temporaries}", ast.Load())
        self.temporaries += 1
        first: list[ast.stmt] = []
        sizes: list[ast.expr] = []
        item = self.iterated(node, node.iter, node.target, number, first, sizes)
        size = sizes[0] if len(sizes) == 1 else ast.Call(ast.Name("min", ast.Load()), sizes, [])
        places = ast.Call(ast.Name("range", ast.Load()), [size], [])
        body = [*self.assign(node, node.target, item), *self.body(node.body)]
        target = ast.Name(number.id, ast.Store())
        return [*first, self.rounds(node, self.place(ast.For(target, places, body, self.body(node.orelse)), node))]

    def iterated(
        self,
        at: ast.For,
        node: ast.expr,
        target: ast.expr,
        number: ast.expr,
        first: list[ast.stmt],
        sizes: list[ast.expr],
    ) -> ast.expr:
        """Return the item of a turn; what is evaluated before the loop goes to ``first`` and ``sizes``."""
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        if isinstance(node, ast.Call) and self.builtin(node) == "enumerate" and len(parts) == 2:
            item = self.iterated(at, node.args[0], parts[1], number, first, sizes)
            start = [*node.args[1:], *(k.value for k in node.keywords)]
            place = ast.BinOp(self.expression(start[0]), ast.Add(), number) if start else number
            return ast.Tuple([place, item], ast.Load())
        if isinstance(node, ast.Call) and self.builtin(node) == "zip" and len(parts) == len(node.args):
            pairs = zip(node.args, parts, strict=True)
            items = [self.iterated(at, argument, part, number, first, sizes) for argument, part in pairs]
            return ast.Tuple(items, ast.Load())
        is_array = node in self.tree.loads
        array, before = self.temporary(at, self.copy(node) if is_array else self.expression(node))
        first.append(before)
        sizes.append(ast.Call(ast.Name("len", ast.Load()), [array], []))
        if not is_array:
            return _item(array, number)
        if isinstance(target, ast.Tuple | ast.List):
            return self.items(node, _item(array, number), target)
        return self.site("load", self.tree.loads[node], array, number)

    def stores(self, target: ast.expr) -> bool:
        return any(node in self.tree.stores for node in ast.walk(target))

    def assign(self, at: ast.stmt, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        if isinstance(target, ast.Tuple | ast.List) and self.stores(target):
            return [
                new
                for i, element in enumerate(target.elts)
                for new in self.assign(at, element, ast.Subscript(value, ast.Constant(i), ast.Load()))
            ]
        if target in self.tree.stores:
            element = self.element(target)
            index = self.tree.stores[target]
            base, position = self.expression(element.value), self.expression(element.slice)
            return [self.place(ast.Expr(self.site("store", index, base, position, value)), at)]
        return [self.place(ast.Assign([self.copy(target)], value), at)]

    def augmented(self, node: ast.AugAssign, target: ast.Subscript) -> list[ast.stmt]:
        base, first = self.temporary(node, self.expression(target.value))
        position, second = self.temporary(node, self.expression(target.slice))
        old = self.site("load", self.tree.loads[node.target], base, position)
        before, third = self.temporary(node, old)
        value, fourth = self.temporary(node, ast.BinOp(before, node.op, self.expression(node.value)))
        store = self.site("store", self.tree.stores[node.target], base, position, value)
        return [first, second, third, fourth, self.place(ast.Expr(store), node)]

    def temporary(self, at: ast.stmt, value: ast.expr) -> tuple[ast.Name, ast.stmt]:
        name = f"{PREFIX}{self.temporaries}"
        self.temporaries += 1
        return ast.Name(name, ast.Load()), self.place(ast.Assign([ast.Name(name, ast.Store())], value), at)

    # -- expressions

    def expression(self, node: ast.expr) -> ast.expr:
        new: ast.expr
        if node in self.tree.loads:
            new = self.load(node)
        elif node in self.tree.stores and isinstance(node, ast.Call):  # cuda.stcg and its kin
            new = self.site(self.called(node), self.tree.stores[node], *(self.expression(a) for a in node.args))
        elif node in self.tree.atomics:
            assert isinstance(node, ast.Call)
            swap = self.called(node) == "atomic.compare_and_swap"
            arguments = [self.expression(a) for a in node.args]
            new = self.site("swap" if swap else "atomic", self.tree.atomics[node], *arguments)
        elif node in self.tree.declarations:
            assert isinstance(node, ast.Call)
            number = self.tree.declarations[node]
            new = self.call(DECLARE, self.number(number), node)
        elif node in self.tree.calls:
            assert isinstance(node, ast.Call)
            callee = _Rewrite(self.table, self.tree.calls[node], f"{self.name}_{len(self.callees)}").function()
            called = Names(self.tree.function).called(node.func)
            callee = replace(callee, signatures=declared_signatures(called), inline=declared_inline(called))
            self.callees.append(callee)
            new = self.call(callee.name, *self.arguments(node, callee.tree))
        elif node in self.tree.stores:
            raise self.refused(node, "a store without an assignment")
        else:
            return self.copy(node)
        return self.place(new, node)

    def load(self, node: ast.expr) -> ast.Call:
        """Mark a load and make it; the mark of a field is given the record's array and index."""
        if isinstance(node, ast.Call):  # cuda.ldcg and its kin
            return self.site(self.called(node), self.tree.loads[node], *(self.expression(a) for a in node.args))
        element = self.element(node)
        return self.site("load", self.tree.loads[node], self.expression(element.value), self.expression(element.slice))

    def element(self, node: ast.expr) -> ast.Subscript:
        """Return the element that a site is, or that it is a field of."""
        inner = node.value if _field(node) and isinstance(node, ast.Attribute | ast.Subscript) else node
        if not (_is_element(inner) and isinstance(inner, ast.Subscript)):
            raise self.refused(node, "a field of a variable" if _field(node) else "more than one element")
        return inner

    def refused(self, node: ast.expr, what: str) -> UnsupportedError:
        text = f"{ast.unparse(node)} is {what}, which is not counted on the GPU; run with engine lockstep"
        return UnsupportedError(self.tree.function.file, node.lineno, text)

    def called(self, node: ast.Call) -> str:
        """Return the name of what is called in ``cuda``, empty for anything else."""
        name = canonical_name(node.func, self.tree.function) or ""
        return name.removeprefix("cuda.") if name.startswith("cuda.") else ""

    def arguments(self, node: ast.Call, callee: SiteTree) -> list[ast.expr]:
        """Return a call's arguments in order of the parameters, defaults written out."""
        parameters = callee.function.node.args
        names = [a.arg for a in (*parameters.posonlyargs, *parameters.args)]
        given = {name: self.expression(value) for name, value in zip(names, node.args, strict=False)}
        given |= {k.arg: self.expression(k.value) for k in node.keywords if k.arg}
        defaults = dict(zip(reversed(names), reversed(parameters.defaults), strict=False))
        rest: list[ast.expr] = []
        if parameters.vararg:
            rest.append(ast.Tuple([self.expression(value) for value in node.args[len(names) :]], ast.Load()))
        return [*(given.get(name) or defaults[name] for name in names if name in given or name in defaults), *rest]

    def site(self, action: str, index: int, *arguments: ast.expr) -> ast.Call:
        name = mark_name(action, self.table.sites[index])
        return self.call(name, self.number(index), *arguments)

    def number(self, value: int) -> ast.Call:
        """Return a number that is no literal, for each of which Numba would compile a function anew."""
        return ast.Call(ast.Name(f"{PREFIX}int64", ast.Load()), [ast.Constant(value)], [])

    def call(self, name: str, *arguments: ast.expr) -> ast.Call:
        return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])

    # -- copying

    def copy(self, node: _Node) -> _Node:
        fields: dict[str, Any] = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                statements = bool(value) and isinstance(value[0], ast.stmt)
                fields[name] = self.body(value) if statements else [self.part(item) for item in value]
            else:
                fields[name] = self.part(value)
        return self.place(type(node)(**fields), node)

    def part(self, value: Any) -> Any:
        if isinstance(value, ast.expr):
            return self.expression(value)
        return self.copy(value) if isinstance(value, ast.AST) else value

    def place(self, new: _Node, old: ast.AST) -> _Node:
        return ast.copy_location(new, old)


def _item(items: ast.expr, number: ast.expr) -> ast.Subscript:
    return ast.Subscript(items, number, ast.Load())


def _field(node: ast.AST) -> str:
    match node:
        case ast.Attribute(attr=str() as name) | ast.Subscript(slice=ast.Constant(value=str() as name)):
            return name
        case _:
            return ""


def _is_element(node: ast.AST) -> bool:
    """Tell whether a site's node picks one element of an array, as ``a[i, j]`` does."""
    if not isinstance(node, ast.Subscript):
        return isinstance(node, ast.Call)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return not _field(node) and not any(isinstance(part, ast.Slice) for part in parts)
