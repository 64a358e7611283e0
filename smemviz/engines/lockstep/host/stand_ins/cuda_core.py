"""What a script gets as ``cuda.core`` where there is no GPU: memory of the host, and kernels in lockstep."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.launch_shape import launch_place
from smemviz.engines.lockstep.host import devices
from smemviz.engines.lockstep.host.stand_ins.arrays import address, bytes_at, ndarray
from smemviz.engines.lockstep.host.stand_ins.modules import Known, Module, Nothing, nothing
from smemviz.engines.lockstep.ptx.host.entry import Variables
from smemviz.engines.lockstep.ptx.host.raw_kernels import RawKernels, macros, number_of
from smemviz.errors import LaunchError, UnsupportedError
from smemviz.frontends.numba.python_program import PythonProgram as Script
from smemviz.messages import english

_Real = devices.Device


class ComputeCapability(NamedTuple):
    """The compute capability of a device."""

    major: int
    minor: int


class _Closing(Nothing):
    """What is closed at the end."""

    _of = "cuda.core."
    is_closed = False
    handle: Any = 0

    def close(self, stream: Any = None) -> None:
        self.is_closed = True


class Event(_Closing):
    """An event that has always happened."""

    is_done = True
    is_timing_enabled = True

    sync = nothing

    def __sub__(self, other: Event) -> float:
        return math.nan


class Stream(_Closing):
    """A stream in which everything has already happened."""

    is_nonblocking = True
    priority = 0
    sync = wait = nothing

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, 0

    @property
    def device(self) -> Device:
        return Device()

    def record(self, event: Event | None = None, options: Any = None) -> Event:
        return event or Event()

    @classmethod
    def from_handle(cls, handle: Any) -> Stream:
        return cls()


class Buffer(_Closing):
    """Bytes of memory."""

    def __init__(self, data: NDArray[np.uint8], resource: Any, *, on_host: bool) -> None:
        self._data = data
        self.size = len(data)
        self.handle = address(data)
        self.memory_resource = resource
        self.device_id = 0
        self.is_device_accessible = True
        self.is_host_accessible = on_host

    @property
    def on_device(self) -> NDArray[np.uint8]:
        """The bytes, as CuPy's stand-in takes them over."""
        return self._data

    def __int__(self) -> int:
        return int(self.handle)

    def __dlpack__(self, **kwargs: Any) -> Any:
        if not self.is_host_accessible:
            raise BufferError("this memory is the device's; copy it to the host, or take it over with cupy.from_dlpack")
        return self._data.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0) if self.is_host_accessible else (2, 0)

    def copy_to(self, dst: Buffer | None = None, *, stream: Any = None, **_: Any) -> Buffer:
        dst = self.memory_resource.allocate(self.size) if dst is None else dst
        dst._data[: self.size] = self._data
        return dst

    def copy_from(self, src: Buffer, *, stream: Any = None, **_: Any) -> None:
        self._data[: src.size] = src._data

    def fill(self, value: Any, *, stream: Any = None) -> None:
        """Give the bytes a value, or repeat that of several bytes."""
        given = [value] if isinstance(value, int) else np.frombuffer(value, np.uint8)
        self._data[:] = np.resize(np.asarray(given, np.uint8), self.size)

    def close(self, stream: Any = None) -> None:
        super().close()
        self.handle, self._data = 0, np.zeros(0, np.uint8)

    @classmethod
    def from_handle(cls, ptr: Any, size: int, mr: Any = None, owner: Any = None, **_: Any) -> Buffer:
        return cls(bytes_at(int(ptr), size), mr, on_host=False)


def _resource(name: str, *, on_host: bool) -> type:
    def allocate(self: Any, size: int, stream: Any = None) -> Buffer:
        """Return memory of so many bytes; what is in it is not told."""
        return Buffer(np.zeros(int(size), np.uint8), self, on_host=on_host)

    facts = {"is_device_accessible": True, "is_host_accessible": on_host, "device_id": 0, "_of": "cuda.core."}
    return type(name, (_Closing,), {"allocate": allocate, "__doc__": "Gives memory.", **facts})


_RESOURCES = {
    name: _resource(name, on_host=not name.startswith(("Device", "Virtual")))
    for name in (
        "DeviceMemoryResource",
        "VirtualMemoryResource",
        "PinnedMemoryResource",
        "LegacyPinnedMemoryResource",
        "ManagedMemoryResource",
    )
}


class _Properties(Known):
    _of = "cuda.core."

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(_Real, name.upper(), None)
        return super().__getattr__(name) if attribute is None else attribute


