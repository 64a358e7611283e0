"""Elements that a single thread loads and stores, noted in one list and handed on many at once."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.watched import Watched
from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.memory.memory import LocalMemory, LocalPieces, View
from smemviz.engines.lockstep.python.alone.values import open_value
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.typing import FLOAT32, FLOAT64, Dtype
from smemviz.frontends.numba.sites import SiteTree


@dataclass(frozen=True)
class Access:
    """An access in the text of a loop: the array's name, its type, and how often it is subscripted.

    ``number`` tells its loads in the list, and the one behind it its stores.
    """

    node: ast.Subscript
    name: str
    dtype: Dtype
    axes: int
    number: int


def way_to(machine: Machine, view: View) -> str:
    """Return how elements of an array are reached: "free", "owned" after a look at who touched them, or "far"."""
    simple = view.dtype.kind in "iub" or view.dtype in (FLOAT32, FLOAT64)
    if not simple or view.valid is not None or isinstance(view.memory, LocalPieces):
        return "far"
    watched = machine.in_global.watched.get(view.memory)
    if watched is None or is_only_thread(machine):
        return "free"
    return "owned" if watched.nbytes == view.dtype.itemsize else "far"


def is_only_thread(machine: Machine) -> bool:
    """Tell whether a launch has one thread, which races with nobody."""
    return math.prod(machine.configuration.grid) * math.prod(machine.configuration.block) == 1


class Accesses:
    """What one thread, in ``slot`` of the batch, did since it was handed on last.

    An item of ``noted`` is where in its memory an element lies, times ``many``, and the number of its access;
    ``stored`` are the values of stores to shared memory.
    """

    def __init__(self, machine: Machine, tree: SiteTree, mask: Mask, many: int) -> None:
        self._machine = machine
        self._tree = tree
        self._mask = mask
        self.slot = int(np.flatnonzero(mask.lanes)[0])
        self.thread = machine.in_global.number_of(self.slot)
        self.noted: list[int] = []
        self.stored: list[Any] = []
        self._many = many
        self._site = np.full(many, -1, np.int32)
        self._scale, self._shift = np.ones(many, np.int64), np.zeros(many, np.int64)
        self._size, self._base = np.ones(many, np.int64), np.zeros(many, np.int64)
        self._dtypes: dict[int, Dtype] = {}
        self._owned: dict[Watched, list[int]] = {}

    def reach(self, access: Access, view: View, way: str) -> tuple[Any, ...]:
        """Return what the text of a loop needs: memory, place of element 0, sizes and strides.

        Of an "owned" array there are also the owners of its cells and which of them is the first. Element numbers
        become places in a memory by a factor, which is 1 but in local memory.
        """
        memory, slot = view.memory, self.slot
        scale = len(memory.lanes) if isinstance(memory, LocalMemory) else 1
        shift = open_value(memory.place(0, view.dtype), slot)
        for number, sites in ((access.number, self._tree.loads), (access.number + 1, self._tree.stores)):
            self._site[number] = sites.get(access.node, -1)
            self._scale[number], self._shift[number] = scale, shift
            self._dtypes[number] = view.dtype
            self._size[number], self._base[number] = view.dtype.itemsize, memory.base
        flat: Any = memory.elements(view.dtype)
        if view.dtype != FLOAT32:
            flat = memoryview(flat)
        sizes = [open_value(size, slot) for size in view.shape]
        strides = [open_value(stride, slot) * scale for stride in view.strides]
        bound = (flat, open_value(view.offset, slot) * scale + shift, *sizes, *strides)
        if way != "owned":
            return bound
        watched = self._machine.in_global.watched[memory]
        self._owned.setdefault(watched, []).extend((access.number, access.number + 1))
        owners: Any = watched.owners
        return *bound, memoryview(owners), (memory.base - watched.start) // watched.nbytes

    def hand_on(self) -> None:
        """Let the log and the search for hazards have what was noted."""
        if not self.noted:
            return
        places, numbers = np.divmod(np.array(self.noted, np.int64), self._many)
        self.noted.clear()
        sites = self._site[numbers]
        elements = (places - self._shift[numbers]) // self._scale[numbers]
        addresses = elements * self._size[numbers] + self._base[numbers]
        shared = np.array([site.space == "shared" for site in self._machine.table.sites])[sites]
        stores = np.array([site.op == "store" for site in self._machine.table.sites])[sites]
        values = np.full(len(sites), np.nan)
        values[shared & stores] = np.array(self.stored, np.float64)
        if shared.any():
            self._look_at_shared(np.flatnonzero(shared), numbers, addresses, stores)
        self.stored.clear()
        for watched, of_it in self._owned.items():
            here = np.flatnonzero(np.isin(numbers, of_it))
            if len(here):
                self._machine.in_global.add_serial(watched, self.thread, sites[here], addresses[here])
        self._machine.log.add_serial(sites, self.slot, addresses, values)

    def _look_at_shared(
        self,
        places: NDArray[np.intp],
        numbers: NDArray[np.int64],
        addresses: NDArray[np.int64],
        stores: NDArray[np.bool_],
    ) -> None:
        """Have accesses to shared memory looked at; what is done again and again, once."""
        stored = iter(self.stored)
        seen: set[tuple[int, int, bytes]] = set()
        each = zip(numbers[places].tolist(), addresses[places].tolist(), stores[places].tolist(), strict=True)
        for number, address, stores_one in each:
            value = self._dtypes[number].type(next(stored)) if stores_one else None
            key = number, address, b"" if value is None else value.tobytes()
            if key not in seen:
                seen.add(key)
                self._machine.hazards.add(int(self._site[number]), address, self._mask, value)
