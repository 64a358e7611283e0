"""Loops: each thread until its own condition ends, over numbers, tuples and arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.memory import Flat, View
from smemviz.engines.lockstep.python import access, arrays, assignments, expressions, operations
from smemviz.engines.lockstep.python.frame import Frame, Loop
from smemviz.engines.lockstep.python.functions.ranges import range_of
from smemviz.engines.lockstep.python.one_thread.run import Begun, run_alone
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.operators import binary, truth
from smemviz.engines.lockstep.values.ranges import Range
from smemviz.engines.lockstep.values.typing import Value
from smemviz.messages import english


def _while_loop(frame: Frame, node: ast.While) -> Mask:
    begun = run_alone(frame, node)
    if isinstance(begun, Mask):
        return begun

    def conditions() -> Iterator[Value]:
        while True:
            yield truth(frame.value(node.test))

    return _loop(frame, node, conditions(), begun)


def _for_loop(frame: Frame, node: ast.For) -> Mask:
    begun = run_alone(frame, node)
    if isinstance(begun, Mask):
        return begun
    if isinstance(node.iter, ast.Call) and frame.canonical(node.iter.func) == "builtins.range":
        return _loop(frame, node, _counted(frame, node, node.iter, None if begun is None else begun.left), begun)
    return _loop(frame, node, _over_items(frame, node))


def _counted(frame: Frame, node: ast.For, call: ast.Call, left: Range | None) -> Iterator[Value]:
    """Count a range, or what is ``left`` of it, binding the target; yields which threads have a next number."""
    whole = left or range_of(frame, call, expressions.values(frame, call.args))
    for test, number in whole.numbers():
        outer = frame.mask
        running = outer.narrow(test) if isinstance(test, np.ndarray) else outer
        if running.count:
            frame.mask = running
            assignments.bind(frame, node.target, number, call)
            frame.mask = outer
        yield test


def _over_items(frame: Frame, node: ast.For) -> Iterator[Value]:
    """Go over tuples and arrays, binding the target; yields which threads have a next item."""
    for test, item in _items_of(frame, node.iter):
        outer = frame.mask
        running = outer.narrow(test) if isinstance(test, np.ndarray) else outer
        if running.count:
            frame.mask = running
            assignments.bind(frame, node.target, item(), node.iter)
            frame.mask = outer
        yield test


def _items_of(frame: Frame, node: ast.expr) -> Iterator[tuple[Value, Callable[[], Value]]]:
    """Yield where there is a next item, and how to get it, for what a loop goes over."""
    name = frame.canonical(node.func) if isinstance(node, ast.Call) else ""
    if isinstance(node, ast.Call) and name == "builtins.enumerate" and node.args:
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        number = frame.value(arguments[1]) if len(arguments) == 2 else 0
        for test, item in _items_of(frame, node.args[0]):
            yield test, partial(_pair, number, item)
            number = binary(ast.Add, number, 1)
    elif isinstance(node, ast.Call) and name == "builtins.zip" and not node.keywords:
        for together in zip(*(_items_of(frame, argument) for argument in node.args), strict=False):
            tests, parts = zip(*together, strict=True)
            yield reduce(operations.both, tests), partial(_each_of, parts)
    elif isinstance(node, ast.Call) and name == "numpy.ndindex" and not node.keywords:
        yield from _places(frame, node)
    elif isinstance(node, ast.Call) and name == "numpy.ndenumerate" and len(node.args) == 1:
        yield from _enumerated(frame, node)
    elif isinstance(node, ast.Call) and name == "numpy.nditer" and len(node.args) == 1 and not node.keywords:
        yield from _alongside(frame, node)
    else:
        yield from _items_of_value(frame, node, frame.value(node))


def _places(frame: Frame, node: ast.Call) -> Iterator[tuple[Value, Callable[[], Value]]]:
    """Yield every index into an array of a shape, the last axis fastest, and where it is inside."""
    arguments = expressions.values(frame, node.args)
    shape = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], tuple) else arguments
    for inside, index in _indices_within([access.as_index(frame, node, size) for size in shape]):
        yield inside, partial(_same, index)


def _indices_within(sizes: Sequence[Value]) -> Iterator[tuple[Value, tuple[int, ...]]]:
    """Yield every index into an array, and in which threads it is inside."""
    for index in _indices([int(np.max(size)) for size in sizes]):
        inside = [k < size for k, size in zip(index, sizes, strict=True)]
        yield reduce(operations.both, inside, True), index


def _enumerated(frame: Frame, node: ast.Call) -> Iterator[tuple[Value, Callable[[], Value]]]:
    """Yield every index into an array, and its element."""
    (array,) = expressions.values(frame, node.args)
    if not isinstance(array, View) or array.dtype.fields is not None:
        raise frame.none_of_numba(node, ast.unparse(node))
    for inside, index in _indices_within(array.shape):
        yield inside, partial(_pair, index, partial(access.load, frame, node, array, index))


def _alongside(frame: Frame, node: ast.Call) -> Iterator[tuple[Value, Callable[[], Value]]]:
    """Yield each element of one array, or of several of one shape, as an array without axes."""
    (argument,) = expressions.values(frame, node.args)
    views = argument if isinstance(argument, tuple) else (argument,)
    whole = all(isinstance(view, View) and view.contiguous and view.shape == views[0].shape for view in views)
    if not whole or not views:
        what = english("{code}, but for whole arrays of one shape,", code=ast.unparse(node))
        raise frame.wrong(
            node,
            english("{what} is not executed in lockstep; write {instead}", what=what, instead="np.ndindex(a.shape)"),
        )
    for inside, index in _indices_within(views[0].shape):
        items = tuple(access.subview(frame, node, view, index) for view in views)
        yield inside, partial(_same, items if isinstance(argument, tuple) and len(items) > 1 else items[0])


def _indices(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every index, one by one: NumPy has none for as many as a text may ask for."""
    if not sizes:
        yield ()
        return
    for k in range(sizes[0]):
        for rest in _indices(sizes[1:]):
            yield (k, *rest)


