"""Which lanes of a warp run, in LLVM IR: those at the lowest block, unless they wait; and where they go next."""

from typing import Any

from llvmlite import ir

from smemviz.engines.lockstep.ptx.compiled import state as s
from smemviz.engines.lockstep.ptx.compiled.state_ir import BIT, LONG, WORD, StateIr, constant, vector


class LanesIr(StateIr):
    """Instructions that choose lanes and send them on.

    ``at`` is the address of the block of each lane and ``its_warp`` that of the columns of the warp; at ``choosing``
    lanes are chosen anew. Chosen ones are ``on``, ``mask`` has them as bits, ``limit`` is the lowest block of others.
    """

    function: Any
    at: Any
    its_warp: Any
    choosing: Any
    on: Any
    mask: Any
    limit: Any
    guard: Any

    @property
    def running(self) -> Any:
        """The lanes that run and for which the instruction's guard holds, as bits."""
        if self.guard is None:
            return self.mask
        return self.b.and_(self.mask, self.b.bitcast(self.guard, WORD))

    def choose_lanes(self, end: int) -> Any:
        """Let the lanes at the lowest block run, and return its number; nobody runs where it is the end."""
        places = self.b.load(self.at, typ=vector(WORD), align=4)
        nowhere = constant(WORD, end)
        alive = self.b.icmp_unsigned("<", places, nowhere)
        self._alive = self.b.bitcast(alive, WORD)
        self.set_of_warp(s.ALIVE, self._alive)
        waiting = self.b.or_(self.get_of_warp(s.WAITING), self.get_of_warp(s.WAITING_FOR_WARP))
        places = self.b.select(self.b.bitcast(waiting, vector(BIT)), nowhere, places)
        lowest = self.reduced("umin", places)
        self.on = self.b.icmp_unsigned("==", places, self.splat(lowest))
        self.mask = self.b.bitcast(self.on, WORD)
        self.limit = self.b.zext(self.reduced("umin", self.b.select(self.on, nowhere, places)), LONG)
        return self.b.zext(lowest, LONG)

    def get_of_warp(self, column: int) -> Any:
        return self.b.trunc(self.b.load(self.place(self.its_warp, 8 * column), typ=LONG, align=8), WORD)

    def set_of_warp(self, column: int, value: Any) -> None:
        self.b.store(self.b.zext(value, LONG), self.place(self.its_warp, 8 * column), align=8)

    def note_end(self, ends: Any = None) -> None:
        """Note that lanes end at the block that runs, where that is so."""
        latest, last = self.number_in_state(s.LATEST_EXIT), self.number_in_state(s.LAST)
        later = self.b.icmp_signed(">", last, latest)
        later = later if ends is None else self.b.and_(later, ends)
        self.set_in_state(s.LATEST_EXIT, self.b.select(later, last, latest))

    def send(self, to: Any) -> None:
        """Send the lanes that run to a block."""
        targets = to if isinstance(to.type, ir.VectorType) else self.splat(self.b.trunc(to, WORD))
        before = self.b.load(self.at, typ=vector(WORD), align=4)
        self.b.store(self.b.select(self.on, targets, before), self.at, align=4)

    def wait_for_block(self, barrier: int, following: int) -> None:
        """Let lanes wait at a barrier of their block, which leaves the function."""
        self.set_in_state(s.BARRIER, LONG(barrier))
        self.set_of_warp(s.WAITING, self.b.or_(self.get_of_warp(s.WAITING), self.mask))
        self.send(constant(WORD, following))
        self.b.ret(LONG(s.WAIT))

    def wait_for_warp(self, following: int) -> None:
        """Let lanes pass the barrier of their warp where all are there, and wait for the others else."""
        together, apart = self.function.append_basic_block("together"), self.function.append_basic_block("apart")
        waiting = self.b.or_(self.get_of_warp(s.WAITING_FOR_WARP), self.mask)
        self.b.cbranch(self.b.icmp_unsigned("==", waiting, self._alive), together, apart)
        self.b.position_at_end(apart)
        self.set_of_warp(s.WAITING_FOR_WARP, waiting)
        self.send(constant(WORD, following))
        self.b.branch(self.choosing)
        self.b.position_at_end(together)
        self.set_of_warp(s.WAITING_FOR_WARP, WORD(0))
        phases = self.place(self.its_warp, 8 * s.PHASES)
        self.b.store(self.b.add(self.b.load(phases, typ=LONG, align=8), LONG(1)), phases, align=8)
        self.send(constant(WORD, following))
        self.b.branch(self.choosing)
