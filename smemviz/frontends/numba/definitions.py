"""The definitions of functions that are launched again and again: found once for all that a function names outside.

A function is found anew where anything is another that it names, or that a function names which it may call: a number,
an array or what an array holds, a function, a type, or what stands under such a name in a module.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from cachetools import LRUCache

from smemviz.errors import InputError
from smemviz.frontends.numba.functions import Function, node_of, python_function

_MOST = 64  # functions, each with what is known of it
_NUMBERS = (bool, int, float, complex, str, bytes, type(None))


class _ChangingError(Exception):
    """A function names something that may change without a trace."""


@dataclass(frozen=True, eq=False)
class _Same:
    """An object, which equals itself alone; it is kept, so that no other takes its place."""

    value: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class Definitions:
    """Finds definitions as ``find`` does, and gives the same one while nothing has changed that it depends on."""

    def __init__(self, find: Callable[[FunctionType], Function]) -> None:
        self._find = find
        self._found: LRUCache[Hashable, Function] = LRUCache(_MOST)
        self._names: dict[_Same, frozenset[str]] = {}

    def __call__(self, function: FunctionType) -> Function:
        """Return the definition of a function.

        Raises:
            InputError: when its source cannot be found.
        """
        try:
            key = function.__name__, self._outside(function, set())
        except (_ChangingError, InputError):
            return self._find(function)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._find(function)
        return found

    def _outside(self, function: FunctionType, visited: set[object]) -> Hashable:
        """Return what tells a function, and all that it names, from another."""
        code = function.__code__
        visited.add(function)
        names = self._names_in(function)
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        inside = {name: cell.cell_contents for name, cell in cells if not _is_empty(cell)}
        return _Same(code), self._known(names, function.__globals__, visited), self._known(names, inside, visited)

    def _known(self, names: frozenset[str], scope: Mapping[str, object], visited: set[object]) -> Hashable:
        return tuple((name, self._told(scope[name], names, visited)) for name in names if name in scope)

    def _told(self, value: Any, names: frozenset[str], visited: set[object]) -> Hashable:
        """Return what tells a value from others; of what it is made of, where that can be named or be another later."""
        kind = type(value)
        if kind in _NUMBERS:
            return kind, repr(value)
        if isinstance(value, np.ndarray | np.generic):
            content = repr(value.dtype), value.shape, value.strides, value.tobytes()
            return content if isinstance(value, np.generic) else (_Same(value), *content)
        if isinstance(value, tuple):
            return kind, *(self._told(item, names, visited) for item in value)
        if isinstance(value, list | dict | set | bytearray):
            raise _ChangingError
        if isinstance(value, ModuleType) and (value, names) not in visited:
            visited.add((value, names))
            return _Same(value), self._known(names, vars(value), visited)
        inner = python_function(value)
        if inner is not None and inner not in visited:
            return _Same(value), self._outside(inner, visited)
        return _Same(value)

    def _names_in(self, function: FunctionType) -> frozenset[str]:
        """Return all names and attributes in the definition of a function."""
        code = _Same(function.__code__)
        if code not in self._names:
            parts = ast.walk(node_of(function, self._find(function).tree))
            names = (getattr(part, "id", getattr(part, "attr", None)) for part in parts)
            self._names[code] = frozenset(name for name in names if isinstance(name, str))
        return self._names[code]


def _is_empty(cell: Any) -> bool:
    """Tell whether a variable around a function has no value yet."""
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True
