"""What measures kernel files in Python; what imports CUDA is imported when it is called."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from smemviz.engines.options import Progress
from smemviz.engines.output_hashes import OutputHash
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.frontends.program import Program

if TYPE_CHECKING:
    from smemviz.measure.ncu.counters import ProfiledLaunch
    from smemviz.measure.sweep.launches import Measure
    from smemviz.measure.time.meter import Timed


def time(
    program: Program, cold: bool = False, progress: Progress | None = None, kernels: Collection[str] = ()
) -> Timed:
    """Time every launch."""
    from smemviz.measure.time.timing import time_program

    return time_program(_python(program), cold, progress, kernels)


def outputs(program: Program, kernels: Collection[str]) -> tuple[OutputHash, ...]:
    """Hash what launches leave in their arrays."""
    from smemviz.measure.time import timing

    return timing.outputs(_python(program), kernels)


def measure_products(program: Program, measure: Measure) -> None:
    """Measure each kernel as ``main()`` launches it."""
    from smemviz.measure.sweep.python import watch_python

    watch_python(_python(program), measure)


def run_clean(program: Program, folder: Path) -> None:
    """Run the file with line information in every kernel; the profiler finds its text where it is."""
    from smemviz.measure.ncu.clean_python import run_clean

    run_clean(_python(program))


def as_written(
    program: Program, kernels: Sequence[str], profiled: tuple[ProfiledLaunch, ...]
) -> tuple[ProfiledLaunch, ...]:
    """Return launches as they were profiled: Numba names the lines of the text as it was written."""
    return profiled


def _python(program: Program) -> PythonProgram:
    assert isinstance(program, PythonProgram)
    return program
