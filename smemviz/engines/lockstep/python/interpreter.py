"""Statements: how threads go different ways and come together again.

A statement takes the active threads and gives those that go on to the next one. Threads that part in an ``if`` or
leave a loop one by one meet again at the end of that statement.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.python.loops import Loops
from smemviz.engines.lockstep.python.operations import short
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.operators import truth
from smemviz.engines.lockstep.values.typing import NotAScalarError, Value
from smemviz.frontends.numba.sites import SiteTree
from smemviz.frontends.numba.sites.constructs import refusal
from smemviz.messages import said

_MISSING: Any = object()


class Interpreter(Loops):
    """A frame that runs statements."""

    def __init__(self, machine: Machine, tree: SiteTree, mask: Mask) -> None:
        super().__init__(machine, tree, mask)
        self.result: Value = _MISSING
        self._statements: dict[type[ast.AST], Callable[[Any], Mask]] = {
            ast.Assign: self.assignment,
            ast.AnnAssign: self.annotated,
            ast.AugAssign: self.augmented,
            ast.Expr: self.expression,
            ast.If: self.branch,
            ast.While: self.while_loop,
            ast.For: self.for_loop,
            ast.Break: self.leave,
            ast.Continue: self.skip,
            ast.Return: self.give,
            ast.Pass: lambda node: self.mask,
            ast.Raise: self.stop,
            ast.Assert: self.check,
        }

    def run(self, arguments: dict[str, Value]) -> Value:
        """Run the function with its arguments; return what it returns, None where nothing."""
        for name, value in arguments.items():
            self.variables[name], self.owners[name] = value, self.entry
        self.block(self.function.node.body, self.entry)
        return None if self.result is _MISSING else self.result

    def call_function(self, node: ast.Call, tree: SiteTree, arguments: dict[str, Value]) -> Value:
        return Interpreter(self.machine, tree, self.mask).run(arguments)

    def block(self, body: Sequence[ast.stmt], mask: Mask) -> Mask:
        """Run statements one after the other; return the threads that reach the end."""
        for statement in body:
            if not mask.count:
                break
            self.mask = mask
            rule = self._statements.get(type(statement))
            if rule is None:
                raise self.wrong(statement, refusal(statement))
            try:
                mask = rule(statement)
            except NotAScalarError as error:
                what = said("{what} where a number belongs ({code})", what=error.args[0], code=short(statement))
                raise self.refuse(statement, what) from None
        return mask

    def expression(self, node: ast.Expr) -> Mask:
        if not isinstance(node.value, ast.Constant):  # a docstring is one
            self.statement_call = node.value
            self.value(node.value)
        return self.mask

    # -- branches

    def branch(self, node: ast.If) -> Mask:
        mask = self.mask
        test = truth(self.value(node.test))
        if not isinstance(test, np.ndarray):
            return self.block(node.body if test else node.orelse, mask)
        then = mask.narrow(test)
        if then is mask:
            return self.block(node.body, mask)
        if not then.count:
            return self.block(node.orelse, mask)
        end = self.block(node.body, then)
        other = Mask(mask.lanes & ~test, mask.count - then.count, mask)
        return mask.rejoin(end, self.block(node.orelse, other) if node.orelse else other)

    def give(self, node: ast.Return) -> Mask:
        value = None if node.value is None else self.value(node.value)
        mask = self.mask
        self.result = value if self.result is _MISSING else self.merged(node, mask.lanes, value, self.result)
        self.live = self.live.without(mask.lanes).under(self.entry)
        if self.tree is self.machine.table.root:
            if value is not None:
                raise self.wrong(node, said("a kernel returns nothing; store the result in an array"))
            self.machine.live = self.live
        return self.nobody

    # -- errors

    def check(self, node: ast.Assert) -> Mask:
        test = truth(self.value(node.test))
        outer = self.mask
        failing = outer.narrow(~test if isinstance(test, np.ndarray) else np.full(len(outer.lanes), not test))
        if not failing.count:
            return outer
        self.mask = failing
        self.stop(node)
        return outer.without(failing.lanes)

    def stop(self, node: ast.Raise | ast.Assert) -> Mask:
        """End the active threads, as the GPU does, and note who raised what."""
        if self.tree is not self.machine.table.root:
            raise self.refuse(node, said("{code} in a device function", code=short(node)))
        mask = self.mask
        what = said("{threads} threads end here: {code}", threads=mask.count, code=short(node))
        if mask.count == 1:
            what = said("1 thread ends here: {code}", code=short(node))
        self.machine.find("raised", node.lineno, node.col_offset, mask.lanes, what)
        self.live = self.live.without(mask.lanes).under(self.entry)
        self.machine.live = self.live
        return self.nobody
