"""Tuples in the text of a loop: each number in one is a value of its own, and a variable where the tuple has a name."""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from smemviz.engines.lockstep.python.one_thread.atoms import Atom, union
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import (
    ORDERS,
    converted,
    literal,
    operate,
    settled,
    value,
)
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.python.one_thread.values import item_name, items_in
from smemviz.engines.lockstep.values.typing import INT64
from smemviz.model.layout.operators import COMPARE

Items = tuple["Item", ...]
Item = Atom | Items
_WORD = re.compile(r"\w+")
_MOST = 256  # items that are told apart in a text


def named(writer: Writer, node: ast.expr) -> list[Atom] | None:
    """Return the items of the tuple that a name stands for, None for any other."""
    if not isinstance(node, ast.Name) or node.id not in writer.frame.names.locals:
        return None
    items = items_in(writer.kinds, writer.variable_name(node, node.id))
    return [writer.number(item, node) for item in items] or None


def kept(writer: Writer, atom: Atom) -> Atom:
    """Return a number as it is here, whatever is assigned behind it."""
    if atom.is_literal:
        return atom
    return replace(atom, text=writer.let(atom.text, atom.dtype).text, beside=None)


def each_kept(writer: Writer, items: Items) -> Items:
    """Return the items of a tuple as they are here."""
    return tuple(kept(writer, item) if isinstance(item, Atom) else each_kept(writer, item) for item in items)


def assign(writer: Writer, target: ast.Name, atoms: Sequence[Atom]) -> None:
    """Give a name a tuple of numbers, in the types that its items are kept in; one it had may be part of it.

    A name that is something else in another place is left to the interpreter.
    """
    name, version = writer.variable_name(target, target.id), writer.frame.versions.variables.get(target)
    if version is not None:
        atoms = as_kinds(writer, atoms, version[1])
    before = items_in(writer.kinds, name)
    is_other = writer.kinds.get(name) is not None or name in writer.assigned
    if is_other or len(before) not in (0, len(atoms)):
        raise NotWrittenError
    own = {writer.variable(item) for item in before}
    atoms = [kept(writer, atom) if own.intersection(_WORD.findall(atom.text)) else atom for atom in atoms]
    for place, atom in enumerate(atoms):
        writer.assign(item_name(name, place), settled(writer, atom))


def as_kinds(writer: Writer, atoms: Sequence[Atom], convert: Callable[..., object]) -> list[Atom]:
    """Convert the items of a tuple to the types that they are kept in."""
    _, *kinds = convert.keywords["kind"]  # type: ignore[attr-defined]
    if len(kinds) != len(atoms) or not all(isinstance(kind, np.dtype) for kind in kinds):
        raise NotWrittenError
    return [converted(writer, atom, kind) for atom, kind in zip(atoms, kinds, strict=True)]


def numbers(items: Sequence[Item]) -> list[Atom]:
    """Return the items of a tuple of numbers; one with tuples in it is left to the interpreter."""
    atoms = [item for item in items if isinstance(item, Atom)]
    if len(atoms) < len(items):
        raise NotWrittenError
    return atoms


def of_module(writer: Writer, node: ast.expr) -> Items | None:
    """Return the items of a tuple of numbers that the module has, None for anything else."""
    held = writer.frame.names.constant(node)
    return _literals(writer, held) if isinstance(held, tuple) else None


def _literals(writer: Writer, held: Sequence[object]) -> Items:
    return tuple(_literals(writer, item) if isinstance(item, tuple) else _literal(writer, item) for item in held)


def _literal(writer: Writer, held: object) -> Atom:
    number = literal(writer, held.value if isinstance(held, enum.Enum) else held)
    if number is None:
        raise NotWrittenError
    return number


def picked(writer: Writer, node: ast.Subscript, items: Items) -> Item:
    """Write an item of a tuple: at a constant, or at any index in one whose items are alike; or a part of it."""
    if isinstance(node.slice, ast.Slice):
        low, high, step = (_end(writer, end) for end in (node.slice.lower, node.slice.upper, node.slice.step))
        if step == 0:
            raise NotWrittenError
        return items[low:high:step]
    place = writer.frame.names.literal(node.slice)
    if type(place) is int:
        if not -len(items) <= place < len(items):
            raise NotWrittenError
        return items[place]
    index = value(writer, node.slice)
    if index.dtype != INT64 or not 0 < len(items) <= _MOST:
        raise NotWrittenError
    index = kept(writer, index)
    if not 0 <= index.within[0] <= index.within[1] < len(items):
        writer.put(f"if not 0 <= {index.text} < {len(items)}:")
        far = f"{writer.runner}.item({writer.constant(node)}, {len(items)}, {index.text})"
        writer.astray(f"{index.text} = {far}", None)
    return at(writer, node, items, replace(index, span=(0, len(items) - 1)))


