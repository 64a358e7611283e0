"""A GPU that runs PTX: memory through Numba, modules and launches through the driver."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from cuda.bindings import driver
from numba import cuda
from numba.cuda.cudadrv import driver as numba_driver
from numpy.typing import NDArray

from smemviz.engines.gpu.ptx.passes import Kernel
from smemviz.engines.gpu.ptx.text import for_driver
from smemviz.engines.gpu.recorder import device
from smemviz.engines.host import Configuration
from smemviz.errors import SmemvizError

_LOG_BYTES = 16384
_STATIC_SHARED = 48 * 1024  # what a kernel may have without asking for more


class DriverError(SmemvizError):
    """What the driver said when it was asked for something."""


class Held:
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


class Gpu:
    """The GPU in use, with the arrays of one launch; modules say which line an instruction comes from if asked to.

    Raises:
        MissingError: when there is none.
    """

    def __init__(self, *, with_lines: bool = False) -> None:
        device()
        self._with_lines = with_lines
        cuda.current_context()
        self._placed: list[Held] = []

    def place(self, name: str, data: NDArray[np.uint8]) -> Held:
        """Put bytes into memory of their own."""
        array = cuda.device_array(max(1, len(data)), np.uint8)
        self._placed.append(Held(array, data.copy()))
        self._placed[-1].array[: len(data)].copy_to_device(data)
        return self._placed[-1]

    def reserve(self, nbytes: int, fill: int) -> Held:
        """Make room for some bytes, each of which is ``fill``."""
        array = cuda.device_array(max(1, nbytes), np.uint8)
        numba_driver.device_memset(array, fill, array.alloc_size)
        return Held(array)

    def reserve_with(self, data: NDArray[np.uint8]) -> Held:
        """Put bytes into memory that no launch changes."""
        return Held(cuda.to_device(np.ascontiguousarray(data)))

    def restore(self) -> None:
        """Put every array that was placed back as it was."""
        for held in self._placed:
            if held.original is not None and len(held.original):
                held.array[: len(held.original)].copy_to_device(held.original)

    def run(self, kernel: Kernel, configuration: Configuration, parameters: Sequence[NDArray[np.uint8]]) -> None:
        """Load a module, run one kernel of it to its end, and forget the module.

        Raises:
            DriverError: when the driver does not take it, or the kernel fails.
        """
        module = checked(driver.cuModuleLoadData(assembled(kernel.ptx, with_lines=self._with_lines)))
        try:
            function = loaded(module, kernel.name, configuration)
            start(function, configuration, parameters, 0, cooperative=kernel.cooperative)
            checked(driver.cuCtxSynchronize())
        finally:
            driver.cuModuleUnload(module)


def loaded(module: Any, name: str, configuration: Configuration) -> Any:
    """Return a kernel of a module, ready for as much dynamic shared memory as a launch asks for."""
    function = checked(driver.cuModuleGetFunction(module, name.encode()))
    if configuration.dynamic_shared > _STATIC_SHARED:
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        checked(driver.cuFuncSetAttribute(function, attribute, configuration.dynamic_shared))
    return function


def start(
    function: Any,
    configuration: Configuration,
    parameters: Sequence[NDArray[np.uint8]],
    stream: Any,
    *,
    cooperative: bool,
) -> None:
    """Launch a kernel; ``parameters`` are the bytes of each."""
    held = [np.ascontiguousarray(array) for array in parameters]
    pointers = (ctypes.c_void_p * max(1, len(held)))(*(array.ctypes.data for array in held))
    shape = (*configuration.grid, *configuration.block, configuration.dynamic_shared, stream)
    if cooperative:
        checked(driver.cuLaunchCooperativeKernel(function, *shape, ctypes.addressof(pointers)))
    else:
        checked(driver.cuLaunchKernel(function, *shape, ctypes.addressof(pointers), 0))


def memory_at(address: int) -> NDArray[np.uint8] | None:
    """Return a copy of the bytes from an address to the end of the memory that it is in, None where it is in none."""
    error, start, size = driver.cuMemGetAddressRange(address)
    if error != driver.CUresult.CUDA_SUCCESS:
        return None
    data = np.empty(int(start) + int(size) - address, np.uint8)
    checked(driver.cuMemcpyDtoH(data.ctypes.data, address, data.nbytes))
    return data


@lru_cache(maxsize=64)
def assembled(ptx: str, *, with_lines: bool = False) -> bytes:
    """Return the machine code that the driver makes of PTX for the GPU in use, with the lines of its source or without.

    Raises:
        DriverError: with what the driver says, when it does not take it.
    """
    text = for_driver(ptx, _driver_version(), device().compute_capability).encode() + b"\0"
    log = bytearray(_LOG_BYTES)
    options = [
        driver.CUjit_option.CU_JIT_ERROR_LOG_BUFFER,
        driver.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        driver.CUjit_option.CU_JIT_GENERATE_LINE_INFO,
    ]
    state = checked(driver.cuLinkCreate(len(options), options, [log, _LOG_BYTES, int(with_lines)]))
    try:
        kind = driver.CUjitInputType.CU_JIT_INPUT_PTX
        error, *_ = driver.cuLinkAddData(state, kind, text, len(text), b"kernel.ptx", 0, [], [])
        if error == driver.CUresult.CUDA_SUCCESS:
            error, *image = driver.cuLinkComplete(state)
        if error != driver.CUresult.CUDA_SUCCESS:
            message = bytes(log).split(b"\0")[0].decode(errors="replace").strip()
            raise DriverError(f"the driver does not take the PTX ({error.name}): {message}")
        return ctypes.string_at(int(image[0]), int(image[1]))
    finally:
        driver.cuLinkDestroy(state)


@cache
def _driver_version() -> int:
    return int(checked(driver.cuDriverGetVersion()))


def checked(result: Sequence[Any]) -> Any:
    """Return what a call of the driver gave.

    Raises:
        DriverError: when it failed.
    """
    error, *values = result
    if error != driver.CUresult.CUDA_SUCCESS:
        raise DriverError(f"the driver says {error.name}")
    return values[0] if values else None
