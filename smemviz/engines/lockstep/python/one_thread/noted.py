"""What is noted of the accesses in the text of a loop, which is the same for all threads and in every launch."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from smemviz.engines.lockstep.python.one_thread.arrays import Access
from smemviz.engines.lockstep.python.one_thread.atoms import Entry
from smemviz.engines.lockstep.python.one_thread.stored import in_pieces
from smemviz.engines.lockstep.values.typing import UINT8
from smemviz.model.hardware.operations import effect_of
from smemviz.recordings.data import Site


class Noted:
    """What is noted of each access, by its number, of each group of accesses, and of each of its entries.

    ``sites`` are the site of an access and the access. It has a ``size`` of its elements and a ``width`` that it loads
    or stores, in bytes. What it ``touches`` is 0 where it loads, 1 where it stores, and else which updates it goes
    with. ``stores`` are those to shared memory, of which the ``valued`` have a value; each notes so many ``items`` of
    it. A group has entries from ``first`` on, in a ``length``, and ``names``, as many items as it notes; of an entry
    there is the number of its access, ``which`` item of its group says where it is, and a ``constant`` to be added.
    """

    def __init__(
        self, sites: Sequence[tuple[int, Access]], groups: Collection[tuple[Entry, ...]], made: Sequence[Site]
    ) -> None:
        """``groups`` are the entries of each, ``made`` the sites of the kernel."""
        self.sites = sites
        accesses, of_kernel = [access for _, access in sites], [made[site] for site, _ in sites]
        self.site = np.array([site for site, _ in sites], np.int32)
        self.size = np.array([access.dtype.itemsize for access in accesses], np.int64)
        self.width = np.array([access.width for access in accesses], np.int64)
        self.dtypes = [access.dtype if access.byte is None else UINT8 for access in accesses]
        self.in_shared = np.array([site.space == "shared" for site in of_kernel], np.bool_)
        self.any_in_shared = bool(self.in_shared.any())
        kinds = sorted({access.update for access in accesses} - {""})
        effects = [effect_of(site.op) for site in of_kernel]
        self.updates = np.array([effect == "update" for effect in effects], np.bool_)
        each = zip(effects, (access.update for access in accesses), strict=True)
        self.touches = np.array([2 + kinds.index(kind) if kind else int(did != "load") for did, kind in each], np.int64)
        self.stores = self.in_shared & np.array([site.op == "store" for site in of_kernel], np.bool_)
        self.valued = self.stores & np.array([access.dtype.kind != "c" for access in accesses], np.bool_)
        self.items = np.where(self.stores, in_pieces(self.width), 0)
        self.length = np.array([len(group) for group in groups], np.int64)
        self.first = np.cumsum(self.length) - self.length
        self.names = np.array([1 + max(which for _, which, _ in group) for group in groups], np.int64)
        entries = np.array([entry for group in groups for entry in group], np.int64).reshape(-1, 3)
        self.numbers, self.which, self.constant = np.ascontiguousarray(entries.T)
