"""Standing in for CuPy and cuda.core while a script runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from smemviz.engines.lockstep.host.stand_ins.arrays import memory_at
from smemviz.engines.lockstep.host.stand_ins.cuda_core import modules_of_cuda_core
from smemviz.engines.lockstep.host.stand_ins.cupy import modules_of_cupy
from smemviz.engines.lockstep.host.stand_ins.modules import imported, refused, tree
from smemviz.engines.lockstep.log import ROW_BYTES
from smemviz.engines.lockstep.ptx.host.launching import launch
from smemviz.engines.lockstep.ptx.host.raw_kernels import RawKernels
from smemviz.engines.recorder import Recorder
from smemviz.frontends.numba.program import Program
from smemviz.messages import english


@contextmanager
def seeing(program: Program, recorder: Recorder) -> Iterator[None]:
    """Run the kernels that a script launches through CuPy or cuda.core in lockstep, and let a recorder see them."""
    cupy = RawKernels(program, recorder, launch, ROW_BYTES, memory_at)
    core = RawKernels(program, recorder, launch, ROW_BYTES, memory_at, "cuda.core", "numpy")
    modules = tree([*modules_of_cupy(program, cupy), *modules_of_cuda_core(program, core)])
    with imported(modules, ("cupy", "cupyx", "cuda.core")), refused(("pycuda",), _instead):
        yield


def _instead(name: str) -> str:
    return english("launches of PyCUDA are not recorded; launch the kernel with cupy.RawKernel or cuda.core")
