"""Python's own functions in a kernel, ``print``, ``range``, ``len`` and their like, and types as functions."""

import ast
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python import access
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.functions import ufuncs
from smemviz.engines.lockstep.python.functions.rules import Rule, plain
from smemviz.engines.lockstep.running_launch import MOST_LINES
from smemviz.engines.lockstep.values.masks import NothingHereError, Optional
from smemviz.engines.lockstep.values.operators import binary, truth
from smemviz.engines.lockstep.values.ranges import Range
from smemviz.engines.lockstep.values.typing import (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT64,
    Dtype,
    NotAScalarError,
    Value,
    cast,
    dtype_of,
    unify,
)
from smemviz.messages import english


def _print(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    for value in arguments:
        if not isinstance(value, str):
            _check(frame, node, value)
    for slot in np.flatnonzero(frame.mask.lanes).tolist():
        if frame.machine.printed >= MOST_LINES:
            return
        frame.machine.say(line_of(arguments, slot) + "\n", frame.function.name)


def line_of(values: Sequence[Value], slot: int) -> str:
    """Return what a thread prints of values."""
    return " ".join(_text(value, slot) for value in values)


def _check(frame: Frame, node: ast.Call, value: Value) -> None:
    """Refuse what Numba does not print: texts in tuples, and complex numbers."""
    for item in value if isinstance(value, tuple) else ():
        _check(frame, node, item)
    if not isinstance(value, tuple) and dtype_of(value).kind == "c":
        what = english("{function} of {dtype}", function="print", dtype=dtype_of(value))
        raise frame.none_of_numba(node, what, "x.real, x.imag")


def _text(value: Value, slot: int) -> str:
    """Return what a thread prints of a value; of a float six digits, as printf does."""
    if isinstance(value, tuple):
        items = [_text(item, slot) for item in value]
        return f"({', '.join(items)}{',' * (len(items) == 1)})"
    own = value[slot] if isinstance(value, np.ndarray) else value
    return str(own) if isinstance(own, str) or dtype_of(own).kind != "f" else f"{own:f}"


def range_of(frame: Frame, call: ast.Call, bounds: list[Value]) -> Range:
    """Return the range of a call."""
    ends = [_whole(frame, call, value) for value in bounds]
    if call.keywords or not 1 <= len(ends) <= 3:
        raise frame.wrong(call, english("{code}: range takes one to three numbers", code=ast.unparse(call)))
    start, stop, step = (0, ends[0], 1) if len(ends) == 1 else (*ends, 1)[:3]
    if not isinstance(step, np.ndarray) and step == 0:
        raise frame.wrong(call, english("{code}: the step is 0", code=ast.unparse(call)))
    return Range(start, stop, step)


def _whole(frame: Frame, call: ast.Call, value: Value) -> Value:
    """Return a bound of a range as an integer: Numba cuts off what a float has behind the point."""
    whole = cast(value, INT64) if dtype_of(value).kind == "f" else access.as_index(frame, call, value)
    return whole if isinstance(whole, np.ndarray) else int(whole)


def conversion(target: object, dtype: Dtype) -> Rule:
    """Return the rule of a type's name as a function; ``int`` and ``float`` leave what is one already."""

    def run(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
        if target is float and isinstance(arguments[0], str):
            return _float_of(frame, node, arguments[0])
        if dtype == BOOL:
            return truth(arguments[0])
        own = dtype_of(arguments[0])
        if (target is int and own.kind in "iu") or (target is float and own.kind == "f"):
            return arguments[0]
        if own.kind == "c" and dtype.kind != "c":
            raise frame.wrong(
                node, english("{code}: a complex number has no {dtype}; use .real", code=ast.unparse(node), dtype=dtype)
            )
        return cast(arguments[0], dtype)

    return Rule(run, 1, 1)


def _float_of(frame: Frame, node: ast.Call, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise frame.wrong(node, english("{code} is not a number", code=ast.unparse(node))) from None


def _extreme(keep: type[ast.cmpop], *arguments: Value) -> Value:
    """Return the largest or smallest of several numbers, or of those of a tuple."""
    values = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], tuple) else arguments
    both = reduce(unify, map(dtype_of, values))
    floats = len(values) == 2 and all(dtype_of(value).kind == "f" for value in values)

    def pick(left: Value, right: Value) -> Value:
        if floats:  # one instruction of CUDA, in which a number wins over NaN
            return (np.fmax if keep is ast.Gt else np.fmin)(left, right)
        test = binary(keep, right, left)
        if isinstance(test, np.ndarray):
            return np.where(test, np.asarray(right, both), np.asarray(left, both))
        return right if test else left

    return reduce(pick, [cast(value, both) for value in values])


def _abs(x: Value) -> Value:
    if dtype_of(x).kind == "c":  # as the device does; what NumPy does depends on the processor
        return np.hypot(x.real, x.imag)
    return np.abs(cast(x, INT8) if dtype_of(x) == BOOL else x)


def _len(x: Value) -> Value:
    if isinstance(x, View) and x.ndim:
        return x.shape[0]
    if isinstance(x, str | tuple):
        return len(x)
    if isinstance(x, Range):
        return x.length
    if isinstance(x, Optional):
        raise NothingHereError
    raise NotAScalarError(english("something without a length"))


def _tuple(x: Value) -> Value:
    if not isinstance(x, tuple):
        raise NotAScalarError(english("something that is not a tuple"))
    return x


def _ord(x: Value) -> Value:
    if not (isinstance(x, str) and len(x) == 1):
        raise NotAScalarError(english("something that is not a single letter"))
    return ord(x)


def _round(x: Value, digits: Value = None) -> Value:
    dtype = dtype_of(x)
    if digits is None:
        return cast(np.rint(cast(x, FLOAT64)), INT64)
    rounded = _round_to(np.asarray(cast(x, FLOAT64)), np.asarray(cast(digits, INT64)))
    return cast(rounded[()], FLOAT32 if dtype == FLOAT16 else dtype)


def _round_to(x: Any, digits: Any) -> Any:
    """Round to digits as numba-cuda does, halves to even; what would overflow stays as it is."""
    beyond = np.maximum(digits - _EXACT_POWER, 0)
    first, second = 10.0 ** (np.abs(digits) - beyond).astype(np.float64), 10.0 ** beyond.astype(np.float64)
    scaled = np.where(digits >= 0, x * first * second, x / first)
    whole = np.rint(scaled)
    back = np.where(digits >= 0, whole / second / first, whole * first)
    return np.where(np.isfinite(scaled), back, x)


_EXACT_POWER = 22  # 10**22 is the highest power of ten that a float64 holds exactly


def _sum(items: Value, start: Value = 0) -> Value:
    if not isinstance(items, tuple):
        raise NotAScalarError(english("something that is not a tuple"))
    return reduce(partial(binary, ast.Add), items, start)


def _complex(real: Value, *imaginary: Value) -> Value:
    if dtype_of(real).kind == "c":
        return real
    single = all(dtype_of(part) == FLOAT32 for part in (real, *imaginary))
    part = FLOAT32 if single else FLOAT64
    return ufuncs.complex_of(cast(real, part), cast(imaginary[0] if imaginary else 0.0, part))


def _nothing(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    return None


CALLS: dict[str, Rule] = {
    "builtins.abs": plain(_abs, 1),
    "builtins.breakpoint": Rule(_nothing, 0, 0),
    "builtins.complex": plain(_complex, 1, 2),
    "builtins.divmod": plain(lambda x, y: (binary(ast.FloorDiv, x, y), binary(ast.Mod, x, y)), 2),
    "builtins.len": plain(_len, 1),
    "builtins.max": plain(partial(_extreme, ast.Gt), 1, 64),
    "builtins.min": plain(partial(_extreme, ast.Lt), 1, 64),
    "builtins.ord": plain(_ord, 1),
    "builtins.pow": plain(partial(binary, ast.Pow), 2),
    "builtins.print": Rule(_print, 0, 64),
    "builtins.range": Rule(range_of, 0, 64),
    "builtins.round": plain(_round, 1, 2),
    "builtins.slice": plain(slice, 1, 3),
    "builtins.sum": plain(_sum, 1, 2),
    "builtins.tuple": plain(_tuple, 1),
}
