"""Elements of arrays in the text of a loop, and what is worth the same throughout."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.memory.records import field_view
from smemviz.engines.lockstep.python.one_thread.arrays import Access, Array, Layout, cells_in, way_to
from smemviz.engines.lockstep.python.one_thread.atoms import NEAR, Atom, Bound, of_load
from smemviz.engines.lockstep.python.one_thread.kinds import kind_of
from smemviz.engines.lockstep.python.one_thread.renamed import names_in
from smemviz.engines.lockstep.python.one_thread.stored import bits_of_double, bits_of_single, bits_of_singles
from smemviz.engines.lockstep.python.one_thread.text import in_order
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import closed, converted, settled, simple
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.python.one_thread.values import items_in, span_of, type_of
from smemviz.engines.lockstep.values.operators import NoRuleError
from smemviz.engines.lockstep.values.typing import (
    COMPLEX64,
    COMPLEX128,
    FLOAT32,
    FLOAT64,
    INT64,
    UINT64,
    Dtype,
    NotAScalarError,
)
from smemviz.errors import SmemvizError
from smemviz.frontends.numba.sites.visit import field_name

_BITS: dict[Dtype, Callable[..., int]] = {
    FLOAT32: bits_of_single,
    FLOAT64: bits_of_double,
    COMPLEX64: bits_of_singles,
    COMPLEX128: bits_of_double,
}
REFUSALS = (SmemvizError, NotAScalarError, NoRuleError, ArithmeticError, LookupError, ValueError, TypeError)


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
        return closed(self.element, self.array.dtype) if self.array.dtype.kind == "c" else self.element

    def note_unsafe(self, writer: Writer, site: int | None, stored: Sequence[str] = ()) -> None:
        """Note an access that is only counted, further in, where nothing may have been written to the element yet."""
        if self.array.space == "shared":
            writer.note_unsafe(self.place, self.base, self.offset, site, stored)

    def note(self, writer: Writer, site: int | None, update: str = "") -> None:
        """Note an access to the element, an ``update`` as an ``Access`` has it."""
        writer.note(self.base, self.offset, site, replace(self.layout.access, update=update))


def bound(writer: Writer, node: ast.expr) -> Atom | None:
    """Return what is worth the same throughout the loop, and evaluated before it."""
    if _is_renamed(writer, node):
        raise NotWrittenError
    key = 0 if writer.scope is None else writer.scope.number, ast.dump(node)
    if key not in writer.bound:
        try:
            value = writer.open(writer.frame.value(node))
            dtype = type_of(value)
        except REFUSALS:
            return None
        if dtype is None:
            return None
        writer.bound[key] = Bound(writer.frame, node, f"c{len(writer.bound)}", dtype, span_of(value, dtype))
    made = writer.bound[key]
    return Atom(made.text, made.dtype, made.span)


def array_of(writer: Writer, node: ast.expr) -> tuple[str, Array] | None:
    """Return the variable and the array that an expression names."""
    if isinstance(writer.frame.names.constant(node), np.ndarray):
        return _of_module(writer, node)
    if not isinstance(node, ast.Name) or node.id not in writer.frame.names.locals:
        return None
    name = writer.variable_name(node, node.id)
    array = writer.array(name)
    return None if array is None else (name, array)


def _of_module(writer: Writer, node: ast.expr) -> tuple[str, Array] | None:
    """Return the variable of an array that the module has, which a kernel can only read."""
    name, frame = writer.inside(ast.unparse(node)), writer.frame
    if name not in writer.of_module:
        try:
            view = frame.value(node)
        except REFUSALS:
            return None
        writer.of_module[name], writer.kinds[name] = (frame, node), kind_of(frame, view)
    array = writer.array(name)
    return None if array is None else (name, array)


def held(writer: Writer, node: ast.expr) -> View:
    """Return the array that a name stands for while the text is written."""
    if not isinstance(node, ast.Name) or node.id not in writer.frame.names.locals:
        constant: View = writer.frame.value(node)
        return constant
    view: View = writer.frame.variables[node.id if writer.scope else writer.variable_name(node, node.id)]
    return view


def base_of(writer: Writer, node: ast.expr) -> tuple[str, Array, View] | None:
    """Return an array that is reached, under its variable, or a row or slice of one, and one like it."""
    part = _field_named(node)
    if part is not None:
        of_field = _field_of(writer, *part)
        if of_field is None:
            return None
        name, array, view = of_field
        layout = layout_of(writer, name, array, is_by_index=False)
        text = f"{writer.runner}.field({writer.constant(node)}, {layout.view})"
        return "", replace(array, layout=replace(layout, view=text)), view
    named = array_of(writer, node)
    if named is None:
        row = row_of(writer, node)
        return None if row is None else ("", *row)
    is_in_reach = named[1].way != "far" and named[1].dtype.fields is None
    return (*named, held(writer, node)) if is_in_reach else None


def _field_named(node: ast.expr) -> tuple[ast.expr, str] | None:
    """Return of what a node names a field, and which."""
    if isinstance(node, ast.Attribute):
        return node.value, node.attr
    name = field_name(node.slice) if isinstance(node, ast.Subscript) else None
    return None if name is None or not isinstance(node, ast.Subscript) else (node.value, name)


def _field_of(writer: Writer, node: ast.expr, field: str) -> tuple[str, Array, View] | None:
    """Return the array of a field of an array that a name stands for, under its variable, and one like it."""
    named = array_of(writer, node)
    if named is None or named[1].layout is not None or named[1].way == "far":
        return None
    name, array = named
    try:
        view = field_view(held(writer, node), field)
    except ValueError:
        return None
    if view is None or view.dtype.fields is not None or view.ndim != array.axes:
        return None
    machine = writer.frame.machine
    way, cells = way_to(machine, view), cells_in(machine, view)
    made = Array(view.dtype, view.ndim, array.space, way, unit=False, first=False, cells=cells, field=field)
    return None if way == "far" else (name, made, view)


def row_of(writer: Writer, node: ast.expr) -> tuple[Array, View] | None:
    """Write a row or slice of an array, and return one like it; None for what is none of an array that is reached."""
    mark = writer.mark()
    based = base_of(writer, node.value) if isinstance(node, ast.Subscript) else None
    if based is not None and isinstance(node, ast.Subscript):
        parts, axes = _parts(writer, node.slice), based[1].axes
        parts += [ast.Slice()] * (axes - len(parts))
        slices = [part for part in parts if isinstance(part, ast.Slice)]
        foreign = any(_is_foreign(part) for part in parts) or any(part.step is not None for part in slices)
        if slices and len(parts) == axes and not foreign:
            return _row(writer, node, parts, *based)
    writer.back(mark)
    return None


def row_at(writer: Writer, node: ast.expr, index: Atom, array: Array, whole: View) -> tuple[Array, View]:
    """Write the row of an array at an index under a name of its own, and return one like it."""
    return _row(writer, node, [index, *[ast.Slice()] * (array.axes - 1)], "", array, whole)


def _row(
    writer: Writer, node: ast.expr, parts: Sequence[ast.expr | Atom], name: str, array: Array, whole: View
) -> tuple[Array, View]:
    outer = layout_of(writer, name, array, is_by_index=False)
    kept = [axis for axis, part in enumerate(parts) if isinstance(part, ast.Slice)]
    along = [_along(writer, *one) for one in zip(parts, outer.sizes, outer.strides, strict=True)]
    texts, tests, terms, lengths = ([text for text in column if text] for column in zip(*along, strict=True))
    names = [writer.new() for _ in (node, "start", *kept)]
    part = f"{writer.runner}.part({writer.constant(node)}, {outer.view}, ({', '.join(texts)},))"
    start = " + ".join([outer.start, *terms] if outer.start else terms) or "0"
    writer.put(f"if {' and '.join(tests) or True}:")
    writer.put(f"    {', '.join(names)} = {', '.join(['None', start, *lengths])}")
    writer.put("else:")
    writer.astray(f"{', '.join(names)} = {writer.runner}.place({part})", None)
    strides = tuple(outer.strides[axis] for axis in kept)
    layout = Layout(outer.access, names[1], tuple(names[2:]), strides, f"({names[0]} or {part})")
    unit = array.unit and kept[-1] == array.axes - 1
    shape, steps = (tuple(each[axis] for axis in kept) for each in (whole.shape, whole.strides))
    like = replace(whole, shape=shape, strides=steps, picked=(), whole=())
    return replace(array, axes=len(kept), unit=unit, first=False, layout=layout), like


def _along(writer: Writer, part: ast.expr | Atom, size: str, stride: str) -> tuple[str, str, str, str]:
    """Write an index or a slice of an axis: texts of it, of whether it is inside, of its start, and of a length."""
    if not isinstance(part, ast.Slice):
        index = part
        if not isinstance(index, Atom):
            index = _from_the_start(writer, index, _index_as_it_is(writer, index), size)
        return index.text, _inside(index, size), _times(index.text, stride), ""
    ends = [None if end is None else _index_as_it_is(writer, end) for end in (part.lower, part.upper)]
    low, high = ("" if end is None else _cut_off(writer, end, size) for end in ends)
    length = high or size
    if low:
        length = f"({high} - {low} if {high} > {low} else 0)" if high else f"{size} - {low}"
    written = ", ".join(str(end and end.text) for end in ends)
    return f"slice({written})", "", _times(low, stride) if low else "", length


def _cut_off(writer: Writer, end: Atom, size: str) -> str:
    """Write an end of a slice, which is none beyond those of its axis; one below 0 counts from the last."""
    low, high = end.within
    text = f"min({end.text}, {size})"
    if low < 0:
        behind = f"({end.text} + {size} if {end.text} + {size} > 0 else 0)"
        text = behind if high < 0 else f"({text} if {end.text} >= 0 else {behind})"
    return writer.let(text, INT64).text


def _index_as_it_is(writer: Writer, node: ast.expr) -> Atom:
    """Write an index under a name of its own: a variable may be assigned before the row or slice is asked for again."""
    index = _index(writer, node)
    return index if index.is_literal else replace(index, text=writer.let(index.text, INT64).text)


def _from_the_start(writer: Writer, node: ast.expr, index: Atom, size: str) -> Atom:
    """Write an index that counts from the end, as one below 0 does, as one from the start; one outside stays.

    One that may be below 0 is only looked at where it is written with a minus.
    """
    low, high = index.within
    if low >= 0 or (high >= 0 and not _has_minus(node)):
        return index
    text = f"{size} + {index.text} if -{size} <= {index.text} < 0 else {index.text}"
    return replace(writer.let(text, INT64), span=NEAR)


def _has_minus(node: ast.expr) -> bool:
    return any(isinstance(part, ast.USub | ast.Invert) for part in ast.walk(node))


def _inside(index: Atom, size: str) -> str:
    return f"{'' if index.within[0] >= 0 else '0 <= '}{index.text} < {size}"


def _parts(writer: Writer, index: ast.expr) -> list[ast.expr]:
    """Return the indices along each axis, those in a tuple that has a name one by one."""
    if isinstance(index, ast.Tuple):
        return list(index.elts)
    if not isinstance(index, ast.Name) or index.id not in writer.frame.names.locals:
        return [index]
    items = items_in(writer.kinds, writer.variable_name(index, index.id))
    each = (ast.Subscript(index, ast.copy_location(ast.Constant(k), index), ast.Load()) for k in range(len(items)))
    return [ast.copy_location(item, index) for item in each] or [index]


def _is_foreign(part: ast.expr) -> bool:
    return isinstance(part, ast.Starred) or (isinstance(part, ast.Constant) and not isinstance(part.value, int))


def _index(writer: Writer, node: ast.expr) -> Atom:
    atom = writer.write(node)
    if atom.dtype is None or atom.dtype.kind not in "iu":
        raise NotWrittenError
    return simple(writer, converted(writer, atom, INT64))


def _times(index: str, stride: str) -> str:
    return f"{index} * {stride}" if stride else index


def layout_of(writer: Writer, name: str, array: Array, *, is_by_index: bool) -> Layout:
    """Return how the text gets to the elements of an array, in an access of its own if it is a whole one."""
    if array.layout is not None:
        return array.layout
    number = len(writer.accesses)
    access = Access(name, array.dtype, array.axes, number, is_by_index, field=array.field)
    writer.accesses.append((access, array.way))
    sizes, strides = ([f"{letter}{number}_{axis}" for axis in range(array.axes)] for letter in "ns")
    if array.unit:
        strides[-1] = ""
    start = "" if array.first else f"b{number}"
    return Layout(access, start, tuple(sizes), tuple(strides), f"V[{writer.constant(name)}]")


def reach_at(writer: Writer, node: ast.expr) -> Reached | None:
    """Write the indices of the element, or of the record whose field, a node names; None for what is not reached."""
    named = _field_named(node)
    if named is None:
        return reach(writer, node.value, node.slice) if isinstance(node, ast.Subscript) else None
    base, field = named
    if isinstance(base, ast.Subscript) and _field_named(base) is None:
        named_array = array_of(writer, base.value)
        is_record = named_array is not None and named_array[1].dtype.fields is not None
        return reach(writer, base.value, base.slice, field) if is_record else None
    return reach(writer, base, None, field)


def reach(writer: Writer, base: ast.expr, index: ast.expr | None, field: str = "") -> Reached | None:
    """Write the indices of an element, or of the record of a field, None for what is not reached here."""
    parts, based = [] if index is None else _parts(writer, index), None
    if (parts or field) and not any(isinstance(part, ast.Slice) or _is_foreign(part) for part in parts):
        based = _field_of(writer, base, field) if field else base_of(writer, base)
    if based is None or len(parts) != based[1].axes:
        return None
    name, array, _ = based
    indices = [_index(writer, part) for part in parts]
    layout = layout_of(writer, name, array, is_by_index=array.in_a_row)
    indices = [_from_the_start(writer, *one) for one in zip(parts, indices, layout.sizes, strict=True)]
    return reached(writer, array, layout, indices)


def reached(writer: Writer, array: Array, layout: Layout, indices: Sequence[Atom]) -> Reached:
    """Write the place of an element."""
    tests = [_inside(atom, size) for atom, size in zip(indices, layout.sizes, strict=True)]
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
        terms = [_times(atom.text, stride) for atom, stride in zip(indices, layout.strides, strict=True)]
        place = " + ".join([layout.start, *terms] if layout.start else terms)
        if not indices or place != indices[0].text:
            place = writer.let(place, INT64).text
        spot = spot or place
    number = layout.access.number
    cell = f"({place}) * {array.cells} + f{number}" if array.cells > 1 else f"{place} + f{number}"
    is_owned = array.way == "owned" and not writer.several
    cells = [cell, *(f"{cell} + {more}" for more in range(1, array.cells))] * is_owned
    own = " and ".join(f"((w := o{number}[{cell}]) == me or not w)" for cell in cells)
    texts = f"({''.join(f'{atom.text}, ' for atom in indices)})"
    return Reached(layout, array, texts, " and ".join(tests) or "True", own, place, spot, constant)


def shape_of(writer: Writer, node: ast.expr) -> list[Atom] | None:
    """Return the sizes of a row or slice, or of one of several arrays, None for anything else."""
    named = array_of(writer, node)
    if named is None or not (named[1].layout is not None or _is_renamed(writer, node)):
        return None
    name, array = named
    sizes = layout_of(writer, name, array, is_by_index=array.in_a_row).sizes
    return [Atom(size, INT64, (0, NEAR[1])) for size in sizes]


def _is_renamed(writer: Writer, node: ast.expr) -> bool:
    """Tell whether a name in an expression stands for several arrays in the loop."""
    renamed = writer.renamed
    return renamed is not None and writer.scope is None and not names_in(node).isdisjoint(renamed.names)


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
