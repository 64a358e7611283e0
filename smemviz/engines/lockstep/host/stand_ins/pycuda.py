"""What a script gets as ``pycuda`` where that is not installed: its kernels, launched and recorded, and all around."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from smemviz.engines.host import launch_place
from smemviz.engines.lockstep.host.stand_ins.arrays import address
from smemviz.engines.lockstep.host.stand_ins.modules import Known, Module, nothing
from smemviz.engines.lockstep.host.stand_ins.pycuda_driver import DRIVER, TOOLS, CompileError, Context, Device
from smemviz.engines.lockstep.host.stand_ins.pycuda_elementwise import ElementwiseKernel, splay
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
from smemviz.engines.lockstep.ptx.host.raw_kernels import RawKernels
from smemviz.engines.lockstep.ptx.host.variables import Variables
from smemviz.errors import KernelFileError, LaunchError
from smemviz.frontends.cuda.cuda_program import CudaProgram
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.messages import english


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
        """Note what the numbers among the arguments are."""
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
        """Launch it at once."""
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
        """Return a kernel by its name."""
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
        "PyCUDA takes no {value} as argument {number}; write numpy.int32(...) or another of NumPy's types",
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
