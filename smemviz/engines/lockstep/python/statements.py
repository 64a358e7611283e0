"""Statements but loops: assignments to names, elements, fields and parts of arrays; branches, returns and errors.

Threads go different ways in a branch and come together again behind it.
"""

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python import access, arrays, operations, thread_expressions
from smemviz.engines.lockstep.python.frame import Frame, short
from smemviz.engines.lockstep.python.iterables import indices_within, items_in
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.operators import truth
from smemviz.engines.lockstep.values.ranges import Range
from smemviz.engines.lockstep.values.typing import Value, dtype_of
from smemviz.frontends.numba.sites.table import field_name
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
                value = items_in(frame, source, value, len(target.elts))
            if isinstance(value, int | float | np.generic | np.ndarray):
                raise frame.wrong(target, english("{code} is a number; it fills one name", code=ast.unparse(source)))
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
            if (element is None and _field(target) is not None) or (element is not None and view.dtype.fields):
                what = english("assignment to {code}", code=ast.unparse(target))
                raise frame.none_of_numba(target, what, english("its parts one by one"))
            if element is None:
                _fill(frame, target, view, value)
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


def _expression(frame: Frame, node: ast.Expr) -> Mask:
    if not isinstance(node.value, ast.Constant):  # a docstring is one
        frame.statement_call = node.value
        frame.value(node.value)
    return frame.mask


def _branch(frame: Frame, node: ast.If) -> Mask:
    mask = frame.mask
    test = truth(frame.value(node.test))
    if not isinstance(test, np.ndarray):
        return _way(frame, node, "body" if test else "orelse", mask)
    then = mask.narrow(test)
    if then is mask:
        return _way(frame, node, "body", mask)
    if not then.count:
        return _way(frame, node, "orelse", mask)
    end = _way(frame, node, "body", then)
    other = Mask(mask.lanes & ~test, mask.count - then.count, mask)
    return mask.rejoin(end, _way(frame, node, "orelse", other))


def _way(frame: Frame, node: ast.If, way: str, mask: Mask) -> Mask:
    """Run the one or the other part of a branch."""
    part = node.body if way == "body" else node.orelse
    end = frame.block(part, mask) if part else mask
    frame.move(node, way, end)
    return end


def _give(frame: Frame, node: ast.Return) -> Mask:
    value = None if node.value is None else frame.value(node.value)
    frame.finish(node, value)
    if frame.is_kernel and value is not None:
        raise frame.wrong(node, english("a kernel returns nothing; store the result in an array"))
    return frame.nobody


def _check(frame: Frame, node: ast.Assert) -> Mask:
    _check_message(frame, node, node.msg)
    test = truth(frame.value(node.test))
    outer = frame.mask
    failing = outer.narrow(~test if isinstance(test, np.ndarray) else np.full(len(outer.lanes), not test))
    if not failing.count:
        return outer
    frame.mask = failing
    _stop(frame, node)
    return outer.without(failing.lanes)


def _stop(frame: Frame, node: ast.Raise | ast.Assert) -> Mask:
    """End the active threads, as the GPU does, and note who raised what."""
    if not frame.is_kernel:
        raise frame.refuse(node, english("{code} in a device function", code=short(node)))
    _check_message(frame, node, node.exc if isinstance(node, ast.Raise) else None)
    mask = frame.mask
    frame.machine.find("raised", node.lineno, node.col_offset, mask.lanes, threads=mask.count, code=short(node))
    frame.end_threads()
    return frame.nobody


def _check_message(frame: Frame, node: ast.stmt, message: ast.expr | None) -> None:
    """Refuse an error that says what a variable holds: Numba has to know its message when it compiles."""
    parts = () if message is None else ast.walk(message)
    if any(isinstance(part, ast.Name) and part.id in frame.names.locals for part in parts):
        what = english("{code}, with a message that is not constant", code=short(node))
        raise frame.none_of_numba(node, what, english("text, and print(...) before it"))


def _fill(frame: Frame, target: ast.expr, part: View, value: Value) -> None:
    """Store a number in every element of a part of an array, one element after the other, or the items of a tuple."""
    if isinstance(value, tuple):
        _check_items(frame, target, part, value)
    if isinstance(value, View):  # Numba would need memory for a copy, as the two may overlap
        what = english("assignment of an array to {code}", code=ast.unparse(target))
        raise frame.none_of_numba(target, what, english("a loop"))
    outer = frame.mask
    for inside, index in indices_within(part.shape):
        frame.machine.tick(frame.function.file, target.lineno)
        frame.mask = outer.narrow(np.broadcast_to(inside, outer.lanes.shape))
        item = value[index[0]] if isinstance(value, tuple) else value
        access.write(frame, target, part, *access.locate(frame, target, part, index), item)
    frame.mask = outer


def _check_items(frame: Frame, target: ast.expr, part: View, items: tuple[Value, ...]) -> None:
    """Refuse a tuple that Numba does not store in a part of an array: it takes numbers of one type, along one axis."""
    code = ast.unparse(target)
    if part.ndim != 1 or len({dtype_of(item) for item in items}) != 1:
        what = english(
            "{code} takes a tuple of numbers of one type along one axis, in Numba too; convert them", code=code
        )
        raise frame.wrong(target, what)
    if not np.all(np.asarray(part.shape[0]) == len(items)):
        length = int(np.max(part.shape[0]))
        what = english("{code} has {length} elements; {n} are given", code=code, length=length, n=len(items))
        raise frame.wrong(target, what)


STATEMENTS: dict[type[ast.AST], Callable[[Frame, Any], Mask]] = {
    ast.Assign: _assignment,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.If: _branch,
    ast.Return: _give,
    ast.Pass: lambda frame, node: frame.mask,
    ast.Raise: _stop,
    ast.Assert: _check,
}
