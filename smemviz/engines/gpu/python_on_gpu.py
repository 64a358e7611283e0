"""A whole kernel file on the device, or what else a process launches there, each launch shown to a watcher before."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from numba import cuda
from numba.cuda.dispatcher import CUDADispatcher

from smemviz.engines.gpu.device import available as available
from smemviz.engines.gpu.device import device, forked_too_late, require
from smemviz.engines.gpu.device import is_there as is_there
from smemviz.engines.gpu.gpu_recorder import Recorder as Recorder
from smemviz.engines.gpu.gpu_recorder import Watcher, check, check_number, quiet
from smemviz.engines.gpu.gpu_recorder import record as record
from smemviz.engines.gpu.numba_launch import without_hints
from smemviz.engines.host import calls_a_script, run_main
from smemviz.engines.launch_shape import Configuration, configuration, is_library, launch_place
from smemviz.engines.options import RunOptions
from smemviz.engines.process import replaced
from smemviz.errors import InputError, RefusedLaunchError
from smemviz.frontends.numba.python_functions import Function, function_in, python_function
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.frontends.numba.vectorized import ARRAYS, NUMBERS, kernel_of_arrays, kernel_of_numbers
from smemviz.recordings.data import Launch
from smemviz.recordings.findings import Finding


def with_text(kernel: FunctionType, arguments: Sequence[Any]) -> FunctionType:
    """Return a kernel of ``@vectorize`` or ``@guvectorize``, which Numba keeps no text of, as one that has it.

    It makes the same accesses. Any other kernel is returned as it is.
    """
    core: Any = kernel.__globals__.get("__core__")
    function = python_function(core)
    if function is None or kernel.__code__.co_filename != "<string>":
        return kernel
    if kernel.__name__.startswith(NUMBERS):
        return kernel_of_numbers(function, core, cuda)
    if kernel.__name__.startswith(ARRAYS):
        kinds = next(iter(core.overloads))  # of the signature; the kernel may ask for others
        return kernel_of_arrays(function, core, cuda, [argument.ndim - 1 for argument in arguments], kinds)
    return kernel


@contextmanager
def intercepted(watcher: Watcher, find: Callable[[FunctionType], Function]) -> Iterator[None]:
    """Let ``watcher`` see every launch of this process while this lasts; ``find`` gives the definition of a kernel.

    Kernels of Numba itself are launched and not shown, unless they are made of a function of the script, as those of
    ``cuda.reduce`` and ``@vectorize`` are.

    The driver is left alone until the first launch: a process that is forked before can use the GPU.

    Raises:
        MissingError: when there is no GPU.
    """
    require()
    call = CUDADispatcher.call
    shown = threading.local()  # a watcher launches kernels itself, to count them or to time them

    def watched(kernel: CUDADispatcher, args: tuple[Any, ...], launch: Any) -> None:
        # Numba calls a kernel again where it has compiled one for this very configuration.
        again = getattr(shown, "now", False) or launch.dispatcher is not kernel
        if again or _is_of_numba(kernel.py_func) or happens(kernel, args, launch):
            call(kernel, args, launch)

    def happens(kernel: CUDADispatcher, args: tuple[Any, ...], launch: Any) -> bool:
        place = launch_place("")
        if forked_too_late():
            if isinstance(watcher, Recorder):
                watcher.cannot_launch(kernel.py_func, place)
            return True  # and raises what it does by itself
        try:
            function = find(with_text(kernel.py_func, args))
        except InputError:  # made from a text that nobody kept
            if isinstance(watcher, Recorder):
                watcher.has_no_text(kernel.py_func, place)
            return True
        config = Configuration(launch.griddim, launch.blockdim, _stream(launch.stream), launch.sharedmem)
        try:
            check(place, config)
        except RefusedLaunchError as error:
            if not isinstance(watcher, Recorder):
                raise
            watcher.refuse(kernel.py_func.__name__, error)
            return False
        check_number(place, function, args)
        cuda.synchronize()
        shown.now = True
        try:
            with quiet():
                return watcher.launch(kernel, function, config, without_hints(args)) is not False
        finally:
            shown.now = False

    CUDADispatcher.call = watched
    try:
        yield
    finally:
        CUDADispatcher.call = call


def _stream(stream: Any) -> Any:
    return stream if int(getattr(stream, "handle", 0)) else 0


def _is_of_numba(kernel: FunctionType) -> bool:
    """Tell whether a kernel comes with Numba and is made of nothing else."""
    return is_library(kernel.__code__.co_filename) and not calls_a_script(kernel)


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
