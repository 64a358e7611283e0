"""Calls: device functions, rules by name, methods of arrays, conversions by a type's name."""

from __future__ import annotations

import ast

from smemviz.engines.lockstep.dispatch import Dispatcher
from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.python import arrays
from smemviz.engines.lockstep.python.expressions import Expressions
from smemviz.engines.lockstep.python.functions import names, rules
from smemviz.engines.lockstep.python.operations import short
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.typing import Value
from smemviz.frontends.numba.functions import as_dtype
from smemviz.frontends.numba.sites import SiteTree
from smemviz.messages import said


class Calls(Expressions):
    """A frame that evaluates expressions with calls in them."""

    def __init__(self, machine: Machine, tree: SiteTree, mask: Mask) -> None:
        super().__init__(machine, tree, mask)
        self.statement_call: ast.expr | None = None

    def call_function(self, node: ast.Call, tree: SiteTree, arguments: dict[str, Value]) -> Value:
        """Run a device function in the active threads."""
        raise NotImplementedError

    def call(self, node: ast.Call) -> Value:
        inner = self.tree.calls.get(node)
        if inner is not None:
            dispatcher = self.names.constant(node.func)
            if not isinstance(dispatcher, Dispatcher):
                return self.call_function(node, inner, self.arguments(node, inner))
            arguments = dispatcher.cast_arguments(self.arguments(node, inner))
            return dispatcher.cast_result(self.call_function(node, inner, arguments))
        declaration = self.tree.declarations.get(node)
        if declaration is not None:
            return self.machine.shared_array(declaration)
        name = self.canonical(node.func)
        if name == "cuda.local.array":
            return arrays.local_array(self, node)
        rule = names.CALLS.get(name)
        if rule is not None:
            if node.keywords:
                raise self.refuse(node, said("{function} with a keyword argument", function=name))
            return rules.apply(rule, self, node, self.values(node.args))
        if isinstance(node.func, ast.Attribute) and not name:
            return arrays.method(self, node, self.value(node.func.value))
        return self.conversion(node)

    def conversion(self, node: ast.Call) -> Value:
        """Convert by a type's name: ``int32(x)``, ``np.float32(x)``, ``float(x)``."""
        target = self.names.constant(node.func)
        dtype = None if isinstance(target, str) else as_dtype(target)
        if dtype is None or dtype.kind not in "biufc" or len(node.args) != 1 or node.keywords:
            known = (*names.CALLS, *names.ARRAYS)
            raise self.unknown(node, f"{short(node.func)}(...)", self.canonical(node.func), known)
        return rules.apply(names.conversion(target, dtype), self, node, [self.value(node.args[0])])

    def is_used(self, node: ast.expr) -> bool:
        """Tell whether a call's value is used: whether it is not a statement of its own."""
        return node is not self.statement_call

    def arguments(self, node: ast.Call, tree: SiteTree) -> dict[str, Value]:
        """Return the arguments of a call by the names of the parameters."""
        parameters = tree.function.node.args
        if parameters.vararg or parameters.kwarg or parameters.kwonlyargs:
            raise self.refuse(node, said("{function} with * or keyword-only parameters", function=tree.function.name))
        if any(k.arg is None for k in node.keywords):
            raise self.refuse(node, said("** in the call of {function}", function=tree.function.name))
        given = self.given(node, tree)
        wanted = [a.arg for a in (*parameters.posonlyargs, *parameters.args)]
        bound = dict(zip(wanted, given, strict=False))
        fixed = tree.function.fixed
        bound |= {k.arg: None if k.arg in fixed else self.value(k.value) for k in node.keywords if k.arg}
        first_default = len(wanted) - len(parameters.defaults)
        for name, default in zip(wanted[first_default:], parameters.defaults, strict=True):
            if name not in bound:
                bound[name] = Calls(self.machine, tree, self.mask).value(default)
        if len(given) > len(wanted) or set(bound) != set(wanted):
            raise self.wrong(
                node,
                said(
                    "{function} takes ({names}); the call does not fit",
                    function=tree.function.name,
                    names=", ".join(wanted),
                ),
            )
        return {name: value for name, value in bound.items() if name not in fixed}

    def given(self, node: ast.Call, tree: SiteTree) -> list[Value]:
        """Return the positional arguments of a call; functions and types among them are no values."""
        fixed = tree.function.fixed
        if not fixed:
            return self.values(node.args)
        wanted = [a.arg for a in (*tree.function.node.args.posonlyargs, *tree.function.node.args.args)]
        return [None if name in fixed else self.value(a) for name, a in zip(wanted, node.args, strict=False)]
