"""Names in the text of a loop that stand for several arrays: what reads one is written once for each of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import partial

from smemviz.engines.lockstep.python.one_thread.atoms import Atom
from smemviz.engines.lockstep.python.one_thread.renamed import Pairs, Renamed, names_in
from smemviz.engines.lockstep.python.one_thread.text.conditions import holds
from smemviz.engines.lockstep.python.one_thread.text.variables import inner
from smemviz.engines.lockstep.python.one_thread.text.writer import STANDS_FOR, NotWrittenError, Writer
from smemviz.engines.lockstep.values.typing import INT64

_LONGEST = 2000  # lines, where names are given to arrays again and again


def begin(writer: Writer, renamed: Renamed) -> None:
    """Write what each name stands for before the loop."""
    writer.renamed, writer.states = renamed, frozenset({renamed.begin})
    for name, number in zip(renamed.names, renamed.begin, strict=True):
        writer.assign(STANDS_FOR + name, _number(number))


def _number(number: int) -> Atom:
    return Atom(str(number), INT64, (number, number))


def rename(writer: Writer, renamed: Renamed, pairs: Pairs) -> bool:
    """Write what names stand for from here on."""
    numbers = [_chosen(writer, renamed, source) for _, source in pairs]
    if len(pairs) > 1:
        numbers = [writer.let(number.text, INT64) for number in numbers]
    writer.states = renamed.after(pairs, writer.states)
    for (name, _), number in zip(pairs, numbers, strict=True):
        writer.assign(STANDS_FOR + name, number)
    return True


def _chosen(writer: Writer, renamed: Renamed, source: ast.expr) -> Atom:
    """Return the number of the array that a name is given."""
    span = -1, len(renamed.arrays) - 1
    if isinstance(source, ast.IfExp):
        test = holds(writer, source.test)
        then, otherwise = (_chosen(writer, renamed, part).text for part in (source.body, source.orelse))
        return Atom(f"({then} if {test} else {otherwise})", INT64, span)
    assert isinstance(source, ast.Name)
    if source.id not in renamed.names:
        return _number(renamed.arrays.index(source.id))
    if min(renamed.numbers(source.id, writer.states)) < 0:
        raise NotWrittenError  # it may not be assigned
    return Atom(writer.variable(STANDS_FOR + source.id), INT64, span)


def unknown(writer: Writer, statement: ast.stmt) -> str | None:
    """Return a name that a statement reads before it assigns any, and that may stand for several arrays."""
    renamed = writer.renamed
    if renamed is None or writer.scope is not None or statement in renamed.pairs:
        return None
    read: Iterable[ast.AST] = [statement]
    if renamed.renames(statement):
        assert isinstance(statement, ast.If | ast.For | ast.While)
        read = [statement.iter if isinstance(statement, ast.For) else statement.test]
    names = {name for part in read for name in names_in(part) if name in renamed.names}
    return next((name for name in sorted(names) if len(renamed.numbers(name, writer.states)) > 1), None)


def for_each(writer: Writer, name: str, write: Callable[[], bool]) -> bool:
    """Write what follows once for each array that a name may stand for."""
    renamed, states, before = writer.renamed, writer.states, set(writer.sure)
    assert renamed is not None
    if len(writer.lines) > _LONGEST:
        raise NotWrittenError
    place, *numbers = renamed.names.index(name), *sorted(renamed.numbers(name, states))
    ends = []
    for number in numbers:
        writer.states = frozenset(state for state in states if state[place] == number)
        writer.sure = set(before)
        test = f"{writer.variable(STANDS_FOR + name)} == {number}"
        word = "else:" if number == numbers[-1] else f"{'if' if number == numbers[0] else 'elif'} {test}:"
        if writer.part_ways(word, partial(inner, writer, write)):
            ends.append((writer.states, writer.sure))
    writer.all_noted()
    writer.states = frozenset().union(*(own for own, _ in ends))
    writer.sure = set.intersection(*(sure for _, sure in ends)) if ends else before
    return bool(ends)
