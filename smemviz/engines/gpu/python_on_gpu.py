"""A whole kernel file on the device."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from numba.cuda.dispatcher import CUDADispatcher

from smemviz.engines.gpu.device import available as available
from smemviz.engines.gpu.device import device
from smemviz.engines.gpu.device import is_there as is_there
from smemviz.engines.gpu.gpu_recorder import Recorder as Recorder
from smemviz.engines.gpu.gpu_recorder import Watcher, quiet
from smemviz.engines.gpu.gpu_recorder import record as record
from smemviz.engines.gpu.intercept import intercepted
from smemviz.engines.host import configuration, launch_place, run_main
from smemviz.engines.options import RunOptions
from smemviz.engines.replacing import replaced
from smemviz.frontends.numba.python_functions import Function, function_in
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.recordings.data import Launch
from smemviz.recordings.findings import Finding


def run(program: PythonProgram, options: RunOptions) -> tuple[tuple[Launch, ...], tuple[Finding, ...]]:
    """Run a kernel file's ``main()`` on the device; return its launches, and the mistakes met.

    Raises:
        InputError: when no launch is of those that are asked for.
    """
    seen = Recorder(options)
    with seen.recording():
        watch(program, seen)
    return seen.result()


def watch(program: PythonProgram, watcher: Watcher) -> None:
    """Run a kernel file's ``main()`` on the device; ``watcher`` sees every launch in it.

    Raises:
        MissingError: when there is no GPU.
    """

    def find(kernel: FunctionType) -> Function:
        return function_in(kernel, program.file, program.source, program.tree)

    device()
    with quiet(), intercepted(watcher, find), replaced(CUDADispatcher, {"__getitem__": _configured}):
        run_main(program)


def _configured(kernel: CUDADispatcher, shape: object) -> Any:
    """Return a kernel configured for a launch, as Numba does; what is wrong with a shape is one line."""
    config = configuration(launch_place(""), shape)
    return kernel.configure(config.grid, config.block, config.stream, config.dynamic_shared)
