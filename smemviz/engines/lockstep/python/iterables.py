"""What loops go over, item by item: tuples, arrays and ranges, ``zip`` and ``enumerate``."""

import ast
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python import access, arrays, operations
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.values.operators import binary
from smemviz.engines.lockstep.values.ranges import Range
from smemviz.engines.lockstep.values.typing import Value
from smemviz.messages import english

# Where there is a next item, and how to get it.
Items = Iterator[tuple[Value, Callable[[], Value]]]


def items_of(frame: Frame, node: ast.expr) -> tuple[Items, Value]:
    """Return the items of what a loop goes over, and how many there are in each thread, None where nobody knows."""
    if isinstance(node, ast.Call) and frame.canonical(node.func) in _ITERATORS:
        return _items(frame, node), None
    value = frame.value(node)
    size = value.length if isinstance(value, Range) else None
    if isinstance(value, View) and value.ndim:
        size = value.shape[0]
    return _of_value(frame, node, value), size


def _items(frame: Frame, node: ast.expr) -> Items:
    """Return the items of an expression, which is evaluated now."""
    making = _ITERATORS.get(frame.canonical(node.func)) if isinstance(node, ast.Call) else None
    if making is not None:
        assert isinstance(node, ast.Call)
        return making(frame, node)
    return _of_value(frame, node, frame.value(node))


def _numbered(frame: Frame, node: ast.Call) -> Items:
    """Number items, from 0 or from where the second argument says."""
    if node.keywords and node.args:
        raise frame.none_of_numba(node, ast.unparse(node), "enumerate(..., n)")
    if node.keywords or len(node.args) not in (1, 2):
        raise frame.none_of_numba(node, ast.unparse(node))
    items = _items(frame, node.args[0])
    start = frame.value(node.args[1]) if len(node.args) == 2 else 0

    def numbered() -> Items:
        number = start
        for test, item in items:
            yield test, partial(_pair, number, item)
            number = binary(ast.Add, number, 1)

    return numbered()


def _alongside(frame: Frame, node: ast.Call) -> Items:
    """Go over several things together, until the first of them ends."""
    if node.keywords:
        raise frame.none_of_numba(node, ast.unparse(node))
    each = [_items(frame, argument) for argument in node.args]

    def together() -> Items:
        while items := _following(frame, each):
            tests, parts = zip(*items, strict=True)
            yield reduce(operations.both, tests), partial(_each_of, parts)

    return together()


def _following(frame: Frame, iterators: Sequence[Items]) -> list[tuple[Value, Callable[[], Value]]]:
    """Return the next item of each, nothing at the end; where one has ended, those behind it are asked for none."""
    before, found = frame.mask, []
    try:
        for items in iterators:
            following = next(items, None)
            if following is None:
                return []
            found.append(following)
            test = following[0]
            frame.mask = frame.mask.narrow(test) if isinstance(test, np.ndarray) else frame.mask
            if not frame.mask.count:
                return []
        return found
    finally:
        frame.mask = before


def _of_value(frame: Frame, node: ast.expr, value: Value) -> Items:
    if isinstance(value, tuple):
        if not value:
            raise frame.none_of_numba(node, english("a loop over an empty tuple"))
        arrays.check_items(frame, node, value)
        for item in value:
            yield True, partial(_same, item)
    elif isinstance(value, Range):
        for test, number in value.numbers():
            yield test, partial(_same, number)
    elif isinstance(value, View) and value.ndim:
        size = value.shape[0]
        for k in range(int(np.max(size))):
            yield (k < size if isinstance(size, np.ndarray) else True), partial(item_at, frame, node, value, k)
    elif isinstance(value, int | float | np.generic | np.ndarray):
        raise frame.wrong(node, english("{code} is a number; write range({code})", code=ast.unparse(node)))
    else:
        raise frame.none_of_numba(node, english("a loop over {code}", code=ast.unparse(node)))


def items_in(frame: Frame, node: ast.expr, view: View, count: int) -> Value:
    """Return the items along the first axis of an array that is unpacked: as many as it has, or nothing fits."""
    size = view.shape[0]
    if not np.all(size == count if type(size) is int else size[frame.mask.lanes] == count):
        words = {"code": ast.unparse(node), "size": int(np.max(size)), "names": count}
        raise frame.wrong(node, english("{code} has {size} items for {names} names", **words))
    return tuple(item_at(frame, node, view, k) for k in range(count))


def item_at(frame: Frame, node: ast.expr, view: View, k: int) -> Value:
    """Return an item along the first axis of an array: an element, or a view of the axes behind."""
    if view.ndim == 1 and view.dtype.fields is None:
        return access.load(frame, node, view, (k,))
    index = ast.copy_location(ast.Subscript(node, ast.Constant(k), ast.Load()), node)
    return access.subview(frame, index, view, (k,))


def indices_within(sizes: Sequence[Any]) -> Iterator[tuple[Value, tuple[Any, ...]]]:
    """Yield every index into an array, the last axis fastest, and in which threads there is one.

    Threads whose arrays differ go on from one to the next together, each to the next of its own.
    """
    if all(isinstance(size, int) for size in sizes):
        yield from ((True, index) for index in _indices(sizes))
        return
    count = reduce(operator.mul, sizes, np.int64(1))
    for number in range(int(np.max(count))):
        index, left = [], number
        for size in reversed(sizes[1:]):
            index.append(left % np.maximum(size, 1))
            left = left // np.maximum(size, 1)
        yield number < count, (left, *reversed(index))


def _indices(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every index, one by one: NumPy has none for as many as a text may ask for."""
    if not sizes:
        yield ()
        return
    for k in range(sizes[0]):
        for rest in _indices(sizes[1:]):
            yield (k, *rest)


def _same(item: Value) -> Value:
    return item


def _pair(number: Value, item: Callable[[], Value]) -> Value:
    return number, item()


def _each_of(items: Sequence[Callable[[], Value]]) -> Value:
    return tuple(item() for item in items)


_ITERATORS: dict[str, Callable[[Frame, ast.Call], Items]] = {
    "builtins.enumerate": _numbered,
    "builtins.zip": _alongside,
}
