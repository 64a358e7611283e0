"""One walk over a kernel's syntax tree, in the order Python evaluates it, that names every site.

It follows which name stands for which array: through assignments, views, tuples and device functions. A device function
is walked once for every chain of calls that reaches it, so the same line called from two places is two sites.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from smemviz.constants import evaluate
from smemviz.errors import UnsupportedError
from smemviz.functions import Function, as_dtype
from smemviz.recording import Site
from smemviz.sites.declare import declared_array
from smemviz.sites.names import Names, source_text
from smemviz.sites.table import ArrayRef, Declaration, Ref, SiteTable, SiteTree, TupleRef, argument_ref

Calls = tuple[tuple[int, int], ...]

_MAX_CALL_DEPTH = 32
_MAX_SITES = 10_000


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
        walk = _Walk(kernel.file, refs)
        tree = SiteTree(kernel)
        _FunctionWalk(walk, tree, bound, ()).run()
        if before == refs:
            return SiteTable(tree, tuple(walk.sites), tuple(walk.declarations))


@dataclass(frozen=True)
class _Walk:
    """What the walks of all functions share: the kernel's file, the names of each function, and the growing lists."""

    file: str
    refs: dict[Calls, dict[str, Ref]]
    sites: list[Site] = field(default_factory=list)
    declarations: list[Declaration] = field(default_factory=list)


