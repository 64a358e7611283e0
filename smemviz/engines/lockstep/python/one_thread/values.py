"""Numbers of one thread: those of a type that Python's own numbers hold exactly are kept as such, which is faster.

Integers of all widths are ``int``, booleans ``bool``, single and double precision ``float`` or ``complex``. A value
whose type is not known beforehand is *open*: only the widest and not the narrower ones are Python's then.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import count, takewhile
from typing import Any

import numpy as np

from smemviz.engines.lockstep.python.one_thread.atoms import NEAR, Span, full
from smemviz.engines.lockstep.values.typing import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    Dtype,
    Value,
    dtype_of,
)

_PYTHON: dict[Dtype, type] = {BOOL: bool, INT64: int, FLOAT64: float, COMPLEX128: complex}


def is_known(dtype: Dtype) -> bool:
    """Tell whether numbers of a type are computed with here."""
    return dtype.kind in "biu" or dtype in (FLOAT16, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128)


def open_value(value: Value, slot: int) -> Value:
    """Return what one thread has of a value."""
    if isinstance(value, np.ndarray):
        value = value[slot]
    if isinstance(value, np.generic):
        python = _PYTHON.get(value.dtype)
        return value if python is None else python(value)
    if isinstance(value, tuple):
        items = [open_value(item, slot) for item in value]
        return type(value)(*items) if hasattr(type(value), "_fields") else tuple(items)
    return value


def item_name(name: str, place: int) -> str:
    """Return the name of an item of a tuple."""
    return f"{name}[{place}]"


def items_in(kinds: Container[str], name: str) -> list[str]:
    """Return the names of the items of a tuple of numbers that a variable holds, none of anything else."""
    return list(takewhile(kinds.__contains__, (item_name(name, place) for place in count())))


def items_by_name(name: str, value: Value, slot: int) -> dict[str, Value]:
    """Return the items of a tuple of numbers, each by a name of its own; nothing of anything else."""
    if type(value) is not tuple or any(type_of(open_value(item, slot)) is None for item in value):
        return {}
    return {item_name(name, place): item for place, item in enumerate(value)}


def known(value: Value, dtype: Dtype) -> Any:
    """Return an open number of a type that is known."""
    if dtype in _PYTHON:
        return value
    return {"i": int, "u": int, "f": float, "c": complex}[dtype.kind](value)


def opened(value: Any, dtype: Dtype) -> Value:
    """Return a number of a known type as an open one."""
    return value if dtype in _PYTHON else dtype.type(value)


def type_of(value: Value) -> Dtype | None:
    """Return the type of a number that is computed with here, None for anything else."""
    if value is None or not isinstance(value, bool | int | float | complex | np.generic):
        return None
    dtype = dtype_of(value)
    return dtype if is_known(dtype) else None


def span_of(value: Value, dtype: Dtype) -> Span | None:
    """Return where integers like a value, or an array of them, are taken to lie: near 0, or anywhere in their type."""
    if dtype.kind not in "iu":
        return None
    low, high = full(dtype)
    least, most = (np.min(value), np.max(value)) if isinstance(value, np.ndarray) else (value, value)
    if not NEAR[0] <= least <= most <= NEAR[1]:
        return low, high
    return max(low, NEAR[0]), min(high, NEAR[1])
