"""Expressions: what each node of a syntax tree is worth, in all threads at once."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.memory.arguments import same_tuple
from smemviz.engines.lockstep.memory.device_array import DeviceArray, kernel_view
from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.memory.records import is_known
from smemviz.engines.lockstep.nearest import neighbour
from smemviz.engines.lockstep.python import access, arrays
from smemviz.engines.lockstep.python.functions import names
from smemviz.engines.lockstep.python.operations import Operations, short
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.typing import BOOL, INT64_MAX, Value
from smemviz.frontends.numba.functions import resolve
from smemviz.frontends.numba.sites import SiteTree
from smemviz.frontends.numba.sites.constructs import refusal
from smemviz.messages import said

_MAX_UINT64 = 2**64 - 1


class Expressions(Operations):
    """A frame that evaluates expressions."""

    def __init__(self, machine: Machine, tree: SiteTree, mask: Mask) -> None:
        super().__init__(machine, tree, mask)
        self._rules: dict[type[ast.AST], Callable[[Any], Value]] = {
            ast.Constant: self.constant,
            ast.Name: self.name,
            ast.Attribute: self.attribute,
            ast.BinOp: self.binary,
            ast.UnaryOp: self.unary,
            ast.Compare: self.compare,
            ast.BoolOp: self.boolean,
            ast.IfExp: self.conditional,
            ast.Subscript: self.subscript,
            ast.Tuple: self.items,
            ast.NamedExpr: self.named,
            ast.Call: self.call,
        }

    def value(self, node: ast.expr) -> Value:
        """Return what an expression is worth in the active threads; elsewhere it means nothing."""
        rule = self._rules.get(type(node))
        if rule is None:
            raise self.wrong(node, refusal(node))
        return rule(node)

    def call(self, node: ast.Call) -> Value:
        """Return what a call gives."""
        raise NotImplementedError

    # -- leaves

    def constant(self, node: ast.Constant) -> Value:
        value = node.value
        if type(value) is int and not -INT64_MAX - 1 <= value <= INT64_MAX:
            if value > _MAX_UINT64 or value < 0:
                raise self.wrong(node, said("{code} does not fit 64 bits", code=short(node)))
            return np.uint64(value)
        if value is None or isinstance(value, bool | int | float | complex | str) or value is Ellipsis:
            return value
        raise self.refuse(node, said("the constant {code}", code=short(node)))

    def name(self, node: ast.Name) -> Value:
        if node.id in self.names.locals:
            return self.read(node)
        try:
            value = self.function.lookup(node.id)
        except KeyError:
            near = neighbour(node.id, self.names.locals)
            if near is None:
                raise self.wrong(node, said("the name {name} is not known", name=node.id)) from None
            what = said("the name {name} is not known; did you mean {near}?", name=node.id, near=near)
            raise self.wrong(node, what) from None
        return self.host_value(node, value)

    def host_value(self, node: ast.expr, value: object) -> Value:
        """Return a number, tuple or array of the module as a kernel sees it."""
        if isinstance(value, int | float | complex) and type(value) in (bool, int, float, complex):
            if type(value) is int and not -INT64_MAX - 1 <= value <= INT64_MAX:
                return self.constant(ast.copy_location(ast.Constant(value), node))
            return value
        if isinstance(value, np.generic) and value.dtype.kind in "biufc":
            return value.item() if value.dtype in (np.int64, BOOL) else value
        if isinstance(value, tuple):
            return same_tuple(value, (self.host_value(node, item) for item in value))
        if isinstance(value, enum.Enum):
            return self.host_value(node, value.value)
        if isinstance(value, DeviceArray):
            return kernel_view(ast.unparse(node), value)
        if value is None:
            return None
        if isinstance(value, np.ndarray | np.void) and is_known(value.dtype):
            return arrays.constant_view(self.machine, ast.unparse(node), value)
        raise self.refuse(node, ast.unparse(node))

    def attribute(self, node: ast.Attribute) -> Value:
        name = self.canonical(node)
        if name:
            rule = names.VALUES.get(name)
            if rule is not None:
                return rule(self.machine)
            if name.startswith(("cuda.", "math.")):
                raise self.unknown(node, name, name, names.VALUES)
            return self.host_value(node, self.host_object(node))
        value = self.names.constant(node)
        if value is not None:
            return self.host_value(node, value)
        return arrays.attribute(self, node, self.value(node.value))

    def host_object(self, node: ast.expr) -> object:
        """Return the object of the module that a chain of attributes stands for."""
        try:
            return resolve(node, self.function)
        except KeyError:
            raise self.refuse(node, ast.unparse(node)) from None

    def items(self, node: ast.Tuple) -> Value:
        return self.bounded(node, tuple(self.values(node.elts)))

    def values(self, nodes: list[ast.expr]) -> list[Value]:
        """Return what expressions are worth, the items of a starred tuple one by one."""
        found: list[Value] = []
        for node in nodes:
            if not isinstance(node, ast.Starred):
                found.append(self.value(node))
                continue
            items = self.value(node.value)
            if not isinstance(items, tuple):
                raise self.refuse(node, said("{code}, which is no tuple,", code=short(node)))
            found.extend(items)
        return found

    def named(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self.assign(node, node.target.id, value)
        return value

    # -- subscripts

    def subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return arrays.field(self, node, base, node.slice.value)
        parts = self.indices(node.slice)
        if isinstance(base, View):
            return access.pick(self, node, base, parts)
        if isinstance(base, tuple):
            return arrays.item(self, node, base, parts)
        raise self.refuse(node, said("{code}: an index into what is no array", code=short(node)))

    def indices(self, node: ast.expr) -> tuple[Value, ...]:
        """Return the indices of a subscript; a tuple among them counts as its items."""
        if isinstance(node, ast.Slice):
            return (self.slice(node),)
        if isinstance(node, ast.Tuple):
            return tuple(part for item in node.elts for part in self.indices(item))
        value = self.value(node)
        return value if isinstance(value, tuple) else (value,)

    def slice(self, node: ast.Slice) -> slice:
        ends = [None if end is None else self.value(end) for end in (node.lower, node.upper, node.step)]
        return slice(*ends)
