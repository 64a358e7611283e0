"""Calls of the host part: functions and methods of the tables, functions of the text, and launches."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from smemviz.engines.lockstep.host.cuda import Cuda, DeviceOnly
from smemviz.engines.lockstep.host.devices import Event, Stream
from smemviz.engines.sandbox.kernels import Configured, HostFunction, Kernel
from smemviz.engines.sandbox.language import expressions, functions, targets
from smemviz.engines.sandbox.language.exceptions import Caught, Kind
from smemviz.engines.sandbox.language.host import Host
from smemviz.engines.sandbox.language.known import methods_of
from smemviz.engines.sandbox.language.sizes import MANY, Known, Sizer, count, elements, together
from smemviz.messages import english


def call(host: Host, node: ast.Call) -> Any:
    """Call a function of the tables, of the text, or a configured kernel."""
    if isinstance(node.func, ast.Attribute):
        base = host.value(node.func.value)
        if not isinstance(base, ModuleType | DeviceOnly):
            return _method(host, node.func, base, *arguments_of(host, node))
        function = expressions.member_of(host, base, node.func)
    else:
        function = host.value(node.func)
    arguments, options = arguments_of(host, node)
    if isinstance(function, Configured):
        return _launch(host, function, arguments, options)
    if isinstance(function, Kind):
        host.afford(elements(arguments))
        return Caught(function.raised, host.bounded(", ".join(map(host.text, arguments))))
    if isinstance(function, HostFunction):
        return functions.call_function(host, function, arguments, options)
    if isinstance(function, Known):
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
    arguments = expressions.items(host, node.args)
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
            english("a list of more than {most:,} items; the editor has no longer", most=host.limits.items)
        )
    return host.guarded(call, *arguments, **options)


def _refuse_where(host: Host, options: dict[str, Any]) -> None:
    """Refuse a mask of what is computed: the rest would be whatever lies in memory."""
    if "where" in options:
        raise host.refuse(english("the argument where of NumPy's functions"))


def _call_cuda(host: Host, function: Callable[..., Any], arguments: list[Any], options: dict[str, Any]) -> Any:
    """Call a function of ``numba.cuda``."""
    name = function.__name__
    given = [argument for argument in (*arguments, *options.values()) if not isinstance(argument, Stream | Event)]
    host.afford(elements(given))
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
    """Call a method of a value."""
    name = node.attr
    if isinstance(base, Kernel) and name in ("configure", "forall"):
        return _configured(host, base, name, arguments, options)
    if isinstance(base, Stream | Event):
        if name in ("synchronize", "record", "wait", "query", "elapsed_time"):
            return host.guarded(getattr(base, name), *arguments)
    elif name in methods_of(base):
        _refuse_where(host, options)
        size = methods_of(base)[name]
        given = (
            arguments if isinstance(base, list | np.random.Generator | np.random.RandomState) else [base, *arguments]
        )
        numbers = host.guarded(lambda: min(MANY, size(*given, **options)))
        host.afford(numbers)
        if isinstance(base, list):
            host.guarded(getattr(base, name), *arguments, **options)
            host.bounded(base)
            return None
        options = {key: option for key, option in options.items() if not isinstance(option, Stream)}
        arguments = [host.handed(argument) for argument in arguments if not isinstance(argument, Stream)]
        options = {key: host.handed(option) for key, option in options.items()}
        return host.guarded(getattr(base, name), *arguments, **options)
    raise host.error(english("{code} is not there for text in the editor", code=ast.unparse(node)))


def _configured(host: Host, kernel: Kernel, name: str, arguments: list[Any], options: dict[str, Any]) -> Configured:
    """Return a kernel configured by ``configure`` or ``forall``."""
    if name == "configure":
        return targets.subscript(host, kernel, (*arguments, *options.values()))  # type: ignore[no-any-return]
    tasks = arguments[0] if arguments else options.get("ntasks", 0)
    block = arguments[1] if len(arguments) > 1 else options.get("tpb", 0)
    if not isinstance(tasks, int) or not isinstance(block, int):
        raise host.error(english("forall takes a number of threads"))
    size = block or 128
    return targets.subscript(host, kernel, (max(1, -(-tasks // size)), size))  # type: ignore[no-any-return]


def _launch(host: Host, configured: Configured, arguments: list[Any], options: dict[str, Any]) -> None:
    """Start a kernel."""
    if options:
        raise host.error(english("a kernel's arguments are given by their place; leave out the names"))
    host.launches += 1
    if host.launches > host.limits.launches:
        raise host.error(english("more than {most} launches; the editor makes no more", most=host.limits.launches))
    host.afford(elements(arguments))
    given = tuple(host.handed(argument) for argument in arguments)
    host.launcher(configured.kernel.definition, configured.configuration, given, (host.file, host.line))
