"""Tuples of numbers in the text of a loop: each item is a variable of its own."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from smemviz.engines.lockstep.python.one_thread.atoms import Atom, union
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import converted, settled, value
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.python.one_thread.values import item_name, items_in
from smemviz.engines.lockstep.values.typing import INT64


def named(writer: Writer, node: ast.expr) -> list[Atom] | None:
    """Return the items of the tuple that a name stands for, None for any other."""
    if not isinstance(node, ast.Name) or node.id not in writer.frame.names.locals:
        return None
    items = items_in(writer.kinds, writer.variable_name(node, node.id))
    return [writer.number(item, node) for item in items] or None


def written_out(writer: Writer, node: ast.Tuple) -> list[Atom]:
    """Write the items of a tuple, each known from here on."""
    if any(isinstance(part, ast.Starred | ast.Tuple) for part in node.elts) or not node.elts:
        raise NotWrittenError
    return [kept(writer, value(writer, part)) for part in node.elts]


def kept(writer: Writer, atom: Atom) -> Atom:
    """Return a number as it is here, whatever is assigned behind it."""
    if atom.is_literal:
        return atom
    return replace(atom, text=writer.let(atom.text, atom.dtype).text, beside=None)


def assign(writer: Writer, target: ast.Name, atoms: Sequence[Atom]) -> None:
    """Give a name a tuple of numbers, in the types that its items are kept in."""
    name, version = writer.variable_name(target, target.id), writer.frame.versions.variables.get(target)
    if version is not None:
        atoms = as_kinds(writer, atoms, version[1])
    for place, atom in enumerate(atoms):
        writer.assign(item_name(name, place), settled(writer, atom))


def as_kinds(writer: Writer, atoms: Sequence[Atom], convert: Callable[..., object]) -> list[Atom]:
    """Convert the items of a tuple to the types that they are kept in."""
    _, *kinds = convert.keywords["kind"]  # type: ignore[attr-defined]
    if len(kinds) != len(atoms) or not all(isinstance(kind, np.dtype) for kind in kinds):
        raise NotWrittenError
    return [converted(writer, atom, kind) for atom, kind in zip(atoms, kinds, strict=True)]


def item(writer: Writer, node: ast.Subscript, atoms: Sequence[Atom]) -> Atom:
    """Write an item of a tuple: at a constant, or at any index in one of numbers of one type."""
    place = writer.frame.names.literal(node.slice)
    if type(place) is int:
        if not -len(atoms) <= place < len(atoms):
            raise NotWrittenError
        return atoms[place]
    index = value(writer, node.slice)
    dtypes = {atom.dtype for atom in atoms}
    if index.dtype != INT64 or len(dtypes) > 1 or None in dtypes:
        raise NotWrittenError
    index = kept(writer, index)
    if not 0 <= index.within[0] <= index.within[1] < len(atoms):
        writer.put(f"if not 0 <= {index.text} < {len(atoms)}:")
        place = f"{writer.runner}.item({writer.constant(node)}, {len(atoms)}, {index.text})"
        writer.astray(f"{index.text} = {place}", None)
    span = union([atom.within for atom in atoms]) if atoms[0].dtype.kind in "iu" else None  # type: ignore[union-attr]
    return Atom(picked(index.text, [atom.text for atom in atoms]), atoms[0].dtype, span)


def picked(position: str, texts: Sequence[str], first: int = 0) -> str:
    """Return the text of one of several at a position, after as few questions as there may be."""
    if len({*texts}) == 1:
        return texts[0]
    half = len(texts) // 2
    left, right = picked(position, texts[:half], first), picked(position, texts[half:], first + half)
    return f"({left} if {position} < {first + half} else {right})"
