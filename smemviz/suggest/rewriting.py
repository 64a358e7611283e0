"""A pad or a swizzle written into a kernel file: as few edits as it takes, and those its author would make."""

from __future__ import annotations

import ast
from functools import cached_property

from smemviz.errors import InputError
from smemviz.frontends.numba.program import Program
from smemviz.messages import english
from smemviz.model.layout import layouts
from smemviz.model.layout.candidates import Moved, Pad, laid_out
from smemviz.model.layout.code import declared_shape, index_parts, operations
from smemviz.recordings.data import ArrayInfo
from smemviz.suggest.indices import new_index
from smemviz.suggest.pitch import Change, in_one_line, longer, pad_constant, size_texts
from smemviz.suggest.rewrites import NotRewrittenError, Rewrite, Rewriter
from smemviz.suggest.uses import check_named_once, declaration, elements, views


class Rewriting(Rewriter):
    """A shared array of a kernel file, to be laid out anew.

    Raises:
        NotRewrittenError: when its declaration is not in sight.
    """

    def __init__(self, program: Program, array: ArrayInfo) -> None:
        self.program = program
        self.array = array
        self.declared = declaration(program, array)
        check_named_once(self.declared)

    @cached_property
    def _uses(self) -> list[ast.expr]:
        """Every index with which the array is reached."""
        return list(elements(self.program, self.declared.function, self.declared.name))

    def rewrite(self, layout: Moved) -> Rewrite:
        if isinstance(layout, Pad):
            if len(self.array.shape) > 1:
                return self._longer_rows(layout)
            by_constant = pad_constant(self.program, self.declared.function, layout)
            if by_constant is not None:
                return Rewrite(*by_constant)
        return self._other_index(layout)

    def _longer_rows(self, pad: Pad) -> Rewrite:
        """Make the last extent of an array of rows longer; its indices stay."""
        for line, what in views(self.declared.function, self.declared.name):
            raise NotRewrittenError(line, what)
        edits, constants = longer(self.program, self.declared, self._sizes()[-1], pad.row + pad.pad)
        return Rewrite(edits, constants)

    def _other_index(self, layout: Moved) -> Rewrite:
        """Write another index at every use, and the declaration that it takes."""
        try:
            laid = laid_out(self.array, layout)
        except InputError as error:
            raise NotRewrittenError(self.declared.line, str(error)) from None
        declared, constants = self._declared_anew(layout, laid)
        parts = index_parts(laid, size_texts(self.program, self.declared, self.array.shape))
        edits = [new_index(self.program, laid, parts, index) for index in self._uses]
        return Rewrite((*declared, *edits), constants, operations(laid))

    def _declared_anew(self, layout: Moved, laid: layouts.Layout) -> Change:
        """Return what makes the array as large as a layout needs it, and of one dimension where it has to be."""
        elements_now = self.array.nbytes // self.array.itemsize
        size = elements_now + layout.more_elements(elements_now)
        if len(declared_shape(laid)) < len(self.array.shape):
            return in_one_line(self.program, self.declared, self.array.shape, size)
        if size == elements_now:
            return (), {}
        if self.array.dynamic:
            array = self.array.name
            what = english("{array} is dynamic: the launch states its size, and no constant is its pitch", array=array)
            raise NotRewrittenError(self.declared.line, what)
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
