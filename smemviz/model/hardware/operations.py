"""The one table of operations: what each does, where it exists, and whether it can be counted ahead."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from smemviz.errors import InputError
from smemviz.messages import english
from smemviz.model.hardware.compute_capability import AS_MEASURED, BASES, Basis, BasisKind, device
from smemviz.recordings.data import Launch
from smemviz.recordings.vocabulary import (
    ATOMICS,
    BULK,
    FAR,
    FRAGMENTS,
    MATRICES,
    MBARRIERS,
    POPULATION_COUNT,
    REDUCTIONS,
    WIDTHS,
)

Effect = Literal["load", "store", "update"]


class Operation(NamedTuple):
    """What an operation does to memory, and how shared memory serves it.

    Its wavefronts can be counted ahead for ``widths`` bytes per lane; they were counted on the H200 for ``measured``.
    ``since`` is the first compute capability that has it as one instruction. Of a matrix instruction 8 lanes give the
    rows of each of the ``matrices``. An update serves a warp at once, lanes on one word together only if it ``shares``.
    """

    effect: Effect
    widths: tuple[int, ...] = ()
    measured: tuple[int, ...] = ()
    since: tuple[int, int] = (1, 0)
    matrices: int | None = None
    shares: bool = True


_NATIVE_ATOMICS = (5, 0)
_MEASURED_UPDATES = ("atomic_add", "atomic_exch", "atomic_max", "reduce_add", "reduce_inc")

_TABLE: dict[str, Operation] = {
    "load": Operation("load", WIDTHS, WIDTHS),
    "store": Operation("store", WIDTHS, WIDTHS),
    "wmma_load": Operation("load"),
    "wmma_store": Operation("store"),
    "bulk_load": Operation("load", since=(9, 0)),
    "bulk_store": Operation("store", since=(9, 0)),
    "mbarrier_load": Operation("load", since=(8, 0)),
    "mbarrier_update": Operation("update", since=(8, 0), shares=False),
    "cluster_load": Operation("load", since=(9, 0)),
    "cluster_store": Operation("store", since=(9, 0)),
    "cluster_update": Operation("update", since=(9, 0), shares=False),
}
for _op, _n in MATRICES.items():
    _effect: Effect = "store" if _op.startswith("st") else "load"
    _since = (7, 5) if _op.startswith("ld") else (9, 0)
    _TABLE[_op] = Operation(_effect, (16,), (16,), _since, _n)
for _op in ATOMICS | REDUCTIONS:
    _measured = (4,) if _op in _MEASURED_UPDATES else ()
    _TABLE[_op] = Operation("update", (4,), _measured, _NATIVE_ATOMICS, shares=_op == POPULATION_COUNT)


def operation(op: str) -> Operation:
    """Look up an operation.

    Raises:
        InputError: when the table has no such row.
    """
    if op not in _TABLE:
        known = ", ".join(sorted(_TABLE))
        raise InputError(english("unknown operation {op}; known: {known}", op=repr(op), known=known))
    return _TABLE[op]


def effect_of(op: str) -> Effect:
    """Return whether an operation only loads, stores whatever was there, or updates a word in one go."""
    return operation(op).effect


def check_width(width: int) -> None:
    """Refuse a width that no lane accesses.

    Raises:
        InputError: naming those there are.
    """
    if width not in WIDTHS:
        raise InputError(
            english("a lane cannot access {width} bytes; the widths are 1, 2, 4, 8 and 16", width=repr(width))
        )


def check_operation(op: str, width: int, cc: tuple[int, int]) -> None:
    """Refuse an operation that does not exist, or not at this width, or not on this compute capability.

    Raises:
        InputError: naming what would be accepted.
    """
    name, row = device(cc).name, operation(op)
    check_width(width)
    if row.matrices:
        if width not in row.widths:
            raise InputError(english("{op} reads rows of 16 bytes, not {width}", op=op, width=width))
        if cc < row.since:
            raise InputError(
                english(
                    "{op} does not exist on compute capability {capability}; it came with {since}",
                    op=op,
                    capability=name,
                    since=device(row.since).name,
                )
            )
    elif row.effect == "update":
        if width not in row.widths:
            raise InputError(
                english("{op} of {width} bytes cannot be counted ahead; only 32-bit integers can", op=op, width=width)
            )
        if cc < row.since:
            raise InputError(
                english(
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
        return english("PTX does not tell which lane of a warp loads or stores which element of a wmma matrix.")
    if op in BULK:
        return english("The copy engine moves a bulk copy; its counters have words and no wavefronts.")
    if op in MBARRIERS:
        return english("Instructions on an mbarrier have no wavefronts that are counted.")
    if op in FAR:
        return english("Shared memory of another block is reached through a network, which counts no wavefronts.")
    if effect_of(op) == "update":
        if cc < operation(op).since:
            return _LOCK_LOOP
        if kind.kind not in "iu":
            return english("A float atomic is a compare-and-swap loop; how often it runs depends on the data.")
        if kind.itemsize == 4:
            return None
        if op in ("atomic_exch", "atomic_cas"):
            return english("The rule for atomics was measured for 32-bit integers only.")
        return english("A 64-bit integer atomic is a compare-and-swap loop; how often it runs depends on the data.")
    if kind.kind == "c" and kind.itemsize < 16:
        return english("A complex64 is two floats; where its array lies decides whether one instruction moves both.")
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
    if width not in operation(op).measured:
        return _LIKE_MEASURED
    if op in ("load", "store"):
        return row.wide.get(width, row.basis)
    return row.basis if row.basis.kind == "measured" else AS_MEASURED


def weakest_basis(launches: Iterable[Launch], cc: tuple[int, int]) -> BasisKind:
    """Return the weakest that the counts of launches rest on."""
    counted = {(site.op, site.width, site.dtype) for launch in launches for site in launch.sites if site.is_shared}
    return weakest(((op, width) for op, width, dtype in counted if predictable(op, dtype, cc)), cc)


def weakest(accesses: Iterable[tuple[str, int]], cc: tuple[int, int]) -> BasisKind:
    """Return the weakest that counts of operations and their widths rest on; without any, what the banks rest on."""
    kinds = {basis(op, width, cc).kind for op, width in accesses}
    return max(kinds, key=BASES.index, default=device(cc).basis.kind)


_LIKE_MEASURED = Basis(
    "assumed", english("The rule of the operations that were measured on an H200; this one was not.")
)


_LOCK_LOOP = english(
    "Before compute capability 5.0 a shared atomic is a loop around a lock; its length depends on the data."
)
