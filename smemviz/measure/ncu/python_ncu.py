"""What Nsight Compute runs of a kernel file in Python: its ``main()``, with line information in every kernel."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numba import cuda
from numba.cuda.dispatcher import CUDADispatcher

from smemviz.engines.launch_shape import Configuration
from smemviz.frontends.numba.python_functions import Function
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.measure.ncu.counters import ProfiledLaunch


def run_clean(program: PythonProgram, folder: Path) -> None:
    """Run a kernel file; the profiler finds its text where it is."""
    from smemviz.engines.gpu.python_on_gpu import watch

    plain = cuda.jit

    def jit(*args: Any, **kwargs: Any) -> Any:
        """Let every kernel of this process say which line an instruction comes from, imported files included."""
        return plain(*args, **kwargs | {"lineinfo": not kwargs.get("debug")})

    cuda.jit = jit
    watch(program, _Onlooker())


def as_written(
    program: PythonProgram, kernels: Sequence[str], profiled: tuple[ProfiledLaunch, ...]
) -> tuple[ProfiledLaunch, ...]:
    """Return launches as they were profiled: Numba names the lines of the text as it was written."""
    return profiled


class _Onlooker:
    """Lets every launch pass."""

    def launch(
        self, dispatcher: CUDADispatcher, function: Function, config: Configuration, arguments: Sequence[Any]
    ) -> None:
        """See one launch and do nothing."""
