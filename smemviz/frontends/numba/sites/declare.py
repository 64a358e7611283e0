"""Reading ``cuda.shared.array`` and ``cuda.local.array``: a constant shape and a dtype."""

from __future__ import annotations

import ast
from collections.abc import Callable
from difflib import get_close_matches
from enum import Enum

import numpy as np

from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.sites.names import Names
from smemviz.messages import english
from smemviz.recordings.vocabulary import DTYPES

Dtype = np.dtype[np.generic]

_POINTER = 8  # bytes; numba-cuda takes no alignment below


def declared_array(
    node: ast.Call, space: str, names: Names, dtype_of: Callable[[ast.expr], Dtype | None]
) -> tuple[tuple[int, ...], Dtype, int]:
    """Return the shape, dtype and alignment of a declaration; (0,) is dynamic shared memory.

    Raises:
        UnsupportedError: when one is missing or not constant, as Numba would refuse it too.
    """

    def unsupported(what: str) -> UnsupportedError:
        return UnsupportedError(names.function.file, node.lineno, what)

    array = f"cuda.{space}.array"

    arguments = {k.arg: k.value for k in node.keywords} | dict(
        zip(("shape", "dtype", "alignment"), node.args, strict=False)
    )
    if not {"shape", "dtype"} <= set(arguments):
        raise unsupported(english("{array} needs a shape and a dtype", array=array))
    shape = _shape(arguments["shape"], names)
    if isinstance(shape, ast.expr):
        text = ast.unparse(shape)
        what = english("'{code}' is not a constant", code=text)
        if text in {a.arg for a in names.function.node.args.args}:
            what = english("'{code}' is an argument", code=text)
        if isinstance(names.constant(shape), Enum):
            what = english("'{code}' is a member of an enumeration", code=text)
        if space == "local":
            raise unsupported(
                english(
                    "{array} needs a constant shape, for Numba as well; {what}. Make it a module constant.",
                    array=array,
                    what=what,
                )
            )
        raise unsupported(
            english(
                "{array} needs a constant shape, for Numba as well; {what}. "
                "Make it a module constant, or use dynamic shared memory.",
                array=array,
                what=what,
            )
        )
    if not shape or min(shape) < 0 or (0 in shape and (space, shape) != ("shared", (0,))):
        raise unsupported(
            english(
                "{array} of shape {shape} has no elements; make each size 1 or more (0 alone: dynamic)",
                array=array,
                shape=shape,
            )
        )
    dtype = dtype_of(arguments["dtype"])
    if dtype is None:
        code = ast.unparse(arguments["dtype"])
        what = english("{array} needs a dtype; '{code}' is none", array=array, code=code)
        if near := get_close_matches(code.rpartition(".")[2].strip("'").lower(), DTYPES, n=1, cutoff=0.75):
            what = english("{what}; did you mean {near}?", what=what, near=near[0])
        raise unsupported(what)
    alignment = _alignment(arguments.get("alignment"), names)
    if alignment is None:
        raise unsupported(
            english("{array} needs an alignment that is a constant power of two, a multiple of 8", array=array)
        )
    return shape, dtype, alignment


def _alignment(expression: ast.expr | None, names: Names) -> int | None:
    """Return a constant alignment in bytes, 1 where none is given, None where what is given is none."""
    if expression is None or (isinstance(expression, ast.Constant) and expression.value is None):
        return 1
    value = expression.value if isinstance(expression, ast.Constant) else names.constant(expression)
    fits = isinstance(value, int) and not isinstance(value, bool) and value > 0 and value & (value - 1) == 0
    return value if fits and isinstance(value, int) and value % _POINTER == 0 else None


def _shape(expression: ast.expr, names: Names) -> tuple[int, ...] | ast.expr:
    """Return a shape, or the part that is none: Numba takes numbers and names of constants, no arithmetic."""
    parts = expression.elts if isinstance(expression, ast.Tuple) else [expression]
    sizes: list[int] = []
    for part in parts:
        value = names.literal(part)
        values = value if isinstance(value, tuple) and part is expression else (value,)
        if not values or not all(isinstance(v, int | np.integer) and not isinstance(v, bool | Enum) for v in values):
            return part
        sizes.extend(int(v) for v in values)
    return tuple(sizes)
