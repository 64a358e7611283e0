"""One thread that runs a loop in machine code as if it ran the text; this imports llvmlite, so import it late."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.python.one_thread.accesses import Accesses, NotTogetherError, OtherWayError, Pace
from smemviz.engines.lockstep.python.one_thread.atoms import Scope
from smemviz.engines.lockstep.python.one_thread.native.board import (
    BEGAN,
    DUE,
    END,
    LEAST,
    LEFT_OF,
    LINE,
    MOST,
    OTHER,
    PRINT,
    RETURNED,
    SCOPE,
    STOP,
    TURN,
)
from smemviz.engines.lockstep.python.one_thread.native.compiled import Native
from smemviz.engines.lockstep.python.one_thread.native.kinds import BIT, INT, REAL, Complex, Unsigned, cells_of
from smemviz.engines.lockstep.python.one_thread.native.translated import BUFFERS
from smemviz.engines.lockstep.python.one_thread.runner import Runner, due

_OFTEN = 1 << 13  # turns after which what was noted is taken, and they are counted
_SPARE = 64  # turns of the loops around one that are begun or ended then
_NEVER = 1 << 62
_TYPES = {BIT: np.int64, INT: np.int64, Unsigned: np.uint64, REAL: np.float64}


@dataclass
class Buffers:
    """What a thread notes before it is taken: of threads that run one after the other, the same."""

    native: Native
    arrays: dict[str, NDArray[np.int64]] = field(init=False)

    def __post_init__(self) -> None:
        """Have room for as many turns as are run at once."""
        room = (_OFTEN + _SPARE) * self.native.items
        self.arrays = {name: np.empty(room, np.int64) for name in BUFFERS}

    def loop(self, *given: Any) -> Loop:
        """Return a loop of these."""
        return Loop(self, *given)

    def take(self, kept: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return copies of what was noted, and let the next items be the first."""
        taken = []
        for name, array in self.arrays.items():
            place = self.native.places[name]
            taken.append(array[: kept[place]].copy())
            kept[place] = 0
        return taken


@dataclass(frozen=True)
class Loop:
    """A loop in machine code with what it needs of the launch; ``results`` are the variables that it assigns."""

    buffers: Buffers
    machine: Machine
    runner: Runner
    scopes: Sequence[Scope]
    accesses: Accesses
    pace: Pace
    results: Sequence[str]
    unassigned: Any
    constants: Mapping[str, Any]

    def run(self, given: Mapping[str, Any]) -> Generator[Any, None, tuple[bool, tuple[Any, ...]]]:
        """Run it in a thread with these variables, and stop on the way as the text does."""
        native, machine = self.buffers.native, self.machine
        kept = np.zeros(native.size, np.int64)
        address = kept.ctypes.data
        for name, value in given.items():
            self._put(kept, name, value)
        at_due, at_it = native.places["due"], native.places["it"]
        kept[at_it], kept[at_due] = machine.iterations, due(machine, machine.iterations, _OFTEN)
        for name, place in BUFFERS.items():
            kept[place] = self.buffers.arrays[name].ctypes.data
        while True:
            stop = self.pace.stop
            kept[MOST] = _NEVER if stop > _NEVER else stop
            kept[BEGAN] = -1 if machine.while_began is None else machine.while_began
            reason = native.run(address)
            if native.failed.taken():
                raise OtherWayError
            machine.while_began = None if kept[BEGAN] < 0 else int(kept[BEGAN])
            self.accesses.take(*self.buffers.take(kept))
            scope = int(kept[SCOPE])
            runner = self.runner.within(self.scopes[scope - 1].frame) if scope else self.runner
            if reason == PRINT:
                parts, names = native.prints[int(kept[LINE])]
                runner.prints(self.constants[parts], *(self._get(kept, name) for name in names))
                continue
            if reason == DUE:
                kept[at_due] = runner.due(int(kept[TURN]), int(kept[LINE]), _OFTEN)
                continue
            machine.iterations = int(kept[at_it])
            values = tuple(self._get(kept, name) for name in self.results)
            if reason in (END, RETURNED):
                self.pace.least = max(self.pace.least, int(kept[LEAST]))
                return reason == END, values
            if reason != STOP:
                raise OtherWayError if reason == OTHER else NotTogetherError
            yield int(kept[TURN]), self._left(kept) if kept[LEFT_OF] else None, values

    def _left(self, kept: NDArray[np.int64]) -> range:
        place = self.buffers.native.places["=left"]
        start, length, step = kept[place : place + 3].tolist()
        return range(start, start + length * step, step)

    def _put(self, kept: NDArray[np.int64], name: str, value: Any) -> None:
        native = self.buffers.native
        place = native.places.get(name)
        if place is None or value is self.unassigned:
            return
        kind = native.kinds[name]
        kept[place + len(cells_of(kind))] = 1
        if isinstance(value, memoryview | np.ndarray):
            kept[place] = np.asarray(value).ctypes.data
        elif kind is Complex:
            kept.view(np.float64)[place : place + 2] = value.real, value.imag
        else:
            kept.view(_TYPES[kind])[place] = value

    def _get(self, kept: NDArray[np.int64], name: str) -> Any:
        native = self.buffers.native
        place = native.places.get(name)
        if place is None or not kept[place + len(cells_of(native.kinds[name]))]:
            return self.unassigned
        kind = native.kinds[name]
        if kind is Complex:
            return complex(*kept.view(np.float64)[place : place + 2].tolist())
        value = kept.view(_TYPES[kind])[place].item()
        return bool(value) if kind is BIT else value
