"""CuPy's reduction kernels: each block folds its part in shared memory, and is launched as CuPy launches it."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from smemviz.engines.lockstep.host.stand_ins.elementwise import (
    TYPES,
    Argument,
    WrittenKernel,
    argument_of,
    types_of,
)
from smemviz.engines.lockstep.host.stand_ins.raw import passed
from smemviz.engines.lockstep.ptx.host.raw_kernels import RawKernels

_BLOCK = 512
_WARP = 32
# A block makes _block_stride results at once, each by the threads that are as far apart.
_KERNEL = """\
typedef {reduced} _type_reduce;
extern "C" __global__ void {name}({parameters},
        const long long _in_size, const long long _out_size, const int _block_stride) {{
    __shared__ char _sdata_raw[{block} * sizeof(_type_reduce)];
    _type_reduce *_sdata = reinterpret_cast<_type_reduce *>(_sdata_raw);
    const int _tid = threadIdx.x;
    const int _first = _tid / _block_stride, _each = {block} / _block_stride;
    for (long long _base = (long long)blockIdx.x * _block_stride; _base < _out_size;
         _base += (long long)gridDim.x * _block_stride) {{
        const long long _i = _base + _tid % _block_stride;
        _type_reduce _s = _type_reduce({identity});
        {index} _J = _first;
        for (long long _j = _i + _first * _out_size; _j < _in_size; _j += _each * _out_size, _J += _each) {{
{inputs}            _type_reduce _a = static_cast<_type_reduce>({mapped});
            _s = {folded};
        }}
        _sdata[_tid] = _s;
        __syncthreads();
        for (int _half = {block} / 2; _half >= _block_stride; _half /= 2) {{
            if (_tid < _half) {{
                _type_reduce _a = _sdata[_tid], _b = _sdata[_tid + _half];
                _sdata[_tid] = {joined};
            }}
            __syncthreads();
        }}
        if (_tid < _block_stride) _s = _sdata[_tid];
        if (_tid < _block_stride && _i < _out_size) {{
{outputs}            {finished};
        }}
    }}
}}
"""


class ReductionKernel(WrittenKernel):
    """A reduction of arrays along axes of theirs."""

    def __init__(
        self,
        kernels: RawKernels,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: Any,
        name: str = "reduce_kernel",
        reduce_type: str | None = None,
        reduce_dims: bool = True,
        preamble: str = "",
        options: Sequence[str] = (),
    ) -> None:
        super().__init__(kernels, in_params, out_params, name, preamble, options)
        self.identity = "" if identity is None else str(identity)
        self.map_expr, self.reduce_expr, self.post_map_expr = map_expr, reduce_expr, post_map_expr
        first = self.params[self.nin].type
        self.reduce_type = reduce_type or TYPES.get(first, first)

    def launch(
        self, *args: Any, out: Any = None, axis: Any = None, keepdims: bool = False, stream: Any = None
    ) -> tuple[bool, list[Any]]:
        """Launch it; tell whether that was made, and return the arrays that it filled."""
        if len(args) not in (self.nin, len(self.params)):
            raise TypeError(f"Wrong number of arguments for {self.name}")
        if out is not None and len(args) != self.nin:
            raise ValueError("cannot specify 'out' as both a positional and keyword argument")
        given = [*args, *([] if out is None else [out])]
        values = [passed(value) if isinstance(value, np.ndarray) else value for value in given]
        types = types_of(self.params, values)
        inputs = values[: self.nin]
        whole = self.whole(inputs)
        if not whole:
            raise ValueError("Loop size is undecided.")
        shape = np.broadcast_shapes(*(value.shape for value in whole))
        reduced, kept = _axes(axis, len(shape), inputs)
        sizes = tuple(1 if k in reduced else size for k, size in enumerate(shape) if keepdims or k not in reduced)
        outputs = self.outputs(values[self.nin :], types, sizes)
        if not outputs[0].size:
            return True, outputs
        if not self.identity and 0 in shape:
            raise ValueError(f"zero-size array to reduction operation {self.name} which has no identity")
        order = (*reduced, *kept)
        if order != tuple(range(len(shape))) and any(parameter.raw for parameter in self.params[: self.nin]):
            raise NotImplementedError("Illegal conditions")
        arguments = [argument_of(*of, shape) for of in zip(self.params, types, inputs, strict=False)]
        arguments = [replace(a, strides=tuple(a.strides[k] for k in order)) if a.strides else a for a in arguments]
        outs = zip(self.params[self.nin :], types[self.nin :], outputs, strict=True)
        arguments += [argument_of(*of, sizes) for of in outs]
        kernel = self._text(arguments, [shape[k] for k in order], sizes)
        count, results = math.prod(shape), math.prod(sizes)
        together = _together(arguments[: self.nin], [shape[k] for k in kept], count // results)
        scalars = np.int64(count), np.int64(results), np.int32(together)
        return self.launched(kernel, arguments, -(-results // together), _BLOCK, *scalars), outputs

    def _text(self, arguments: Sequence[Argument], shape: Sequence[int], sizes: Sequence[int]) -> str:
        """Return the kernel as CuPy writes it, with what it computes from the shapes of arrays written out."""

        def expression(text: str, **names: str) -> str:
            for argument in arguments:
                text = argument.with_shapes(text)
            text = text.replace("_in_ind.size()", "_in_size").replace("_out_ind.size()", "_out_size")
            return re.sub(r"\b[ab]\b", lambda match: names.get(match[0], match[0]), text)

        indent = " " * 12
        return _KERNEL.format(
            name=self.name,
            block=_BLOCK,
            reduced=self.reduce_type,
            identity=self.identity,
            index="int" if math.prod(shape) // math.prod(sizes) < 1 << 31 else "long long",
            parameters=", ".join(argument.declared() for argument in arguments),
            inputs="".join(argument.item(shape, "_j", indent) for argument in arguments[: self.nin]),
            outputs="".join(argument.item(sizes, "_i", indent) for argument in arguments[self.nin :]),
            mapped=expression(self.map_expr),
            folded=expression(self.reduce_expr, a="_s", b="_a"),
            joined=expression(self.reduce_expr, a="_a", b="_b"),
            finished=expression(self.post_map_expr, a="_s"),
        )


def _axes(axis: Any, ndim: int, inputs: Sequence[Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes to reduce and the others; those of one array by their strides, the largest first."""
    reduced = tuple(range(ndim)) if axis is None else tuple(sorted(normalize_axis_tuple(axis, ndim)))
    kept = tuple(k for k in range(ndim) if k not in reduced)
    if len(inputs) == 1 and len(kept) <= 1 and not inputs[0].flags.c_contiguous:
        reduced = tuple(sorted(reduced, key=lambda k: -abs(inputs[0].strides[k])))
    return reduced, kept


def _together(inputs: Sequence[Argument], kept: Sequence[int], each: int) -> int:
    """Return how many results a block makes at once, a power of two: of neighbours in memory as many as a warp has."""
    neighbours = 1
    for argument in inputs:
        run = 1
        for size, stride in zip(reversed(kept), reversed(argument.strides), strict=False):
            if size > 1 and stride != run:
                break
            run *= size
        neighbours = max(neighbours, run)
    most = max(min(neighbours, _WARP), _BLOCK // max(1, each))
    return 1 << (most.bit_length() - 1)
