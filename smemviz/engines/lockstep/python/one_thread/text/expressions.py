"""What each kind of expression becomes in the text of a loop."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from smemviz.engines.lockstep.python.one_thread.atoms import Atom, full, union
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import (
    ORDERS,
    converted,
    literal,
    operate,
    settled,
    simple,
    value,
)
from smemviz.engines.lockstep.python.one_thread.text.calls import call
from smemviz.engines.lockstep.python.one_thread.text.conditions import boolean, decided, holds
from smemviz.engines.lockstep.python.one_thread.text.elements import field, subscript
from smemviz.engines.lockstep.python.one_thread.text.functions import part_of
from smemviz.engines.lockstep.python.one_thread.text.inlined import items_compared, items_of
from smemviz.engines.lockstep.python.one_thread.text.named import array_of, bound
from smemviz.engines.lockstep.python.one_thread.text.rows import shape_of
from smemviz.engines.lockstep.python.one_thread.text.throughout import throughout
from smemviz.engines.lockstep.python.one_thread.text.tuples import picked
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.values.typing import BOOL, INT64, UINT64

# -- names and constants


def _constant(writer: Writer, node: ast.Constant) -> Atom | None:
    return literal(writer, node.value)


def _name(writer: Writer, node: ast.Name) -> Atom | None:
    if node.id in writer.frame.names.locals:
        return writer.number(writer.variable_name(node, node.id), node)
    return bound(writer, node)


def _attribute(writer: Writer, node: ast.Attribute) -> Atom | None:
    frame = writer.frame
    if frame.canonical(node) or frame.names.constant(node) is not None:
        return bound(writer, node)
    loaded = field(writer, node)
    if loaded is not None:
        return loaded
    if node.attr in ("size", "ndim") and (sizes := shape_of(writer, node.value)) is not None:
        return literal(writer, len(sizes)) if node.attr == "ndim" else _product(writer, node, sizes)
    if node.attr in ("size", "ndim", "itemsize", "nbytes") and array_of(writer, node.value) is not None:
        return bound(writer, node)
    if node.attr in ("real", "imag"):
        return part_of(writer, value(writer, node.value), node.attr)
    return None


def _product(writer: Writer, node: ast.expr, sizes: list[Atom]) -> Atom:
    product = sizes[0]
    for size in sizes[1:]:
        product = operate(writer, node, ast.Mult, product, size)
    return product


# -- operators


def _binary(writer: Writer, node: ast.BinOp) -> Atom:
    return operate(writer, node, type(node.op), writer.write(node.left), writer.write(node.right))


def _unary(writer: Writer, node: ast.UnaryOp) -> Atom | None:
    if isinstance(node.operand, ast.Constant) and isinstance(node.operand.value, bool):
        return None
    if isinstance(node.op, ast.Not):
        return Atom(f"(not {holds(writer, node.operand)})", BOOL)
    atom = writer.write(node.operand)
    text, dtype = atom.text, atom.dtype
    if isinstance(node.op, ast.USub) and dtype == INT64:
        low, high = atom.within
        return Atom(f"(-{text})", dtype, (-high, -low))
    atom = settled(writer, atom)
    text = atom.text
    if isinstance(node.op, ast.USub) and dtype is not None and dtype.kind in "fc":
        return Atom(f"(-{text})", dtype)
    if isinstance(node.op, ast.UAdd) and dtype is not None and dtype.kind in "fc":
        return atom
    if dtype == BOOL:
        if isinstance(node.op, ast.Invert):
            return Atom(f"(not {text})", BOOL)
        atom, dtype = converted(writer, atom, INT64), INT64
        text = atom.text
    if dtype is None or dtype.kind not in "iu":
        raise NotWrittenError
    (least, most), (low, high) = full(dtype), atom.within
    if isinstance(node.op, ast.USub):  # in its own width first
        atom = settled(writer, Atom(f"(-{text})", dtype, (-high, -low)))
    elif isinstance(node.op, ast.Invert):
        atom = Atom(f"({least + most} - {text})", dtype, (least + most - high, least + most - low))
    return converted(writer, atom, UINT64 if dtype.kind == "u" else INT64)


def _compare(writer: Writer, node: ast.Compare) -> Atom | None:
    end = decided(writer, node)
    if end is not None:
        return literal(writer, end)
    made = throughout(writer, node) or items_compared(writer, node)
    if made is not None:
        return made
    if not all(type(op) in ORDERS for op in node.ops):
        return None
    left, tests = value(writer, node.left), []
    for op, operand in zip(node.ops, node.comparators, strict=True):
        before = len(writer.lines)
        right = value(writer, operand)
        if operand is not node.comparators[-1]:
            right = simple(writer, right)
        tests.append(_pair(writer, node, op, left, right))
        if len(tests) > 1 and len(writer.lines) > before:
            return None  # an operand is evaluated only where the chain before it holds
        left = right
    return tests[0] if len(tests) == 1 else Atom(f"({' and '.join(test.text for test in tests)})", BOOL)


def _pair(writer: Writer, node: ast.Compare, op: ast.cmpop, left: Atom, right: Atom) -> Atom:
    """Write a comparison of two numbers."""
    if left.dtype is not None and right.dtype is not None:
        return settled(writer, operate(writer, node, type(op), left, right))
    sides = f"{writer.opened(left)}, {writer.opened(right)}"
    return writer.let(f"{writer.runner}.compare({writer.constant(node)}, {writer.constant(op)}, {sides})", BOOL)


def _conditional(writer: Writer, node: ast.IfExp) -> Atom | None:
    versions = writer.frame.versions
    if node in versions.choices:
        return None
    if node in versions.decided:
        holds(writer, node.test)  # for what it loads
        return writer.write(node.body if versions.decided[node] else node.orelse)
    test = holds(writer, node.test)
    branches = [writer.aside(lambda part=part: value(writer, part)) for part in (node.body, node.orelse)]  # type: ignore[misc]
    then, otherwise = (branch.atom for branch in branches)
    if then.dtype != otherwise.dtype or then.dtype is None:
        raise NotWrittenError
    span = union([then.within, otherwise.within]) if then.dtype.kind in "iu" else None
    if all(branch.is_short for branch in branches):
        return Atom(f"({then.text} if {test} else {otherwise.text})", then.dtype, span)
    result, word = writer.new(), f"if {test}:"
    for branch in branches:
        writer.fork(word)
        atom, word = writer.add(branch), "else:"
        writer.indent += 1
        writer.fork(f"{result} = {atom.text}")
        writer.indent -= 1
    return Atom(result, then.dtype, span)


def _subscript(writer: Writer, node: ast.Subscript) -> Atom | None:
    items = items_of(writer, node.value)
    if items is None:
        return subscript(writer, node)
    item = picked(writer, node, items)
    return item if isinstance(item, Atom) else None


RULES: dict[type[ast.AST], Callable[[Writer, Any], Atom | None]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: boolean,
    ast.IfExp: _conditional,
    ast.Subscript: _subscript,
    ast.Call: call,
    ast.expr: throughout,  # any other
}
