"""What threads keep that run a loop in order, all of them in one table: a row a thread, from one turn to the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python.one_thread.accesses import scale_of
from smemviz.engines.lockstep.python.one_thread.arrays import Access, named_in
from smemviz.engines.lockstep.python.one_thread.behind import UNASSIGNED
from smemviz.engines.lockstep.python.one_thread.native.board import (
    BEGAN,
    BOARD,
    BOARD_SIZE,
    COUNT,
    ENDED,
    EVENT,
    EVENTS,
    GONE,
    LANE,
    LIMIT,
    MOST,
    OTHER,
    OVER,
    PARKED,
    TURN,
    WHO,
)
from smemviz.engines.lockstep.python.one_thread.native.compiled import Native
from smemviz.engines.lockstep.python.one_thread.native.kinds import BIT, INT, REAL, Complex, Unsigned, cells_of
from smemviz.engines.lockstep.python.one_thread.native.rounds import rounds
from smemviz.engines.lockstep.values.typing import Value

_TYPES: dict[Any, type] = {BIT: np.int64, INT: np.int64, Unsigned: np.uint64, REAL: np.float64}
_EVENTS = 1 << 14  # twice as many there is room for to begin with


class Threads:
    """Threads in some slots of a batch that run machine code; their loops with a condition ``began`` at some turn."""

    def __init__(self, native: Native, slots: NDArray[np.intp], began: int | None) -> None:
        self._native = native
        self._slots = slots
        self._kept = np.zeros((len(slots), native.size), np.int64)
        self._events = np.empty((0, len(EVENT)), np.int64)
        self._board = np.zeros(BOARD_SIZE, np.int64)
        self.make_room()
        self._kept[:, BOARD] = self._board.ctypes.data
        self._kept[:, LANE] = np.arange(len(slots))
        self._kept[:, BEGAN] = -1 if began is None else began

    def put(self, name: str, value: Value) -> None:
        """Give a variable what each thread has for it, where the text has such a variable."""
        place = self._native.places.get(name)
        if place is None:
            return
        kind = self._native.kinds[name]
        own = value[self._slots] if isinstance(value, np.ndarray) else value
        if kind is Complex:
            parts = self._kept.view(np.float64)
            parts[:, place], parts[:, place + 1] = np.real(own), np.imag(own)
        else:
            self._kept.view(_TYPES[kind])[:, place] = own
        self._kept[:, place + len(cells_of(kind))] = 1

    def reach(self, accesses: Iterable[tuple[Access, str]], views: Mapping[str, View]) -> None:
        """Let the text get to the elements of arrays."""
        for made, _ in accesses:
            view = named_in(views, made)
            scale, memory, number = scale_of(view.memory), view.memory, made.number
            self.put(f"m{number}", memory.elements(view.dtype).ctypes.data)
            self.put(f"b{number}", view.offset * scale + memory.place(0, view.dtype))
            for axis, (size, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
                self.put(f"n{number}_{axis}", size)
                self.put(f"s{number}_{axis}", stride * scale)

    def values(self, name: str) -> list[Any]:
        """Return what each thread has for a variable, ``UNASSIGNED`` where it has nothing."""
        place = self._native.places.get(name)
        if place is None:
            return [UNASSIGNED] * len(self._slots)
        kind = self._native.kinds[name]
        if kind is Complex:
            parts = self._kept.view(np.float64)[:, place : place + 2]
            values: list[Any] = [complex(*part) for part in parts.tolist()]
        else:
            column: NDArray[Any] = self._kept.view(_TYPES[kind])[:, place]
            values = (column != 0 if kind is BIT else column).tolist()
        assigned = self._kept[:, place + len(cells_of(kind))].tolist()
        return [value if there else UNASSIGNED for value, there in zip(values, assigned, strict=True)]

    def most(self, name: str) -> int:
        """Return the largest integer that a thread has for a variable."""
        return int(self._kept[:, self._native.places[name]].max())

    def left(self) -> NDArray[np.int64] | None:
        """Return start, stop and step of what is left of a range, (3, threads); None of a loop with a condition."""
        place = self._native.places.get("=left")
        if place is None:
            return None
        start, length, step = self._kept[:, place : place + 3].T
        return np.array([start, start + length * step, step])

    # -- running

    def begin(self, stop: int) -> None:
        """Begin a part, at the end of which threads stop before a turn of the outermost loop, all before the same."""
        self._kept[:, MOST] = stop
        self._kept[self._kept[:, OVER] == PARKED, OVER] = 0
        self._held = self._kept.copy()

    @property
    def ended(self) -> NDArray[np.bool_]:
        """Which threads have ended the loop."""
        return np.asarray(self._kept[:, OVER] == ENDED)

    @property
    def returned(self) -> NDArray[np.bool_]:
        """Which threads have returned from the function."""
        return np.asarray(self._kept[:, OVER] == GONE)

    @property
    def have_ended(self) -> bool:
        """Whether none is to go on."""
        return bool((self.ended | self.returned).all())

    def go_on(self) -> tuple[int, int]:
        """Let threads go on; return why they have stopped, and the thread that has."""
        kept = self._kept
        reason = rounds(self._native.deep)(
            self._native.address, kept.ctypes.data, kept.shape[1], len(kept), self._board.ctypes.data
        )
        if self._native.failed.taken():
            reason = OTHER
        return reason, int(self._board[WHO])

    def counted(self, thread: int) -> tuple[int, int | None]:
        """Return how many turns a thread has had that asks, and where its outermost loop with a condition began."""
        turns, began = self._kept[thread, [TURN, BEGAN]].tolist()
        return turns, None if began < 0 else began

    def count_again(self, thread: int, due: int) -> None:
        """Let a thread ask again when it has had some turns."""
        self._kept[thread, self._native.places["due"]] = due

    @property
    def many(self) -> int:
        """How many events there are in this part."""
        return int(self._board[COUNT])

    def make_room(self) -> None:
        """Make room for more events, at least as many again."""
        room = 2 * max(len(self._events), _EVENTS, len(self._slots))
        events = np.empty((room, len(EVENT)), np.int64)
        events[: self.many] = self._events[: self.many]
        self._events = events
        self._board[EVENTS] = events.ctypes.data
        self._board[LIMIT] = room - len(self._slots) - 1  # each may note one more in a round

    def done(self) -> NDArray[np.int64]:
        """Return all events of this part, (k, 6), which last until the next one begins."""
        events = self._events[: self.many]
        self._board[COUNT] = 0
        return events

    def undo(self) -> None:
        """Let threads be as they were when this part began."""
        self._kept[:] = self._held
