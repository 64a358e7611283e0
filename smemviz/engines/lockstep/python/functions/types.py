"""What a kernel asks of types: ``np.iinfo``, ``np.finfo``, and numbers seen as another type."""

import ast
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python.frame import Frame, short
from smemviz.engines.lockstep.values.ranges import Range
from smemviz.engines.lockstep.values.typing import INT64_MAX, Dtype, Value, dtype_of
from smemviz.messages import english

_LIMITS: dict[type, tuple[str, ...]] = {
    np.iinfo: ("min", "max", "bits"),
    np.finfo: (
        *("eps", "epsneg", "iexp", "machep", "max", "maxexp", "min", "minexp", "negep", "nexp", "nmant", "precision"),
        *("resolution", "tiny", "bits"),
    ),
}


def limits(frame: Frame, node: ast.Call, kind: Any, dtype: Dtype) -> Any:
    """Return the limits of a type of numbers."""
    try:
        return kind(dtype)
    except ValueError:
        name = ast.unparse(node.func)
        raise frame.wrong(node, english("{function} of {dtype}: there is none", function=name, dtype=dtype)) from None


def limit(value: Any, name: str) -> object:
    """Return one of the limits of a type, None where there is none of the name."""
    number = getattr(value, name) if name in _LIMITS[type(value)] else None
    return np.uint64(number) if isinstance(number, int) and number > INT64_MAX else number


def same_bits(frame: Frame, node: ast.Call, value: Value, dtype: Dtype) -> Value:
    """Return a number whose bits are those of another; both have as many."""
    own = dtype_of(value)
    if own.itemsize != dtype.itemsize or own.kind not in "iuf" or dtype.kind not in "iuf":
        what = english("{code}: {old} and {new} are not numbers of one size", code=short(node), old=own, new=dtype)
        raise frame.wrong(node, what)
    return np.asarray(value, own).view(dtype)[()]


def is_no_number(value: Value) -> bool:
    """Tell whether a value is an array, a tuple or another thing without arithmetic."""
    return value is None or isinstance(value, tuple | View | str | Range | slice | np.iinfo | np.finfo)
