"""Several threads that run a loop, each a part of its turns at a time, so that what is noted of them stays little.

A part ends for all of them before the same turn of the outermost loop. What they did in it is handed on if it may be,
or else undone; then the interpreter goes on with the loop from there.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.memory.memory import Memory
from smemviz.engines.lockstep.python.one_thread.accesses import Accesses, NotTogetherError, OtherWayError, Pace

# The text of a loop: before a turn it may stop and tell which, and what of its range is left; what its variables hold.
Text = Generator[tuple[int, range | None, tuple[Any, ...]], None, tuple[bool, tuple[Any, ...]]]


@dataclass(frozen=True)
class Thread:
    """A thread in the text of a loop: the numbers ``left`` of a range, and what its variables held when it stopped.

    ``while_began`` is the machine's for the loops that it is in. One that ``has_returned`` has ended, too.
    """

    text: Text
    accesses: Accesses
    while_began: int | None
    left: range | None = None
    values: tuple[Any, ...] = ()
    has_ended: bool = False
    has_returned: bool = False


def run_together(
    machine: Machine,
    threads: list[Thread],
    loops: Sequence[tuple[int, int, int]],
    pace: Pace,
    undo: Undo,
) -> bool | None:
    """Run a loop in threads until all of them have ended; ``threads`` are then as they are behind it.

    Each does all turns of a part, and then the next thread.

    Returns False if they stopped on the way as they were before a turn, None if that is before the first one.

    Raises:
        OtherWayError: if it is worth being run in another way, from the first turn; nothing is done then.
    """
    from smemviz.engines.lockstep.python.one_thread.together.order import all_turns
    from smemviz.engines.lockstep.python.one_thread.together.requests import hand_on

    done: bool | None = None
    begin = most = machine.iterations
    while_began = machine.while_began
    last: float = 0
    while True:
        pace.begin(last)
        stopped = list(threads)
        try:
            for place, thread in enumerate(stopped):
                if not thread.has_ended:
                    machine.iterations = begin
                    stopped[place] = _went_on(machine, thread, pace)
                    thread.accesses.hand_on()
                    most = max(most, machine.iterations)
            if len(threads) == 1 and threads[0].accesses.have_no_order:
                threads[0].accesses.tell(*all_turns(threads[0].accesses))
            else:
                hand_on(machine, [thread.accesses for thread in threads], loops, undo.held)
        except NotTogetherError as error:
            machine.iterations, machine.while_began = begin, while_began
            undo.undo()
            if isinstance(error, OtherWayError) and done is None:
                raise
            return done
        pace.printed.show(machine)
        pace.adapt()
        done, begin, last, threads[:] = False, most, pace.stop, stopped
        for thread in threads:
            thread.accesses.start_over()
        if all(thread.has_ended for thread in threads):
            machine.while_began = while_began
            return True
        undo.hold()


def try_out(
    machine: Machine,
    threads: Sequence[Thread],
    pace: Pace,
    undo: Undo,
) -> None:
    """Run a loop in threads and undo what they did.

    Raises:
        OtherWayError: if they take so long that it is worth being run in machine code.
    """
    begin, while_began = machine.iterations, machine.while_began
    pace.begin(0)
    try:
        for thread in threads:
            machine.iterations = begin
            _went_on(machine, thread, pace)
    except NotTogetherError as error:
        if isinstance(error, OtherWayError):
            raise
    finally:
        machine.iterations, machine.while_began = begin, while_began
        undo.undo()


def _went_on(machine: Machine, thread: Thread, pace: Pace) -> Thread:
    """Run a thread until it stops or ends; the first one that stops says where the others do."""
    machine.while_began = thread.while_began
    try:
        pace.stop, left, values = next(thread.text)
        pace.is_open = False
        now = replace(thread, while_began=machine.while_began, left=left, values=values)
    except StopIteration as end:
        now = replace(thread, left=None, values=end.value[1], has_ended=True, has_returned=not end.value[0])
        if pace.is_open:
            pace.stop = pace.latest
    return now


class Undo:
    """What memories held before threads stored in them one after the other."""

    def __init__(self, memories: Sequence[Memory], most: int) -> None:
        """Hold nothing if that were more than ``most`` bytes."""
        self._memories = list(dict.fromkeys(memories))
        self.nbytes = sum(memory.data.nbytes for memory in self._memories)
        self.is_possible = self.nbytes <= most
        if self.is_possible:
            self.hold()

    def hold(self) -> None:
        """Hold what they have in them now."""
        self._copies = [(memory, memory.data.copy()) for memory in self._memories]

    @property
    def held(self) -> Mapping[Memory, NDArray[np.uint8]]:
        """The bytes that they had."""
        return dict(self._copies)

    @property
    def may_wait(self) -> bool:
        """Whether a thread may be waiting for what another stores."""
        return bool(self._copies)

    def undo(self) -> None:
        """Let memories hold that again."""
        for memory, data in self._copies:
            memory.data[:] = data
