"""Numba's operators on ``datetime64`` and ``timedelta64``: integers with a unit, of which one stands for no time."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from smemviz.engines.lockstep.values.typing import FLOAT32, FLOAT64, INT64, Dtype, cast
from smemviz.model.layout.operators import BINARY, COMPARE

KINDS = "mM"
# What each operator takes: kinds of numbers, "m" and "M" of times, "n" of numbers.
_TAKEN: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Add: ("mm", "Mm", "mM"),
    ast.Sub: ("mm", "Mm", "MM"),
    ast.Mult: ("mn", "nm"),
    ast.Div: ("mn", "mm"),
    ast.FloorDiv: ("mn",),
}
_FUNCTIONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = dict(
    [*BINARY.items(), *COMPARE.items(), (ast.Div, operator.truediv), (ast.FloorDiv, operator.floordiv)]
)


def rule(op: type[ast.AST], left: Dtype, right: Dtype) -> tuple[Dtype, Dtype, Callable[[Any, Any], Any]] | None:
    """Return how an operator is applied to two types of which one is of times, None where it is not."""
    kinds = "".join(dtype.kind if dtype.kind in KINDS else "n" for dtype in (left, right))
    accepted = ("mm", "MM") if op in COMPARE else _TAKEN.get(op, ())
    if kinds not in accepted:
        return None
    sides = [dtype if dtype.kind in KINDS else FLOAT64 if dtype.kind == "f" else INT64 for dtype in (left, right)]
    if any(dtype.kind in "bc" for dtype in (left, right)):
        return None
    if FLOAT32 in (left, right):
        return left, right, _in_single(_FUNCTIONS[op])
    return sides[0], sides[1], _FUNCTIONS[op]


def _in_single(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return what scales times by numbers in single precision, in which the integers are rounded first."""

    def scaled(left: Any, right: Any) -> Any:
        times = left if left.dtype.kind == "m" else right
        numbers = [side.astype(np.int64).astype(FLOAT32) if side is times else side for side in (left, right)]
        result = cast(function(*numbers), INT64)
        return np.where(np.isnat(times), np.array("NaT", times.dtype), np.asarray(result).astype(times.dtype))[()]

    return scaled
