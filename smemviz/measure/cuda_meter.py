"""What measures files of CUDA C++; what imports CUDA is imported when it is called."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from smemviz.engines.options import Progress
from smemviz.engines.output_hashes import OutputHash
from smemviz.frontends.cuda.program import CudaProgram
from smemviz.frontends.program import Program

if TYPE_CHECKING:
    from smemviz.measure.ncu.counters import ProfiledLaunch
    from smemviz.measure.sweep.launches import Measure
    from smemviz.measure.time.meter import Timed


def time(
    program: Program, cold: bool = False, progress: Progress | None = None, kernels: Collection[str] = ()
) -> Timed:
    """Time every launch."""
    from smemviz.measure.time.cuda import time_cuda

    return time_cuda(_cuda(program), cold, progress, kernels)


def outputs(program: Program, kernels: Collection[str]) -> tuple[OutputHash, ...]:
    """Hash what launches leave in their arrays."""
    from smemviz.measure.time.cuda import outputs_of_cuda

    return outputs_of_cuda(_cuda(program), kernels)


def measure_products(program: Program, measure: Measure) -> None:
    """Measure each launch that the file asks for."""
    from smemviz.measure.sweep.cuda import watch_cuda

    watch_cuda(_cuda(program), measure)


def run_clean(program: Program, folder: Path) -> None:
    """Make the launches that the file asks for."""
    from smemviz.measure.ncu.clean_cuda import run_clean

    run_clean(_cuda(program), folder)


def as_written(
    program: Program, kernels: Sequence[str], profiled: tuple[ProfiledLaunch, ...]
) -> tuple[ProfiledLaunch, ...]:
    """Return launches whose instructions stand at the accesses of the text before it was compiled."""
    from smemviz.frontends.cuda.compiling import compile_program
    from smemviz.measure.ncu.clean_cuda import as_written

    compiled = compile_program(_cuda(program), list(dict.fromkeys(kernels)), "compiled")
    return tuple(as_written(profile, compiled, program.file) for profile in profiled)


def _cuda(program: Program) -> CudaProgram:
    assert isinstance(program, CudaProgram)
    return program
