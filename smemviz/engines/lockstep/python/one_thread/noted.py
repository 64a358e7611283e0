"""What is noted of the accesses in the text of a loop, which is the same for all threads and in every launch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.python.one_thread.arrays import Access
from smemviz.engines.lockstep.python.one_thread.atoms import Entry
from smemviz.engines.lockstep.python.one_thread.stored import in_pieces
from smemviz.engines.lockstep.values.typing import UINT8, Dtype
from smemviz.model.hardware.operations import effect_of
from smemviz.recordings.data import Site


@dataclass(frozen=True, eq=False)
class Noted:
    """Of each access, by its number, from ``site`` to ``items``; of each group of accesses, and of each of its entries.

    An access has a ``size`` of its elements and a ``width`` that it loads or stores, in bytes. What it ``touches`` is 0
    where it loads, 1 where it stores, and else which updates it goes with. ``stores`` are those to shared memory, of
    which the ``valued`` have a value; each notes so many ``items`` of it. A group has entries from ``first`` on, in a
    ``length``, and ``names``, as many items as it notes; of an entry there is the number of its access, ``which`` item
    of its group says where it is, and a ``constant`` to be added to that.
    """

    site: NDArray[np.int32]
    size: NDArray[np.int64]
    width: NDArray[np.int64]
    dtypes: Sequence[Dtype]
    in_shared: NDArray[np.bool_]
    any_in_shared: bool
    updates: NDArray[np.bool_]
    touches: NDArray[np.int64]
    stores: NDArray[np.bool_]
    valued: NDArray[np.bool_]
    items: NDArray[np.int64]
    length: NDArray[np.int64]
    first: NDArray[np.int64]
    names: NDArray[np.int64]
    numbers: NDArray[np.int64]
    which: NDArray[np.int64]
    constant: NDArray[np.int64]


def noted_of(sites: Sequence[tuple[int, Access]], groups: Iterable[tuple[Entry, ...]], made: Sequence[Site]) -> Noted:
    """Return what is noted, by the site and the access of each number, and the numbers in each group.

    Args:
        sites: of each number.
        groups: entries of each.
        made: the sites of the kernel.
    """
    accesses, ops = [access for _, access in sites], [made[site].op for site, _ in sites]
    width = np.array([access.width for access in accesses], np.int64)
    in_shared = np.array([made[site].space == "shared" for site, _ in sites], np.bool_)
    kinds = sorted({access.update for access in accesses} - {""})
    effects = [effect_of(op) for op in ops]
    each = zip(effects, (access.update for access in accesses), strict=True)
    stores = in_shared & np.array([op == "store" for op in ops], np.bool_)
    length = np.array([len(group) for group in groups], np.int64)
    entries = np.array([entry for group in groups for entry in group], np.int64).reshape(-1, 3)
    numbers, which, constant = np.ascontiguousarray(entries.T)
    return Noted(
        np.array([site for site, _ in sites], np.int32),
        np.array([access.dtype.itemsize for access in accesses], np.int64),
        width,
        [access.dtype if access.byte is None else UINT8 for access in accesses],
        in_shared,
        bool(in_shared.any()),
        np.array([effect == "update" for effect in effects], np.bool_),
        np.array([2 + kinds.index(kind) if kind else int(did != "load") for did, kind in each], np.int64),
        stores,
        stores & np.array([access.dtype.kind != "c" for access in accesses], np.bool_),
        np.where(stores, in_pieces(width), 0),
        length,
        np.cumsum(length) - length,
        np.array([1 + max(which for _, which, _ in group) for group in groups], np.int64),
        numbers,
        which,
        constant,
    )