def _items_of_value(frame: Frame, node: ast.expr, value: Value) -> Iterator[tuple[Value, Callable[[], Value]]]:
    if isinstance(value, tuple):
        arrays.check_items(frame, node, value)
        for item in value:
            yield True, partial(_same, item)
    elif isinstance(value, Flat):
        for inside, index in _indices_within(value.of.shape):
            yield inside, partial(access.load, frame, node, value.of, index)
    elif isinstance(value, Range):
        for test, number in value.numbers():
            yield test, partial(_same, number)
    elif isinstance(value, View) and value.ndim:
        size = value.shape[0]
        for k in range(int(np.max(size))):
            yield (k < size if isinstance(size, np.ndarray) else True), partial(access.item, frame, node, value, k)
    elif isinstance(value, int | float | np.generic | np.ndarray):
        raise frame.wrong(node, english("{code} is a number; write range({code})", code=ast.unparse(node)))
    else:
        raise frame.none_of_numba(node, english("a loop over {code}", code=ast.unparse(node)))


def _loop(frame: Frame, node: ast.While | ast.For, conditions: Iterator[Value], begun: Begun | None = None) -> Mask:
    """Run a loop while its conditions hold, each thread until its own does not; or what is left of it."""
    outer = frame.mask
    active = outer
    ended = frame.nobody
    loop = Loop()
    frame.loops.append(loop)
    if begun is None:
        frame.move(node, "enter", outer)
    else:
        frame.mask = active = begun.going
        loop.broken = begun.ended if begun.ended.count else None
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
        frame.machine.tick(frame.function.file, node.lineno)
        end = frame.block(node.body, active)
        frame.move(node, "turn", end)
        if loop.continued is not None:
            end = active.rejoin(end, loop.continued)
            loop.continued = None
        active = end.under(outer)
        frame.mask = active
        if not active.count:
            break
    ended = outer.rejoin(ended, active).under(outer)
    frame.loops.pop()
    if node.orelse:
        ended = frame.block(node.orelse, ended)
    frame.move(node, "end", ended)
    return ended if loop.broken is None else outer.rejoin(ended, loop.broken)


def _leave(frame: Frame, node: ast.Break) -> Mask:
    loop = _loop_of(frame, node)
    frame.move(node, "leave", frame.mask)
    loop.broken = frame.mask if loop.broken is None else _joined(frame, loop.broken)
    return frame.nobody


def _skip(frame: Frame, node: ast.Continue) -> Mask:
    loop = _loop_of(frame, node)
    frame.move(node, "leave", frame.mask)
    loop.continued = frame.mask if loop.continued is None else _joined(frame, loop.continued)
    return frame.nobody


def _loop_of(frame: Frame, node: ast.Break | ast.Continue) -> Loop:
    if not frame.loops:
        raise frame.wrong(node, english("{code} stands outside of a loop", code=ast.unparse(node)))
    return frame.loops[-1]


def _joined(frame: Frame, waiting: Mask) -> Mask:
    """Return the active threads together with some that wait."""
    return Mask(waiting.lanes | frame.mask.lanes, waiting.count + frame.mask.count, waiting.common(frame.mask))


def _same(item: Value) -> Value:
    return item


def _pair(number: Value, item: Callable[[], Value]) -> Value:
    return number, item()


def _each_of(items: Sequence[Callable[[], Value]]) -> Value:
    return tuple(item() for item in items)


STATEMENTS: dict[type[ast.AST], Callable[[Frame, Any], Mask]] = {
    ast.While: _while_loop,
    ast.For: _for_loop,
    ast.Break: _leave,
    ast.Continue: _skip,
}
