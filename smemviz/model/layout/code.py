"""Layouts as Numba code: the declaration, the index, and what the index costs."""

import ast
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from smemviz.errors import InputError
from smemviz.model.layout.layouts import Layout
from smemviz.model.layout.swizzles import Cute, Free, Xor

NAMES = {1: ("i",), 2: ("row", "column"), 3: ("plane", "row", "column"), 4: ("cube", "plane", "row", "column")}
_TERMS = ast.Name | ast.Constant | ast.Call | ast.Attribute | ast.Subscript


class Code(NamedTuple):
    """Lines of a kernel: the declaration, a store, a load."""

    declaration: str
    store: str
    load: str


def code(layout: Layout, name: str = "tile", indices: Sequence[str] | None = None) -> Code:
    """Write an array in a layout, and an access to it, as they stand in a kernel."""
    index = index_code(layout, indices or NAMES[len(layout.shape)])
    declaration = f"{name} = cuda.shared.array({shape_code(layout)}, {layout.dtype})"
    return Code(declaration, f"{name}[{index}] = value", f"value = {name}[{index}]")


def declared_shape(layout: Layout) -> tuple[int, ...]:
    """Return the shape to declare; CuTe's swizzles need one dimension where they mix rows."""
    if len(layout.shape) == 1 or (isinstance(layout.swizzle, Cute) and not _in_rows(layout, layout.swizzle)):
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
        indices: the text of each index of the array as it is meant; an expression that may stand there twice.

    Raises:
        InputError: when there are not as many as the array has dimensions.
    """
    names = NAMES[len(layout.shape)]
    if len(indices) != len(names):
        raise InputError(f"{layout.text} has {len(names)} dimensions, not {len(indices)}")
    texts = dict(zip(names, indices, strict=True))
    return ", ".join(texts[part] if part in texts else with_names(part, texts) for part in index_parts(layout))


def index_parts(layout: Layout, sizes: Sequence[str] | None = None) -> tuple[str, ...]:
    """Write the index to declare, a text for each dimension, in ``NAMES`` of the index that is meant.

    ``with_names`` makes them readable. ``sizes`` are the texts of the sizes of the plain array, numbers when left out.
    """
    sizes = sizes or list(map(str, (*layout.shape[:-1], layout.stride)))
    *before, column = NAMES[len(layout.shape)]
    if not before:
        return (_flat_index(layout, column),)
    repeats = isinstance(layout.swizzle, Xor) and _rows_that_count(layout, layout.swizzle) < layout.rows
    row = before[-1] if repeats else _row(sizes, before)
    if isinstance(layout.swizzle, Cute):
        if _in_rows(layout, layout.swizzle):
            return (*before, _cute(layout, layout.swizzle, column))
        return (_cute(layout, layout.swizzle, f"({row}) * {sizes[-1]} + {column}"),)
    return (*before, _column(layout, row, column))


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Write an expression with others, as they are written, in place of its names."""
    trees = {name: ast.Name(value if _is_term(value) else f"({value})") for name, value in names.items()}
    return _written(_Names(trees).visit(ast.parse(text, mode="eval").body))


def operations(layout: Layout) -> int:
    """Return how many instructions the index takes more than the plain array's.

    As counted in what ptxas 13.0 makes for 9.0 of unsigned indices (for signed ones Numba adds the check that lets a
    negative index count from the end): LOP3 takes three operands, so ``x ^ y & mask`` is one instruction, and bits
    that are moved to another place take one more. A formula counts its operators, which is a guess.
    """
    dimensions = len(layout.shape)
    match layout.swizzle:
        case None:
            return _pad_operations(layout)
        case Xor(_, base, shift) if dimensions == 1:
            bits = layout.columns.bit_length() - 1
            return _pad_operations(layout) + (3 if layout.columns != 1 << bits else 1 + (base != shift + bits))
        case Xor(_, base, shift):
            repeats = _rows_that_count(layout, layout.swizzle) < layout.rows
            return 1 + (base != shift) + (dimensions > 2) * (1 if repeats else dimensions - 1)
        case Cute():
            return _pad_operations(layout) + (1 if _in_rows(layout, layout.swizzle) else dimensions) + 1
        case Free(column):
            nodes = ast.walk(ast.parse(column.text, mode="eval"))
            return sum(isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.IfExp) for node in nodes)


def _pad_operations(layout: Layout) -> int:
    """Return what a pad costs: where the array has rows, they only get longer."""
    if len(layout.shape) > 1 or not layout.pad:
        return 0
    multiply = 1 if layout.pad == 1 else 2 + (layout.pad % 2 == 0)
    return multiply + (layout.columns & layout.columns - 1 != 0)