class _FunctionWalk:
    """The walk of one function as reached by one chain of calls."""

    def __init__(
        self,
        walk: _Walk,
        tree: SiteTree,
        bound: Mapping[str, Ref],
        calls: Calls,
        outer: tuple[ast.FunctionDef, ...] = (),
    ) -> None:
        self.walk = walk
        self.tree = tree
        self.function = tree.function
        self.calls = calls
        self.nodes = (*outer, tree.function.node)
        self.refs = walk.refs.setdefault(calls, {})
        self.names = Names(tree.function)
        self.declared: dict[ast.AST, str] = {}
        self.returned: Ref = None
        for name, ref in bound.items():
            self.refs[name] = self.join(tree.function.node, self.refs.get(name), ref)

    def run(self) -> Ref:
        """Walk the body; return what the function returns."""
        self.statements(self.function.node.body)
        return self.returned

    def unsupported(self, node: ast.AST, what: str) -> UnsupportedError:
        return UnsupportedError(self.function.file, getattr(node, "lineno", 1), what)

    def join(self, node: ast.AST, one: Ref, other: Ref) -> Ref:
        """Merge what a name may stand for; arrays of two kinds under one name cannot be followed."""
        if one is None or other is None or one == other:
            return other if one is None else one
        if isinstance(one, TupleRef) and isinstance(other, TupleRef) and len(one.items) == len(other.items):
            pairs = zip(one.items, other.items, strict=True)
            return TupleRef(tuple(self.join(node, a, b) for a, b in pairs))
        if isinstance(one, ArrayRef) and isinstance(other, ArrayRef):
            same = (one.space, one.ndim, one.dtype) == (other.space, other.ndim, other.dtype)
            if same:
                origins = tuple(dict.fromkeys((*one.origins, *other.origins)))
                return ArrayRef(origins, one.space, one.ndim, one.dtype)
        raise self.unsupported(node, "one name stands for two kinds of array here; give each its own name")

    # -- statements

    def statements(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign():
                for target in node.targets:
                    self.note_names(target, node.value)
                value = self.value(node.value)
                for target in node.targets:
                    self.bind(target, value)
            case ast.AnnAssign(value=ast.expr() as expression):
                self.note_names(node.target, expression)
                self.bind(node.target, self.value(expression))
            case ast.AugAssign(target=ast.Subscript() as target):
                base = self.value(target.value)
                picked = self.indices(target.slice)
                self.element(target, base, picked, "load")
                self.value(node.value)
                self.element(target, base, picked, "store")
            case ast.AugAssign():
                self.value(node.value)
            case ast.For():
                self.bind(node.target, self.loop_item(node))
                self.statements([*node.body, *node.orelse])
            case ast.Return(value=ast.expr() as expression):
                self.returned = self.join(node, self.returned, self.value(expression))
            case ast.Expr(value=ast.Call() as call):
                self.call(call, used=False)
            case ast.FunctionDef() | ast.ClassDef() | ast.With() | ast.Try() | ast.Import() | ast.ImportFrom():
                raise self.unsupported(node, f"{type(node).__name__} inside a kernel is not followed")
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.value(child)
                    elif isinstance(child, ast.stmt):
                        self.statement(child)

    def note_names(self, target: ast.expr, expression: ast.expr) -> None:
        """Remember the name that a declaration is about to get."""
        if isinstance(target, ast.Name):
            self.declared[expression] = target.id
        elif isinstance(target, ast.Tuple) and isinstance(expression, ast.Tuple):
            for one, inner in zip(target.elts, expression.elts, strict=False):
                self.note_names(one, inner)

    def loop_item(self, node: ast.For) -> Ref:
        iterated = self.value(node.iter)
        if isinstance(iterated, ArrayRef):
            raise self.unsupported(node.iter, "a loop over an array is not followed; loop over range(len(...))")
        item: Ref = None
        if isinstance(iterated, TupleRef):
            for one in iterated.items:
                item = self.join(node, item, one)
        return item

    def bind(self, target: ast.expr, value: Ref) -> None:
        match target:
            case ast.Name():
                self.refs[target.id] = self.join(target, self.refs.get(target.id), value)
            case ast.Tuple() | ast.List():
                parts = value.items if isinstance(value, TupleRef) else (None,) * len(target.elts)
                for element, part in zip(target.elts, parts, strict=False):
                    self.bind(element, part)
            case ast.Subscript():
                base = self.value(target.value)
                self.element(target, base, self.indices(target.slice), "store")
            case _:
                raise self.unsupported(target, f"assignment to {ast.unparse(target)} is not followed")

    # -- expressions

    def value(self, node: ast.expr) -> Ref:
        match node:
            case ast.Name():
                return self.name(node)
            case ast.Subscript():
                base = self.value(node.value)
                picked = self.indices(node.slice)
                if isinstance(base, TupleRef):
                    return self.item(node, base)
                return self.element(node, base, picked, "load")
            case ast.Attribute():
                return self.attribute(node)
            case ast.Call():
                return self.call(node, used=True)
            case ast.Tuple() | ast.List():
                return TupleRef(tuple(self.value(item) for item in node.elts))
            case ast.IfExp():
                self.value(node.test)
                return self.join(node, self.value(node.body), self.value(node.orelse))
            case ast.NamedExpr():
                self.note_names(node.target, node.value)
                value = self.value(node.value)
                self.bind(node.target, value)
                return value
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                raise self.unsupported(node, f"{type(node).__name__} inside a kernel is not followed")
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.value(child)
                return None

    def name(self, node: ast.Name) -> Ref:
        if node.id in self.names.locals:
            return self.refs.get(node.id)
        value = self.function.scope.get(node.id)
        if isinstance(value, np.ndarray):
            return ArrayRef((node.id,), "constant", value.ndim, value.dtype.name)
        return argument_ref(node.id, value) if isinstance(value, tuple) else None

    def item(self, node: ast.Subscript, base: TupleRef) -> Ref:
        index = evaluate(node.slice, {})
        if isinstance(index, int) and -len(base.items) <= index < len(base.items):
            return base.items[index]
        result: Ref = None
        for one in base.items:
            result = self.join(node, result, one)
        return result

    def attribute(self, node: ast.Attribute) -> Ref:
        if self.names.canonical(node):
            return None
        base = self.value(node.value)
        if isinstance(base, ArrayRef):
            if node.attr == "T":
                return base
            if node.attr in ("shape", "strides"):
                return TupleRef((None,) * base.ndim)
        return None

    def indices(self, node: ast.expr) -> int:
        """Visit the index of a subscript; return of how many axes it picks one position."""
        picked = 0
        for part in node.elts if isinstance(node, ast.Tuple) else [node]:
            value = self.value(part)
            if isinstance(part, ast.Slice) or (isinstance(part, ast.Constant) and part.value is Ellipsis):
                continue
            if isinstance(part, ast.Constant) and part.value is None:
                raise self.unsupported(part, "a new axis in an index is not followed; use reshape")
            picked += len(value.items) if isinstance(value, TupleRef) else 1
        return picked

    def element(self, node: ast.Subscript, base: Ref, picked: int, op: str) -> Ref:
        """Note a site where a subscript reaches an element; return the view where it does not."""
        if not isinstance(base, ArrayRef):
            if op == "store":
                raise self.unsupported(node, f"which array {ast.unparse(node.value)} is cannot be told")
            return None
        if picked > base.ndim:
            raise self.unsupported(node, f"{ast.unparse(node)} has {picked} indices for {base.ndim} axes")
        if picked < base.ndim:
            if op == "store":
                raise self.unsupported(node, "assignment to a slice is not followed; store element by element")
            return ArrayRef(base.origins, base.space, base.ndim - picked, base.dtype)
        self.site(node, base, op, self.tree.loads if op == "load" else self.tree.stores)
        return None

    def site(self, node: ast.expr, array: ArrayRef, op: str, into: dict[ast.AST, int]) -> None:
        if array.space not in ("shared", "global"):
            return
        dtype = np.dtype(array.dtype)
        if dtype.itemsize not in (1, 2, 4, 8, 16):
            raise self.unsupported(node, f"elements of {dtype.itemsize} bytes ({dtype}) are not followed")
        if len(self.walk.sites) == _MAX_SITES:
            raise self.unsupported(node, f"a kernel of more than {_MAX_SITES} sites is not followed")
        into[node] = len(self.walk.sites)
        self.walk.sites.append(
            Site(
                line=node.lineno,
                column=node.col_offset,
                end_line=node.end_lineno or node.lineno,
                end_column=node.end_col_offset or node.col_offset,
                source=source_text(self.function.source, node),
                array=" or ".join(array.origins),
                space="shared" if array.space == "shared" else "global",
                op=op,
                width=dtype.itemsize,
                dtype=array.dtype,
                function=self.function.name,
                calls=self.calls,
                file="" if self.function.file == self.walk.file else self.function.file,
            )
        )

    # -- calls

    def call(self, node: ast.Call, used: bool) -> Ref:
        name = self.names.canonical(node.func)
        if name in ("cuda.shared.array", "cuda.local.array"):
            return self.declare(node, name.split(".")[1])
        if name == "cuda.const.array_like":
            constant = self.value(node.args[0])
            if isinstance(constant, ArrayRef):
                return ArrayRef(constant.origins, "constant", constant.ndim, constant.dtype)
            return None
        if name.startswith("cuda.atomic."):
            return self.atomic(node, name.rpartition(".")[2], used)
        receiver = self.value(node.func.value) if isinstance(node.func, ast.Attribute) and not name else None
        arguments = [self.value(a) for a in node.args]
        keywords = {k.arg: self.value(k.value) for k in node.keywords if k.arg}
        if name in ("cuda.grid", "cuda.gridsize"):
            rank = evaluate(node.args[0], {}) if node.args else 1
            return TupleRef((None,) * rank) if isinstance(rank, int) and rank > 1 else None
        if isinstance(receiver, ArrayRef):
            return self.method(node, receiver, arguments)
        callee = self.names.callee(node.func)
        if callee is None:
            return None
        if any(callee.node is outer for outer in self.nodes):
            raise self.unsupported(node, f"{callee.name} calls itself; recursion is not followed")
        if len(self.calls) == _MAX_CALL_DEPTH:
            raise self.unsupported(node, f"device functions nested deeper than {_MAX_CALL_DEPTH} are not followed")
        names = [a.arg for a in (*callee.node.args.posonlyargs, *callee.node.args.args)]
        bound = dict(zip(names, arguments, strict=False)) | keywords
        inner = self.tree.calls[node] = SiteTree(callee)
        calls = (*self.calls, (node.lineno, node.col_offset))
        return _FunctionWalk(self.walk, inner, bound, calls, self.nodes).run()

    def method(self, node: ast.Call, receiver: ArrayRef, arguments: list[Ref]) -> Ref:
        """Return the array that ``reshape``, ``view``, ``ravel`` or ``transpose`` of an array gives."""
        assert isinstance(node.func, ast.Attribute)
        ndim, dtype = receiver.ndim, receiver.dtype
        match node.func.attr:
            case "reshape":
                shape = arguments[0] if len(arguments) == 1 else TupleRef(tuple(arguments))
                ndim = len(shape.items) if isinstance(shape, TupleRef) else 1
            case "ravel":
                ndim = 1
            case "view":
                found = self.dtype(node.args[0]) if node.args else None
                if found is None:
                    raise self.unsupported(node, f"the dtype of {ast.unparse(node)} is not constant")
                dtype = found.name
            case "transpose":
                pass
            case _:
                return None
        return ArrayRef(receiver.origins, receiver.space, ndim, dtype)

    def atomic(self, node: ast.Call, operation: str, used: bool) -> Ref:
        array = self.value(node.args[0])
        values = [self.value(a) for a in node.args[1:]]
        indices = 1
        if operation != "compare_and_swap" and values:
            indices = len(values[0].items) if isinstance(values[0], TupleRef) else 1
        if not isinstance(array, ArrayRef):
            raise self.unsupported(node, f"which array {ast.unparse(node.args[0])} is cannot be told")
        if indices != array.ndim:
            raise self.unsupported(node, f"{ast.unparse(node)} has {indices} indices for {array.ndim} axes")
        operation = {"compare_and_swap": "cas"}.get(operation, operation.strip("_"))
        if used or operation in ("cas", "exch", "inc", "dec"):
            op = f"atomic_{operation}"
        elif operation == "add" and np.dtype(array.dtype).kind in "iu" and evaluate(node.args[-1], {}) == 1:
            op = "reduce_inc"  # compiled to a population count (H200, counters.csv)
        else:
            op = f"reduce_{operation}"
        self.site(node, array, op, self.tree.atomics)
        return None

    def declare(self, node: ast.Call, space: str) -> ArrayRef:
        shape, dtype = declared_array(node, space, self.names, self.dtype)
        name = self.declared.get(node, f"array at line {node.lineno}")
        if space == "shared":
            self.tree.declarations[node] = len(self.walk.declarations)
            self.walk.declarations.append(Declaration(name, shape, dtype.name, node.lineno, shape == (0,)))
        return ArrayRef((name,), space, len(shape), dtype.name)

    def dtype(self, node: ast.expr) -> np.dtype[np.generic] | None:
        """Return the dtype an expression names: ``float32``, ``np.float32``, ``DTYPE``, ``a.dtype``, ``"float32"``."""
        if isinstance(node, ast.Constant):
            return as_dtype(node.value)
        if isinstance(node, ast.Attribute) and node.attr == "dtype":
            base = self.value(node.value)
            if isinstance(base, ArrayRef):
                return np.dtype(base.dtype)
        return as_dtype(self.names.constant(node))
