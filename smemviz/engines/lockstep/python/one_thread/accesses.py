"""Elements that a single thread loads and stores, noted in one list and handed on many at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.serial_accesses import OrderedAccesses
from smemviz.engines.lockstep.hazards.watched import Watched
from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.memory.memory import LocalMemory, Memory, View
from smemviz.engines.lockstep.python.one_thread.noted import Noted
from smemviz.engines.lockstep.python.one_thread.printed import Printed
from smemviz.engines.lockstep.python.one_thread.stored import PIECE, bits_of, in_pieces
from smemviz.engines.lockstep.python.one_thread.values import open_value
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.typing import FLOAT16, Dtype

ALIKE = -1  # among groups: a turn's mark, its group, how many turns, and which of its items grow evenly follow
_ENOUGH = 1 << 17  # accesses of all threads after which these stop for a while, to have them handed on
_PLENTY = 1 << 19  # accesses of all threads, where each turn has its own number of them
_FASTER = 4  # times as many turns in a part as in the one before
_MOST_TOGETHER = 1 << 23  # accesses, if they cannot stop before


class NotTogetherError(Exception):
    """Threads that do what cannot be told of all of them together, or too much of it."""


class OtherWayError(NotTogetherError):
    """A loop of several threads that is to be run from its beginning: in machine code, as it is long, or as text."""


@dataclass
class Pace:
    """Before which turn of the outermost loop threads stop: one for whom it ``is_open`` says that.

    None stops before the ``least``, that at which others have ended. ``more`` accesses are noted before, where a stop
    costs much. Where turns may be of any length all stop after some ``turns``. ``many`` is what was noted of all, and
    ``printed`` what they print.
    """

    more: int = 0
    many: int = 0
    stop: float = math.inf
    least: float = 0
    is_open: bool = False
    turns: float = math.inf
    latest: float = math.inf
    printed: Printed = field(default_factory=Printed)

    def begin(self, last: float) -> None:
        """Begin a part after the turns that were the last."""
        self.stop = self.latest = last + self.turns
        self.least, self.many, self.is_open, self.printed = 0, 0, True, Printed()

    def adapt(self) -> None:
        """Let the next part have as many turns as are enough, after what was noted in this one."""
        if self.turns < math.inf:
            self.turns = max(1, int(self.turns * min(_FASTER, _PLENTY / max(self.many, 1))))


class Accesses:
    """What one thread, in ``slot`` of the batch, did since it was handed on last.

    An item of ``noted`` is where in its memory an element lies, -1 for what is told otherwise; ``groups`` are the
    numbers of groups of accesses, whose items follow each other; ``stored`` are the values of stores to shared memory.
    ``what`` is what all threads note.
    """

    def __init__(self, machine: Machine, mask: Mask, slot: int, pace: Pace | None, *, may_wait: bool) -> None:
        """What one that has a ``pace`` did is handed on together with what others did, for whom it ``may_wait``."""
        self._machine = machine
        self._mask = mask
        self.alone = pace is None
        self._pace = pace
        self.may_wait = may_wait
        self.slot = slot
        self.is_short = False  # so far, and may turn out to be long
        self._did: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []  # groups and places
        self._many = 0
        self._stored_natively: list[tuple[NDArray[np.float64], NDArray[np.uint64]]] = []  # values and whole ones
        self.thread = int(machine.in_global.threads[self.slot])
        self.noted: list[int] = []
        self.groups: list[int] = []
        self.stored: list[Any] = []
        self.left_out = 0  # of the first accesses that are noted since
        self.only_counts = False  # from here on, where nothing is unsafe
        self.safe: list[bool] = []  # of each place in shared memory
        self._many_safe = -1
        self._owned: dict[Watched, list[int]] = {}

    def prepare(self, what: Noted, views: Mapping[str, View]) -> None:
        """Take what is noted."""
        self.what, machine = what, self._machine
        memories = [views[access.name].memory for _, access in what.sites]
        self._scale = np.array([scale_of(memory) for memory in memories], np.int64)
        self._shift = self._shifts(views)
        bases = [views[access.name].memory.base + (access.byte or 0) for _, access in what.sites]
        self.base = np.array(bases, np.int64)
        self.is_even = not (self.base % what.width).any()
        width = machine.hazards.cell_bytes  # of elements that are cells, places are the numbers of the cells
        sizes = [size for memory, size in zip(memories, what.size.tolist(), strict=True) if memory is machine.shared]
        self._in_cells = len(sizes) == np.count_nonzero(what.in_shared) and all(size == width for size in sizes)
        by_memory: dict[Memory, list[int]] = {}
        for number, memory in enumerate(memories):
            by_memory.setdefault(memory, []).append(number)
        self.by_memory = {memory: np.array(numbers) for memory, numbers in by_memory.items()}
        for memory, numbers in by_memory.items():
            watched = machine.in_global.watched.get(memory)
            if watched in self._owned:
                self._owned[watched].extend(numbers)
        self._offset = what.constant + self._begins(views)[what.numbers]

    def prepare_like(self, first: Accesses, views: Mapping[str, View]) -> None:
        """Take what is noted from another thread that runs the same loop."""
        self.what, self._scale, self.base, self._shift = first.what, first._scale, first.base, first._shift
        if self.what.any_in_shared:  # each block has its own
            self._shift = self._shifts(views)
        self._offset = self.what.constant + self._begins(views)[self.what.numbers]

    def _shifts(self, views: Mapping[str, View]) -> NDArray[np.int64]:
        """Return for every number where in its memory an array begins that lies at its start."""
        shifts = [self._shift_of(views[access.name].memory, access.dtype) for _, access in self.what.sites]
        return np.array(shifts, np.int64)

    def _begins(self, views: Mapping[str, View]) -> NDArray[np.int64]:
        """Return for every number the place of what the index 0 stands for, where accesses are noted by their index."""
        begins = np.zeros(len(self.what.sites), np.int64)
        for number, (_, access) in enumerate(self.what.sites):
            if access.is_by_index:
                begins[number] = open_value(views[access.name].offset, self.slot) + self._shift[number]
        return begins

    def _shift_of(self, memory: Memory, dtype: Dtype) -> int:
        return int(open_value(memory.place(0, dtype), self.slot))

    def reach(self, view: View, way: str) -> tuple[Any, ...]:
        """Return what the text of a loop needs: memory, place of element 0, sizes and strides.

        Of an "owned" array the only active thread needs the owners of its cells, too, and which of them is the first.
        Element numbers become places in a memory by a factor, which is 1 but in local memory.
        """
        memory, slot, scale = view.memory, self.slot, scale_of(view.memory)
        flat: Any = memory.elements(view.dtype)
        # What is faster has no complex numbers and no half precision.
        flat = flat if view.dtype.kind == "c" or view.dtype == FLOAT16 else memoryview(flat)
        sizes = [open_value(size, slot) for size in view.shape]
        strides = [open_value(stride, slot) * scale for stride in view.strides]
        bound = (flat, self.start_of(view), *sizes, *strides)
        if way != "owned":
            return bound
        watched = self._machine.in_global.watched[memory]
        self._owned.setdefault(watched, [])
        if not self.alone:
            return bound
        owners: Any = watched.owners
        return *bound, memoryview(owners), (memory.base - watched.start) // watched.nbytes

    def start_of(self, view: View) -> int:
        """Return the place in its memory of the first element of an array."""
        begin = int(open_value(view.offset, self.slot)) * scale_of(view.memory)
        return begin + self._shift_of(view.memory, view.dtype)

    def hand_on(self) -> None:
        """Let the log and the search for hazards have what was noted."""
        if not self.groups:
            return
        groups = np.array(self.groups, np.int64)
        self.groups.clear()
        if self._pace is None:
            self.tell(groups, self.noted)
        else:
            self._keep(groups, np.array(self.noted, np.int64), self._pace)
        self.noted.clear()

    def tell(self, groups: NDArray[np.int64], noted: Sequence[int] | NDArray[np.int64]) -> None:
        """Let the log and the search for hazards have what the only active thread did."""
        if not len(groups):
            return
        noted = np.asarray(noted, np.int64)
        if self.have_no_order or (self._are_only_counted and self._are_safe(groups, noted)):
            self._count(groups)
            return
        self.only_counts = False
        numbers, places = (column[self.left_out :] for column in self.done_in(groups, noted))
        self.left_out = 0
        sites, addresses, items = self.what.site[numbers], self.addresses(numbers, places), self.what.items[numbers]
        values, stores = np.full(len(sites), np.nan), np.flatnonzero(items)
        shared = np.flatnonzero(self.what.in_shared[numbers])
        if len(shared):
            stored = self.stored_values()
            of_items = partial(np.repeat, numbers, items)
            bits = bits_of(self.what.dtypes, self.what.stores, self.what.valued, of_items, stored, self.stored_whole)
            values[stores] = stored if len(stored) == len(stores) else stored[(np.cumsum(items) - items)[stores]]
            self._tell_shared(numbers[shared], addresses[shared], bits)
        self.stored.clear()
        for watched, of_it in self._owned.items():
            here = np.flatnonzero(np.isin(numbers, of_it))
            if len(here):
                threads = np.full(len(here), self.thread)
                self._machine.in_global.add_serial(watched, threads, sites[here], addresses[here])
        self._machine.log.add_alone(sites, self.slot, addresses, values if len(stores) else None)

    def _tell_shared(
        self, numbers: NDArray[np.int64], addresses: NDArray[np.int64], stored: NDArray[np.uint64]
    ) -> None:
        """Let the search for hazards have accesses to shared memory, piece by piece."""
        rows = np.arange(len(numbers))
        if self.what.width.max() > PIECE:
            many = in_pieces(self.what.width[numbers])
            rows = np.repeat(rows, many)
            piece = np.arange(len(rows)) - (np.cumsum(many) - many)[rows]
            numbers, addresses = numbers[rows], addresses[rows] + PIECE * piece
        bits, slots = np.zeros(len(rows), np.uint64), np.full(len(rows), self.slot)
        bits[self.what.stores[numbers]] = stored
        did = OrderedAccesses(self.what.site[numbers], slots, addresses, bits, rows)
        self._machine.hazards.add_serial(did)

    def _keep(self, groups: NDArray[np.int64], noted: NDArray[np.int64], pace: Pace) -> None:
        """Keep what is handed on together with what others do, and let them stop when it is much."""
        self._did.append((groups, noted))
        many = _turns_and_groups(groups)
        self._many += many
        pace.many += many
        if self._many * self._mask.count > _ENOUGH + pace.more and pace.is_open:
            pace.stop = pace.least
        if pace.many > _MOST_TOGETHER:
            raise NotTogetherError

    def keep_line(self, function: str, line: str) -> None:
        """Keep a line that is printed, until what was noted is handed on."""
        if self._pace is None or not self._pace.printed.keep(self.slot, function, line):
            raise NotTogetherError

    def take(
        self,
        groups: NDArray[np.int64],
        noted: NDArray[np.int64],
        stored: NDArray[np.int64],
        whole: NDArray[np.int64],
    ) -> None:
        """Take what machine code noted: of what was stored the bits of a double, and the integer."""
        assert self._pace is not None
        self._stored_natively.append((stored.view(np.float64), whole.view(np.uint64)))
        if len(groups):
            self._keep(groups, noted, self._pace)

    @property
    def _are_only_counted(self) -> bool:
        """Whether nobody but the search for hazards in shared memory asks which elements are loaded and stored."""
        return self.is_even and not any(self._owned.values()) and not self._machine.log.keeps(self.slot)

    @property
    def have_no_order(self) -> bool:
        """Whether nobody asks which elements are loaded and stored."""
        return self._are_only_counted and (not self.what.any_in_shared or self._machine.hazards.is_over)

    def _are_safe(self, groups: NDArray[np.int64], noted: NDArray[np.int64]) -> bool:
        if not self._in_cells:
            return False
        hazards = self._machine.hazards
        if hazards.are_safe_within(int(noted.min() + self._offset.min()), int(noted.max() + self._offset.max())):
            return True
        numbers, places = self.done_in(groups, noted)
        numbers, places = numbers[self.left_out :], places[self.left_out :]
        return hazards.are_safe(places[self.what.in_shared[numbers]])

    def count(self, times: Mapping[int, int]) -> None:
        """Let the log count groups of accesses, each so many times, once nothing else is asked."""
        each = np.zeros(len(self.what.length), np.int64)
        each[list(times)] = list(times.values())
        if each.any():
            self._tell(self._times(each))

    def _count(self, groups: NDArray[np.int64]) -> None:
        times, first = self._times(np.bincount(groups, minlength=len(self.what.length))), self.what.first[groups[0]]
        times[self.what.numbers[first : first + self.left_out]] -= 1
        self.left_out = 0
        self._tell(times)
        self.stored.clear()
        self.only_counts = True
        if self.what.any_in_shared:
            self._look_for_safe()

    def _look_for_safe(self) -> None:
        hazards = self._machine.hazards
        cells, nbytes = hazards.safe_cells, len(self._machine.shared.data)
        many = nbytes if hazards.is_over else int(np.count_nonzero(cells))
        if many != self._many_safe:
            self._many_safe, self.safe = many, [True] * nbytes if hazards.is_over else cells.tolist()

    def _times(self, each: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how often each access was made, by how often each group was."""
        return np.bincount(self.what.numbers, np.repeat(each, self.what.length)).astype(np.int64)

    def _tell(self, times: NDArray[np.int64]) -> None:
        numbers = np.flatnonzero(times)
        self._machine.log.count_alone(self.slot, self.what.site[numbers], self.base[numbers], times[numbers])

    def start_over(self) -> None:
        """Forget what has been handed on together with what others did."""
        self.is_short = False
        self._did.clear()
        self._many = 0
        self.stored.clear()
        self._stored_natively.clear()

    @property
    def did(self) -> Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The groups of all accesses and what was noted of them, in the order of both."""
        return self._did

    @property
    def tables(self) -> tuple[NDArray[Any], ...]:
        """What is the same for all threads.

        Of each group the first of its entries, how many they are, and how many items are noted; of each entry its
        number, and which item; of each number what makes addresses of elements.
        """
        what = self.what
        return what.first, what.length, what.names, what.numbers, what.which, self._scale, what.size, self.base

    @cached_property
    def added(self) -> NDArray[np.int64]:
        """What makes the place of an element in its array, times the scale, of what is noted of each entry."""
        return np.asarray(self._offset - self._shift[self.what.numbers])

    def stored_values(self) -> NDArray[np.float64]:
        """Return what was stored as doubles."""
        if self._stored_natively:
            return np.concatenate([values for values, _ in self._stored_natively])
        return np.array(self.stored, np.float64)

    def stored_whole(self) -> NDArray[np.uint64]:
        """Return what was stored as integers of 64 bits, which a float does not hold."""
        if self._stored_natively:
            return np.concatenate([whole for _, whole in self._stored_natively])
        return np.array([0 if isinstance(value, float) else int(value) % 2**64 for value in self.stored], np.uint64)

    def done_in(
        self, groups: NDArray[np.int64], noted: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of the accesses that groups are made of, and their places."""
        length, names = self.what.length[groups], self.what.names[groups]
        end = np.cumsum(length)
        entry = np.arange(end[-1]) + np.repeat(self.what.first[groups] - end + length, length)
        which = self.what.which[entry] + np.repeat(np.cumsum(names) - names, length)
        return self.what.numbers[entry], noted[which] + self._offset[entry]

    def addresses(self, numbers: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the addresses of elements by their places in memory."""
        elements = places - self._shift[numbers]
        if self._scale.max() > 1:
            elements //= self._scale[numbers]
        elements *= self.what.size[numbers]
        elements += self.base[numbers]
        return np.asarray(elements)


def scale_of(memory: Memory) -> int:
    """Return how far elements of an array are apart: in local memory those of all threads lie between."""
    return len(memory.lanes) if isinstance(memory, LocalMemory) else 1


def _turns_and_groups(groups: NDArray[np.int64]) -> int:
    alike = np.flatnonzero(groups == ALIKE)
    return len(groups) - 5 * len(alike) + 2 * int(groups[alike + 3].sum())


def turn_of(level: int) -> int:
    """Return what marks among the groups that a turn of a loop begins."""
    return -2 * level


def entry_of(level: int) -> int:
    """Return what marks among the groups that a loop begins."""
    return -2 * level - 1
