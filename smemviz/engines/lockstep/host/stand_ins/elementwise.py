"""CuPy's elementwise kernels: the kernel that CuPy writes around an operation, launched in lockstep as CuPy does."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from smemviz.engines.launch_shape import launch_place
from smemviz.engines.lockstep.host.stand_ins.arrays import address, bytes_at, ndarray
from smemviz.engines.lockstep.host.stand_ins.modules import Known
from smemviz.engines.lockstep.host.stand_ins.raw import check_apart, passed
from smemviz.engines.lockstep.ptx.host.raw_kernels import RawKernels
from smemviz.errors import UnsupportedError
from smemviz.messages import english

TYPES = {
    "bool": "bool",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float16": "__half",
    "float32": "float",
    "float64": "double",
    "complex64": "complex<float>",
    "complex128": "complex<double>",
}
_HEADERS = {"float16": "cuda_fp16.h", "complex64": "cupy/complex.cuh", "complex128": "cupy/complex.cuh"}


@dataclass(frozen=True)
class Parameter:
    """A parameter: ``type`` is NumPy's name of one, or a letter for any; what is ``raw`` the operation indexes."""

    name: str
    type: str
    raw: bool
    written: bool


@dataclass(frozen=True)
class Argument:
    """What a parameter is in one launch: a number, or an array with its strides in elements."""

    parameter: Parameter
    dtype: np.dtype[Any]
    value: Any
    strides: tuple[int, ...] = ()

    @property
    def type(self) -> str:
        return f"{'' if self.parameter.written else 'const '}{TYPES[self.dtype.name]}"

    @property
    def is_array(self) -> bool:
        return isinstance(self.value, np.ndarray)

    def declared(self) -> str:
        if not self.is_array:
            return f"{self.type} {self.parameter.name}"
        return f"{self.type} *{'' if self.parameter.raw else '_raw_'}{self.parameter.name}"

    def item(self, shape: Sequence[int], turn: str, indent: str) -> str:
        """Return the line that gives the element of one turn of the loop its name."""
        if self.parameter.raw or not self.is_array:
            return ""
        reference = "&" if self.parameter.written else ""
        place = place_of(shape, self.strides, turn)
        return f"{indent}{self.type} {reference}{self.parameter.name} = _raw_{self.parameter.name}[{place}];\n"

    def with_shapes(self, operation: str) -> str:
        """Return the operation with the size and shape of an array that it indexes written out."""
        if not self.parameter.raw:
            return operation
        name, shape = re.escape(self.parameter.name), np.shape(self.value)
        operation = re.sub(rf"\b{name}\.size\(\)", str(int(np.prod(shape, dtype=np.int64))), operation)
        return re.sub(rf"\b{name}\.shape\(\)\[(\d)\]", lambda match: str(shape[int(match[1])]), operation)

    def memory(self) -> Any:
        """Return the number as it is passed, or the memory from the array's first element on."""
        if not self.is_array:
            return self.dtype.type(self.value)
        if self.value.flags.c_contiguous or self.value.flags.f_contiguous:
            return self.value
        reach = [(size - 1) * stride for size, stride in zip(self.value.shape, self.value.strides, strict=True)]
        if min(reach) < 0:
            what = english("{name} has a negative stride; copy it first", name=self.parameter.name)
            raise UnsupportedError(*launch_place(""), what)
        return bytes_at(address(self.value), sum(reach) + self.dtype.itemsize).view(self.dtype)


def parameters(text: str, written: bool) -> tuple[Parameter, ...]:
    """Read ``raw T x, float32 y``."""
    read = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        *words, kind, name = part.split()
        read.append(Parameter(name, kind, "raw" in words, written))
    return tuple(read)


