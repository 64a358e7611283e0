"""What a kernel file gets as ``numba.cuda`` in lockstep: enough for a ``main()``, and names for its kernels.

Streams and events do nothing: every call is done when it returns. There is no clock, so elapsed times are NaN, which
no reader takes for a measurement.
"""

from __future__ import annotations

import importlib
import inspect
import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from smemviz.engines.host import run_main
from smemviz.engines.launch_shape import launch_place
from smemviz.engines.lockstep.dispatch import Dispatcher, Launcher
from smemviz.engines.lockstep.host.devices import Context, Device, Devices, Event, Random, Stream, described
from smemviz.engines.lockstep.memory.arguments import In, InOut, Out
from smemviz.engines.lockstep.memory.device_array import AddressSpace, DeviceArray, device_array, to_device
from smemviz.engines.lockstep.name_hints import neighbour
from smemviz.engines.lockstep.python.functions import names
from smemviz.engines.process import replaced
from smemviz.errors import KernelFileError, NoAttributeError, UnsupportedError
from smemviz.frontends.numba.python_functions import python_function
from smemviz.messages import english
from smemviz.recordings.vocabulary import DTYPES

_JIT_OPTIONS = {"device", "inline", "forceinline", "fastmath", "opt", "lineinfo", "cache", "debug", "max_registers"}
_JIT_OPTIONS |= {"boundscheck", "launch_bounds", "lto", "chip", "cc", "abi", "link", "extensions"}
_JIT_OPTIONS |= {"shared_memory_carveout", "nopython"}


_NOT_THERE: Any = object()
_TYPES = ("numba.core.types.", "numba.cuda.types.")


def _compiler(name: str) -> Callable[..., Any]:
    """Return what stands in for one of Numba's functions that compile; without a GPU they are told for which one."""

    def compile_for(self: Cuda, *args: Any, cc: Any = None, **options: Any) -> Any:
        if cc is None:
            function = f"cuda.{name.removesuffix('_for_current_device')}"
            text = english(
                "cuda.{name} asks which GPU there is; write {function}(..., cc=(9, 0))", name=name, function=function
            )
            raise UnsupportedError(*launch_place(self._file), text)
        return getattr(importlib.import_module("numba.cuda.compiler"), name)(*args, cc=cc, **options)

    return compile_for


class CudaSupportError(ImportError):
    """What a machine without a GPU raises; lockstep does not."""


