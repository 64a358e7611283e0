"""Machine code that lets threads go on whose access comes first; this imports llvmlite, so import it late."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir

from smemviz.engines.lockstep.python.one_thread.native.board import (
    ALL,
    COUNT,
    FULL,
    LIMIT,
    NOW,
    OVER,
    ROW,
    STOP,
    WAIT,
    WHEN,
    WHO,
)
from smemviz.engines.lockstep.python.one_thread.native.kinds import INT
from smemviz.engines.lockstep.python.one_thread.native.module import engine_of

_NUMBERS = INT.as_pointer()
_LOOP = ir.FunctionType(INT, [_NUMBERS])


def rounds(deep: int) -> Callable[[int, int, int, int, int], int]:
    """Return the machine code: ``rounds(loop, kept, size, threads, board)`` returns why it stopped.

    ``loop`` is the address of a loop's machine code, in which ``deep`` numbers tell when an access comes; ``kept`` is
    that of what all threads keep, ``size`` numbers each.
    Of the threads that are not over those go on whose access comes first, one after the other, until one needs
    something, all are over, or the board is full.
    """
    return _compiled(max(deep, 1))[0]


@cache
def _compiled(deep: int) -> tuple[Callable[[int, int, int, int, int], int], Any]:
    engine = engine_of(str(_written(deep)))
    run = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5)(engine.get_function_address("rounds"))
    return run, engine


class _Writer:
    """Writes the function, whose variables are in memory."""

    def __init__(self, deep: int) -> None:
        self.deep = deep
        self.module = ir.Module("rounds")
        self.function = ir.Function(self.module, ir.FunctionType(INT, [INT] * 5), "rounds")
        self.builder = ir.IRBuilder(self.block())
        self.found, *self._numbers = (self.builder.alloca(INT) for _ in range(3))
        self.loop, self.kept, self.size, self.threads, self.board = self.function.args

    def block(self) -> ir.Block:
        """Return a block that comes next."""
        return self.function.append_basic_block()

    def number(self, value: int) -> ir.Value:
        """Return a number that is written out."""
        return ir.Constant(INT, value)

    def at(self, base: ir.Value, place: ir.Value | int) -> ir.Value:
        """Return the address of a number behind one."""
        index = self.number(place) if isinstance(place, int) else place
        return self.builder.gep(self.builder.inttoptr(base, _NUMBERS), [index])

    def load(self, base: ir.Value, place: ir.Value | int) -> ir.Value:
        """Load a number."""
        return self.builder.load(self.at(base, place))

    def thread(self, number: ir.Value) -> ir.Value:
        """Return the address of what a thread keeps."""
        return self.builder.add(self.kept, self.builder.mul(self.builder.mul(number, self.size), self.number(8)))

    def each(self, first: ir.Value, behind: ir.Block, do: Callable[[ir.Value, ir.Block], None]) -> None:
        """Do something with each thread from the first on, and go on behind; it ends in the next one's block."""
        at, head, body, step = self._numbers.pop(), self.block(), self.block(), self.block()
        self.builder.store(first, at)
        self.builder.branch(head)
        self.builder = ir.IRBuilder(head)
        number = self.builder.load(at)
        self.builder.cbranch(self.builder.icmp_signed("<", number, self.threads), body, behind)
        self.builder = ir.IRBuilder(body)
        do(number, step)
        self.builder = ir.IRBuilder(step)
        self.builder.store(self.builder.add(number, self.number(1)), at)
        self.builder.branch(head)
        self.builder = ir.IRBuilder(behind)

    def compare(self, left: ir.Value, right: ir.Value, less: ir.Block, equal: ir.Block, more: ir.Block) -> None:
        """Go on by when two accesses come, both as addresses of the first of their numbers."""
        for place in range(self.deep):
            a, b = self.load(left, place), self.load(right, place)
            differ, same = self.block(), self.block() if place < self.deep - 1 else equal
            self.builder.cbranch(self.builder.icmp_signed("==", a, b), same, differ)
            self.builder = ir.IRBuilder(differ)
            self.builder.cbranch(self.builder.icmp_signed("<", a, b), less, more)
            self.builder = ir.IRBuilder(same)

    def when(self, number: ir.Value) -> ir.Value:
        """Return the address of when the access of a thread comes."""
        return self.builder.add(self.thread(number), self.number(8 * WHEN))


