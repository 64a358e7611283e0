"""Elements that a single thread loads and stores, noted in one list and handed on many at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.watched import Watched
from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.memory.memory import LocalMemory, LocalPieces, View
from smemviz.engines.lockstep.python.alone.values import open_value
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.typing import FLOAT32, FLOAT64, Dtype, Value

_MOST_TOGETHER = 1 << 23  # loads, which are kept until all threads are done: 16 bytes each


@dataclass(frozen=True)
class Access:
    """An access in the text of a loop, by its number there: the array's name, its type and how many axes it has."""

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


def is_same_for_all(view: View) -> bool:
    """Tell whether an array is the same one in all threads."""
    varied = isinstance(view.memory, LocalMemory) or not isinstance(view.offset, int)
    return not varied and all(isinstance(size, int) for size in view.shape)


def is_only_thread(machine: Machine) -> bool:
    """Tell whether a launch has one thread, which races with nobody."""
    return math.prod(machine.configuration.grid) * math.prod(machine.configuration.block) == 1


class NotTogetherError(Exception):
    """Threads that do what cannot be told of all of them together, or too much of it."""


class Accesses:
    """What one thread, in ``slot`` of the batch, did since it was handed on last.

    An item of ``noted`` is where in its memory an element lies, -1 for what is told otherwise; ``groups`` are the
    numbers of groups of accesses, whose items follow each other; ``stored`` are the values of stores to shared memory.
    """

    def __init__(self, machine: Machine, mask: Mask, slot: int, *, alone: bool) -> None:
        """One that is not ``alone`` only loads, and what it did is handed on together with what others did."""
        self._machine = machine
        self._mask = mask
        self._alone = alone
        self.slot = slot
        self.did: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []  # groups and places
        self.thread = machine.in_global.number_of(self.slot)
        self.noted: list[int] = []
        self.groups: list[int] = []
        self.stored: list[Any] = []
        self._owned: dict[Watched, list[int]] = {}

    def prepare(
        self, sites: Sequence[tuple[int, Access]], groups: Iterable[tuple[int, ...]], views: Mapping[str, View]
    ) -> None:
        """Take what is noted: the site and the access of each number, and the numbers in each group."""
        made = self._machine.table.sites
        reached = [views[access.name] for _, access in sites]
        self._site = np.array([site for site, _ in sites], np.int32)
        self._scale = np.array([self._scale_of(view) for view in reached], np.int64)
        self._shift = np.array([self._shift_of(view) for view in reached], np.int64)
        self._size = np.array([view.dtype.itemsize for view in reached], np.int64)
        self._base = np.array([view.memory.base for view in reached], np.int64)
        self._dtypes = [view.dtype for view in reached]
        self._in_shared = np.array([made[site].space == "shared" for site, _ in sites], np.bool_)
        self._stores = self._in_shared & np.array([made[site].op == "store" for site, _ in sites], np.bool_)
        for number, (_, access) in enumerate(sites):
            watched = self._machine.in_global.watched.get(views[access.name].memory)
            if watched in self._owned:
                self._owned[watched].append(number)
        self._length = np.array([len(group) for group in groups], np.int64)
        self._first = np.cumsum(self._length) - self._length
        self._numbers = np.array([number for group in groups for number in group], np.int64)

    def _scale_of(self, view: View) -> int:
        return len(view.memory.lanes) if isinstance(view.memory, LocalMemory) else 1

    def _shift_of(self, view: View) -> int:
        return int(open_value(view.memory.place(0, view.dtype), self.slot))

    def reach(self, access: Access, view: View, way: str) -> tuple[Any, ...]:
        """Return what the text of a loop needs: memory, place of element 0, sizes and strides.

        Of an "owned" array there are also the owners of its cells and which of them is the first. Element numbers
        become places in a memory by a factor, which is 1 but in local memory.
        """
        memory, slot, scale = view.memory, self.slot, self._scale_of(view)
        flat = memoryview(memory.elements(view.dtype))  # type: ignore[arg-type]
        sizes = [open_value(size, slot) for size in view.shape]
        strides = [open_value(stride, slot) * scale for stride in view.strides]
        bound = (flat, open_value(view.offset, slot) * scale + self._shift_of(view), *sizes, *strides)
        if way != "owned":
            return bound
        watched = self._machine.in_global.watched[memory]
        self._owned.setdefault(watched, [])
        owners: Any = watched.owners
        return *bound, memoryview(owners), (memory.base - watched.start) // watched.nbytes

    def hand_on(self) -> None:
        """Let the log and the search for hazards have what was noted."""
        if not self.noted:
            return
        groups, places = np.array(self.groups, np.int64), np.array(self.noted, np.int64)
        self.noted.clear()
        self.groups.clear()
        if not self._alone:
            self.did.append((groups, places))
            if sum(len(places) for _, places in self.did) * self._mask.count > _MOST_TOGETHER:
                raise NotTogetherError
            return
        numbers = self._numbers_in(groups)
        if places.min() < 0:
            numbers, places = numbers[places >= 0], places[places >= 0]
        sites, stores, addresses = self._site[numbers], self._stores[numbers], self._addresses(numbers, places)
        values = np.full(len(sites), np.nan)
        values[stores] = np.array(self.stored, np.float64)
        shared = self._in_shared[numbers]
        if shared.any():
            self._look_at_shared(np.flatnonzero(shared), numbers, addresses, stores)
        self.stored.clear()
        for watched, of_it in self._owned.items():
            here = np.flatnonzero(np.isin(numbers, of_it))
            if len(here):
                self._machine.in_global.add_serial(watched, self.thread, sites[here], addresses[here])
        self._machine.log.add_serial(sites, np.array([self.slot]), addresses[:, None], values[:, None])

    def hand_on_together(self, runs: Sequence[Accesses]) -> None:
        """Let the log have what threads of a warp loaded one after the other, as loads of all of them at once.

        Their k-th loads are one request, for as long as a thread loads: all load the same in every turn.
        """
        threads = []
        for run in runs:
            if run.did:
                several = (np.concatenate(columns) for columns in zip(*run.did, strict=True))
                groups, places = run.did[0] if len(run.did) == 1 else several
                threads.append((run.slot, groups, places))
        if not threads:
            return
        numbers = self._numbers_in(max((groups for _, groups, _ in threads), key=len))
        table = np.full((len(numbers), len(threads)), -1, np.int64)
        for column, (_, _, places) in enumerate(threads):
            table[: len(places), column] = self._addresses(numbers[: len(places)], places)
        slots = np.array([slot for slot, _, _ in threads])
        self._machine.log.add_serial(self._site[numbers], slots, table, np.full(table.shape, np.nan))

    def _numbers_in(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of accesses that groups are made of."""
        length = self._length[groups]
        end = np.cumsum(length)
        return np.asarray(self._numbers[np.arange(end[-1]) + np.repeat(self._first[groups] - end + length, length)])

    def _addresses(self, numbers: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        elements = (places - self._shift[numbers]) // self._scale[numbers]
        return np.asarray(elements * self._size[numbers] + self._base[numbers])

    def _look_at_shared(
        self,
        places: NDArray[np.intp],
        numbers: NDArray[np.int64],
        addresses: NDArray[np.int64],
        stores: NDArray[np.bool_],
    ) -> None:
        """Have accesses to shared memory looked at; what is done again and again, once."""
        loads = places[~stores[places]]
        _, first = np.unique(addresses[loads] * len(self._site) + numbers[loads], return_index=True)
        distinct: dict[int, Value] = dict.fromkeys(loads[first].tolist())
        seen: set[tuple[int, int, bytes]] = set()
        for place, stored in zip(np.flatnonzero(stores).tolist(), self.stored, strict=True):
            number, address = int(numbers[place]), int(addresses[place])
            value = self._dtypes[number].type(stored)
            key = number, address, value.tobytes()
            if key not in seen:
                seen.add(key)
                distinct[place] = value
        for place in sorted(distinct):
            site, address = int(self._site[numbers[place]]), int(addresses[place])
            self._machine.hazards.add(site, address, self._mask, distinct[place])
