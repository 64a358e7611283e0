"""CuPy's raw kernels on a GPU, each launch recorded before it happens."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from smemviz.engines.host import launch_place, not_recorded
from smemviz.engines.lockstep.host.stand_in import replaced
from smemviz.engines.lockstep.ptx.host.raw_kernels import RawKernels
from smemviz.engines.recorder import Recorder
from smemviz.errors import UnsupportedError
from smemviz.messages import said


@contextmanager
def watched_cupy(kernels: RawKernels, recorder: Recorder) -> Iterator[None]:
    """Show each launch of a raw kernel that is made while this lasts."""
    cupy = importlib.import_module("cupy")
    real_kernel, real_module = cupy.RawKernel, cupy.RawModule

    class Watched:
        """A kernel of CuPy's; what is not the launch is left to it."""

        def __init__(self, real: Any, code: str, options: Sequence[str], expressions: Sequence[str] = ()) -> None:
            self.__dict__.update(_real=real, _code=code, _options=options, _expressions=expressions)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

        def __setattr__(self, name: str, value: Any) -> None:
            setattr(self._real, name, value)

        def __call__(self, grid: Any, block: Any, args: Sequence[Any], **named: Any) -> None:
            try:
                program = kernels.program(self._code, self._real.name, self._options)
                shape = (tuple(grid), tuple(block), named.get("shared_mem", 0))
                copies = [_copied(one, cupy.ndarray) for one in args]
                made = kernels.launch(program, self._real.name, shape, copies, self._expressions)
            except UnsupportedError as error:
                recorder.findings.append(not_recorded(error, ran=True))
                made = True
            if made:
                self._real(grid, block, args, **named)

    class WatchedModule:
        """A module of CuPy's; what is not a kernel is left to it."""

        def __init__(self, real: Any, code: str, options: Sequence[str], expressions: Sequence[str]) -> None:
            self._given = (code, options, expressions)
            self._real = real

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

        def get_function(self, name: str) -> Watched:
            return Watched(self._real.get_function(name), *self._given)

    def kernel(code: str, name: str, options: Sequence[str] = (), *given: Any, **named: Any) -> Watched:
        return Watched(real_kernel(code, name, options, *given, **named), code, options)

    def module(code: str | None = None, **named: Any) -> Any:
        real = real_module(code=code, **named)
        if code is None:  # a compiled file, which has no text
            return real
        return WatchedModule(real, code, named.get("options", ()), named.get("name_expressions") or ())

    with replaced(cupy, {"RawKernel": kernel, "RawModule": module}):
        yield


def _copied(value: Any, array: type) -> Any:
    """Return an array of the device as one of the host's, with its elements in the same order."""
    if not isinstance(value, array):
        return value
    given: Any = value
    if not (given.flags.c_contiguous or given.flags.f_contiguous):
        what = said("it is given an array whose elements do not follow each other; copy it first")
        raise UnsupportedError(*launch_place(""), what)
    return given.get(order="A")
