"""Fields: of arrays of records and of single ones, and the halves of complex numbers.

A field is a view of the same bytes: as its place is a multiple of its size in every record, it is a strided array.
"""

from dataclasses import replace

import numpy as np

from smemviz.engines.lockstep.memory.memory import View, c_strides
from smemviz.engines.lockstep.values.typing import Dtype
from smemviz.frontends.numba.sites.fields import field_of, not_aligned
from smemviz.messages import english


def is_known(dtype: Dtype) -> bool:
    """Tell whether a kernel may have arrays of a type: numbers, and records of numbers and arrays of them."""
    if dtype.subdtype is not None:
        return is_known(dtype.base)
    if dtype.fields is not None:
        return all(is_known(part[0]) for part in dtype.fields.values())
    return dtype.kind in "biufc"


def _inside(dtype: Dtype, first: int, size: int) -> Dtype:
    """Return a record as the only one in an element of ``size`` bytes, in which it begins at byte ``first``."""
    parts = dict(dtype.fields or {})
    layout = {
        "names": list(parts),
        "formats": [part[0] for part in parts.values()],
        "offsets": [first + part[1] for part in parts.values()],
        "itemsize": size,
    }
    return np.dtype(layout)  # type: ignore[call-overload, no-any-return]


def field_view(view: View, name: str) -> View | None:
    """Return the view of a field, None where there is no such one.

    Raises:
        ValueError: for one that is not aligned.
    """
    field = field_of(view.dtype, name)
    if field is None:
        return None
    size, unit = view.dtype.itemsize, field.dtype.itemsize
    if not field.aligned:
        raise ValueError(not_aligned(name))
    if field.dtype.fields is not None and not field.shape and (field.offset % unit or size % unit):
        return replace(view, dtype=_inside(field.dtype, field.offset, size))
    if field.offset % unit or size % unit:
        what = english(
            "the record {name} in records of {size} bytes is not executed in lockstep; "
            "add a field that makes them a multiple of {unit} bytes",
            name=name,
            size=size,
            unit=unit,
        )
        raise ValueError(what)
    step = size // unit
    return replace(
        view,
        dtype=field.dtype,
        shape=(*view.shape, *field.shape),
        strides=(*(stride * step for stride in view.strides), *c_strides(field.shape)),
        offset=view.offset * step + field.offset // unit,
        picked=() if field.shape else view.picked,
        whole=() if field.shape else view.whole,
    )
