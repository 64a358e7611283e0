"""What a script gets as ``pycuda`` where that is not installed: its kernels launched and recorded, and its memory.

Memory of the device is NumPy's. Streams and events do nothing: every call is done when it returns, and the time that
it took is not a number.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from smemviz.engines.host import launch_place
from smemviz.engines.lockstep.host import devices
from smemviz.engines.lockstep.host.host_memory import HOST_BYTES
from smemviz.engines.lockstep.host.stand_ins import pycuda_memory as memory
from smemviz.engines.lockstep.host.stand_ins.modules import Known, Module, Nothing, nothing
from smemviz.engines.lockstep.host.stand_ins.pycuda_memory import DeviceAllocation, GPUArray, In, InOut, Out
from smemviz.engines.lockstep.host.stand_ins.raw import check_apart
from smemviz.engines.lockstep.ptx.host.raw_kernels import RawKernels
from smemviz.errors import LaunchError
from smemviz.frontends.numba.program import Program
from smemviz.messages import english

_Real = devices.Device


class Event(Nothing):
    """An event that has always happened."""

    _of = "pycuda.driver."

    def record(self, stream: Any = None) -> Event:
        """Note nothing."""
        return self

    def query(self) -> bool:
        """Tell that it has happened."""
        return True

    def time_since(self, event: Event) -> float:
        """Return NaN: nothing is timed."""
        return math.nan

    time_till = time_since


class Stream(Nothing):
    """A stream in which everything has already happened."""

    _of = "pycuda.driver."
    handle = 0
    wait_for_event = nothing


class Context(Nothing):
    """What a script sets up on the device; there is nothing to set up."""

    _of = "pycuda.driver."
    push = pop = detach = staticmethod(nothing)
    synchronize = staticmethod(nothing)


class Device(Nothing):
    """The device that lockstep stands in for."""

    _of = "pycuda.driver."
    count = staticmethod(lambda: 1)

    def make_context(self, flags: int = 0) -> Context:
        """Return a context."""
        return Context()

    retain_primary_context = make_context

    def name(self) -> str:
        """Return its name."""
        return _Real.name.decode()

    def compute_capability(self) -> tuple[int, int]:
        """Return it as two numbers."""
        return _Real.compute_capability

    def total_memory(self) -> int:
        """Return what lockstep gives a run."""
        return HOST_BYTES

    def get_attribute(self, attribute: str) -> int:
        """Return a fact by its name."""
        return int(getattr(_Real, attribute))


class Function(Known):
    """One kernel."""

    _of = "pycuda.driver."

    def __init__(self, kernels: RawKernels, code: str, name: str, options: Sequence[str]) -> None:
        self._kernels, self._code, self._name, self._options = kernels, code, name, options
        self._types: list[str] = []

    def __call__(
        self, *args: Any, block: Sequence[int], grid: Sequence[int] = (1, 1), shared: int = 0, **_: Any
    ) -> float:
        """Launch it; return NaN for the time that it took."""
        given = [_passed(number, value) for number, value in enumerate(args)]
        check_apart(given)
        program = self._kernels.program(self._code, self._name, self._options)
        shape = (tuple(map(int, grid)), tuple(map(int, block)), shared)
        # PyCUDA puts extern "C" around a text, unless it is told not to; so C++ may name the kernel as it likes.
        self._kernels.launch(program, self._name, shape, given, (self._name,))
        for value, copy in zip(args, given, strict=True):
            if isinstance(value, In):
                value.bring_back(copy)
        return math.nan

    def prepare(self, arg_types: Any, **_: Any) -> Function:
        """Note what the numbers among the arguments are."""
        self._types = [kind if isinstance(kind, str) else np.dtype(kind).char for kind in arg_types]
        return self

    def prepared_call(self, grid: Any, block: Any, *args: Any, shared_size: int = 0, **_: Any) -> None:
        """Launch it, numbers being of the types that ``prepare`` was told."""
        pairs = zip(self._types, args, strict=True)
        given = [value if kind == "P" or hasattr(value, "ptr") else np.dtype(kind).type(value) for kind, value in pairs]
        self(*given, grid=grid, block=block, shared=shared_size)

    def prepared_async_call(self, grid: Any, block: Any, stream: Any, *args: Any, shared_size: int = 0) -> None:
        """Launch it at once."""
        self.prepared_call(grid, block, *args, shared_size=shared_size)

    set_cache_config = set_shared_config = nothing


class SourceModule(Known):
    """A text of CUDA C++ with kernels."""

    _of = "pycuda.compiler."

    def __init__(
        self, kernels: RawKernels, source: str, *_: Any, options: Sequence[str] | None = None, **__: Any
    ) -> None:
        self._kernels, self._source, self._options = kernels, source, tuple(options or ())

    def get_function(self, name: str) -> Function:
        """Return a kernel by its name."""
        self._kernels.program(self._source, name, self._options)  # which has it
        return Function(self._kernels, self._source, name, self._options)


def _passed(number: int, value: Any) -> Any:
    """Return an argument as ``RawKernels`` takes it."""
    if isinstance(value, In):
        return value.on_device()
    if isinstance(value, GPUArray | np.generic):
        return value
    if isinstance(value, DeviceAllocation):
        return value.ptr
    if isinstance(value, np.ndarray):
        return value.tobytes()  # by value, whatever it is
    what = english(
        "PyCUDA takes no {value} as argument {number}; write numpy.int32(...) or another of NumPy's types",
        value=repr(value),
        number=number + 1,
    )
    raise LaunchError(*launch_place(""), what)


def modules_of_pycuda(script: Program, kernels: RawKernels) -> list[Module]:
    """Return the modules of PyCUDA whose kernels ``kernels`` launches, for one script."""
    copies: dict[str, Any] = {"memcpy_htod": memory.copy_to_device, "memcpy_dtoh": memory.copy_to_host}
    copies["memcpy_dtod"] = memory.copy_on_device
    driver: dict[str, Any] = {
        **copies,
        **{f"{name}_async": copy for name, copy in copies.items()},
        **{f"memset_d{8 * np.dtype(kind).itemsize}": memory.fill_of(kind) for kind in (np.uint8, np.uint16, np.uint32)},
        **{kind.__name__: kind for kind in (DeviceAllocation, In, InOut, Out, Event, Stream, Context, Device)},
        **{f"pagelocked_{name}": getattr(np, name) for name in ("empty", "zeros", "empty_like", "zeros_like")},
        "device_attribute": SimpleNamespace(**{name: name for name in vars(_Real) if name.isupper()}),
        "init": nothing,
        "mem_alloc": DeviceAllocation,
        "mem_alloc_like": lambda array: DeviceAllocation(array.nbytes),
        "mem_get_info": lambda: (HOST_BYTES, HOST_BYTES),
        "to_device": memory.to_device,
        "from_device": memory.from_device,
        "from_device_like": lambda devptr, other: memory.from_device(devptr, other.shape, other.dtype),
    }
    arrays = {
        name: memory.making_on_device(getattr(np, name))
        for name in ("zeros", "zeros_like", "arange", "sum", "dot", "max", "min")
    }
    arrays |= {"empty": arrays["zeros"], "empty_like": arrays["zeros_like"], "GPUArray": GPUArray}
    arrays["to_gpu"] = arrays["to_gpu_async"] = memory.making_on_device(np.array)
    return [
        Module("pycuda", script, {}),
        Module("pycuda.autoinit", script, {"context": Context(), "device": Device()}),
        Module("pycuda.autoprimaryctx", script, {"context": Context(), "device": Device()}),
        Module("pycuda.compiler", script, {"SourceModule": functools.partial(SourceModule, kernels)}),
        Module("pycuda.driver", script, driver),
        Module("pycuda.gpuarray", script, arrays),
        Module("pycuda.tools", script, {"make_default_context": lambda *_: Context(), "mark_cuda_test": lambda f: f}),
    ]