def argument_of(parameter: Parameter, dtype: np.dtype[Any], value: Any, shape: Sequence[int]) -> Argument:
    """Return what a parameter is in a launch of such a shape."""
    if dtype.name not in TYPES:
        raise TypeError(f"Unsupported type {dtype}")
    if not isinstance(value, np.ndarray) or parameter.raw:
        return Argument(parameter, dtype, value)
    strides = np.broadcast_to(value, tuple(shape)).strides
    return Argument(parameter, dtype, value, tuple(stride // dtype.itemsize for stride in strides))


def place_of(shape: Sequence[int], strides: Sequence[int], turn: str) -> str:
    """Return where the element of a turn is, for axes the last of which goes fastest."""
    parts: list[str] = []
    inner, whole = 1, True
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        whole = whole and (stride == inner or size == 1)
        axis = f"{turn} / {inner} % {size}" if inner > 1 else f"{turn} % {size}"
        if stride and size > 1:
            parts.insert(0, f"{axis} * {stride}" if stride > 1 else axis)
        inner *= size
    return turn if whole and parts else " + ".join(parts) or "0"


def types_of(parameters: Sequence[Parameter], given: Sequence[Any]) -> list[np.dtype[Any]]:
    """Return the types of parameters; of those that are any, as the arguments decide."""
    letters: dict[str, np.dtype[Any]] = {}
    pairs = list(zip(parameters, given, strict=False))
    for parameter, value in sorted(pairs, key=lambda pair: not isinstance(pair[1], np.ndarray)):
        own = np.asarray(value).dtype
        wanted = letters.setdefault(parameter.type, own) if len(parameter.type) == 1 else np.dtype(parameter.type)
        if isinstance(value, np.ndarray) and own != wanted:
            raise TypeError(f"Type is mismatched. {parameter.name} {own} {wanted}")
    return [letters[p.type] if len(p.type) == 1 else np.dtype(p.type) for p in parameters]


def headers_and_types(arguments: Sequence[Argument]) -> Iterator[str]:
    """Yield the lines that come before a kernel: headers, and what the letters are."""
    names = {argument.dtype.name for argument in arguments}
    yield from (f"#include <{header}>" for header in dict.fromkeys(_HEADERS[n] for n in sorted(names & set(_HEADERS))))
    letters = {one.parameter.type: one.dtype.name for one in arguments if len(one.parameter.type) == 1}
    yield from (f"typedef {TYPES[name]} {letter};" for letter, name in letters.items())


_KERNEL = """\
extern "C" __global__ void {name}({parameters}, const long long _size) {{
{before}    long long _step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < _size; i += _step) {{
{items}        {operation};
    }}
{after}}}
"""


class WrittenKernel(Known):
    """A kernel that CuPy writes around what a script gives it."""

    _of = "cupy."
    launch: Callable[..., tuple[bool, list[Any]]]

    def __init__(
        self, kernels: RawKernels, in_params: str, out_params: str, name: str, preamble: str, options: Sequence[str]
    ) -> None:
        self.name = name
        self.nin = len(parameters(in_params, False))
        self.params = (*parameters(in_params, False), *parameters(out_params, True))
        self._kernels = kernels
        self._preamble = preamble
        self._options = tuple(options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Launch it; return the arrays that it filled."""
        return self.given_back(self.launch(*args, **kwargs)[1])

    def given_back(self, outputs: Sequence[Any]) -> Any:
        """Return the arrays that a launch filled as a call does: the first."""
        return outputs[0]

    def whole(self, values: Sequence[Any]) -> list[Any]:
        """Return the arrays among some arguments that it goes through element by element."""
        return [v for p, v in zip(self.params, values, strict=False) if isinstance(v, np.ndarray) and not p.raw]

    def outputs(self, given: Sequence[Any], types: Sequence[np.dtype[Any]], shape: tuple[int, ...]) -> list[Any]:
        """Return the arrays to fill: those that are given, or new ones of a shape."""
        outputs = [*given] or [np.zeros(shape, dtype).view(ndarray) for dtype in types[self.nin :]]
        for parameter, output in zip(self.params[self.nin :], outputs, strict=True):
            if not parameter.raw and output.shape != shape:
                raise ValueError(f"Out shape is mismatched: {output.shape} {shape}")
        return outputs

    def launched(self, kernel: str, arguments: Sequence[Argument], blocks: int, threads: int, *sizes: Any) -> bool:
        """Launch the text of a kernel; tell whether that was made."""
        text = "\n".join([*headers_and_types(arguments), self._preamble, kernel]).lstrip("\n")
        memory = [argument.memory() for argument in arguments]
        check_apart(memory)
        program = self._kernels.program(text, self.name, self._options)
        return self._kernels.launch(program, self.name, ((blocks,), (threads,), 0), [*memory, *sizes])


class ElementwiseKernel(WrittenKernel):
    """An operation on each element of arrays."""

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
        super().__init__(kernels, in_params, out_params, name, preamble, options)
        self.operation = operation
        around = (("before", loop_prep), ("after", after_loop))
        self._around = {place: f"    {text};\n" if text else "" for place, text in around}
        self._no_return = no_return
        self._return_tuple = return_tuple

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
        whole = self.whole(inputs)
        if size is not None and whole:
            raise ValueError('Specified "size" can be used only if all of the ndarray are given as "raw".')
        shape = (size,) if size is not None else np.broadcast_shapes(*(value.shape for value in whole))
        if len(inputs) == self.nin and size is None and not whole:
            raise ValueError('Loop size is undecided; give "size".')
        outputs = self.outputs(inputs[self.nin :], types, shape)
        values = [*inputs[: self.nin], *outputs]
        arguments = [argument_of(*of, shape) for of in zip(self.params, types, values, strict=True)]
        count = int(np.prod(shape, dtype=np.int64))
        if not count:
            return True, outputs
        kernel, blocks = self._text(arguments, shape), -(-count // block_size)
        return self.launched(kernel, arguments, blocks, block_size, np.int64(count)), outputs

    def _text(self, arguments: Sequence[Argument], shape: Sequence[int]) -> str:
        """Return the kernel as CuPy writes it, with what it computes from the shapes of arrays written out."""
        operation = self.operation.replace("_ind.size()", "_size")
        for argument in arguments:
            operation = argument.with_shapes(operation)
        return _KERNEL.format(
            name=self.name,
            parameters=", ".join(argument.declared() for argument in arguments),
            items="".join(argument.item(shape, "i", " " * 8) for argument in arguments),
            operation=operation,
            **self._around,
        )
