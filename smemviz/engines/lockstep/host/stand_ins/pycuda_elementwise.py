"""PyCUDA's elementwise kernels: the kernel that PyCUDA writes around an operation, launched as PyCUDA does."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from smemviz.engines.lockstep.host.stand_ins.cupy_elementwise import TYPES
from smemviz.engines.lockstep.host.stand_ins.modules import Known
from smemviz.engines.lockstep.host.stand_ins.pycuda_driver import DEVICE_ATTRIBUTE, Device, DeviceData
from smemviz.engines.lockstep.host.stand_ins.pycuda_memory import GPUArray

_KERNEL = """\
{preamble}
extern "C" __global__ void {name}({parameters}, unsigned long n) {{
    size_t tid = threadIdx.x;
    size_t total_threads = gridDim.x * blockDim.x;
    size_t cta_start = blockDim.x * blockIdx.x;
    size_t i;
    {loop_prep};
    for (i = cta_start + tid; i < n; i += total_threads) {{
        {operation};
    }}
    {after_loop};
}}
"""
_NAMES = {written: np.dtype(name) for name, written in TYPES.items()}
_NAMES |= {"char": np.dtype(np.int8), "unsigned": np.dtype(np.uint32), "long": np.dtype(np.int64)}
_NAMES |= {"unsigned long": np.dtype(np.uint64), "size_t": np.dtype(np.uint64)}


class ElementwiseKernel(Known):
    """An operation on each element of arrays; ``module`` makes a module of a text."""

    _of = "pycuda.elementwise."

    def __init__(
        self,
        module: Callable[..., Any],
        arguments: str,
        operation: str,
        name: str = "kernel",
        keep: bool = False,
        options: Sequence[str] | None = None,
        preamble: str = "",
        loop_prep: str = "",
        after_loop: str = "",
    ) -> None:
        self._parameters = [" ".join(argument.split()) for argument in arguments.split(",")]
        text = _KERNEL.format(
            name=name,
            parameters=", ".join(self._parameters),
            operation=operation,
            preamble=preamble,
            loop_prep=loop_prep,
            after_loop=after_loop,
        )
        self._launch = module(text, options=options).get_function(name)

    def __call__(self, *args: Any, stream: Any = None) -> None:
        """Launch it on as many elements as its first array has."""
        given = [_number(parameter, value) for parameter, value in zip(self._parameters, args, strict=True)]
        size = next(value.size for value in given if isinstance(value, GPUArray))
        grid, block = splay(size)
        self._launch(*given, np.uint64(size), grid=grid, block=block)


def splay(n: int, dev: Any = None) -> tuple[tuple[int, int], tuple[int, int, int]]:
    """Return the blocks and the threads that PyCUDA gives so many elements: at most 128 threads a block."""
    least, most = DeviceData.warp_size, 128
    blocks = 4 * DeviceData.thread_blocks_per_mp * Device().get_attribute(DEVICE_ATTRIBUTE.MULTIPROCESSOR_COUNT)
    if n < blocks * least:
        return (max(1, -(-n // least)), 1), (least, 1, 1)
    groups = -(-n // least)
    threads = -(-groups // blocks) * least if n < blocks * most else most
    return (blocks, 1), (threads, 1, 1)


def _number(parameter: str, value: Any) -> Any:
    """Return an argument, a number as its parameter takes it."""
    if isinstance(value, GPUArray) or "*" in parameter:
        return value
    kind = re.sub(r"\bconst\b", "", parameter).rpartition(" ")[0].strip()
    return _NAMES[kind].type(value) if kind in _NAMES else value
