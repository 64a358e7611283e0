"""Functions of the text: host functions, kernels and device functions as they are defined, and calls on the host."""

from __future__ import annotations

import ast
from typing import Any

from smemviz.engines.sandbox.kernels import HostFunction, Kernel
from smemviz.engines.sandbox.language import expressions
from smemviz.engines.sandbox.language.exceptions import ReturnSignal
from smemviz.engines.sandbox.language.host import Host
from smemviz.frontends.numba.functions import Function, defined
from smemviz.frontends.numba.syntax import positional
from smemviz.messages import english


def _function(host: Host, node: ast.FunctionDef) -> HostFunction:
    """Return a function of the host as it is defined here and now."""
    definition = Function(node.name, host.file, host.source, host.tree, node, host.globals)
    enclosing = (host.names, *host.enclosing) if host.frames else ()
    return HostFunction(definition, tuple(expressions.items(host, node.args.defaults)), enclosing)


def anonymous(host: Host, node: ast.Lambda) -> HostFunction:
    """Return the function that a lambda is."""
    body = ast.copy_location(ast.Return(node.body), node.body)
    return _function(host, ast.copy_location(ast.FunctionDef("<lambda>", node.args, [body], []), node))


def define(host: Host, node: ast.FunctionDef) -> None:
    """Bind a function: a kernel or device function under ``cuda.jit``, else one of the host."""
    if not node.decorator_list:
        host.names[node.name] = _function(host, node)
        return
    if len(node.decorator_list) > 1 or host.names is not host.globals:
        raise host.refuse(english("a decorated function inside another or with several decorators"))
    decorator = node.decorator_list[0]
    call = decorator if isinstance(decorator, ast.Call) else None
    jit = host.modules["numba.cuda"].jit
    named = host.value(call.func if call else decorator)
    if type(named) is not type(jit) or named != jit:  # arrays compare their elements
        raise host.refuse(english("a decorator other than cuda.jit"))
    if call and call.args:
        raise host.refuse(english("a signature in cuda.jit"))
    options = {keyword.arg or "**": host.value(keyword.value) for keyword in (call.keywords if call else ())}
    definition = defined(Function(node.name, host.file, host.source, host.tree, node, host.globals))
    host.names[node.name] = Kernel(definition, bool(host.guarded(bool, options.get("device", False))))


def call_function(host: Host, function: HostFunction, arguments: list[Any], options: dict[str, Any]) -> Any:
    """Call a function of the text on the host."""
    node = function.definition.node
    if len(host.frames) >= host.limits.calls:
        raise host.error(english("functions call each other more than {calls} deep", calls=host.limits.calls))
    bound = _bind(host, function, arguments, options)
    outer, host.enclosing = host.enclosing, function.enclosing
    host.frames.append(bound)
    try:
        host.statements(node.body)
    except ReturnSignal as returned:
        return returned.value
    finally:
        host.frames.pop()
        host.enclosing = outer
    return None


def _bind(host: Host, function: HostFunction, arguments: list[Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a call with their values."""
    node = function.definition.node
    parameters = node.args
    if parameters.vararg or parameters.kwarg or parameters.kwonlyargs:
        raise host.refuse(english("a function with * or keyword-only parameters"))
    names = positional(node)
    bound = dict(zip(names, arguments, strict=False))
    twice = set(bound) & set(options)
    bound |= options
    defaults = function.defaults
    bound = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)) | bound
    if len(arguments) > len(names) or set(bound) != set(names) or twice:
        if not names:
            raise host.error(english("{function} takes no arguments", function=node.name))
        raise host.error(f"{node.name} takes {', '.join(names)}")
    return bound
