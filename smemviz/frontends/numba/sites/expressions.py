"""Expressions: which array or tuple each gives, through views, device functions and CUDA's own functions."""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np

from smemviz.frontends.numba.constants import evaluate
from smemviz.frontends.numba.functions import Function, as_dtype
from smemviz.frontends.numba.sites.constructs import refusal
from smemviz.frontends.numba.sites.declare import declared_array
from smemviz.frontends.numba.sites.elements import ElementWalk
from smemviz.frontends.numba.sites.table import ArrayRef, Declaration, Ref, SiteTree, TupleRef, argument_ref
from smemviz.messages import said

_MAX_CALL_DEPTH = 32
_MAX_TUPLE_DEPTH = 8
_REFUSED = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.JoinedStr, ast.Yield, ast.Await)
# What an array itself has; of an array of records, before the fields of its records.
OF_ARRAYS = frozenset({"shape", "strides", "ndim", "size", "itemsize", "nbytes", "dtype", "T"})
CACHE_HINTS = dict.fromkeys(("ldca", "ldcg", "ldcs", "ldlu", "ldcv"), "load")
CACHE_HINTS |= dict.fromkeys(("stcg", "stcs", "stwb", "stwt"), "store")


class ExpressionWalk(ElementWalk):
    """A walk that visits expressions."""

    def enter(self, tree: SiteTree, bound: dict[str, Ref], calls: tuple[tuple[int, int], ...]) -> Ref:
        """Walk a device function; return what it returns."""
        raise NotImplementedError

    def bind(self, target: ast.expr, value: Ref) -> None:
        """Let a target stand for a value."""
        raise NotImplementedError

    def value(self, node: ast.expr) -> Ref:
        match node:
            case ast.Name():
                return self.name(node)
            case ast.Subscript():
                return self.subscript(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Call():
                return self.call(node, used=True)
            case ast.Tuple() | ast.List():
                return self.tuple_of(node)
            case ast.IfExp():
                self.value(node.test)
                return self.join(node, self.value(node.body), self.value(node.orelse))
            case ast.NamedExpr():
                self.note_names(node.target, node.value)
                value = self.value(node.value)
                self.bind(node.target, value)
                return value
            case _ if isinstance(node, _REFUSED):
                raise self.unsupported(node, refusal(node))
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.value(child)
                return None

    def tuple_of(self, node: ast.Tuple | ast.List) -> Ref:
        """Return a tuple; one that holds itself, turn after turn of a loop, would grow without end."""
        found = TupleRef(tuple(self.values(node.elts)))
        if _depth(found) > _MAX_TUPLE_DEPTH:
            raise self.unsupported(
                node, said("tuples nested deeper than {most} are not followed", most=_MAX_TUPLE_DEPTH)
            )
        return found

    def values(self, nodes: list[ast.expr]) -> list[Ref]:
        """Visit expressions, the items of a starred tuple one by one."""
        found: list[Ref] = []
        for node in nodes:
            if not isinstance(node, ast.Starred):
                found.append(self.value(node))
                continue
            items = self.value(node.value)
            if not isinstance(items, TupleRef):
                raise self.unsupported(node, said("it is not known how many items {code} has", code=ast.unparse(node)))
            found.extend(items.items)
        return found

    def name(self, node: ast.Name) -> Ref:
        if node.id in self.names.locals:
            return self.refs.get(node.id)
        return self.of_module(node.id, self.names.constant(node))

    def of_module(self, name: str, value: object) -> Ref:
        """Return what an object of the module is in a kernel: its arrays are constants."""
        if isinstance(value, np.ndarray | np.void):
            return ArrayRef((name,), "constant", value.ndim, value.dtype)
        return argument_ref(name, value)  # an array of the device stays one

    def attribute(self, node: ast.Attribute) -> Ref:
        name = self.names.canonical(node)
        if name:
            known = name.startswith(("cuda.", "math."))
            return None if known else self.of_module(node.attr, self.names.constant(node))
        base = self.value(node.value)
        if isinstance(base, TupleRef):
            return self.part(node, base, node.attr, "load")
        if not isinstance(base, ArrayRef):
            return None
        of_array = base.ndim > 0 and node.attr in OF_ARRAYS
        if (base.is_record and not of_array) or node.attr in ("real", "imag"):
            return self.part(node, base, node.attr, "load")
        if node.attr == "T":
            return base
        return TupleRef((None,) * base.ndim) if node.attr in ("shape", "strides") else None

    def note_names(self, target: ast.expr, expression: ast.expr) -> None:
        """Remember the name that a declaration is about to get."""
        if isinstance(target, ast.Name):
            self.declared[expression] = target.id
        elif isinstance(target, ast.Tuple) and isinstance(expression, ast.Tuple):
            for one, inner in zip(target.elts, expression.elts, strict=False):
                self.note_names(one, inner)

    # -- calls

    def call(self, node: ast.Call, used: bool) -> Ref:
        name = self.names.canonical(node.func)
        if name in ("cuda.shared.array", "cuda.local.array"):
            return self.declare(node, name.split(".")[1])
        if name.startswith("cuda.atomic."):
            return self.atomic(node, name.rpartition(".")[2], used)
        if name.removeprefix("cuda.") in CACHE_HINTS:
            return self.hinted(node, CACHE_HINTS[name.removeprefix("cuda.")])
        receiver = self.value(node.func.value) if isinstance(node.func, ast.Attribute) and not name else None
        arguments = self.values(node.args)
        keywords = {k.arg: self.value(k.value) for k in node.keywords if k.arg}
        if isinstance(receiver, ArrayRef):
            return self.method(node, receiver, arguments)
        callee = self.names.callee(node.func)
        if callee is None:
            return self.known(node, name, arguments)
        return self.device_function(node, callee, arguments, keywords)

    def known(self, node: ast.Call, name: str, arguments: list[Ref]) -> Ref:
        """Return what a function of CUDA or Python gives, where that is an array or a tuple."""
        if name in ("cuda.grid", "cuda.gridsize"):
            rank = evaluate(node.args[0], {}) if node.args else 1
            return TupleRef((None,) * rank) if isinstance(rank, int) and 1 < rank <= 3 else None
        if name == "cuda.const.array_like" and arguments and isinstance(arguments[0], ArrayRef):
            return replace(arguments[0], space="constant")
        if name.startswith("numpy.") and len(arguments) > 1 and isinstance(arguments[-1], ArrayRef):
            for one, at in zip(arguments, node.args, strict=False):  # a function of NumPy over whole arrays
                if isinstance(one, ArrayRef):
                    self.site(at, one, "store" if at is node.args[-1] else "load")
        if name == "cuda.cg.this_grid":
            self.walk.grids.append(node)
        if name == "cuda.literal_unroll" and arguments:
            return arguments[0]
        return TupleRef((None, None)) if name in ("cmath.polar", "math.frexp", "math.modf") else None

    def device_function(self, node: ast.Call, callee: Function, arguments: list[Ref], keywords: dict[str, Ref]) -> Ref:
        if any(callee.node is outer for outer in self.nodes):
            raise self.unsupported(
                node, said("{function} calls itself; recursion is not followed", function=callee.name)
            )
        if len(self.calls) == _MAX_CALL_DEPTH:
            raise self.unsupported(
                node, said("device functions nested deeper than {most} are not followed", most=_MAX_CALL_DEPTH)
            )
        names = [a.arg for a in (*callee.node.args.posonlyargs, *callee.node.args.args)]
        bound = dict(zip(names, arguments, strict=False)) | keywords
        given = dict(zip(names, node.args, strict=False)) if len(arguments) == len(node.args) else {}
        given |= {k.arg: k.value for k in node.keywords if k.arg}
        inner = self.tree.calls[node] = SiteTree(self.names.called_with(callee, given))
        return self.enter(inner, bound, (*self.calls, (node.lineno, node.col_offset)))

    def method(self, node: ast.Call, receiver: ArrayRef, arguments: list[Ref]) -> Ref:
        """Return the array that ``reshape``, ``view``, ``ravel`` or ``transpose`` of an array gives."""
        assert isinstance(node.func, ast.Attribute)
        match node.func.attr:
            case "reshape":
                shape = arguments[0] if len(arguments) == 1 else TupleRef(tuple(arguments))
                return replace(receiver, ndim=len(shape.items) if isinstance(shape, TupleRef) else 1)
            case "ravel" | "flatten":
                return replace(receiver, ndim=1)
            case "view":
                found = self.dtype(node.args[0]) if node.args else None
                if found is None:
                    raise self.unsupported(node, said("the dtype of {code} is not constant", code=ast.unparse(node)))
                return replace(receiver, dtype=found)
            case "transpose":
                return receiver
            case _:
                return None

    def atomic(self, node: ast.Call, operation: str, used: bool) -> Ref:
        array = self.value(node.args[0]) if node.args else None
        values = self.values(node.args[1:])
        indices = 1
        if operation != "compare_and_swap" and values:
            indices = len(values[0].items) if isinstance(values[0], TupleRef) else 1
        self.whole_element(node, array, indices)
        assert isinstance(array, ArrayRef)
        operation = {"compare_and_swap": "cas"}.get(operation, operation.strip("_"))
        if used or operation in ("cas", "exch", "inc", "dec"):
            op = f"atomic_{operation}"
        elif operation == "add" and array.dtype.kind in "iu" and evaluate(node.args[-1], {}) == 1:
            op = "reduce_inc"  # compiled to a population count (H200, counters.csv)
        else:
            op = f"reduce_{operation}"
        self.site(node, array, op, self.tree.atomics)
        return None

    def hinted(self, node: ast.Call, op: str) -> Ref:
        """Note the site of ``cuda.ldcg(array, i)`` and its kin, which say how to use the caches."""
        array, index, *_ = [*self.values(node.args), None, None]
        self.whole_element(node, array, len(index.items) if isinstance(index, TupleRef) else 1)
        assert isinstance(array, ArrayRef)
        self.site(node, array, op)
        return None

    def whole_element(self, node: ast.Call, array: Ref, indices: int) -> None:
        if not isinstance(array, ArrayRef):
            text = ast.unparse(node.args[0]) if node.args else ast.unparse(node)
            raise self.unsupported(node, said("it is not known which array {code} is", code=text))
        if indices != array.ndim:
            raise self.unsupported(
                node,
                said(
                    "{code} has {indices} indices for {axes} axes",
                    code=ast.unparse(node),
                    indices=indices,
                    axes=array.ndim,
                ),
            )

    def declare(self, node: ast.Call, space: str) -> ArrayRef:
        shape, dtype, alignment = declared_array(node, space, self.names, self.dtype)
        name = self.declared.get(node, f"array at line {node.lineno}")
        if space == "shared":
            self.tree.declarations[node] = len(self.walk.declarations)
            self.walk.declarations.append(Declaration(name, shape, dtype, node.lineno, shape == (0,), alignment))
        return ArrayRef((name,), space, len(shape), dtype)

    def dtype(self, node: ast.expr) -> np.dtype[np.generic] | None:
        """Return the dtype an expression names: ``float32``, ``np.float32``, ``DTYPE``, ``a.dtype``, ``"float32"``."""
        if isinstance(node, ast.Constant):
            return as_dtype(node.value)
        if isinstance(node, ast.Attribute) and node.attr == "dtype":
            base = self.value(node.value)
            if isinstance(base, ArrayRef):
                return base.dtype
        return as_dtype(self.names.constant(node))


def _depth(ref: Ref) -> int:
    return 1 + max(map(_depth, ref.items), default=0) if isinstance(ref, TupleRef) else 0
