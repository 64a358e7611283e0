"""Machine code for the GPU in use, which its driver makes of PTX."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, lru_cache
from typing import Any

from cuda.bindings import driver
from numba import cuda

from smemviz.engines.gpu.ptx.ptx_text import for_driver
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
