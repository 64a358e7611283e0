"""Triton without a GPU: a driver that compiles for a target, and whose launches are made in lockstep."""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable
from typing import Any

from smemviz.engines.lockstep.host.devices import Device
from smemviz.engines.lockstep.log import ROW_BYTES
from smemviz.engines.lockstep.ptx.host.cuda_launch import launch
from smemviz.engines.recorder import Recorder
from smemviz.engines.triton.launches import recorded
from smemviz.frontends.cuda.shapes import SharedPiece
from smemviz.model.hardware.compute_capability import device

_MOST_THREADS = 1024


class Utils:
    """What Triton asks of a device."""

    def __init__(self, capability: tuple[int, int]) -> None:
        self._capability = capability

    def get_device_properties(self, number: int) -> dict[str, int]:
        """Return the facts of an H200, with the shared memory of the target."""
        return {
            "max_shared_mem": device(self._capability).opt_in_shared,
            "max_num_regs": Device.MAX_REGISTERS_PER_MULTIPROCESSOR,
            "multiprocessor_count": Device.MULTIPROCESSOR_COUNT,
            "warpSize": Device.WARP_SIZE,
            "sm_clock_rate": Device.CLOCK_RATE,
            "mem_clock_rate": Device.MEMORY_CLOCK_RATE,
            "mem_bus_width": Device.GLOBAL_MEMORY_BUS_WIDTH,
        }

    def get_device_capability(self, number: int) -> tuple[int, int]:
        """Return the target's compute capability."""
        return self._capability

    def load_binary(self, name: str, kernel: bytes, shared: int, number: int) -> tuple[None, int, int, int, int]:
        """Return no module, which would be unloaded; a handle, registers a thread, spills, the most threads a block."""
        return None, 0, registers_of(kernel, name), 0, _MOST_THREADS


class Driver:
    """A stand-in for Triton's driver of a GPU of the target; ``is_dry`` while configurations are tried."""

    binary_ext = "cubin"

    def __init__(self, target: tuple[int, int], own_file: str, recorder: Recorder) -> None:
        self.capability = target
        self.utils = Utils(target)
        self.is_dry = False
        self._own_file = own_file
        self._recorder = recorder

    def launcher_cls(self, source: Any, metadata: Any) -> Callable[..., None]:
        """Return what launches a compiled kernel."""
        return Launcher(source, metadata)

    def get_current_target(self) -> Any:
        """Return what is compiled for."""
        major, minor = self.capability
        return importlib.import_module("triton.backends.compiler").GPUTarget("cuda", 10 * major + minor, 32)

    def get_active_torch_device(self) -> Any:
        """Return torch's name of the device."""
        return importlib.import_module("torch").device("cuda", 0)

    def get_device_interface(self) -> Any:
        """Return what torch knows of devices."""
        return importlib.import_module("torch").cuda

    def get_current_device(self) -> int:
        """Return a number that Triton keeps compiled kernels by: another one for each target."""
        return 10 * self.capability[0] + self.capability[1]

    def set_current_device(self, number: int) -> None:
        """Do nothing."""

    def get_current_stream(self, number: int) -> int:
        """Return the one stream."""
        return 0

    def get_device_capability(self, number: int) -> tuple[int, int]:
        """Return the target's compute capability."""
        return self.capability

    def get_benchmarker(self) -> Callable[..., list[float]]:
        """Return what measures nothing."""
        return self.try_out

    def get_empty_cache_for_benchmark(self) -> None:
        """Return nothing: nothing is cached."""

    def clear_cache(self, cache: Any) -> None:
        """Do nothing."""

    def map_python_to_cpp_type(self, name: str) -> str:
        """Return a type's name: no launcher is compiled."""
        return name

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: Any) -> None:
        """Return nothing: nothing is profiled."""

    def try_out(self, call: Callable[[], object], **_: Any) -> list[float]:
        """Compile what a call launches, and launch nothing."""
        self.is_dry, before = True, self.is_dry
        try:
            call()
        finally:
            self.is_dry = before
        return [0.0, 0.0, 0.0]

    def launch(self, launcher: Launcher, grid: tuple[int, int, int], values: tuple[Any, ...]) -> None:
        """Make a launch in lockstep, and let the recorder see it."""
        if not self.is_dry:
            recorded(self._recorder, launcher, grid, values, self._own_file, launch, ROW_BYTES)


class Launcher:
    """Launches one compiled kernel; of the driver it asks the active one, as Triton keeps kernels beyond a run.

    The others of its attributes are set where the kernel is made ready.
    """

    ptx = ""
    pieces: tuple[SharedPiece, ...] = ()

    def __init__(self, source: Any, metadata: Any) -> None:
        self.source = source
        self.metadata = metadata

    def __call__(self, x: int, y: int, z: int, stream: Any, function: Any, packed: Any, *rest: Any) -> None:
        """Launch it; ``rest`` are metadata of the launch, two hooks, and the arguments."""
        driver = importlib.import_module("triton.runtime.driver").driver.active
        driver.launch(self, (x, y, z), rest[3:])


def registers_of(cubin: bytes, name: str) -> int:
    """Return how many registers a thread of a kernel has: the highest byte of what its section's header tells."""
    (offset,), (size, count, names) = struct.unpack_from("<Q", cubin, 0x28), struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, offset + number * size) for number in range(count)]
    wanted = f".text.{name}".encode()
    for header in headers:
        at = headers[names][4] + header[0]
        if cubin[at : cubin.index(b"\0", at)] == wanted:
            return int(header[7] >> 24)
    return 0
