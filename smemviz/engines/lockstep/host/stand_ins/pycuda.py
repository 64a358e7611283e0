"""What a script gets as ``pycuda`` where that is not installed: its kernels, launched and recorded, and all around."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from smemviz.engines.launch_shape import launch_place
from smemviz.engines.lockstep.host.stand_ins.arrays import address
from smemviz.engines.lockstep.host.stand_ins.elementwise import TYPES
from smemviz.engines.lockstep.host.stand_ins.modules import Known, Module, nothing
from smemviz.engines.lockstep.host.stand_ins.pycuda_driver import (
    DEVICE_ATTRIBUTE,
    DRIVER,
    TOOLS,
    CompileError,
    Context,
    Device,
    DeviceData,
)
from smemviz.engines.lockstep.host.stand_ins.pycuda_memory import (
    ARRAYS,
    CUMATH,
    MEMORY,
    DeviceAllocation,
    GPUArray,
    In,
    Managed,
    MemoryPool,
    random_arrays,
)
from smemviz.engines.lockstep.host.stand_ins.raw import check_apart
from smemviz.engines.lockstep.ptx.host.entry import Variables
from smemviz.engines.lockstep.ptx.host.raw_kernels import RawKernels
from smemviz.errors import KernelFileError, LaunchError
from smemviz.frontends.cuda.cuda_program import CudaProgram
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.messages import english

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


class Function(Known):
    """One kernel."""

    _of = "pycuda.driver."

    def __init__(self, kernels: RawKernels, program: CudaProgram, name: str, variables: Variables) -> None:
        self._kernels, self._program, self._name, self._variables = kernels, program, name, variables
        self._types: list[str] = []

    def __call__(
        self, *args: Any, block: Sequence[int], grid: Sequence[int] = (1, 1), shared: int = 0, **_: Any
    ) -> float:
        """Launch it; return NaN for the time that it took."""
        given = [_passed(number, value) for number, value in enumerate(args)]
        check_apart(given)
        shape = (tuple(map(int, grid)), tuple(map(int, block)), int(shared))
        # PyCUDA puts extern "C" around a text, unless it is told not to; so C++ may name the kernel as it likes.
        self._kernels.launch(self._program, self._name, shape, given, (self._name,), self._variables)
        for value, copy in zip(args, given, strict=True):
            if isinstance(value, In):
                value.bring_back(copy)
        return math.nan

    def prepare(self, arg_types: Any, **_: Any) -> Function:
        self._types = [kind if isinstance(kind, str) else np.dtype(kind).char for kind in arg_types]
        return self

    def prepared_call(self, grid: Any, block: Any, *args: Any, shared_size: int = 0, **_: Any) -> None:
        """Launch it, numbers being of the types that ``prepare`` was told."""
        pairs = zip(self._types, args, strict=True)
        given = [value if kind == "P" or hasattr(value, "ptr") else np.dtype(kind).type(value) for kind, value in pairs]
        self(*given, grid=grid, block=block, shared=shared_size)

    def prepared_timed_call(self, grid: Any, block: Any, *args: Any, **kwargs: Any) -> Any:
        """Launch it at once; return what waits for nothing and returns NaN."""
        self.prepared_call(grid, block, *args, **kwargs)
        return lambda: math.nan

    def prepared_async_call(self, grid: Any, block: Any, stream: Any, *args: Any, shared_size: int = 0) -> None:
        self.prepared_call(grid, block, *args, shared_size=shared_size)

    set_cache_config = set_shared_config = nothing


class SourceModule(Known):
    """A text of CUDA C++ with kernels and variables."""

    _of = "pycuda.compiler."

    def __init__(
        self, kernels: RawKernels, source: str, *_: Any, options: Sequence[str] | None = None, **__: Any
    ) -> None:
        self._kernels = kernels
        self._variables = Variables()
        try:
            self._program = kernels.text(source, tuple(options or ()))
            kernels.compiled(self._program)
        except KernelFileError as error:
            place, what = (error.file, error.line), error.what
            if error.file != kernels.script.file:  # a text that was made, with lines of its own
                place, what = launch_place(""), str(error)
            raise CompileError(*place, getattr(error, "column", 1), what) from None

    def get_function(self, name: str) -> Function:
        self._kernels.check(self._program, name)
        return Function(self._kernels, self._program, name, self._variables)

    def get_global(self, name: str) -> tuple[DeviceAllocation, int]:
        """Return a variable's memory by its name, and how many bytes that has."""
        held = self._kernels.variable(self._program, name, self._variables)
        return DeviceAllocation(held.nbytes, address(held)), held.nbytes


def _passed(number: int, value: Any) -> Any:
    """Return an argument as ``RawKernels`` takes it."""
    if isinstance(value, In):
        return value.on_device()
    if isinstance(value, GPUArray | Managed | np.generic):
        return value
    if isinstance(value, DeviceAllocation):
        return value.ptr
    if isinstance(value, np.ndarray):
        return value.tobytes()  # by value, whatever it is
    what = english(
        "PyCUDA does not take {value} as argument {number}; write numpy.int32(...) or another of NumPy's types",
        value=repr(value),
        number=number + 1,
    )
    raise LaunchError(*launch_place(""), what)


def modules_of_pycuda(script: PythonProgram, kernels: RawKernels) -> list[Module]:
    """Return the modules of PyCUDA whose kernels ``kernels`` launches, for one script."""
    source_module = functools.partial(SourceModule, kernels)
    automatic = {"context": Context(), "device": Device()}
    compiler = {"SourceModule": source_module, "DynamicSourceModule": source_module}
    elementwise = {"ElementwiseKernel": functools.partial(ElementwiseKernel, source_module)}
    tools = TOOLS | {"context_dependent_memoize": functools.cache, "DeviceMemoryPool": MemoryPool}
    return [
        Module("pycuda", script, {"VERSION": (0, 0), "VERSION_TEXT": "0+smemviz"}),
        Module("pycuda.autoinit", script, automatic),
        Module("pycuda.autoprimaryctx", script, automatic),
        Module("pycuda.compiler", script, compiler),
        Module("pycuda.cumath", script, CUMATH),
        Module("pycuda.curandom", script, random_arrays()),
        Module("pycuda.driver", script, DRIVER | MEMORY),
        Module("pycuda.elementwise", script, elementwise),
        Module("pycuda.gpuarray", script, ARRAYS | {"splay": splay}),
        Module("pycuda.tools", script, tools),
    ]
