"""Numba's types of what a variable may hold, and what a name holds after threads went different ways."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.values.masks import Lanes, Optional
from smemviz.engines.lockstep.values.ranges import Range, slice_ends
from smemviz.engines.lockstep.values.typing import NotAScalarError, Value, cast, dtype_of, unify
from smemviz.messages import english

# Of a number its dtype, of a tuple its class and those of its items, of anything else what tells it apart.
Kind = Any

UNKNOWN: Any = object()


def kind_of(value: Value) -> Kind:
    """Return the type of a value."""
    if isinstance(value, tuple):
        return (type(value), *map(kind_of, value))
    if isinstance(value, View):
        return ("array", value.dtype, value.ndim)
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


class CannotMergeError(TypeError):
    """Two values that no variable holds together; ``args[0]`` says why."""


class TwoKindsError(CannotMergeError):
    """A number and an array, or the like, for which Numba has no variable either."""

    def __init__(self) -> None:
        super().__init__(english("one name holds values of two kinds in different threads"))


@dataclass(frozen=True)
class Apart:
    """The arrays that one name stands for, each in threads of its own: none is read in threads of another's."""

    arrays: tuple[tuple[Lanes, View], ...]

    def here(self, lanes: Lanes) -> View:
        """Return the array that the name stands for in some threads.

        Raises:
            CannotMergeError: when it is more than one.
        """
        views = [view for own, view in self.arrays if (own & lanes).any()]
        if len(views) != 1:
            raise CannotMergeError(apart())
        return views[0]


def apart() -> str:
    """Say why two arrays are not one value."""
    return english("one name stands for different arrays in different threads")


def merge_name(lanes: Lanes, new: Value, old: Value | Apart) -> Value | Apart:
    """Return what a name holds that held ``old`` and is given ``new`` in the threads of ``lanes``; arrays stay apart.

    Raises:
        CannotMergeError: as ``merge``, but for two arrays of one type.
    """
    if isinstance(old, Apart):
        if not isinstance(new, View):
            raise TwoKindsError
        others = [(own & ~lanes, view) for own, view in old.arrays if view is not new]
        before = [own for own, view in old.arrays if view is new]
        mine = np.logical_or.reduce([lanes, *before])
        return Apart((*((own, view) for own, view in others if own.any()), (mine, new)))
    try:
        return merge(lanes, new, old)
    except CannotMergeError:
        if isinstance(new, View) and isinstance(old, View) and (new.dtype, new.ndim) == (old.dtype, old.ndim):
            return Apart(((~lanes, old), (lanes, new)))
        raise


def merge(lanes: Lanes, new: Value, old: Value) -> Value:
    """Return ``new`` in the threads of ``lanes`` and ``old`` in the others, in the type Numba unifies them to.

    Raises:
        CannotMergeError: for two arrays, tuples of two lengths, or an array beside a number.
    """
    if new is old:
        return new
    if isinstance(new, tuple) and isinstance(old, tuple) and len(new) == len(old):
        items = [merge(lanes, a, b) for a, b in zip(new, old, strict=True)]
        return type(new)(*items) if hasattr(type(new), "_fields") else tuple(items)
    if isinstance(new, View) and isinstance(old, View):
        return _merge_views(lanes, new, old)
    if isinstance(new, Range) and isinstance(old, Range):
        return Range(*(merge(lanes, a, b) for a, b in zip(new.ends, old.ends, strict=True)))
    if isinstance(new, slice) and isinstance(old, slice):
        return slice(*(merge(lanes, a, b) for a, b in zip(slice_ends(new), slice_ends(old), strict=True)))
    if isinstance(new, str) and isinstance(old, str):
        if new != old:
            raise CannotMergeError(english("one name stands for different texts in different threads"))
        return new
    if _may_be_none(new, old) or _may_be_none(old, new):
        return _merge_optional(lanes, new, old)
    if _is_no_number(new) or _is_no_number(old):
        raise TwoKindsError
    new_dtype, old_dtype = dtype_of(new), dtype_of(old)
    if new_dtype is old_dtype:
        if (
            not isinstance(new, np.ndarray)
            and not isinstance(old, np.ndarray)
            and (bool(new == old) and (new != 0 or str(new) == str(old)))
        ):
            return new
        return np.where(lanes, np.asarray(new, new_dtype), np.asarray(old, new_dtype))
    try:
        both = unify(new_dtype, old_dtype)
    except NotAScalarError:
        raise TwoKindsError from None
    return np.where(lanes, np.asarray(cast(new, both), both), np.asarray(cast(old, both), both))


def _is_no_number(value: Value) -> bool:
    return value is None or isinstance(value, tuple | View | str | Range | slice)


def _may_be_none(value: Value, other: Value) -> bool:
    """Tell whether a value is nothing, or is so in some threads, beside another that Numba lets be nothing."""
    return (value is None or isinstance(value, Optional)) and not isinstance(other, tuple | Range)


def _merge_optional(lanes: Lanes, new: Value, old: Value) -> Optional:
    there = np.where(lanes, _there(new), _there(old))
    values = [part.value if isinstance(part, Optional) else part for part in (new, old) if part is not None]
    return Optional(values[0] if len(values) == 1 else merge(lanes, *values), there)


def _there(value: Value) -> Lanes | bool:
    return value.there if isinstance(value, Optional) else value is not None


def _merge_views(lanes: Lanes, new: View, old: View) -> View:
    if new.memory is not old.memory or new.dtype != old.dtype or new.strides != old.strides:
        raise CannotMergeError(apart())
    shape = tuple(merge(lanes, a, b) for a, b in zip(new.shape, old.shape, strict=True))
    valid = None
    if new.valid is not None or old.valid is not None:
        valid = np.where(lanes, True if new.valid is None else new.valid, True if old.valid is None else old.valid)
    return replace(new, shape=shape, offset=merge(lanes, new.offset, old.offset), valid=valid, picked=(), whole=())
