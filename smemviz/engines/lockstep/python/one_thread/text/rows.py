"""Arrays, their fields, and rows and slices of them in the text of a loop: where each begins, its sizes and strides."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.memory.records import field_view
from smemviz.engines.lockstep.python.one_thread.arrays import Access, Array, Layout, Record, cells_in, way_to
from smemviz.engines.lockstep.python.one_thread.atoms import NEAR, Atom
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import converted, simple
from smemviz.engines.lockstep.python.one_thread.text.named import array_of, held, is_renamed
from smemviz.engines.lockstep.python.one_thread.text.tuples import named
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.values.typing import INT64
from smemviz.frontends.numba.sites.visit import field_name

Based = tuple[str, Array, View]  # the variable of an array, or nothing, the array, and one like it
Index = ast.expr | Atom


def base_of(writer: Writer, node: ast.expr) -> Based | None:
    """Return an array that is reached, under its variable, or a part of one, and one like it."""
    array = array_of(writer, node)
    if array is not None:
        is_in_reach = array[1].way != "far" and array[1].dtype.fields is None
        return (*array, held(writer, node)) if is_in_reach else None
    part = field_named(node)
    of_field = None if part is None else field_of(writer, *part)
    if of_field is not None and of_field[1].axes:
        name, made, view = of_field
        layout = layout_of(writer, name, made, is_by_index=False)
        text = f"{writer.runner}.field({writer.constant(node)}, {layout.view})"
        return "", replace(made, layout=replace(layout, view=text)), view
    row = row_of(writer, node)
    return None if row is None else ("", *row)


def field_named(node: ast.expr) -> tuple[ast.expr, str] | None:
    """Return of what a node names a field, and which."""
    if isinstance(node, ast.Attribute):
        return node.value, node.attr
    name = field_name(node.slice) if isinstance(node, ast.Subscript) else None
    return None if name is None or not isinstance(node, ast.Subscript) else (node.value, name)


def field_of(writer: Writer, node: ast.expr, field: str) -> Based | None:
    """Return the array of a field of an array that a name stands for, under its variable, and one like it."""
    found = array_of(writer, node)
    return None if found is None else field_in(writer, (*found, held(writer, node)), field)


def field_in(writer: Writer, based: Based, field: str) -> Based | None:
    """Return the array of a field of an array, and one like it."""
    name, array, whole = based
    if array.layout is not None or array.way == "far":
        return None
    try:
        view = field_view(whole, field)
    except ValueError:
        return None
    if view is None or view.dtype.fields is not None:
        return None
    machine = writer.frame.machine
    way, cells = way_to(machine, view), cells_in(machine, view)
    made = Array(view.dtype, view.ndim, array.space, way, unit=False, first=False, cells=cells, field=field)
    return None if way == "far" else (name, made, view)


def row_of(writer: Writer, node: ast.expr) -> tuple[Array, View] | None:
    """Write a part of an array that is one too, and return one like it; None for what is none of what is reached."""
    if not isinstance(node, ast.Subscript | ast.Attribute):
        return None
    mark = writer.mark()
    part = field_named(node)
    row = _turned(writer, node) or (None if part is None else _of_record(writer, node, *part))
    if row is None and isinstance(node, ast.Subscript) and (based := base_of(writer, node.value)) is not None:
        parts = parts_of(writer, node.slice, based[1].axes)
        if parts is not None and any(isinstance(part, ast.Slice) for part in parts):
            outer = layout_of(writer, *based[:2], is_by_index=False)
            row = _row(writer, parts, based, outer, lambda texts: _part(writer, node, outer.view, texts))
    if row is None:
        writer.back(mark)
    return row


def row_at(writer: Writer, node: ast.expr, index: Atom, array: Array, whole: View) -> tuple[Array, View]:
    """Write the row of an array at an index under a name of its own, and return one like it."""
    outer = layout_of(writer, "", array, is_by_index=False)
    parts: list[Index] = [index]
    parts += [ast.Slice()] * (array.axes - 1)
    return _row(writer, parts, ("", array, whole), outer, lambda texts: _part(writer, node, outer.view, texts))


def _turned(writer: Writer, node: ast.expr) -> tuple[Array, View] | None:
    """Write a part of an array with its axes reversed."""
    if not isinstance(node, ast.Attribute) or node.attr != "T":
        return None
    based = base_of(writer, node.value)
    if based is None:
        return None
    name, array, whole = based
    layout = layout_of(writer, name, array, is_by_index=False)
    view = f"{writer.runner}.turned({layout.view})"
    layout = replace(layout, sizes=layout.sizes[::-1], strides=layout.strides[::-1], view=view)
    return replace(array, unit=False, layout=layout), whole.transpose()


def _of_record(writer: Writer, node: ast.expr, base: ast.expr, field: str) -> tuple[Array, View] | None:
    """Write the array that is a field of one record of an array."""
    record = record_named(writer, base)
    based = None if record is None else field_in(writer, (record.name, record.array, record.view), field)
    if record is None or based is None or based[1].axes <= len(record.indices):
        return None
    outer, many = layout_of(writer, *based[:2], is_by_index=False), len(record.indices)
    parts: list[Index] = list(record.indices)
    parts += [ast.Slice()] * (based[1].axes - many)

    def far(texts: Sequence[str]) -> str:
        whole = f"V[{writer.constant(based[0])}]"
        return f"{writer.runner}.field({writer.constant(node)}, {_part(writer, record.of, whole, texts[:many])})"

    return _row(writer, parts, based, outer, far)


def record_named(writer: Writer, node: ast.expr) -> Record | None:
    """Return the record of an array that a node names, None for anything else."""
    if isinstance(node, ast.Name) and node.id in writer.frame.names.locals:
        return writer.records.get(writer.variable_name(node, node.id))
    if not isinstance(node, ast.Subscript) or field_named(node) is not None:
        return None
    array = array_of(writer, node.value)
    if array is None or array[1].dtype.fields is None:
        return None
    parts = parts_of(writer, node.slice, array[1].axes)
    is_one = parts is not None and not any(isinstance(part, ast.Slice) for part in parts)
    return Record(node, *array, held(writer, node.value), parts) if parts is not None and is_one else None


def record_at(writer: Writer, record: Record) -> tuple[Array, View, Record]:
    """Write the indices of a record under names of their own; return what its array is known as, too.

    Where there is none, the loop is left to the interpreter.
    """
    whole, fields = (record.name, record.array, record.view), record.view.dtype.names or ()
    based = next(filter(None, (field_in(writer, whole, field) for field in fields)), None)
    if based is None:
        raise NotWrittenError
    layout = layout_of(writer, *based[:2], is_by_index=False)
    indices: list[Atom] = []
    for part, size in zip(record.indices, layout.sizes, strict=False):  # of a field that is an array there are more
        indices.append(from_the_start(writer, part, as_it_is(writer, part), size))
    tests = [inside(index, size) for index, size in zip(indices, layout.sizes, strict=False)]
    view = _part(writer, record.of, f"V[{writer.constant(based[0])}]", [index.text for index in indices])
    writer.put(f"if not ({' and '.join(tests)}): {writer.runner}.place({view})")
    array = replace(based[1], axes=0, way="far", layout=Layout(layout.access, "", (), (), view))
    return array, replace(record.view, shape=(), strides=()), replace(record, indices=indices)


def _part(writer: Writer, node: ast.expr, view: str, texts: Sequence[str]) -> str:
    return f"{writer.runner}.part({writer.constant(node)}, {view}, ({', '.join(texts)},))"


def _row(
    writer: Writer, parts: Sequence[Index], based: Based, outer: Layout, far: Callable[[Sequence[str]], str]
) -> tuple[Array, View]:
    """Write a row or slice under names of its own; ``far`` gives the text of it as the interpreter has it."""
    _, array, whole = based
    kept = [axis for axis, part in enumerate(parts) if isinstance(part, ast.Slice)]
    along = [_along(writer, *one) for one in zip(parts, outer.sizes, outer.strides, strict=True)]
    tests, terms = ([text for text in column if text] for column in ([a.test for a in along], [a.term for a in along]))
    names = [writer.new() for _ in ("part", "start", *kept)]
    part = far([axis.text for axis in along])
    start = " + ".join([outer.start, *terms] if outer.start else terms) or "0"
    writer.put(f"if {' and '.join(tests) or True}:")
    writer.put(f"    {', '.join(names)} = {', '.join(['None', start, *(along[axis].length for axis in kept)])}")
    writer.put("else:")
    writer.astray(f"{', '.join(names)} = {writer.runner}.place({part})", None)
    strides = tuple(along[axis].stride for axis in kept)
    layout = Layout(outer.access, names[1], tuple(names[2:]), strides, f"({names[0]} or {part})")
    unit = array.unit and kept[-1] == array.axes - 1 and not strides[-1]
    shape, steps = (tuple(each[axis] for axis in kept) for each in (whole.shape, whole.strides))
    like = replace(whole, shape=shape, strides=steps, picked=(), whole=())
    return replace(array, axes=len(kept), unit=unit, first=False, layout=layout), like


@dataclass(frozen=True)
class _Along:
    """An index or a slice of an axis: texts of it, of whether it is inside, of its start, its length and its stride."""

    text: str
    test: str
    term: str
    length: str = ""
    stride: str = ""


def _along(writer: Writer, part: Index, size: str, stride: str) -> _Along:
    if isinstance(part, ast.Slice):
        return _slice_along(writer, part, size, stride)
    given = as_it_is(writer, part)
    index = from_the_start(writer, part, given, size)
    return _Along(given.text, inside(index, size), _times(index.text, stride))


def _slice_along(writer: Writer, part: ast.Slice, size: str, stride: str) -> _Along:
    step = 1 if part.step is None else writer.frame.names.literal(part.step)
    if type(step) is not int or not step:
        raise NotWrittenError
    ends = [None if end is None else as_it_is(writer, end) for end in (part.lower, part.upper)]
    low, high = ("" if end is None else _cut_off(writer, end, size, is_down=step < 0) for end in ends)
    text = f"slice({', '.join(str(end and end.text) for end in ends)}, {None if part.step is None else step})"
    begin, many = low, high or size
    if step < 0:
        begin = low or writer.let(f"{size} - 1", INT64).text
        many = f"{begin} - {high or '(-1)'}"
    elif low:
        many = f"{many} - {low}"
    many = f"({many} if {many} > 0 else 0)" if low and high else many
    length = many if abs(step) == 1 else f"({many} + {abs(step) - 1}) // {abs(step)}"
    further = stride if step == 1 else f"({_times(str(step), stride)})"
    return _Along(text, "", _times(begin, stride) if begin else "", length, further)


def _cut_off(writer: Writer, end: Atom, size: str, *, is_down: bool) -> str:
    """Write an end of a slice, which is none beyond those of its axis; one below 0 counts from the last."""
    (low, high), least, most = end.within, -1 if is_down else 0, f"{size} - 1" if is_down else size
    text = f"min({end.text}, {most})"
    if low < 0:
        behind = f"({end.text} + {size} if {end.text} + {size} > {least} else {least})"
        text = behind if high < 0 else f"({text} if {end.text} >= 0 else {behind})"
    return writer.let(text, INT64).text


def as_it_is(writer: Writer, part: Index) -> Atom:
    """Write an index under a name of its own: a variable may be assigned before the row or slice is asked for again."""
    index = index_of(writer, part)
    return index if index.is_literal else replace(index, text=writer.let(index.text, INT64).text)


def from_the_start(writer: Writer, part: Index, index: Atom, size: str) -> Atom:
    """Write an index that counts from the end, as one below 0 does, as one from the start; one outside stays.

    One that may be below 0 is only looked at where it is written with a minus.
    """
    low, high = index.within
    if low >= 0 or (high >= 0 and not _has_minus(part)):
        return index
    text = f"{size} + {index.text} if -{size} <= {index.text} < 0 else {index.text}"
    return replace(writer.let(text, INT64), span=NEAR)


def _has_minus(part: Index) -> bool:
    return isinstance(part, ast.expr) and any(isinstance(each, ast.USub | ast.Invert) for each in ast.walk(part))


def inside(index: Atom, size: str) -> str:
    """Return the text of whether an index is inside."""
    return f"{'' if index.within[0] >= 0 else '0 <= '}{index.text} < {size}"


def parts_of(writer: Writer, index: ast.expr, axes: int) -> list[Index] | None:
    """Return an index or a slice for each axis of an array, None where there are too many or others."""
    parts: list[Index] = []
    for part in index.elts if isinstance(index, ast.Tuple) else [index]:
        items = named(writer, part)
        parts += [part] if items is None else items
    dots = [at for at, part in enumerate(parts) if isinstance(part, ast.Constant) and part.value is Ellipsis]
    if len(dots) == 1:
        parts[dots[0] : dots[0] + 1] = [ast.Slice() for _ in range(axes + 1 - len(parts))]
    elif all(isinstance(part, ast.Slice) for part in parts) or len(parts) < axes:
        parts += [ast.Slice() for _ in range(axes - len(parts))]
    return None if len(parts) != axes or any(map(_is_foreign, parts)) else parts


def _is_foreign(part: Index) -> bool:
    return isinstance(part, ast.Starred) or (isinstance(part, ast.Constant) and not isinstance(part.value, int))


def index_of(writer: Writer, part: Index) -> Atom:
    """Write an index."""
    atom = part if isinstance(part, Atom) else writer.write(part)
    if atom.dtype is None or atom.dtype.kind not in "iu":
        raise NotWrittenError
    return simple(writer, converted(writer, atom, INT64))


def _times(index: str, stride: str) -> str:
    return f"{index} * {stride}" if stride else index


def place_of(indices: Sequence[Atom], layout: Layout) -> str:
    """Return the text of the place of an element."""
    terms = [_times(atom.text, stride) for atom, stride in zip(indices, layout.strides, strict=True)]
    return " + ".join([layout.start, *terms] if layout.start else terms)


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


def shape_of(writer: Writer, node: ast.expr) -> list[Atom] | None:
    """Return the sizes of a part of an array, or of one of several arrays, None for anything else."""
    found = array_of(writer, node)
    if found is not None and found[1].layout is None and not is_renamed(writer, node):
        return None
    based = base_of(writer, node) if found is None and isinstance(node, ast.Attribute | ast.Subscript) else None
    if found is None and based is None:
        return None
    name, array = found or based[:2]  # type: ignore[index]
    sizes = layout_of(writer, name, array, is_by_index=array.in_a_row).sizes
    return [Atom(size, INT64, (0, NEAR[1])) for size in sizes]
