"""Loops: each thread until its own condition ends, over numbers, tuples and arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from smemviz.engines.lockstep.python import assignments, iterables
from smemviz.engines.lockstep.python.frame import Frame, Loop, short
from smemviz.engines.lockstep.python.waiting import wait, wait_of
from smemviz.engines.lockstep.values.masks import Lanes, Mask
from smemviz.engines.lockstep.values.operators import truth
from smemviz.engines.lockstep.values.typing import Value
from smemviz.messages import english
from smemviz.recordings.data import WARP_SIZE


def _while_loop(frame: Frame, node: ast.While) -> Mask:
    waits = wait_of(node)
    if waits is not None and not _changes_types(frame, node):
        return wait(frame, node, waits)
    return _loop(frame, node, _conditions(frame, node), None)


def _changes_types(frame: Frame, node: ast.While) -> bool:
    """Tell whether variables go on as another type somewhere in the body of a loop."""
    parts = {*ast.walk(node)} - {node}
    return any(part in parts for part, _ in frame.versions.moves)


def _for_loop(frame: Frame, node: ast.For) -> Mask:
    items, size = iterables.items_of(frame, node.iter)
    return _loop(frame, node, _bound(frame, node, items), None if _may_be_left(node) else _most(frame, size))


def _conditions(frame: Frame, node: ast.While) -> Iterator[Value]:
    """Give in which threads the condition of a loop holds, turn by turn."""
    machine = frame.machine
    while True:
        barriers, two_ways = machine.barriers, frame.loops[-1].two_ways
        test = truth(frame.value(node.test))
        if two_ways is not None and machine.barriers > barriers:
            _check_ways(frame, node, *two_ways)
        yield test


@lru_cache(maxsize=256)
def _may_be_left(node: ast.For) -> bool:
    """Tell whether a loop may end before it has gone over everything."""
    parts: list[ast.AST] = list(node.body)
    for part in parts:
        if isinstance(part, ast.Break):
            return True
        if not isinstance(part, ast.For | ast.While):
            parts.extend(ast.iter_child_nodes(part))
    return any(isinstance(part, ast.Return) for statement in node.body for part in ast.walk(statement))


def _most(frame: Frame, size: Value) -> float | None:
    """Return how many items the thread has that has most."""
    return float(np.max(size[frame.mask.lanes])) if isinstance(size, np.ndarray) else size


def _bound(frame: Frame, node: ast.For, items: iterables.Items) -> Iterator[Value]:
    """Give in which threads there is a next item, to which the target is bound there."""
    for test, item in items:
        outer = frame.mask
        running = outer.narrow(test) if isinstance(test, np.ndarray) else outer
        if running.count:
            frame.mask = running
            assignments.bind(frame, node.target, item(), node.iter)
            frame.mask = outer
        yield test


def _loop(frame: Frame, node: ast.While | ast.For, tests: Iterator[Value], most: float | None) -> Mask:
    """Run a loop while its conditions hold, each thread until its own does not; ``most`` are its turns, where known."""
    machine = frame.machine
    while_began = machine.while_began
    if while_began is None and isinstance(node, ast.While):
        machine.while_began = machine.iterations
    outer = active = frame.mask
    ended = frame.nobody
    loop = Loop()
    frame.loops.append(loop)
    frame.move(node, "enter", outer)
    turns = machine.pace.begin(most)
    while active.count:
        test = next(tests, False)
        if isinstance(test, np.ndarray):
            running = active.narrow(test)
            if running is not active:
                ended = outer.rejoin(ended, active.without(running.lanes))
                active = running.under(outer)
                if not active.count:
                    break
        elif not test:
            break
        turns.begun += 1
        machine.tick(frame.function.file, node.lineno)
        end = frame.block(node.body, active)
        frame.move(node, "turn", end)
        loop.two_ways = None if loop.continued is None else (loop.continued, end)
        if loop.continued is not None:
            end = active.rejoin(end, loop.continued)
            loop.continued = None
        frame.mask = active = end.under(outer)
    ended = outer.rejoin(ended, active).under(outer)
    frame.loops.pop()
    machine.pace.end()
    machine.while_began = while_began
    if node.orelse:
        ended = frame.block(node.orelse, ended)
    frame.move(node, "end", ended)
    return ended if loop.broken is None else outer.rejoin(ended, loop.broken)


def _check_ways(frame: Frame, node: ast.While, continued: Mask, ended: Mask) -> None:
    """Note where threads of a warp come to a barrier in a loop's condition by ``continue`` and at the end of a turn.

    Python compiles such a condition twice, before the loop and behind its body, and with it the barrier.
    """
    warps = _warps(continued) & _warps(ended)
    if not warps.any():
        return
    at = continued.lanes & np.repeat(warps, WARP_SIZE)
    frame.machine.find("split_barrier", node.test.lineno, node.test.col_offset, at, code=short(node.test))


def _warps(mask: Mask) -> Lanes:
    """Tell which warps have threads in a mask."""
    return np.asarray(mask.lanes.reshape(-1, WARP_SIZE).any(axis=1))


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
