"""Kernels that Numba makes of a script's functions: which are shown, and with what text."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from numba import cuda

from smemviz.frontends.numba.python_functions import python_function
from smemviz.frontends.numba.vectorized import ARRAYS, NUMBERS, kernel_of_arrays, kernel_of_numbers


def with_text(kernel: FunctionType, arguments: Sequence[Any]) -> FunctionType:
    """Return a kernel of ``@vectorize`` or ``@guvectorize``, which Numba keeps no text of, as one that has it.

    It makes the same accesses. Any other kernel is returned as it is.
    """
    core: Any = kernel.__globals__.get("__core__")
    function = python_function(core)
    if function is None or kernel.__code__.co_filename != "<string>":
        return kernel
    if kernel.__name__.startswith(NUMBERS):
        return kernel_of_numbers(function, core, cuda)
    if kernel.__name__.startswith(ARRAYS):
        kinds = next(iter(core.overloads))  # of the signature; the kernel may ask for others
        return kernel_of_arrays(function, core, cuda, [argument.ndim - 1 for argument in arguments], kinds)
    return kernel
