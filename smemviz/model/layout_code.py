"""Layouts as Numba code: the declaration, the index, and what the index costs."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from smemviz.model.layouts import Layout
from smemviz.model.swizzles import Cute, Free, Xor

_INDICES = {1: ("i",), 2: ("row", "column"), 3: ("plane", "row", "column"), 4: ("cube", "plane", "row", "column")}


class Code(NamedTuple):
    """Lines of a kernel: the declaration, a store, a load."""

    declaration: str
    store: str
    load: str


def code(layout: Layout, name: str = "tile", indices: Sequence[str] | None = None) -> Code:
    """Write an array in a layout, and an access to it, as they stand in a kernel."""
    index = index_code(layout, indices or _INDICES[len(layout.shape)])
    declaration = f"{name} = cuda.shared.array({shape_code(layout)}, {layout.dtype})"
    return Code(declaration, f"{name}[{index}] = value", f"value = {name}[{index}]")


def declared_shape(layout: Layout) -> tuple[int, ...]:
    """Return the shape to declare."""
    if len(layout.shape) == 1 or _flat(layout):
        return (layout.elements,)
    return (*layout.shape[:-1], layout.stride)


def shape_code(layout: Layout) -> str:
    """Write the shape to declare: ``(32, 33)``, or ``1056`` for one dimension."""
    shape = declared_shape(layout)
    return str(shape[0]) if len(shape) == 1 else f"({', '.join(map(str, shape))})"


def index_code(layout: Layout, indices: Sequence[str]) -> str:
    """Write the index of an element: ``row, column ^ row``.

    Args:
        layout: where elements lie.
        indices: the text of each index in the array as it is meant, one per dimension; each has to be an expression
            that can be written twice.
    """
    *before, column = indices
    if len(layout.shape) == 1:
        return _flat_index(layout, column)
    row = _row(layout, before)
    if _flat(layout):
        return _swizzled_place(layout, f"{_times(row, layout.stride)} + {_bracketed(column, '+')}")
    return ", ".join((*before, _swizzled_column(layout, row, column)))


def operations(layout: Layout) -> int:
    """Return how many instructions the index takes more than the plain array's, as SASS has them.

    One LOP3 does ``x ^ y & mask``; a shift by a constant takes one more, moving there and back being one.
    """
    flat = len(layout.shape) == 1
    split = 2 * flat * bool(layout.pad)  # a shift, then a multiply and add
    match layout.swizzle:
        case None:
            return split
        case Xor(_, base, shift):
            distance = base - shift - (layout.columns.bit_length() - 1 if flat else 0)
            return split + 1 + (distance != 0)
        case Cute():
            return split + 2
        case Free(column):
            nodes = ast.walk(ast.parse(column.text, mode="eval"))
            return split + sum(isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.IfExp) for node in nodes)


def _flat(layout: Layout) -> bool:
    """Whether an array of several dimensions has to be declared with one."""
    return isinstance(layout.swizzle, Cute) and len(layout.shape) > 1


def _flat_index(layout: Layout, i: str) -> str:
    """Write the index of an array of one dimension."""
    row, column = _split(_bracketed(i, "*"), layout.columns)
    more = layout.stride - layout.columns
    match layout.swizzle:
        case None if not more:
            return i
        case None:
            return f"{_bracketed(i, '+')} + {_times(row, more)}"
        case Xor() if not more and layout.columns % (1 << layout.swizzle.bits + layout.swizzle.base) == 0:
            return f"{_bracketed(i, '^')} ^ {_bracketed(_bits_of(layout, layout.swizzle, row), '^')}"
        case Cute():
            place = f"{_bracketed(i, '+')} + {_times(row, more)}" if more else i
            return _swizzled_place(layout, place)
    return f"{_times(row, layout.stride)} + {_bracketed(_swizzled_column(layout, row, column), '+')}"


def _split(i: str, columns: int) -> tuple[str, str]:
    """Write row and column of an element; shifts, as dividing signed numbers takes many instructions."""
    if columns & columns - 1:
        return f"{i} // {columns}", f"{i} % {columns}"
    return f"{i} >> {columns.bit_length() - 1}", f"{i} & {columns - 1}"


def _row(layout: Layout, before: Sequence[str]) -> str:
    """Write the number of the row, counted through all planes."""
    row = before[0]
    for size, index in zip(layout.shape[1:-1], before[1:], strict=True):
        row = f"{_times(row, size)} + {_bracketed(index, '+')}"
    return row


def _swizzled_column(layout: Layout, row: str, column: str) -> str:
    match layout.swizzle:
        case Xor():
            return f"{_bracketed(column, '^')} ^ {_bracketed(_bits_of(layout, layout.swizzle, row), '^')}"
        case Free(new):
            return _substituted(new.text, {"row": row, "column": column})
    return column


def _bits_of(layout: Layout, swizzle: Xor, row: str) -> str:
    """Write what is XORed into the column."""
    size, apart = 1 << swizzle.bits, 1 << swizzle.shift
    text = f"{_bracketed(row, '>>')} >> {swizzle.shift}" if swizzle.shift else row
    if layout.rows > size * apart:
        text = f"{_bracketed(text, '&')} & {size - 1}"
    return f"{_bracketed(text, '<<')} << {swizzle.base}" if swizzle.base else text


def _swizzled_place(layout: Layout, place: str) -> str:
    """Write CuTe's swizzle of a place."""
    swizzle = layout.swizzle
    if not isinstance(swizzle, Cute):
        return place
    take, put = swizzle.base + max(swizzle.shift, 0), swizzle.base - min(swizzle.shift, 0)
    bits = f"{_bracketed(place, '>>')} >> {take}" if take else place
    bits = f"{_bracketed(bits, '&')} & {(1 << swizzle.bits) - 1}"
    bits = f"({bits}) << {put}" if put else bits
    return f"{_bracketed(place, '^')} ^ ({bits})"


def _times(text: str, factor: int) -> str:
    return text if factor == 1 else f"{_bracketed(text, '*')} * {factor}"


def _bracketed(text: str, beside: str) -> str:
    """Put brackets around an expression unless it is an atom, so that an operator beside it takes the whole."""
    node = ast.parse(text, mode="eval").body
    if isinstance(node, ast.Name | ast.Constant | ast.Call | ast.Attribute | ast.Subscript):
        return text
    if isinstance(node, ast.BinOp) and beside == "+" and type(node.op) in (ast.Mult, ast.FloorDiv, ast.Mod):
        return text
    return f"({text})"


class _Names(ast.NodeTransformer):
    def __init__(self, names: dict[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.names.get(node.id, node)


def _substituted(text: str, names: dict[str, str]) -> str:
    """Write a formula with other expressions in place of its names."""
    trees = {name: ast.parse(value, mode="eval").body for name, value in names.items()}
    return ast.unparse(_Names(trees).visit(ast.parse(text, mode="eval").body))
