"""A loop that threads run in order in machine code: what the interpreter does statement by statement, thread by thread.

Before each access to memory that others reach a thread waits until it is next, as in lockstep. So it does not matter
what threads do to each other's elements, and nothing has to be told apart afterwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.memory.memory import LocalMemory
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.one_thread.accesses import Accesses, Pace
from smemviz.engines.lockstep.python.one_thread.atoms import NEAR, Bound
from smemviz.engines.lockstep.python.one_thread.behind import Results, lanes_of, leave_behind
from smemviz.engines.lockstep.python.one_thread.entry import Entry, enter, entry_of
from smemviz.engines.lockstep.python.one_thread.run import Begun, can_run
from smemviz.engines.lockstep.python.one_thread.runner import due
from smemviz.engines.lockstep.python.one_thread.text.in_order import ENDS
from smemviz.engines.lockstep.python.one_thread.together.parts import Undo
from smemviz.engines.lockstep.python.one_thread.values import open_value, span_of, type_of
from smemviz.engines.lockstep.python.one_thread.written import Loop, Text, text_of
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.ranges import Range
from smemviz.engines.lockstep.values.typing import Value

if TYPE_CHECKING:
    from smemviz.engines.lockstep.python.one_thread.in_order.events import Events

_MOST = 512  # threads; more are interpreted as fast, as long as they do the same
_MOST_APART = 1 << 13  # threads, if few take part in a turn
_FEW = 3 / 4  # of those that began the loop
_WORTH = 128  # turns of a loop and those in it, in all launches, after which it is worth machine code
_EACH = 16  # turns each time for which it is worth to begin with
_FAILED = 1024  # turns for which a loop is interpreted that could not be run here
_OFTEN = 1 << 13  # turns of a thread after which they are counted
_FIRST_PART, _FASTER = 256, 4  # turns, and how many times as many the next part has at most
_FOR = 64  # threads that have the first part as it is; the more there are, the shorter it is
_ENOUGH = 1 << 19  # events in a part
_MOST_EVENTS = 1 << 22
_MOST_HELD = 1 << 26  # bytes of local arrays


@dataclass
class Seen:
    """How many turns a loop and those in it have had so far, in how many times that it was begun.

    ``threads`` took part in the turns that were interpreted, of as many as ``might`` have: those that began the loop.
    """

    turns: int = 0
    times: int = 0
    threads: int = 0
    might: int = 0


class Watch:
    """A loop that threads of a frame begin, as it is interpreted."""

    def __init__(self, frame: Frame, node: Loop) -> None:
        machine = frame.machine
        self._machine = machine
        self.seen: Seen = machine.known.loops.setdefault(("turns", id(frame.tree), node), Seen())
        self._began_with = frame.mask.count
        self._begin = machine.iterations, machine.interpreted, machine.took_part

    def is_worth(self, active: Mask) -> bool:
        """Tell whether the active threads are to go on with it in order."""
        seen, turns = self.seen, self._turns
        if not 0 < active.count <= _MOST_APART or seen.turns + turns < _WORTH:
            return False
        if turns < _EACH and (turns or seen.turns < _EACH * seen.times):
            return False
        threads, might = self._threads
        return active.count <= _MOST or seen.threads + threads <= _FEW * (seen.might + might)

    def turn(self, active: Mask) -> None:
        """Count a turn."""
        self._machine.interpreted += 1
        self._machine.took_part += active.count

    def end(self) -> None:
        """Keep what was seen for the next time."""
        seen, (threads, might) = self.seen, self._threads
        seen.times, seen.turns = seen.times + 1, seen.turns + self._turns
        seen.threads, seen.might = seen.threads + threads, seen.might + might

    @property
    def _turns(self) -> int:
        return self._machine.iterations - self._begin[0]

    @property
    def _threads(self) -> tuple[int, int]:
        """How many threads took part in turns this time, and of how many."""
        _, interpreted, took_part = self._begin
        might = (self._machine.interpreted - interpreted) * self._began_with
        return self._machine.took_part - took_part, might


def go_on_in_order(frame: Frame, node: Loop, left: Range | None, seen: Seen) -> Mask | Begun | None:
    """Let the active threads go on with what is ``left`` of a loop; of one with a condition that is nothing.

    Returns the threads that go on behind it; what is to be done by the interpreter if only the first turns could be
    done here, and None if that is all.
    """
    mask, variables, owners, machine = frame.mask, frame.variables, frame.owners, frame.machine
    slots = np.flatnonzero(mask.lanes)
    entry = entry_of(frame, node, int(slots[0]))
    ends = _ends_of(left, slots)
    if entry is None or ends is None:
        seen.turns = -_FAILED
        return None
    began, begin = machine.while_began, machine.iterations
    frame.variables, frame.owners = dict(entry.inner), defaultdict(lambda: mask)
    try:
        run = _run_of(frame, node, entry, slots)
        if run is None or not can_run(run.text.writer, variables, slots):
            seen.turns = -_FAILED
            return None
        run.put(entry, ends)
        has_ended = run.to_the_end()
        results = run.results
    finally:
        frame.variables, frame.owners, frame.mask = variables, owners, mask
        machine.while_began = began
    if not has_ended:
        seen.turns = -_FAILED
    if has_ended is None:
        machine.iterations = begin
        return None
    machine.iterations = run.threads.most("it")
    goes_on = leave_behind(frame, node, run.text.writer, slots, results)
    return goes_on if has_ended else run.begun(mask, left)


def _ends_of(left: Range | None, slots: NDArray[np.intp]) -> Sequence[Value] | None:
    """Return what is left of a range in some threads, nothing of no range, None where that is too far from 0."""
    if left is None:
        return ()
    own = [end[slots] if isinstance(end, np.ndarray) else end for end in left.ends]
    return left.ends if all(NEAR[0] <= np.min(end) and np.max(end) <= NEAR[1] for end in own) else None


def _run_of(frame: Frame, node: Loop, entry: Entry, slots: NDArray[np.intp]) -> _Run | None:
    """Return what runs a loop in threads that begin with an entry, None if that cannot be done."""
    for anew in (False, True):
        text = text_of(frame, node, entry, way="in order", anew=anew)
        if text is None:
            return None
        throughout = enter(frame, text.writer, frame.variables, entry.held)
        if throughout is not None and all(_is_like(bound, value, slots) for value, bound in throughout):
            return _Run(frame, text, slots, throughout)
        if not text.is_kept:
            break
    return None


def _is_like(bound: Bound, value: Value, slots: NDArray[np.intp]) -> bool:
    """Tell whether what is worth the same throughout a loop is as it was when that was written."""
    dtype = type_of(open_value(value, int(slots[0])))
    own = value[slots] if isinstance(value, np.ndarray) else value
    return dtype is not None and dtype == bound.dtype and span_of(own, dtype) == bound.span


class _Run:
    """Threads in some slots that run a text."""

    def __init__(
        self, frame: Frame, text: Text, slots: NDArray[np.intp], throughout: Sequence[tuple[Value, Bound]]
    ) -> None:
        from smemviz.engines.lockstep.python.one_thread.in_order.threads import Threads

        assert text.native is not None
        self.text = text
        self._machine = machine = frame.machine
        self._views = frame.variables
        self._slots = slots
        self.threads = Threads(text.native, slots, machine.while_began)
        for value, bound in throughout:
            self.threads.put(bound.text, value)
        self.threads.reach(text.writer.accesses, self._views)
        self._accesses = Accesses(machine, frame.mask, int(slots[0]), Pace(), may_wait=False)
        self._accesses.prepare(text.noted, self._views)
        memories = [self._views[name].memory for name in sorted(text.writer.stored)]
        self._undo = Undo([memory for memory in memories if isinstance(memory, LocalMemory)], _MOST_HELD)

    def put(self, entry: Entry, ends: Sequence[Value]) -> None:
        """Let threads begin with what they have, and with what is left of a range."""
        machine, writer = self._machine, self.text.writer
        for name, variable in writer.names.items():
            if isinstance(writer.kinds.get(name), np.dtype) and name in entry.held:
                self.threads.put(variable, entry.held[name])
        for name, end in zip(ENDS, ends, strict=False):
            self.threads.put(name, end)
        self.threads.put("it", machine.iterations)
        self.threads.put("due", due(machine, machine.iterations, _OFTEN))

    def to_the_end(self) -> bool | None:
        """Run until all threads have ended; return False if they stopped before, None if that is where they began.

        Nothing is done then of what threads did since.
        """
        if not self._undo.is_possible or self._machine.in_global.has_messages:
            return None
        done: bool | None = None
        stop = turns = max(1, _FIRST_PART * _FOR // max(_FOR, len(self._slots)))
        while True:
            self.threads.begin(stop)
            is_whole = self._run_part()
            events = self._events()
            if not is_whole:
                events.undo()
                self._undo.undo()
                self.threads.undo()
                return done
            events.hand_on()
            done = False
            if self.threads.have_ended:
                return True
            turns = max(1, int(turns * min(_FASTER, _ENOUGH / max(len(events), 1))))
            stop += turns
            self._undo.hold()

    def _events(self) -> Events:
        from smemviz.engines.lockstep.python.one_thread.in_order.events import Events

        memories = [self._views[access.name].memory for _, access in self.text.writer.sites]
        return Events(self._machine, self.threads.done(), self._slots, self._accesses, memories)

    def _run_part(self) -> bool:
        """Run until all threads stop or have ended; return whether they could."""
        from smemviz.engines.lockstep.python.one_thread.native import board

        machine, threads = self._machine, self.threads
        while True:
            reason, thread = threads.go_on()
            if reason == board.ALL:
                return True
            if reason == board.FULL:
                if 2 * threads.many > _MOST_EVENTS:
                    return False
                threads.make_room()
            elif reason == board.DUE:
                turns, machine.while_began = threads.counted(thread)
                if turns > machine.most_iterations:
                    return False
                threads.count_again(thread, due(machine, turns, _OFTEN))
            else:
                return False

    @property
    def results(self) -> Results:
        """Of each thread whether it goes on behind the loop, and its variables."""
        writer, threads = self.text.writer, self.threads
        columns = [threads.values(writer.variable(name)) for name in writer.results]
        values = list(zip(*columns, strict=True)) if columns else [()] * len(self._slots)
        return list(zip((~threads.returned).tolist(), values, strict=True))

    def begun(self, mask: Mask, left: Range | None) -> Begun:
        """Return what is left to the interpreter; a number that was the same for all in what was ``left`` is one."""
        threads, slots = self.threads, self._slots
        gone, ended = (lanes_of(mask, slots[which]) for which in (threads.ended | threads.returned, threads.ended))
        now = None if left is None else threads.left()
        if left is None or now is None:
            return Begun(mask.without(gone), mask.narrow(ended), None)
        going = int(np.flatnonzero(~(threads.ended | threads.returned))[0])
        ends: list[Value] = []
        for before, own in zip(left.ends, now, strict=True):
            each = np.ones(len(mask.lanes), np.int64)
            each[slots] = own
            ends.append(each if isinstance(before, np.ndarray) else int(own[going]))
        return Begun(mask.without(gone), mask.narrow(ended), Range(*ends))
