"""Standing in for CuPy, cuda.core and PyCUDA while a script runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from smemviz.engines.lockstep.host.stand_ins.arrays import memory_at
from smemviz.engines.lockstep.host.stand_ins.cuda_core import modules_of_cuda_core
from smemviz.engines.lockstep.host.stand_ins.cupy import modules_of_cupy
from smemviz.engines.lockstep.host.stand_ins.modules import imported, tree
from smemviz.engines.lockstep.host.stand_ins.pycuda import modules_of_pycuda
from smemviz.engines.lockstep.log import ROW_BYTES
from smemviz.engines.lockstep.ptx.host.cuda_launch import launch
from smemviz.engines.lockstep.ptx.host.raw_kernels import CUDA_CORE, PYCUDA, RawKernels
from smemviz.engines.recorder import Recorder
from smemviz.frontends.numba.python_program import PythonProgram


@contextmanager
def seeing(program: PythonProgram, recorder: Recorder) -> Iterator[None]:
    """Run what a script launches through CuPy, cuda.core or PyCUDA in lockstep, and let a recorder see it."""
    cupy = RawKernels(program, recorder, launch, ROW_BYTES, memory_at)
    core = RawKernels(program, recorder, launch, ROW_BYTES, memory_at, CUDA_CORE)
    pycuda = RawKernels(program, recorder, launch, ROW_BYTES, memory_at, PYCUDA)
    modules = [*modules_of_cupy(program, cupy), *modules_of_cuda_core(program, core)]
    modules += modules_of_pycuda(program, pycuda)
    with imported(tree(modules), ("cupy", "cupyx", "cuda.core", "pycuda")):
        yield