def _end(writer: Writer, node: ast.expr | None) -> int | None:
    """Return an end of a part of a tuple, or its step, which Numba has to know when it compiles."""
    if node is None:
        return None
    end = writer.frame.names.literal(node)
    if type(end) is not int:
        raise NotWrittenError
    return end


def at(writer: Writer, node: ast.AST, items: Sequence[Item], position: Atom) -> Item:
    """Return the item at a position; all are of one type."""
    first = items[0]
    if not isinstance(first, Atom):
        if not all(isinstance(item, tuple) and len(item) == len(first) for item in items):
            raise NotWrittenError
        return tuple(at(writer, node, part, position) for part in zip(*items, strict=True))
    atoms = numbers(items)
    if first.dtype is None or any(atom.dtype != first.dtype for atom in atoms):
        raise NotWrittenError
    step = _step(atoms)
    if step is not None:
        return number_at(writer, node, position, first, step) if step.text != "0" else first
    span = union([atom.within for atom in atoms]) if first.dtype.kind in "iu" else None
    return Atom(chosen(position.text, [atom.text for atom in atoms]), first.dtype, span)


def _step(atoms: Sequence[Atom]) -> Atom | None:
    """Return how far integers that are written out are from each other, None where that differs."""
    if not all(atom.is_literal and atom.dtype == INT64 for atom in atoms):
        return None
    values = [atom.within[0] for atom in atoms]
    steps = {after - before for before, after in pairwise(values)} or {0}
    step = steps.pop()
    return None if steps else Atom(str(step) if step >= 0 else f"({step})", INT64, (step, step))


def number_at(writer: Writer, node: ast.AST, position: Atom, begin: Atom, step: Atom) -> Atom:
    """Return the number at a position where each is as far from the one before it."""
    far = position if step.text == "1" else operate(writer, node, ast.Mult, position, step)
    return far if begin.text == "0" else operate(writer, node, ast.Add, far, begin)


def chosen(position: str, texts: Sequence[str], first: int = 0) -> str:
    """Return the text of one of several at a position, after as few questions as there may be."""
    if len({*texts}) == 1:
        return texts[0]
    half = len(texts) // 2
    left, right = chosen(position, texts[:half], first), chosen(position, texts[half:], first + half)
    return f"({left} if {position} < {first + half} else {right})"


# -- comparisons


def compared(writer: Writer, node: ast.Compare, left: Items, right: Items) -> str:
    """Return the text of a comparison of two tuples: the first items that differ decide."""
    op = type(node.ops[0])
    if op in (ast.Eq, ast.NotEq):
        equal = _equal(writer, node, left, right)
        return equal if op is ast.Eq else f"(not {equal})"
    if op not in ORDERS:
        raise NotWrittenError
    return _ordered(writer, node, op, numbers(left), numbers(right))


def _equal(writer: Writer, node: ast.Compare, left: Item, right: Item) -> str:
    if isinstance(left, Atom) and isinstance(right, Atom):
        return _test(writer, node, ast.Eq, left, right)
    if isinstance(left, Atom) or isinstance(right, Atom):
        raise NotWrittenError
    tests = [_equal(writer, node, *pair) for pair in zip(left, right, strict=False)]
    return f"({' and '.join([*tests, str(len(left) == len(right))])})"


def _ordered(
    writer: Writer, node: ast.Compare, op: type[ast.cmpop], left: Sequence[Atom], right: Sequence[Atom]
) -> str:
    if not left or not right:
        return str(bool(COMPARE[op](len(left), len(right))))
    equal, first = (_test(writer, node, one, left[0], right[0]) for one in (ast.Eq, op))
    return f"({_ordered(writer, node, op, left[1:], right[1:])} if {equal} else {first})"


def among(writer: Writer, node: ast.Compare, left: Item, items: Items) -> str:
    """Return the text of whether one of the items of a tuple, which are of one type, is equal to something."""
    kinds = {_kind_of(item) for item in items}
    if len(kinds) > 1 or len(items) > _MOST:
        raise NotWrittenError
    tests = [_equal(writer, node, left, item) for item in items]
    found = f"({' or '.join(tests or ['False'])})"
    return found if isinstance(node.ops[0], ast.In) else f"(not {found})"


def _kind_of(item: Item) -> object:
    return item.dtype if isinstance(item, Atom) else tuple(map(_kind_of, item))


def _test(writer: Writer, node: ast.AST, op: type[ast.cmpop], left: Atom, right: Atom) -> str:
    if left.dtype is None or right.dtype is None:
        raise NotWrittenError
    return settled(writer, operate(writer, node, op, left, right)).text
