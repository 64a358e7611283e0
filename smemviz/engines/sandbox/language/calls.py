"""Calls of the host part: functions and methods of the tables, functions of the text, and launches."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from smemviz.engines.lockstep.host.cuda import Cuda, DeviceOnly, Event, Stream
from smemviz.engines.sandbox.kernels import Configured, HostFunction, Kernel
from smemviz.engines.sandbox.language.exceptions import Caught, Kind
from smemviz.engines.sandbox.language.expressions import Expressions
from smemviz.engines.sandbox.language.known import methods_of
from smemviz.engines.sandbox.language.sizes import MANY, Known, Sizer, count, elements, together
from smemviz.messages import said


class Calls(Expressions):
    """Calls what may be called."""

    def call(self, node: ast.Call) -> Any:
        """Call a function of the tables, of the text, or a configured kernel."""
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value)
            if not isinstance(base, ModuleType | DeviceOnly):
                return self.method(node.func, base, *self.arguments(node))
            function = self.member(base, node.func)
        else:
            function = self.value(node.func)
        arguments, options = self.arguments(node)
        if isinstance(function, Configured):
            return self.launch(function, arguments, options)
        if isinstance(function, Kind):
            self.afford(elements(arguments))
            return Caught(function.raised, self.bounded(", ".join(map(self.text, arguments))))
        if isinstance(function, HostFunction):
            return self.call_function(function, arguments, options)
        if isinstance(function, Known):
            return self.call_known(function.call, function.size, arguments, options)
        if isinstance(function, type) and issubclass(function, np.generic):
            return self.call_known(function, together, arguments, options)
        if isinstance(getattr(function, "__self__", None), Cuda):
            return self.call_cuda(function, arguments, options)
        if isinstance(function, Kernel):
            raise self.error(
                said("{kernel} needs a launch: {kernel}[grid, block](...)", kernel=function.definition.name)
            )
        if isinstance(function, DeviceOnly):
            raise self.error(
                said("cuda.{function} is for kernels; this line runs on the host", function=function.__qualname__)
            )
        raise self.error(said("{code} cannot be called", code=ast.unparse(node.func)))

    def arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """Evaluate the arguments of a call."""
        if any(keyword.arg is None for keyword in node.keywords):
            raise self.refuse(said("two asterisks in a call"))
        arguments = self.items(node.args)
        options = {str(keyword.arg): self.value(keyword.value) for keyword in node.keywords}
        self.line = node.lineno
        return arguments, options

    def call_function(self, function: HostFunction, arguments: list[Any], options: dict[str, Any]) -> Any:
        """Call a function of the text; statements know how."""
        raise NotImplementedError

    def call_known(self, call: Callable[..., Any], size: Sizer, arguments: list[Any], options: dict[str, Any]) -> Any:
        """Call a function of a library when its result is small enough."""
        self.refuse_where(options)
        self.afford(elements([arguments, list(options.values())]))
        if call not in (self.print, self.text, len):  # which take texts
            arguments = [self.handed(one) for one in arguments]
            options = {name: self.handed(one) for name, one in options.items()}
        numbers = self.guarded(lambda: min(MANY, size(*arguments, **options)))
        self.afford(numbers)
        if call in (list, tuple, sorted) and numbers > self.limits.items:
            raise self.error(
                said("a list of more than {most:,} items; the editor has no longer", most=self.limits.items)
            )
        return self.guarded(call, *arguments, **options)

    def refuse_where(self, options: dict[str, Any]) -> None:
        """Refuse a mask of what is computed: the rest would be whatever lies in memory."""
        if "where" in options:
            raise self.refuse(said("the argument where of NumPy's functions"))

    def call_cuda(self, function: Callable[..., Any], arguments: list[Any], options: dict[str, Any]) -> Any:
        """Call a function of ``numba.cuda``."""
        name = function.__name__
        given = [one for one in (*arguments, *options.values()) if not isinstance(one, Stream | Event)]
        self.afford(elements(given))
        if name in ("device_array", "pinned_array", "mapped_array", "managed_array"):
            shape = options.get("shape", arguments[0] if arguments else 0)
            self.afford(self.guarded(lambda: min(MANY, 2 * count(shape))))
        arguments = [one if isinstance(one, Stream | Event) else self.handed(one) for one in arguments]
        options = {key: one if isinstance(one, Stream | Event) else self.handed(one) for key, one in options.items()}
        if name in ("stream", "event"):
            return function()
        return self.guarded(function, *arguments, **options)

    def method(self, node: ast.Attribute, base: Any, arguments: list[Any], options: dict[str, Any]) -> Any:
        """Call a method of a value."""
        name = node.attr
        if isinstance(base, Kernel) and name in ("configure", "forall"):
            return self.configured(base, name, arguments, options)
        if isinstance(base, Stream | Event):
            if name in ("synchronize", "record", "wait", "query", "elapsed_time"):
                return self.guarded(getattr(base, name), *arguments)
        elif name in methods_of(base):
            self.refuse_where(options)
            size = methods_of(base)[name]
            given = (
                arguments
                if isinstance(base, list | np.random.Generator | np.random.RandomState)
                else [base, *arguments]
            )
            numbers = self.guarded(lambda: min(MANY, size(*given, **options)))
            self.afford(numbers)
            if isinstance(base, list):
                self.guarded(getattr(base, name), *arguments, **options)
                self.bounded(base)
                return None
            options = {key: one for key, one in options.items() if not isinstance(one, Stream)}
            arguments = [self.handed(one) for one in arguments if not isinstance(one, Stream)]
            options = {key: self.handed(one) for key, one in options.items()}
            return self.guarded(getattr(base, name), *arguments, **options)
        raise self.error(said("{code} is not there for text in the editor", code=ast.unparse(node)))

    def configured(self, kernel: Kernel, name: str, arguments: list[Any], options: dict[str, Any]) -> Configured:
        """Return a kernel configured by ``configure`` or ``forall``."""
        if name == "configure":
            return self.subscript(kernel, (*arguments, *options.values()))  # type: ignore[no-any-return]
        tasks = arguments[0] if arguments else options.get("ntasks", 0)
        block = arguments[1] if len(arguments) > 1 else options.get("tpb", 0)
        if not isinstance(tasks, int) or not isinstance(block, int):
            raise self.error(said("forall takes a number of threads"))
        size = block or 128
        return self.subscript(kernel, (max(1, -(-tasks // size)), size))  # type: ignore[no-any-return]

    def launch(self, configured: Configured, arguments: list[Any], options: dict[str, Any]) -> None:
        """Start a kernel."""
        if options:
            raise self.error(said("a kernel's arguments are given by their place; leave out the names"))
        self._launches += 1
        if self._launches > self.limits.launches:
            raise self.error(said("more than {most} launches; the editor makes no more", most=self.limits.launches))
        self.afford(elements(arguments))
        given = tuple(self.handed(one) for one in arguments)
        self.launcher(configured.kernel.definition, configured.configuration, given, (self.file, self.line))
