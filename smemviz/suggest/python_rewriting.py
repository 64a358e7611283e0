"""A pad or a swizzle written into a kernel file: as few edits as it takes, and those its author would make."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np

from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.frontends.numba.sites.names import source_text
from smemviz.frontends.numba.syntax import dotted_name
from smemviz.frontends.program import Program
from smemviz.messages import english
from smemviz.model.layout import layouts
from smemviz.model.layout.candidates import LayoutChange, Pad
from smemviz.model.layout.code import NAMES, declared_shape, index_parts, operations, with_names
from smemviz.model.layout.layouts import Layout
from smemviz.recordings.data import ArrayInfo
from smemviz.recordings.vocabulary import DTYPES
from smemviz.suggest.rewrites import (
    Change,
    Edit,
    NotRewrittenError,
    Rewrite,
    Rewriter,
    line_after,
    pad_constant,
    replacing,
)
from smemviz.suggest.uses import Declaration, check_named_once, declaration, elements, views


def longer(
    program: PythonProgram, declared: Declaration, size: ast.expr, pitch: int, text: str | None = None
) -> Change:
    """Return the edits that make a size of a declaration another number, and the constants that they set.

    ``text`` is what the size becomes in terms of ``{0}``, the name that it is now; left out, so much more is added.

    Raises:
        NotRewrittenError: when the size is neither a number nor a name.
    """
    if isinstance(size, ast.Constant):
        return (replacing(size, str(pitch)),), {}
    if not isinstance(size, ast.Name):
        what = english("{code} is neither a number nor a constant", code=ast.unparse(size))
        raise NotRewrittenError(size.lineno, what)
    constant = program.constants.get(size.id)
    if constant is None or not isinstance(constant.value, int):
        return (replacing(size, str(pitch)),), {}
    more = pitch - constant.value
    if text is None:
        change = as_pad(program, size.id, more)
        if change is not None:
            return change
    there = _constant_for(program, size.id, pitch)
    if there is not None:
        return (replacing(size, there),), {}
    name = _new_name(program, f"{declared.name.upper()}_{'SIZE' if text else 'PITCH'}")
    value = f"{size.id}{(text or f' + {more}').format(size.id)}"
    return (line_after(_assignment(program, size.id), f"{name} = {value}"), replacing(size, name)), {}


def in_one_line(program: PythonProgram, declared: Declaration, shape: Sequence[int], pitch: int) -> Change:
    """Return the edits that give an array one dimension and so many elements."""
    sizes = size_texts(program, declared, shape)
    constants = [program.constants[size] for size in sizes if size in program.constants]
    if not constants:
        return (replacing(declared.shape, str(pitch)),), {}
    more = pitch - math.prod(shape)
    value = " * ".join(sizes) + (f" + {more}" if more else "")
    there = next((constant.name for constant in program.constants.values() if constant.text == value), None)
    if there is not None:
        return (replacing(declared.shape, there),), {}
    name = _new_name(program, f"{declared.name.upper()}_SIZE")
    last = max(constants, key=lambda constant: constant.line)
    edits = line_after(_assignment(program, last.name), f"{name} = {value}"), replacing(declared.shape, name)
    return edits, {}


def size_texts(program: PythonProgram, declared: Declaration, shape: Sequence[int]) -> list[str]:
    """Return the sizes of an array as they are to be written: the constants of its declaration, else numbers."""
    written = declared.shape.elts if isinstance(declared.shape, ast.Tuple) else []
    names = [size.id if isinstance(size, ast.Name) else "" for size in written] or [""] * len(shape)
    values = program.values
    return [name if values.get(name) == n else str(n) for name, n in zip(names, shape, strict=True)]


def as_pad(program: PythonProgram, name: str, more: int) -> Change | None:
    """Return the change of the part of a sum that is nothing but a pad: ``IPAD`` of ``PITCH = BDIMX + IPAD``."""
    value = _assignment(program, name).value
    if not (isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and isinstance(value.right, ast.Name)):
        return None
    pad = program.constants.get(value.right.id)
    if pad is None or pad.name in _names_but_in(program, name) or not isinstance(pad.value, int):
        return None
    written = _assignment(program, pad.name).value
    if not isinstance(written, ast.Constant):
        return None
    now = pad.value + more
    edits = () if written.value == now else (replacing(written, str(now)),)
    return edits, {pad.name: now}


def _names_but_in(program: PythonProgram, name: str) -> set[str]:
    """Return every name that the file reads but in the assignment of one constant."""
    own = _assignment(program, name)
    return {
        node.id
        for statement in program.tree.body
        if statement is not own
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _constant_for(program: PythonProgram, name: str, pitch: int) -> str | None:
    """Return a constant that is a name and a pad, and has a value: ``PITCH = TILE + 1`` for TILE and 33."""
    for constant in program.constants.values():
        if constant.value == pitch and constant.depends[:1] == (name,) and constant.text.startswith(f"{name} + "):
            return constant.name
    return None


def _assignment(program: PythonProgram, name: str) -> ast.Assign | ast.AnnAssign:
    line = program.constants[name].line
    assignments = (s for s in program.tree.body if isinstance(s, ast.Assign | ast.AnnAssign) and s.lineno == line)
    return next(assignments)


def _new_name(program: PythonProgram, preferred: str) -> str:
    used = {node.id for node in ast.walk(program.tree) if isinstance(node, ast.Name)}
    used |= {node.name for node in ast.walk(program.tree) if isinstance(node, ast.FunctionDef)}
    name, n = preferred, 2
    while name in used:
        name, n = f"{preferred}_{n}", n + 1
    return name


_REPEATABLE = {*DTYPES, "int", "min", "max", "abs"}  # functions that may be called twice for once


def rewriter(program: Program, array: ArrayInfo) -> Rewriting:
    """Return what lays an array out anew."""
    assert isinstance(program, PythonProgram)
    return Rewriting(program, array)


def as_declared(program: Program, array: ArrayInfo) -> ArrayInfo:
    """Return an array with the dimensions that the text gives it: those that it has."""
    return array


class Rewriting(Rewriter):
    """A shared array of a kernel file, to be laid out anew.

    Raises:
        NotRewrittenError: when its declaration is not in sight.
    """

    def __init__(self, program: PythonProgram, array: ArrayInfo) -> None:
        self.program = program
        self.array = array
        self.declared = declaration(program, array)
        self.declared_at = self.declared.line
        check_named_once(self.declared)

    @cached_property
    def _uses(self) -> list[ast.expr]:
        return list(elements(self.program, self.declared.function, self.declared.name))

    def rewrite(self, layout: LayoutChange) -> Rewrite:
        if isinstance(layout, Pad):
            if len(self.array.shape) > 1:
                return self._longer_rows(layout)
            used = {node.id for node in ast.walk(self.declared.function) if isinstance(node, ast.Name)}
            by_constant = pad_constant(self.program, used, layout, partial(as_pad, self.program))
            if by_constant is not None:
                return Rewrite(*by_constant)
        return self._other_index(layout)

    def _longer_rows(self, pad: Pad) -> Rewrite:
        """Make the last extent of an array of rows longer; its indices stay."""
        for line, what in views(self.declared.function, self.declared.name):
            raise NotRewrittenError(line, what)
        edits, constants = longer(self.program, self.declared, self._sizes()[-1], pad.row + pad.pad)
        return Rewrite(edits, constants)

    def _other_index(self, layout: LayoutChange) -> Rewrite:
        laid = self.laid_out(layout)
        declared, constants = self._declared_anew(layout, laid)
        parts = index_parts(laid, size_texts(self.program, self.declared, self.array.shape))
        edits = [new_index(self.program, laid, parts, index) for index in self._uses]
        return Rewrite((*declared, *edits), constants, operations(laid))

    def _declared_anew(self, layout: LayoutChange, laid: layouts.Layout) -> Change:
        """Return what makes the array as large as a layout needs it, and of one dimension where it has to be."""
        elements_now = self.array.nbytes // self.array.itemsize
        size = elements_now + layout.more_elements(elements_now)
        if len(declared_shape(laid)) < len(self.array.shape):
            return in_one_line(self.program, self.declared, self.array.shape, size)
        if size == elements_now:
            return (), {}
        self.check_static()
        text = None
        if isinstance(layout, Pad) and elements_now % layout.row == 0:
            text = f" + {{0}} // {layout.row}{f' * {layout.pad}' if layout.pad > 1 else ''}"
        return longer(self.program, self.declared, self._sizes()[-1], size, text)

    def _sizes(self) -> list[ast.expr]:
        """Return the sizes that the declaration has.

        Raises:
            NotRewrittenError: when they are not written out there.
        """
        shape, dimensions = self.declared.shape, len(self.array.shape)
        sizes = shape.elts if isinstance(shape, ast.Tuple) else [shape]
        if len(sizes) == dimensions:
            return sizes
        what = english("the sizes of {array} are not written out here", array=self.array.name)
        raise NotRewrittenError(shape.lineno, what)


def new_index(program: PythonProgram, laid: Layout, parts: Sequence[str], index: ast.expr) -> Edit:
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
    indices = dict(zip(names, written, strict=True))
    flattened = len(parts) < len(written)
    times = Counter(name for part in parts for name in _names_in(part) if name in indices)
    numbers = {
        name: part.value
        for name, part in indices.items()
        if isinstance(part, ast.Constant) and isinstance(part.value, int)
    }
    mixed = set(_names_in(parts[-1])) & set(names)
    if mixed <= set(numbers):
        text = _number(laid, [numbers.get(name, 0) for name in names])
    elif not flattened and {numbers.get(name) for name in mixed - {names[-1]}} == {0}:
        text = source_text(program.source, written[-1])  # mixed with 0 it stays
    else:
        for name, part in indices.items():
            if times[name] > 1:
                _check_repeatable(part)
        text = with_names(parts[-1], {name: source_text(program.source, part) for name, part in indices.items()})
    return replacing(index if flattened else written[-1], text)


def _number(laid: Layout, index: Sequence[int]) -> str:
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
        what = english("{code} is not the index of a single element", code=ast.unparse(index))
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
