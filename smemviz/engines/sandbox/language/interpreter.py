"""Runs the host part of a kernel file on its syntax tree: no ``exec``, no import, no attribute without a rule.

It is for text that nobody vouches for. Every value is a number, a text, an array of numbers, or a list, tuple or
function made of these; every name, function and method is one of the tables in ``known``. Time and memory of what is
called are bounded by working out the size of a result first, and by counting steps; the supervisor of the process
holds what slips through.
"""

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from smemviz.engines.lockstep.host.cuda import Cuda
from smemviz.engines.lockstep.host.devices import Stream
from smemviz.engines.sandbox.language import calls, host_expressions
from smemviz.engines.sandbox.language.host import Host, HostFunction, Language, Launcher
from smemviz.engines.sandbox.language.scope import (
    SIGNALS,
    BreakSignal,
    Caught,
    ContinueSignal,
    Kind,
    Raised,
    ReturnSignal,
    imported,
)
from smemviz.engines.sandbox.sandbox_limits import SandboxLimits
from smemviz.errors import KernelFileError, UnsupportedError
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.messages import english
from smemviz.model.layout.formulas import UNARY

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
            raise host.error(english("{code} is not a class of exceptions", code=ast.unparse(handler.type)))
        if issubclass(caught.raised, tuple(kind.raised for kind in kinds)):
            return handler
    return None


def _handle(host: Host, handler: ast.ExceptHandler, raised: Raised) -> None:
    if handler.name:
        host_expressions.assign(host, ast.Name(handler.name, ast.Store()), raised.caught)
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
        raise host.error(english("{code} is not an exception", code=ast.unparse(node.exc)))
    return host.raised(value.raised, value.what)


def within(host: Host, node: ast.With) -> None:
    """Execute a ``with`` of contexts that do nothing here."""
    for item in node.items:
        entered = _entered(host, item.context_expr)
        if item.optional_vars is not None:
            host_expressions.assign(host, item.optional_vars, entered)
    host.statements(node.body)


def _entered(host: Host, node: ast.expr) -> Any:
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
        host_expressions.assign(host, node.target, item)
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


_REFUSED_EXPRESSIONS: dict[type[ast.AST], str] = {
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.SetComp: english("a set"),
    ast.Set: english("a set"),
    ast.DictComp: english("a comprehension of a dict"),
    ast.Starred: english("an asterisk here"),
}
_REFUSED: dict[type[ast.AST], str] = {
    ast.ClassDef: english("a class"),
    ast.AsyncFunctionDef: english("an async function"),
    ast.TryStar: "try with except*",
    ast.AsyncWith: "with",
    ast.AsyncFor: english("an async loop"),
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.Delete: "del",
    ast.Match: "match",
}


def run_module(host: Host, program: PythonProgram) -> None:
    """Execute the module's statements, then ``main()``.

    Raises:
        SmemvizError: at the line where it cannot go on.
    """
    program.require_main()
    try:
        host.statements(program.statements())
        main = host.globals.get("main")
        if not isinstance(main, HostFunction):
            raise KernelFileError(host.file, host.line, english("main is not a function here"))
        calls.call_function(host, main, [], {})
    except Raised as raised:
        raise raised.error from None
    except SIGNALS:
        raise KernelFileError(host.file, host.line, english("return, break or continue stands outside")) from None
    except RecursionError:
        raise host.error(english("the text nests too deeply; make it flatter")) from None
    except MemoryError:
        raise host.error(english("there is no memory left for this; make its arrays smaller")) from None


def _value(host: Host, node: ast.expr) -> Any:
    match node:
        case ast.Constant():
            if isinstance(node.value, bytes):
                raise host.refuse(english("a text of bytes"))
            return host.bounded(node.value)
        case ast.Name():
            return host.lookup(node.id)
        case ast.Attribute():
            return host_expressions.member_of(host, host.value(node.value), node)
        case ast.Call():
            return calls.call(host, node)
        case ast.Subscript():
            return host_expressions.subscript(host, host.value(node.value), host_expressions.index_of(host, node.slice))
        case ast.BinOp():
            return host_expressions.binary(host, node.op, host.value(node.left), host.value(node.right))
        case ast.UnaryOp(op=ast.Not()):
            return not host_expressions.truth(host, node.operand)
        case ast.UnaryOp():
            return host.guarded(UNARY[type(node.op)], host_expressions.data(host, node.operand))
        case ast.BoolOp():
            return host_expressions.either(host, node)
        case ast.Compare():
            return host_expressions.compare(host, node)
        case ast.IfExp():
            return host.value(node.body if host_expressions.truth(host, node.test) else node.orelse)
        case ast.Tuple():
            return tuple(host_expressions.items(host, node.elts))
        case ast.List():
            return host_expressions.items(host, node.elts)
        case ast.ListComp() | ast.GeneratorExp():
            return host_expressions.comprehension(host, node)
        case ast.JoinedStr():
            return host.bounded("".join(host_expressions.part(host, part) for part in node.values))
        case ast.Slice():
            return host_expressions.index_of(host, node)
        case ast.Lambda():
            return calls.anonymous(host, node)
        case ast.NamedExpr():
            host_expressions.assign(host, node.target, value := host.value(node.value))
            return value
    raise host.refuse(_REFUSED_EXPRESSIONS.get(type(node), english("this expression")))


def _execute(host: Host, node: ast.stmt) -> None:
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Pass():
            pass
        case ast.Expr():
            host.value(node.value)
        case ast.Assign():
            value = host.value(node.value)
            for target in node.targets:
                host_expressions.assign(host, target, value)
        case ast.AnnAssign():
            if node.value is not None:
                host_expressions.assign(host, node.target, host.value(node.value))
        case ast.AugAssign():
            host_expressions.augment(host, node)
        case ast.If():
            host.statements(node.body if host_expressions.truth(host, node.test) else node.orelse)
        case ast.For():
            loop(host, host_expressions.iterate(host, node.iter), node)
        case ast.While():
            repeat(host, node)
        case ast.FunctionDef():
            calls.define(host, node)
        case ast.Return():
            raise ReturnSignal(None if node.value is None else host.value(node.value))
        case ast.Break():
            raise BreakSignal
        case ast.Continue():
            raise ContinueSignal
        case ast.Assert():
            if not host_expressions.truth(host, node.test):
                raise host.raised(AssertionError, host.text(host.value(node.msg)) if node.msg else "")
        case ast.Try():
            attempt(host, node)
        case ast.Raise():
            raise raising(host, node)
        case ast.With():
            within(host, node)
        case ast.Import() | ast.ImportFrom():
            _bring(host, node)
        case _:
            raise host.refuse(_REFUSED.get(type(node), english("this statement")))


def _bring(host: Host, node: ast.Import | ast.ImportFrom) -> None:
    """Execute an import; text may try whether a module is there."""
    try:
        host.names.update(imported(host.file, node, host.modules))
    except UnsupportedError as missing:
        raise Raised(Caught(ModuleNotFoundError, missing.what), missing) from None


PYTHON = Language(_value, _execute)


def host_of(program: PythonProgram, limits: SandboxLimits, launcher: Launcher) -> Host:
    """Return the host part of a program before it runs; ``printed`` is what it is going to print."""
    return Host(PYTHON, program, limits, launcher)
