"""Launches of a whole process on the device, each shown to a watcher before it happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from numba import cuda
from numba.cuda.dispatcher import CUDADispatcher

from smemviz.engines.gpu.device import device
from smemviz.engines.gpu.instrument import PREFIX
from smemviz.engines.gpu.recorder import Recorder, Watcher, check, quiet
from smemviz.engines.host import Configuration, is_library, launch_place
from smemviz.errors import InputError, LaunchError, RefusedLaunchError
from smemviz.frontends.numba.functions import Function


@contextmanager
def intercepted(watcher: Watcher, find: Callable[[FunctionType], Function]) -> Iterator[None]:
    """Let ``watcher`` see every launch of this process while this lasts; ``find`` gives the definition of a kernel.

    Kernels of Numba itself, those of ``cuda.reduce`` and ``@vectorize`` for example, are launched and not shown.

    Raises:
        MissingError: when there is no GPU.
    """
    device()
    call = CUDADispatcher.call

    def watched(kernel: CUDADispatcher, args: tuple[Any, ...], launch: Any) -> None:
        # Numba calls a kernel again where it has compiled one for this very configuration.
        if launch.dispatcher is kernel and not _is_ours(kernel.py_func):
            place = launch_place("")
            try:
                function = find(kernel.py_func)
            except InputError:  # made from text, as those of @vectorize are
                call(kernel, args, launch)
                return
            config = Configuration(launch.griddim, launch.blockdim, launch.stream, launch.sharedmem)
            try:
                check(place, config)
            except RefusedLaunchError as error:
                if not isinstance(watcher, Recorder):
                    raise
                watcher.refuse(kernel.py_func.__name__, error)
                return
            expected = len(function.node.args.posonlyargs) + len(function.node.args.args)
            if len(args) != expected:
                wrong = LaunchError(*place, f"{function.name} takes {expected} arguments; {len(args)} were given")
                wrong.kernel = function.name
                raise wrong
            cuda.synchronize()
            with quiet():
                if watcher.launch(kernel, function, config, args) is False:
                    return
        call(kernel, args, launch)

    CUDADispatcher.call = watched
    try:
        yield
    finally:
        CUDADispatcher.call = call


def _is_ours(kernel: FunctionType) -> bool:
    """Tell whether a kernel is one that counts, or one that comes with Numba."""
    return kernel.__name__.startswith(PREFIX) or is_library(kernel.__code__.co_filename)
