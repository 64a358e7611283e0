"""What ``@cuda.jit`` makes of a function in lockstep, and what that keeps of the names outside it.

Numba puts into a kernel, and into the device functions that it calls, what globals, variables around them and members
of modules are then, arrays as copies. It compiles at a decorator that has a signature, else at the first launch with
arguments of such types. What stands under a name later is for kernels that are compiled later.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from copy import copy
from functools import lru_cache
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from smemviz.engines.launch_shape import Configuration, configuration, launch_place
from smemviz.engines.lockstep.signatures import read_signatures
from smemviz.errors import LaunchError, UnsupportedError
from smemviz.messages import english

_VALUES = (bool, int, float, complex, str, tuple, np.generic, np.ndarray)


def captured(function: FunctionType, compiled: Callable[[Any], Any]) -> FunctionType:
    """Return a function for which all names outside it stay what they are now.

    ``compiled`` gives of a device function the one that is compiled into it, and anything else as it is.
    """
    named, members = _globals_of(function.__code__), _members_of(function.__code__)
    modules: dict[int, ModuleType] = {}  # which may name each other

    def kept(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.copy(order="K")
        if type(value) is tuple:
            return tuple(map(kept, value))
        if type(value) is not ModuleType:
            return compiled(value)
        if id(value) in modules:
            return modules[id(value)]
        modules[id(value)] = value
        own = {name: kept(held) for name, held in vars(value).items() if name in members}
        if all(held is vars(value)[name] and not isinstance(held, _VALUES) for name, held in own.items()):
            return value
        module = modules[id(value)] = ModuleType(value.__name__)
        vars(module).update(vars(value) | own)
        return module

    scope = function.__globals__
    around = tuple(CellType(kept(value)) for value in _around(function).values())
    scope = scope | {name: kept(scope[name]) for name in named if name in scope}
    same = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, around)
    same.__kwdefaults__, same.__doc__ = function.__kwdefaults__, function.__doc__
    return same


def changed(function: FunctionType, kept: FunctionType) -> Iterator[str]:
    """Give the names of what ``kept`` keeps of a function, and is another now."""
    named, members = _globals_of(function.__code__), _members_of(function.__code__)

    def differing(name: str, was: Any, now: Any) -> Iterator[str]:
        inner, other = getattr(was, "py_func", was), getattr(now, "py_func", now)
        if was is now or inner is other:
            return
        if isinstance(was, _VALUES):
            if not _equal(was, now):
                yield name
        elif type(was) is ModuleType and type(now) is ModuleType and was.__name__ == now.__name__:
            for member in members & vars(was).keys():
                yield from differing(f"{name}.{member}", vars(was)[member], vars(now).get(member))
        elif isinstance(inner, FunctionType) and isinstance(other, FunctionType) and inner.__code__ is other.__code__:
            yield from changed(other, inner)
        else:
            yield name

    now, was = (one.__globals__ | _around(one) for one in (function, kept))
    for name in sorted({*named, *function.__code__.co_freevars}):
        if name in was:
            yield from differing(name, was[name], now.get(name))


def _around(function: FunctionType) -> dict[str, Any]:
    """Return the variables around a function; those that hold nothing yet are None."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents if cell != CellType() else None for name, cell in cells}


@lru_cache(maxsize=256)
def _globals_of(code: CodeType) -> frozenset[str]:
    """Return the globals that code reads, or a function in it."""
    return _arguments_of(code, ("LOAD_GLOBAL", "LOAD_NAME"))


@lru_cache(maxsize=256)
def _members_of(code: CodeType) -> frozenset[str]:
    """Return the attributes that code reads, or a function in it."""
    return _arguments_of(code, ("LOAD_ATTR", "LOAD_METHOD"))


def _arguments_of(code: CodeType, operations: tuple[str, ...]) -> frozenset[str]:
    own = frozenset(one.argval for one in dis.get_instructions(code) if one.opname in operations)
    inner = (_arguments_of(part, operations) for part in code.co_consts if isinstance(part, CodeType))
    return own.union(*inner)


