"""The arguments of a launch: what the host gives, on the device and as the kernel sees it."""

import enum
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.device_array import AddressSpace, DeviceArray, kernel_view, to_device
from smemviz.engines.lockstep.memory.records import is_known
from smemviz.engines.lockstep.values.typing import Value
from smemviz.errors import LaunchError, UnsupportedError
from smemviz.frontends.arguments import wrong_number
from smemviz.frontends.numba.python_functions import Function
from smemviz.frontends.numba.sites.fields import dtype_name
from smemviz.frontends.numba.syntax import positional
from smemviz.messages import english
from smemviz.recordings.data import ArrayInfo, Site

Place = tuple[str, int]


def parameters(kernel: Function, args: Sequence[Any], place: Place) -> list[str]:
    """Return the names of a kernel's parameters; as many as there are arguments.

    Raises:
        LaunchError: for another number of arguments.
        UnsupportedError: for parameters that Numba does not take either.
    """
    signature, names = kernel.node.args, positional(kernel.node)
    if signature.vararg or signature.kwarg or signature.kwonlyargs:
        what = english(
            "{kernel} has * or keyword-only parameters, which lockstep does not take; name each", kernel=kernel.name
        )
        raise UnsupportedError(kernel.file, kernel.node.lineno, what)
    if len(names) != len(args):
        raise wrong_number(*place, kernel.name, names, len(args))
    return names


class Hint:
    """An array of a launch with what is copied: ``cuda.In(a)`` only to the device, ``cuda.Out(a)`` only back."""

    to_device = to_host = True

    def __init__(self, value: Any) -> None:
        self.value = value


class In(Hint):
    """An array that is copied to the device and not back."""

    to_host = False


class Out(Hint):
    """An array that is copied back from the device; there it holds nothing before."""

    to_device = False


class InOut(Hint):
    """An array that is copied to the device and back, as one without a hint is."""


class Arguments:
    """The arguments of a launch: arrays of the host are copied to the device and, at the end, back."""

    def __init__(self, place: Place, space: AddressSpace) -> None:
        self._place = place
        self._space = space
        self._copied: list[tuple[Any, DeviceArray, bool]] = []  # in order; with or without a hint

    def value(self, name: str, argument: Any) -> Any:
        """Return an argument with its arrays on the device."""
        if type(argument) in (bool, float) or (type(argument) is DeviceArray and argument.array.dtype.kind in "biufc"):
            return argument
        if isinstance(argument, tuple):
            return same_tuple(argument, (self.value(name, item) for item in argument))
        if isinstance(argument, Hint):
            if not isinstance(argument.value, np.ndarray):
                return self.value(name, argument.value)
            argument = self._with_hint(name, argument)
        if isinstance(argument, np.ndarray | np.void):
            argument = self._on_device(name, argument)
        if isinstance(argument, DeviceArray):
            if not is_known(argument.dtype):
                what = english(
                    "{name}: an array of {dtype} is not executed in lockstep; run with engine gpu",
                    name=name,
                    dtype=argument.dtype,
                )
                raise UnsupportedError(*self._place, what)
            return argument
        if isinstance(argument, enum.Enum):
            return self.value(name, argument.value)
        if isinstance(argument, np.generic) and argument.dtype.kind in "biufc":
            return argument.item() if argument.dtype in (np.int64, np.bool_) else argument
        if isinstance(argument, bool | int | float | complex):
            if isinstance(argument, int) and not -(2**63) <= argument < 2**63:
                if not 0 <= argument < 2**64:
                    raise LaunchError(
                        *self._place, english("{name}: {value} does not fit 64 bits", name=name, value=argument)
                    )
                return np.uint64(argument)
            return argument
        if argument is None:
            what = english("{name}: Numba does not pass None to a kernel; pass an array or a number", name=name)
            raise LaunchError(*self._place, what)
        what = english(
            "{name}: a kernel takes arrays, numbers and tuples; {type} is not one of them",
            name=name,
            type=type(argument).__name__,
        )
        raise LaunchError(*self._place, what)

    def _with_hint(self, name: str, hint: Hint) -> DeviceArray:
        """Return an array on the device, where each that is given with a hint is another one."""
        on_device = self._copy(name, hint.value)
        if not hint.to_device:
            on_device.memory.data[:] = 0
        if hint.to_host:
            self._copied.append((hint.value, on_device, True))
        return on_device

    def _on_device(self, name: str, host_array: Any) -> DeviceArray:
        for host, copied, by_hint in self._copied:
            if host is host_array and not by_hint:
                return copied
        on_device = self._copy(name, host_array)
        self._copied.append((host_array, on_device, False))
        return on_device

    def _copy(self, name: str, host_array: Any) -> DeviceArray:
        try:
            return to_device(self._space, host_array)
        except (TypeError, ValueError) as error:
            raise LaunchError(*self._place, f"{name}: {error}") from None

    def view(self, name: str, value: Any) -> Value:
        if isinstance(value, DeviceArray):
            try:
                return kernel_view(name, value)
            except ValueError as error:
                raise UnsupportedError(*self._place, english("{what}; run with engine gpu", what=error)) from None
        if isinstance(value, tuple):
            return same_tuple(value, (self.view(name, item) for item in value))
        return value

    def copy_back(self) -> None:
        for host, copied, _ in self._copied:
            if isinstance(host, np.void):
                for field in host.dtype.names or ():
                    host[field] = copied.array[field]
            elif host.flags.writeable:
                host[...] = copied.array


def check_stores(kernel: Function, sites: Sequence[Site], names: Sequence[str], args: Sequence[Any]) -> None:
    """Refuse a kernel that stores in an array of the host that is read-only.

    Raises:
        UnsupportedError: naming the line.
    """
    by_name = zip(names, args, strict=True)
    read_only = {name for name, arg in by_name if isinstance(arg, np.ndarray) and not arg.flags.writeable}
    for site in sites if read_only else ():
        if site.op != "load" and not read_only.isdisjoint(site.array.split(" or ")):
            what = english(
                "{code} stores in {array}, which is read-only, in Numba too; give the kernel a copy of it",
                code=site.source,
                array=site.array,
            )
            raise UnsupportedError(kernel.file, site.line, what)


def same_tuple(like: tuple[Any, ...], items: Iterator[Any]) -> tuple[Any, ...]:
    """Return items as a tuple, named as another one is."""
    return type(like)(*items) if hasattr(type(like), "_fields") else tuple(items)


def described(value: Any) -> Any:
    """Return an argument by what the walk of sites looks at: dtype and rank."""
    if isinstance(value, DeviceArray):
        return value.array
    return same_tuple(value, (described(item) for item in value)) if isinstance(value, tuple) else value


def global_arrays(kernel: Function, names: Sequence[str], values: Sequence[Any]) -> list[ArrayInfo]:
    """Return the arrays among the arguments, those of tuples under the tuple's name."""
    arrays = []
    for name, value in zip(names, values, strict=True):
        if isinstance(value, DeviceArray):
            shown, line = value.array, kernel.node.lineno
            dtype = dtype_name(shown.dtype)
            arrays.append(ArrayInfo(name, "global", shown.shape, shown.strides, dtype, value.address, line))
        elif isinstance(value, tuple):
            arrays += global_arrays(kernel, [name] * len(value), value)
    return arrays
