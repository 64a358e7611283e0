"""Loops that only wait, as for a lock: who is done with one goes on before the others, who try again afterwards."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.operators import truth

_IN_VAIN = 100  # turns
# Calls that change nothing by being made once more.
_LOOKS = ("cas", "compare_and_swap", "exch", "ldca", "ldcg", "ldcs", "ldcv", "ldlu")
_OF_NOTHING = ("add", "sub", "or_", "xor")  # nor do these with 0
_IDLE = ("nanosleep", "threadfence", "threadfence_block", "threadfence_system", "syncwarp")
FENCES = ("cuda.threadfence", "cuda.threadfence_block", "cuda.threadfence_system")


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
        exits = [place for place, part in enumerate(node.body) if _is_exit(part)]
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


def _is_exit(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and not node.orelse and len(node.body) == 1 and isinstance(node.body[0], ast.Break)


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
