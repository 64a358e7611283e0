"""Stores in the text of a loop: in an element, or in every element of a part of an array."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from smemviz.engines.lockstep.python.one_thread.atoms import NEAR, Atom
from smemviz.engines.lockstep.python.one_thread.text import loops, tuples
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import settled
from smemviz.engines.lockstep.python.one_thread.text.elements import (
    Reached,
    fitting,
    indices_at,
    reach_at,
    reached,
    store,
)
from smemviz.engines.lockstep.python.one_thread.text.rows import layout_of, row_of
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.values.typing import INT64


def assign_element(writer: Writer, node: ast.expr, atom: Atom) -> None:
    """Write that an element, or all of a part of an array, is given a number."""
    mark = writer.mark()
    made = reach_at(writer, node)
    if made is None:
        writer.back(mark)
        fill(writer, node, [atom], is_tuple=False)
        return
    _store_in(writer, node, made, atom)


def fill(writer: Writer, node: ast.expr, atoms: Sequence[Atom], *, is_tuple: bool) -> None:
    """Write that each element of a part of an array is given a number, or the item of a tuple that is at its place."""
    row, statement = row_of(writer, node), writer.statement
    if row is None or statement is None:
        raise NotWrittenError
    array, _ = row
    layout = layout_of(writer, "", array, is_by_index=False)
    if is_tuple:
        if array.axes > 1 or len({atom.dtype for atom in atoms}) > 1:
            raise NotWrittenError
        writer.put(f"if {layout.sizes[0]} != {len(atoms)}:")
        items = "".join(f"{writer.opened(settled(writer, atom))}, " for atom in atoms)
        writer.astray(f"{writer.runner}.fill({writer.constant(node)}, {layout.view}, ({items}))", None)
    kept = [tuples.kept(writer, fitting(writer, array, atom)) for atom in atoms]

    def store_at(position: Atom) -> None:
        text = tuples.chosen(position.text, [one.text for one in kept])
        atom = replace(kept[0], text=text, span=None)
        _store_in(writer, node, reached(writer, array, layout, indices_at(writer, position, layout.sizes)), atom)

    loops.each(writer, statement, Atom(" * ".join(layout.sizes), INT64, (0, NEAR[1])), store_at)


def _store_in(writer: Writer, node: ast.expr, made: Reached, atom: Atom) -> None:
    place = f"{writer.constant(node)}, {made.layout.view}, {made.indices}"
    atom = atom if atom.loose else settled(writer, atom)  # an array rounds
    far = f"{writer.runner}.store({place}, {writer.opened(atom)})"
    store(writer, node, made, fitting(writer, made.array, atom), made.inside, far)
