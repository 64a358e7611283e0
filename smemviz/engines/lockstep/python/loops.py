"""Loops: each thread until its own condition ends, over numbers, tuples and arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

from smemviz.engines.lockstep.python import assignments, expressions, iterables
from smemviz.engines.lockstep.python.frame import Frame, Loop
from smemviz.engines.lockstep.python.functions.ranges import range_of
from smemviz.engines.lockstep.python.one_thread.run import Begun, run_alone
from smemviz.engines.lockstep.python.waiting import only_waits, wait
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.operators import truth
from smemviz.engines.lockstep.values.ranges import Range
from smemviz.engines.lockstep.values.typing import Value
from smemviz.messages import english

_FEW_STEPS = 128  # expressions in all turns of a loop, for which the interpreter takes the least


def _while_loop(frame: Frame, node: ast.While) -> Mask:
    if only_waits(node):
        return wait(frame, node)
    begun = run_alone(frame, node)
    if isinstance(begun, Mask):
        return begun

    def conditions() -> Iterator[Value]:
        while True:
            yield truth(frame.value(node.test))

    return _loop(frame, node, conditions(), begun)


def _for_loop(frame: Frame, node: ast.For) -> Mask:
    call = node.iter if isinstance(node.iter, ast.Call) else None
    if call is not None and frame.canonical(call.func) != "builtins.range":
        call = None
    short = None if call is None else _short_range(frame, node, call)
    begun = run_alone(frame, node) if short is None else None
    if isinstance(begun, Mask):
        return begun
    left = short if begun is None else begun.left
    conditions = _over_items(frame, node, left) if call is None else _counted(frame, node, call, left)
    return _loop(frame, node, conditions, begun)


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


def _over_items(frame: Frame, node: ast.For, left: Range | None) -> Iterator[Value]:
    """Go over tuples and arrays, binding the target; yields which threads have a next item.

    ``left`` are the positions of items that are left to threads, which have all had as many.
    """
    had = 0 if left is None else int(np.max(left.start))
    for test, item in islice(iterables.items_of(frame, node.iter), had, None):
        outer = frame.mask
        running = outer.narrow(test) if isinstance(test, np.ndarray) else outer
        if running.count:
            frame.mask = running
            assignments.bind(frame, node.target, item(), node.iter)
            frame.mask = outer
        yield test


def _loop(frame: Frame, node: ast.While | ast.For, conditions: Iterator[Value], begun: Begun | None = None) -> Mask:
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
        machine.tick(frame.function.file, node.lineno)
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
