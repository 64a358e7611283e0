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
        recorder.findings.append(not_recorded(error, ran=True))
        harmless = True
    if harmless:
        make()


@contextmanager
def watched_cupy(kernels: RawKernels, recorder: Recorder) -> Iterator[None]:
    """Show each launch of a raw kernel that is made while this lasts."""
    cupy = importlib.import_module("cupy")
    real_kernel, real_module = cupy.RawKernel, cupy.RawModule

    class Kernel(Watched):
        """A kernel of CuPy's; of a template it has the compiler's name, and ``_asked`` is the one asked for."""

        def __call__(self, grid: Any, block: Any, args: Sequence[Any], **named: Any) -> None:
            def record() -> bool:
                code, options, expressions = self._given
                program = kernels.program(code, self._asked, options)
                shape = (tuple(grid), tuple(block), named.get("shared_mem", 0))
                return kernels.launch(program, self._asked, shape, _copied(args, cupy.ndarray), expressions)

            made_after(recorder, record, lambda: self._real(grid, block, args, **named))

    class Module(Watched):
        """A module of CuPy's."""

        def get_function(self, name: str) -> Kernel:
            return Kernel(self._real.get_function(name), _given=self._given, _asked=name)

    def kernel(code: str, name: str, options: Sequence[str] = (), *given: Any, **named: Any) -> Kernel:
        return Kernel(real_kernel(code, name, options, *given, **named), _given=(code, options, ()), _asked=name)

    def module(code: str | None = None, **named: Any) -> Any:
        real = real_module(code=code, **named)
        if code is None:  # a compiled file, which has no text
            return real
        return Module(real, _given=(code, named.get("options", ()), named.get("name_expressions") or ()))

    with replaced(cupy, {"RawKernel": kernel, "RawModule": module}):
        yield


def _copied(values: Sequence[Any], array: type) -> list[Any]:
    """Return arguments with arrays of the device as the host's, their elements in the same order; one array is one."""
    copies: dict[tuple[int, int], Any] = {}
    passed: list[Any] = []
    for value in values:
        given: Any = value
        if isinstance(value, array):
            if not (given.flags.c_contiguous or given.flags.f_contiguous):
                what = english("it is given an array whose elements do not follow each other; copy it first")
                raise UnsupportedError(*launch_place(""), what)
            place = (given.data.ptr, given.nbytes)
            if place not in copies:
                copies[place] = given.get(order="A")
            given = copies[place]
        elif isinstance(value, np.ndarray):
            given = value.tobytes()  # by value: CuPy takes those of one element
        elif hasattr(value, "ptr") and not isinstance(value, np.generic):
            given = int(given.ptr)
        passed.append(given)
    return passed
