"""The definitions of functions that are launched again and again: found once for all that a function names outside.

A function is found anew where anything is another that it names, or that a function names which it may call: a number,
an array or what an array holds, a function, a type, or what stands under such a name in a module.
"""

import ast
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from cachetools import LRUCache

from smemviz.errors import InputError
from smemviz.frontends.numba.python_functions import Function, node_of, python_function

_MOST = 64  # functions, each with what is known of it
_NOTHING: Any = object()
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


class _Seen:
    """What a definition was found for: all that a function, and those that it names, were made of."""

    def __init__(self) -> None:
        self.found: Function | None = None
        self.visited: set[object] = set()
        self.has_arrays = False  # which may hold something else at any time
        self._functions: list[tuple[FunctionType, CodeType]] = []
        self._under: list[tuple[object, FunctionType]] = []
        self._cells: list[tuple[CellType, object]] = []
        self._scopes: list[tuple[Mapping[str, object], list[tuple[str, object]]]] = []

    def note_function(self, function: FunctionType) -> None:
        self._functions.append((function, function.__code__))
        self._cells += ((cell, _held(cell)) for cell in function.__closure__ or ())

    def note_under(self, value: object, function: FunctionType) -> None:
        self._under.append((value, function))

    def note_names(self, names: Iterable[str], scope: Mapping[str, object]) -> None:
        self._scopes.append((scope, [(name, scope.get(name, _NOTHING)) for name in names]))

    @property
    def stays(self) -> bool:
        return not (
            self.has_arrays
            or any(python_function(value) is not function for value, function in self._under)
            or any(function.__code__ is not code for function, code in self._functions)
            or any(_held(cell) is not value for cell, value in self._cells)
            or any(scope.get(name, _NOTHING) is not value for scope, held in self._scopes for name, value in held)
        )


class Definitions:
    """Finds definitions as ``find`` does, and gives the same one while nothing has changed that it depends on."""

    def __init__(self, find: Callable[[FunctionType], Function]) -> None:
        self._find = find
        self._found: LRUCache[Hashable, Function] = LRUCache(_MOST)
        self._last: LRUCache[FunctionType, _Seen] = LRUCache(_MOST)
        self._names: dict[_Same, frozenset[str]] = {}

    def __call__(self, function: FunctionType) -> Function:
        """Return the definition of a function.

        Raises:
            InputError: when its source cannot be found.
        """
        last = self._last.get(function)
        if last is not None and last.found is not None and last.stays:
            return last.found
        seen = _Seen()
        try:
            key = function.__name__, self._outside(function, seen)
        except (_ChangingError, InputError):
            return self._find(function)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._find(function)
        seen.found = found
        self._last[function] = seen
        return found

    def _outside(self, function: FunctionType, seen: _Seen) -> Hashable:
        """Return what tells a function, and all that it names, from another."""
        code = function.__code__
        seen.visited.add(function)
        seen.note_function(function)
        names = self._names_in(function)
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        inside = {name: held for name, cell in cells if (held := _held(cell)) is not _NOTHING}
        seen.note_names(names, function.__globals__)
        return _Same(code), self._known(names, function.__globals__, seen), self._known(names, inside, seen)

    def _known(self, names: frozenset[str], scope: Mapping[str, object], seen: _Seen) -> Hashable:
        return tuple((name, self._told(scope[name], names, seen)) for name in names if name in scope)

    def _told(self, value: Any, names: frozenset[str], seen: _Seen) -> Hashable:
        """Return what tells a value from others; of what it is made of, where that can be named or be another later."""
        kind = type(value)
        if kind in _NUMBERS:
            return kind, repr(value)
        if isinstance(value, np.ndarray | np.generic):
            seen.has_arrays |= isinstance(value, np.ndarray)
            content = repr(value.dtype), value.shape, value.strides, value.tobytes()
            return content if isinstance(value, np.generic) else (_Same(value), *content)
        if isinstance(value, tuple):
            return kind, *(self._told(item, names, seen) for item in value)
        if isinstance(value, list | dict | set | bytearray):
            raise _ChangingError
        if isinstance(value, ModuleType) and (value, names) not in seen.visited:
            seen.visited.add((value, names))
            seen.note_names(names, vars(value))
            return _Same(value), self._known(names, vars(value), seen)
        inner = python_function(value)
        if inner is not None:
            seen.note_under(value, inner)
            if inner not in seen.visited:
                return _Same(value), self._outside(inner, seen)
        return _Same(value)

    def _names_in(self, function: FunctionType) -> frozenset[str]:
        code = _Same(function.__code__)
        if code not in self._names:
            parts = ast.walk(node_of(function, self._find(function).tree))
            names = (getattr(part, "id", getattr(part, "attr", None)) for part in parts)
            self._names[code] = frozenset(name for name in names if isinstance(name, str))
        return self._names[code]


def _held(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return _NOTHING
