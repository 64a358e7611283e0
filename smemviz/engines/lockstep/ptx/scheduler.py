"""Running the blocks of an entry: which threads go next, where they part and meet, and who waits at which barrier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.code.blocks import Block
from smemviz.engines.lockstep.ptx.code.module import PtxError
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.steps import Step
from smemviz.engines.lockstep.ptx.waiting import RUNNING, Waiting
from smemviz.engines.lockstep.running_launch import LONG_LAUNCH_SECONDS, StoppedError, TooLongError
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.messages import english

_VISITS_BEFORE_OTHERS = 64  # visits of a block that may wait for others, before those others go first
MOST_VISITS = 20_000  # of such blocks while nothing in memory changes: what they wait for does not come
_FEW_VISITS, _MANY_LANES = 600, 4096
FIRST_STEP = 256  # loops that are no longer are not looked at
_MOST_LOOKS = 256  # after each state that is kept


class Scheduler:
    """Runs one batch. Of all threads that can run those at the lowest block go first; see ``blocks``.

    Threads that wait for others in a loop, on memory, let these go first after a while.
    """

    def __init__(self, machine: Machine, steps: Sequence[Step], most_steps: int, *, may_leave: bool = False) -> None:
        """One that ``may_leave`` raises ``TooLongError`` where few threads run at once, or after a second."""
        self._leaves_at = perf_counter() + LONG_LAUNCH_SECONDS if may_leave else None
        self._lanes = 0
        self._machine = machine
        self._steps = steps
        self._end = len(self._steps)
        self._most_steps = most_steps
        self._returns = returning([step.block for step in steps])
        self.steps = 0

    def run(self) -> None:
        """Run every thread of the batch to its end.

        Raises:
            StoppedError: when a device would have stopped the kernel.
            PtxError: when it does not end.
        """
        m = self._machine
        self._at = np.where(m.live.lanes, 0, self._end).astype(np.int32)
        self._waiting = Waiting(m)
        self._visits: Counter[int] = Counter()
        self._changes = self._in_vain = 0
        self._cycle = Cycle(m, self.steps)
        self._together: int | None = 0  # the block that every thread alive is at
        m.run_all()
        while self._choose():
            self._visit()

    def _choose(self) -> bool:
        """Let the threads at the lowest block run; returns whether there are any."""
        m = self._machine
        if self._together is not None:
            return self._together < self._end
        waiting = self._waiting
        while True:
            runnable = np.where(waiting.why == RUNNING, self._at, self._end) if waiting.any else self._at
            lowest = int(runnable.min())
            if lowest < self._end:
                break
            if not waiting.any:
                return False
            waiting.release_stuck()
        lanes = np.flatnonzero(runnable == lowest)
        if len(lanes) == m.live.count:
            self._together = lowest
            m.run_all()
        else:
            m.set_lanes(lanes)
            self._now = lowest
        return True

    def _visit(self) -> None:
        """Run one block for the threads chosen, and send them on."""
        m = self._machine
        number = self._now if self._together is None else self._together
        step = self._steps[number]
        if self.steps >= FIRST_STEP and self._look_for_circles(number, step):
            return
        for action in step.actions:
            action(m)
        self._count(number, step)
        block = step.block
        if block.end is None:
            self._go(block.following)
        elif step.barrier is not None:
            self._wait(step)
        elif block.end.opcode == "brx":
            assert step.index is not None
            index = m.one_each(step.index(m)).astype(np.int64)
            self._go_apart(np.array(block.targets, np.int32)[np.minimum(index, len(block.targets) - 1)])
        elif block.end.opcode == "trap":
            self._trap(step)
        else:
            self._branch(step)

    def _look_for_circles(self, number: int, step: Step) -> bool:
        """Let others go first where the threads chosen go in circles; returns whether they wait for these now.

        Raises:
            StoppedError: where that has been of no use.
        """
        m = self._machine
        if not self._cycle.closes(self.steps, number, m.lanes, self._at):
            return False
        if self._together is not None or self._cycle.repeats(self._at):
            self._deadlock(step)
        self._waiting.let_others_go(m.lanes)
        return True

    def _count(self, number: int, step: Step) -> None:
        self.steps += 1
        self._machine.pace.look()
        if self._leaves_at is not None:
            self._lanes += self._machine.active
            few = self.steps > _FEW_VISITS and self._lanes < self.steps * _MANY_LANES
            if few or perf_counter() > self._leaves_at:
                raise TooLongError
        if step.waits:
            self._visits[number] += 1
            if self._machine.changes != self._changes:
                self._changes, self._in_vain = self._machine.changes, 0
            self._in_vain += 1
            if self._in_vain > MOST_VISITS:
                self._deadlock(step)
            if self._together is None and self._visits[number] % _VISITS_BEFORE_OTHERS == 0:
                self._waiting.let_others_go(self._machine.lanes)
        if self.steps > self._most_steps:
            raise not_ended(step.block, self._most_steps)

    def _branch(self, step: Step) -> None:
        m, block = self._machine, step.block
        assert block.end is not None
        target = block.targets[0]
        ends = block.end.opcode != "bra"
        if step.guard is None:
            self._go(target, ends=ends)
            return
        taken = step.guard(m)
        if block.end.guard is not None and block.end.guard.negated:
            taken = ~taken
        if taken.ndim:
            count = int(np.count_nonzero(taken))
            if 0 < count < taken.size:
                each = m.one_each(taken)
                if ends:
                    self._finish(m.threads[each])
                self._go_apart(np.where(each, target, block.following).astype(np.int32))
                return
            taken = count > 0
        self._go(target if taken else block.following, ends=ends and bool(taken))

    def _go(self, to: int, *, ends: bool = False) -> None:
        """Send the threads chosen to one block."""
        m = self._machine
        ends = ends or to in self._returns
        to = self._end if ends else to
        if self._together is not None and not ends:
            self._together = to
            return
        lanes = m.threads
        if self._together is None or ends:
            self._at[lanes] = to
        if ends:
            self._together = None
            self._finish(lanes)

    def _go_apart(self, to: NDArray[np.int32]) -> None:
        """Send each of the threads chosen to a block of its own."""
        lanes = self._machine.threads
        self._together = None
        self._at[lanes] = to
        if self._returns:
            ending = np.isin(to, list(self._returns))
            if ending.any():
                self._finish(lanes[ending])

    def _finish(self, lanes: NDArray[np.intp]) -> None:
        m = self._machine
        live = m.live.lanes.copy()
        live[lanes] = False
        m.live = Mask(live, int(np.count_nonzero(live)))
        self._at[lanes] = self._end
        if self._waiting.any:
            self._waiting.release()

    def _wait(self, step: Step) -> None:
        """Let the threads chosen wait at a barrier; where all of the batch are there, they pass it at once."""
        barrier = step.barrier
        assert barrier is not None
        if self._together is not None:
            if self._waiting.pass_together(barrier):
                self._together = step.block.following
                return
            self._at[self._machine.threads] = self._together
            self._together = None
        lanes = self._machine.threads
        self._at[lanes] = step.block.following
        self._waiting.arrive(lanes, barrier, step.block.place)
        self._waiting.release()

    def _deadlock(self, step: Step) -> None:
        """End the launch, in which no thread that is alive can do anything but wait."""
        m = self._machine
        line, column = m.sites.line_of(step.block.place)
        m.find("deadlock", line, column, m.threads)
        raise StoppedError

    def _trap(self, step: Step) -> None:
        m = self._machine
        line, column = m.sites.line_of(step.block.place)
        m.find("trap", line, column, m.threads)
        raise StoppedError


def not_ended(block: Block, most_steps: int) -> PtxError:
    """Return the error of a launch that has run so many steps and is at a block."""
    what = english(
        "the loops of this launch ran {most:,} steps and this one has not ended; check its condition", most=most_steps
    )
    return PtxError(what, block.place)


def returning(blocks: Sequence[Block]) -> set[int]:
    """Return the blocks that do nothing and end the thread: who gets there has ended."""
    ending: set[int] = set()
    for number in reversed(range(len(blocks))):
        block = blocks[number]
        end = block.end
        if block.body or (end is not None and (end.guard is not None or end.opcode not in ("bra", "ret", "exit"))):
            continue
        to = block.following if end is None else block.targets[0] if end.opcode == "bra" else -1
        if (end is not None and end.opcode != "bra") or to in ending:
            ending.add(number)
    return ending


class Cycle:
    """Keeps the state of a batch ever more rarely, 256 steps from its start, 512 and so on, to compare later ones."""

    def __init__(self, machine: Machine, start: int) -> None:
        self._machine = machine
        self._start = start
        self._after = FIRST_STEP
        self._block = -1
        self._looks = 0
        self._state: tuple[Any, ...] = ()
        self._values: list[Any] = []
        self._telling = 0
        self._states: set[tuple[int, bytes]] = set()

    def closes(self, step: int, block: int, lanes: NDArray[np.intp] | None, positions: NDArray[np.int32]) -> bool:
        """Tell whether all is as it was when a step began before: those that run, who is where, and every value."""
        m = self._machine
        if block == self._block and self._looks and self._state[0] == m.changes:
            self._looks -= 1
            return self._is_as_then(lanes, positions)
        if step - self._start >= self._after:
            self._after *= 2
            self._block, self._looks = block, _MOST_LOOKS
            self._state = (m.changes, lanes, positions.copy(), m.local_views[1].copy())
            self._values = [value.copy() for value in m.values]
        return False

    def repeats(self, positions: NDArray[np.int32]) -> bool:
        """Tell whether threads were at the same places with the same memory when a circle was closed before.

        Those that go in circles let others go first; where that has changed nothing, no thread can go on.
        """
        state = self._machine.changes, positions.tobytes()
        known = state in self._states
        self._states.add(state)
        return known

    def _is_as_then(self, lanes: NDArray[np.intp] | None, positions: NDArray[np.int32]) -> bool:
        _, lanes_then, positions_then, local = self._state
        if not (_same(lanes, lanes_then) and np.array_equal(positions, positions_then)):
            return False
        values = self._machine.values
        # What told them apart the last time, the counter of a loop, most likely does again.
        for number in (self._telling, *range(len(values))) if values else ():
            if not _same(values[number], self._values[number]):
                self._telling = number
                return False
        return np.array_equal(self._machine.local_views[1], local)


def _same(left: Any, right: Any) -> bool:
    """Tell whether two values are the same to the bit; one that is not a number is itself."""
    if left is None or right is None:
        return left is right
    return bool(left.shape == right.shape and left.tobytes() == right.tobytes())
