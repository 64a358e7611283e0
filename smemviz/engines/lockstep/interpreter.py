"""Statements: how threads go different ways and come together again.

A statement takes the active threads and gives those that go on to the next one. Threads that part in an ``if`` or
leave a loop one by one meet again at the end of that statement.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from smemviz.engines.lockstep import access
from smemviz.engines.lockstep.calls import Calls
from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.masks import Mask
from smemviz.engines.lockstep.memory import View
from smemviz.engines.lockstep.operators import truth
from smemviz.engines.lockstep.typing import NotAScalarError, Value
from smemviz.sites import SiteTree

_MISSING: Any = object()


@dataclass
class _Loop:
    """A loop as it runs: the threads that wait for its end, and those that wait for its next iteration."""

    broken: Mask | None = None
    continued: Mask | None = None


class Interpreter(Calls):
    """A frame that runs statements."""

    def __init__(self, machine: Machine, tree: SiteTree, mask: Mask) -> None:
        super().__init__(machine, tree, mask)
        self.result: Value = _MISSING
        self.loops: list[_Loop] = []
        self.nobody = Mask(np.zeros(machine.slots, np.bool_), 0, mask)
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
                raise self.refuse(statement, f"{type(statement).__name__}: {_first_line(statement)}")
            try:
                mask = rule(statement)
            except NotAScalarError as error:
                what = f"{error.args[0]} where a number belongs ({_first_line(statement)})"
                raise self.refuse(statement, what) from None
        return mask

    # -- assignments

    def assignment(self, node: ast.Assign) -> Mask:
        value = self.value(node.value)
        for target in node.targets:
            self.bind(target, value)
        return self.mask

    def annotated(self, node: ast.AnnAssign) -> Mask:
        if node.value is not None:
            self.bind(node.target, self.value(node.value))
        return self.mask

    def augmented(self, node: ast.AugAssign) -> Mask:
        target = node.target
        if isinstance(target, ast.Subscript):
            view, indices = self.element(target)
            element, reached = access.locate(self, target, view, indices)
            old = access.read(self, target, view, element, reached)
            value = self.apply(node, type(node.op), old, self.value(node.value))
            access.write(self, target, view, element, reached, value)
        elif isinstance(target, ast.Name):
            value = self.apply(node, type(node.op), self.read(target), self.value(node.value))
            self.assign(node, target.id, value)
        else:
            raise self.refuse(node, ast.unparse(node))
        return self.mask

    def bind(self, target: ast.expr, value: Value) -> None:
        """Assign a value to a name, to an element, or item by item to several targets."""
        match target:
            case ast.Name():
                self.assign(target, target.id, value)
            case ast.Tuple() | ast.List():
                if not isinstance(value, tuple) or any(isinstance(t, ast.Starred) for t in target.elts):
                    raise self.refuse(target, f"unpacking into {ast.unparse(target)}")
                if len(value) != len(target.elts):
                    raise self.wrong(target, f"{len(value)} values for {len(target.elts)} names")
                for one, item in zip(target.elts, value, strict=True):
                    self.bind(one, item)
            case ast.Subscript():
                view, indices = self.element(target)
                access.store(self, target, view, indices, value)
            case _:
                raise self.refuse(target, f"assignment to {ast.unparse(target)}")

    def element(self, target: ast.Subscript) -> tuple[View, tuple[Value, ...]]:
        """Return the array and the indices of an element that is assigned."""
        view = self.value(target.value)
        indices = self.indices(target.slice)
        if not isinstance(view, View) or len(indices) != view.ndim or any(isinstance(i, slice) for i in indices):
            raise self.refuse(target, f"assignment to {ast.unparse(target)}")
        return view, indices

    def expression(self, node: ast.Expr) -> Mask:
        if not isinstance(node.value, ast.Constant):  # a docstring is one
            self.statement_call = node.value
            self.value(node.value)
        return self.mask

    # -- branches and loops

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

    def while_loop(self, node: ast.While) -> Mask:
        def conditions() -> Iterator[Value]:
            while True:
                yield truth(self.value(node.test))

        return self.loop(node, conditions())

    def for_loop(self, node: ast.For) -> Mask:
        if isinstance(node.iter, ast.Call) and self.canonical(node.iter.func) == "builtins.range":
            return self.loop(node, self.counted(node, node.iter))
        items = self.value(node.iter)
        if not isinstance(items, tuple):
            raise self.refuse(node.iter, f"a loop over {ast.unparse(node.iter)}")

        def each() -> Iterator[Value]:
            for item in items:
                self.bind(node.target, item)
                yield True

        return self.loop(node, each())

    def counted(self, node: ast.For, call: ast.Call) -> Iterator[Value]:
        """Count a range, binding the target; yields which threads have a next number."""
        given = [access.as_index(self, call, self.value(a)) for a in call.args]
        if call.keywords or not 1 <= len(given) <= 3:
            raise self.wrong(call, f"{ast.unparse(call)}: range takes one to three numbers")
        start, stop, step = (0, given[0], 1) if len(given) == 1 else (*given, 1)[:3]
        if not any(isinstance(one, np.ndarray) for one in (start, stop, step)):
            if step == 0:
                raise self.wrong(call, f"{ast.unparse(call)}: the step is 0")
            for number in range(start, stop, step):
                self.bind(node.target, number)
                yield True
            return
        number = start
        while True:
            test = np.where(np.asarray(step) > 0, number < stop, number > stop)
            running = self.mask.narrow(test)
            if running.count:
                outer, self.mask = self.mask, running
                self.bind(node.target, number)
                self.mask = outer
            yield test
            number = number + step

    def loop(self, node: ast.While | ast.For, conditions: Iterator[Value]) -> Mask:
        """Run a loop while its conditions hold, each thread until its own does not."""
        outer = self.mask
        active = outer
        ended = self.nobody
        loop = _Loop()
        self.loops.append(loop)
        for test in conditions:
            if isinstance(test, np.ndarray):
                running = active.narrow(test)
                if running is not active:
                    ended = outer.rejoin(ended, active.without(running.lanes))
                    active = running.under(outer)
            elif not test:
                break
            if not active.count:
                break
            self.machine.tick(self.function.file, node.lineno)
            end = self.block(node.body, active)
            if loop.continued is not None:
                end = active.rejoin(end, loop.continued)
                loop.continued = None
            active = end.under(outer)
            self.mask = active
            if not active.count:
                break
        ended = outer.rejoin(ended, active).under(outer)
        self.loops.pop()
        if node.orelse:
            ended = self.block(node.orelse, ended)
        return ended if loop.broken is None else outer.rejoin(ended, loop.broken)

    def leave(self, node: ast.Break) -> Mask:
        loop = self.loops[-1]
        loop.broken = self.mask if loop.broken is None else self.joined(loop.broken)
        return self.nobody

    def skip(self, node: ast.Continue) -> Mask:
        loop = self.loops[-1]
        loop.continued = self.mask if loop.continued is None else self.joined(loop.continued)
        return self.nobody

    def joined(self, waiting: Mask) -> Mask:
        """Return the active threads together with some that wait."""
        return Mask(waiting.lanes | self.mask.lanes, waiting.count + self.mask.count, waiting.common(self.mask))

    def give(self, node: ast.Return) -> Mask:
        value = None if node.value is None else self.value(node.value)
        mask = self.mask
        self.result = value if self.result is _MISSING else self.merged(node, mask.lanes, value, self.result)
        self.live = self.live.without(mask.lanes).under(self.entry)
        if self.tree is self.machine.table.root:
            if value is not None:
                raise self.wrong(node, "a kernel returns nothing; store the result in an array")
            self.machine.live = self.live
        return self.nobody


def _first_line(node: ast.stmt) -> str:
    return ast.unparse(node).partition("\n")[0]
