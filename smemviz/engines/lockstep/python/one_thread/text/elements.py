"""Elements of arrays in the text of a loop: where they are, and how they are loaded and stored."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from smemviz.engines.lockstep.python.one_thread.arrays import Array, Layout
from smemviz.engines.lockstep.python.one_thread.atoms import NEAR, Atom, of_load
from smemviz.engines.lockstep.python.one_thread.stored import bits_of_double, bits_of_single, bits_of_singles
from smemviz.engines.lockstep.python.one_thread.text import in_order
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import closed, converted, settled, simple
from smemviz.engines.lockstep.python.one_thread.text.named import array_of, bound
from smemviz.engines.lockstep.python.one_thread.text.rows import (
    Based,
    Index,
    base_of,
    field_in,
    field_named,
    field_of,
    from_the_start,
    index_of,
    inside,
    layout_of,
    parts_of,
    place_of,
    record_named,
    shape_of,
)
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.values.typing import (
    COMPLEX64,
    COMPLEX128,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    UINT64,
    Dtype,
)

_BITS: dict[Dtype, Callable[..., int]] = {
    FLOAT32: bits_of_single,
    FLOAT64: bits_of_double,
    COMPLEX64: bits_of_singles,
    COMPLEX128: bits_of_double,
}


@dataclass(frozen=True)
class Reached:
    """An element at a ``place``, noted as a ``base`` and a constant.

    ``is_there`` is the text of whether there is one, ``is_own`` of whether nobody else touched it, where that matters.
    """

    layout: Layout
    array: Array
    indices: str
    is_there: str
    is_own: str
    place: str
    base: str
    offset: int

    @property
    def inside(self) -> str:
        """The text of whether the element is in reach."""
        return f"{self.is_there} and {self.is_own}" if self.is_own else self.is_there

    @property
    def element(self) -> str:
        """The text of the element."""
        return f"m{self.layout.access.number}[{self.place}]"

    @property
    def loaded(self) -> str:
        """The text of what the element holds."""
        dtype = self.array.dtype
        return closed(self.element, dtype) if dtype.kind == "c" or dtype == FLOAT16 else self.element

    def note_unsafe(self, writer: Writer, site: int | None, stored: Sequence[str] = ()) -> None:
        """Note an access that is only counted, further in, where nothing may have been written to the element yet."""
        if self.array.space == "shared":
            writer.note_unsafe(self.place, self.base, self.offset, site, stored)

    def note(self, writer: Writer, site: int | None, update: str = "") -> None:
        """Note an access to the element, an ``update`` as an ``Access`` has it."""
        writer.note(self.base, self.offset, site, replace(self.layout.access, update=update))


def reach_at(writer: Writer, node: ast.expr) -> Reached | None:
    """Write the indices of the element, or of the record whose field, a node names; None for what is not reached."""
    part = field_named(node)
    if part is None:
        return reach(writer, node.value, node.slice) if isinstance(node, ast.Subscript) else None
    base, field = part
    record = record_named(writer, base)
    if record is None:
        return _reach(writer, field_of(writer, base, field), [])
    return _reach(writer, field_in(writer, (record.name, record.array, record.view), field), record.indices)


def reach(writer: Writer, base: ast.expr, index: ast.expr) -> Reached | None:
    """Write the indices of an element, None for what is not reached here."""
    is_flat = isinstance(base, ast.Attribute) and base.attr == "flat"
    based = base_of(writer, base.value if is_flat else base)  # type: ignore[attr-defined]
    if based is None:
        return None
    if is_flat:
        layout = layout_of(writer, *based[:2], is_by_index=based[1].in_a_row)
        return reached(writer, based[1], layout, _from_flat(writer, index_of(writer, index), layout.sizes))
    return _reach(writer, based, parts_of(writer, index, based[1].axes))


def _from_flat(writer: Writer, number: Atom, sizes: Sequence[str]) -> list[Atom]:
    """Write the index of an element by its number; of no element where there is none of that number."""
    if number.within[0] < 0:
        text = f"{number.text} if {number.text} >= 0 else {' * '.join(sizes)}"
        number = replace(writer.let(text, INT64), span=(0, NEAR[1]))
    return indices_at(writer, number, sizes)


def indices_at(writer: Writer, number: Atom, sizes: Sequence[str]) -> list[Atom]:
    """Write the index of what has a number where the last axis is the fastest."""
    if len(sizes) == 1:
        return [number]
    indices: list[Atom] = []
    text = number.text
    for size in reversed(sizes[1:]):
        number, size = writer.let(text, INT64), size if size.isdigit() else f"({size} if {size} > 0 else 1)"
        indices.append(replace(writer.let(f"{number.text} % {size}", INT64), span=(0, NEAR[1])))
        text = f"{number.text} // {size}"
    return [replace(writer.let(text, INT64), span=(0, NEAR[1])), *reversed(indices)] if sizes else []


def _reach(writer: Writer, based: Based | None, parts: Sequence[Index] | None) -> Reached | None:
    if based is None or parts is None or len(parts) != based[1].axes:
        return None
    if any(isinstance(part, ast.Slice) for part in parts):
        return None
    name, array, _ = based
    given = [index_of(writer, part) for part in parts]
    layout = layout_of(writer, name, array, is_by_index=array.in_a_row)
    indices = [from_the_start(writer, *one) for one in zip(parts, given, layout.sizes, strict=True)]
    return replace(reached(writer, array, layout, indices), indices=_texts(given))


def unpacked(writer: Writer, node: ast.expr, row: Array, count: int) -> list[Atom]:
    """Load all elements of a row that a node gives, which has to have as many as there are targets."""
    layout = row.layout
    assert layout is not None
    unpack = f"{writer.runner}.unpack({writer.constant(node)}, {layout.view}, {count})"
    writer.put(f"if {layout.sizes[0]} != {count}: {unpack}")
    indices = [Atom(str(k), INT64, (k, k)) for k in range(count)]
    return [load(writer, node, reached(writer, row, layout, [index])) for index in indices]


def reached(writer: Writer, array: Array, layout: Layout, indices: Sequence[Atom]) -> Reached:
    """Write the place of an element."""
    tests = [inside(atom, size) for atom, size in zip(indices, layout.sizes, strict=True)]
    spot, constant = "", 0
    if array.in_a_row:
        first = indices[0]
        spot, constant = first.beside or (first.text, 0)
        if first.is_literal:
            spot, constant = "0", int(first.text.strip("()"))
    if array.in_a_row and not layout.access.is_by_index:
        spot = layout.start if spot == "0" else writer.sum_of(layout.start, spot)
        place = f"{spot} + {constant}" if constant else spot
    else:
        place = place_of(indices, layout)
        if not indices or place != indices[0].text:
            place = writer.let(place, INT64).text
        spot = spot or place
    number = layout.access.number
    cell = f"({place}) * {array.cells} + f{number}" if array.cells > 1 else f"{place} + f{number}"
    is_owned = array.way == "owned" and not writer.several
    cells = [cell, *(f"{cell} + {more}" for more in range(1, array.cells))] * is_owned
    own = " and ".join(f"((w := o{number}[{cell}]) == me or not w)" for cell in cells)
    return Reached(layout, array, _texts(indices), " and ".join(tests) or "True", own, place, spot, constant)


def _texts(indices: Sequence[Atom]) -> str:
    return f"({''.join(f'{index.text}, ' for index in indices)})"


def store(writer: Writer, node: ast.expr, element: Reached, atom: Atom, inside: str, far: str) -> None:
    """Write a store of what fits the array where the element is ``inside``, and what is done instead elsewhere."""
    site = writer.frame.tree.stores.get(node)
    writer.stored.add(element.layout.access.name)
    is_noted = element.array.space == "shared" and site is not None and not writer.in_order
    items = _items(writer, atom, writer.pieces(site)) if is_noted else []
    in_order.wait(writer, element.array)
    writer.put(f"if {inside}:")
    in_order.note(writer, element.layout.access, element.place, site)
    for item in items if not writer.only_counted else []:
        writer.put(f"    stored({item})")
    writer.put(f"    {element.element} = {atom.text}")
    in_order.note_changed(writer, element.layout.access, element.place, site)
    element.note_unsafe(writer, site, items)
    writer.put("else:")
    writer.astray(far, site)
    element.note(writer, site)


def _items(writer: Writer, atom: Atom, pieces: int) -> list[str]:
    """Return the texts of what a store notes, which may be in as many pieces as it has bytes."""
    dtype = atom.dtype
    assert dtype is not None
    items = [atom.text]
    if dtype.kind == "c" or (pieces > 1 and dtype.kind == "f"):
        parts = [f"{atom.text}.real", f"{atom.text}.imag"] if dtype == COMPLEX128 else [atom.text]
        if dtype not in _BITS:
            raise NotWrittenError
        function = writer.constant(_BITS[dtype])
        items = [f"{function}({part})" for part in parts]
    if pieces == 1:
        return items
    names = [writer.let(item, UINT64).text for item in items]
    return [f"({name} >> {8 * byte} & 255)" for name in names for byte in range(pieces // len(names))]


def fitting(writer: Writer, array: Array, atom: Atom) -> Atom:
    """Return a number as an array holds it; an array rounds what it is given."""
    if atom.dtype is None or array.space == "constant" or (atom.dtype.kind == "c" and array.dtype.kind != "c"):
        raise NotWrittenError
    atom = converted(writer, atom, array.dtype)
    if array.space == "shared":
        return simple(writer, atom)
    return atom if atom.loose else settled(writer, atom)


def subscript(writer: Writer, node: ast.Subscript) -> Atom | None:
    """Write the load of an element."""
    of = node.value.attr if isinstance(node.value, ast.Attribute) and isinstance(node.slice, ast.Constant) else ""
    if of == "strides" and array_of(writer, node.value.value) is not None:  # type: ignore[attr-defined]
        return bound(writer, node)
    if isinstance(node.value, ast.Attribute) and node.value.attr == "shape" and isinstance(node.slice, ast.Constant):
        sizes, axis = shape_of(writer, node.value.value), node.slice.value
        if sizes is None:
            return None if array_of(writer, node.value.value) is None else bound(writer, node)
        return sizes[axis] if type(axis) is int and 0 <= axis < len(sizes) else None
    return field(writer, node)


def field(writer: Writer, node: ast.expr) -> Atom | None:
    """Write the load of an element, or of a field of a record."""
    made = reach_at(writer, node)
    return None if made is None else load(writer, node, made)


def load(writer: Writer, node: ast.expr, made: Reached) -> Atom:
    """Write the load of an element that is reached."""
    result, dtype, site = writer.new(), made.array.dtype, writer.frame.tree.loads.get(node)
    in_order.wait(writer, made.array)
    writer.put(f"if {made.inside}:")
    in_order.note(writer, made.layout.access, made.place, site)
    writer.put(f"    {result} = {made.loaded}")
    made.note_unsafe(writer, site)
    writer.put("else:")
    far = f"{writer.runner}.load({writer.constant(node)}, {made.layout.view}, {made.indices})"
    writer.astray(f"{result} = {closed(far, dtype)}", site)
    made.note(writer, site)
    return of_load(result, dtype)
