"""What ``@cuda.jit`` makes of a function in lockstep."""

from __future__ import annotations

import dis
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from smemviz.engines.host import Configuration, configuration, launch_place
from smemviz.engines.lockstep.signatures import read_signatures
from smemviz.errors import LaunchError, UnsupportedError
from smemviz.messages import english

FORALL_BLOCK = 1024  # what the driver answers to Numba for a kernel of up to 64 registers
_CAPTURED = (bool, int, float, np.ndarray)
_COMPILED = {"overloads", "signatures", "nopython_signatures", "get_regs_per_thread", "get_shared_mem_per_block"}
_COMPILED |= {"get_const_mem_size", "get_max_threads_per_block", "get_local_mem_per_thread", "inspect_asm"}
_COMPILED |= {"inspect_llvm", "inspect_lto_ptx", "inspect_sass", "inspect_sass_cfg", "inspect_types"}
_COMPILED |= {"max_cooperative_grid_blocks", "stats"}


class Dispatcher:
    """A kernel, launched by ``kernel[grid, block](...)``, or a device function, called by kernels."""

    def __init__(
        self,
        py_func: FunctionType,
        signature: Any,
        device: bool,
        file: str,
        launcher: Callable[[FunctionType, Configuration, tuple[Any, ...], tuple[str, int]], None],
    ) -> None:
        self.py_func = py_func
        self.__name__ = py_func.__name__
        self.__doc__ = py_func.__doc__
        self._device = device
        self._file = file
        self._launcher = launcher
        self.specialized = False
        self._globals: dict[Any, dict[str, Any]] = {}
        self.declared = read_signatures(file, signature)

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
        """Return the kernel, which is the same for all types of arguments."""
        return self

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
        """Return the kernel with a launch configuration."""
        return self[griddim, blockdim, stream, sharedmem]

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Callable[..., None]:
        """Return the kernel configured for so many threads, in blocks of ``tpb``, or as large as they may be."""
        if ntasks < 0:
            raise ValueError(f"Can't create ForAll with negative task count: {ntasks}")
        if ntasks == 0:
            return lambda *args: None
        block = tpb or FORALL_BLOCK
        return self[-(-ntasks // block), block, stream, sharedmem]

    def _configured(self, config: Configuration) -> Callable[..., None]:
        def start(*args: Any, **named: Any) -> None:
            place = launch_place(self._file)
            if named:
                what = english(
                    "a launch names no arguments, in Numba as well; leave {name}= out", name=next(iter(named))
                )
                raise LaunchError(*place, what)
            self._check_captured(place, args)
            self._launcher(self.py_func, config, self._typed(place, args), place)

        return start

    def _check_captured(self, place: tuple[str, int], args: tuple[Any, ...]) -> None:
        """Refuse a launch for which a global differs from what the first launch with such arguments captured."""
        now = _captured(self.py_func)
        types = tuple((getattr(a, "dtype", type(a)), getattr(a, "ndim", 0)) for a in args)
        first = self._globals.setdefault(types, now)
        for name, value in first.items():
            if now.get(name) is not value and (name not in now or not _same(value, now[name])):
                what = english(
                    "{name} has changed since {kernel} was launched first; the GPU keeps what it was then. "
                    "Pass it as an argument.",
                    name=name,
                    kernel=self.__name__,
                )
                error = UnsupportedError(*place, what)
                error.kernel = self.__name__
                raise error

    def _typed(self, place: tuple[str, int], args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments with numbers cast to the types of the first signature that takes them."""
        if not self.declared.all:
            return args
        typed = self.declared.launched_with(args)
        if typed is not None:
            return typed
        wanted = " or ".join(f"({', '.join(map(str, types))})" for types, _ in self.declared.all)
        raise LaunchError(
            *place,
            english(
                "{kernel} is compiled for {types}; the launch gives other types", kernel=self.__name__, types=wanted
            ),
        )


def _captured(function: FunctionType) -> dict[str, Any]:
    """Return the numbers and arrays outside a kernel that it names, arrays as copies."""
    scope, code = function.__globals__, function.__code__
    outside = {name: scope.get(name) for name in _globals_of(code)}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        outside[name] = cell.cell_contents
    values = {name: value for name, value in outside.items() if isinstance(value, _CAPTURED)}
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in values.items()}


@lru_cache(maxsize=256)
def _globals_of(code: CodeType) -> frozenset[str]:
    """Return the globals that code reads; its other names are attributes."""
    return frozenset(
        instruction.argval for instruction in dis.get_instructions(code) if instruction.opname == "LOAD_GLOBAL"
    )


def _same(left: Any, right: Any) -> bool:
    """Tell whether two numbers or arrays are the same, NaN being what NaN is."""
    left, right = np.asarray(left), np.asarray(right)
    return bool(left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes())
