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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.shared_accesses import cells_of
from smemviz.engines.lockstep.memory.device_array import DeviceArray
from smemviz.engines.lockstep.memory.memory import Memory
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.languages import Spelling
from smemviz.model.hardware.operations import Effect, effect_of
from smemviz.recordings.data import ArrayInfo, Site

Threads = NDArray[np.signedinteger[Any]]  # the number of a thread in the launch and 1, so that 0 is nobody
Numbers = NDArray[np.int32]  # of site executions

_EFFECTS: tuple[Effect, ...] = ("load", "store", "update")
_SEVERAL = -1
_WIDEST_CELL = 8
_MOST_PENDING = 1 << 20  # cells
_CELLS_OF_ITSELF = 32  # that a pattern takes the memory of, whatever its own
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
        self._numbers = {effect: np.zeros(len(self.contents), np.int32) for effect in _EFFECTS}
        self._pending: list[_Pattern] = []
        self._pending_cells = 0
        self.last_store: tuple[int, NDArray[np.int64], Threads] = -1, _NONE, _NONE
        self.shared: set[Effect] = set()  # what was done to cells of several threads

    def as_cells(self, data: NDArray[np.uint8]) -> NDArray[Any]:
        """Return the bytes of the allocation cell by cell."""
        return data[: len(data) // self.nbytes * self.nbytes].view(_UNSIGNED[self.nbytes])

    def _nobody(self) -> Threads:
        return np.zeros(len(self.contents), self._number)

    @cached_property
    def marks(self) -> dict[Effect, tuple[tuple[Threads, Numbers], ...]]:
        """Who did each effect to each cell of several threads since nothing ordered it, and by which execution.

        Of stores that is the last one; of loads and of updates those of the lowest and of the highest thread.
        """
        counts = {effect: 1 if effect == "store" else 2 for effect in _EFFECTS}
        return {
            effect: tuple((self._nobody(), np.zeros(len(self.contents), np.int32)) for _ in range(count))
            for effect, count in counts.items()
        }

    def cells(self, addresses: Any, lanes: NDArray[np.intp] | None, slots: int, width: int) -> NDArray[np.int64]:
        """Return the cells of accesses of ``width`` bytes, a lane's cells together; no lanes means every slot."""
        return cells_of(addresses, lanes, slots, width, self.nbytes, -(self.start // self.nbytes))

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
        self._pending_cells += len(cells) + _CELLS_OF_ITSELF
        if self._pending_cells > _MOST_PENDING:
            self._settle()
        return _NONE

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
                for mark, by in self.marks[effect]:
                    mark[cells] = np.where(numbers > 0, owners, 0)
                    by[cells] = numbers

    def mark(self, effect: Effect, cells: NDArray[np.int64], threads: Threads, number: int) -> None:
        """Note what threads in ascending order did to cells of several threads."""
        self.shared.add(effect)
        if effect == "store":
            self.last_store = number, cells, threads
            ((last, by),) = self.marks["store"]
            last[cells], by[cells] = threads, number
            return
        (low, low_by), (high, high_by) = self.marks[effect]
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

    def loaded_too(self, cells: NDArray[np.int64], threads: Threads, then: Numbers) -> NDArray[np.bool_]:
        """Tell which threads took part in the execution that loaded cells, as far as is kept of those that did."""
        took_part = np.zeros(len(cells), np.bool_)
        for mark, by in self.marks["load"]:
            took_part |= (mark.take(cells) == threads) & (by.take(cells) == then)
        return took_part

    def forget(self, effect: Effect, cells: NDArray[np.int64]) -> None:
        """Take the marks of loads or updates off cells of several threads."""
        for mark, _ in self.marks[effect]:
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
    return {
        memory: Watched(memory.data, memory.base, narrowest, _inside(memory, arrays), threads)
        for memory, narrowest in written_memories(accessed, values, arrays).items()
    }


def written_memories(
    accessed: Mapping[str, tuple[int, bool]], values: Sequence[Any], arrays: Sequence[ArrayInfo]
) -> dict[Memory, int]:
    """Return the memories among the arguments of a launch that it may write, and the bytes of the narrowest access."""
    written: dict[Memory, int] = {}
    for memory in _memories(values):
        known = [accessed[array.name] for array in _inside(memory, arrays) if array.name in accessed]
        if any(is_written for _, is_written in known):
            written[memory] = min(known)[0]
    return written


def _inside(memory: Memory, arrays: Sequence[ArrayInfo]) -> list[ArrayInfo]:
    return [array for array in arrays if memory.base <= array.address < memory.base + len(memory.data)]


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
