"""Another index at a use of a shared array: what its author wrote, put into the index that a layout has."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence

import numpy as np

from smemviz.frontends.numba.constants import dotted_name
from smemviz.frontends.numba.program import Program
from smemviz.frontends.numba.sites.names import source_text
from smemviz.messages import english
from smemviz.model.layout.code import NAMES, declared_shape, with_names
from smemviz.model.layout.layouts import Layout
from smemviz.recordings.dtypes import DTYPES
from smemviz.suggest.edits import Edit, replacing
from smemviz.suggest.rewrites import NotRewrittenError

_REPEATABLE = {*DTYPES, "int", "min", "max", "abs"}  # functions that may be called twice for once


def new_index(program: Program, laid: Layout, parts: Sequence[str], index: ast.expr) -> Edit:
    """Return the edit of one index.

    Args:
        program: the kernel file.
        laid: the array as it is to lie.
        parts: the index to declare, as ``index_parts`` gives it.
        index: what stands in the brackets, or is the second argument of an atomic operation.

    Raises:
        NotRewrittenError: when it is not an index for each axis, or may not be written twice.
    """
    written = index.elts if isinstance(index, ast.Tuple) else [index]
    names = NAMES[len(laid.shape)]
    if len(written) != len(names):
        raise NotRewrittenError(index.lineno, english("{code} is not an index for each axis", code=ast.unparse(index)))
    for part, size in zip(written, laid.shape, strict=True):
        _check_element(part, size)
    given = dict(zip(names, written, strict=True))
    flattened = len(parts) < len(written)
    times = Counter(name for part in parts for name in _names_in(part) if name in given)
    numbers = {
        name: part.value
        for name, part in given.items()
        if isinstance(part, ast.Constant) and isinstance(part.value, int)
    }
    mixed = set(_names_in(parts[-1])) & set(names)
    if mixed <= set(numbers):
        text = _number(laid, [numbers.get(name, 0) for name in names])
    elif not flattened and {numbers.get(name) for name in mixed - {names[-1]}} == {0}:
        text = source_text(program.source, written[-1])  # mixed with 0 it stays
    else:
        for name, part in given.items():
            if times[name] > 1:
                _check_repeatable(part)
        text = with_names(parts[-1], {name: source_text(program.source, part) for name, part in given.items()})
    return replacing(index if flattened else written[-1], text)


def _number(laid: Layout, index: Sequence[int]) -> str:
    """Return the last part of an index that is written out in numbers."""
    place = laid.place(np.array(np.ravel_multi_index(index, laid.shape)))
    return str(np.unravel_index(int(place), declared_shape(laid))[-1])


def _names_in(text: str) -> list[str]:
    return [node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)]


def _check_element(index: ast.expr, size: int) -> None:
    """Refuse an index that is not the number of an element, counted from the first.

    Raises:
        NotRewrittenError: naming it.
    """
    number = index.value if isinstance(index, ast.Constant) else 0
    if isinstance(index, ast.Slice | ast.Tuple) or type(number) is not int or number >= size:
        what = english("{code} is not the index of one element", code=ast.unparse(index))
        raise NotRewrittenError(index.lineno, what)
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
        what = english("the index {code} counts from the end", code=ast.unparse(index))
        raise NotRewrittenError(index.lineno, what)


def _check_repeatable(index: ast.expr) -> None:
    """Refuse an index that may not be written twice.

    Raises:
        NotRewrittenError: naming it.
    """
    for node in ast.walk(index):
        repeatable = isinstance(node, ast.Call) and dotted_name(node.func).rpartition(".")[2] in _REPEATABLE
        if isinstance(node, ast.Subscript | ast.Call | ast.NamedExpr) and not repeatable:
            what = english("the index {code} would be written twice; give it a name first", code=ast.unparse(index))
            raise NotRewrittenError(index.lineno, what)
