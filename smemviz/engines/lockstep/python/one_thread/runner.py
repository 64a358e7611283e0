"""What the text of a loop leaves to the interpreter."""

from __future__ import annotations

import ast
from typing import Any, NoReturn

from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python import access, arrays, operations
from smemviz.engines.lockstep.python.frame import Frame, short
from smemviz.engines.lockstep.python.functions import names, rules
from smemviz.engines.lockstep.python.functions.output import line_of
from smemviz.engines.lockstep.python.one_thread.accesses import Accesses, NotTogetherError, OtherWayError
from smemviz.engines.lockstep.python.one_thread.values import open_value, opened
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.operators import truth
from smemviz.engines.lockstep.values.typing import NotAScalarError, Value
from smemviz.errors import PlaceError
from smemviz.frontends.numba.sites.visit import field_name
from smemviz.messages import english

OFTEN = 1 << 14  # turns after which what was noted is handed on
OFTEN_TOGETHER = 1 << 11  # and kept, of one of several threads


def due(machine: Machine, iterations: int, often: int) -> int:
    """Return at how many turns they are counted next."""
    return int(min(machine.most_iterations + 1, iterations + often))


def often_as_text(*, alone: bool) -> int:
    """Return after how many turns they are counted where a loop is run as text."""
    return OFTEN if alone else OFTEN_TOGETHER


