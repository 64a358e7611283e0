"""Elements of arrays in the text of a loop, and what is worth the same throughout."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from smemviz.engines.lockstep.python.one_thread.accesses import Access
from smemviz.engines.lockstep.python.one_thread.arithmetic import closed, converted, settled, simple
from smemviz.engines.lockstep.python.one_thread.atoms import Atom, of_load
from smemviz.engines.lockstep.python.one_thread.values import span_of, type_of
from smemviz.engines.lockstep.python.one_thread.writer import Array, Bound, NotWrittenError, Writer
from smemviz.engines.lockstep.values.operators import NoRuleError
from smemviz.engines.lockstep.values.typing import INT64, NotAScalarError
from smemviz.errors import SmemvizError

REFUSALS = (SmemvizError, NotAScalarError, NoRuleError, ArithmeticError, LookupError, ValueError, TypeError)


@dataclass(frozen=True)
class Reached:
    """An element at a ``place``, noted as a ``base`` and a constant; ``inside`` is the text of whether it is there."""

    access: Access
    array: Array
    indices: str
    inside: str
    place: str
    base: str
    offset: int

    @property
    def element(self) -> str:
        """The text of the element."""
        return f"m{self.access.number}[{self.place}]"

    def note(self, writer: Writer, site: int | None) -> None:
        """Note an access to the element."""
        writer.note(self.base, self.offset, site, self.access)


def bound(writer: Writer, node: ast.expr) -> Atom | None:
    """Return what is worth the same throughout the loop, and evaluated before it."""
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
    if not isinstance(node, ast.Name) or node.id not in writer.frame.names.locals:
        return None
    name = writer.variable_name(node, node.id)
    array = writer.array(name)
    return None if array is None else (name, array)


def reach(writer: Writer, base: ast.expr, index: ast.expr) -> Reached | None:
    """Write the indices of an element, None for what is no element of an array that is reached here."""
    named = array_of(writer, base)
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if named is None or named[1].way == "far" or len(parts) != named[1].axes or not parts:
        return None
    if any(isinstance(part, ast.Slice | ast.Starred) or _is_text(part) for part in parts):
        return None
    name, array = named
    indices = []
    for part in parts:
        atom = writer.write(part)
        if atom.dtype is None or atom.dtype.kind not in "iu":
            raise NotWrittenError
        indices.append(simple(writer, converted(writer, atom, INT64)))
    number = len(writer.accesses)
    made = Access(name, array.dtype, array.axes, number, array.axes == 1 and array.unit)
    writer.accesses.append((made, array.way))
    tests, terms = [], [] if array.first else [f"b{number}"]
    for axis, atom in enumerate(indices):
        tests.append(f"{'' if atom.within[0] >= 0 else '0 <= '}{atom.text} < n{number}_{axis}")
        unit = array.unit and axis == array.axes - 1
        terms.append(atom.text if unit else f"{atom.text} * s{number}_{axis}")
    place = terms[0] if len(terms) == 1 and indices[0].text == terms[0] else f"q{number}"
    if place == f"q{number}":
        writer.put(f"{place} = {' + '.join(terms)}")
    if array.way == "owned":
        tests.append(f"((w := o{number}[{place} + f{number}]) == me or not w)")
    spot, constant = place, 0
    if made.is_by_index:
        first = indices[0]
        spot, constant = first.beside or (first.text, 0)
        if first.is_literal:
            spot, constant = "0", int(first.text.strip("()"))
    return Reached(
        made, array, f"({', '.join(atom.text for atom in indices)},)", " and ".join(tests), place, spot, constant
    )


def view(writer: Writer, element: Reached) -> str:
    """Return the text of the array of an element."""
    return f"V[{writer.constant(element.access.name)}]"


def store(writer: Writer, node: ast.Subscript, element: Reached, atom: Atom, inside: str, far: str) -> None:
    """Write a store of what fits the array where the element is ``inside``, and what is done instead elsewhere."""
    site = writer.frame.tree.stores.get(node)
    writer.stored.add(element.access.name)
    writer.put(f"if {inside}:")
    if element.array.space == "shared" and site is not None:
        writer.put(f"    stored({atom.text})")
    writer.put(f"    {element.element} = {atom.text}")
    writer.put("else:")
    writer.astray(far, site)
    element.note(writer, site)


def fitting(writer: Writer, array: Array, atom: Atom) -> Atom:
    """Return a number as an array holds it; an array rounds what it is given."""
    if atom.dtype is None or array.space == "constant" or (atom.dtype.kind == "c" and array.dtype.kind != "c"):
        raise NotWrittenError
    atom = converted(writer, atom, array.dtype)
    if array.space == "shared":
        return simple(writer, atom)
    return atom if atom.loose else settled(writer, atom)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, int)


def subscript(writer: Writer, node: ast.Subscript) -> Atom | None:
    """Write the load of an element."""
    if isinstance(node.value, ast.Attribute) and node.value.attr == "shape" and isinstance(node.slice, ast.Constant):
        return None if array_of(writer, node.value.value) is None else bound(writer, node)
    made = reach(writer, node.value, node.slice)
    if made is None:
        return None
    result, dtype = writer.new(), made.array.dtype
    writer.put(f"if {made.inside}:")
    writer.put(f"    {result} = {made.element}")
    writer.put("else:")
    far = f"{writer.runner}.load({writer.constant(node)}, {view(writer, made)}, {made.indices})"
    site = writer.frame.tree.loads.get(node)
    writer.astray(f"{result} = {closed(far, dtype)}", site)
    made.note(writer, site)
    return of_load(result, dtype)