class Cuda(ModuleType):
    """The module. ``file`` is the kernel file; ``launcher`` runs a launch."""

    def __init__(self, file: str, launcher: Launcher) -> None:
        super().__init__("numba.cuda")
        self._file = file
        self._launcher = launcher
        self.addresses = AddressSpace()
        self.CudaSupportError = CudaSupportError
        self.gpus = Devices([Device()])
        self.random = Random(self.to_device)
        self.in_numba: dict[str, Callable[..., Any]] = {}  # what is another in the module around this one

    def __getattr__(self, name: str) -> Any:
        if name in DTYPES or name == "types":
            types = importlib.import_module("numba").types
            return types if name == "types" else getattr(types, name)
        meant = device_names().get(name)
        if meant is not None:  # made when a file asks for it, there are hundreds
            stand_in = vars(self).setdefault(meant, DeviceOnly(meant, self._file))
            return vars(self).setdefault(name, stand_in)
        asking = sys._getframe(1).f_code.co_filename
        by_program = asking in (self._file, run_main.__code__.co_filename)  # where its imports are made
        part = part_of_numba(name) if by_program and not name.startswith("_") else None
        if part not in (None, _NOT_THERE):
            return part
        own = [known for known in dir(type(self)) if not known.startswith("_")]
        near = neighbour(name, (*own, *device_names()))
        if near is None and part is _NOT_THERE:
            text = english("cuda has no {name}, in Numba either", name=name)
        elif near is None:
            text = english("cuda.{name} is not known to the lockstep engine; run with engine gpu", name=name)
        else:
            text = english("{what} is not known; did you mean {near}?", what=f"cuda.{name}", near=f"cuda.{near}")
        if not by_program:
            raise AttributeError(text)
        error = NoAttributeError if part is _NOT_THERE or name.startswith("_") else UnsupportedError
        raise error(*launch_place(self._file), text)

    # -- kernels

    def jit(self, func_or_sig: Any = None, signature: Any = None, **options: Any) -> Any:
        """Decorate a kernel or a device function, with or without signatures and options."""
        unknown = sorted(set(options) - _JIT_OPTIONS)
        if "argtypes" in unknown:
            text = english("Numba refuses argtypes too; write cuda.jit('void(float32[:])') instead")
            raise UnsupportedError(*launch_place(self._file), text)
        if unknown:
            text = english("cuda.jit has no option {option}, in Numba either; leave it out", option=unknown[0])
            if _is_option_of_numba(unknown[0]):
                text = english(
                    "cuda.jit({option}=...) is not known to the lockstep engine; run with engine gpu", option=unknown[0]
                )
            raise UnsupportedError(*launch_place(self._file), text)
        argument = func_or_sig if func_or_sig is not None else signature
        function = python_function(argument) or argument  # @numba.jit below @cuda.jit
        if isinstance(function, FunctionType):
            return self._dispatcher(function, None, options)
        return lambda function: self._dispatcher(python_function(function) or function, argument, options)

    def declare_device(self, name: str, sig: Any, **options: Any) -> DeviceOnly:
        """Return a function that is linked in; a kernel that calls it is refused."""
        return DeviceOnly(name, self._file)

    def _dispatcher(self, function: FunctionType, signature: Any, options: dict[str, Any]) -> Dispatcher:
        device = bool(options.get("device"))
        return Dispatcher(function, signature, device, self._file, self._launcher)

    # -- memory

    def to_device(self, obj: Any, stream: Any = 0, copy: bool = True, to: DeviceArray | None = None) -> DeviceArray:
        if to is None:
            return obj if isinstance(obj, DeviceArray) else to_device(self.addresses, obj)
        to.copy_to_device(obj)
        return to

    def device_array(
        self, shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
    ) -> DeviceArray:
        """Allocate an array on the device; in lockstep it is filled with zeros."""
        if strides is not None:
            what = english("device_array with strides is not known to lockstep; take a part of a larger array")
            raise UnsupportedError(*launch_place(self._file), what)
        return device_array(self.addresses, shape, dtype, order)

    def device_array_like(self, ary: Any, stream: Any = 0) -> DeviceArray:
        """Allocate an array on the device with another one's shape, dtype and order."""
        array = ary.array if isinstance(ary, DeviceArray) else ary
        order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        return device_array(self.addresses, array.shape, array.dtype, order)

    def pinned_array(
        self, shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C"
    ) -> np.ndarray[Any, Any]:
        return np.zeros(shape, dtype, order=order)  # type: ignore[call-overload, no-any-return]

    def pinned_array_like(self, ary: Any) -> np.ndarray[Any, Any]:
        return np.zeros_like(ary)

    def mapped_array(
        self, shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", **where: Any
    ) -> DeviceArray:
        """Allocate an array that host and device share."""
        return self.device_array(shape, dtype, strides, order)

    managed_array = mapped_array

    def mapped_array_like(self, ary: Any, stream: Any = 0, **where: Any) -> DeviceArray:
        return self.device_array_like(ary)

    def as_cuda_array(self, obj: Any, sync: bool = True) -> DeviceArray:
        """Return a device array as it is."""
        if isinstance(obj, DeviceArray):
            return obj
        raise TypeError("*obj* doesn't implement the cuda array interface.")

    def is_cuda_array(self, obj: Any) -> bool:
        return isinstance(obj, DeviceArray)

    @contextmanager
    def mapped(self, *arylist: Any, **stream: Any) -> Iterator[Any]:
        """Let arrays of the host be arrays of the device; what they hold there is theirs at the end."""
        arrays = [self.to_device(array) for array in arylist]
        yield arrays[0] if len(arrays) == 1 else arrays
        for host, array in zip(arylist, arrays, strict=True):
            host[...] = array.array

    @contextmanager
    def pinned(self, *arylist: Any) -> Iterator[None]:
        """Do nothing: memory of the host is as good as any in lockstep."""
        yield

    defer_cleanup = profiling = pinned
    In, Out, InOut = In, Out, InOut

    def reduce(self, functor: Callable[[Any, Any], Any]) -> Reduce:
        return Reduce(self, functor)

    Reduce = reduce

    compile, compile_ptx, compile_all = map(_compiler, ("compile", "compile_ptx", "compile_all"))
    compile_for_current_device = _compiler("compile_for_current_device")
    compile_ptx_for_current_device = _compiler("compile_ptx_for_current_device")

    # -- streams, events and devices

    def synchronize(self) -> None:
        """Do nothing: every launch is done when it returns."""

    close = profile_start = profile_stop = synchronize

    def stream(self, ptr: int = 0) -> Stream:
        return Stream()

    default_stream = legacy_default_stream = per_thread_default_stream = external_stream = stream

    def event(self, timing: bool = True) -> Event:
        return Event()

    def event_elapsed_time(self, evtstart: Event, evtend: Event) -> float:
        """Return NaN: lockstep has no clock."""
        return math.nan

    def is_available(self) -> bool:
        """Tell that a device is there: this engine."""
        return True

    is_supported_version = is_float16_supported = is_bfloat16_supported = is_fp8_supported = is_available

    def detect(self) -> bool:
        """Print the device."""
        print(described(self.gpus[0]))
        return True

    def current_context(self, devnum: int | None = None) -> Context:
        return Context()

    def get_current_device(self, device_id: int = 0) -> Device:
        return Device()

    select_device = get_current_device

    def list_devices(self) -> Devices:
        return self.gpus


