"""Loops in the text of a loop, and how their turns are counted.

One with no loop in it counts by itself: it goes over as many turns as are left before they are to be looked at again.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from smemviz.engines.lockstep.python.one_thread.accesses import entry_of, turn_of
from smemviz.engines.lockstep.python.one_thread.atoms import Atom
from smemviz.engines.lockstep.python.one_thread.runner import OFTEN
from smemviz.engines.lockstep.python.one_thread.text import in_order
from smemviz.engines.lockstep.python.one_thread.text.conditions import conditions, holds, least
from smemviz.engines.lockstep.python.one_thread.text.inlined import after_loop
from smemviz.engines.lockstep.python.one_thread.text.iterables import gone_over
from smemviz.engines.lockstep.python.one_thread.text.variables import inner, moves
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.python.waiting import only_waits
from smemviz.engines.lockstep.values.typing import BOOL, INT64

_LOOPS = (ast.For, ast.While)
_MARK = re.compile(r"group\(-\d+\)$")
_LONGEST = 500  # lines of a text in which turns are written twice

Turn = Callable[[], bool]
Block = Callable[[Sequence[ast.stmt]], bool]
Over = Callable[[], tuple[str, str, Callable[[], None]]]  # as ``gone_over`` returns it


def write(writer: Writer, node: ast.For | ast.While, turn: Turn, block: Block) -> bool:
    """Write a loop over items, or one with a condition; ``turn`` writes its body, ``block`` what is behind it."""
    if (node.orelse and not writer.turns) or (writer.in_order and only_waits(node)):
        raise NotWrittenError
    if node.orelse:
        writer.ended[node] = writer.let("False", BOOL).text
    writer.enter()
    writer.least.clear()
    if writer.turns or not writer.in_order:
        moves(writer, node, "enter")
    over = partial(gone_over, writer, node) if isinstance(node, ast.For) else None
    _loop(writer, node, turn, over, counts=any(isinstance(part, _LOOPS) for part in _inside(node)))
    after_loop(writer, node)
    if node.orelse:
        _otherwise(writer, node, block)
    return True


def each(writer: Writer, node: ast.stmt, count: Atom, do: Callable[[Atom], None]) -> None:
    """Write a statement that is a loop: what is done at each of so many positions."""
    position = Atom(writer.new(), INT64, (0, max(count.within[1] - 1, 0)))

    def turn() -> bool:
        do(position)
        return True

    writer.enter()
    _loop(writer, node, turn, lambda: (f"range({count.text})", position.text, lambda: None), counts=False)
    writer.counts = True  # so that those around it are told apart by their turns


def _loop(writer: Writer, node: ast.stmt, turn: Turn, over: Over | None, *, counts: bool) -> None:
    """Write a loop over what it is said to go over, or one with a condition; its turns may have to be counted."""
    level, first, begin = len(writer.turns) + 1, len(writer.sites), len(writer.lines)
    if level > 1:
        writer.mark_order(entry_of(level))
    in_order.enter_loop(writer)
    outer, writer.counts = writer.counts, writer.in_order or counts
    leaves = _enter_while(writer) if isinstance(node, ast.While) and not writer.in_while else None
    writer.turn = writer.turn if writer.turns else "it"
    mark = writer.mark()
    forms: Any = (
        (_while, _while_counted) if over is None else (partial(_for, over=over), partial(_for_counted, over=over))
    )
    if not writer.counts:
        forms[0](writer, node, turn)
        if writer.counts:
            writer.back(mark)
    if writer.counts:
        forms[1](writer, node, turn)
    in_order.leave_loop(writer)
    writer.counts = writer.counts or outer
    writer.depth -= 1
    writer.least.clear()
    if len(writer.sites) > first:
        writer.loops.append((level, first, len(writer.sites)))
    else:  # nothing that has an order
        writer.lines[begin:] = [_MARK.sub("pass", line) for line in writer.lines[begin:]]
    if leaves is not None:
        writer.put(f"M.while_began = {leaves}")
        writer.in_while = False


def _otherwise(writer: Writer, node: ast.For | ast.While, block: Block) -> None:
    """Write what is done behind a loop that was not left."""
    sure = set(writer.sure)

    def otherwise() -> bool:
        goes_on = block(node.orelse)
        if goes_on:
            moves(writer, node, "end")
        return goes_on

    writer.fork(f"if {writer.ended[node]}:")
    inner(writer, otherwise)
    writer.sure = sure


def _inside(node: ast.For | ast.While) -> list[ast.AST]:
    return [part for statement in node.body for part in ast.walk(statement)]


def _enter_while(writer: Writer) -> str:
    """Write down where the outermost loop with a condition begins; return the text of what is to be there after it."""
    began, limits = writer.new(), writer.frame.machine.limits
    writer.put(f"{began} = M.begin_while(it)")
    if limits.iterations < OFTEN and not limits.all_loops:
        writer.put(f"due = min(due, it + {limits.iterations + 1})")
    writer.in_while = True
    return began


def leave(writer: Writer, node: ast.Break | ast.Continue) -> bool:
    """Write how a turn ends before its end."""
    moves(writer, node, "leave")
    if isinstance(node, ast.Break) and writer.turns[-1]:
        writer.fork(writer.turns[-1])
    writer.fork("break" if isinstance(node, ast.Break) else "continue")
    return False


def _counted(writer: Writer, node: ast.AST, turn: Turn) -> None:
    writer.put("it += 1")
    writer.put("if it >= due:")
    writer.astray(f"due = {writer.runner}.due(it, {node.lineno})", None)  # type: ignore[attr-defined]
    _turn(writer, turn, "")


def _begin_turn(writer: Writer) -> None:
    in_order.begin_turn(writer)
    writer.mark_order(turn_of(len(writer.turns) + 1))


def _count_turns(writer: Writer) -> str:
    """Begin to count the turns of the outermost loop of several threads; return the name of how many were begun."""
    if not writer.several or writer.turns:
        return ""
    writer.turn = writer.let("0", None).text
    return writer.turn


def _stop_before(writer: Writer, begun: str, left: str) -> None:
    if begun:
        _stop(writer, begun, left)
        writer.put(f"{begun} += 1")


def _stop(writer: Writer, turn: str, left: str) -> None:
    """Let several threads stop before one turn of the outermost loop; ``left`` are the numbers left of its range."""
    if writer.several and not writer.turns:
        writer.put(f"if {turn} >= P.stop:")
        writer.put("    M.iterations = it")
        writer.put(f"    yield {turn}, {left}, @V")


def _ended_at(writer: Writer, turn: str) -> None:
    """Say before which turn of the outermost loop a thread has ended, before which the others do not stop then."""
    if writer.several and not writer.turns:
        writer.put(f"P.least = max(P.least, {turn})")


def _go_on(writer: Writer, node: ast.AST, left: str) -> bool:
    """Go on with a loop that counts by itself after as many turns as it was to do."""
    writer.put(f"due = {writer.runner}.due(it + 1, {node.lineno})")  # type: ignore[attr-defined]
    _stop(writer, "it", left)
    writer.put("continue")
    return False


def _turn(writer: Writer, turn: Turn, left: str) -> bool:
    """Write a turn; ``left`` counts those that there were where one leaves the loop."""
    writer.turns.append(left)
    turn()
    writer.turns.pop()
    return True


def _both_ways(writer: Writer, write: Callable[[], None]) -> None:
    """Write turns that note accesses, and before them, for when nothing else is asked, turns that only count them."""
    if writer.several or writer.only_counted or len(writer.lines) > _LONGEST:
        write()
        return
    mark, first, sure, steps = writer.mark(), len(writer.sites), set(writer.sure), dict(writer.steps)

    def counting() -> bool:
        writer.put("safe = A.safe")
        return noting()

    def noting() -> bool:
        write()
        return True

    writer.fork("if A.only_counts:")
    writer.only_counted = True
    try:
        inner(writer, counting)
        of_use = len(writer.sites) > first
    except NotWrittenError:
        of_use = False
    writer.only_counted = False
    if not of_use:
        writer.back(mark)
        write()
        return
    writer.put("else:")
    counted, writer.sure, writer.steps = writer.steps, sure, steps
    inner(writer, noting)
    writer.steps |= {name: max(step, writer.steps.get(name, 0)) for name, step in counted.items()}


def _ended(writer: Writer, node: ast.AST, last: str) -> bool:
    if node in writer.ended:
        writer.put(f"{writer.ended[node]} = True")
    else:
        moves(writer, node, "end")
    if last:
        writer.fork(last)
    return False


def _rounds(writer: Writer, node: ast.stmt, begin: str, line: str, once: Turn, end: str, goes_on: str) -> None:
    """Write rounds of as many turns as are not looked at: what begins and ends one, and whether another follows."""
    sure = set(writer.sure)

    def rounds() -> bool:
        if begin:
            writer.put(begin)
        _both_ways(writer, turns)
        writer.put("break")
        return True

    def turns() -> None:
        writer.put(line)
        inner(writer, once)
        writer.put("else:")
        inner(writer, more)

    def more() -> bool:
        if end:
            writer.put(end)
        writer.put(f"if {goes_on}:")
        inner(writer, lambda: _go_on(writer, node, "None" if isinstance(node, ast.While) else goes_on))
        writer.sure = set(sure)
        return _ended(writer, node, "")

    writer.fork("while True:")
    inner(writer, rounds)
    writer.sure = sure


# -- loops with a condition


def _while_counted(writer: Writer, node: ast.While, turn: Turn) -> None:
    done = _count_turns(writer)

    def turns() -> None:
        writer.fork("while True:")
        inner(writer, once)

    def once() -> bool:
        sure = set(writer.sure)
        _stop_before(writer, done, "None")
        _begin_turn(writer)
        outer, writer.statement = writer.statement, node
        writer.least.clear()
        writer.turns.append("")  # loops of functions that the condition calls are in this one
        for condition, test in conditions(writer, node.test):
            writer.part_ways(f"if not {test}:", lambda: inner(writer, lambda: _ended(writer, node, "break")))
            writer.least |= least(writer, condition)
        writer.turns.pop()
        writer.statement = outer
        writer.sure = set(sure)
        _counted(writer, node, turn)
        writer.sure = sure
        return True

    if any(isinstance(part, _LOOPS) for part in _inside(node)):
        turns()
    else:
        _both_ways(writer, turns)
    _ended_at(writer, done)


def _while(writer: Writer, node: ast.While, turn: Turn) -> None:
    condition = writer.aside(lambda: _test(writer, node))
    if not condition.is_short:  # evaluated once more where turns are counted, it would load once more
        writer.counts = True
        return
    test, sure = condition.atom.text, set(writer.sure)

    def once() -> bool:
        writer.put(f"if not {test}:")
        inner(writer, lambda: _ended(writer, node, "it -= 1; break"))
        writer.sure = set(sure)
        _begin_turn(writer)
        return _turn(writer, turn, "")

    _rounds(writer, node, "", "for it in range(it + 1, due):", once, "", test)
    _ended_at(writer, "it")


def _test(writer: Writer, node: ast.While) -> Atom:
    outer, writer.statement = writer.statement, node
    writer.turns.append("")  # what is in the condition is in a turn
    test = holds(writer, node.test)
    writer.turns.pop()
    writer.statement = outer
    return Atom(test, BOOL)


# -- loops over what has items


def _for_counted(writer: Writer, node: ast.stmt, turn: Turn, *, over: Over) -> None:
    numbers, number, bind = over()
    sure = set(writer.sure)
    done = _count_turns(writer)
    if done:
        numbers = writer.let(numbers, None).text
    writer.fork(f"for {number} in {numbers}:")

    def once() -> bool:
        _stop_before(writer, done, f"{numbers}[{done}:]")
        _begin_turn(writer)
        bind()
        _counted(writer, node, turn)
        return True

    inner(writer, once)
    writer.sure = sure
    writer.put("else:")
    inner(writer, lambda: _ended(writer, node, ""))
    _ended_at(writer, done)


def _for(writer: Writer, node: ast.stmt, turn: Turn, *, over: Over) -> None:
    numbers, number, bind = over()
    left, part = writer.let(numbers, None).text, writer.new()

    def once() -> bool:
        _begin_turn(writer)
        bind()
        return _turn(writer, turn, f"it += {part}.index({number}) + 1")

    begin, end = f"{part} = {left}[:due - it - 1]", f"it += len({part}); {left} = {left}[len({part}):]"
    _rounds(writer, node, begin, f"for {number} in {part}:", once, end, left)
    _ended_at(writer, "it")
