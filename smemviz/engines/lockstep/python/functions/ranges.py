"""``range`` as a function: its value, which loops go over and which may be kept, measured and searched."""

from __future__ import annotations

import ast

import numpy as np

from smemviz.engines.lockstep.python import access
from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.functions.rules import Rule
from smemviz.engines.lockstep.values.ranges import Range
from smemviz.engines.lockstep.values.typing import INT64, Value, cast, dtype_of
from smemviz.messages import english


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


CALLS: dict[str, Rule] = {"builtins.range": Rule(range_of, 0, 64)}
