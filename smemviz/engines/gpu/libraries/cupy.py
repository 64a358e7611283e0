"""CuPy's kernels on a GPU, each launch recorded before it happens."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.gpu.libraries.copies import passed_copies
from smemviz.engines.gpu.libraries.cupy_operations import noting_jit, written_kernels
from smemviz.engines.gpu.libraries.wrapped import Wrapped, made_after
from smemviz.engines.lockstep.ptx.host.raw_kernels import RawKernels
from smemviz.engines.lockstep.ptx.host.variables import Variables
from smemviz.engines.recorder import Recorder
from smemviz.engines.replacing import replaced


class RealVariables(Variables):
    """The variables of a module of CuPy's, as they are when they are asked for."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self._module = module

    def bytes_of(self, name: str, initial: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return a copy of the bytes of a variable; ``initial`` where the module tells nobody of it."""
        cupy = importlib.import_module("cupy")
        try:
            place = self._module.get_global(name)
        except cupy.cuda.driver.CUDADriverError:
            return initial
        return cupy.ndarray(initial.shape, np.uint8, place).get(order="A")  # type: ignore[no-any-return]

    def copied(self) -> Variables:
        """Return itself, of which every look is a copy."""
        return self


@contextmanager
def watched_cupy(kernels: RawKernels, recorder: Recorder) -> Iterator[None]:
    """Show each launch of a kernel that a script writes, while this lasts."""
    cupy = importlib.import_module("cupy")
    real_kernel, real_module = cupy.RawKernel, cupy.RawModule

    class Kernel(Wrapped):
        """A kernel of CuPy's; of a template it has the compiler's name, and ``_name`` is the one asked for."""

        def __call__(self, grid: Any, block: Any, args: Sequence[Any], **kwargs: Any) -> None:
            def record() -> bool:
                code, options, expressions = self._source
                program = kernels.program(code, self._name, options)
                shape = (tuple(grid), tuple(block), kwargs.get("shared_mem", 0))
                given = passed_copies(args, cupy.ndarray)
                return kernels.launch(program, self._name, shape, given, expressions, self._variables)

            made_after(recorder, self._name, record, lambda: self._real(grid, block, args, **kwargs))

    class Module(Wrapped):
        """A module of CuPy's."""

        def get_function(self, name: str) -> Kernel:
            variables = RealVariables(self._real)
            return Kernel(self._real.get_function(name), _source=self._source, _name=name, _variables=variables)

    def kernel(code: str, name: str, options: Sequence[str] = (), *args: Any, **kwargs: Any) -> Kernel:
        real = real_kernel(code, name, options, *args, **kwargs)
        return Kernel(real, _source=(code, options, ()), _name=name, _variables=None)

    def module(code: str | None = None, **kwargs: Any) -> Any:
        real = real_module(code=code, **kwargs)
        if code is None:  # a compiled file, which has no text
            return real
        return Module(real, _source=(code, kwargs.get("options", ()), kwargs.get("name_expressions") or ()))

    raw = {"RawKernel": kernel, "RawModule": module}
    with replaced(cupy, raw | written_kernels(cupy, kernels, recorder)), noting_jit(kernels.script, recorder):
        yield
