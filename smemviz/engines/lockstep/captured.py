"""What a kernel keeps of the names outside it: what they stood for when Numba compiled it.

Numba puts into a kernel, and into the device functions that it calls, what globals, variables around them and members
of modules are then, arrays as copies. It compiles at a decorator that has a signature, else at the first launch with
arguments of such types. What stands under a name later is for kernels that are compiled later.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_VALUES = (bool, int, float, complex, str, tuple, np.generic, np.ndarray)


def captured(function: FunctionType, compiled: Callable[[Any], Any]) -> FunctionType:
    """Return a function for which all names outside it stay what they are now.

    ``compiled`` gives of a device function the one that is compiled into it, and anything else as it is.
    """
    named, members = _globals_of(function.__code__), _members_of(function.__code__)
    modules: dict[int, ModuleType] = {}  # which may name each other

    def kept(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.copy(order="K")
        if type(value) is tuple:
            return tuple(map(kept, value))
        if type(value) is not ModuleType:
            return compiled(value)
        if id(value) in modules:
            return modules[id(value)]
        modules[id(value)] = value
        own = {name: kept(held) for name, held in vars(value).items() if name in members}
        if all(held is vars(value)[name] and not isinstance(held, _VALUES) for name, held in own.items()):
            return value
        module = modules[id(value)] = ModuleType(value.__name__)
        vars(module).update(vars(value) | own)
        return module

    scope = function.__globals__
    around = tuple(CellType(kept(value)) for value in _around(function).values())
    scope = scope | {name: kept(scope[name]) for name in named if name in scope}
    same = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, around)
    same.__kwdefaults__, same.__doc__ = function.__kwdefaults__, function.__doc__
    return same


def changed(function: FunctionType, kept: FunctionType) -> Iterator[str]:
    """Give the names of what ``kept`` keeps of a function, and is another now."""
    named, members = _globals_of(function.__code__), _members_of(function.__code__)

    def differing(name: str, was: Any, now: Any) -> Iterator[str]:
        inner, other = getattr(was, "py_func", was), getattr(now, "py_func", now)
        if was is now or inner is other:
            return
        if isinstance(was, _VALUES):
            if not _equal(was, now):
                yield name
        elif type(was) is ModuleType and type(now) is ModuleType and was.__name__ == now.__name__:
            for member in members & vars(was).keys():
                yield from differing(f"{name}.{member}", vars(was)[member], vars(now).get(member))
        elif isinstance(inner, FunctionType) and isinstance(other, FunctionType) and inner.__code__ is other.__code__:
            yield from changed(other, inner)
        else:
            yield name

    now, was = (one.__globals__ | _around(one) for one in (function, kept))
    for name in sorted({*named, *function.__code__.co_freevars}):
        if name in was:
            yield from differing(name, was[name], now.get(name))


def _around(function: FunctionType) -> dict[str, Any]:
    """Return the variables around a function; those that hold nothing yet are None."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents if cell != CellType() else None for name, cell in cells}


@lru_cache(maxsize=256)
def _globals_of(code: CodeType) -> frozenset[str]:
    """Return the globals that code reads, or a function in it."""
    return _arguments_of(code, ("LOAD_GLOBAL", "LOAD_NAME"))


@lru_cache(maxsize=256)
def _members_of(code: CodeType) -> frozenset[str]:
    """Return the attributes that code reads, or a function in it."""
    return _arguments_of(code, ("LOAD_ATTR", "LOAD_METHOD"))


def _arguments_of(code: CodeType, operations: tuple[str, ...]) -> frozenset[str]:
    own = frozenset(one.argval for one in dis.get_instructions(code) if one.opname in operations)
    inner = (_arguments_of(part, operations) for part in code.co_consts if isinstance(part, CodeType))
    return own.union(*inner)


def _equal(left: Any, right: Any) -> bool:
    """Tell whether two numbers, arrays, texts or tuples of them are the same, NaN being what NaN is."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(_equal, left, right))
    if not isinstance(right, _VALUES):
        return left is right
    left, right = np.asarray(left), np.asarray(right)
    return bool(left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes())
