"""The device that lockstep stands in for, for a program that asks the driver: its facts, its memory, its streams.

Its limits are those of an H200. Its memory is what lockstep gives a run, as a program that fills the memory it is told
of would fill this machine's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from smemviz.engines.lockstep.host.host_memory import HOST_BYTES
from smemviz.engines.lockstep.memory.device_array import DeviceArray
from smemviz.engines.lockstep.running_launch import COMPUTE_CAPABILITY
from smemviz.frontends.numba import xoroshiro


class Stream:
    """A stream in which everything has already happened."""

    handle = 0

    def synchronize(self) -> None:
        """Do nothing."""

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Do nothing at the end."""
        yield self

    async def async_done(self) -> Stream:
        """Return at once: everything has happened."""
        return self

    def add_callback(self, callback: Any, arg: Any = None) -> None:
        callback(self, 0, arg)


class Event:
    """An event that has always happened."""

    def record(self, stream: Any = 0) -> None:
        """Do nothing."""

    wait = record

    def synchronize(self) -> None:
        """Do nothing."""

    def query(self) -> bool:
        return True

    def elapsed_time(self, evtend: Event) -> float:
        """Return NaN: lockstep has no clock."""
        return math.nan


class MemoryInfo(NamedTuple):
    """Bytes of memory."""

    free: int
    total: int


class Context:
    """What a program sets up on the device; there is nothing to set up."""

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    @property
    def device(self) -> Device:
        return Device()

    def get_default_stream(self) -> Stream:
        return Stream()

    create_stream = get_legacy_default_stream = get_per_thread_default_stream = get_default_stream

    def get_memory_info(self) -> MemoryInfo:
        """Return what a run may allocate; what it has allocated is not taken off."""
        return MemoryInfo(HOST_BYTES, HOST_BYTES)

    @property
    def deallocations(self) -> list[Any]:
        """What waits to be freed: nothing."""
        return []

    def create_event(self, timing: bool = True) -> Event:
        return Event()

    def synchronize(self) -> None:
        """Do nothing."""

    reset = push = pop = synchronize

    @contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """Do nothing."""
        yield


class Device:
    """The device: compute capability 9.0, with the limits of its documentation and the facts of an H200."""

    name = b"smemviz lockstep"
    id = 0
    uuid = "GPU-00000000-0000-0000-0000-000000000000"
    compute_capability = COMPUTE_CAPABILITY
    supports_float16 = supports_bfloat16 = supports_fp8 = True

    COMPUTE_CAPABILITY = COMPUTE_CAPABILITY
    COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR = COMPUTE_CAPABILITY
    WARP_SIZE = 32
    MAX_THREADS_PER_BLOCK = 1024
    MAX_BLOCK_DIM_X, MAX_BLOCK_DIM_Y, MAX_BLOCK_DIM_Z = 1024, 1024, 64
    MAX_GRID_DIM_X, MAX_GRID_DIM_Y, MAX_GRID_DIM_Z = 2**31 - 1, 65535, 65535
    MAX_SHARED_MEMORY_PER_BLOCK = 48 * 1024
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 227 * 1024
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 228 * 1024
    RESERVED_SHARED_MEMORY_PER_BLOCK = 1024
    MAX_REGISTERS_PER_BLOCK = MAX_REGISTERS_PER_MULTIPROCESSOR = 65536
    MAX_THREADS_PER_MULTIPROCESSOR = MAX_THREADS_PER_MULTI_PROCESSOR = 2048
    MAX_BLOCKS_PER_MULTIPROCESSOR = 32
    MULTIPROCESSOR_COUNT = 132
    TOTAL_CONSTANT_MEMORY = 64 * 1024
    L2_CACHE_SIZE = 50 * 1024 * 1024
    CLOCK_RATE = 1980000
    MEMORY_CLOCK_RATE = 3201000
    GLOBAL_MEMORY_BUS_WIDTH = 6144
    SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO = 2
    ASYNC_ENGINE_COUNT = 3
    MAX_PITCH = 2**31 - 1
    TEXTURE_ALIGNMENT = 512
    KERNEL_EXEC_TIMEOUT = INTEGRATED = COMPUTE_MODE = TCC_DRIVER = MULTI_GPU_BOARD = 0
    PCI_BUS_ID = PCI_DEVICE_ID = PCI_DOMAIN_ID = 0
    CONCURRENT_KERNELS = CAN_MAP_HOST_MEMORY = UNIFIED_ADDRESSING = MANAGED_MEMORY = GPU_OVERLAP = 1
    ECC_ENABLED = COOPERATIVE_LAUNCH = STREAM_PRIORITIES_SUPPORTED = CONCURRENT_MANAGED_ACCESS = 1

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __str__(self) -> str:
        return f"<Managed Device {self.id}>"

    def __repr__(self) -> str:
        return f"<CUDA device {self.id} {str(self.name)!r}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device)

    def __hash__(self) -> int:
        return hash(self.id)

    def get_primary_context(self) -> Context:
        return Context()

    def get_device_identity(self) -> dict[str, int]:
        return {"pci_domain_id": self.PCI_DOMAIN_ID, "pci_bus_id": self.PCI_BUS_ID, "pci_device_id": self.PCI_DEVICE_ID}

    def reset(self) -> None:
        """Do nothing."""

    release_primary_context = reset


class Devices(list[Device]):
    """``cuda.gpus``: the one device."""

    @property
    def lst(self) -> list[Device]:
        return list(self)

    @property
    def current(self) -> Device:
        return self[0]

    def __str__(self) -> str:
        return ", ".join(map(str, self))


def described(device: Device) -> str:
    """Return what ``cuda.detect()`` prints of a device."""
    major, minor = device.compute_capability
    facts = {"Compute Capability": f"{major}.{minor}", "PCI Device ID": device.PCI_DEVICE_ID, "UUID": device.uuid}
    lines = [f"{name:>40}: {value}" for name, value in facts.items()]
    line = f"id {device.id}    {device.name!s:>20} {'[SUPPORTED]':>40}"
    return "\n".join(["Found 1 CUDA devices", line, *lines, "Summary:", "\t1/1 devices are supported"])


class Random:
    """The module; its device functions are those of ``smemviz.frontends.numba.xoroshiro``."""

    xoroshiro128p_dtype = xoroshiro.DTYPE
    xoroshiro128p_type = xoroshiro.DTYPE

    def __init__(self, to_device: Callable[[Any], DeviceArray]) -> None:
        self._to_device = to_device
        vars(self).update(xoroshiro.DEVICE)

    def create_xoroshiro128p_states(
        self, n: int, seed: int, subsequence_start: int = 0, stream: Any = 0
    ) -> DeviceArray:
        """Return an array of n generators, 2**64 numbers apart."""
        return self._to_device(xoroshiro.states(int(n), int(seed), int(subsequence_start)))

    def init_xoroshiro128p_states_cpu(self, states: Any, seed: int, subsequence_start: int) -> None:
        states[:] = xoroshiro.states(len(states), int(seed), int(subsequence_start))

    def init_xoroshiro128p_states(
        self, states: DeviceArray, seed: int, subsequence_start: int = 0, stream: Any = 0
    ) -> None:
        states.copy_to_device(xoroshiro.states(states.shape[0], int(seed), int(subsequence_start)))
