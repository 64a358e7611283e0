"""What a kernel asks of types: ``isinstance``, ``np.iinfo``, ``np.finfo``, and numbers seen as another type."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.memory import Flat, View
from smemviz.engines.lockstep.python.frame import Frame, short
from smemviz.engines.lockstep.values.masks import Texts
from smemviz.engines.lockstep.values.ranges import Range
from smemviz.engines.lockstep.values.typing import INT32, INT64_MAX, Dtype, NotAScalarError, Value, cast, dtype_of
from smemviz.frontends.numba.python_functions import as_dtype
from smemviz.messages import english

_LIMITS: dict[type, tuple[str, ...]] = {
    np.iinfo: ("min", "max", "bits"),
    np.finfo: (
        *("eps", "epsneg", "iexp", "machep", "max", "maxexp", "min", "minexp", "negep", "nexp", "nmant", "precision"),
        *("resolution", "tiny", "bits"),
    ),
}
_REGISTERS = ("cuda.threadIdx.", "cuda.blockIdx.", "cuda.blockDim.", "cuda.gridDim.", "cuda.laneid", "cuda.warpsize")
_CONTAINERS = (tuple, str, range)


def is_instance(frame: Frame, node: ast.Call) -> bool:
    """Tell whether a value is of one of the types named: of that very type, as Numba has it."""
    if len(node.args) != 2 or node.keywords:
        raise frame.wrong(node, english("{code}: isinstance takes a value and a type", code=short(node)))
    value, kinds = frame.value(node.args[0]), node.args[1]
    if _is_register(frame, node, node.args[0]):
        value = cast(value, INT32)
    matches = [_is_of(frame, node, value, kind) for kind in (kinds.elts if isinstance(kinds, ast.Tuple) else [kinds])]
    return any(matches)


def _is_register(frame: Frame, call: ast.Call, node: ast.expr) -> bool:
    """Tell whether a value is what numbers a thread or a block, which is an int32 until something is computed of it."""
    if frame.canonical(node).startswith(_REGISTERS):
        return True
    if not isinstance(node, ast.Name) or node.id not in frame.names.locals:
        return False
    body = frame.function.node.body
    parts = [part for part in ast.walk(frame.function.node) if isinstance(part, ast.Name) and part.id == node.id]
    stores = [part for part in parts if isinstance(part.ctx, ast.Store)]
    values = {target: value for statement in ast.walk(frame.function.node) for target, value in _assigned(statement)}
    registers = [frame.canonical(values[part]).startswith(_REGISTERS) if part in values else False for part in stores]
    if not any(registers) or all(registers):
        return any(registers)
    straight = [part for statement in body for part, _ in _assigned(statement)]
    if not all(part in straight for part in stores):
        what = english("{code}, where {name} has more than one type", code=short(call), name=node.id)
        raise frame.refuse(call, what)
    before = [register for part, register in zip(stores, registers, strict=True) if part.lineno < call.lineno]
    return bool(before) and before[-1]


def _assigned(statement: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the targets of an assignment, those in tuples one by one, each with what it is given."""
    if not isinstance(statement, ast.Assign):
        return
    for target in statement.targets:
        value = statement.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            yield from zip(target.elts, value.elts, strict=True)
        else:
            yield target, value


def _is_of(frame: Frame, node: ast.Call, value: Value, types: ast.expr) -> bool:
    target = frame.names.constant(types)
    dtype = as_dtype(target)
    plain = not (isinstance(value, tuple) and hasattr(value, "_fields"))
    if (dtype is None and target not in _CONTAINERS) or not plain:
        what = english(
            "{code}, but for a plain value and int, float, bool, a NumPy type, tuple or str", code=short(node)
        )
        raise frame.wrong(node, english("{what}: Numba does not compile it for CUDA; compute it otherwise", what=what))
    if dtype is not None:
        try:
            return dtype_of(value) == dtype
        except NotAScalarError:
            return False
    return isinstance(value, Range if target is range else target)  # type: ignore[arg-type]


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
    return value is None or isinstance(value, tuple | View | Flat | str | Texts | Range | slice | np.iinfo | np.finfo)


def is_complex(value: Value) -> bool:
    """Tell whether a number, or an item of an array or a tuple, is complex."""
    if isinstance(value, tuple):
        return any(map(is_complex, value))
    if isinstance(value, View):
        return value.dtype.kind == "c"
    return not is_no_number(value) and dtype_of(value).kind == "c"
