"""CuPy's elementwise kernels: the kernel that CuPy writes around an operation, launched in lockstep as CuPy does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from smemviz.engines.lockstep.host.stand_ins.arrays import ndarray
from smemviz.engines.lockstep.host.stand_ins.cupy_elementwise import (
    Argument,
    argument_of,
    headers_and_types,
    parameters,
    types_of,
)
from smemviz.engines.lockstep.host.stand_ins.modules import Known
from smemviz.engines.lockstep.host.stand_ins.raw import check_apart, passed
from smemviz.engines.lockstep.ptx.host.raw_kernels import RawKernels

_KERNEL = """\
extern "C" __global__ void {name}({parameters}, const long long _size) {{
{before}    long long _step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < _size; i += _step) {{
{items}        {operation};
    }}
{after}}}
"""


class ElementwiseKernel(Known):
    """An operation on each element of arrays."""

    _of = "cupy."

    def __init__(
        self,
        kernels: RawKernels,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        reduce_dims: bool = True,
        preamble: str = "",
        no_return: bool = False,
        return_tuple: bool = False,
        *,
        options: Sequence[str] = (),
        loop_prep: str = "",
        after_loop: str = "",
        **_: Any,
    ) -> None:
        self.name = name
        self.operation = operation
        self.nin = len(parameters(in_params, False))
        self.params = (*parameters(in_params, False), *parameters(out_params, True))
        self._kernels = kernels
        self._preamble = preamble
        self._options = tuple(options)
        around = (("before", loop_prep), ("after", after_loop))
        self._around = {place: f"    {text};\n" if text else "" for place, text in around}
        self._no_return = no_return
        self._return_tuple = return_tuple

    def __call__(self, *args: Any, size: int | None = None, block_size: int = 128, stream: Any = None) -> Any:
        """Launch it; return the arrays that it filled."""
        return self.given_back(self.launch(*args, size=size, block_size=block_size)[1])

    def given_back(self, outputs: Sequence[Any]) -> Any:
        """Return the arrays that a launch filled as a call does."""
        if self._no_return:
            return None
        return outputs[0] if len(outputs) == 1 and not self._return_tuple else tuple(outputs)

    def launch(
        self, *args: Any, size: int | None = None, block_size: int = 128, stream: Any = None
    ) -> tuple[bool, list[Any]]:
        """Launch it; tell whether that was made, and return the arrays that it filled."""
        if len(args) not in (self.nin, len(self.params)):
            raise TypeError(f"Wrong number of arguments for {self.name!r}")
        inputs = [passed(value) if isinstance(value, np.ndarray) else value for value in args]
        types = types_of(self.params, inputs)
        whole = [v for p, v in zip(self.params, inputs, strict=False) if isinstance(v, np.ndarray) and not p.raw]
        if size is not None and whole:
            raise ValueError('Specified "size" can be used only if all of the ndarray are given as "raw".')
        shape = (size,) if size is not None else np.broadcast_shapes(*(value.shape for value in whole))
        outputs = inputs[self.nin :]
        if not outputs:
            if size is None and not whole:
                raise ValueError('Loop size is undecided; give "size".')
            outputs = [np.zeros(shape, dtype).view(ndarray) for dtype in types[self.nin :]]
        for parameter, output in zip(self.params[self.nin :], outputs, strict=True):
            if not parameter.raw and output.shape != shape:
                raise ValueError(f"Out shape is mismatched: {output.shape} {shape}")
        values = [*inputs[: self.nin], *outputs]
        arguments = [argument_of(*of, shape) for of in zip(self.params, types, values, strict=True)]
        count = int(np.prod(shape, dtype=np.int64))
        if not count:
            return True, outputs
        memory = [argument.memory() for argument in arguments]
        check_apart(memory)
        program = self._kernels.program(self._text(arguments, shape), self.name, self._options)
        grid = (-(-count // block_size),)
        made = self._kernels.launch(program, self.name, (grid, (block_size,), 0), [*memory, np.int64(count)])
        return made, outputs

    def _text(self, arguments: Sequence[Argument], shape: Sequence[int]) -> str:
        """Return the kernel as CuPy writes it, with what it computes from the shapes of arrays written out."""
        operation = self.operation.replace("_ind.size()", "_size")
        for argument in arguments:
            operation = argument.with_shapes(operation)
        kernel = _KERNEL.format(
            name=self.name,
            parameters=", ".join(argument.declared() for argument in arguments),
            items="".join(argument.item(shape, "i", " " * 8) for argument in arguments),
            operation=operation,
            **self._around,
        )
        return "\n".join([*headers_and_types(arguments), self._preamble, kernel]).lstrip("\n")
