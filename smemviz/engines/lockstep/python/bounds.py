"""What is told of indices that are outside an array, or inside because Python counts them from its end."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.values.masks import Lanes, Mask
from smemviz.engines.lockstep.values.typing import Value

Indices = tuple[Value, ...]


def tell_outside(frame: Frame, node: ast.expr, view: View, indices: Indices, outside: Lanes) -> None:
    """Note which threads have an index outside an array."""
    at, shape = _as_written(view, indices, int(np.flatnonzero(outside)[0]))
    facts = {
        "array": _name(node, view),
        "index": at,
        "shape": shape,
        "space": view.memory.space,
        "column": node.col_offset,
    }
    frame.machine.find("out_of_bounds", node.lineno, node.col_offset, outside, **facts)


def hint_at_counting_back(frame: Frame, node: ast.expr, view: View, indices: Indices, reached: Mask) -> None:
    """Hint, once a line, at indices that happen to be negative in threads whose indices are all inside."""
    written = _written_indices(node)
    if len(written) != len(indices):
        return
    happen = [not _counts_back(frame, index) for index in written]
    back: Any = False
    for index, happens in zip(indices, happen, strict=True):
        back = back | ((np.asarray(index) < 0) & happens)
    back = back & reached.lanes
    if not back.any():
        return
    first = int(np.flatnonzero(back)[0])
    here = [(int(_of_slot(i, first)), int(_of_slot(size, first))) for i, size in zip(indices, view.shape, strict=True)]
    facts = {
        "array": _name(node, view),
        "index": _as_written(view, indices, first)[0],
        "element": _as_written(view, tuple(index % size for index, size in here), first)[0],
        "column": node.col_offset,
    }
    frame.machine.find("negative_index", node.lineno, 0, back, **facts)


def _name(node: ast.expr, view: View) -> str:
    """Return the name of an array, which one of a thread has by the variable that it is in."""
    if view.memory.space == "local" and isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return node.value.id
    return view.name


def _written_indices(node: ast.expr) -> list[ast.expr]:
    """Return the indices of an element, or of an atomic, as they are written."""
    index = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(node, ast.Call) and len(node.args) > 1:
        index = node.args[1]
    parts = index.elts if isinstance(index, ast.Tuple) else [] if index is None else [index]
    return [part for part in parts if not isinstance(part, ast.Slice)]


def _counts_back(frame: Frame, index: ast.expr) -> bool:
    """Tell whether an index is meant to be negative: it begins with a minus, or is a constant."""
    varies = any(_varies(frame, part) for part in ast.walk(index))
    while isinstance(index, ast.BinOp):
        index = index.left
    return not varies or (isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub))


def _varies(frame: Frame, node: ast.AST) -> bool:
    """Tell whether a part of an index is a variable, or a number of the thread."""
    if isinstance(node, ast.Name):
        return node.id in frame.names.locals
    return isinstance(node, ast.Attribute) and frame.canonical(node).startswith("cuda.")


def _as_written(view: View, indices: Indices, slot: int) -> tuple[str, tuple[int, ...]]:
    """Return the index of a thread, as it would be written, and the shape of the array that it is of."""
    in_turn = iter(indices)
    parts = [next(in_turn) if index is None else index for index in view.picked] if view.picked else list(indices)
    while parts and parts[-1] is Ellipsis:
        parts.pop()
    at = ", ".join(":" if part is Ellipsis else str(_of_slot(part, slot)) for part in parts)
    return at, tuple(int(_of_slot(size, slot)) for size in view.whole or view.shape)


def _of_slot(value: Value, slot: int) -> Any:
    return value[slot] if isinstance(value, np.ndarray) else value
