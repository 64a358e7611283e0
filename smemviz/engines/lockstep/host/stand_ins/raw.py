"""CuPy's raw kernels, launched in lockstep."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from smemviz.engines.launch_shape import launch_place
from smemviz.engines.lockstep.host.stand_ins.arrays import Memory, MemoryPointer, address, ndarray
from smemviz.engines.lockstep.host.stand_ins.modules import Known, nothing
from smemviz.engines.lockstep.ptx.host.raw_kernels import RawKernels
from smemviz.errors import LaunchError, UnsupportedError
from smemviz.messages import english

_STATIC_SHARED = 48 * 1024  # what a kernel may have without asking for more


class RawKernel(Known):
    """One kernel of a text of CUDA C++."""

    _of = "cupy."

    def __init__(
        self, kernels: RawKernels, code: str, name: str, options: Sequence[str] = (), expressions: Sequence[str] = ()
    ) -> None:
        self.code = code
        self.name = name
        self.options = tuple(options)
        self.max_dynamic_shared_size_bytes = _STATIC_SHARED
        self.preferred_shared_memory_carveout = -1
        self._kernels = kernels
        self._expressions = expressions

    def __call__(
        self, grid: Any, block: Any, args: Sequence[Any], *, shared_mem: int = 0, stream: Any = None, **_: Any
    ) -> None:
        if not isinstance(args, tuple | list):
            raise LaunchError(*launch_place(""), english("CuPy takes the arguments of a kernel as a tuple"))
        if shared_mem > max(_STATIC_SHARED, self.max_dynamic_shared_size_bytes):
            what = english(
                "a launch with {size} bytes of dynamic shared memory fails; write {name}.max_dynamic_shared_size_bytes "
                "= {size} before it",
                size=shared_mem,
                name=self.name,
            )
            raise LaunchError(*launch_place(""), what)
        given = [passed(argument) for argument in args]
        check_apart(given)
        program = self._kernels.program(self.code, self.name, self.options)
        # CuPy takes a size of 0 for 1, and what is behind the third for nothing.
        shape = (tuple(max(1, size) for size in grid), tuple(max(1, size) for size in block), shared_mem)
        variables = self._kernels.variables_of(program)
        self._kernels.launch(program, self.name, shape, given, self._expressions, variables)

    compile = nothing  # that is done at the launch


class RawModule(Known):
    """A text of CUDA C++ with kernels."""

    _of = "cupy."

    def __init__(
        self,
        kernels: RawKernels,
        code: str | None = None,
        *,
        options: Sequence[str] = (),
        name_expressions: Sequence[str] | None = None,
        **_: Any,
    ) -> None:
        if code is None:
            what = english("a RawModule of a compiled file runs on a GPU only; give it code")
            raise UnsupportedError(*launch_place(""), what)
        self.code = code
        self.options = tuple(options)
        self.name_expressions = tuple(name_expressions or ())
        self._kernels = kernels

    def get_function(self, name: str) -> RawKernel:
        self._kernels.program(self.code, name, self.options)  # which has it
        return RawKernel(self._kernels, self.code, name, self.options, self.name_expressions)

    def get_global(self, name: str) -> MemoryPointer:
        program = self._kernels.text(self.code, self.options)
        held = self._kernels.variable(program, name.lstrip("&"), self._kernels.variables_of(program))
        return MemoryPointer(Memory(held.nbytes, address(held)), 0)

    compile = nothing


def passed(value: Any) -> Any:
    """Return an argument as ``RawKernels`` takes it."""
    if isinstance(value, MemoryPointer):
        return value.ptr
    if isinstance(value, ndarray) or not isinstance(value, np.ndarray):
        return value
    if value.size == 1:  # by value, whatever it is
        return value.tobytes()
    what = english(
        "an array of the host, of shape {shape}, is not an argument; move it with cupy.asarray", shape=value.shape
    )
    raise LaunchError(*launch_place(""), what)


def check_apart(values: Sequence[Any]) -> None:
    """Refuse arrays that have a part of their memory in common: lockstep gives each array memory of its own."""
    arrays = [array for array in values if isinstance(array, np.ndarray)]
    for number, array in enumerate(arrays):
        for other in arrays[:number]:
            same = array.ctypes.data == other.ctypes.data and array.nbytes == other.nbytes
            if not same and np.may_share_memory(array, other) and np.shares_memory(array, other):
                what = english("two arguments are parts of one array; lockstep gives each array memory of its own")
                raise UnsupportedError(*launch_place(""), what)
