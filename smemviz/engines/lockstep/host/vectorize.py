"""``@vectorize`` and ``@guvectorize`` with ``target="cuda"``: kernels that Numba makes of a function of elements.

The kernel is written here as Numba writes it, and launched like any other, so a recording shows it with its text.
"""

import importlib
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.host.cuda import Cuda
from smemviz.engines.lockstep.memory.device_array import DeviceArray
from smemviz.frontends.numba.python_functions import as_dtype
from smemviz.frontends.numba.vectorized import kernel_of_arrays, kernel_of_numbers

Signature = tuple[Sequence[Any], Any]


def decorators(cuda: Cuda) -> dict[str, Callable[..., Any]]:
    """Return what ``numba.vectorize`` and ``numba.guvectorize`` are in lockstep."""
    numba = importlib.import_module("numba")
    originals = numba.vectorize, numba.guvectorize

    def vectorize(signatures: Any = (), *more: Any, **options: Any) -> Any:
        if options.get("target") != "cuda":
            return originals[0](signatures, *more, **options)
        if isinstance(signatures, FunctionType):
            return Vectorized(cuda, signatures, [])
        return lambda function: Vectorized(cuda, function, _signatures(signatures))

    def guvectorize(*args: Any, **options: Any) -> Any:
        if options.get("target") != "cuda":
            return originals[1](*args, **options)
        types, layout = args
        return lambda function: GeneralVectorized(cuda, function, _signatures(types), layout)

    return {"vectorize": vectorize, "guvectorize": guvectorize}


def decorators_of_cuda(cuda: Cuda) -> dict[str, Callable[..., Any]]:
    """Return what ``cuda.vectorize`` and ``cuda.guvectorize`` are: the same, for this target alone."""
    return {name: partial(decorator, target="cuda") for name, decorator in decorators(cuda).items()}


def _signatures(written: Any) -> list[Signature]:
    """Return the types of arguments and of the result, for each signature."""
    normalize = importlib.import_module("numba.core.sigutils").normalize_signature
    return (
        [normalize(signature) for signature in (written if isinstance(written, list) else [written])] if written else []
    )


