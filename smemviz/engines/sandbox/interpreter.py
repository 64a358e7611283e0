"""Runs the host part of a kernel file on its syntax tree: no ``exec``, no import, no attribute without a rule.

It is for text that nobody vouches for. Every value is a number, a text, an array of numbers, or a list, tuple or
function made of these; every name, function and method is one of the tables in ``known``. Time and memory of what is
called are bounded by working out the size of a result first, and by counting steps; the supervisor of the process
holds what slips through.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from smemviz.engines.sandbox.calls import Calls
from smemviz.engines.sandbox.kernels import HostFunction, Kernel
from smemviz.engines.sandbox.scope import imported
from smemviz.errors import KernelFileError
from smemviz.functions import Function
from smemviz.program import Program

_REFUSED: dict[type[ast.AST], str] = {
    ast.ClassDef: "a class",
    ast.AsyncFunctionDef: "an async function",
    ast.Try: "try",
    ast.TryStar: "try",
    ast.With: "with",
    ast.AsyncWith: "with",
    ast.AsyncFor: "an async loop",
    ast.Raise: "raise",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.Delete: "del",
    ast.Match: "match",
}


class _ReturnSignal(Exception):  # noqa: N818 - no error
    def __init__(self, value: Any) -> None:
        self.value = value


class _BreakSignal(Exception):  # noqa: N818 - no error
    pass


class _ContinueSignal(Exception):  # noqa: N818 - no error
    pass


class Host(Calls):
    """The host part of one program; ``printed`` is what it prints."""

    def run_module(self, program: Program) -> None:
        """Execute the module's statements, then ``main()``.

        Raises:
            SmemvizError: at the line where it cannot go on.
        """
        program.require_main()
        try:
            self.statements(program.statements())
            main = self.globals.get("main")
            if not isinstance(main, HostFunction):
                raise KernelFileError(self.file, self.line, "main is something else than a function here")
            self.call_function(main, [], {})
        except (_ReturnSignal, _BreakSignal, _ContinueSignal):
            raise KernelFileError(self.file, self.line, "return, break or continue stands outside") from None
        except RecursionError:
            raise self.error("the text nests too deeply; make it flatter") from None
        except MemoryError:
            raise self.error("there is no memory left for this; make its arrays smaller") from None

    def statements(self, body: Iterable[ast.stmt]) -> None:
        """Execute statements in order."""
        for node in body:
            self.step(node)
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        """Execute one statement."""
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr():
                self.value(node.value)
            case ast.Assign():
                value = self.value(node.value)
                for target in node.targets:
                    self.assign(target, value)
            case ast.AnnAssign():
                if node.value is not None:
                    self.assign(node.target, self.value(node.value))
            case ast.AugAssign():
                self.augment(node)
            case ast.If():
                self.statements(node.body if self.truth(node.test) else node.orelse)
            case ast.For():
                self.loop(self.iterate(node.iter), node)
            case ast.While():
                self.repeat(node)
            case ast.FunctionDef():
                self.define(node)
            case ast.Return():
                raise _ReturnSignal(None if node.value is None else self.value(node.value))
            case ast.Break():
                raise _BreakSignal
            case ast.Continue():
                raise _ContinueSignal
            case ast.Assert():
                if not self.truth(node.test):
                    said = f": {self.text(self.value(node.msg))}" if node.msg else ""
                    raise self.error(f"AssertionError{said}")
            case ast.Import() | ast.ImportFrom():
                self.names.update(imported(self.file, node, self.modules))
            case _:
                raise self.refuse(_REFUSED.get(type(node), "this statement"))

    def loop(self, items: Iterable[Any], node: ast.For) -> None:
        """Execute a ``for``."""
        for item in items:
            self.step(node)
            self.assign(node.target, item)
            if not self.goes_on(node):
                return
        self.statements(node.orelse)

    def repeat(self, node: ast.While) -> None:
        """Execute a ``while``."""
        while self.truth(node.test):
            self.step(node)
            if not self.goes_on(node):
                return
        self.statements(node.orelse)

    def goes_on(self, node: ast.For | ast.While) -> bool:
        """Execute the body of a loop once, and tell whether the loop goes on."""
        try:
            self.statements(node.body)
        except _BreakSignal:
            return False
        except _ContinueSignal:
            pass
        return True

    def define(self, node: ast.FunctionDef) -> None:
        """Bind a function: a kernel or device function under ``cuda.jit``, else one of the host."""
        definition = Function(node.name, self.file, self.source, self.tree, node, self.globals)
        if not node.decorator_list:
            self.names[node.name] = HostFunction(definition)
            return
        if len(node.decorator_list) > 1 or self.names is not self.globals:
            raise self.refuse("a decorated function inside another or with several decorators")
        decorator = node.decorator_list[0]
        call = decorator if isinstance(decorator, ast.Call) else None
        if self.value(call.func if call else decorator) != self.modules["numba.cuda"].jit:
            raise self.refuse("a decorator other than cuda.jit")
        if call and call.args:
            raise self.refuse("a signature in cuda.jit")
        options = {keyword.arg or "**": self.value(keyword.value) for keyword in (call.keywords if call else ())}
        self.names[node.name] = Kernel(definition, bool(options.get("device", False)))

    def call_function(self, function: HostFunction, arguments: list[Any], options: dict[str, Any]) -> Any:
        """Call a function of the text on the host."""
        node = function.definition.node
        if len(self.frames) >= self.limits.calls:
            raise self.error(f"functions call each other more than {self.limits.calls} deep")
        bound = self.bind(node, arguments, options)
        self.frames.append(bound)
        try:
            self.statements(node.body)
        except _ReturnSignal as returned:
            return returned.value
        finally:
            self.frames.pop()
        return None

    def bind(self, node: ast.FunctionDef, arguments: list[Any], options: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters of a call with their values."""
        parameters = node.args
        if parameters.vararg or parameters.kwarg or parameters.kwonlyargs:
            raise self.refuse("a function with * or keyword-only parameters")
        names = [one.arg for one in (*parameters.posonlyargs, *parameters.args)]
        bound = dict(zip(names, arguments, strict=False))
        twice = set(bound) & set(options)
        bound |= options
        defaults = parameters.defaults
        for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
            if name not in bound:
                bound[name] = self.value(default)
        if len(arguments) > len(names) or set(bound) != set(names) or twice:
            raise self.error(f"{node.name} takes {', '.join(names) or 'no arguments'}")
        return bound
