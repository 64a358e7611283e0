"""A pad or a swizzle written into a ``.cu`` file: as few edits as it takes, and those its author would make."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from smemviz.frontends.cuda.cuda_program import CudaProgram
from smemviz.frontends.cuda.text.lexing import code
from smemviz.frontends.program import Program
from smemviz.messages import english
from smemviz.model.layout import layouts
from smemviz.model.layout.candidates import LayoutChange, Pad
from smemviz.model.layout.code import NAMES, declared_shape, index_parts, operations, with_names
from smemviz.model.layout.layouts import Layout
from smemviz.recordings.data import ArrayInfo
from smemviz.suggest.cuda_text import Declaration, SourceText, Use, as_pad, is_term, longer, more_text, row_factor
from smemviz.suggest.rewrites import Change, Edit, NotRewrittenError, Rewrite, Rewriter, pad_constant

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_REPEATABLE = {"min", "max", "abs", "int", "unsigned", "sizeof", "static_cast", "__mul24", "__brev", "__popc"}
# What changes a variable, and a load, which would be one more access.
_CHANGES = {"++", "--", "[", "=", *(f"{sign}=" for sign in ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"))}
_NUMBER = re.compile(r"(\d+)[uUlL]*")


def rewriter(program: Program, array: ArrayInfo) -> CudaRewriting:
    """Return what lays an array out anew."""
    assert isinstance(program, CudaProgram)
    return CudaRewriting(program, array)


def as_declared(program: Program, array: ArrayInfo) -> ArrayInfo:
    """Return an array with the dimensions that the text gives it: of vectors each row is their numbers in a line."""
    assert isinstance(program, CudaProgram)
    try:
        dimensions = len(SourceText(program).declaration(array).extents)
    except NotRewrittenError:
        return array
    if not 0 < dimensions == len(array.shape) - 1:
        return array
    *outer, last, lanes = array.shape
    return replace(array, shape=(*outer, last * lanes), strides=(*array.strides[: len(outer)], array.itemsize))


class CudaRewriting(Rewriter):
    """A shared array of a ``.cu`` file, to be laid out anew.

    Raises:
        NotRewrittenError: when its declaration is not in sight.
    """

    def __init__(self, program: CudaProgram, array: ArrayInfo) -> None:
        self._text = SourceText(program)
        self.array = array
        self.declared: Declaration = self._text.declaration(array)
        self.declared_at = self.declared.line
        if len(self.declared.extents) != len(array.shape):
            raise NotRewrittenError(
                array.line, english("the sizes of {array} are not written out here", array=array.name)
            )

    @cached_property
    def _uses(self) -> list[Use]:
        return list(self._text.uses(self.declared))

    def rewrite(self, layout: LayoutChange) -> Rewrite:
        self._check_uses(layout)
        if isinstance(layout, Pad):
            if len(self.array.shape) > 1:
                return Rewrite(*longer(self._text, self.declared.extents[-1], self._lanes(layout.pad)))
            used = {token.text for token in self._text.tokens(self.declared.scope)}
            by_constant = pad_constant(self._text.program, used, layout, partial(as_pad, self._text))
            if by_constant is not None:
                return Rewrite(*by_constant)
            self.check_static()
            by_pitch = self._other_pitch(layout)
            if by_pitch is not None:
                return by_pitch
        return self._other_index(layout)

    def _check_uses(self, layout: LayoutChange) -> None:
        rows_only = isinstance(layout, Pad) and len(self.array.shape) > 1
        for use in self._uses:
            if use.how:
                raise NotRewrittenError(use.line, use.how)
            start = all(self._text.value(self._text.at(span)) == 0 for span in use.indices)
            if use.pointer and (start or not rows_only):
                what = english("a pointer to {array} is taken here", array=self.array.name)
                raise NotRewrittenError(use.line, what)
            if use.indices and not rows_only and len(use.indices) < len(self.array.shape):
                what = english("a row of {array} is taken here", array=self.array.name)
                raise NotRewrittenError(use.line, what)

    def _lanes(self, more: int) -> int:
        """Return numbers of the array as elements of the declaration, which are vectors in some.

        Raises:
            NotRewrittenError: when they are no whole elements.
        """
        extent = self._text.value(self._text.at(self.declared.extents[-1]))
        lanes = self.array.shape[-1] // extent if extent else 1
        if lanes == 0 or more % lanes:
            what = english("the elements of {array} are vectors, which stay whole", array=self.array.name)
            raise NotRewrittenError(self.declared.line, what)
        return more // lanes

    def _other_pitch(self, pad: Pad) -> Rewrite | None:
        """Change the pitch where every index is written as ``a * PITCH + b``, None where one is not."""
        text, edits = self._text, list[Edit]()
        for use in self._uses:
            if use.indices:
                factor = row_factor(text, use.indices[0], pad.row)
                if factor is None:
                    return None
                edits.append(text.edit(factor, self._wider(text.at(factor), pad.pad, factor[0])))
        return Rewrite((*edits, *self._declared_longer(pad)[0]))

    def _wider(self, factor: str, more: int, at: int) -> str:
        written = more_text(self._text, factor, more, at)
        return written if is_term(written) else f"({written})"

    def _declared_longer(self, layout: LayoutChange) -> Change:
        text, (size,), now = self._text, self.declared.extents, self.array.shape[0]
        more = layout.more_elements(now)
        if not more:
            return (), {}
        self.check_static()
        if isinstance(layout, Pad):
            factor = _product(text, size, layout.row)
            if factor is not None:
                wider = self._wider(text.at(factor), layout.pad, factor[0])
                return (text.edit(factor, wider),), {}
        return (text.edit(size, more_text(text, text.at(size), more, size[0])),), {}

    def _other_index(self, layout: LayoutChange) -> Rewrite:
        self._lanes(1)
        laid = self.laid_out(layout)
        declared, constants = self._declared_anew(layout, laid)
        parts = index_parts(laid, self._sizes())
        edits = [new_index(self._text, laid, parts, use) for use in self._uses if use.indices]
        return Rewrite((*declared, *edits), constants, operations(laid))

    def _declared_anew(self, layout: LayoutChange, laid: layouts.Layout) -> Change:
        """Return what makes the array as large as a layout needs it, and of one dimension where it has to be."""
        if len(self.array.shape) == 1:
            return self._declared_longer(layout)
        if len(declared_shape(laid)) == len(self.array.shape):
            return (), {}
        text, extents = self._text, self.declared.extents
        elements = math.prod(self.array.shape)
        written = " * ".join(extent if is_term(extent) else f"({extent})" for extent in map(text.at, extents))
        more = layout.more_elements(elements)
        return (text.edit((extents[0][0], extents[-1][1]), f"{written} + {more}" if more else written),), {}

    def _sizes(self) -> list[str]:
        """Return the sizes as they are to be written: the names of the declaration, else numbers."""
        index_names = NAMES[len(self.array.shape)]
        written = map(self._text.at, self.declared.extents)
        return [
            extent if _IDENTIFIER.fullmatch(extent) and extent not in index_names else str(size)
            for extent, size in zip(written, self.array.shape, strict=True)
        ]


def _product(text: SourceText, size: tuple[int, int], row: int) -> tuple[int, int] | None:
    """Return which factor of a size ``a * b`` is a row's length."""
    tokens = text.tokens(size)
    if len(tokens) == 3 and tokens[1].text == "*":
        for token in (tokens[2], tokens[0]):
            if text.value(token.text) == row:
                return token.start, token.end
    return None


