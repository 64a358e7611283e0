"""What a script gets as ``cupy`` and ``cupyx`` where there is no GPU: NumPy, and in lockstep its own kernels.

Arrays are NumPy's under another name. Random numbers are other ones than CuPy's, the same for the same seed. Streams
and events do nothing: every call is done when it returns, and the time that it took is not a number.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from smemviz.engines.launch_shape import launch_place
from smemviz.engines.lockstep.host import devices
from smemviz.engines.lockstep.host.host_memory import HOST_BYTES
from smemviz.engines.lockstep.host.stand_ins import arrays
from smemviz.engines.lockstep.host.stand_ins.arrays import Memory, MemoryPointer, ndarray, on_device
from smemviz.engines.lockstep.host.stand_ins.elementwise import ElementwiseKernel
from smemviz.engines.lockstep.host.stand_ins.modules import Known, Module, Nothing, nothing
from smemviz.engines.lockstep.host.stand_ins.raw import RawKernel, RawModule
from smemviz.engines.lockstep.host.stand_ins.reduction import ReductionKernel
from smemviz.engines.lockstep.ptx.host.raw_kernels import RawKernels
from smemviz.engines.recorder import Recorder
from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.messages import english

_Real = devices.Device


class Event(Nothing):
    """An event that has always happened."""

    _of = "cupy.cuda."
    ptr = 0
    done = True
    record = nothing


class Stream(Nothing):
    """A stream in which everything has already happened."""

    _of = "cupy.cuda."
    ptr = 0
    done = True
    null: Stream
    ptds: Stream
    wait_event = nothing

    def record(self, event: Event | None = None) -> Event:
        return event or Event()

    def launch_host_func(self, callback: Callable[[Any], None], arg: Any) -> None:
        callback(arg)

    def add_callback(self, callback: Callable[[Any, int, Any], None], arg: Any) -> None:
        callback(self, 0, arg)


Stream.null = Stream.ptds = Stream()


class Device(Nothing):
    """The device that lockstep stands in for."""

    _of = "cupy.cuda."
    id = 0
    compute_capability = "".join(map(str, _Real.compute_capability))
    mem_info = (HOST_BYTES, HOST_BYTES)

    @property
    def attributes(self) -> dict[str, int]:
        """The facts that CuPy tells, by its names."""
        values = {
            "".join(word.capitalize() for word in name.split("_")): value
            for name, value in vars(_Real).items()
            if name.isupper() and isinstance(value, int)
        }
        return values | {"MultiProcessorCount": _Real.MULTIPROCESSOR_COUNT}

    def __int__(self) -> int:
        return self.id


class _Pool(Nothing):
    """A pool of memory, which gives nothing back and has nothing."""

    _of = "cupy.cuda."
    free_all_blocks = free_all_free = set_limit = nothing

    def malloc(self, size: int) -> MemoryPointer:
        return _alloc(size)

    def used_bytes(self) -> int:
        """Return 0: nothing is counted."""
        return 0

    total_bytes = get_limit = n_free_blocks = used_bytes


class _Benchmark(Known):
    """What a benchmark found: nothing, for lockstep has no clock."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cpu_times = np.array([math.nan])
        self.gpu_times = np.array([[math.nan]])

    def to_str(self, show_gpu: bool = False) -> str:
        return f"{self.name:<20}:    nan us, no time is measured where there is no GPU"

    __str__ = __repr__ = to_str


def _benchmark(func: Callable[..., Any], args: Any = (), kwargs: Any = None, *_: Any, **options: Any) -> _Benchmark:
    func(*args, **(kwargs or {}))  # once: each turn is the same
    return _Benchmark(str(options.get("name") or getattr(func, "__name__", "function")))


def _alloc(size: int) -> MemoryPointer:
    return MemoryPointer(Memory(size), 0)


def _properties(device: int = 0) -> dict[str, Any]:
    major, minor = _Real.compute_capability
    return {
        "name": _Real.name,
        "major": major,
        "minor": minor,
        "totalGlobalMem": HOST_BYTES,
        "multiProcessorCount": _Real.MULTIPROCESSOR_COUNT,
        "warpSize": _Real.WARP_SIZE,
        "maxThreadsPerBlock": _Real.MAX_THREADS_PER_BLOCK,
        "maxThreadsPerMultiProcessor": _Real.MAX_THREADS_PER_MULTIPROCESSOR,
        "maxThreadsDim": (_Real.MAX_BLOCK_DIM_X, _Real.MAX_BLOCK_DIM_Y, _Real.MAX_BLOCK_DIM_Z),
        "maxGridSize": (_Real.MAX_GRID_DIM_X, _Real.MAX_GRID_DIM_Y, _Real.MAX_GRID_DIM_Z),
        "sharedMemPerBlock": _Real.MAX_SHARED_MEMORY_PER_BLOCK,
        "sharedMemPerBlockOptin": _Real.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        "sharedMemPerMultiprocessor": _Real.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        "regsPerBlock": _Real.MAX_REGISTERS_PER_BLOCK,
        "regsPerMultiprocessor": _Real.MAX_REGISTERS_PER_MULTIPROCESSOR,
        "totalConstMem": _Real.TOTAL_CONSTANT_MEMORY,
        "l2CacheSize": _Real.L2_CACHE_SIZE,
        "clockRate": _Real.CLOCK_RATE,
        "memoryClockRate": _Real.MEMORY_CLOCK_RATE,
        "memoryBusWidth": _Real.GLOBAL_MEMORY_BUS_WIDTH,
    }