class Vectorized:
    """A function of numbers, called with arrays."""

    def __init__(self, cuda: Cuda, function: FunctionType, signatures: Sequence[Signature]) -> None:
        self.__name__ = function.__name__
        self._cuda = cuda
        self._kernels = {
            tuple(as_dtype(argument) for argument in arguments): (
                as_dtype(result),
                cuda.jit(kernel_of_numbers(function, _core(cuda, function, (arguments, result)), cuda)),
            )
            for arguments, result in signatures
        }

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """Apply the function to every element; arrays of the device give one of the device."""
        dtypes = self._types(args)
        result, kernel = self._kernels[dtypes]
        values = [np.asarray(_array(argument), dtype) for argument, dtype in zip(args, dtypes, strict=True)]
        shape = np.broadcast_shapes(*(array.shape for array in values))
        result_array = self._cuda.device_array(shape, result) if out is None else self._cuda.to_device(out)
        if result_array.size:
            flat = [_flat(self._cuda, *pair, shape, 0) for pair in zip(args, values, strict=True)]
            kernel.forall(result_array.size)(*flat, result_array.reshape(result_array.size))
        return _given_back(args, result_array, out)

    def _types(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Return the one signature that fits: arrays exactly, numbers where nothing fits exactly."""
        own = [np.asarray(_array(argument)).dtype for argument in args]
        if not self._kernels:
            example = f"{own[0]}({', '.join(map(str, own))})"
            what = f"{self.__name__} has no signature, which Numba wants for target='cuda'"
            raise TypeError(f"No matching version. {what}: vectorize(['{example}'], target='cuda')")
        is_array = [hasattr(argument, "shape") and not isinstance(argument, np.generic) for argument in args]
        exact = [known for known in self._kernels if list(known) == own]
        fitting = [
            known
            for known in self._kernels
            if len(known) == len(own)
            and all(not array or a == b for array, a, b in zip(is_array, known, own, strict=True))
        ]
        signatures = exact or fitting
        if len(signatures) != 1:
            what = "No matching version. " if not signatures else "Ambiguous signature; give numbers a NumPy type. "
            raise TypeError(f"{what}{self.__name__} takes {' or '.join(map(str, self._kernels))}, not {tuple(own)}")
        return signatures[0]

    def reduce(self, arg: Any, stream: Any = 0) -> Any:
        """Reduce an array to a number, halves upon halves as Numba does."""
        left = self._cuda.to_device(_array(arg).copy())
        rest = None
        while left.size > 1:
            half = left.size // 2
            if left.size % 2:
                last = left[left.size - 1 :]
                rest = last if rest is None else self(rest, last)
            left = self(left[:half], left[half : 2 * half])
        return (left if rest is None else self(left, rest)).copy_to_host()[0]


class GeneralVectorized:
    """A function of arrays that writes its result, called with stacks of them."""

    def __init__(self, cuda: Cuda, function: FunctionType, signatures: Sequence[Signature], layout: str) -> None:
        self.__name__ = function.__name__
        self._cuda = cuda
        inputs, outputs = (_axes(part) for part in layout.split("->"))
        self._inputs, self._outputs = inputs, outputs
        axes = [len(names) for names in (*inputs, *outputs)]
        self._kernels = []
        for signature in signatures:
            types = signature[0]
            kernel = kernel_of_arrays(function, _core(cuda, function, signature), cuda, axes, types)
            dtypes: list[Any] = [as_dtype(getattr(dtype, "dtype", dtype)) for dtype in types]
            self._kernels.append((dtypes, cuda.jit(kernel)))

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """Apply the function to every array of the stacks."""
        count = len(self._inputs)
        given, out = args[:count], args[count] if len(args) > count else out
        values = [np.asarray(_array(argument)) for argument in given]
        matching = [
            pair
            for pair in self._kernels
            if all(np.can_cast(known, value.dtype) for known, value in zip(pair[0], values, strict=False))
        ]
        if not matching:
            raise TypeError(f"no matching signature of {self.__name__}")
        dtypes, kernel = matching[0]
        values = [value.astype(known, copy=False) for value, known in zip(values, dtypes, strict=False)]
        pairs = list(zip(values, self._inputs, strict=True))
        sizes = {name: size for value, axes in pairs for name, size in zip(axes[::-1], value.shape[::-1], strict=False)}
        loop = np.broadcast_shapes(*(value.shape[: value.ndim - len(axes)] for value, axes in pairs))
        inner = tuple(sizes[name] for name in self._outputs[0])
        result_array = (
            self._cuda.device_array((*loop, *inner), dtypes[-1]) if out is None else self._cuda.to_device(out)
        )
        n = int(np.prod(loop, dtype=np.int64))
        if n:
            stacks = zip(given, values, self._inputs, strict=True)
            flat = [
                _flat(self._cuda, argument, value, loop if value.ndim > len(axes) else (n,), len(axes))
                for argument, value, axes in stacks
            ]
            kernel.forall(n)(*flat, result_array.reshape(n, *inner))
        return _given_back(given, result_array, out)


def _axes(text: str) -> list[tuple[str, ...]]:
    """Read ``(m,n),()`` as the names of axes."""
    parts = text.replace(" ", "")[1:-1].split("),(")
    return [tuple(name for name in part.split(",") if name) for part in parts]


def _core(cuda: Cuda, function: FunctionType, signature: Signature) -> Any:
    """Return a function as the device function that its kernel calls."""
    arguments, result = signature
    return cuda.jit(arguments if result is None else result(*arguments), device=True)(function)


def _array(value: Any) -> Any:
    return value.array if isinstance(value, DeviceArray) else value


def _flat(cuda: Cuda, argument: Any, value: NDArray[Any], shape: Sequence[int], inner: int) -> DeviceArray:
    """Return an argument on the device with its stack along one axis, the ``inner`` last axes as they are.

    Where that axis is the only one of the stack, what is the same along it is there once, as with Numba.
    """
    axes = value.shape[value.ndim - inner :]
    n = int(np.prod(shape, dtype=np.int64))
    same = value.shape == (*shape, *axes)
    if same and isinstance(argument, DeviceArray) and argument.dtype == value.dtype and argument.is_c_contiguous():
        return argument.reshape(n, *axes)
    stack = np.broadcast_to(value, (*shape, *axes))
    if len(shape) > 1:
        stack = np.ascontiguousarray(stack).reshape(n, *axes)
    return cuda.to_device(stack if len(shape) else stack.reshape(n, *axes))


def _given_back(args: Sequence[Any], result: DeviceArray, out: Any) -> Any:
    if isinstance(out, np.ndarray):
        out[...] = result.copy_to_host().reshape(out.shape)
    if out is not None:
        return out
    return result if any(isinstance(argument, DeviceArray) for argument in args) else result.copy_to_host()[()]
