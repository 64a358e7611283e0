"""Numba's types of what a variable may hold: which one a value has, and which one several have together."""

from __future__ import annotations

from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.memory import View
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
    try:
        return dtype_of(value)
    except NotAScalarError:
        return UNKNOWN if value is UNKNOWN else type(value)


def convert(value: Value, kind: Kind) -> Value:
    """Bring a number, or those in a tuple, to a type."""
    if isinstance(kind, np.dtype):
        return cast(value, kind)
    if isinstance(value, tuple) and isinstance(kind, tuple):
        items = [convert(item, one) for item, one in zip(value, kind[1:], strict=True)]
        return type(value)(*items) if hasattr(type(value), "_fields") else tuple(items)
    return value


def unified(one: Kind, other: Kind) -> Kind:
    """Return the type of a variable that may hold either, which may not be known."""
    if one is UNKNOWN or other is UNKNOWN or one == other:
        return UNKNOWN if other is UNKNOWN else one
    if isinstance(one, np.dtype) and isinstance(other, np.dtype):
        return unify(one, other)
    if not isinstance(one, tuple) or not isinstance(other, tuple) or (one[0], len(one)) != (other[0], len(other)):
        return UNKNOWN
    items = [UNKNOWN if one[0] == "array" else unified(a, b) for a, b in zip(one[1:], other[1:], strict=True)]
    return UNKNOWN if UNKNOWN in items else (one[0], *items)
