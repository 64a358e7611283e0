"""What PyCUDA's driver has besides memory and kernels: the device, contexts, streams, events, and its errors.

Streams and events do nothing: every call is done when it returns, and the time that it took is not a number.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from smemviz.engines.lockstep.host import devices
from smemviz.engines.lockstep.host.host_memory import HOST_BYTES
from smemviz.engines.lockstep.host.stand_ins.modules import Nothing, nothing
from smemviz.errors import SourceError

_Real = devices.Device
_VERSION = (12, 0, 0)

DEVICE_ATTRIBUTE = SimpleNamespace(**{name: name for name in vars(_Real) if name.isupper()})
# Flags of calls that do nothing with them.
FLAGS = {
    "ctx_flags": SimpleNamespace(SCHED_AUTO=0, SCHED_SPIN=1, SCHED_YIELD=2, SCHED_BLOCKING_SYNC=4, MAP_HOST=8),
    "event_flags": SimpleNamespace(DEFAULT=0, BLOCKING_SYNC=1, DISABLE_TIMING=2),
    "func_cache": SimpleNamespace(PREFER_NONE=0, PREFER_SHARED=1, PREFER_L1=2, PREFER_EQUAL=3),
    "host_alloc_flags": SimpleNamespace(PORTABLE=1, DEVICEMAP=2, WRITECOMBINED=4),
    "limit": SimpleNamespace(STACK_SIZE=0, PRINTF_FIFO_SIZE=1, MALLOC_HEAP_SIZE=2),
    "mem_attach_flags": SimpleNamespace(GLOBAL=1, HOST=2, SINGLE=4),
    "mem_host_register_flags": SimpleNamespace(PORTABLE=1, DEVICEMAP=2),
    "shared_config": SimpleNamespace(DEFAULT_BANK_SIZE=0, FOUR_BYTE_BANK_SIZE=1, EIGHT_BYTE_BANK_SIZE=2),
    "stream_flags": SimpleNamespace(DEFAULT=0, NON_BLOCKING=1),
}


class Error(Exception):
    """Base of PyCUDA's errors."""


ERRORS = {name: type(name, (Error,), {}) for name in ("LaunchError", "LogicError", "MemoryError", "RuntimeError")}


class CompileError(SourceError, Error):
    """A text that does not compile, at its line, for ``except pycuda.driver.CompileError`` too."""


class Event(Nothing):
    """An event that has always happened."""

    _of = "pycuda.driver."

    def record(self, stream: Any = None) -> Event:
        return self

    def query(self) -> bool:
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

    def is_done(self) -> bool:
        return True


class Context(Nothing):
    """What a script sets up on the device; there is nothing to set up."""

    _of = "pycuda.driver."
    push = pop = detach = staticmethod(nothing)
    synchronize = set_cache_config = set_limit = set_shared_config = staticmethod(nothing)

    @staticmethod
    def get_device() -> Device:
        return Device()

    @staticmethod
    def get_current() -> Context:
        return Context()

    attach = get_current


class Device(Nothing):
    """The device that lockstep stands in for."""

    _of = "pycuda.driver."
    count = staticmethod(lambda: 1)

    def make_context(self, flags: int = 0) -> Context:
        return Context()

    retain_primary_context = make_context

    def name(self) -> str:
        return _Real.name.decode()

    def compute_capability(self) -> tuple[int, int]:
        return _Real.compute_capability

    def pci_bus_id(self) -> str:
        """Return where it is plugged in: nowhere."""
        return "0000:00:00.0"

    def total_memory(self) -> int:
        return HOST_BYTES

    def get_attribute(self, attribute: str) -> int:
        return int(getattr(_Real, attribute))

    def get_attributes(self) -> dict[str, int]:
        facts = {name: getattr(_Real, name) for name in vars(DEVICE_ATTRIBUTE)}
        return {name: fact for name, fact in facts.items() if isinstance(fact, int)}


class DeviceData(Nothing):
    """What PyCUDA's tools know of a device; some numbers are the same for all."""

    _of = "pycuda.tools."
    max_threads = _Real.MAX_THREADS_PER_BLOCK
    warp_size = _Real.WARP_SIZE
    warps_per_mp = 64
    thread_blocks_per_mp = 8
    registers = _Real.MAX_REGISTERS_PER_BLOCK
    shared_memory = _Real.MAX_SHARED_MEMORY_PER_BLOCK
    smem_alloc_granularity = 128
    smem_granularity = 32


DRIVER: dict[str, Any] = {
    **{kind.__name__: kind for kind in (CompileError, Context, Device, Error, Event, Stream)},
    **ERRORS,
    **FLAGS,
    "device_attribute": DEVICE_ATTRIBUTE,
    "get_driver_version": lambda: _VERSION[0] * 1000,
    "get_version": lambda: _VERSION,
    "init": nothing,
    "mem_get_info": lambda: (HOST_BYTES, HOST_BYTES),
    "start_profiler": nothing,
    "stop_profiler": nothing,
}
TOOLS: dict[str, Any] = {
    "DeviceData": DeviceData,
    "clear_context_caches": nothing,
    "make_default_context": lambda *_: Context(),
    "mark_cuda_test": lambda function: function,
}
