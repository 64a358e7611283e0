"""Reading ``cuda.shared.array`` and ``cuda.local.array``: a constant shape and a dtype."""

import ast
from difflib import get_close_matches
from enum import Enum

import numpy as np

from smemviz.frontends.numba.python_functions import as_dtype
from smemviz.frontends.numba.sites.names import Names
from smemviz.frontends.numba.sites.table import ArrayRef, Declaration, Visit
from smemviz.messages import english
from smemviz.recordings.vocabulary import DTYPES

Dtype = np.dtype[np.generic]

_POINTER = 8  # bytes; numba-cuda takes no alignment below


def declared_array(visit: Visit, node: ast.Call, space: str) -> ArrayRef:
    """Return the array of a declaration, one of shared memory declared in the walk; shape (0,) is dynamic.

    Raises:
        UnsupportedError: when shape, dtype or alignment is missing or not constant, as Numba would refuse it too.
    """
    names = visit.names
    array = f"cuda.{space}.array"
    arguments = {k.arg: k.value for k in node.keywords} | dict(
        zip(("shape", "dtype", "alignment"), node.args, strict=False)
    )
    if not {"shape", "dtype"} <= set(arguments):
        raise visit.unsupported(node, english("{array} needs a shape and a dtype", array=array))
    shape = _shape(arguments["shape"], names)
    if isinstance(shape, ast.expr):
        text = ast.unparse(shape)
        what = english("'{code}' is not a constant", code=text)
        if text in {a.arg for a in names.function.node.args.args}:
            what = english("'{code}' is an argument", code=text)
        if isinstance(names.constant(shape), Enum):
            what = english("'{code}' is a member of an enumeration", code=text)
        if space == "local":
            raise visit.unsupported(
                node,
                english(
                    "{array} needs a constant shape, in Numba too; {what}. Make it a module constant.",
                    array=array,
                    what=what,
                ),
            )
        raise visit.unsupported(
            node,
            english(
                "{array} needs a constant shape, in Numba too; {what}. "
                "Make it a module constant, or use dynamic shared memory.",
                array=array,
                what=what,
            ),
        )
    if not shape or min(shape) < 0 or (0 in shape and (space, shape) != ("shared", (0,))):
        raise visit.unsupported(
            node,
            english(
                "{array} of shape {shape} has no elements; make each size 1 or more (0 alone: dynamic)",
                array=array,
                shape=shape,
            ),
        )
    dtype = _element_type(visit, space, arguments["dtype"])
    if dtype is None:
        code = ast.unparse(arguments["dtype"])
        what = english("{array} needs a dtype; '{code}' is not one", array=array, code=code)
        if near := get_close_matches(code.rpartition(".")[2].strip("'").lower(), DTYPES, n=1, cutoff=0.75):
            what = english("{what}; did you mean {near}?", what=what, near=near[0])
        raise visit.unsupported(node, what)
    alignment = _alignment(arguments.get("alignment"), names)
    if alignment is None:
        raise visit.unsupported(
            node, english("{array} needs an alignment that is a constant power of two, a multiple of 8", array=array)
        )
    name = visit.declared.get(node, f"array at line {node.lineno}")
    if space == "shared":
        visit.tree.declarations[node] = len(visit.walk.declarations)
        visit.walk.declarations.append(Declaration(name, shape, dtype, node.lineno, shape == (0,), alignment))
    return ArrayRef((name,), space, len(shape), dtype)


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


def _element_type(visit: Visit, space: str, node: ast.expr) -> Dtype | None:
    """Return the dtype of the elements of an array that is declared; Numba declares none of Python's types."""
    element = None if isinstance(node, ast.Constant) else visit.names.constant(node)
    if isinstance(element, type) and element in (bool, int, float, complex):
        what = english("{array} of Python's {type}", array=f"cuda.{space}.array", type=element.__name__)
        what = english(
            "{what}: Numba does not compile it for CUDA; write {instead}", what=what, instead=f"np.{np.dtype(element)}"
        )
        raise visit.unsupported(node, what)
    return named_dtype(visit, node)


def named_dtype(visit: Visit, node: ast.expr) -> Dtype | None:
    """Return the dtype an expression names: ``float32``, ``np.float32``, ``DTYPE``, ``a.dtype``, ``"float32"``."""
    if isinstance(node, ast.Constant):
        return as_dtype(node.value)
    if isinstance(node, ast.Attribute) and node.attr == "dtype":
        base = visit.value(node.value)
        if isinstance(base, ArrayRef):
            return base.dtype
    return as_dtype(visit.names.constant(node))
