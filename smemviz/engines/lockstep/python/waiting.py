"""Loops that only wait, as for a lock: who is done with one goes on before the others, who try again afterwards."""

from __future__ import annotations

import ast
from functools import lru_cache

import numpy as np

from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.operators import truth

_IN_VAIN = 100  # turns
# Calls that change nothing by being made once more.
_LOOKS = ("cas", "compare_and_swap", "exch", "ldca", "ldcg", "ldcs", "ldcv", "ldlu")
_IDLE = ("nanosleep", "threadfence", "threadfence_block", "threadfence_system", "syncwarp")
FENCES = ("cuda.threadfence", "cuda.threadfence_block", "cuda.threadfence_system")


def is_idle(frame: Frame, node: ast.Call) -> bool:
    """Tell whether a call does nothing that anybody could see: a fence where there are no atomics, or a short sleep."""
    name = frame.canonical(node.func)
    sleeps = name == "cuda.nanosleep" and len(node.args) == 1 and isinstance(node.args[0], ast.Constant)
    is_fence = name in FENCES and not node.args and not frame.machine.table.has_updates
    return (sleeps or is_fence) and not node.keywords


@lru_cache(maxsize=4096)
def only_waits(node: ast.stmt) -> bool:
    """Tell whether a statement is a loop that does nothing but look whether it may end."""
    if not isinstance(node, ast.While) or node.orelse or isinstance(node.test, ast.Constant):
        return False
    changes = any(
        isinstance(part, ast.NamedExpr) or (isinstance(part, ast.Call) and _called(part) not in _LOOKS)
        for part in ast.walk(node.test)
    )
    return not changes and all(map(_does_nothing, node.body))


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


def wait(frame: Frame, node: ast.While) -> Mask:
    """Run a loop that only waits until a turn lets nobody out; ``frame.waiting`` are those that are still in it.

    Raises:
        UnsupportedError: where nobody comes out, so that nothing can happen that they wait for.
    """
    machine = frame.machine
    outer = active = frame.mask
    calls = [statement for statement in node.body if isinstance(statement, ast.Expr)]
    in_vain = 0
    while True:
        frame.mask = active
        test = truth(frame.value(node.test))
        waiting = active.narrow(test) if isinstance(test, np.ndarray) else active if test else frame.nobody
        if not waiting.count:
            return outer
        machine.tick(frame.function.file, node.lineno)
        frame.block(calls, waiting)
        if waiting.count == active.count:
            if active.count < outer.count or frame.tries:
                frame.waiting = active.under(outer)
                return outer
            in_vain += 1
            if in_vain == _IN_VAIN:
                raise frame.never_ends(node)
        active = waiting
