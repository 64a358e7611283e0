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

from smemviz.engines.sandbox.kernels import HostFunction, Kernel
from smemviz.engines.sandbox.language.blocks import Blocks
from smemviz.engines.sandbox.language.exceptions import (
    SIGNALS,
    BreakSignal,
    Caught,
    ContinueSignal,
    Raised,
    ReturnSignal,
)
from smemviz.engines.sandbox.language.scope import imported
from smemviz.errors import KernelFileError, UnsupportedError
from smemviz.frontends.numba.functions import Function
from smemviz.frontends.numba.program import Program
from smemviz.messages import said

_REFUSED: dict[type[ast.AST], str] = {
    ast.ClassDef: said("a class"),
    ast.AsyncFunctionDef: said("an async function"),
    ast.TryStar: "try with except*",
    ast.AsyncWith: "with",
    ast.AsyncFor: said("an async loop"),
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.Delete: "del",
    ast.Match: "match",
}


class Host(Blocks):
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
                raise KernelFileError(self.file, self.line, said("main is something else than a function here"))
            self.call_function(main, [], {})
        except Raised as raised:
            raise raised.error from None
        except SIGNALS:
            raise KernelFileError(self.file, self.line, said("return, break or continue stands outside")) from None
        except RecursionError:
            raise self.error(said("the text nests too deeply; make it flatter")) from None
        except MemoryError:
            raise self.error(said("there is no memory left for this; make its arrays smaller")) from None

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
                raise ReturnSignal(None if node.value is None else self.value(node.value))
            case ast.Break():
                raise BreakSignal
            case ast.Continue():
                raise ContinueSignal
            case ast.Assert():
                if not self.truth(node.test):
                    raise self.raised(AssertionError, self.text(self.value(node.msg)) if node.msg else "")
            case ast.Try():
                self.attempt(node)
            case ast.Raise():
                raise self.raising(node)
            case ast.With():
                self.within(node)
            case ast.Import() | ast.ImportFrom():
                self.bring(node)
            case _:
                raise self.refuse(_REFUSED.get(type(node), said("this statement")))

    def bring(self, node: ast.Import | ast.ImportFrom) -> None:
        """Execute an import; text may try whether a module is there."""
        try:
            self.names.update(imported(self.file, node, self.modules))
        except UnsupportedError as missing:
            raise Raised(Caught(ModuleNotFoundError, missing.what), missing) from None

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
        except BreakSignal:
            return False
        except ContinueSignal:
            pass
        return True

    def define(self, node: ast.FunctionDef) -> None:
        """Bind a function: a kernel or device function under ``cuda.jit``, else one of the host."""
        if not node.decorator_list:
            self.names[node.name] = self.function(node)
            return
        if len(node.decorator_list) > 1 or self.names is not self.globals:
            raise self.refuse(said("a decorated function inside another or with several decorators"))
        decorator = node.decorator_list[0]
        call = decorator if isinstance(decorator, ast.Call) else None
        jit = self.modules["numba.cuda"].jit
        named = self.value(call.func if call else decorator)
        if type(named) is not type(jit) or named != jit:  # arrays compare their elements
            raise self.refuse(said("a decorator other than cuda.jit"))
        if call and call.args:
            raise self.refuse(said("a signature in cuda.jit"))
        options = {keyword.arg or "**": self.value(keyword.value) for keyword in (call.keywords if call else ())}
        definition = Function(node.name, self.file, self.source, self.tree, node, self.globals)
        self.names[node.name] = Kernel(definition, bool(self.guarded(bool, options.get("device", False))))

    def call_function(self, function: HostFunction, arguments: list[Any], options: dict[str, Any]) -> Any:
        """Call a function of the text on the host."""
        node = function.definition.node
        if len(self.frames) >= self.limits.calls:
            raise self.error(said("functions call each other more than {calls} deep", calls=self.limits.calls))
        bound = self.bind(function, arguments, options)
        outer, self.enclosing = self.enclosing, function.enclosing
        self.frames.append(bound)
        try:
            self.statements(node.body)
        except ReturnSignal as returned:
            return returned.value
        finally:
            self.frames.pop()
            self.enclosing = outer
        return None

    def bind(self, function: HostFunction, arguments: list[Any], options: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters of a call with their values."""
        node = function.definition.node
        parameters = node.args
        if parameters.vararg or parameters.kwarg or parameters.kwonlyargs:
            raise self.refuse(said("a function with * or keyword-only parameters"))
        names = [one.arg for one in (*parameters.posonlyargs, *parameters.args)]
        bound = dict(zip(names, arguments, strict=False))
        twice = set(bound) & set(options)
        bound |= options
        defaults = function.defaults
        bound = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)) | bound
        if len(arguments) > len(names) or set(bound) != set(names) or twice:
            if not names:
                raise self.error(said("{function} takes no arguments", function=node.name))
            raise self.error(f"{node.name} takes {', '.join(names)}")
        return bound
