"""Expressions of the host part, by the kind of their node."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy as np

from smemviz.engines.lockstep.host.cuda import DeviceOnly
from smemviz.engines.sandbox.kernels import HostFunction
from smemviz.engines.sandbox.language.exceptions import KINDS, Caught
from smemviz.engines.sandbox.language.known import BUILTINS, NotAllowedError, admitted, values_of
from smemviz.engines.sandbox.language.operators import COMPARE, UNARY
from smemviz.engines.sandbox.language.scope import member
from smemviz.engines.sandbox.language.sizes import Known, together
from smemviz.engines.sandbox.language.targets import Targets
from smemviz.frontends.numba.functions import Function
from smemviz.messages import said

_FORMAT = re.compile(r"[<>^]?[+ ]?0?\d{0,2}[,_]?(\.\d{1,2})?[bdeEfFgGoxX%]?")
_CONVERSIONS = {ord("r"): repr, ord("s"): str, ord("a"): ascii, -1: None}
_EXPRESSIONS = {
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.SetComp: said("a set"),
    ast.Set: said("a set"),
    ast.DictComp: said("a comprehension of a dict"),
    ast.Starred: said("an asterisk here"),
}


class Expressions(Targets):
    """Evaluates expressions."""

    # -- expressions

    def value(self, node: ast.expr) -> Any:
        """Evaluate an expression."""
        self.step(node)
        match node:
            case ast.Constant():
                return self.constant(node)
            case ast.Name():
                return self.name(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Call():
                return self.call(node)
            case ast.Subscript():
                return self.subscript(self.value(node.value), self.index(node.slice))
            case ast.BinOp():
                return self.binary(node.op, self.value(node.left), self.value(node.right))
            case ast.UnaryOp(op=ast.Not()):
                return not self.truth(node.operand)
            case ast.UnaryOp():
                return self.guarded(UNARY[type(node.op)], self.data(node.operand))
            case ast.BoolOp():
                return self.either(node)
            case ast.Compare():
                return self.compare(node)
            case ast.IfExp():
                return self.value(node.body if self.truth(node.test) else node.orelse)
            case ast.Tuple():
                return tuple(self.items(node.elts))
            case ast.List():
                return self.items(node.elts)
            case ast.ListComp() | ast.GeneratorExp():
                return self.comprehension(node)
            case ast.JoinedStr():
                return self.bounded("".join(map(self.part, node.values)))
            case ast.Slice():
                return self.index(node)
            case ast.Lambda():
                body = ast.copy_location(ast.Return(node.body), node.body)
                return self.function(ast.copy_location(ast.FunctionDef("<lambda>", node.args, [body], []), node))
            case ast.NamedExpr():
                self.assign(node.target, value := self.value(node.value))
                return value
        raise self.refuse(_EXPRESSIONS.get(type(node), said("this expression")))

    def data(self, node: ast.expr) -> Any:
        """Evaluate an expression that has to be a number, an array, or a list of them."""
        return self.admitted(node, self.value(node))

    def admitted(self, node: ast.expr, value: Any) -> Any:
        """Return the value of an expression if it is a number, an array, or a list of them."""
        try:
            return admitted(value)
        except NotAllowedError as error:
            raise self.error(
                said("{code} is {what}, no number and no array", code=ast.unparse(node), what=error.args[0])
            ) from None

    def truth(self, node: ast.expr) -> bool:
        """Evaluate a condition."""
        return bool(self.guarded(bool, self.data(node)))

    def constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, bytes):
            raise self.refuse(said("a text of bytes"))
        return self.bounded(node.value)

    def name(self, node: ast.Name) -> Any:
        for scope in (self.names, *self.enclosing, self.globals, BUILTINS, KINDS):
            if node.id in scope:
                return scope[node.id]
        if node.id in ("print", "str"):
            return Known(node.id, getattr(self, {"str": "text"}.get(node.id, node.id)), together)
        raise self.error(said("NameError: {name} is not defined here", name=node.id))

    def attribute(self, node: ast.Attribute) -> Any:
        return self.member(self.value(node.value), node)

    def member(self, base: Any, node: ast.Attribute) -> Any:
        """Return an attribute of a value, if the tables have it."""
        if not node.attr.startswith("_"):
            if isinstance(base, ModuleType):
                with suppress(KeyError):
                    return member(base, node.attr)
            elif isinstance(base, DeviceOnly):
                return getattr(base, node.attr)
            elif node.attr in values_of(base):
                return self.guarded(getattr, base, node.attr)
        raise self.error(said("{code} is not there for text in the editor", code=ast.unparse(node)))

    def either(self, node: ast.BoolOp) -> Any:
        value: Any = None
        for one in node.values:
            value = self.data(one)
            if bool(self.guarded(bool, value)) is isinstance(node.op, ast.Or):
                break
        return value

    def compare(self, node: ast.Compare) -> Any:
        left, result = self.value(node.left), True
        for op, operand in zip(node.ops, node.comparators, strict=True):
            right = self.value(operand)
            self.afford(together(left, right))
            result = self.guarded(COMPARE[type(op)], left, right)
            if len(node.ops) > 1 and not self.guarded(bool, result):
                return result
            left = right
        return result

    # -- lists and texts

    def items(self, nodes: Iterable[ast.expr]) -> list[Any]:
        """Evaluate the items of a list; an asterisk spreads another one."""
        found: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found.extend(self.iterate(node.value))
            else:
                found.append(self.value(node))
            self.bounded(found)
        return found

    def iterate(self, node: ast.expr) -> Iterator[Any]:
        """Return what a loop goes through."""
        value = self.value(node)
        if not isinstance(value, range | list | tuple | str | np.ndarray):
            raise self.error(
                said("{code} cannot be gone through; use a range, a list, a tuple or an array", code=ast.unparse(node))
            )
        return iter(value)

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> list[Any]:
        if len(node.generators) > 1 or node.generators[0].is_async:
            raise self.refuse(said("a comprehension of several loops"))
        generator = node.generators[0]
        found: list[Any] = []
        for item in self.iterate(generator.iter):
            self.step(node)
            self.assign(generator.target, item)
            if all(self.truth(condition) for condition in generator.ifs):
                found.append(self.value(node.elt))
                self.bounded(found)
        return found

    def part(self, node: ast.expr) -> str:
        """Return one part of a formatted text."""
        if not isinstance(node, ast.FormattedValue):
            return str(self.value(node))
        value = self.value(node.value)
        if isinstance(value, Caught):
            return repr(value) if node.conversion == ord("r") else str(value)
        value = self.admitted(node.value, value)
        spec = self.value(node.format_spec) if node.format_spec else ""
        if not _FORMAT.fullmatch(spec):
            raise self.error(
                said(
                    "the format {format} is not for the editor; give at most two digits of width",
                    format=repr(spec[:20]),
                )
            )
        if spec and not isinstance(value, np.ndarray | list | tuple):
            return str(self.guarded(format, value, spec))
        return repr(value) if node.conversion == ord("r") else self.text(value)

    def function(self, node: ast.FunctionDef) -> HostFunction:
        """Return a function of the host as it is defined here and now."""
        definition = Function(node.name, self.file, self.source, self.tree, node, self.globals)
        enclosing = (self.names, *self.enclosing) if self.frames else ()
        return HostFunction(definition, tuple(self.items(node.args.defaults)), enclosing)

    def call(self, node: ast.Call) -> Any:
        """Call something; calls know how."""
        raise NotImplementedError
