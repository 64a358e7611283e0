"""The products of a kernel file in Python, launched as its ``main()`` does, with matrices of our own."""

from collections.abc import Callable, Sequence
from typing import Any

from numba.cuda.dispatcher import CUDADispatcher

from smemviz.engines.gpu.numba_launch import Arguments, MarkedKernel, count
from smemviz.engines.gpu.python_on_gpu import watch
from smemviz.engines.launch_shape import Configuration
from smemviz.frontends.numba.python_functions import Function
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.measure.sweep.launches import LOG_NOTHING, Measure
from smemviz.recordings.data import Launch


def measure_products(program: PythonProgram, measure: Measure) -> None:
    """Measure each kernel as ``main()`` launches it."""
    watch(program, _Watcher(measure))


class _Watcher:
    """Measures each kernel of Python as ``main()`` launches it, with matrices of its own."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure

    def launch(
        self, dispatcher: CUDADispatcher, function: Function, config: Configuration, arguments: Sequence[Any]
    ) -> None:
        def launch(c: Any, a: Any, b: Any, stream: Any = 0) -> None:
            dispatcher.configure(config.grid, config.block, stream, config.dynamic_shared)(c, a, b)

        def counter(arguments: Sequence[Any]) -> Callable[[int], Launch]:
            kernel = MarkedKernel(function, arguments)
            count(kernel, config, arguments, LOG_NOTHING)  # compiles
            return lambda log_bytes: count(kernel, config, arguments, log_bytes)

        if self._measure.takes(function.name, config, arguments):
            with Arguments(arguments[:1]) as on_device:
                self._measure.launch(function.name, config, arguments, on_device.values[0], launch, counter)
                on_device.restore()
