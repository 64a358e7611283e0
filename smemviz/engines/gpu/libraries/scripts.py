"""CUDA C++ that a script launches on a GPU through CuPy, cuda.core or PyCUDA, each launch recorded before it happens.

PyCUDA is stood in for where it is not installed.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from smemviz.engines.gpu.ptx.access_calls import ROW_BYTES
from smemviz.engines.lockstep.ptx.host.raw_kernels import CUDA_CORE, RawKernels
from smemviz.engines.recorder import Recorder
from smemviz.frontends.numba.python_program import PythonProgram


@contextmanager
def watched(program: PythonProgram, recorder: Recorder) -> Iterator[None]:
    """Record the launches of the libraries that a script names, while this lasts."""
    from smemviz.engines.gpu.libraries.cuda_core import watched_cuda_core
    from smemviz.engines.gpu.libraries.cupy import watched_cupy
    from smemviz.engines.gpu.libraries.pycuda import noting_pycuda, standing_in_for_pycuda
    from smemviz.engines.gpu.ptx.cuda_on_gpu import Recorder as Gpu
    from smemviz.engines.gpu.ptx.driver import memory_at

    launch = Gpu().launch
    with ExitStack() as stack:
        if "cupy" in program.source and importlib.util.find_spec("cupy"):
            kernels = RawKernels(program, recorder, launch, ROW_BYTES, memory_at)
            stack.enter_context(watched_cupy(kernels, recorder))
        if "cuda.core" in program.source or "cuda.core" in sys.modules:
            kernels = RawKernels(program, recorder, launch, ROW_BYTES, memory_at, CUDA_CORE)
            stack.enter_context(watched_cuda_core(kernels, recorder))
        if "pycuda" in program.source:
            is_installed = importlib.util.find_spec("pycuda") is not None
            stack.enter_context(noting_pycuda(recorder) if is_installed else standing_in_for_pycuda(program, recorder))
        yield
