"""What loops go over, item by item: tuples, arrays and ranges, ``zip``, ``enumerate`` and NumPy's iterators.

An iterator that a variable holds, as in ``pairs = zip(a, b)``, is gone through once, as it is in Python: a second loop
gets what the first one left.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.memory import Flat, View
from smemviz.engines.lockstep.python import access, arrays, operations, thread_expressions
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.values.masks import Lanes, Mask
from smemviz.engines.lockstep.values.operators import binary
from smemviz.engines.lockstep.values.ranges import Range
from smemviz.engines.lockstep.values.typing import Value
from smemviz.messages import english

# Where there is a next item, and how to get it.
Items = Iterator[tuple[Value, Callable[[], Value]]]


@dataclass(eq=False)
class _Begun:
    """Items that some threads have begun with; they go on together, or not at all."""

    items: Items
    lanes: Lanes


class Iterating:
    """An iterator as a value; each thread goes through it once, and on with it after a ``break``."""

    def __init__(self, frame: Frame, code: str, items: Callable[[], Items]) -> None:
        self._frame = frame  # where the items are computed
        self._code = code
        self._items = items
        self._begun: list[_Begun] = []
        self._left_behind: Lanes | None = None  # threads whose next item is one that others have had

    def items(self, frame: Frame, node: ast.expr) -> Items:
        """Return the items that are left to the active threads of a frame."""
        while True:
            begun = self._of(frame, node)
            with self._active(frame.mask):
                following = next(begun.items, None)
            if following is None:
                return
            test, item = following
            yield test, partial(self._item, frame, item)

    def first(self) -> Value:
        """Return an item for no thread, which tells the type of all.

        Raises:
            LookupError: when there is none.
        """
        with self._active(self._frame.nobody):
            for _, item in self._items():
                return item()
        raise LookupError(self._code)

    def _item(self, frame: Frame, item: Callable[[], Value]) -> Value:
        with self._active(frame.mask):
            return item()

    @contextmanager
    def _active(self, mask: Mask) -> Iterator[None]:
        """Compute items for some threads while this lasts: those of a device function that goes through them."""
        before, self._frame.mask = self._frame.mask, mask
        try:
            yield
        finally:
            self._frame.mask = before

    def _of(self, frame: Frame, node: ast.expr) -> _Begun:
        """Return what gives the active threads their next item."""
        lanes = frame.mask.lanes
        begun = next((begun for begun in self._begun if (begun.lanes & lanes).any()), None)
        if begun is None:
            begun = _Begun(self._items(), lanes)
            self._begun.append(begun)
        behind = begun.lanes & ~lanes
        before = np.zeros_like(lanes) if self._left_behind is None else self._left_behind
        if (lanes & (before | ~begun.lanes)).any():
            what = english("{code}, resumed by threads that left it at different items,", code=self._code)
            raise frame.refuse(node, what)
        self._left_behind = before | behind
        begun.lanes = lanes
        return begun


def items_of(frame: Frame, node: ast.expr) -> tuple[Items, Value]:
    """Return the items of what a loop goes over, and how many there are in each thread, None where nobody knows."""
    if isinstance(node, ast.Call) and frame.canonical(node.func) in ITERATORS:
        return _made_of(frame, node)(), None
    value = frame.value(node)
    size = value.length if isinstance(value, Range) else None
    if isinstance(value, View) and value.ndim:
        size = value.shape[0]
    return _of_value(frame, node, value), size


def iterator(frame: Frame, node: ast.Call) -> Value:
    """Return what ``zip(...)`` and its like are as a value."""
    return Iterating(frame, ast.unparse(node), _made_of(frame, node))


def _made_of(frame: Frame, node: ast.expr) -> Callable[[], Items]:
    """Return what gives the items of an expression, which is evaluated now."""
    making = ITERATORS.get(frame.canonical(node.func)) if isinstance(node, ast.Call) else None
    if making is not None:
        assert isinstance(node, ast.Call)
        return making(frame, node)
    return partial(_of_value, frame, node, frame.value(node))


def _numbered(frame: Frame, node: ast.Call) -> Callable[[], Items]:
    """Number items, from 0 or from where the second argument says."""
    if node.keywords and node.args:
        raise frame.none_of_numba(node, ast.unparse(node), "enumerate(..., n)")
    if node.keywords or len(node.args) not in (1, 2):
        raise frame.none_of_numba(node, ast.unparse(node))
    items = _made_of(frame, node.args[0])
    start = frame.value(node.args[1]) if len(node.args) == 2 else 0

    def numbered() -> Items:
        number = start
        for test, item in items():
            yield test, partial(_pair, number, item)
            number = binary(ast.Add, number, 1)

    return numbered


def _alongside(frame: Frame, node: ast.Call) -> Callable[[], Items]:
    """Go over several things together, until the first of them ends."""
    if node.keywords:
        raise frame.none_of_numba(node, ast.unparse(node))
    each = [_made_of(frame, argument) for argument in node.args]

    def together() -> Items:
        iterators = [made() for made in each]
        while items := _following(frame, iterators):
            tests, parts = zip(*items, strict=True)
            yield reduce(operations.both, tests), partial(_each_of, parts)

    return together


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


def _places(frame: Frame, node: ast.Call) -> Callable[[], Items]:
    """Give every index into an array of a shape, the last axis fastest."""
    arguments = thread_expressions.values(frame, node.args)
    if node.keywords:
        raise frame.none_of_numba(node, ast.unparse(node))
    shape = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], tuple) else arguments
    sizes = [access.as_index(frame, node, size) for size in shape]

    def places() -> Items:
        for inside, index in indices_within(sizes):
            yield inside, partial(_same, index)

    return places


def _enumerated(frame: Frame, node: ast.Call) -> Callable[[], Items]:
    """Give every index into an array, and its element."""
    array = thread_expressions.values(frame, node.args)[0] if len(node.args) == 1 and not node.keywords else None
    if not isinstance(array, View) or array.dtype.fields is not None:
        raise frame.none_of_numba(node, ast.unparse(node))

    def enumerated() -> Items:
        for inside, index in indices_within(array.shape):
            yield inside, partial(_pair, index, partial(access.load, frame, node, array, index))

    return enumerated


def _elements(frame: Frame, node: ast.Call) -> Callable[[], Items]:
    """Give each element of an array, or of several together, as an array without axes.

    One with fewer axes than another begins anew for each index on the first of those. Where most of them lie in
    Fortran's order, the first axis is the fastest.
    """
    argument = thread_expressions.values(frame, node.args)[0] if len(node.args) == 1 and not node.keywords else None
    given = argument if isinstance(argument, tuple) else (argument,)
    views = [view for view in given if isinstance(view, View)]
    most = max(views, key=lambda view: view.ndim, default=None)
    if (
        most is None
        or len(views) < len(given)
        or not all(
            all(np.all(a == b) for a, b in zip(reversed(most.shape), reversed(view.shape), strict=False))
            for view in views
        )
    ):
        what = english("{code}, but for arrays of one shape,", code=ast.unparse(node))
        instead = "np.ndindex(a.shape)"
        raise frame.wrong(
            node, english("{what} is not executed in lockstep; write {instead}", what=what, instead=instead)
        )
    turn = -1 if sum(map(_order, views)) < 0 else 1

    def elements() -> Items:
        for inside, turned in indices_within(most.shape[::turn]):
            index = turned[::turn]
            items = tuple(access.subview(frame, node, view, index[most.ndim - view.ndim :]) for view in views)
            yield inside, partial(_same, items if len(items) > 1 else items[0])

    return elements


def _order(view: View) -> int:
    """Return 1 for an array in C order, -1 for one in Fortran's, 0 for one in both or neither."""
    return view.contiguous - view.transpose().contiguous


def _of_value(frame: Frame, node: ast.expr, value: Value) -> Items:
    if isinstance(value, Iterating):
        yield from value.items(frame, node)
    elif isinstance(value, tuple):
        frame.refuse_vector(node, value)
        if not value:
            raise frame.none_of_numba(node, english("a loop over an empty tuple"))
        arrays.check_items(frame, node, value)
        for item in value:
            yield True, partial(_same, item)
    elif isinstance(value, Flat):
        for inside, index in indices_within(value.of.shape):
            yield inside, partial(access.load, frame, node, value.of, index)
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


def _again(frame: Frame, node: ast.Call) -> Callable[[], Items]:
    """Give what something has, as ``iter`` does."""
    if len(node.args) != 1 or node.keywords:
        raise frame.none_of_numba(node, ast.unparse(node))
    return _made_of(frame, node.args[0])


ITERATORS: dict[str, Callable[[Frame, ast.Call], Callable[[], Items]]] = {
    "builtins.enumerate": _numbered,
    "builtins.iter": _again,
    "builtins.zip": _alongside,
    "numpy.ndenumerate": _enumerated,
    "numpy.ndindex": _places,
    "numpy.nditer": _elements,
}