class Device(Nothing):
    """The device that lockstep stands in for."""

    _of = "cuda.core."
    device_id = 0
    name = _Real.name.decode()
    uuid = _Real.uuid
    compute_capability = ComputeCapability(*_Real.compute_capability)
    arch = "".join(map(str, _Real.compute_capability))
    properties = _Properties()
    memory_resource: Any = _RESOURCES["DeviceMemoryResource"]()
    default_stream = Stream()
    set_current = sync = nothing  # there is one device

    @classmethod
    def get_all_devices(cls) -> tuple[Device, ...]:
        return (cls(),)

    def __int__(self) -> int:
        return self.device_id

    def create_stream(self, obj: Any = None, *, options: Any = None) -> Stream:
        return Stream()

    def create_event(self, options: Any = None) -> Event:
        return Event()

    def allocate(self, size: int, stream: Any = None) -> Buffer:
        buffer: Buffer = self.memory_resource.allocate(size)
        return buffer


class Options:
    """Options by their names."""

    def __init__(self, **kwargs: Any) -> None:
        self.__dict__.update(kwargs)


class Kernel(Known):
    """One kernel of a program."""

    _of = "cuda.core."

    def __init__(
        self, code: str, name: str, options: Sequence[str], expressions: Sequence[str], variables: Variables
    ) -> None:
        self._source = code, name, options, expressions
        self._variables = variables


class ObjectCode(Known):
    """What was made of a program: nothing yet, that is done at the launch."""

    _of = "cuda.core."

    def __init__(self, code: str, options: Sequence[str], expressions: Sequence[str], code_type: str) -> None:
        self._source = code, options, expressions
        self._variables = Variables()
        self.code_type = code_type

    def get_kernel(self, name: Any) -> Kernel:
        code, options, expressions = self._source
        plain = name.decode() if isinstance(name, bytes) else name
        return Kernel(code, plain, options, expressions, self._variables)


class Program(_Closing):
    """A text of CUDA C++."""

    def __init__(self, code: str, code_type: str, options: Any = None) -> None:
        if str(code_type).lower() != "c++":
            what = english("a Program of {kind} runs on a GPU only; give it CUDA C++", kind=code_type)
            raise UnsupportedError(*launch_place(""), what)
        self._code = code
        self._options = macros(options)

    def compile(self, target_type: str, name_expressions: Sequence[str] = (), **_: Any) -> ObjectCode:
        """Return the object with the kernels that ``name_expressions`` name, and those that C names."""
        return ObjectCode(self._code, self._options, tuple(name_expressions), target_type)


class LaunchConfig(Options):
    """How many blocks and threads a launch has."""

    grid: Any = 1
    cluster: Any = None
    block: Any = 1
    shmem_size: int | None = 0


def _passed(value: Any) -> Any:
    """Return an argument as ``RawKernels`` takes it."""
    if isinstance(value, Buffer):
        return int(value.handle)
    if isinstance(value, np.ndarray):
        write = "data.ptr" if isinstance(value, ndarray) else "ctypes.data"
        what = english("cuda.core takes the address of an array; add .{attribute} to it", attribute=write)
        raise LaunchError(*launch_place(""), what)
    return number_of(value)


def _launching(kernels: RawKernels) -> Callable[..., None]:
    def launch(stream: Any, config: LaunchConfig, kernel: Kernel, *kernel_args: Any) -> None:
        if not isinstance(kernel, Kernel) or not isinstance(config, LaunchConfig):
            what = english("write launch(stream, LaunchConfig(grid=..., block=...), kernel, arguments)")
            raise LaunchError(*launch_place(""), what)
        if config.cluster is not None:
            what = english("a launch of clusters is not executed in lockstep; run it on a GPU")
            raise UnsupportedError(*launch_place(""), what)
        code, name, options, expressions = kernel._source
        program = kernels.program(code, name, options)
        shape = (config.grid, config.block, config.shmem_size or 0)
        given = [_passed(argument) for argument in kernel_args]
        kernels.launch(program, name, shape, given, expressions, kernel._variables)

    return launch


def modules_of_cuda_core(script: Script, kernels: RawKernels) -> list[Module]:
    """Return ``cuda.core``, whose launches ``kernels`` makes, under its old name too."""
    names: dict[str, Any] = {
        kind.__name__: kind for kind in (Buffer, Device, Event, Kernel, ObjectCode, Program, Stream)
    }
    names |= {"LaunchConfig": LaunchConfig, "launch": _launching(kernels), "host_launch": lambda _, call: call()}
    names |= {f"{name}Options": Options for name in ("Program", "Stream", "Event", *_RESOURCES)} | _RESOURCES
    names |= {"LEGACY_DEFAULT_STREAM": Stream(), "PER_THREAD_DEFAULT_STREAM": Stream()}
    names |= {"__version__": "0+smemviz"}
    return [Module(name, script, names) for name in ("cuda.core", "cuda.core.experimental")]