def _not_recorded(name: str) -> UnsupportedError:
    """Say of kernels that they are not recorded, on a GPU either."""
    return UnsupportedError(
        *launch_place(""), english("kernels of {name} are not recorded; write a cupy.RawKernel", name=name)
    )


class _JitKernel:
    """A kernel of ``cupyx.jit``, which is refused where it is launched."""

    def __call__(self, *_: Any, **__: Any) -> None:
        raise _not_recorded("cupyx.jit")

    __getitem__ = __call__


def _computed(recorder: Recorder, name: str, computing: Callable[..., Any] = lambda function: function) -> Any:
    """Return what makes one kernel of a function: NumPy computes it, and a line says that it is not recorded."""

    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        compute = computing(function)

        @functools.wraps(function)
        def called(*args: Any) -> Any:
            result = on_device(compute(*args))
            recorder.runs_unrecorded(function.__name__, _not_recorded(name))
            return result

        return called

    return lambda *functions, **_: made(functions[0]) if functions else made


def _asnumpy(a: Any, stream: Any = None, order: Any = "C", out: Any = None, *, blocking: bool = True) -> Any:
    if out is None:
        return np.array(a, order=order, subok=False)
    out[...] = a
    return out


def _from_dlpack(array: Any, **_: Any) -> Any:
    held = getattr(array, "on_device", None)  # a buffer of cuda.core
    return on_device(np.from_dlpack(array) if held is None else held)


def modules_of_cupy(script: PythonProgram, kernels: RawKernels) -> list[Module]:
    """Return the modules of CuPy whose raw kernels ``kernels`` launches, for one script."""
    arrays.begin()

    def raw_kernel(code: str, name: str, options: Sequence[str] = (), *_: Any, **__: Any) -> RawKernel:
        return RawKernel(kernels, code, name, options)

    runtime = {
        "deviceSynchronize": nothing,
        "streamSynchronize": nothing,
        "setDevice": nothing,
        "getDeviceCount": lambda: 1,
        "getDevice": lambda: 0,
        "getDeviceProperties": _properties,
        "memGetInfo": lambda: Device.mem_info,
    }
    streams = {"Stream": Stream, "ExternalStream": Stream, "get_current_stream": lambda *_: Stream.null}
    events = {"Event": Event, "get_elapsed_time": lambda start, end: math.nan}
    memory = {"Memory": Memory, "MemoryPointer": MemoryPointer, "alloc": _alloc, "malloc_managed": _alloc}
    memory |= {"UnownedMemory": lambda ptr, size, owner, device_id=-1: Memory(size, ptr), "MemoryPool": _Pool}
    memory |= {"PinnedMemoryPool": _Pool, "set_allocator": nothing, "set_pinned_memory_allocator": nothing}
    memory |= {"alloc_pinned_memory": lambda size: np.zeros(size, np.uint8)}
    cuda = {"Device": Device, "is_available": lambda: True} | streams | events | memory
    names: dict[str, Any] = {
        "__version__": "0+smemviz",
        "ndarray": ndarray,
        "array": lambda obj, *args, blocking=None, **kwargs: on_device(np.array(obj, *args, **kwargs)),
        "asnumpy": _asnumpy,
        "empty": arrays.of_numpy(np.zeros),  # what is in new memory is not told
        "empty_like": arrays.of_numpy(np.zeros_like),
        "from_dlpack": _from_dlpack,
        "ElementwiseKernel": functools.partial(ElementwiseKernel, kernels),
        "ReductionKernel": functools.partial(ReductionKernel, kernels),
        "RawKernel": raw_kernel,
        "fuse": _computed(kernels.recorder, "cupy.fuse"),
        "vectorize": _computed(kernels.recorder, "cupy.vectorize", np.vectorize),
        "RawModule": functools.partial(RawModule, kernels),
        "get_array_module": lambda *arrays: modules[0],
        "get_default_memory_pool": _Pool,
        "get_default_pinned_memory_pool": _Pool,
        "is_available": lambda: True,
        "memoize": lambda for_each_device=False: functools.cache,
        "clear_memo": nothing,
    }
    for name in ("asarray", "ascontiguousarray", "asfortranarray", "asanyarray"):
        names[name] = arrays.copied_to_device(getattr(np, name))
    profiler = {"benchmark": _benchmark, "profile": nullcontext, "time_range": lambda *_, **__: nullcontext()}
    ranges = dict.fromkeys(("RangePush", "RangePop", "Mark", "MarkC", "RangePushC"), nothing)
    pinned = {f"{name}_pinned": getattr(np, name) for name in ("zeros", "empty", "zeros_like", "empty_like")}
    jit = {"rawkernel": lambda *_, **__: lambda function: _JitKernel()}
    modules: list[Module] = [
        Module("cupy", script, names, arrays.rule_of(np)),
        Module("cupy.cuda", script, cuda),
        Module("cupy.cuda.runtime", script, runtime),
        Module("cupy.cuda.stream", script, streams | events),
        Module("cupy.cuda.memory", script, memory),
        Module("cupy.cuda.nvtx", script, ranges),
        Module("cupy.cuda.profiler", script, {"start": nothing, "stop": nothing}),
        Module("cupy.random", script, {}, arrays.random_rule),
        Module("cupy.linalg", script, {}, arrays.rule_of(np.linalg)),
        Module("cupy.fft", script, {}, arrays.rule_of(np.fft)),
        Module("cupy.testing", script, {}, arrays.testing_rule),
        Module("cupyx", script, {"scatter_add": np.add.at, **pinned}),
        Module("cupyx.profiler", script, profiler),
        Module("cupyx.jit", script, jit),
    ]
    return modules
