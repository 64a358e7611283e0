"""Loops: each thread until its own condition ends, over numbers, tuples and arrays.

Of loops that only wait, as for a lock, who is done with one goes on before the others, who try again afterwards.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from smemviz.engines.lockstep.python import iterables, statements
from smemviz.engines.lockstep.python.frame import Frame, Loop, short
from smemviz.engines.lockstep.values.masks import Lanes, Mask
from smemviz.engines.lockstep.values.operators import truth
from smemviz.engines.lockstep.values.typing import Value
from smemviz.messages import english
from smemviz.recordings.data import WARP_SIZE

_IN_VAIN = 100  # turns
# Calls that change nothing by being made once more.
_LOOKS = ("cas", "compare_and_swap", "exch", "ldca", "ldcg", "ldcs", "ldcv", "ldlu")
_OF_NOTHING = ("add", "sub", "or_", "xor")  # nor do these with 0
_IDLE = ("nanosleep", "threadfence", "threadfence_block", "threadfence_system", "syncwarp")


@dataclass(frozen=True)
class Wait:
    """A loop that only looks whether it may end: what a turn does before it looks, and behind; and who goes on.

    ``ends`` tells whether the condition ends the wait, as before a ``break``, or goes on with it.
    """

    before: tuple[ast.stmt, ...]
    condition: ast.expr
    behind: tuple[ast.stmt, ...]
    ends: bool

    @property
    def asks_behind(self) -> bool:
        """Whether what the condition is about is asked for at the end of a turn."""
        return any(isinstance(statement, ast.Assign) for statement in self.behind)


@lru_cache(maxsize=4096)
def wait_of(node: ast.stmt) -> Wait | None:
    """Return what a loop does that does nothing but look whether it may end, None for any other statement."""
    if not isinstance(node, ast.While) or node.orelse:
        return None
    if not isinstance(node.test, ast.Constant):
        made = Wait((), node.test, tuple(node.body), ends=False)
    else:
        exits = [
            place
            for place, part in enumerate(node.body)
            if (
                isinstance(part, ast.If)
                and not part.orelse
                and len(part.body) == 1
                and isinstance(part.body[0], ast.Break)
            )
        ]
        if not node.test.value or len(exits) != 1:
            return None
        exit_at = node.body[exits[0]]
        assert isinstance(exit_at, ast.If)
        made = Wait(tuple(node.body[: exits[0]]), exit_at.test, tuple(node.body[exits[0] + 1 :]), ends=True)
    asked = [_asked(part) for part in (*made.before, *made.behind) if not _does_nothing(part)]
    looks = [value for _, value in filter(None, asked)]
    if len(looks) < len(asked) or any(map(_changes, (made.condition, *looks))):
        return None
    given = {name for name, _ in filter(None, asked)}
    asking = [part for part in ast.walk(made.condition) if isinstance(part, ast.Call | ast.Subscript)]
    names = {part.id for look in (*looks, *asking) for part in ast.walk(look) if isinstance(part, ast.Name)}
    return None if given & names else made  # what asks with what was found before goes on from turn to turn


def _asked(node: ast.stmt) -> tuple[str, ast.expr] | None:
    """Return the variable that a statement gives what it finds in memory, and how; None for any other statement."""
    if not isinstance(node, ast.Assign) or len(node.targets) > 1 or not isinstance(node.targets[0], ast.Name):
        return None
    is_look = any(isinstance(part, ast.Call | ast.Subscript) for part in ast.walk(node.value))
    return (node.targets[0].id, node.value) if is_look else None


def _changes(node: ast.expr) -> bool:
    """Tell whether an expression may change something by being evaluated once more."""
    return any(
        isinstance(part, ast.NamedExpr) or (isinstance(part, ast.Call) and not _only_looks(part))
        for part in ast.walk(node)
    )


def _only_looks(node: ast.Call) -> bool:
    """Tell whether a call changes nothing by being made once more."""
    is_nothing = bool(node.args) and isinstance(node.args[-1], ast.Constant) and node.args[-1].value == 0
    return _called(node) in _LOOKS or (is_nothing and _called(node) in _OF_NOTHING)


def only_waits(node: ast.stmt) -> bool:
    """Tell whether a statement is a loop that does nothing but look whether it may end."""
    return wait_of(node) is not None


def _does_nothing(node: ast.stmt) -> bool:
    """Tell whether a statement changes no variable and no array, as far as its looks tell."""
    if not isinstance(node, ast.Expr):
        return isinstance(node, ast.Pass | ast.Continue)
    if not isinstance(node.value, ast.Call):
        return isinstance(node.value, ast.Constant)
    return _called(node.value) in _IDLE


def _called(node: ast.Call) -> str:
    """Return the last part of the name of a function that is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


@lru_cache(maxsize=4096)
def is_lock(function: ast.FunctionDef) -> bool:
    """Tell whether a device function only waits, so that its threads can come out of it one after the other."""
    return any(map(only_waits, function.body)) and all(only_waits(s) or _does_nothing(s) for s in function.body)


def wait(frame: Frame, node: ast.While, waits: Wait) -> Mask:
    """Run a loop that only waits until a turn lets nobody out; ``frame.waiting`` are those that are still in it.

    Raises:
        UnsupportedError: where nobody comes out, so that nothing can happen that they wait for.
    """
    machine = frame.machine
    outer = active = frame.mask
    behind = [statement for statement in waits.behind if isinstance(statement, ast.Expr | ast.Assign)]
    in_vain = 0
    frame.move(node, "enter", outer)
    while True:
        frame.block(waits.before, active)
        frame.mask = active
        test = truth(frame.value(waits.condition))
        test = ~test if waits.ends and isinstance(test, np.ndarray) else test != waits.ends
        waiting = active.narrow(test) if isinstance(test, np.ndarray) else active if test else frame.nobody
        if not waiting.count:
            frame.move(node, "end", outer)
            return outer
        machine.tick(frame.function.file, node.lineno)
        others_may_end_it = waiting.count == active.count and (active.count < outer.count or frame.tries)
        if not (others_may_end_it and waits.asks_behind and in_vain):
            frame.block(behind, waiting)
            frame.move(node, "turn", waiting)
        if others_may_end_it and (in_vain or not waits.asks_behind):
            frame.waiting = active.under(outer)
            frame.move(node, "end", outer.without(active.lanes))
            return outer
        in_vain = in_vain + 1 if waiting.count == active.count else int(waits.asks_behind)
        if in_vain == _IN_VAIN:
            raise frame.never_ends(node, outer)
        active = waiting


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
    return _loop(
        frame,
        node,
        _bound(frame, node, items),
        None
        if _may_be_left(node)
        else (float(np.max(size[frame.mask.lanes])) if isinstance(size, np.ndarray) else size),
    )


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


def _bound(frame: Frame, node: ast.For, items: iterables.Items) -> Iterator[Value]:
    """Give in which threads there is a next item, to which the target is bound there."""
    for test, item in items:
        outer = frame.mask
        running = outer.narrow(test) if isinstance(test, np.ndarray) else outer
        if running.count:
            frame.mask = running
            statements.bind(frame, node.target, item(), node.iter)
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
        raise frame.wrong(node, english("{code} is outside of a loop", code=ast.unparse(node)))
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
