"""A GPU that runs PTX: memory through Numba, modules and launches through the driver."""

import ctypes
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache, lru_cache
from typing import Any

import numpy as np
from cuda.bindings import driver
from numba import cuda
from numpy.typing import NDArray

from smemviz.engines.gpu.device import GpuBuffer, GpuMemory, device
from smemviz.engines.gpu.ptx.instrument import NAME
from smemviz.engines.gpu.ptx.ptx_launch import Kernel
from smemviz.engines.gpu.ptx.ptx_text import for_driver
from smemviz.engines.launch_shape import Configuration
from smemviz.errors import SmemvizError

_LOG_BYTES = 16384


class DriverError(SmemvizError):
    """What the driver said when it was asked for something."""


def assembled(ptx: str, *, with_lines: bool = False) -> bytes:
    """Return the machine code that the driver makes of PTX for the GPU in use, with the lines of its source or without.

    Raises:
        DriverError: with what the driver says, when it does not take it.
    """
    return assembling(ptx, with_lines=with_lines).result()


@lru_cache(maxsize=64)
def assembling(ptx: str, *, with_lines: bool = False) -> Future[bytes]:
    """Begin to assemble PTX, and go on: the kernels of a launch take no longer than the slowest of them."""
    capability = cuda.get_current_device().compute_capability
    text = for_driver(ptx, _driver_version(), (int(capability[0]), int(capability[1]))).encode() + b"\0"
    worker = ThreadPoolExecutor(1, "assembling")
    code = worker.submit(_assemble, text, with_lines, checked(driver.cuCtxGetCurrent()))
    worker.shutdown(wait=False)
    return code


def _assemble(text: bytes, with_lines: bool, context: Any) -> bytes:
    """Assemble PTX in a thread of its own, in the context of the one that asks."""
    checked(driver.cuCtxSetCurrent(context))
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


_STATIC_SHARED = 48 * 1024  # what a kernel may have without asking for more


class Gpu(GpuMemory):
    """The GPU in use, with the arrays of one launch; modules say which line an instruction comes from if asked to.

    Raises:
        MissingError: when there is none.
    """

    def __init__(self, *, with_lines: bool = False) -> None:
        self.compute_capability = device().compute_capability
        self._with_lines = with_lines
        cuda.current_context()
        self._placed: list[GpuBuffer] = []

    def place(self, name: str, data: NDArray[np.uint8]) -> GpuBuffer:
        """Put bytes into memory of their own."""
        array = cuda.device_array(max(1, len(data)), np.uint8)
        self._placed.append(GpuBuffer(array, data.copy()))
        self._placed[-1].array[: len(data)].copy_to_device(data)
        return self._placed[-1]

    def restore(self) -> None:
        """Put every array that was placed back as it was."""
        for held in self._placed:
            if held.original is not None and len(held.original):
                held.array[: len(held.original)].copy_to_device(held.original)

    def prepare(self, kernel: Kernel) -> None:
        """Begin to make a kernel ready to run, and go on."""
        assembling(kernel.ptx, with_lines=self._with_lines)

    def run(self, kernel: Kernel, configuration: Configuration, parameters: Sequence[NDArray[np.uint8]]) -> None:
        """Load a module, run one kernel of it to its end, and forget the module.

        What a kernel prints is printed, but for one that keeps account: the launch is made again without.

        Raises:
            DriverError: when the driver does not take it, or the kernel fails.
        """
        module = checked(driver.cuModuleLoadData(assembled(kernel.ptx, with_lines=self._with_lines)))
        try:
            function = loaded(module, kernel.name, configuration)
            variables = [(address_of(module, name), data) for name, data in kernel.variables.items()]
            known = [(address, data) for address, data in variables if address]
            for address, data in known:
                checked(driver.cuMemcpyHtoD(address, data.ctypes.data, data.nbytes))
            with _printing() if "vprintf" in kernel.ptx else nullcontext([""]) as texts:
                start(function, configuration, parameters, 0, cooperative=kernel.cooperative)
                checked(driver.cuCtxSynchronize())
            if kernel.name != NAME:
                sys.stdout.write(texts[0])
            for address, data in known:
                checked(driver.cuMemcpyDtoH(data.ctypes.data, address, data.nbytes))
        finally:
            driver.cuModuleUnload(module)


@contextmanager
def _printing() -> Iterator[list[str]]:
    """Catch what kernels print, which the driver writes to the output of the process when they are waited for."""
    library, texts = ctypes.CDLL(None), list[str]()
    with tempfile.TemporaryFile() as file:
        sys.stdout.flush()
        library.fflush(None)
        own = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            yield texts
        finally:
            library.fflush(None)
            os.dup2(own, 1)
            os.close(own)
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))


def loaded(module: Any, name: str, configuration: Configuration) -> Any:
    """Return a kernel of a module, ready for as much dynamic shared memory as a launch asks for."""
    function = checked(driver.cuModuleGetFunction(module, name.encode()))
    if configuration.dynamic_shared > _STATIC_SHARED:
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        checked(driver.cuFuncSetAttribute(function, attribute, configuration.dynamic_shared))
    return function


def address_of(module: Any, name: str) -> int:
    """Return where a variable of a module is, 0 for one that is known in its own text only."""
    error, address, _ = driver.cuModuleGetGlobal(module, name.encode())
    return int(checked((error, address))) if error != driver.CUresult.CUDA_ERROR_NOT_FOUND else 0


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
