"""The parts of an element: the fields of a record, the two halves of a complex number."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from smemviz.messages import english

Dtype = np.dtype[Any]


@dataclass(frozen=True)
class Field:
    """One part: the type and shape of what it holds, where it starts in the element, bytes, and whether aligned.

    An aligned part starts at a multiple of its size in every element, so that it is loaded at once.
    """

    dtype: Dtype
    shape: tuple[int, ...]
    offset: int
    aligned: bool


def field_of(dtype: Dtype, name: str) -> Field | None:
    """Return a field of a record, ``real`` or ``imag`` of a complex number; None where there is none."""
    if dtype.kind == "c" and name in ("real", "imag"):
        half = np.dtype(f"f{dtype.itemsize // 2}")
        return Field(half, (), 0 if name == "real" else half.itemsize, True)
    if dtype.fields is None or name not in dtype.fields:
        return None
    whole, offset = dtype.fields[name][:2]
    base, shape = whole.subdtype or (whole, ())
    unit = alignment(base)
    return Field(base, tuple(shape), offset, offset % unit == 0 and dtype.itemsize % unit == 0)


def alignment(dtype: Dtype) -> int:
    """Return what an element's address must be a multiple of to be loaded at once."""
    if dtype.fields is None:
        return dtype.itemsize
    return max((alignment(part[0].base) for part in dtype.fields.values()), default=1)


@lru_cache(maxsize=256)
def numbers_of(dtype: Dtype) -> tuple[tuple[Dtype, int], ...]:
    """Return the type of every number in a record, and where it starts, bytes."""
    found: list[tuple[Dtype, int]] = []
    for part, offset, *_ in (dtype.fields or {}).values():
        base, shape = part.subdtype or (part, ())
        inner = numbers_of(base) if base.fields is not None else ((base, 0),)
        for k in range(math.prod(shape)):
            found += [(number, offset + k * base.itemsize + first) for number, first in inner]
    return tuple(found)


def dtype_name(dtype: Dtype) -> str:
    """Return the name of a type that NumPy reads again: of a record, as many bytes as it has."""
    return _name_of_number(dtype) if dtype.fields is None else f"V{dtype.itemsize}"


@lru_cache(maxsize=64)
def _name_of_number(dtype: Dtype) -> str:
    return dtype.name  # which NumPy puts together whenever it is asked


def not_aligned(name: str) -> str:
    """Return the sentence that refuses a field."""
    return english(
        "field {field} is not at a multiple of its size in its records; "
        "use np.dtype(..., align=True) and put the largest fields first",
        field=name,
    )
