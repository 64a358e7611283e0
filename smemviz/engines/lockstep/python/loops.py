"""Loops: each thread until its own condition ends, over numbers, tuples and arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache, partial
from itertools import islice
from typing import Any

import numpy as np

from smemviz.engines.lockstep.python import assignments, expressions, iterables
from smemviz.engines.lockstep.python.frame import Frame, Loop
from smemviz.engines.lockstep.python.functions.ranges import range_of
from smemviz.engines.lockstep.python.one_thread.atoms import NEAR
from smemviz.engines.lockstep.python.one_thread.in_order.run import Watch, go_on_in_order
from smemviz.engines.lockstep.python.one_thread.run import Begun, run_alone
from smemviz.engines.lockstep.python.waiting import wait, wait_of
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.operators import truth
from smemviz.engines.lockstep.values.ranges import Range
from smemviz.engines.lockstep.values.typing import Value
from smemviz.messages import english

_FEW_STEPS = 128  # expressions in all turns of a loop, for which the interpreter takes the least


class _Conditions:
    """The turns of a loop with a condition: in which threads it holds."""

    left = None

    def __init__(self, frame: Frame, node: ast.While) -> None:
        self._frame, self._node = frame, node

    def __iter__(self) -> Iterator[Value]:
        while True:
            yield truth(self._frame.value(self._node.test))


class _Numbers:
    """The turns of a loop over a range, or over what is ``left`` of it: in which threads there is a next number.

    The target is bound to that.
    """

    def __init__(self, frame: Frame, node: ast.For, call: ast.Call, left: Range | None) -> None:
        self._frame, self._node, self._call = frame, node, call
        self._left = left
        self._had = 0

    @cached_property
    def _whole(self) -> Range:
        return self._left or range_of(self._frame, self._call, expressions.values(self._frame, self._call.args))

    def __iter__(self) -> Iterator[Value]:
        for test, number in self._whole.numbers():
            _bind(self._frame, self._node, test, partial(_same, number), self._call)
            self._had += 1
            yield test

    @property
    def left(self) -> Range:
        """What there is behind the turns so far."""
        start, stop, step = self._whole.ends
        return Range(start + self._had * step, stop, step) if self._had else self._whole


class _Items:
    """The turns of a loop over tuples and arrays, as above.

    ``left`` are the positions of items that are left to threads, which have all had as many.
    """

    def __init__(self, frame: Frame, node: ast.For, left: Range | None) -> None:
        self._frame, self._node = frame, node
        self._had = 0 if left is None else int(np.max(left.start))

    def __iter__(self) -> Iterator[Value]:
        for test, item in islice(iterables.items_of(self._frame, self._node.iter), self._had, None):
            _bind(self._frame, self._node, test, item, self._node.iter)
            self._had += 1
            yield test

    @property
    def left(self) -> Range:
        """The positions behind the turns so far, of which there may be fewer."""
        return Range(self._had, NEAR[1], 1)


def _bind(frame: Frame, node: ast.For, test: Value, item: Callable[[], Value], at: ast.expr) -> None:
    """Bind the target of a loop in the threads that have a next item."""
    outer = frame.mask
    running = outer.narrow(test) if isinstance(test, np.ndarray) else outer
    if running.count:
        frame.mask = running
        assignments.bind(frame, node.target, item(), at)
        frame.mask = outer


def _same(value: Value) -> Value:
    return value


Turns = _Conditions | _Numbers | _Items


def _while_loop(frame: Frame, node: ast.While) -> Mask:
    waits = wait_of(node)
    if waits is not None and not _changes_types(frame, node):
        return wait(frame, node, waits)
    begun = run_alone(frame, node)
    return begun if isinstance(begun, Mask) else _loop(frame, node, begun)


def _changes_types(frame: Frame, node: ast.While) -> bool:
    """Tell whether variables go on as another type somewhere in the body of a loop."""
    parts = {*ast.walk(node)} - {node}
    return any(part in parts for part, _ in frame.versions.moves)


def _for_loop(frame: Frame, node: ast.For) -> Mask:
    call = node.iter if isinstance(node.iter, ast.Call) else None
    short = None
    if call is not None and frame.canonical(call.func) == "builtins.range":
        short = _short_range(frame, node, call)
    begun = run_alone(frame, node) if short is None else None
    return begun if isinstance(begun, Mask) else _loop(frame, node, begun, short)


def _short_range(frame: Frame, node: ast.For, call: ast.Call) -> Range | None:
    """Return the range of a loop that is over sooner than anything else is made of it; None of any other."""
    steps, calls = _steps_in(node)
    if not steps or not _are_at_hand(call) or not frame.tree.calls.keys().isdisjoint(calls):
        return None
    whole = range_of(frame, call, expressions.values(frame, call.args))
    start, stop, step = (np.asarray(end, np.float64) if isinstance(end, np.ndarray) else end for end in whole.ends)
    turns = (stop - start) / step
    most = turns[frame.mask.lanes].max() if isinstance(turns, np.ndarray) else turns
    return whole if most * steps <= _FEW_STEPS else None


@lru_cache(maxsize=256)
def _steps_in(node: ast.For) -> tuple[int, tuple[ast.Call, ...]]:
    """Return how many expressions a turn of a loop has, 0 if there are loops in it; and which of them are calls."""
    parts = [part for statement in node.body for part in ast.walk(statement)]
    if any(isinstance(part, ast.For | ast.While | ast.comprehension) for part in parts):
        return 0, ()
    return sum(isinstance(part, ast.expr) for part in parts), tuple(p for p in parts if isinstance(p, ast.Call))


@lru_cache(maxsize=256)
def _are_at_hand(call: ast.Call) -> bool:
    """Tell whether the bounds of a range are asked for without any access to memory: shapes are there already."""
    shapes = [p for p in ast.walk(call) if isinstance(p, ast.Subscript) and not _is_shape(p.value)]
    others = [p for p in ast.walk(call) if isinstance(p, ast.Call | ast.NamedExpr) and p is not call]
    return not shapes and not others


def _is_shape(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "shape" and isinstance(node.value, ast.Name)


def _turns(frame: Frame, node: ast.While | ast.For, left: Range | None) -> Turns:
    """Return the turns of a loop, or what is left of them."""
    if isinstance(node, ast.While):
        return _Conditions(frame, node)
    if isinstance(node.iter, ast.Call) and frame.canonical(node.iter.func) == "builtins.range":
        return _Numbers(frame, node, node.iter, left)
    return _Items(frame, node, left)


def _loop(frame: Frame, node: ast.While | ast.For, begun: Begun | None, left: Range | None = None) -> Mask:
    """Run a loop while its conditions hold, each thread until its own does not; or what is left of it."""
    machine = frame.machine
    while_began = machine.begin_while(machine.iterations) if isinstance(node, ast.While) else machine.while_began
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
    turns = _turns(frame, node, left if begun is None else begun.left)
    conditions, watch = iter(turns), Watch(frame, node)
    while True:
        if watch.is_worth(active):
            went = go_on_in_order(frame, node, turns.left, watch.seen)
            if went is not None:
                begun = Begun(frame.nobody, went, None) if isinstance(went, Mask) else went
                loop.broken = begun.ended if loop.broken is None else outer.rejoin(loop.broken, begun.ended)
                frame.mask = active = begun.going.under(outer)
                if not active.count:
                    break
                turns = _turns(frame, node, begun.left)
                conditions = iter(turns)
        test = next(conditions, False)
        if isinstance(test, np.ndarray):
            running = active.narrow(test)
            if running is not active:
                ended = outer.rejoin(ended, active.without(running.lanes))
                active = running.under(outer)
        elif not test:
            break
        if not active.count:
            break
        machine.tick(frame.function.file, node.lineno)
        watch.turn(active)
        end = frame.block(node.body, active)
        frame.move(node, "turn", end)
        if loop.continued is not None:
            end = active.rejoin(end, loop.continued)
            loop.continued = None
        active = end.under(outer)
        frame.mask = active
        if not active.count:
            break
    watch.end()
    ended = outer.rejoin(ended, active).under(outer)
    frame.loops.pop()
    machine.while_began = while_began
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


STATEMENTS: dict[type[ast.AST], Callable[[Frame, Any], Mask]] = {
    ast.While: _while_loop,
    ast.For: _for_loop,
    ast.Break: _leave,
    ast.Continue: _skip,
}
