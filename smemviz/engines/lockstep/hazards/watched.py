"""Who touched each cell of an allocation of global memory in a launch.

A cell is as many bytes as the narrowest access to the allocation has. Most cells have one thread only, their owner, to
the end of the launch. Of the others it is kept who stored last, and of those who loaded and of those who updated since,
the lowest and the highest thread: any thread that is not the only one finds another than itself among them, and so does
any warp and any block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.shared_accesses import cells_of
from smemviz.engines.lockstep.memory.device_array import DeviceArray
from smemviz.engines.lockstep.memory.memory import Memory
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.model.hardware.operations import Effect, effect_of
from smemviz.recordings.data import ArrayInfo, Site
from smemviz.recordings.spelling import Spelling

if TYPE_CHECKING:
    from smemviz.engines.lockstep.hazards.in_order import Did, State

Threads = NDArray[np.signedinteger[Any]]  # the number of a thread in the launch and 1, so that 0 is nobody
Numbers = NDArray[np.int32]  # of site executions

EFFECTS: tuple[Effect, ...] = ("load", "store", "update")
_SEVERAL = -1
_WIDEST_CELL = 8
_MOST_PENDING = 1 << 20  # cells
_MOST_IN_32_BITS = np.iinfo(np.int32).max
_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
_NONE = np.zeros(0, np.intp)


@dataclass(slots=True)
class _Pattern:
    """Accesses of threads to cells that are theirs alone; ``numbers`` are the last execution of each effect."""

    addresses: Any
    lanes: NDArray[np.bool_] | None
    width: int
    cells: NDArray[np.int64]
    numbers: dict[Effect, int]


@dataclass(frozen=True)
class Touches:
    """What was done to cells that have several threads, all (k,): site, thread, cell; that of one row was at once."""

    sites: NDArray[np.int32]
    threads: Threads
    cells: NDArray[np.int64]
    rows: NDArray[np.int32]

    @property
    def any(self) -> bool:
        """Whether there is something."""
        return len(self.rows) > 0

    def those(self, which: NDArray[np.bool_]) -> Touches:
        """Return some of it."""
        return Touches(self.sites[which], self.threads[which], self.cells[which], self.rows[which])


class Watched:
    """One allocation; ``data`` are its bytes as they are now, ``start`` is the address of the first."""

    def __init__(
        self, data: NDArray[np.uint8], start: int, narrowest: int, arrays: Sequence[ArrayInfo], threads: int
    ) -> None:
        """``narrowest`` is the bytes of the narrowest access; ``arrays`` lie in the allocation.

        ``threads`` is how many the launch has, those that only fill a warp included.
        """
        self.arrays = arrays
        self._number = np.int32 if threads < _MOST_IN_32_BITS else np.int64
        self.start = start
        self.nbytes = min(narrowest, _WIDEST_CELL)
        self.contents = self.as_cells(data)
        self._owner = self._nobody()
        self._is_new = True  # nobody touched any cell
        # The number of the last execution of each effect in each cell, 0 for none; what is pending is not there yet.
        self._numbers_of_all = np.zeros((3, len(self.contents)), np.int32)
        self._numbers: dict[Effect, Numbers] = dict(zip(EFFECTS, self._numbers_of_all, strict=True))
        self._pending: list[_Pattern] = []
        self._pending_cells = 0
        self.last_store: tuple[int, NDArray[np.int64], Threads] = -1, _NONE, _NONE
        self.shared: set[Effect] = set()  # what was done to cells of several threads

    def as_cells(self, data: NDArray[np.uint8]) -> NDArray[Any]:
        """Return the bytes of the allocation cell by cell."""
        return data[: len(data) // self.nbytes * self.nbytes].view(_UNSIGNED[self.nbytes])

    def _nobody(self) -> Threads:
        return np.zeros(len(self.contents), self._number)

    def marks(self, effect: Effect) -> tuple[tuple[Threads, Numbers], ...]:
        """Return who did something to each cell of several threads since nothing ordered it, and by which execution.

        Of stores that is the last one; of loads and of updates those of the lowest and of the highest thread.
        """
        return self._marks[effect]

    @cached_property
    def _marks_of_all(self) -> tuple[Threads, Numbers]:
        """Return the lowest and the highest threads, and by which executions, of each effect, both (2, 3, cells)."""
        shape = 2, len(EFFECTS), len(self.contents)
        return np.zeros(shape, self._number), np.zeros(shape, np.int32)

    @cached_property
    def _marks(self) -> dict[Effect, tuple[tuple[Threads, Numbers], ...]]:
        threads, executions = self._marks_of_all
        marks = {effect: (*zip(threads[:, at], executions[:, at], strict=True),) for at, effect in enumerate(EFFECTS)}
        return {effect: both[:1] if effect == "store" else both for effect, both in marks.items()}

    def cells(self, addresses: Any, lanes: NDArray[np.intp] | None, slots: int, width: int) -> NDArray[np.int64]:
        """Return the cells of accesses of ``width`` bytes, a lane's cells together; no lanes means every slot."""
        return cells_of(addresses, lanes, slots, width, self.nbytes, -(self.start // self.nbytes))

    def cells_of(
        self, addresses: NDArray[np.int64], widths: NDArray[np.int64]
    ) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Return the cells of accesses of several widths, an access's cells together, and which access each is of."""
        cells, many = (addresses - self.start) // self.nbytes, widths // self.nbytes
        access = np.arange(len(addresses))
        if not len(many) or many.max() == 1:
            return access, cells
        access, end = np.repeat(access, many), np.cumsum(many)
        return access, cells[access] + np.arange(len(access)) - (end - many)[access]

    def begin(self) -> None:
        """Start a batch of blocks: the same addresses are those of other threads now."""
        for pattern in self._pending:
            pattern.addresses = None

    def repeats(self, effect: Effect, addresses: Any, mask: Mask, width: int, number: int) -> bool:
        """Tell whether the same threads do something to the same cells of their own as last time."""
        if not self._pending:
            return False
        last = self._pending[-1]
        if last.width != width or last.addresses is None or mask.full != (last.lanes is None):
            return False
        if last.addresses is not addresses and not np.array_equal(last.addresses, addresses):
            return False
        if last.lanes is not None and last.lanes is not mask.lanes and not np.array_equal(last.lanes, mask.lanes):
            return False
        last.numbers[effect] = number
        return True

    def take(
        self,
        effect: Effect,
        addresses: Any,
        mask: Mask,
        width: int,
        cells: NDArray[np.int64],
        threads: Threads,
        number: int,
    ) -> NDArray[np.intp]:
        """Let threads touch cells that nobody else touched; return the places of those that have several threads."""
        owner = self._owner
        if self._is_new:
            self._is_new = False
            owner[cells] = threads
            if not (owner.take(cells) == threads).all():
                return self._share(effect, cells, threads, np.ones(len(cells), np.bool_), number)
        elif not ((seen := owner.take(cells)) == threads).all():
            free = seen == 0
            if free.all():
                owner[cells] = threads
            else:
                owner[cells[free]] = threads[free]
                if (seen == _SEVERAL).all():
                    return np.arange(len(cells))
            if not (owner.take(cells) == threads).all():
                return self._share(effect, cells, threads, free, number)
        lanes = None if mask.full else mask.lanes
        self._pending.append(_Pattern(addresses, lanes, width, cells, {effect: number}))
        self._pending_cells += len(cells)
        if self._pending_cells > _MOST_PENDING:
            self._settle()
        return _NONE

    @property
    def owners(self) -> Threads:
        """Whose each cell is: 0 of nobody, and a negative number of several; it may be written."""
        self._is_new = False
        return self._owner

    def own(self, effect: Effect, cells: NDArray[np.int64], threads: Threads, numbers: NDArray[np.int64]) -> None:
        """Let threads touch cells that are nobody else's, by executions of ascending numbers."""
        if self._pending:
            self._settle()
        self._is_new = False
        self._owner[cells] = threads
        self._numbers[effect][cells] = np.maximum(self._numbers[effect].take(cells), numbers)

    def are_of_several(self, cells: NDArray[np.int64], threads: Threads) -> NDArray[np.bool_]:
        """Tell which accesses of cells, of thread after thread, are of cells that others touch or touched."""
        owner, last = self._owner.take(cells), np.empty(len(self.contents), threads.dtype)
        last[cells] = threads
        is_other = (last.take(cells) != threads) | ((owner != 0) & (owner != threads))
        if not is_other.any():
            return np.asarray(is_other)
        several = np.zeros(len(self.contents), np.bool_)
        several[cells[is_other]] = True
        return np.asarray(several.take(cells))

    def done_to(self, effect: Effect, cells: NDArray[np.int64]) -> list[tuple[Threads, Numbers]]:
        """Return what ``marks`` has of cells, those of one thread included."""
        if self._pending:
            self._settle()
        owner, numbers = self._owner.take(cells), self._numbers[effect].take(cells)
        several, alone = owner == _SEVERAL, np.where((owner > 0) & (numbers > 0), owner, 0)
        return [
            (np.where(several, mark.take(cells), alone), np.where(several, by.take(cells), numbers))
            for mark, by in self.marks(effect)
        ]

    def was_done(self, effect: Effect, cells: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell whether there is a mark of something on cells."""
        others, _ = self.done_to(effect, cells)[0]
        return np.asarray(others != 0)

    def share(self, cells: NDArray[np.int64]) -> None:
        """Make cells those of several threads."""
        self._is_new = False
        owner = self._owner.take(cells)
        moved = cells[owner > 0]
        if len(moved):
            self._hand_over(moved, owner[owner > 0])
        self._owner[cells] = _SEVERAL

    def note(self, effect: Effect, cells: NDArray[np.int64], threads: Threads, numbers: Numbers) -> None:
        """Note loads or updates of cells of several threads, by executions ``numbers``."""
        self.shared.add(effect)
        for (mark, by), is_low in zip(self.marks(effect), (True, False), strict=True):
            before = mark.take(cells)
            further = (before == 0) | (threads <= before) if is_low else threads >= before
            # The last of several that go to one cell stays: the last of the lowest thread, or of the highest.
            places = np.flatnonzero(further)
            places = places[np.lexsort((numbers[places], -threads[places] if is_low else threads[places]))]
            mark[cells[places]], by[cells[places]] = threads[places], numbers[places]

    def note_stores(self, cells: NDArray[np.int64], threads: Threads, numbers: Numbers) -> None:
        """Note the last store in each of some cells of several threads."""
        self.shared.add("store")
        ((last, by),) = self.marks("store")
        last[cells], by[cells] = threads, numbers

    def noted_in(self, state: State, did: Did, several: NDArray[np.uint8], last: NDArray[np.int64]) -> None:
        """Take what was noted of rows in the state of all cells; ``last`` is which of them stored last."""
        self.shared |= {effect for effect, marked in zip(EFFECTS, state.marked.tolist(), strict=True) if marked}
        number, begin, end = last.tolist()
        if begin >= 0:
            places = begin + np.flatnonzero(several[begin:end])
            self.last_store = number, did.cell[places], did.thread[places]

    @cached_property
    def _seen(self) -> tuple[Numbers, NDArray[np.uint64], Numbers]:
        many = len(self.contents)
        return np.zeros(many, np.int32), np.zeros(many, np.uint64), np.zeros(many, np.int32)

    def state(self) -> State:
        """Return what is known of all cells, to be noted in."""
        from smemviz.engines.lockstep.hazards.in_order import State

        if self._pending:
            self._settle()
        (low, high), (low_by, high_by) = self._marks_of_all
        marked = np.array([effect in self.shared for effect in EFFECTS])
        return State(self.owners, self._numbers_of_all, low, high, low_by, high_by, *self._seen, marked)

    def _settle(self) -> None:
        for pattern in self._pending:
            for effect, number in pattern.numbers.items():
                self._numbers[effect][pattern.cells] = number
        self._pending, self._pending_cells = [], 0

    def _share(
        self, effect: Effect, cells: NDArray[np.int64], threads: Threads, free: NDArray[np.bool_], number: int
    ) -> NDArray[np.intp]:
        """Make cells those of several threads; what their owner did is kept."""
        self._settle()
        owner = self._owner
        now = owner.take(cells)
        other = (now != threads) & (now != _SEVERAL)
        owner[cells[other & free]] = _SEVERAL
        moved = cells[other & ~free]
        if len(moved):
            self._hand_over(moved, owner.take(moved))
            owner[moved] = _SEVERAL
        several = owner.take(cells) == _SEVERAL
        self._numbers[effect][cells[~several]] = number
        return np.flatnonzero(several)

    def _hand_over(self, cells: NDArray[np.int64], owners: Threads) -> None:
        """Mark what the owners of cells did to them."""
        for effect, executions in self._numbers.items():
            numbers = executions.take(cells)
            if numbers.any():
                self.shared.add(effect)
                for mark, by in self.marks(effect):
                    mark[cells] = np.where(numbers > 0, owners, 0)
                    by[cells] = numbers

    def mark(self, effect: Effect, cells: NDArray[np.int64], threads: Threads, number: int) -> None:
        """Note what threads in ascending order did to cells of several threads."""
        self.shared.add(effect)
        if effect == "store":
            self.last_store = number, cells, threads
            ((last, by),) = self.marks("store")
            last[cells], by[cells] = threads, number
            return
        (low, low_by), (high, high_by) = self.marks(effect)
        before = low.take(cells)
        # The last of several that go to one cell stays, and threads ascend.
        lower = np.flatnonzero((before == 0) | (threads <= before))[::-1]
        higher = np.flatnonzero(threads >= high.take(cells))
        low[cells[lower]], low_by[cells[lower]] = threads[lower], number
        high[cells[higher]], high_by[cells[higher]] = threads[higher], number

    def stored_too(self, cells: NDArray[np.int64], threads: Threads, then: Numbers) -> NDArray[np.bool_]:
        """Tell which threads took part in the execution that stored in cells, all of them the same value."""
        number, stored, storing = self.last_store
        took_part = then == number
        lanes = np.flatnonzero(took_part)
        if len(lanes):
            cells, threads = cells[lanes], threads[lanes]
            first, end = (np.searchsorted(storing, threads, side) for side in ("left", "right"))
            among_stored = np.zeros(len(lanes), np.bool_)
            for place in range(int((end - first).max())):  # a thread stores in several cells at once, but few
                among_stored |= (first + place < end) & (stored.take(first + place, mode="clip") == cells)
            took_part[lanes] = among_stored
        return np.asarray(took_part)

    def forget(self, effect: Effect, cells: NDArray[np.int64]) -> None:
        """Take the marks of loads or updates off cells of several threads."""
        for mark, _ in self.marks(effect):
            mark[cells] = 0

    def element(self, cell: int, names: str, spelling: Spelling) -> str:
        """Return the element that a cell belongs to, as in ``out[3, 5]``; of several arrays, one that a site names."""
        address = self.start + cell * self.nbytes
        there = [array for array in self.arrays if 0 <= address - array.address < array.nbytes]
        candidates = [array for array in there if array.name in names.split(" or ")]
        array = (candidates or there or list(self.arrays))[0]
        rest, index = address - array.address, [0] * len(array.shape)
        for axis in sorted(range(len(array.shape)), key=lambda axis: -array.strides[axis]):
            index[axis], rest = divmod(rest, array.strides[axis]) if array.strides[axis] > 0 else (0, rest)
        return spelling.element(array.name, index)


def watched_memories(
    accessed: Mapping[str, tuple[int, bool]], values: Sequence[Any], arrays: Sequence[ArrayInfo], threads: int
) -> dict[Memory, Watched]:
    """Return the memories among the arguments of a launch that it may write, for the races in them.

    ``accessed`` are its arrays, as ``accessed_arrays`` gives them.
    """
    watched: dict[Memory, Watched] = {}
    for memory in _memories(values):
        end = memory.base + len(memory.data)
        inside = [array for array in arrays if memory.base <= array.address < end]
        known = [accessed[array.name] for array in inside if array.name in accessed]
        if any(is_written for _, is_written in known):
            watched[memory] = Watched(memory.data, memory.base, min(known)[0], inside, threads)
    return watched


def accessed_arrays(sites: Sequence[Site]) -> dict[str, tuple[int, bool]]:
    """Return of each array in global memory how wide its narrowest access is, in bytes, and whether it is written."""
    accessed: dict[str, tuple[int, bool]] = {}
    for site in sites:
        if site.space == "global":
            for name in site.array.split(" or "):
                width, is_written = accessed.get(name, (site.width, False))
                accessed[name] = min(width, site.width), is_written or effect_of(site.op) != "load"
    return accessed


def _memories(values: Iterable[Any]) -> Iterator[Memory]:
    for value in values:
        if isinstance(value, DeviceArray):
            yield value.memory
        elif isinstance(value, tuple):
            yield from _memories(value)