def _flat_index(layout: Layout, i: str) -> str:
    row, column = _split(i, layout.columns)
    more = layout.stride - layout.columns
    match layout.swizzle:
        case Cute():
            return _cute(layout, layout.swizzle, f"{i} + ({row}) * {more}" if more else i)
        case Xor() if not more and layout.columns % (1 << layout.swizzle.bits + layout.swizzle.base) == 0:
            power = layout.columns & layout.columns - 1 == 0  # then the row is some bits up in the number itself
            bits = layout.columns.bit_length() - 1 if power else 0
            return f"{i} ^ {_row_bits(layout, layout.swizzle, i if power else row, bits)}"
        case None:
            return f"{i} + ({row}) * {more}" if more > 1 else f"{i} + ({row})" if more else i
    return f"({row}) * {layout.stride} + ({_column(layout, row, column)})"


def _split(i: str, columns: int) -> tuple[str, str]:
    """Write row and column of an element; by shifts, as dividing signed numbers takes many instructions."""
    if columns & columns - 1:
        return f"{i} // {columns}", f"{i} % {columns}"
    return f"{i} >> {columns.bit_length() - 1}", f"{i} & {columns - 1}"


def _row(sizes: Sequence[str], before: Sequence[str]) -> str:
    """Write the number of the row, counted through all planes."""
    row = before[0]
    for size, index in zip(sizes[1:-1], before[1:], strict=True):
        row = f"({row}) * {size} + {index}"
    return row


def _column(layout: Layout, row: str, column: str) -> str:
    match layout.swizzle:
        case Xor():
            return f"({column}) ^ {_row_bits(layout, layout.swizzle, row)}"
        case Free(new):
            return with_names(new.text, {"row": row, "column": column})
    return column


def _rows_that_count(layout: Layout, swizzle: Xor) -> int:
    """Return the rows of a plane where a swizzle does the same in every plane, else all there are."""
    if len(layout.shape) > 2 and layout.shape[-2] % (1 << swizzle.bits + swizzle.shift) == 0:
        return layout.shape[-2]
    return layout.rows


def _row_bits(layout: Layout, swizzle: Xor, row: str, shift: int = 0) -> str:
    """Write what is XORed into the column; the row is that many bits up in its text."""
    size, apart = 1 << swizzle.bits, 1 << swizzle.shift
    shift += swizzle.shift
    text = f"(({row}) >> {shift})" if shift else f"({row})"
    if _rows_that_count(layout, swizzle) > size * apart:
        text = f"({text} & {size - 1})"
    return f"({text} << {swizzle.base})" if swizzle.base else text


def _cute(layout: Layout, swizzle: Cute, place: str) -> str:
    take, put = swizzle.base + max(swizzle.shift, 0), swizzle.base - min(swizzle.shift, 0)
    bits = f"(({place}) >> {take})"
    places = layout.stride if _in_rows(layout, swizzle) else layout.elements
    if places - 1 >> take + swizzle.bits:
        bits = f"({bits} & {(1 << swizzle.bits) - 1})"
    return f"({place}) ^ ({bits} << {put})" if put else f"({place}) ^ {bits}"


def _in_rows(layout: Layout, swizzle: Cute) -> bool:
    """Whether a swizzle of all places is one of the columns, since rows are whole groups of what it mixes."""
    return len(layout.shape) > 1 and layout.stride % (1 << swizzle.base + swizzle.bits + abs(swizzle.shift)) == 0


class _Names(ast.NodeTransformer):
    """Puts expressions in place of names."""

    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.names.get(node.id, node)


def _is_term(text: str) -> bool:
    """Whether an expression is one term, or stands in brackets."""
    node = ast.parse(f"({text.strip()}\n)", mode="eval").body
    return isinstance(node, _TERMS) or node.col_offset > 1


def _written(node: ast.expr) -> str:
    """Write an expression with brackets wherever few know that they are not needed."""
    if not isinstance(node, ast.BinOp):
        return ast.unparse(node)
    sign = ast.unparse(ast.BinOp(ast.Name("a"), node.op, ast.Name("b")))[1:-1]
    sides = []
    for side in (node.left, node.right):
        product = isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult) and isinstance(node.op, ast.Add)
        sides.append(_written(side) if product or isinstance(side, _TERMS) else f"({_written(side)})")
    return sign.join(sides)
