"""Machine code for the GPU in use, which its driver makes of PTX."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from cuda.bindings import driver
from numba import cuda

from smemviz.engines.gpu.ptx.text import for_driver
from smemviz.errors import SmemvizError

_LOG_BYTES = 16384


class DriverError(SmemvizError):
    """What the driver said when it was asked for something."""


@lru_cache(maxsize=64)
def assembled(ptx: str, *, with_lines: bool = False) -> bytes:
    """Return the machine code that the driver makes of PTX for the GPU in use, with the lines of its source or without.

    Raises:
        DriverError: with what the driver says, when it does not take it.
    """
    capability = cuda.get_current_device().compute_capability
    text = for_driver(ptx, _driver_version(), (int(capability[0]), int(capability[1]))).encode() + b"\0"
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