def new_index(text: SourceText, laid: Layout, parts: Sequence[str], use: Use) -> Edit:
    """Return the edit of one index.

    Args:
        text: the file.
        laid: the array as it is to lie.
        parts: the index to declare, as ``index_parts`` gives it.
        use: where the array is reached.

    Raises:
        NotRewrittenError: when it is not an index for each axis, or may not be written twice.
    """
    names = NAMES[len(laid.shape)]
    indices = {name: text.at(span).strip() for name, span in zip(names, use.indices, strict=True)}
    flattened = len(parts) < len(names)
    span = (use.indices[0 if flattened else -1][0], use.indices[-1][1])
    numbers = {name: int(match[1]) for name, part in indices.items() if (match := _NUMBER.fullmatch(part))}
    mixed = set(_names_in(parts[-1])) & set(names)
    if mixed <= set(numbers):
        place = laid.place(np.array(np.ravel_multi_index([numbers.get(name, 0) for name in names], laid.shape)))
        return text.edit(span, str(np.unravel_index(int(place), declared_shape(laid))[-1]))
    if not flattened and {numbers.get(name) for name in mixed - {names[-1]}} == {0}:
        return text.edit(span, indices[names[-1]])  # mixed with 0 it stays
    times = Counter(name for part in parts for name in _names_in(part) if name in indices)
    for name, part in indices.items():
        if times[name] > 1:
            _check_repeatable(part, use.line)
    return text.edit(span, _filled(with_names(parts[-1], {name: name for name in names}), indices))


def _filled(formula: str, indices: dict[str, str]) -> str:
    """Write a formula of whole numbers, which C++ and Python have alike but for ``//``, with indices in it."""

    def written(match: re.Match[str]) -> str:
        part = indices.get(match[0], match[0])
        return part if is_term(part) else f"({part})"

    return re.sub(r"[A-Za-z_]\w*", written, formula.replace("//", "/"))


def _names_in(text: str) -> list[str]:
    return re.findall(r"[A-Za-z_]\w*", text)


def _check_repeatable(index: str, line: int) -> None:
    """Refuse an index that may not be written twice.

    Raises:
        NotRewrittenError: naming it.
    """
    tokens = code(index)
    for at, token in enumerate(tokens):
        calls = token.text == "(" and at and tokens[at - 1].kind == "name" and tokens[at - 1].text not in _REPEATABLE
        if calls or token.text in _CHANGES:
            what = english("the index {code} would be written twice; give it a name first", code=index)
            raise NotRewrittenError(line, what)
