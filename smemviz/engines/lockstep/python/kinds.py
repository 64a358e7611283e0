"""Numba's types of what a variable may hold: which one a value has, and which one several have together."""

from __future__ import annotations

from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.values.optional import Optional
from smemviz.engines.lockstep.values.texts import Texts
from smemviz.engines.lockstep.values.typing import NotAScalarError, Value, cast, dtype_of, unify

# Of a number its dtype, of a tuple its class and those of its items, of anything else what tells it apart.
Kind = Any

UNKNOWN: Any = object()


def kind_of(value: Value) -> Kind:
    """Return the type of a value."""
    if isinstance(value, tuple):
        return (type(value), *map(kind_of, value))
    if isinstance(value, View):
        return ("array", value.dtype, value.ndim)
    if isinstance(value, Texts):
        return str
    if isinstance(value, Optional):
        return ("optional", kind_of(value.value))
    try:
        return dtype_of(value)
    except NotAScalarError:
        return UNKNOWN if value is UNKNOWN else type(value)


def convert(value: Value, kind: Kind) -> Value:
    """Bring a number, or those in a tuple, to a type."""
    if isinstance(kind, np.dtype):
        return cast(value, kind)
    if isinstance(value, tuple) and isinstance(kind, tuple):
        items = [convert(item, item_kind) for item, item_kind in zip(value, kind[1:], strict=True)]
        return type(value)(*items) if hasattr(type(value), "_fields") else tuple(items)
    return value


def unified(left: Kind, right: Kind) -> Kind:
    """Return the type of a variable that may hold either, which may not be known."""
    if left is UNKNOWN or right is UNKNOWN or left == right:
        return UNKNOWN if right is UNKNOWN else left
    if isinstance(left, np.dtype) and isinstance(right, np.dtype):
        try:
            return unify(left, right)
        except NotAScalarError:
            return UNKNOWN
    if not isinstance(left, tuple) or not isinstance(right, tuple) or (left[0], len(left)) != (right[0], len(right)):
        return UNKNOWN
    items = [UNKNOWN if left[0] == "array" else unified(a, b) for a, b in zip(left[1:], right[1:], strict=True)]
    return UNKNOWN if UNKNOWN in items else (left[0], *items)
