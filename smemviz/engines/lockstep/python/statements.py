"""Branches, returns and errors: how threads go different ways and come together again."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from smemviz.engines.lockstep.python.frame import Frame, short
from smemviz.engines.lockstep.python.iterables import Iterating
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.operators import truth
from smemviz.messages import english


def _expression(frame: Frame, node: ast.Expr) -> Mask:
    if not isinstance(node.value, ast.Constant):  # a docstring is one
        frame.statement_call = node.value
        frame.value(node.value)
    return frame.mask


def _branch(frame: Frame, node: ast.If) -> Mask:
    mask = frame.mask
    test = truth(frame.value(node.test))
    if not isinstance(test, np.ndarray):
        return _way(frame, node, "body" if test else "orelse", mask)
    then = mask.narrow(test)
    if then is mask:
        return _way(frame, node, "body", mask)
    if not then.count:
        return _way(frame, node, "orelse", mask)
    end = _way(frame, node, "body", then)
    other = Mask(mask.lanes & ~test, mask.count - then.count, mask)
    return mask.rejoin(end, _way(frame, node, "orelse", other))


def _way(frame: Frame, node: ast.If, way: str, mask: Mask) -> Mask:
    """Run the one or the other part of a branch."""
    part = node.body if way == "body" else node.orelse
    end = frame.block(part, mask) if part else mask
    frame.move(node, way, end)
    return end


def _give(frame: Frame, node: ast.Return) -> Mask:
    value = None if node.value is None else frame.value(node.value)
    if isinstance(value, Iterating):
        raise frame.none_of_numba(node, short(node), english("a loop there"))
    frame.finish(node, value)
    if frame.is_kernel and value is not None:
        raise frame.wrong(node, english("a kernel returns nothing; store the result in an array"))
    return frame.nobody


def _check(frame: Frame, node: ast.Assert) -> Mask:
    _check_message(frame, node, node.msg)
    test = truth(frame.value(node.test))
    outer = frame.mask
    failing = outer.narrow(~test if isinstance(test, np.ndarray) else np.full(len(outer.lanes), not test))
    if not failing.count:
        return outer
    frame.mask = failing
    _stop(frame, node)
    return outer.without(failing.lanes)


def _stop(frame: Frame, node: ast.Raise | ast.Assert) -> Mask:
    """End the active threads, as the GPU does, and note who raised what."""
    if not frame.is_kernel:
        raise frame.refuse(node, english("{code} in a device function", code=short(node)))
    _check_message(frame, node, node.exc if isinstance(node, ast.Raise) else None)
    mask = frame.mask
    frame.machine.find("raised", node.lineno, node.col_offset, mask.lanes, threads=mask.count, code=short(node))
    frame.end_threads()
    return frame.nobody


def _check_message(frame: Frame, node: ast.stmt, message: ast.expr | None) -> None:
    """Refuse an error that says what a variable holds: Numba has to know its message when it compiles."""
    parts = () if message is None else ast.walk(message)
    if any(isinstance(part, ast.Name) and part.id in frame.names.locals for part in parts):
        what = english("{code}, with a message that is not constant", code=short(node))
        raise frame.none_of_numba(node, what, english("text, and print(...) before it"))


STATEMENTS: dict[type[ast.AST], Callable[[Frame, Any], Mask]] = {
    ast.Expr: _expression,
    ast.If: _branch,
    ast.Return: _give,
    ast.Pass: lambda frame, node: frame.mask,
    ast.Raise: _stop,
    ast.Assert: _check,
}
