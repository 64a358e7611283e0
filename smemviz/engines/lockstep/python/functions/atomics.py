"""``cuda.atomic``, and loads and stores that say how to use the caches, ``cuda.ldcg`` and its kin.

The threads that update one element do so one after the other, in order of their number. What moves with a hint at
caches is the same as without.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python import access
from smemviz.engines.lockstep.python.access import locate
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.functions.rules import Rule
from smemviz.engines.lockstep.values.typing import Value, cast, dtype_of
from smemviz.frontends.numba.sites.site_arrays import CACHE_HINTS
from smemviz.messages import english

Update = Callable[[Any, Any], Any]

_NUMBERS = ("float32", "float64", "int32", "int64", "uint32", "uint64")
_INTEGERS = ("int32", "int64", "uint32", "uint64")
_UNSIGNED = ("uint32", "uint64")
# These give the same bits in whatever way NumPy goes over numbers.
_CHAINED = (np.add, np.subtract, np.bitwise_and, np.bitwise_or, np.bitwise_xor)


@dataclass(frozen=True)
class Atomic:
    """What an atomic stores, from the old value and the operand; the types it has; the ufunc that does it at once."""

    update: Update
    dtypes: tuple[str, ...]
    at_once: np.ufunc | None = None


ATOMICS: dict[str, Atomic] = {
    "add": Atomic(np.add, _NUMBERS, np.add),
    "sub": Atomic(np.subtract, _NUMBERS, np.subtract),
    "and_": Atomic(np.bitwise_and, _INTEGERS, np.bitwise_and),
    "or_": Atomic(np.bitwise_or, _INTEGERS, np.bitwise_or),
    "xor": Atomic(np.bitwise_xor, _INTEGERS, np.bitwise_xor),
    # A NaN that is stored stays, one that is given changes nothing.
    "max": Atomic(lambda old, new: np.where(new > old, new, old), _NUMBERS, np.maximum),
    "min": Atomic(lambda old, new: np.where(new < old, new, old), _NUMBERS, np.minimum),
    "nanmax": Atomic(np.fmax, _NUMBERS, np.fmax),
    "nanmin": Atomic(np.fmin, _NUMBERS, np.fmin),
    "inc": Atomic(lambda old, top: np.where(old >= top, 0, old + 1), _UNSIGNED),
    "dec": Atomic(lambda old, top: np.where((old == 0) | (old > top), top, old - 1), _UNSIGNED),
    "exch": Atomic(lambda old, new: new, _INTEGERS),
}


def atomic(name: str, frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    """Run ``cuda.atomic.<name>(array, index, value)``; returns the old values."""
    array, index, value = arguments
    rule = ATOMICS[name]
    return _run(frame, node, array, index, (value,), partial(in_turn, rule.update), rule.dtypes, rule.at_once)


def compare_and_swap(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    """Run ``cuda.atomic.cas(array, index, old, value)`` or ``compare_and_swap(array, old, value)`` on element 0."""
    array, index, expected, value = arguments if len(arguments) == 4 else (arguments[0], 0, *arguments[1:])
    return _run(frame, node, array, index, (expected, value), swap_in_turn, _INTEGERS, None)


def _run(
    frame: Frame,
    node: ast.Call,
    array: Value,
    index: Value,
    operands: tuple[Value, ...],
    change: Callable[..., Any],
    dtypes: tuple[str, ...],
    at_once: np.ufunc | None,
) -> Value:
    if isinstance(array, View) and array.memory.space == "local":
        what = english("{function} on a local array ends a kernel on a GPU", function=ast.unparse(node.func))
        what = english("{what}; use no atomic: each thread has a local array of its own", what=what)
        raise frame.wrong(node, what)
    if not isinstance(array, View) or array.memory.space not in ("shared", "global"):
        raise frame.refuse(
            node, english("{function} on anything but a shared or global array", function=ast.unparse(node.func))
        )
    dtype = array.dtype
    if dtype.name not in dtypes:
        what = english(
            "Numba has no {function} on {dtype}; it has {dtypes}",
            function=ast.unparse(node.func),
            dtype=dtype,
            dtypes=", ".join(dtypes),
        )
        raise frame.wrong(node, what)
    indices = index if isinstance(index, tuple) else (index,)
    element, reached = locate(frame, node, array, indices)
    slots = np.zeros(frame.machine.slots, dtype)
    lanes = np.flatnonzero(reached.lanes)
    if not len(lanes):
        return slots
    site = frame.tree.atomics.get(node)
    if site is not None:
        frame.machine.request(site, array.memory, array.address(element), reached)
    flat = array.memory.elements(dtype)
    at = np.broadcast_to(np.asarray(array.memory.place(element, dtype)), slots.shape)[lanes]
    values = [np.broadcast_to(np.asarray(cast(v, dtype)), slots.shape)[lanes] for v in operands]
    for operand in operands:
        dtype_of(operand)
    if at_once in (np.maximum, np.minimum) and dtype.kind == "f":
        numbers = ~np.isnan(values[0])
        kept, given = at[numbers], values[0][numbers]
        if frame.is_used(node) or _has_zeros_below(flat[kept]) or _has_zeros_below(given):
            at_once = None  # which of two zeros stays is for the order to say
        else:
            at, values = kept, [given]
    if at_once is not None and not frame.is_used(node):
        at_once.at(flat, at, values[0])
        return None
    slots[lanes] = change(flat, at, *values)
    return slots


def _has_zeros_below(numbers: NDArray[Any]) -> bool:
    """Tell whether a zero among numbers has a minus."""
    return bool(((numbers == 0) & np.signbit(numbers)).any())


def in_turn(update: Update, flat: Any, at: Any, operand: Any) -> Any:
    """Update one thread after the other where elements coincide, all first threads at once, then all second ones.

    Where there are more threads to an element than elements, it goes element by element if NumPy can.
    """
    order = np.argsort(at, kind="stable")
    ordered = at[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    many = np.diff(np.r_[starts, len(at)])
    old = np.empty(len(at), flat.dtype)
    if len(starts) < many.max() and update in _CHAINED:
        for threads, place in zip(np.split(order, starts[1:]), ordered[starts].tolist(), strict=True):
            held = update.accumulate(np.r_[flat[place], operand[threads]], dtype=flat.dtype)
            old[threads], flat[place] = held[:-1], held[-1]
        return old
    turn = np.arange(len(at)) - np.repeat(starts, many)
    by_turn = np.argsort(turn, kind="stable")
    for now in np.split(by_turn, np.cumsum(np.bincount(turn))[:-1]):
        threads = order[now]
        place = at[threads]
        old[threads] = flat[place]
        flat[place] = update(flat[place], operand[threads])
    return old


def swap_in_turn(flat: Any, at: Any, expected: Any, value: Any) -> Any:
    """Store the value of one thread after the other in an element that is as it expects; return what was there."""
    from smemviz.engines.lockstep.values.fused import swap

    bits = np.dtype(f"u{flat.itemsize}")
    old = np.empty(len(at), flat.dtype)
    swap(flat.view(bits), at, expected.view(bits), value.view(bits), old.view(bits))
    return old


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


CALLS: dict[str, Rule] = {f"cuda.atomic.{name}": Rule(partial(atomic, name), 3, 3) for name in ATOMICS}
CALLS |= {"cuda.atomic.cas": Rule(compare_and_swap, 4, 4), "cuda.atomic.compare_and_swap": Rule(compare_and_swap, 3, 3)}
CALLS |= {f"cuda.{name}": Rule(_load, 2, 2) if op == "load" else Rule(_store, 3, 3) for name, op in CACHE_HINTS.items()}