class Runner:
    """What the text of a loop leaves to the interpreter, before which it hands on what was noted."""

    def __init__(self, frame: Frame, accesses: Accesses) -> None:
        self._frame = frame
        self._accesses = accesses
        self._mask = frame.mask
        self.left = 0  # how often something has been left to the interpreter

    def within(self, frame: Frame) -> Runner:
        """Return what does the same for a function that the loop calls."""
        frame.mask = self._mask
        return Runner(frame, self._accesses)

    def fresh(self, view: View) -> None:
        """Let a local array of a function have zeros in it."""
        view.memory.data[:] = 0

    def open(self, value: Value) -> Value:
        """Return what the thread has of a value."""
        return open_value(value, self._accesses.slot)

    def _begin(self) -> Frame:
        if not self._accesses.alone:
            raise NotTogetherError
        self._accesses.hand_on()
        self._frame.mask = self._mask
        self.left += 1
        return self._frame

    def leave_out(self, several: int) -> None:
        """Leave out the first of the accesses that are noted next: they have been noted, or done by the interpreter."""
        self._accesses.left_out = several

    def statement(self, node: ast.stmt) -> bool:
        """Do a statement; return whether the thread goes on."""
        return self._begin().block([node], self._mask).count > 0

    def value(self, node: ast.expr, statement: ast.stmt) -> Value:
        """Evaluate an expression."""
        try:
            return self.open(self._begin().value(node))
        except NotAScalarError as error:
            raise self._no_number(error, statement) from None

    def truth(self, value: Value, statement: ast.stmt) -> bool:
        """Return a value as a condition."""
        try:
            return bool(truth(value))
        except NotAScalarError as error:
            raise self._in_its_turn(self._no_number(error, statement)) from None

    def _in_its_turn(self, error: Exception) -> Exception:
        """Return an error of a thread, before which all that it did is told; of several, who did it first is not."""
        if not self._accesses.alone:
            return NotTogetherError()
        self._accesses.hand_on()
        return error

    def _no_number(self, error: NotAScalarError, statement: ast.stmt) -> Exception:
        what = english("{what} where a number belongs ({code})", what=error.args[0], code=short(statement))
        return self._frame.refuse(statement, what)

    def apply(self, node: ast.AST, op: type[ast.AST], left: Value, right: Value) -> Value:
        """Apply a binary operator to open values."""
        try:
            return self.open(operations.apply(self._frame, node, op, left, right))
        except PlaceError as error:
            raise self._in_its_turn(error) from None

    def compare(self, node: ast.Compare, op: ast.cmpop, left: Value, right: Value) -> bool:
        """Compare two open values."""
        try:
            return bool(operations.comparison(self._frame, node, op, left, right))
        except PlaceError as error:
            raise self._in_its_turn(error) from None

    def end(self) -> NoReturn:
        """Find that one of several threads ends with an error."""
        raise NotTogetherError

    def no_step(self, call: ast.Call) -> None:
        """Refuse a range that does not move."""
        raise self._in_its_turn(self._frame.wrong(call, english("{code}: the step is 0", code=ast.unparse(call))))

    def due(self, iterations: int, line: int, often: int = 0) -> int:
        """Count a turn of a loop; return at how many of them, some turns later, that is to be done again.

        Raises:
            OtherWayError: where machine code is worth while, and turns are not counted for it.
        """
        machine = self._frame.machine
        if not often and self._accesses.is_short:
            raise OtherWayError
        if self._accesses.may_wait and iterations > machine.most_iterations:
            raise NotTogetherError
        machine.iterations = iterations - 1
        machine.tick(self._frame.function.file, line)
        self._accesses.hand_on()
        return due(machine, iterations, often or often_as_text(alone=self._accesses.alone))

    def prints(self, parts: tuple[Any, ...], *numbers: Any) -> None:
        """Keep a line of texts and of numbers, of which the type is told, that the thread prints.

        Raises:
            NotTogetherError: where another thread does so too, and their order is to be told.
        """
        values = iter(numbers)
        line = line_of([part if isinstance(part, str) else opened(next(values), part) for part in parts], 0)
        self._accesses.keep_line(self._frame.function.name, line)

    # -- rows and slices, and elements that are not in reach

    def part(self, node: ast.Subscript, view: View, parts: tuple[int | slice, ...]) -> View:
        """Return a row or a slice of an array, or find that there is none."""
        return access.subview(self._begin(), node, view, parts)

    def place(self, part: View) -> tuple[Any, ...]:
        """Return a part of an array, the place of its first element, and its sizes; one that is not there has none."""
        slot = self._accesses.slot
        is_there = part.valid is None or part.valid[slot]
        sizes = (int(open_value(size, slot)) if is_there else 0 for size in part.shape)
        return part, self._accesses.start_of(part), *sizes

    def item(self, node: ast.Subscript, count: int, index: int) -> Value:
        """Return which item of a tuple an index stands for that counts from the last, or find that there is none."""
        return arrays.item(self._begin(), node, tuple(range(count)), (index,))

    def unpack(self, node: ast.expr, view: View, count: int) -> None:
        """Find that a row has not as many elements as are unpacked."""
        access.items(self._begin(), node, view, count)

    def fill(self, node: ast.expr, part: View, items: tuple[Value, ...]) -> None:
        """Find that a part of an array has not as many elements as there are items."""
        access.fill(self._begin(), node, part, items)

    def load(self, node: ast.expr, view: View, indices: tuple[int, ...]) -> Value:
        """Load an element, or find that there is none."""
        frame = self._begin()
        return self.open(access.read(frame, node, *_element(frame, node, view, indices)))

    def atomic(self, node: ast.Call, used: bool, name: str, *operands: Value) -> Value:
        """Update an element, or find that there is none."""
        frame = self._begin()
        frame.statement_call = None if used else node
        return self.open(rules.apply(names.CALLS[name], frame, node, list(operands)))

    def store(self, node: ast.expr, view: View, indices: tuple[int, ...], value: Value) -> None:
        """Store in an element, or find that there is none."""
        frame = self._begin()
        access.write(frame, node, *_element(frame, node, view, indices), value)

    def locate(self, node: ast.expr, view: View, indices: tuple[int, ...]) -> tuple[Any, Value]:
        """Return an element for ``write``, and what it holds."""
        frame = self._begin()
        place = _element(frame, node, view, indices)
        return place, self.open(access.read(frame, node, *place))

    def write(self, node: ast.expr, place: Any, value: Value) -> None:
        """Store in an element that was located."""
        view, element, reached = place
        access.write(self._begin(), node, view, element, reached, value)

    def turned(self, view: View) -> View:
        """Return an array with its axes reversed."""
        return view.transpose()

    def field(self, node: ast.Attribute | ast.Subscript, view: View) -> View:
        """Return the array of a field."""
        return arrays.field_of(self._frame, node, view, _field(node) or "")


def _element(frame: Frame, node: ast.expr, view: View, indices: tuple[int, ...]) -> tuple[View, Any, Mask]:
    """Return an element, or the field of a record that a node names, where there is one."""
    name = _field(node)
    if name is None or not isinstance(node, ast.Attribute | ast.Subscript):
        return view, *access.locate(frame, node, view, indices)
    record = access.subview(frame, node.value, view, indices) if indices else view
    part = arrays.field_of(frame, node, record, name)
    return part, *access.whole(frame, part)


def _field(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return field_name(node.slice) if isinstance(node, ast.Subscript) else None
