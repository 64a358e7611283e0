"""Python's operators on the values of the host part; what grows fast is bounded before."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from smemviz.engines.sandbox.language.host import Host
from smemviz.engines.sandbox.language.sizes import product, together
from smemviz.messages import english
from smemviz.model.layout import operators

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = operators.BINARY | {
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.MatMult: operator.matmul,
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = operators.COMPARE | {
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
}


def binary(host: Host, op: ast.operator, left: Any, right: Any) -> Any:
    """Apply an operator to two values; what grows fast is bounded before."""
    for side in (left, right):
        if isinstance(side, str) and isinstance(op, ast.Mod):
            raise host.refuse("% on text")
        if not isinstance(side, int | float | complex | str | tuple | list | np.ndarray | np.generic):
            raise host.error(
                english("{code}: one side is no number", code=ast.unparse(ast.BinOp(ast.Name("a"), op, ast.Name("b"))))
            )
    if isinstance(left, int) and isinstance(right, int):
        grown = {
            ast.Pow: left.bit_length() * max(right, 0),
            ast.LShift: left.bit_length() + max(right, 0),
            ast.Mult: left.bit_length() + right.bit_length(),
        }.get(type(op), 0)
        if grown > host.limits.integer_bits + 1:
            raise host.error(english("a whole number of more than {most:,} bits", most=host.limits.integer_bits))
    sequence, times = (left, right) if isinstance(left, str | list | tuple) else (right, left)
    if isinstance(op, ast.Mult) and isinstance(sequence, str | list | tuple) and isinstance(times, int):
        if len(sequence) * times > host.limits.items:
            raise host.error(english("a list or text of more than {most:,} items", most=host.limits.items))
    elif isinstance(op, ast.MatMult):
        host.afford(product(left, right))
    else:
        host.afford(together(left, right))
    return host.guarded(_BINARY[type(op)], left, right)
