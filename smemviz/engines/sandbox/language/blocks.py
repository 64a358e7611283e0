"""Statements of the host part that hold others and see how they end: loops, ``try`` and ``with``; and ``raise``."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from smemviz.engines.lockstep.host.cuda import Cuda
from smemviz.engines.lockstep.host.devices import Stream
from smemviz.engines.sandbox.language import calls, host_expressions, targets
from smemviz.engines.sandbox.language.exceptions import SIGNALS, BreakSignal, Caught, ContinueSignal, Kind, Raised
from smemviz.engines.sandbox.language.host import Host
from smemviz.messages import english

_CONTEXTS = ("pinned", "defer_cleanup")  # which do nothing in lockstep


def attempt(host: Host, node: ast.Try) -> None:
    """Execute a ``try``; where a limit or a refusal ends the run, ``finally`` is not executed."""
    try:
        _attempt(host, node)
    except (Raised, *SIGNALS):
        host.statements(node.finalbody)
        raise
    host.statements(node.finalbody)


def _attempt(host: Host, node: ast.Try) -> None:
    try:
        host.statements(node.body)
    except Raised as raised:
        handler = _handler(host, node.handlers, raised.caught)
        if handler is None:
            raise
        _handle(host, handler, raised)
    else:
        host.statements(node.orelse)


def _handler(host: Host, handlers: Sequence[ast.ExceptHandler], caught: Caught) -> ast.ExceptHandler | None:
    for handler in handlers:
        caught_type = None if handler.type is None else host.value(handler.type)
        kinds = caught_type if isinstance(caught_type, tuple) else (caught_type,)
        if handler.type is None:
            return handler
        if not all(isinstance(kind, Kind) for kind in kinds):
            raise host.error(english("{code} is no class of exceptions", code=ast.unparse(handler.type)))
        if issubclass(caught.raised, tuple(kind.raised for kind in kinds)):
            return handler
    return None


def _handle(host: Host, handler: ast.ExceptHandler, raised: Raised) -> None:
    if handler.name:
        targets.assign(host, ast.Name(handler.name, ast.Store()), raised.caught)
    host.handling.append(raised)
    try:
        host.statements(handler.body)
    finally:
        host.handling.pop()
        if handler.name:
            host.names.pop(handler.name, None)


def raising(host: Host, node: ast.Raise) -> Raised:
    """Return what a ``raise`` raises."""
    if node.exc is None:
        return host.handling[-1] if host.handling else host.raised(RuntimeError, "no exception to raise again")
    value = host.value(node.exc)
    if node.cause is not None:
        host.value(node.cause)
    host.line = node.lineno
    if isinstance(value, Kind):
        value = Caught(value.raised, "")
    if not isinstance(value, Caught):
        raise host.error(english("{code} is no exception", code=ast.unparse(node.exc)))
    return host.raised(value.raised, value.what)


def within(host: Host, node: ast.With) -> None:
    """Execute a ``with`` of contexts that do nothing here."""
    for item in node.items:
        entered = _entered(host, item.context_expr)
        if item.optional_vars is not None:
            targets.assign(host, item.optional_vars, entered)
    host.statements(node.body)


def _entered(host: Host, node: ast.expr) -> Any:
    """Evaluate a context; return what it gives to ``as``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        base = host.value(node.func.value)
        if isinstance(base, Stream) and node.func.attr == "auto_synchronize":
            calls.arguments_of(host, node)
            return base
        function = host_expressions.member_of(host, base, node.func)
    else:
        function = host.value(node.func) if isinstance(node, ast.Call) else None
    known = isinstance(getattr(function, "__self__", None), Cuda) and function.__name__ in _CONTEXTS
    if not isinstance(node, ast.Call) or not known:
        raise host.refuse(english("with, other than of cuda.pinned, cuda.defer_cleanup and stream.auto_synchronize,"))
    calls.arguments_of(host, node)
    return None


def loop(host: Host, items: Iterable[Any], node: ast.For) -> None:
    """Execute a ``for``."""
    for item in items:
        host.step(node)
        targets.assign(host, node.target, item)
        if not _goes_on(host, node):
            return
    host.statements(node.orelse)


def repeat(host: Host, node: ast.While) -> None:
    """Execute a ``while``."""
    while host_expressions.truth(host, node.test):
        host.step(node)
        if not _goes_on(host, node):
            return
    host.statements(node.orelse)


def _goes_on(host: Host, node: ast.For | ast.While) -> bool:
    """Execute the body of a loop once, and tell whether the loop goes on."""
    try:
        host.statements(node.body)
    except BreakSignal:
        return False
    except ContinueSignal:
        pass
    return True
