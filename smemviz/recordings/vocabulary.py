"""The words of recordings: operations of a site by name, the bytes of a lane, types of elements and of constants."""

from __future__ import annotations

import numpy as np

WIDTHS = (1, 2, 4, 8, 16)

_ATOMIC_NAMES = ("add", "sub", "and", "or", "xor", "min", "max", "nanmin", "nanmax", "inc", "dec", "exch", "cas")
ATOMICS = frozenset(f"atomic_{name}" for name in _ATOMIC_NAMES)

# ``reduce_inc`` adds the constant 1 and is compiled to a population count; ``cuda.atomic.inc`` is ``atomic_inc``.
POPULATION_COUNT = "reduce_inc"
REDUCTIONS = frozenset(f"reduce_{name}" for name in _ATOMIC_NAMES if name not in ("exch", "cas"))

# 8 x 8 matrices of 2-byte elements that one instruction moves.
MATRICES = {f"{kind}_x{n}": n for kind in ("ldmatrix", "stmatrix") for n in (1, 2, 4)}
# A warp group reads its operands as such matrices, too; a request is what one warp of it reads of four at most.
MATRICES["wgmma"] = 4
# Matrices whose elements lie in registers in an order that nobody tells.
FRAGMENTS = frozenset({"wmma_load", "wmma_store"})
# What the copy engine does for a thread, and accesses to the shared memory of another block of a cluster.
BULK = frozenset({"bulk_load", "bulk_store"})
FAR = frozenset({"cluster_load", "cluster_store", "cluster_update"})
# Threads that arrive at an mbarrier and wait at it.
MBARRIERS = frozenset({"mbarrier_load", "mbarrier_update"})
UNCOUNTED = FRAGMENTS | BULK | FAR | MBARRIERS  # whose wavefronts do not follow from addresses
OPERATIONS = frozenset({"load", "store", *ATOMICS, *REDUCTIONS, *MATRICES, *UNCOUNTED})


DTYPES = {
    name: name
    for name in (
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128", "bool"),
    )
}
DTYPES |= {"boolean": "bool", "bool_": "bool", "intp": "int64", "uintp": "uint64", "byte": "uint8"}
DTYPES |= {np.dtype(name).str[1:]: name for name in DTYPES.values()}  # i4, f4, c8: Numba's short names

ConstantValue = int | float | bool | str  # a Numba dtype is held by its name: "float32"
