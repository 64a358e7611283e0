"""What is the same throughout a loop in its text: numbers that are evaluated and arrays that are made before it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.one_thread.arrays import Array, Made
from smemviz.engines.lockstep.python.one_thread.atoms import Atom, Bound
from smemviz.engines.lockstep.python.one_thread.kinds import kind_of
from smemviz.engines.lockstep.python.one_thread.renamed import names_in
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.python.one_thread.values import span_of, type_of
from smemviz.engines.lockstep.values.operators import NoRuleError
from smemviz.engines.lockstep.values.typing import NotAScalarError, Value
from smemviz.errors import SmemvizError

REFUSALS = (SmemvizError, NotAScalarError, NoRuleError, ArithmeticError, LookupError, ValueError, TypeError)
_MADE = "."  # before the number of an array that is made before the loop
_VIEWS = ("reshape", "transpose", "view")


def bound(writer: Writer, node: ast.expr) -> Atom | None:
    """Return what is worth the same throughout the loop, and evaluated before it."""
    if is_renamed(writer, node):
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


def is_renamed(writer: Writer, node: ast.expr) -> bool:
    """Tell whether a name in an expression stands for several arrays in the loop."""
    renamed = writer.renamed
    return renamed is not None and writer.scope is None and not names_in(node).isdisjoint(renamed.names)


def is_given_before(frame: Frame, name: str) -> bool:
    """Tell whether a variable of a function is assigned in no loop or branch, if at all."""
    stored = [name for name in _names_in(frame.function.node, name) if isinstance(name.ctx, ast.Store)]
    before = [part for part in frame.function.node.body if isinstance(part, ast.Assign)]
    return {*stored} <= {own for part in before for target in part.targets for own in _names_in(target, name)}


@lru_cache(maxsize=1024)
def is_used_there(function: ast.AST, name: str, most: int = sys.maxsize) -> bool:
    """Tell whether a name, wherever it is read, stands for what the statement before it in that block gave it.

    Or for an item of the loop around. Some statements may give it something, and none of them alone with others.
    """
    parts = [*_given_there(function, name)]
    stored = [part for part in _names_in(function, name) if not isinstance(part.ctx, ast.Load)]
    there = [part for _, region in parts for statement in region for part in _names_in(statement, name)]
    read = len(_names_in(function, name)) - len(stored)
    is_read = all(isinstance(part.ctx, ast.Load) for part in there)
    return is_read and {*stored} == {target for target, _ in parts} and len({*there}) == read and len(parts) <= most


def _given_there(function: ast.AST, name: str) -> Iterator[tuple[ast.Name, Sequence[ast.stmt]]]:
    """Yield where a statement gives a name something, and the statements behind it that may read it."""
    for part in ast.walk(function):
        if isinstance(part, ast.For):
            yield from ((target, part.body) for target in _names_in(part.target, name))
        for block in (getattr(part, field, []) for field in ("body", "orelse")):
            places = [at for at, one in enumerate(block) if _gives(one, name)] if isinstance(block, list) else []
            for at, end in zip(places, [*places[1:], len(block)], strict=True) if places else ():
                yield block[at].targets[0], block[at + 1 : end]


def _gives(node: ast.stmt, name: str) -> bool:
    """Tell whether a statement gives a name something, and does nothing else."""
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    return isinstance(target, ast.Name) and target.id == name


def _names_in(node: ast.AST, name: str) -> list[ast.Name]:
    return [part for part in ast.walk(node) if isinstance(part, ast.Name) and part.id == name]


# -- arrays


def array_of(writer: Writer, node: ast.expr) -> tuple[str, Array] | None:
    """Return the variable and the array that an expression names, or that is made of such ones before the loop."""
    name = _name_of(writer, node)
    array = None if name is None else writer.array(name)
    return None if name is None or array is None else (name, array)


def _name_of(writer: Writer, node: ast.expr) -> str | None:
    if isinstance(node, ast.Name) and node.id in writer.frame.names.locals:
        return writer.variable_name(node, node.id)
    return _made_before(writer, node)


def held(writer: Writer, node: ast.expr) -> View:
    """Return the array that ``array_of`` found, as it is while the text is written."""
    name = _name_of(writer, node)
    if writer.scope and isinstance(node, ast.Name) and node.id in writer.frame.names.locals:
        name = node.id
    view: View = writer.frame.variables[name or ""]
    return view


def _made_before(writer: Writer, node: ast.expr) -> str | None:
    """Return the variable of an array that is made before the loop, as it is the same one in every turn."""
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call) or is_renamed(writer, node):
        return None
    frame, number = writer.frame, 0 if writer.scope is None else writer.scope.number
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name) and part.id in frame.names.locals)
    key = number, ast.dump(node), tuple(writer.variable_name(part, part.id) for part in names)
    if key not in writer.made:
        try:
            view = _same(writer, node)
        except REFUSALS:
            return None
        if not isinstance(view, View):
            return None
        name = f"{_MADE}{len(writer.made)}"
        writer.made[key] = Made(frame, node, name)
        writer.kinds[name], frame.variables[name] = kind_of(frame, view), view
    return writer.made[key].name


def _same(writer: Writer, node: ast.expr) -> Value:
    """Return an array, or a tuple of arrays, that is the same throughout the loop; None for anything else."""
    frame = writer.frame
    match node:
        case ast.Name(id=name) if name in frame.names.locals:
            array = writer.array(writer.variable_name(node, name))
            goes_on = is_given_before(frame, name) and writer.scope is None if array is None else array.layout is None
        case ast.Name():
            goes_on = True
        case ast.Attribute(value=base, attr=attribute):
            of_module = bool(frame.canonical(node)) or frame.names.constant(node) is not None
            goes_on = of_module or isinstance(_same(writer, base), View if attribute == "T" else tuple)
        case ast.Subscript(value=base, slice=index):
            whole = _same(writer, base)
            is_item = isinstance(whole, tuple) and type(frame.names.literal(index)) is int
            goes_on = is_item or (isinstance(whole, View) and _has_fixed_ends(writer, index))
        case ast.Call(func=ast.Attribute(value=base, attr=method)) if method in _VIEWS and not node.keywords:
            goes_on = isinstance(_same(writer, base), View) and all(_is_fixed(writer, part) for part in node.args)
        case ast.Call(args=[array]) if frame.canonical(node.func) == "cuda.const.array_like":
            goes_on = _same(writer, array) is not None
        case _:
            goes_on = False
    return frame.value(node) if goes_on else None


def _has_fixed_ends(writer: Writer, index: ast.expr) -> bool:
    """Tell whether an index has slices only, with ends that are written out."""
    parts: list[Any] = index.elts if isinstance(index, ast.Tuple) else [index]
    ends = [end for part in parts if isinstance(part, ast.Slice) for end in (part.lower, part.upper, part.step)]
    slices = all(isinstance(part, ast.Slice) for part in parts)
    return slices and all(type(writer.frame.names.literal(end)) is int for end in ends if end is not None)


def _is_fixed(writer: Writer, node: ast.expr) -> bool:
    """Tell whether a size or a type is the same throughout the loop: one that is written out, or a size of an array."""
    names = writer.frame.names
    if isinstance(node, ast.Tuple):
        return all(_is_fixed(writer, part) for part in node.elts)
    if isinstance(node, ast.Attribute) and node.attr in ("shape", "size", "dtype"):
        return _same(writer, node.value) is not None
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        return _is_fixed(writer, node.value) and names.literal(node.slice) is not None
    return names.literal(node) is not None or names.constant(node) is not None or isinstance(node, ast.Constant)
