"""Statements of the host part that hold others and see how they end: ``try`` and ``with``; and ``raise``."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from smemviz.engines.lockstep.host.cuda import Cuda, Stream
from smemviz.engines.sandbox.language.calls import Calls
from smemviz.engines.sandbox.language.exceptions import SIGNALS, Caught, Kind, Raised
from smemviz.messages import said

_CONTEXTS = ("pinned", "defer_cleanup")  # which do nothing in lockstep


class Blocks(Calls):
    """Executes ``try``, ``with`` and ``raise``."""

    def statements(self, body: Iterable[ast.stmt]) -> None:
        """Execute statements in order; the interpreter knows how."""
        raise NotImplementedError

    def attempt(self, node: ast.Try) -> None:
        """Execute a ``try``; where a limit or a refusal ends the run, ``finally`` is not executed."""
        try:
            self._attempt(node)
        except (Raised, *SIGNALS):
            self.statements(node.finalbody)
            raise
        self.statements(node.finalbody)

    def _attempt(self, node: ast.Try) -> None:
        try:
            self.statements(node.body)
        except Raised as raised:
            handler = self._handler(node.handlers, raised.caught)
            if handler is None:
                raise
            self._handle(handler, raised)
        else:
            self.statements(node.orelse)

    def _handler(self, handlers: Sequence[ast.ExceptHandler], caught: Caught) -> ast.ExceptHandler | None:
        for handler in handlers:
            named = None if handler.type is None else self.value(handler.type)
            kinds = named if isinstance(named, tuple) else (named,)
            if handler.type is None:
                return handler
            if not all(isinstance(kind, Kind) for kind in kinds):
                raise self.error(said("{code} is no class of exceptions", code=ast.unparse(handler.type)))
            if issubclass(caught.raised, tuple(kind.raised for kind in kinds)):
                return handler
        return None

    def _handle(self, handler: ast.ExceptHandler, raised: Raised) -> None:
        if handler.name:
            self.assign(ast.Name(handler.name, ast.Store()), raised.caught)
        self.handling.append(raised)
        try:
            self.statements(handler.body)
        finally:
            self.handling.pop()
            if handler.name:
                self.names.pop(handler.name, None)

    def raising(self, node: ast.Raise) -> Raised:
        """Return what a ``raise`` raises."""
        if node.exc is None:
            return self.handling[-1] if self.handling else self.raised(RuntimeError, "no exception to raise again")
        value = self.value(node.exc)
        if node.cause is not None:
            self.value(node.cause)
        self.line = node.lineno
        if isinstance(value, Kind):
            value = Caught(value.raised, "")
        if not isinstance(value, Caught):
            raise self.error(said("{code} is no exception", code=ast.unparse(node.exc)))
        return self.raised(value.raised, value.what)

    def within(self, node: ast.With) -> None:
        """Execute a ``with`` of contexts that do nothing here."""
        for item in node.items:
            entered = self._entered(item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, entered)
        self.statements(node.body)

    def _entered(self, node: ast.expr) -> Any:
        """Evaluate a context; return what it gives to ``as``."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value)
            if isinstance(base, Stream) and node.func.attr == "auto_synchronize":
                self.arguments(node)
                return base
            function = self.member(base, node.func)
        else:
            function = self.value(node.func) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or not isinstance(getattr(function, "__self__", None), Cuda):
            raise self.refuse(said("with, other than of cuda.pinned, cuda.defer_cleanup and stream.auto_synchronize,"))
        if function.__name__ not in _CONTEXTS:
            raise self.refuse(said("with, other than of cuda.pinned, cuda.defer_cleanup and stream.auto_synchronize,"))
        self.arguments(node)
        return None
