"""The threads of a batch that wait: at a barrier of their block, at one of their warp, or for others to go first.

And what such a barrier is in PTX: who waits for whom, and what ``barrier.red`` gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.code.module import Instruction, Number, Operand, Pair, Place, PtxError, Value
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.registers import Read, Write, read, write
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.recordings.data import WARP_SIZE

RUNNING, ASLEEP, WARP, BLOCK = 0, 1, 2, 3  # a barrier of a block with number n is BLOCK + n
BARRIERS = 17  # of a block: 16 with a number, and that of its cluster
_OF_CLUSTER = 16


class Waiting:
    """Who waits for what, one code for each thread of the batch."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.why = np.zeros(machine.count, np.int32)
        self.any = False
        # For how many threads, or which lanes, one waits; who has arrived and gone on; where; what it brings.
        self._awaited = np.zeros(machine.count, np.int64)
        self._arrived = np.zeros((machine.shape[0], BARRIERS), np.int64)
        self._place = np.zeros(machine.count, np.int32)
        self._test = np.zeros(machine.count, np.bool_)
        # Who was alive when the first thread came to the barrier that a block waits at now.
        self._alive_then = np.zeros(machine.count, np.bool_)
        self._places: list[Place] = []
        self._barriers: list[Barrier] = []

    def pass_together(self, barrier: Barrier) -> bool:
        """Let all threads alive pass a barrier that they have come to at once; returns whether that is all there is."""
        m = self._machine
        if barrier.number is None:
            m.hazards.syncwarp(m.mask, m.live)
            return True
        if barrier.arrives or barrier.count is not None:
            return False
        self._pass(m.mask, int(m.one_each(barrier.number(m))[0]))
        if barrier.reduction is not None:
            assert barrier.test is not None
            self._deliver(barrier, m.one_each(barrier.test(m)))
        return True

    def arrive(self, lanes: NDArray[np.intp], barrier: Barrier, place: Place) -> None:
        """Let threads wait at a barrier, or count them there and let them go on."""
        m = self._machine
        if barrier.number is None:
            assert barrier.members is not None
            self.why[lanes] = WARP
            self._awaited[lanes] = barrier.members(m)
        else:
            number = m.one_each(barrier.number(m)).astype(np.int32)
            awaited = m.one_each(barrier.count(m)).astype(np.int64) if barrier.count else 0
            if barrier.arrives:
                np.add.at(self._arrived, (lanes // m.shape[1], number), 1)
                if m.pipelines:
                    m.pipelines.arrive_at_barrier(lanes, int(number[0]))
                return
            self._note_alive(lanes)
            self.why[lanes] = BLOCK + number
            self._awaited[lanes] = awaited
            self._test[lanes] = m.one_each(barrier.test(m)) if barrier.test else False
        self._place[lanes] = len(self._places)
        self._places.append(place)
        self._barriers.append(barrier)
        self.any = True

    def _note_alive(self, lanes: NDArray[np.intp]) -> None:
        slots = self._machine.shape[1]
        waits = np.asarray((self.why >= BLOCK).reshape(-1, slots).any(axis=1))
        first = np.unique(lanes // slots)
        first = first[~waits[first]]
        self._alive_then.reshape(-1, slots)[first] = self._machine.live.lanes.reshape(-1, slots)[first]

    def let_others_go(self, lanes: NDArray[np.intp] | None) -> None:
        """Put threads to sleep until no other can run."""
        if lanes is not None:
            self.why[lanes] = ASLEEP
            self.any = True

    def release(self) -> None:
        """Let threads go on whose barrier has all the threads that it waits for."""
        self._release_warps()
        slots = self._machine.shape[1]
        for number in np.unique(self.why[self.why >= BLOCK]):
            here = (self.why == number).reshape(-1, slots)
            live = self._machine.live.lanes.reshape(-1, slots)
            awaited = np.where(here, self._awaited.reshape(-1, slots), 0).max(axis=1)
            count = here.sum(axis=1) + self._arrived[:, number - BLOCK]
            everyone = (here | ~live).all(axis=1)
            if number == BLOCK + _OF_CLUSTER and self._machine.cluster_size > 1:
                everyone = everyone[self._machine.cluster_rows].all(axis=1)
            full = np.asarray(np.where(awaited > 0, count >= awaited, everyone) & here.any(axis=1))
            if full.any():
                self._let_pass(np.flatnonzero((here & full[:, None]).reshape(-1)))
                self._arrived[full, number - BLOCK] = 0
        self.any = bool(self.why.any())

    def release_stuck(self) -> None:
        """Go on where no thread can run: wake those that sleep, else let a barrier go that others never reach."""
        asleep = self.why == ASLEEP
        if asleep.any():
            self.why[asleep] = RUNNING
        else:
            first = int(np.flatnonzero(self.why)[0])
            slots = self._machine.shape[1]
            group = slots if self.why[first] >= BLOCK else WARP_SIZE
            start = first // group * group
            near = np.arange(start, start + group)
            stuck = near[self.why[near] == self.why[first]]
            elsewhere = near[(self.why[near] != self.why[first]) & self._machine.live.lanes[near]]
            self._divergence(stuck, elsewhere)
            self._let_pass(stuck)
        self.any = bool(self.why.any())

    def _release_warps(self) -> None:
        waits = (self.why == WARP).reshape(-1, WARP_SIZE)
        if not waits.any():
            return
        live = self._machine.live.lanes.reshape(-1, WARP_SIZE)
        words = [np.packbits(flags, axis=1, bitorder="little").view("<u4").astype(np.int64) for flags in (waits, live)]
        here, alive = (np.repeat(word, WARP_SIZE, axis=1) for word in words)
        awaited = self._awaited.reshape(-1, WARP_SIZE) & alive
        free = np.flatnonzero((waits & (here & awaited == awaited)).reshape(-1))
        if len(free):
            m = self._machine
            lanes = np.zeros(m.count, np.bool_)
            lanes[free] = True
            m.hazards.syncwarp(Mask(lanes, len(free)), m.live)
            self.why[free] = RUNNING

    def _let_pass(self, lanes: NDArray[np.intp]) -> None:
        """Let threads pass the barrier they wait at, the same for all."""
        m = self._machine
        code = int(self.why[lanes[0]])
        self.why[lanes] = RUNNING
        on = np.zeros(m.count, np.bool_)
        on[lanes] = True
        mask = Mask(on, len(lanes))
        if code == WARP:
            m.hazards.syncwarp(mask, m.live)
            return
        self._check_places(lanes)
        self._pass(mask, code - BLOCK)
        barrier = self._barriers[self._place[lanes[0]]]
        if barrier.reduction is not None:
            before = m.lanes
            m.set_lanes(lanes)
            self._deliver(barrier, self._test[lanes])
            m.set_lanes(before)

    def _pass(self, mask: Mask, number: int) -> None:
        m = self._machine
        if m.pipelines:
            m.pipelines.barrier(mask.lanes, number, of_cluster=number == _OF_CLUSTER)
        m.hazards.barrier(mask, m.live)
        m.log.barrier(mask)

    def _deliver(self, barrier: Barrier, test: NDArray[np.bool_]) -> None:
        """Write what a barrier finds in all threads of each block."""
        m = self._machine
        blocks = m.threads // m.shape[1]
        yes = np.bincount(blocks, test, minlength=m.shape[0]).astype(np.uint32)
        there = np.bincount(blocks, minlength=m.shape[0])
        result: Value = {"popc": yes, "and": yes == there, "or": yes > 0}[barrier.reduction or ""]
        assert barrier.result is not None
        barrier.result(m, m.as_active(result[blocks]))

    def _check_places(self, lanes: NDArray[np.intp]) -> None:
        """Threads of one block that pass a barrier from several places of the text are a finding."""
        m = self._machine
        awaited = self._awaited[lanes]
        for block in np.unique(lanes // m.shape[1]):
            own = lanes[lanes // m.shape[1] == block]
            places = {self._places[number] for number in np.unique(self._place[own])}
            if awaited.any():
                continue
            mine = np.arange(block * m.shape[1], (block + 1) * m.shape[1])
            gone = mine[self._alive_then[mine] & ~m.live.lanes[mine]]
            if len(gone):
                self._divergence(own, gone)
                return
            if len(places) > 1:
                first = self._place[own] == self._place[own[0]]
                self._divergence(own[first], own[~first])
                return

    def _divergence(self, present: NDArray[np.intp], missing: NDArray[np.intp]) -> None:
        m = self._machine
        line, column = m.sites.line_of(self._places[self._place[present[0]]])
        facts = {
            "code": "__syncwarp()" if self.why[present[0]] == WARP else "__syncthreads()",
            "present": len(present),
            "missing": len(missing),
        }
        m.find("barrier_divergence", line, column, missing if len(missing) else present, **facts)


@dataclass(frozen=True)
class Barrier:
    """A barrier instruction. ``number`` is which of a block's it is, None for one of a warp.

    ``count`` is for how many threads it waits, None for all of the block; ``members`` the lanes that a warp's is for.
    With ``arrives`` a thread goes on at once. ``reduction`` is what ``result`` gets of ``test`` in all threads.
    """

    number: Read | None
    count: Read | None = None
    members: Read | None = None
    arrives: bool = False
    reduction: str | None = None
    test: Read | None = None
    result: Write | None = None


def barrier_of(kernel: Kernel, instruction: Instruction) -> Barrier:
    """Return a barrier instruction made ready.

    Raises:
        PtxError: for one that is not executed.
    """
    if instruction.guard is not None:
        raise PtxError("a barrier under a condition is not executed", instruction.place)
    operands = instruction.operands
    if instruction.has("warp"):
        return Barrier(None, members=read(kernel, operands[0], "u32"))
    if instruction.has("cluster"):
        # Who has arrived goes on, and all meet where they wait.
        return Barrier(read(kernel, Number(_OF_CLUSTER), "u32"), arrives=instruction.has("arrive"))
    if not instruction.has("red"):
        number, *count = operands or (Number(0),)
        return Barrier(read(kernel, number, "u32"), _threads(kernel, count), arrives=instruction.has("arrive"))
    what = instruction.one_of("popc", "and", "or")
    destination, number, *count, test = operands
    if isinstance(destination, Pair):
        raise PtxError(f"{instruction.text} is not executed", instruction.place)
    return Barrier(
        read(kernel, number, "u32"),
        _threads(kernel, count),
        reduction=what,
        test=read(kernel, test, "pred"),
        result=write(kernel, destination, "u32" if what == "popc" else "pred"),
    )


def _threads(kernel: Kernel, count: Sequence[Operand]) -> Read | None:
    """Return what reads for how many threads a barrier waits, None where it does not say."""
    return read(kernel, count[0], "u32") if count else None
