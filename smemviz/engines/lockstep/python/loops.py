"""Loops: each thread until its own condition ends, over numbers, tuples and arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python import access
from smemviz.engines.lockstep.python.assignments import Assignments
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.operators import binary, truth
from smemviz.engines.lockstep.values.typing import Value
from smemviz.frontends.numba.sites import SiteTree
from smemviz.messages import said


@dataclass
class _Loop:
    """A loop as it runs: the threads that wait for its end, and those that wait for its next iteration."""

    broken: Mask | None = None
    continued: Mask | None = None


class Loops(Assignments):
    """A frame that runs loops."""

    def __init__(self, machine: Machine, tree: SiteTree, mask: Mask) -> None:
        super().__init__(machine, tree, mask)
        self.loops: list[_Loop] = []
        self.nobody = Mask(np.zeros(machine.slots, np.bool_), 0, mask)

    def block(self, body: Sequence[ast.stmt], mask: Mask) -> Mask:
        """Run statements one after the other; return the threads that reach the end."""
        raise NotImplementedError

    def while_loop(self, node: ast.While) -> Mask:
        def conditions() -> Iterator[Value]:
            while True:
                yield truth(self.value(node.test))

        return self.loop(node, conditions())

    def for_loop(self, node: ast.For) -> Mask:
        if isinstance(node.iter, ast.Call) and self.canonical(node.iter.func) == "builtins.range":
            return self.loop(node, self.counted(node, node.iter))
        return self.loop(node, self.each(node))

    def counted(self, node: ast.For, call: ast.Call) -> Iterator[Value]:
        """Count a range, binding the target; yields which threads have a next number."""
        for test, number in self.numbers(call):
            outer = self.mask
            running = outer.narrow(test) if isinstance(test, np.ndarray) else outer
            if running.count:
                self.mask = running
                self.bind(node.target, number, call)
                self.mask = outer
            yield test

    def each(self, node: ast.For) -> Iterator[Value]:
        """Go over tuples and arrays, binding the target; yields which threads have a next item."""
        for test, item in self.items_of(node.iter):
            outer = self.mask
            running = outer.narrow(test) if isinstance(test, np.ndarray) else outer
            if running.count:
                self.mask = running
                self.bind(node.target, item(), node.iter)
                self.mask = outer
            yield test

    def items_of(self, node: ast.expr) -> Iterator[tuple[Value, Callable[[], Value]]]:
        """Yield where there is a next item, and how to get it, for what a loop goes over."""
        name = self.canonical(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and name == "builtins.enumerate" and node.args:
            number = self.value([*node.args, *(k.value for k in node.keywords)][1]) if _has_start(node) else 0
            for test, item in self.items_of(node.args[0]):
                yield test, partial(_pair, number, item)
                number = binary(ast.Add, number, 1)
        elif isinstance(node, ast.Call) and name == "builtins.zip" and not node.keywords:
            for together in zip(*(self.items_of(one) for one in node.args), strict=False):
                tests, parts = zip(*together, strict=True)
                yield reduce(self.both, tests), partial(_each_of, parts)
        elif isinstance(node, ast.Call) and name == "builtins.range":
            for test, number in self.numbers(node):
                yield test, partial(_same, number)
        else:
            yield from self._items_of_value(node, self.value(node))

    def _items_of_value(self, node: ast.expr, value: Value) -> Iterator[tuple[Value, Callable[[], Value]]]:
        if isinstance(value, tuple):
            for item in value:
                yield True, partial(_same, item)
        elif isinstance(value, View) and value.ndim:
            size = value.shape[0]
            for k in range(int(np.max(size))):
                yield (k < size if isinstance(size, np.ndarray) else True), partial(self._row, node, value, k)
        else:
            raise self.refuse(node, said("a loop over {code}", code=ast.unparse(node)))

    def _row(self, node: ast.expr, view: View, k: int) -> Value:
        index = ast.copy_location(ast.Subscript(node, ast.Constant(k), ast.Load()), node)
        if view.ndim == 1 and view.dtype.fields is None:
            return access.load(self, node, view, (k,))
        return access.subview(self, index, view, (k,))

    def numbers(self, call: ast.Call) -> Iterator[tuple[Value, Value]]:
        """Yield where a range has a next number, and that number."""
        given = [access.as_index(self, call, self.value(a)) for a in call.args]
        if call.keywords or not 1 <= len(given) <= 3:
            raise self.wrong(call, said("{code}: range takes one to three numbers", code=ast.unparse(call)))
        start, stop, step = (0, given[0], 1) if len(given) == 1 else (*given, 1)[:3]
        if not any(isinstance(one, np.ndarray) for one in (start, stop, step)):
            if step == 0:
                raise self.wrong(call, said("{code}: the step is 0", code=ast.unparse(call)))
            for number in range(start, stop, step):
                yield True, number
            return
        number = start
        while True:
            yield np.where(np.asarray(step) > 0, number < stop, number > stop), number
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
        loop = self._loop_of(node)
        loop.broken = self.mask if loop.broken is None else self.joined(loop.broken)
        return self.nobody

    def skip(self, node: ast.Continue) -> Mask:
        loop = self._loop_of(node)
        loop.continued = self.mask if loop.continued is None else self.joined(loop.continued)
        return self.nobody

    def _loop_of(self, node: ast.Break | ast.Continue) -> _Loop:
        if not self.loops:
            raise self.wrong(node, said("{code} stands outside of a loop", code=ast.unparse(node)))
        return self.loops[-1]

    def joined(self, waiting: Mask) -> Mask:
        """Return the active threads together with some that wait."""
        return Mask(waiting.lanes | self.mask.lanes, waiting.count + self.mask.count, waiting.common(self.mask))


def _same(item: Value) -> Value:
    return item


def _pair(number: Value, item: Callable[[], Value]) -> Value:
    return number, item()


def _each_of(items: Sequence[Callable[[], Value]]) -> Value:
    return tuple(item() for item in items)


def _has_start(node: ast.Call) -> bool:
    return len(node.args) + len(node.keywords) == 2
