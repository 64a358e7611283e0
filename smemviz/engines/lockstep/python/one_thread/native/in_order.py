"""Statements of a text whose threads wait for each other, in LLVM's language."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from smemviz.engines.lockstep.python.one_thread.native.board import (
    BOARD,
    COUNT,
    DEEPEST,
    EVENT,
    EVENTS,
    LANE,
    ROW,
    WAIT,
    WHEN,
)
from smemviz.engines.lockstep.python.one_thread.native.functions import Functions
from smemviz.engines.lockstep.python.one_thread.native.kinds import INT, NotNativeError

_NUMBERS = INT.as_pointer()


@dataclass
class InOrder(Functions):
    """Translates waiting for others, and what is noted of an access."""

    def pause(self, reason: int) -> None:
        """Return, and go on from here when called again."""
        raise NotImplementedError

    def look_for_waits(self, text: ast.AST) -> None:
        """Find how many numbers tell when an access comes."""
        calls = (node for node in ast.walk(text) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
        self.deep = max((len(call.args) for call in calls if ast.unparse(call.func) == "wait"), default=0)
        if self.deep > DEEPEST:
            raise NotNativeError

    def in_order(self, call: ast.Call) -> bool:
        """Translate a call, if it is of this kind."""
        rules = {"wait": self._wait, "did": self._did, "changed": self._changed}
        rule = rules.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if rule is not None:
            rule(call.args)
        return rule is not None

    def _wait(self, when: Sequence[ast.expr]) -> None:
        numbers = [self.integer(number) for number in when]
        numbers += [ir.Constant(INT, 0)] * (self.deep - len(when))
        for place, number in enumerate(numbers):
            self.builder.store(number, self.slot(self.builder, WHEN + place))
        self.pause(WAIT)

    def _did(self, given: Sequence[ast.expr]) -> None:
        """Note an access before it is made."""
        number, place, array = given
        builder, board = self.builder, self._board()
        count, row = (builder.load(self._at(board, at)) for at in (COUNT, ROW))
        lane = builder.load(self.slot(builder, LANE))
        values = {"row": row, "lane": lane, "number": self.integer(number), "place": self.integer(place)}
        values |= {"before": self._bits(array, place), "after": ir.Constant(INT, 0)}
        for at, name in enumerate(EVENT):
            self.builder.store(values[name], self._event(board, count, at))
        self.builder.store(self.builder.add(count, ir.Constant(INT, 1)), self._at(board, COUNT))

    def _changed(self, given: Sequence[ast.expr]) -> None:
        """Note what an access has stored that was noted last."""
        place, array = given
        board = self._board()
        last = self.builder.sub(self.builder.load(self._at(board, COUNT)), ir.Constant(INT, 1))
        self.builder.store(self._bits(array, place), self._event(board, last, EVENT.index("after")))

    def _board(self) -> ir.Value:
        return self.builder.inttoptr(self.builder.load(self.slot(self.builder, BOARD)), _NUMBERS)

    def _at(self, board: ir.Value, place: int) -> ir.Value:
        return self.builder.gep(board, [ir.Constant(INT, place)])

    def _event(self, board: ir.Value, event: ir.Value, place: int) -> ir.Value:
        events = self.builder.inttoptr(self.builder.load(self._at(board, EVENTS)), _NUMBERS)
        first = self.builder.mul(event, ir.Constant(INT, len(EVENT)))
        return self.builder.gep(events, [self.builder.add(first, ir.Constant(INT, place))])

    def _bits(self, array: ast.expr, place: ast.expr) -> ir.Value:
        """Return the bits of an element; of a complex number, which is only loaded, nobody asks."""
        assert isinstance(array, ast.Name)
        dtype, element = self.element(array.id, place)
        if dtype.kind == "c":
            return ir.Constant(INT, 0)
        number: Any = self.builder.load(element)
        if dtype.kind == "f":
            number = self.builder.bitcast(number, ir.IntType(8 * dtype.itemsize))
        return number if dtype.itemsize == np.dtype(np.int64).itemsize else self.builder.zext(number, INT)
