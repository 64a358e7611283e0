"""Calls of the host part: functions and methods of the tables, functions of the text, and launches."""

import ast
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from smemviz.engines.lockstep.dispatch import FORALL_BLOCK
from smemviz.engines.lockstep.host.cuda import Cuda, DeviceOnly
from smemviz.engines.lockstep.host.devices import Event, Stream
from smemviz.engines.sandbox.language import host_expressions
from smemviz.engines.sandbox.language.host import Configured, Host, HostFunction, Kernel
from smemviz.engines.sandbox.language.known import methods_of
from smemviz.engines.sandbox.language.scope import Caught, Kind, ReturnSignal
from smemviz.engines.sandbox.language.sizes import MANY, KnownFunction, Sizer, count, elements, together
from smemviz.frontends.numba.python_functions import Function, defined
from smemviz.frontends.numba.syntax import positional
from smemviz.messages import english


def call(host: Host, node: ast.Call) -> Any:
    """Call a function of the tables, of the text, or a configured kernel."""
    if isinstance(node.func, ast.Attribute):
        base = host.value(node.func.value)
        if not isinstance(base, ModuleType | DeviceOnly):
            return _method(host, node.func, base, *arguments_of(host, node))
        function = host_expressions.member_of(host, base, node.func)
    else:
        function = host.value(node.func)
    arguments, options = arguments_of(host, node)
    if isinstance(function, Configured):
        return _launch(host, function, arguments, options)
    if isinstance(function, Kind):
        host.afford(elements(arguments))
        return Caught(function.raised, host.bounded(", ".join(map(host.text, arguments))))
    if isinstance(function, HostFunction):
        return call_function(host, function, arguments, options)
    if isinstance(function, KnownFunction):
        return _call_known(host, function.call, function.size, arguments, options)
    if isinstance(function, type) and issubclass(function, np.generic):
        return _call_known(host, function, together, arguments, options)
    if isinstance(getattr(function, "__self__", None), Cuda):
        return _call_cuda(host, function, arguments, options)
    if isinstance(function, Kernel):
        raise host.error(
            english("{kernel} needs a launch: {kernel}[grid, block](...)", kernel=function.definition.name)
        )
    if isinstance(function, DeviceOnly):
        raise host.error(
            english("cuda.{function} is for kernels; this line runs on the host", function=function.__qualname__)
        )
    raise host.error(english("{code} cannot be called", code=ast.unparse(node.func)))


def arguments_of(host: Host, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    """Evaluate the arguments of a call."""
    if any(keyword.arg is None for keyword in node.keywords):
        raise host.refuse(english("two asterisks in a call"))
    arguments = host_expressions.items(host, node.args)
    options = {str(keyword.arg): host.value(keyword.value) for keyword in node.keywords}
    host.line = node.lineno
    return arguments, options


def _call_known(
    host: Host, call: Callable[..., Any], size: Sizer, arguments: list[Any], options: dict[str, Any]
) -> Any:
    """Call a function of a library when its result is small enough."""
    _refuse_where(host, options)
    host.afford(elements([arguments, list(options.values())]))
    if call not in (host.print, host.text, len):  # which take texts
        arguments = [host.handed(argument) for argument in arguments]
        options = {name: host.handed(option) for name, option in options.items()}
    numbers = host.guarded(lambda: min(MANY, size(*arguments, **options)))
    host.afford(numbers)
    if call in (list, tuple, sorted) and numbers > host.limits.items:
        raise host.error(
            english("a list of more than {most:,} items; the editor allows no more", most=host.limits.items)
        )
    return host.guarded(call, *arguments, **options)


def _refuse_where(host: Host, options: dict[str, Any]) -> None:
    """Refuse a mask of what is computed: the rest would be whatever lies in memory."""
    if "where" in options:
        raise host.refuse(english("the argument where of NumPy's functions"))


def _call_cuda(host: Host, function: Callable[..., Any], arguments: list[Any], options: dict[str, Any]) -> Any:
    name = function.__name__
    data = [argument for argument in (*arguments, *options.values()) if not isinstance(argument, Stream | Event)]
    host.afford(elements(data))
    if name in ("device_array", "pinned_array", "mapped_array", "managed_array"):
        shape = options.get("shape", arguments[0] if arguments else 0)
        host.afford(host.guarded(lambda: min(MANY, 2 * count(shape))))
    arguments = [argument if isinstance(argument, Stream | Event) else host.handed(argument) for argument in arguments]
    options = {
        key: option if isinstance(option, Stream | Event) else host.handed(option) for key, option in options.items()
    }
    if name in ("stream", "event"):
        return function()
    return host.guarded(function, *arguments, **options)


def _method(host: Host, node: ast.Attribute, base: Any, arguments: list[Any], options: dict[str, Any]) -> Any:
    name = node.attr
    if isinstance(base, Kernel) and name in ("configure", "forall"):
        return _configured(host, base, name, arguments, options)
    if isinstance(base, Stream | Event):
        if name in ("synchronize", "record", "wait", "query", "elapsed_time"):
            return host.guarded(getattr(base, name), *arguments)
    elif name in methods_of(base):
        _refuse_where(host, options)
        size = methods_of(base)[name]
        operands = (
            arguments if isinstance(base, list | np.random.Generator | np.random.RandomState) else [base, *arguments]
        )
        numbers = host.guarded(lambda: min(MANY, size(*operands, **options)))
        host.afford(numbers)
        if isinstance(base, list):
            host.guarded(getattr(base, name), *arguments, **options)
            host.bounded(base)
            return None
        options = {key: option for key, option in options.items() if not isinstance(option, Stream)}
        arguments = [host.handed(argument) for argument in arguments if not isinstance(argument, Stream)]
        options = {key: host.handed(option) for key, option in options.items()}
        return host.guarded(getattr(base, name), *arguments, **options)
    raise host.error(english("{code} is not available in the editor", code=ast.unparse(node)))


def _configured(host: Host, kernel: Kernel, name: str, arguments: list[Any], options: dict[str, Any]) -> Configured:
    if name == "configure":
        return host_expressions.subscript(host, kernel, (*arguments, *options.values()))  # type: ignore[no-any-return]
    tasks = arguments[0] if arguments else options.get("ntasks", 0)
    block = arguments[1] if len(arguments) > 1 else options.get("tpb", 0)
    if not isinstance(tasks, int) or not isinstance(block, int):
        raise host.error(english("forall takes a number of threads"))
    size = block or FORALL_BLOCK
    return host_expressions.subscript(host, kernel, (max(1, -(-tasks // size)), size))  # type: ignore[no-any-return]


def _launch(host: Host, configured: Configured, arguments: list[Any], options: dict[str, Any]) -> None:
    if options:
        raise host.error(english("a kernel's arguments are positional; leave out the names"))
    host.launches += 1
    if host.launches > host.limits.launches:
        raise host.error(english("more than {most} launches; the editor allows no more", most=host.limits.launches))
    host.afford(elements(arguments))
    handed = tuple(host.handed(argument) for argument in arguments)
    host.launcher(configured.kernel.definition, configured.configuration, handed, (host.file, host.line))


def _function(host: Host, node: ast.FunctionDef) -> HostFunction:
    definition = Function(node.name, host.file, host.source, host.tree, node, host.globals)
    enclosing = (host.names, *host.enclosing) if host.frames else ()
    return HostFunction(definition, tuple(host_expressions.items(host, node.args.defaults)), enclosing)


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
    value = host.value(call.func if call else decorator)
    if type(value) is not type(jit) or value != jit:  # arrays compare their elements
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
