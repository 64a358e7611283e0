"""What loops in the text of a loop go over: the numbers of a range, or the positions of what else has items.

At a position a target is given what is there: an element that is loaded, a row, or one of several numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.one_thread.arrays import Array
from smemviz.engines.lockstep.python.one_thread.atoms import NEAR, Atom, Span, union
from smemviz.engines.lockstep.python.one_thread.text import in_order, tuples
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import (
    converted,
    literal,
    settled,
    simple,
    value,
)
from smemviz.engines.lockstep.python.one_thread.text.elements import indices_at, load, reached, unpacked
from smemviz.engines.lockstep.python.one_thread.text.inlined import tuple_of
from smemviz.engines.lockstep.python.one_thread.text.named import REFUSALS, bound, is_given_before, is_used_there
from smemviz.engines.lockstep.python.one_thread.text.rows import Based, base_of, layout_of, row_at
from smemviz.engines.lockstep.python.one_thread.text.tuples import kept, named, number_at
from smemviz.engines.lockstep.python.one_thread.text.variables import assign
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.values.typing import INT64, Value

Item = Any  # a number, an array and one like it, or a tuple of items

_RANGE = "builtins.range"
_MOST = 1 << 62  # turns, which nobody waits for


@dataclass(frozen=True)
class _Items:
    """How many items there are, and what writes the one at a position."""

    count: Atom
    at: Callable[[Atom], Item]


def gone_over(writer: Writer, node: ast.For) -> tuple[str, str, Callable[[], None]]:
    """Return the text of the range that a loop goes over, that of its number, and what binds its target to that."""
    is_range = isinstance(node.iter, ast.Call) and writer.frame.canonical(node.iter.func) == _RANGE
    loops = len(writer.loops)
    numbers, number, bind = (_numbers if is_range else _positions)(writer, node)
    if writer.several and not writer.turns and len(writer.loops) > loops:
        raise NotWrittenError  # of a function: threads stop in turns of the outermost one only
    return numbers if writer.several or writer.turns else f"P or {numbers}", number, bind


def _numbers(writer: Writer, node: ast.For) -> tuple[str, str, Callable[[], None]]:
    target = node.target
    if not isinstance(target, ast.Name):
        raise NotWrittenError
    is_left = writer.in_order and not writer.turns
    ends = [Atom(end, INT64, NEAR) for end in in_order.ENDS] if is_left else _ends(writer, node.iter)
    name, kept = writer.inside(target.id), target in writer.frame.versions.variables
    again = any(part.id == target.id and isinstance(part.ctx, ast.Store) for part in _names_in(node.body))
    plain = not kept and not again and writer.kinds.get(name, INT64) == INT64
    number = Atom(writer.variable(name) if plain else writer.new(), INT64, _within(ends))

    def bind() -> None:
        if plain:
            writer.assign(name, number, written=True)
        else:
            assign(writer, target, target.id, number)

    return _range_of(ends), number.text, bind


def _positions(writer: Writer, node: ast.For) -> tuple[str, str, Callable[[], None]]:
    outermost = writer.several and not writer.turns
    if outermost and not (_stays(node) and leaves_nothing(writer.frame, node.iter)):
        raise NotWrittenError
    items = _items_of(writer, node.iter)
    position = Atom(writer.new(), INT64, (0, max(items.count.within[1] - 1, 0)))
    begin = f"{in_order.START}, " if writer.in_order and outermost else ""
    bind = partial(_bind_at, writer, node, items, position)
    return f"range({begin}{items.count.text})", position.text, bind


def _bind_at(writer: Writer, node: ast.For, items: _Items, position: Atom) -> None:
    """Give the target of a loop the item at a position."""
    _bind(writer, node, node.target, items.at(position))


def _stays(node: ast.For) -> bool:
    """Tell whether a loop assigns no name of what it goes over: that is asked for again by what goes on with it."""
    stored = {name.id for name in _names_in([node.target, *node.body]) if isinstance(name.ctx, ast.Store)}
    return not any(name.id in stored for name in _names_in([node.iter]))


def leaves_nothing(frame: Frame, node: ast.expr) -> bool:
    """Tell whether asking for what a loop goes over leaves nothing behind: no element is loaded before its turns."""
    tree, arrays = frame.tree, list(_arrays_in(frame, node))
    did = {part for part in ast.walk(node) if part in tree.loads or part in tree.calls or part in tree.atomics}
    return did <= {node, *arrays} and not did & tree.calls.keys()


def _arrays_in(frame: Frame, node: ast.expr) -> Iterator[ast.expr]:
    """Yield the expressions of what a loop may load element by element."""
    name = frame.canonical(node.func) if isinstance(node, ast.Call) else ""
    if isinstance(node, ast.Call) and name in ("builtins.enumerate", "builtins.iter", "builtins.zip"):
        for argument in node.args[:1] if name == "builtins.enumerate" else node.args:
            yield from _arrays_in(frame, argument)
    else:
        yield node


def _names_in(nodes: Sequence[ast.AST]) -> list[ast.Name]:
    return [part for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)]


# -- targets


def _bind(writer: Writer, node: ast.For, target: ast.expr, item: Item) -> None:
    """Give a target an item, all of whose numbers are known."""
    if isinstance(target, ast.Name) and isinstance(item, Atom):
        assign(writer, target, target.id, item)
    elif isinstance(target, ast.Name) and isinstance(item, tuple):
        tuples.assign(writer, target, tuples.numbers(item))
    elif isinstance(target, ast.Name) and isinstance(item, _Row):
        _name_row(writer, target, item)
    elif isinstance(target, ast.Tuple | ast.List) and isinstance(item, _Row) and item.array.axes == 1:
        _bind(writer, node, target, tuple(unpacked(writer, node.iter, item.array, len(target.elts))))
    elif isinstance(target, ast.Tuple | ast.List) and isinstance(item, tuple) and len(target.elts) == len(item):
        for part, own in zip(target.elts, item, strict=True):
            _bind(writer, node, part, own)
    else:
        raise NotWrittenError


@dataclass(frozen=True)
class _Row:
    """A row of an array, and an array like it."""

    array: Array
    like: View


def _name_row(writer: Writer, target: ast.Name, row: _Row) -> None:
    """Let a name stand for a row, where it is used in the turns of this loop."""
    if target in writer.frame.versions.variables or not is_used_there(writer.frame.function.node, target.id):
        raise NotWrittenError
    writer.frame.variables[target.id] = row.like
    writer.stand(writer.inside(target.id), row.array)


# -- items


def _items_of(writer: Writer, node: ast.expr) -> _Items:
    """Write how many items there are before the loop."""
    if isinstance(node, ast.Call):
        rule = _ITERATORS.get(writer.frame.canonical(node.func))
        if rule is None or node.keywords or not node.args:
            raise NotWrittenError
        return rule(writer, node)
    if isinstance(node, ast.Tuple):
        return _one_of(writer, node, [_written_out(writer, item) for item in node.elts])
    based = base_of(writer, node)
    if based is not None:
        return _elements(writer, node, *based)
    flat = base_of(writer, node.value) if isinstance(node, ast.Attribute) and node.attr == "flat" else None
    if flat is not None:
        return _elements_of(writer, node, flat, lambda indices, element: element())
    if writer.turns and (items := named(writer, node)):
        return _one_of(writer, node, [kept(writer, item) for item in items])
    item = _held(writer, node)
    if not isinstance(item, tuple):
        raise NotWrittenError
    return _one_of(writer, node, item)


def _elements(writer: Writer, node: ast.expr, name: str, array: Array, whole: View) -> _Items:
    """Give each element of an array, or each row."""
    if not array.axes:
        raise NotWrittenError
    layout = layout_of(writer, name, array, is_by_index=array.in_a_row)
    count = Atom(layout.sizes[0], INT64, (0, NEAR[1]))
    if array.axes == 1:
        return _Items(count, lambda k: load(writer, node, reached(writer, array, layout, [k])))
    rows = replace(array, layout=layout)
    return _Items(count, lambda k: _Row(*row_at(writer, node, k, rows, whole)))


def _in_range(writer: Writer, node: ast.Call) -> _Items:
    ends = _ends(writer, node)
    (low, high), zero = union([(0, 0), *(end.within for end in ends)]), Atom("0", INT64, (0, 0))
    own = [end if end.is_literal else replace(end, text=writer.let(end.text, INT64).text) for end in ends]
    begin, step = own[0] if len(own) > 1 else zero, own[2] if len(own) > 2 else Atom("1", INT64, (1, 1))
    part = "" if high - low <= _MOST else f"[:{_MOST}]"  # Python counts no more than 64 bits hold
    numbers = writer.let(_range_of(own), None).text
    count = replace(writer.let(f"len({numbers}{part})", INT64), span=(0, min(high - low, _MOST)))
    return _Items(count, lambda k: replace(number_at(writer, node, k, begin, step), span=_within(ends)))


def _numbered(writer: Writer, node: ast.Call) -> _Items:
    """Give items and their numbers, from 0 on or from where the second argument says."""
    items, one = _items_of(writer, node.args[0]), Atom("1", INT64, (1, 1))
    begin = value(writer, node.args[1]) if len(node.args) == 2 else Atom("0", INT64, (0, 0))
    if len(node.args) > 2 or begin.dtype != INT64:
        raise NotWrittenError
    begin = begin if begin.is_literal else replace(begin, text=writer.let(begin.text, INT64).text)

    def numbered(position: Atom) -> Item:
        item = items.at(position)
        return settled(writer, number_at(writer, node, position, begin, one)), item

    return _Items(items.count, numbered)


def _alongside(writer: Writer, node: ast.Call) -> _Items:
    """Give the items of several together, until the first of them ends."""
    each = [_items_of(writer, argument) for argument in node.args]
    least, *others = [items.count for items in each]
    for count in others:
        span = min(least.within[0], count.within[0]), min(least.within[1], count.within[1])
        least = replace(writer.let(f"min({least.text}, {count.text})", INT64), span=span)
    return _Items(least, lambda position: tuple(items.at(position) for items in each))


def _places(writer: Writer, node: ast.Call) -> _Items:
    """Give every index into an array of a shape, the last axis fastest."""
    items = tuple_of(writer, node.args[0]) if len(node.args) == 1 else None
    sizes = [value(writer, argument) for argument in node.args] if items is None else items
    if any(size.dtype is None or size.dtype.kind not in "iu" for size in sizes):
        raise NotWrittenError
    own = [kept(writer, settled(writer, converted(writer, size, INT64))) for size in sizes]
    return _within_sizes(writer, [size.text for size in own], tuple)


def _within_sizes(writer: Writer, sizes: Sequence[str], item: Callable[[list[Atom]], Item]) -> _Items:
    """Give what is at every index into an array of some sizes, of which none has an element below 1."""
    count = writer.let(" * ".join(f"({size} if {size} > 0 else 0)" for size in sizes) or "1", INT64)
    count = replace(count, span=(0, NEAR[1]))
    return _Items(count, lambda position: item(indices_at(writer, position, sizes)))


def _enumerated(writer: Writer, node: ast.Call) -> _Items:
    """Give every index into an array, and its element."""
    based = base_of(writer, node.args[0])
    if based is None or len(node.args) > 1:
        raise NotWrittenError
    return _elements_of(writer, node, based, lambda indices, element: (tuple(indices), element()))


def _elements_of(
    writer: Writer, node: ast.expr, based: Based, item: Callable[[list[Atom], Callable[[], Atom]], Item]
) -> _Items:
    """Give what is made of every index into an array and its element, which is loaded when it is asked for."""
    name, array, _ = based
    layout = layout_of(writer, name, array, is_by_index=array.in_a_row)

    def at(indices: list[Atom]) -> Item:
        return item(indices, lambda: load(writer, node, reached(writer, array, layout, indices)))

    return _within_sizes(writer, layout.sizes, at)


def _again(writer: Writer, node: ast.Call) -> _Items:
    if len(node.args) > 1:
        raise NotWrittenError
    return _items_of(writer, node.args[0])


# -- one of several numbers


def _written_out(writer: Writer, node: ast.expr) -> Item:
    """Write an item of a tuple before the loop, where it is known from then on."""
    if isinstance(node, ast.Tuple):
        return tuple(_written_out(writer, item) for item in node.elts)
    if isinstance(node, ast.Starred):
        raise NotWrittenError
    atom = value(writer, node)
    return atom if atom.is_literal or atom.is_number else replace(atom, text=writer.let(atom.text, atom.dtype).text)


def _held(writer: Writer, node: ast.expr) -> Item:
    """Return the items of a tuple that a name stands for, and has stood for since before any loop."""
    frame = writer.frame
    own = [name.id for name in _names_in([node]) if name.id in frame.names.locals]
    if not isinstance(node, ast.Name | ast.Attribute) or (own and writer.scope is not None):
        raise NotWrittenError
    if not all(is_given_before(frame, name) for name in own):
        raise NotWrittenError
    try:
        held = frame.value(node)
    except REFUSALS:
        raise NotWrittenError from None
    return _numbers_in(writer, node, writer.open(held), is_same=not own)


def _numbers_in(writer: Writer, node: ast.expr, held: Value, *, is_same: bool) -> Item:
    """Return the numbers in a tuple: as they are if they are the same in every launch, else as they are before it."""
    if type(held) is not tuple:
        atom = literal(writer, held) if is_same else bound(writer, node)
        if atom is None:
            raise NotWrittenError
        return atom
    items = (ast.copy_location(ast.Subscript(node, ast.Constant(k), ast.Load()), node) for k in range(len(held)))
    return tuple(_numbers_in(writer, part, item, is_same=is_same) for part, item in zip(items, held, strict=True))


def _one_of(writer: Writer, node: ast.AST, items: Sequence[Item]) -> _Items:
    """Give the items of a tuple, which are of one type."""
    if not items:
        raise NotWrittenError
    count = Atom(str(len(items)), INT64, (len(items), len(items)))
    return _Items(count, partial(tuples.at, writer, node, items))


# -- ranges


def _ends(writer: Writer, call: ast.expr) -> list[Atom]:
    """Write what a range is made of."""
    assert isinstance(call, ast.Call)
    if call.keywords or not 1 <= len(call.args) <= 3:
        raise NotWrittenError
    bounds = [writer.write(bound) for bound in call.args]
    if any(bound.dtype is None or bound.dtype.kind not in "iuf" for bound in bounds):
        raise NotWrittenError
    ends = [settled(writer, converted(writer, bound, INT64)) for bound in bounds]
    if len(ends) == 3 and ends[2].within[0] <= 0:
        ends[2] = simple(writer, ends[2])
        writer.put(f"if not {ends[2].text}: {writer.runner}.no_step({writer.constant(call)})")
    return ends


def _range_of(ends: Sequence[Atom]) -> str:
    return f"range({', '.join(end.text for end in ends)})"


def _within(ends: Sequence[Atom]) -> Span:
    """Return where the numbers of a range lie."""
    begin, end = ((0, 0), ends[0].within) if len(ends) == 1 else (ends[0].within, ends[1].within)
    step = ends[2].within if len(ends) == 3 else (1, 1)
    low = begin[0] if step[0] > 0 else min(begin[0], end[0] + 1)
    high = begin[1] if step[1] < 0 else max(begin[1], end[1] - 1)
    if step[0] > 0:
        high = max(low, end[1] - 1)
    if step[1] < 0:
        low = min(high, end[0] + 1)
    return low, high


_ITERATORS: dict[str, Callable[[Writer, ast.Call], _Items]] = {
    "builtins.enumerate": _numbered,
    "builtins.iter": _again,
    "builtins.range": _in_range,
    "builtins.zip": _alongside,
    "cuda.literal_unroll": _again,
    "numpy.ndenumerate": _enumerated,
    "numpy.ndindex": _places,
}