def _written(deep: int) -> ir.Module:
    """Write the function."""
    w = _Writer(deep)
    best, last = w.found, w.builder.add(w.board, w.number(8 * NOW))
    again, full, room, found = w.block(), w.block(), w.block(), w.block()
    w.builder.branch(again)
    w.builder = ir.IRBuilder(again)
    w.builder.cbranch(w.builder.icmp_signed(">", w.load(w.board, COUNT), w.load(w.board, LIMIT)), full, room)
    ir.IRBuilder(full).ret(w.number(FULL))
    w.builder = ir.IRBuilder(room)
    w.builder.store(w.number(-1), best)

    def look(number: ir.Value, following: ir.Block) -> None:
        """Keep the first of the threads whose access comes first."""
        going, other, take = w.block(), w.block(), w.block()
        is_over = w.builder.icmp_signed("!=", w.load(w.thread(number), OVER), w.number(0))
        w.builder.cbranch(is_over, following, going)
        w.builder = ir.IRBuilder(going)
        known = w.builder.load(best)
        w.builder.cbranch(w.builder.icmp_signed("<", known, w.number(0)), take, other)
        w.builder = ir.IRBuilder(other)
        w.compare(w.when(number), w.when(known), take, following, following)
        w.builder = ir.IRBuilder(take)
        w.builder.store(number, best)
        w.builder.branch(following)

    w.each(w.number(0), found, look)
    nobody, somebody, new, go = w.block(), w.block(), w.block(), w.block()
    first = w.builder.load(best)
    w.builder.cbranch(w.builder.icmp_signed("<", first, w.number(0)), nobody, somebody)
    ir.IRBuilder(nobody).ret(w.number(ALL))
    w.builder = ir.IRBuilder(somebody)
    w.compare(w.when(first), last, new, go, new)
    w.builder = ir.IRBuilder(new)
    w.builder.store(w.builder.add(w.load(w.board, ROW), w.number(1)), w.at(w.board, ROW))
    for place in range(deep):
        w.builder.store(w.load(w.when(first), place), w.at(last, place))
    w.builder.branch(go)
    w.builder = ir.IRBuilder(go)

    def run(number: ir.Value, following: ir.Block) -> None:
        """Let a thread go on whose access comes now."""
        going, turn, no_wait, over, left = (w.block() for _ in range(5))
        is_over = w.builder.icmp_signed("!=", w.load(w.thread(number), OVER), w.number(0))
        w.builder.cbranch(is_over, following, going)
        w.builder = ir.IRBuilder(going)
        w.compare(w.when(number), last, following, turn, following)
        w.builder = ir.IRBuilder(turn)
        loop = w.builder.inttoptr(w.loop, _LOOP.as_pointer())
        reason = w.builder.call(loop, [w.builder.inttoptr(w.thread(number), _NUMBERS)])
        w.builder.cbranch(w.builder.icmp_signed("==", reason, w.number(WAIT)), following, no_wait)
        w.builder = ir.IRBuilder(no_wait)
        w.builder.cbranch(w.builder.icmp_signed("<=", reason, w.number(STOP)), over, left)
        w.builder = ir.IRBuilder(over)
        w.builder.store(w.builder.add(reason, w.number(1)), w.at(w.thread(number), OVER))
        w.builder.branch(following)
        w.builder = ir.IRBuilder(left)
        w.builder.store(number, w.at(w.board, WHO))
        w.builder.ret(reason)

    w.each(first, again, run)
    return w.module
