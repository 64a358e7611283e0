"""Assignments: to names, to elements and fields, to parts of arrays, and item by item."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.memory import Flat, View
from smemviz.engines.lockstep.python import access, arrays, operations, records, thread_expressions
from smemviz.engines.lockstep.python.frame import Frame, short
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.ranges import Range
from smemviz.engines.lockstep.values.typing import Value
from smemviz.frontends.numba.sites.visit import field_name
from smemviz.frontends.numba.syntax import item_sources
from smemviz.messages import english


def _assignment(frame: Frame, node: ast.Assign) -> Mask:
    if isinstance(node.targets[0], ast.Name) and node.targets[0].id in frame.function.fixed:
        return frame.mask  # another name for a function or a type
    value = frame.value(node.value)
    for target in node.targets:
        bind(frame, target, value, node.value)
    _end(frame)
    return frame.mask


def _end(frame: Frame) -> None:
    if frame.unassigned is not None:
        frame.unassigned.assigned()


def _annotated(frame: Frame, node: ast.AnnAssign) -> Mask:
    if node.value is not None:
        bind(frame, node.target, frame.value(node.value), node.value)
        _end(frame)
    return frame.mask


def _augmented(frame: Frame, node: ast.AugAssign) -> Mask:
    target = node.target
    if isinstance(target, ast.Name):
        value = operations.apply(frame, node, type(node.op), frame.read(target, node), frame.value(node.value))
        frame.assign(target, target.id, value)
        _end(frame)
        return frame.mask
    view, element, reached = _element(frame, target)
    if element is None or view.dtype.fields is not None:
        raise frame.none_of_numba(node, english("arithmetic with an array ({code})", code=short(node)))
    old = access.read(frame, target, view, element, reached)
    value = operations.apply(frame, node, type(node.op), old, frame.value(node.value))
    access.write(frame, target, view, element, reached, value)
    return frame.mask


def bind(frame: Frame, target: ast.expr, value: Value, source: ast.expr) -> None:
    """Assign the value of ``source`` to a name, to an element, or item by item to several targets."""
    match target:
        case ast.Name():
            frame.assign(target, target.id, value)
        case ast.Tuple() | ast.List():
            if any(isinstance(part, ast.Starred) for part in target.elts):
                raise frame.wrong(
                    target, english("{code}: Numba unpacks into no starred name", code=ast.unparse(target))
                )
            if isinstance(value, Range) and type(value.length) is int and value.length == len(target.elts):
                value = tuple(number for _, number in value.numbers())
            if isinstance(value, View) and value.ndim:
                value = access.items(frame, source, value, len(target.elts))
            if isinstance(value, int | float | np.generic | np.ndarray):
                raise frame.wrong(target, english("{code} is a number; it fills one name", code=ast.unparse(source)))
            frame.refuse_vector(target, value)
            if not isinstance(value, tuple):
                raise frame.none_of_numba(target, english("unpacking into {code}", code=ast.unparse(target)))
            if len(value) != len(target.elts):
                raise frame.wrong(
                    target, english("{values} values for {names} names", values=len(value), names=len(target.elts))
                )
            for part, item, origin in zip(target.elts, value, item_sources(source, len(value)), strict=True):
                bind(frame, part, item, origin)
        case ast.Subscript() | ast.Attribute():
            view, element, reached = _element(frame, target)
            if isinstance(source, ast.Attribute) and view.dtype.kind in "fc":
                thread_expressions.refuse_member(frame, source, str(view.dtype))
            if element is None and _field(target) is not None:
                records.copy_items(frame, target, view, value, source)
            elif element is None:
                access.fill(frame, target, view, value)
            elif view.dtype.fields is not None:
                records.copy(frame, target, view, element, reached, value, source)
            else:
                access.write(frame, target, view, element, reached, value)
        case _:
            raise frame.refuse(target, english("assignment to {code}", code=ast.unparse(target)))


def _element(frame: Frame, target: ast.Subscript | ast.Attribute) -> tuple[View, Any, Mask]:
    """Return the array, the element that is assigned, None for a part of the array, and where there is one."""
    base = frame.value(target.value)
    name = _field(target)
    if name is not None:
        view = arrays.field_of(frame, target, base, name)
    else:
        assert isinstance(target, ast.Subscript)
        indices = thread_expressions.indices(frame, target.slice)
        if isinstance(base, Flat) and len(indices) == 1 and not isinstance(indices[0], slice):
            index = base.indices(access.as_index(frame, target, indices[0]))
            return base.of, *access.locate(frame, target, base.of, index)
        if not isinstance(base, View):
            raise frame.none_of_numba(target, english("assignment to {code}", code=ast.unparse(target)))
        if len(indices) == base.ndim and access.are_numbers(indices):
            return base, *access.locate(frame, target, base, indices)
        return access.subview(frame, target, base, indices), None, frame.mask
    if view.ndim:
        return view, None, frame.mask
    return view, *access.whole(frame, view)


def _field(target: ast.Subscript | ast.Attribute) -> str | None:
    """Return the name of the field that a target is, None for one that has an index."""
    return target.attr if isinstance(target, ast.Attribute) else field_name(target.slice)


STATEMENTS: dict[type[ast.AST], Callable[[Frame, Any], Mask]] = {
    ast.Assign: _assignment,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
}
