"""CuPy's raw kernels on a GPU, each launch recorded before it happens."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from smemviz.engines.gpu.libraries.watched import Watched
from smemviz.engines.host import launch_place, not_recorded
from smemviz.engines.lockstep.host.stand_in import replaced
from smemviz.engines.lockstep.ptx.host.raw_kernels import RawKernels
from smemviz.engines.recorder import Recorder
from smemviz.errors import UnsupportedError
from smemviz.messages import english


def made_after(recorder: Recorder, record: Callable[[], bool], make: Callable[[], None]) -> None:
    """Record a launch, then make it, unless recording found that it would do harm."""
    try:
        harmless = record()
    except UnsupportedError as error:
        recorder.findings.append(not_recorded(error, has_run=True))
        harmless = True
    if harmless:
        make()


@contextmanager
def watched_cupy(kernels: RawKernels, recorder: Recorder) -> Iterator[None]:
    """Show each launch of a raw kernel that is made while this lasts."""
    cupy = importlib.import_module("cupy")
    real_kernel, real_module = cupy.RawKernel, cupy.RawModule

    class Kernel(Watched):
        """A kernel of CuPy's; of a template it has the compiler's name, and ``_name`` is the one asked for."""

        def __call__(self, grid: Any, block: Any, args: Sequence[Any], **kwargs: Any) -> None:
            def record() -> bool:
                code, options, expressions = self._source
                program = kernels.program(code, self._name, options)
                shape = (tuple(grid), tuple(block), kwargs.get("shared_mem", 0))
                return kernels.launch(program, self._name, shape, _copied(args, cupy.ndarray), expressions)

            made_after(recorder, record, lambda: self._real(grid, block, args, **kwargs))

    class Module(Watched):
        """A module of CuPy's."""

        def get_function(self, name: str) -> Kernel:
            return Kernel(self._real.get_function(name), _source=self._source, _name=name)

    def kernel(code: str, name: str, options: Sequence[str] = (), *args: Any, **kwargs: Any) -> Kernel:
        return Kernel(real_kernel(code, name, options, *args, **kwargs), _source=(code, options, ()), _name=name)

    def module(code: str | None = None, **kwargs: Any) -> Any:
        real = real_module(code=code, **kwargs)
        if code is None:  # a compiled file, which has no text
            return real
        return Module(real, _source=(code, kwargs.get("options", ()), kwargs.get("name_expressions") or ()))

    with replaced(cupy, {"RawKernel": kernel, "RawModule": module}):
        yield


def _copied(values: Sequence[Any], array: type) -> list[Any]:
    """Return arguments with arrays of the device as the host's, their elements in the same order; one array is one."""
    copies: dict[tuple[int, int], Any] = {}
    arguments: list[Any] = []
    for value in values:
        argument: Any = value
        if isinstance(value, array):
            if not (argument.flags.c_contiguous or argument.flags.f_contiguous):
                what = english("it is given an array whose elements do not follow each other; copy it first")
                raise UnsupportedError(*launch_place(""), what)
            place = (argument.data.ptr, argument.nbytes)
            if place not in copies:
                copies[place] = argument.get(order="A")
            argument = copies[place]
        elif isinstance(value, np.ndarray):
            argument = value.tobytes()  # by value: CuPy takes those of one element
        elif hasattr(value, "ptr") and not isinstance(value, np.generic):
            argument = int(argument.ptr)
        arguments.append(argument)
    return arguments