class Reduce:
    """What ``@cuda.reduce`` makes of a function: Numba's own kernels, launched as Numba does."""

    _numba_is_ours = threading.RLock()

    def __init__(self, cuda: Cuda, functor: Callable[[Any, Any], Any]) -> None:
        self._cuda = cuda
        self._reduce = importlib.import_module("numba.cuda.kernels.reduction").Reduce(
            python_function(functor) or functor
        )
        self._reduce._cache = {}  # the kernels of another run are launched by that

    def __call__(self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0) -> Any:
        """Return the reduction of an array, or store it in the first element of ``res``."""
        with self._numba_is_ours, replaced(importlib.import_module("numba"), {"cuda": self._cuda}):
            return self._reduce(arr, size, res, init, stream)


class DeviceOnly:
    """A name that means something in kernels only, such as ``cuda.threadIdx``; using it on the host is an error."""

    def __init__(self, name: str, file: str) -> None:
        self.__module__ = "numba.cuda"
        self.__qualname__ = name
        self._file = file

    def __getattr__(self, name: str) -> DeviceOnly:
        if name.startswith("_") or name == "py_func":
            raise AttributeError(name)
        return DeviceOnly(f"{self.__qualname__}.{name}", self._file)

    def __call__(self, *args: Any, **options: Any) -> Any:
        text = english("cuda.{function} is for kernels; this line runs on the host", function=self.__qualname__)
        raise KernelFileError(*launch_place(self._file), text)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __mod__ = __call__
    __index__ = __int__ = __float__ = __bool__ = __lt__ = __gt__ = __le__ = __ge__ = __getitem__ = __call__


def _is_option_of_numba(name: str) -> bool:
    """Tell whether the Numba that is installed, which may be a newer one, takes an option; so too where none is."""
    try:
        jit = importlib.import_module("numba.cuda.decorators").jit
        kernel = importlib.import_module("numba.cuda.dispatcher")._Kernel
    except ImportError:
        return True
    return name in inspect.signature(jit).parameters or name in inspect.signature(kernel).parameters


@cache
def part_of_numba(name: str) -> Any:
    """Return a module in ``numba.cuda`` or a type of it, which ask no driver; None for anything else."""
    try:
        module = importlib.import_module("numba.cuda")
    except ImportError:
        return None
    try:
        part = vars(module).get(name) or importlib.import_module(f"numba.cuda.{name}")
    except ImportError:
        return _NOT_THERE
    of_cuda = isinstance(part, ModuleType) and part.__name__.startswith("numba.cuda.")
    return part if of_cuda or type(part).__module__.startswith(_TYPES) or name == "runtime" else None


@cache
def device_names() -> dict[str, str]:
    """Return the names that mean something in kernels, each with the one it is an alias of, or itself."""
    known = (name for table in (names.VALUES, names.CALLS) for name in table)
    roots = {name.split(".")[1] for name in known if name.startswith("cuda.")}
    return {name: name for name in roots | {"shared", "local", "const", "atomic"}}
