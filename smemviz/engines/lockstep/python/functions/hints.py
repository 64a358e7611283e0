"""Loads and stores that say how to use the caches, ``cuda.ldcg`` and its kin; what moves is the same."""

from __future__ import annotations

import ast

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python import access
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.functions.rules import Rule
from smemviz.engines.lockstep.values.typing import Value
from smemviz.frontends.numba.sites.site_arrays import CACHE_HINTS
from smemviz.messages import english


def _indices(frame: Frame, node: ast.Call, array: Value, index: Value) -> tuple[Value, ...]:
    if not isinstance(array, View) or array.memory.space != "global":
        raise frame.refuse(node, english("{code} on anything but a global array", code=ast.unparse(node.func)))
    return index if isinstance(index, tuple) else (index,)


def _load(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    array, index = arguments
    return access.load(frame, node, array, _indices(frame, node, array, index))


def _store(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    array, index, value = arguments
    indices = _indices(frame, node, array, index)
    access.write(frame, node, array, *access.locate(frame, node, array, indices), value)


CALLS: dict[str, Rule] = {
    f"cuda.{name}": Rule(_load, 2, 2) if op == "load" else Rule(_store, 3, 3) for name, op in CACHE_HINTS.items()
}
