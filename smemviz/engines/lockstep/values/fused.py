"""What is compiled by Numba, so import it late: products and sums rounded once, compare and swap in turn."""

from typing import Any

import numpy as np
from numba.extending import intrinsic
from numpy.typing import NDArray

from smemviz.model.counting.jit import compiled


@intrinsic  # type: ignore[untyped-decorator]
def _fma(context: Any, a: Any, b: Any, c: Any) -> Any:
    """Make one instruction of a processor that has it, and else a call of the C library."""
    return a(a, a, a), lambda context, builder, signature, args: builder.fma(*args)


@compiled
def _each(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], out: NDArray[Any]) -> None:
    for i in range(out.size):
        out[i] = _fma(a[i], b[i], c[i])


def fused(a: Any, b: Any, c: Any) -> Any:
    """Return ``a * b + c`` of float32 or of float64, each an array or a scalar of NumPy."""
    operands = np.broadcast_arrays(a, b, c)
    x, y, z = (np.ascontiguousarray(each).reshape(-1) for each in operands)
    out = np.empty(operands[0].shape, operands[0].dtype)
    _each(x, y, z, out.reshape(-1))
    return out[()]


Bits = NDArray[Any]


@compiled
def swap(elements: Bits, at: Bits, expected: Bits, value: Bits, old: Bits) -> None:
    """Store ``value`` in the elements ``at`` places that are as ``expected``, all (k,); ``old`` is what was there."""
    for k in range(len(at)):
        old[k] = elements[at[k]]
        if old[k] == expected[k]:
            elements[at[k]] = value[k]
