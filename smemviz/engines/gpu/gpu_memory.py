"""The memory of the GPU in use, through Numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda
from numba.cuda.cudadrv import driver
from numpy.typing import NDArray


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
        driver.device_memset(array, fill, array.alloc_size)
        return GpuBuffer(array)

    def reserve_with(self, data: NDArray[np.uint8]) -> GpuBuffer:
        """Put bytes into memory that no launch changes."""
        return GpuBuffer(cuda.to_device(np.ascontiguousarray(data)))