def _equal(left: Any, right: Any) -> bool:
    """Tell whether two numbers, arrays, texts or tuples of them are the same, NaN being what NaN is."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(_equal, left, right))
    if not isinstance(right, _VALUES):
        return left is right
    left, right = np.asarray(left), np.asarray(right)
    return bool(left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes())


FORALL_BLOCK = 1024  # what the driver answers to Numba for a kernel of up to 64 registers
_COMPILED = {"overloads", "signatures", "nopython_signatures", "get_regs_per_thread", "get_shared_mem_per_block"}
_COMPILED |= {"get_const_mem_size", "get_max_threads_per_block", "get_local_mem_per_thread", "inspect_asm"}
_COMPILED |= {"inspect_llvm", "inspect_lto_ptx", "inspect_sass", "inspect_sass_cfg", "inspect_types"}
_COMPILED |= {"max_cooperative_grid_blocks", "stats"}


# A kernel as it was compiled, its configuration, arguments and place, and the names outside it that changed since then.
Launcher = Callable[[FunctionType, Configuration, tuple[Any, ...], tuple[str, int], tuple[str, ...]], None]


class Dispatcher:
    """A kernel, launched by ``kernel[grid, block](...)``, or a device function, called by kernels."""

    def __init__(self, py_func: FunctionType, signature: Any, device: bool, file: str, launcher: Launcher) -> None:
        self.py_func = py_func
        self.__name__ = py_func.__name__
        self.__doc__ = py_func.__doc__
        self._device = device
        self._file = file
        self._launcher = launcher
        self.specialized = False
        self.declared = read_signatures(file, signature)
        self._device_function: Dispatcher | None = None
        self._by_types: dict[Any, FunctionType] = {}
        self._specialized: dict[Any, FunctionType] = {}
        self._eager = captured(py_func, _compiled_in) if self.declared.all else None

    def __call__(self, *args: Any) -> None:
        what = english("{kernel} needs a launch: {kernel}[grid, block](...)", kernel=self.__name__)
        if self._device:
            what = english("{function} is a device function; call it in a kernel", function=self.__name__)
        raise LaunchError(*launch_place(self._file), what)

    def __getitem__(self, shape: Any) -> Callable[..., None]:
        place = launch_place(self._file)
        if self._device:
            raise LaunchError(
                *place, english("{function} is a device function; only kernels are launched", function=self.__name__)
            )
        return self._configured(configuration(place, shape))

    def compile(self, sig: Any) -> Dispatcher:
        """Return the kernel, which is not compiled; the signature is read."""
        read_signatures(self._file, sig)
        return self

    def specialize(self, *args: Any) -> Dispatcher:
        """Return the kernel as it is compiled for the types of arguments, apart from what launches compile."""
        if self._eager:
            return self
        kernel = copy(self)
        kernel._eager = self._compiled_for(self._specialized, args)
        return kernel

    def __getattr__(self, name: str) -> Any:
        if name in _COMPILED:
            what = english(
                "{kernel}.{name} asks the compiled kernel; lockstep compiles none. Run with engine gpu.",
                kernel=vars(self).get("__name__", ""),
                name=name,
            )
            raise UnsupportedError(*launch_place(vars(self).get("_file", "")), what)
        raise AttributeError(f"'Dispatcher' object has no attribute {name!r}")

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> Callable[..., None]:
        return self[griddim, blockdim, stream, sharedmem]

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Callable[..., None]:
        """Return the kernel configured for so many threads, in blocks of ``tpb``, or as large as they may be."""
        if ntasks < 0:
            raise ValueError(f"Can't create ForAll with negative task count: {ntasks}")
        if ntasks == 0:
            return lambda *args: None
        block = tpb or FORALL_BLOCK
        shape = -(-ntasks // block), block, stream, sharedmem
        return lambda *args, **named: self.specialize(*args)[shape](*args, **named)

    def _configured(self, config: Configuration) -> Callable[..., None]:
        def start(*args: Any, **named: Any) -> None:
            place = launch_place(self._file)
            if named:
                what = english(
                    "a launch takes no keyword arguments, in Numba either; leave out {name}=", name=next(iter(named))
                )
                raise LaunchError(*place, what)
            args = self._typed(place, args)
            kernel = self._eager or self._compiled_for(self._by_types, args)
            self._launcher(kernel, config, args, place, tuple(changed(self.py_func, kernel)))

        return start

    def _compiled_for(self, kept: dict[Any, FunctionType], args: tuple[Any, ...]) -> FunctionType:
        """Return what is compiled for arguments of these types, now if nothing is."""
        types = _types_of(args)
        if types not in kept:
            try:
                kept[types] = captured(self.py_func, _compiled_in)
            except UnsupportedError as error:
                error.kernel = self.__name__
                raise
        return kept[types]

    def compiled_in(self) -> Dispatcher:
        """Return the device function as it is compiled into what calls it.

        Raises:
            UnsupportedError: where that depends on the types of its arguments.
        """
        if self._device_function is None:
            self._device_function = copy(self)
            self._device_function.py_func = self._eager or captured(self.py_func, _compiled_in)
        other = None if self._eager else next(changed(self.py_func, self._device_function.py_func), None)
        if other is not None:
            what = english(
                "{name} has changed since {function} was compiled first, and another kernel, or one for other types, "
                "calls it now. Pass it as an argument.",
                name=other,
                function=self.__name__,
            )
            raise UnsupportedError(*launch_place(self._file), what)
        return self._device_function

    def _typed(self, place: tuple[str, int], args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments with numbers cast to the types of the first signature that takes them."""
        if not self.declared.all:
            return args
        typed = self.declared.launched_with(args)
        if typed is not None:
            return typed
        wanted = " or ".join(f"({', '.join(map(str, types))})" for types, _ in self.declared.all)
        what = english(
            "{kernel} is compiled for {types}; the launch gives other types", kernel=self.__name__, types=wanted
        )
        raise LaunchError(*place, what)


def _compiled_in(value: Any) -> Any:
    return value.compiled_in() if isinstance(value, Dispatcher) else value


def _types_of(value: Any) -> Any:
    """Return what Numba tells kernels apart by: the types of arguments, and the order of their elements in memory."""
    if isinstance(value, tuple):
        return type(value), *map(_types_of, value)
    array = getattr(value, "array", value)
    if isinstance(array, np.ndarray):
        return repr(array.dtype), array.ndim, array.flags.c_contiguous, array.flags.f_contiguous, array.flags.writeable
    return np.dtype(type(value)) if isinstance(value, bool | int | float | complex | np.generic) else type(value)
