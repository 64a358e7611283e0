"""The GPU in use, as recordings name it, and its memory, through Numba."""

import os
import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import device_memset, driver
from numba.cuda.device_init import is_available
from numpy.typing import NDArray

from smemviz.engines.backend import DRIVER_LIBRARY
from smemviz.errors import MissingError
from smemviz.recordings.measured import Device

_NONE = "no GPU here that Numba can use; smemviz run --engine lockstep counts without one"


def available() -> bool:
    """Tell whether there is a GPU that Numba can use, also while lockstep stands in for ``cuda``."""
    return bool(is_available())


def forked_too_late() -> bool:
    """Tell whether this process was forked from one that had used the driver, which it cannot use itself."""
    return driver.pid is not None and driver.pid != os.getpid()


@cache
def is_there() -> bool:
    """Tell whether there is a GPU, without a word to the driver in this process, which may fork others yet."""
    if driver.pid is not None:
        return available()
    asked = f"import ctypes; raise SystemExit(ctypes.CDLL({DRIVER_LIBRARY!r}).cuInit(0) != 0)"
    return subprocess.run([sys.executable, "-I", "-S", "-c", asked], capture_output=True).returncode == 0


def require() -> None:
    """Refuse to go on without a GPU.

    Raises:
        MissingError: when there is none.
    """
    if not is_there():
        raise MissingError(_NONE)


@cache
def device() -> Device:
    """Describe the GPU in use.

    Raises:
        MissingError: when there is none.
    """
    if not available():
        raise MissingError(_NONE)
    current = cuda.get_current_device()
    name = current.name.decode() if isinstance(current.name, bytes) else str(current.name)
    major, minor = current.compute_capability
    runtime = ".".join(str(part) for part in cuda.runtime.get_version())
    return Device(name, (int(major), int(minor)), _driver_version(), f"CUDA {runtime}")


def _driver_version() -> str:
    try:
        command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return answer.split("\n")[0].strip()


class GpuBuffer:
    """Bytes in the memory of the GPU."""

    def __init__(self, array: Any, original: NDArray[np.uint8] | None = None) -> None:
        self.array = array
        self.original = original
        self.start = int(array.__cuda_array_interface__["data"][0])
        self.nbytes = len(array) if original is None else len(original)

    @property
    def data(self) -> NDArray[np.uint8]:
        """What they are now."""
        data: NDArray[np.uint8] = self.array.copy_to_host()
        return data


class GpuMemory:
    """Where the passes of a launch have what they read and write."""

    def reserve(self, nbytes: int, fill: int) -> GpuBuffer:
        """Make room for some bytes, each of which is ``fill``."""
        array = cuda.device_array(max(1, nbytes), np.uint8)
        device_memset(array, fill, array.alloc_size)
        return GpuBuffer(array)

    def reserve_with(self, data: NDArray[np.uint8]) -> GpuBuffer:
        """Put bytes into memory that no launch changes."""
        return GpuBuffer(cuda.to_device(np.ascontiguousarray(data)))
