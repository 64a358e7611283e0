"""A pad or a swizzle written into a kernel file: as few edits as it takes, and those its author would make."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from smemviz.constants import DTYPES, ConstantValue, dotted_name
from smemviz.language import N_
from smemviz.model.cure import Layout, Pad, Swizzle
from smemviz.program import Program, parse_program
from smemviz.recording import ArrayInfo
from smemviz.rewrite.edits import Edit, edited, replacing
from smemviz.rewrite.pitch import longer, pad_constant
from smemviz.rewrite.said import Said
from smemviz.rewrite.uses import NotRewrittenError, check_named_once, declaration, elements, views
from smemviz.sites.names import source_text

_REPEATABLE = {*DTYPES, "int", "min", "max", "abs"}  # functions that may be called twice for once


@dataclass(frozen=True)
class Rewrite:
    """The edits of a kernel file that give an array a layout; ``constants`` are those that the edits set.

    ``instructions`` is about how many more each access takes.
    """

    edits: tuple[Edit, ...]
    constants: Mapping[str, ConstantValue] = field(default_factory=dict)
    instructions: int = 0


def rewritten(program: Program, rewrites: tuple[Rewrite, ...]) -> Program:
    """Return a kernel file with rewrites made, all other constants as they were set.

    Raises:
        InputError: when two rewrites do not go together.
    """
    source = edited(program.source, [edit for one in rewrites for edit in one.edits])
    written = {name for one in rewrites for name in one.constants}
    kept = {name: value for name, value in program.overrides.items() if name not in written}
    new = parse_program(source, program.file)
    parts = {name: getattr(new, name) for name in ("source", "tree", "constants", "kernels", "functions")}
    return replace(program, **parts, overrides={}).with_constants(kept)


class Rewriting:
    """A shared array of a kernel file, to be laid out anew.

    Raises:
        NotRewrittenError: when its declaration is not in sight.
    """

    def __init__(self, program: Program, array: ArrayInfo) -> None:
        self.program = program
        self.array = array
        self.declared = declaration(program, array)
        check_named_once(self.declared)

    def refuses(self, layout: Layout) -> str | None:
        """Say why a layout cannot be written, None when it can."""
        try:
            self.rewrite(layout)
        except NotRewrittenError as error:
            return error.said
        return None

    def rewrite(self, layout: Layout) -> Rewrite:
        """Write a layout.

        Raises:
            NotRewrittenError: when it cannot be; names the line and the reason.
        """
        if isinstance(layout, Swizzle):
            edits, instructions = self._indices(layout)
            return Rewrite(edits, instructions=instructions)
        return self._longer_rows(layout) if len(self.array.shape) > 1 else self._spread(layout)

    # -- pads

    def _longer_rows(self, pad: Pad) -> Rewrite:
        """Make the last extent of an array of rows longer; its indices stay."""
        for line, what in views(self.declared.function, self.declared.name):
            raise NotRewrittenError(line, what)
        shape = self.declared.shape
        if not (isinstance(shape, ast.Tuple) and len(shape.elts) == len(self.array.shape)):
            what = Said(N_("the sizes of {array} are not written out here"), array=self.array.name)
            raise NotRewrittenError(shape.lineno, what)
        edits, constants = longer(self.program, self.declared, shape.elts[-1], pad.row + pad.pad)
        return Rewrite(edits, constants)

    def _spread(self, pad: Pad) -> Rewrite:
        """Leave gaps in an array of one dimension: by the constant that is its pitch, else at every index."""
        found = pad_constant(self.program, self.declared.function, pad)
        if found is not None:
            return Rewrite(*found)
        if self.array.dynamic:
            what = Said(
                N_("{array} is dynamic: the launch states its size, and no constant is its pitch"),
                array=self.array.name,
            )
            raise NotRewrittenError(self.declared.line, what)
        shape = self.declared.shape
        if isinstance(shape, ast.Tuple):
            if len(shape.elts) != 1:
                what = Said(N_("the size of {array} is not written out here"), array=self.array.name)
                raise NotRewrittenError(shape.lineno, what)
            shape = shape.elts[0]
        elements_now = self.array.shape[0]
        size = elements_now + pad.more_elements(elements_now)
        text = f" + {{0}} // {pad.row}{f' * {pad.pad}' if pad.pad > 1 else ''}" if elements_now % pad.row == 0 else None
        declared, constants = longer(self.program, self.declared, shape, size, text)
        edits, instructions = self._indices(pad)
        return Rewrite((*declared, *edits), constants, instructions)

    # -- indices

    def _indices(self, layout: Layout) -> tuple[tuple[Edit, ...], int]:
        """Write another index at every use; return by about how many instructions it is longer too."""
        edits = []
        for index in elements(self.program, self.declared.function, self.declared.name):
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            if len(parts) != len(self.array.shape):
                what = Said(N_("{code} is not an index for each axis"), code=ast.unparse(index))
                raise NotRewrittenError(index.lineno, what)
            for part in parts[-2:]:
                _check_plain(part)
            text = self._known(parts[-2:], layout)
            if text is None:
                text = self._spread_out(parts[-1], layout) if isinstance(layout, Pad) else self._mixed(parts, layout)
            edits.append(replacing(parts[-1], text))
        added = self._mixing(layout) if isinstance(layout, Swizzle) else 2 + (layout.pad > 1)
        return tuple(edits), added

    def _known(self, index: list[ast.expr], layout: Layout) -> str | None:
        """Return the new column of an index that is written out in numbers, or is in row 0; None for any other."""
        numbers = [part.value for part in index if isinstance(part, ast.Constant) and isinstance(part.value, int)]
        if len(numbers) == len(index):
            whole = numbers[-1] + (numbers[0] * self.array.shape[-1] if len(index) > 1 else 0)
            place = int(layout.place(np.array(whole)))
            return str(place % self.array.shape[-1] if len(index) > 1 else place)
        if len(index) > 1 and isinstance(index[0], ast.Constant) and index[0].value == 0:
            return source_text(self.program.source, index[-1])
        return None

    def _spread_out(self, index: ast.expr, pad: Pad) -> str:
        """Return an index with the gaps before it."""
        written = source_text(self.program.source, index)
        text = _term(written)
        gaps = f"{text} // {pad.row} * {pad.pad}" if pad.pad > 1 else _divided(text, pad.row)
        adds = isinstance(index, ast.BinOp) and isinstance(index.op, ast.Add | ast.Sub | ast.Mult)
        return f"{written if adds else text} + {_term(gaps)}"

    def _mixed(self, index: list[ast.expr], swizzle: Swizzle) -> str:
        """Return the column of an index, mixed with its row."""
        column, row = (_term(source_text(self.program.source, part)) for part in (index[-1], [*index][-2:][0]))
        if len(index) == 1:
            row = _divided(row, swizzle.row << swizzle.shift)
        elif swizzle.shift:
            row = f"{row} >> {swizzle.shift}"
        if self._rows(swizzle) > 1 << swizzle.bits + swizzle.shift:
            row = f"{_term(row)} & {(1 << swizzle.bits) - 1}"
        if swizzle.base:
            row = f"{_term(row)} << {swizzle.base}"
        return f"{column} ^ {_term(row)}"

    def _mixing(self, swizzle: Swizzle) -> int:
        """Return how many operations mix a column with its row."""
        masked = self._rows(swizzle) > 1 << swizzle.bits + swizzle.shift
        return 1 + masked + bool(swizzle.base) + bool(swizzle.shift or len(self.array.shape) == 1)

    def _rows(self, swizzle: Swizzle) -> int:
        """Return how many rows an index may name.

        Raises:
            NotRewrittenError: where the layout counts rows through all planes, and the planes do not fit it.
        """
        shape = self.array.shape
        if len(shape) == 1:
            block = 1 << swizzle.bits + swizzle.base
            if shape[0] % block:
                what = Said(
                    N_("{array} has {elements} elements, no multiple of {block}; swizzled it would need more"),
                    array=self.array.name,
                    elements=shape[0],
                    block=block,
                )
                raise NotRewrittenError(self.declared.line, what)
            return -(-shape[0] // swizzle.row)
        if len(shape) > 2 and shape[-2] % (1 << swizzle.bits + swizzle.shift):
            what = Said(N_("the swizzle goes on from plane to plane of {array}"), array=self.array.name)
            raise NotRewrittenError(self.declared.line, what)
        return shape[-2]


def _check_plain(index: ast.expr) -> None:
    """Refuse an index that may not be written twice, or does not count from the first element.

    Raises:
        NotRewrittenError: naming it.
    """
    for node in ast.walk(index):
        repeatable = isinstance(node, ast.Call) and dotted_name(node.func).rpartition(".")[2] in _REPEATABLE
        if isinstance(node, ast.Subscript | ast.Call | ast.NamedExpr) and not repeatable:
            what = Said(N_("the index {code} would be written twice; give it a name first"), code=ast.unparse(index))
            raise NotRewrittenError(index.lineno, what)
        if isinstance(node, ast.Slice | ast.Tuple):
            what = Said(N_("{code} is not the index of one element"), code=ast.unparse(index))
            raise NotRewrittenError(index.lineno, what)
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
        what = Said(N_("the index {code} counts from the end"), code=ast.unparse(index))
        raise NotRewrittenError(index.lineno, what)


def _term(text: str) -> str:
    """Return an expression in brackets unless it is one term, or stands in brackets, already."""
    node = ast.parse(text.strip(), mode="eval").body if "\n" not in text else None
    alone = node is not None and (isinstance(node, ast.Name | ast.Constant | ast.Attribute) or node.col_offset > 0)
    return text if alone else f"({text})"


def _divided(text: str, by: int) -> str:
    """Return a quotient; a shift, where it can be one, costs less."""
    return f"{text} // {by}" if by & by - 1 else f"{text} >> {by.bit_length() - 1}"
