"""The GPU in use, as recordings name it."""

from __future__ import annotations

import subprocess
from functools import cache

from numba import cuda
from numba.cuda.device_init import is_available

from smemviz.errors import MissingError
from smemviz.recordings.data import Device


def available() -> bool:
    """Tell whether there is a GPU that Numba can use, also while lockstep stands in for ``cuda``."""
    return bool(is_available())


@cache
def device() -> Device:
    """Describe the GPU in use.

    Raises:
        MissingError: when there is none.
    """
    if not available():
        raise MissingError("no GPU here that Numba can use; smemviz run --engine lockstep counts without one")
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
