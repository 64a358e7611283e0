"""What a site can do to shared memory, where each operation exists, and which of them can be counted ahead."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import DTypeLike

from smemviz.errors import InputError
from smemviz.messages import said
from smemviz.model.hardware.compute_capability import AS_MEASURED, BASES, Basis, BasisKind, device
from smemviz.recordings.data import Launch
from smemviz.recordings.operation_names import ATOMICS, FRAGMENTS, MATRICES, OPERATIONS, REDUCTIONS, WIDTHS

NATIVE_ATOMICS_SINCE = (5, 0)

# The operations and widths that were counted on the H200.
_MEASURED = frozenset(
    {(op, width) for op in ("load", "store") for width in WIDTHS}
    | {(op, 4) for op in ("atomic_add", "atomic_exch", "atomic_max", "reduce_add", "reduce_inc")}
    | {(op, 16) for op in ("ldmatrix_x1", "ldmatrix_x2", "ldmatrix_x4", "stmatrix_x4")}
)


def is_atomic(op: str) -> bool:
    """Whether an operation reads, changes and writes a word in one go, with or without returning it."""
    return op in ATOMICS or op in REDUCTIONS


def only_loads(op: str) -> bool:
    """Whether an operation reads memory and leaves it as it is."""
    return op.startswith(("load", "ldmatrix", "wmma_load"))


def only_stores(op: str) -> bool:
    """Whether an operation writes memory whatever was there."""
    return op.startswith(("store", "stmatrix", "wmma_store"))


def came_with(op: str) -> tuple[int, int]:
    """Return the compute capability that was the first with an instruction of matrices."""
    return (7, 5) if op.startswith("ld") else (9, 0)


def check_operation(op: str, width: int, cc: tuple[int, int]) -> None:
    """Refuse an operation that does not exist, or not at this width, or not on this compute capability.

    Raises:
        InputError: naming what would be accepted.
    """
    name = device(cc).name
    if op not in OPERATIONS:
        raise InputError(
            said("unknown operation {op}; known: {known}", op=repr(op), known=", ".join(sorted(OPERATIONS)))
        )
    if width not in WIDTHS:
        raise InputError(
            said("a lane cannot access {width} bytes; the widths are 1, 2, 4, 8 and 16", width=repr(width))
        )
    if op in MATRICES:
        since = came_with(op)
        if width != 16:
            raise InputError(said("{op} reads rows of 16 bytes, not {width}", op=op, width=width))
        if cc < since:
            raise InputError(
                said(
                    "{op} does not exist on compute capability {capability}; it came with {since}",
                    op=op,
                    capability=name,
                    since=device(since).name,
                )
            )
    elif is_atomic(op):
        if width != 4:
            raise InputError(
                said("{op} of {width} bytes cannot be counted ahead; only 32-bit integers can", op=op, width=width)
            )
        if cc < NATIVE_ATOMICS_SINCE:
            raise InputError(
                said(
                    "{op} cannot be counted ahead on compute capability {capability}: {why}",
                    op=op,
                    capability=name,
                    why=_LOCK_LOOP,
                )
            )


def unpredictable(op: str, dtype: DTypeLike, cc: tuple[int, int] = (9, 0)) -> str | None:
    """Say in one sentence why the wavefronts of an operation cannot be told from its addresses, None if they can.

    It is said in English; a page looks its translation up.

    Which atomics are one instruction and which a loop was read from the machine code that ptxas 13.0 makes for 9.0. So
    was that complex128 moves as one access of 16 bytes, wherever its array lies and whatever the index; the counters of
    an H200 say the same. complex64 moves as two accesses where the array behind another starts at an odd word.
    """
    kind = np.dtype(dtype)
    if op in FRAGMENTS:
        return said("PTX does not tell which lane of a warp loads or stores which element of a wmma matrix.")
    if is_atomic(op):
        if cc < NATIVE_ATOMICS_SINCE:
            return _LOCK_LOOP
        if kind.kind not in "iu":
            return said("A float atomic is a compare-and-swap loop; how often it runs depends on the data.")
        if kind.itemsize == 4:
            return None
        if op in ("atomic_exch", "atomic_cas"):
            return said("The rule for atomics was measured for 32-bit integers only.")
        return said("A 64-bit integer atomic is a compare-and-swap loop; how often it runs depends on the data.")
    if kind.kind == "c" and kind.itemsize < 16:
        return said("A complex64 is two floats; where its array lies decides whether one instruction moves both.")
    return None


def predictable(op: str, dtype: DTypeLike, cc: tuple[int, int] = (9, 0)) -> bool:
    """Whether the wavefronts of an operation follow from its addresses alone."""
    return unpredictable(op, dtype, cc) is None


def basis(op: str, width: int, cc: tuple[int, int] = (9, 0)) -> Basis:
    """Say whether the count of such a request was measured on this compute capability, is documented, or assumed.

    Raises:
        InputError: as ``check_operation``.
    """
    check_operation(op, width, cc)
    row = device(cc)
    if (op, width) not in _MEASURED:
        return _LIKE_MEASURED
    if op in ("load", "store"):
        return row.wide.get(width, row.basis)
    return row.basis if row.basis.kind == "measured" else AS_MEASURED


def weakest_basis(launches: Iterable[Launch], cc: tuple[int, int]) -> BasisKind:
    """Return the weakest that the counts of launches rest on."""
    counted = {
        (site.op, site.width, site.dtype) for launch in launches for site in launch.sites if site.space == "shared"
    }
    return weakest(((op, width) for op, width, dtype in counted if predictable(op, dtype, cc)), cc)


def weakest(accesses: Iterable[tuple[str, int]], cc: tuple[int, int]) -> BasisKind:
    """Return the weakest that counts of operations and their widths rest on; without any, what the banks rest on."""
    kinds = {basis(op, width, cc).kind for op, width in accesses}
    return max(kinds, key=BASES.index, default=device(cc).basis.kind)


_LIKE_MEASURED = Basis("assumed", said("The rule of the operations that were measured on an H200; this one was not."))


_LOCK_LOOP = said(
    "Before compute capability 5.0 a shared atomic is a loop around a lock; its length depends on the data."
)
