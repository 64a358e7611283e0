"""What each kind of expression becomes in the text of a loop."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from typing import Any

from smemviz.engines.lockstep.python.one_thread.atoms import Atom, full, union
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import (
    ORDERS,
    converted,
    operate,
    settled,
    simple,
    value,
)
from smemviz.engines.lockstep.python.one_thread.text.calls import call
from smemviz.engines.lockstep.python.one_thread.text.elements import array_of, bound, field, shape_of, subscript
from smemviz.engines.lockstep.python.one_thread.text.functions import part_of
from smemviz.engines.lockstep.python.one_thread.text.inlined import tuple_of
from smemviz.engines.lockstep.python.one_thread.text.tuples import item
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.python.one_thread.values import type_of
from smemviz.engines.lockstep.values.typing import BOOL, FLOAT64, INT64, UINT64

# -- names and constants


def _constant(writer: Writer, node: ast.Constant) -> Atom | None:
    return literal(writer, node.value)


def literal(writer: Writer, value: object) -> Atom | None:
    """Return a number that is the same throughout."""
    dtype = type_of(value)
    if dtype is None:
        return None
    if dtype == INT64:
        number = int(value)  # type: ignore[call-overload]
        low, high = full(INT64)
        text = f"({number})" if number < 0 else repr(number)
        return Atom(text, dtype, (number, number)) if low <= number <= high else None
    if dtype == FLOAT64 and math.isfinite(float(value)):  # type: ignore[arg-type]
        return Atom(f"({value!r})" if str(value)[0] == "-" else repr(value), dtype)
    return Atom(writer.constant(value), dtype)


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
    if node.attr in ("size", "ndim") and array_of(writer, node.value) is not None:
        sizes = shape_of(writer, node.value)
        if sizes is None:
            return bound(writer, node)
        return literal(writer, len(sizes)) if node.attr == "ndim" else _product(writer, node, sizes)
    if node.attr in ("real", "imag"):
        return part_of(value(writer, node.value), node.attr)
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
    atom = writer.write(node.operand)
    text, dtype = atom.text, atom.dtype
    if isinstance(node.op, ast.USub) and dtype == INT64:
        low, high = atom.within
        return Atom(f"(-{text})", dtype, (-high, -low))
    atom = settled(writer, atom)
    text = atom.text
    if isinstance(node.op, ast.Not) and dtype is not None:
        return Atom(f"(not {text})", BOOL)
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


def _boolean(writer: Writer, node: ast.BoolOp) -> Atom | None:
    if _is_of_kinds(writer, node):
        return None
    word, test = ("and", "if {}:") if isinstance(node.op, ast.And) else ("or", "if not {}:")
    made, result, indent = _condition(writer, node.values[0]), "", writer.indent
    for operand in node.values[1:]:
        part = writer.aside(lambda operand=operand: _condition(writer, operand))  # type: ignore[misc]
        if part.is_short:
            made = Atom(f"({made.text} {word} {part.atom.text})", BOOL)
            continue
        # What has lines of its own is evaluated only where that is not decided.
        result = result or writer.new()
        writer.fork(f"{result} = {made.text}")
        writer.put(test.format(result))
        made = writer.add(part)
        writer.indent += 1
    if result:
        writer.fork(f"{result} = {made.text}")
    writer.indent = indent
    return Atom(result, BOOL) if result else made


def conditions(writer: Writer, node: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """Write conditions that all have to hold, each evaluated where those before it do; give each with its text."""
    operands = [node]
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) and not _is_of_kinds(writer, node):
        mark = writer.mark()
        try:
            for operand in node.values:
                _condition(writer, operand)
            operands = node.values
        except NotWrittenError:
            pass
        writer.back(mark)
    for operand in operands:
        yield operand, truth(writer, writer.write(operand))


def least(writer: Writer, node: ast.expr) -> dict[str, int]:
    """Return what an integer variable is at least where a condition holds that says so."""
    if not isinstance(node, ast.Compare) or len(node.ops) > 1 or not isinstance(node.left, ast.Name):
        return {}
    end, op = node.comparators[0], node.ops[0]
    if not isinstance(end, ast.Constant) or type(end.value) is not int or not isinstance(op, ast.Gt | ast.GtE):
        return {}
    if node.left.id not in writer.frame.names.locals:
        return {}
    return {writer.variable_name(node.left, node.left.id): end.value + isinstance(op, ast.Gt)}


def _is_of_kinds(writer: Writer, node: ast.BoolOp) -> bool:
    return node in writer.frame.versions.choices or node in writer.frame.versions.operands


def _condition(writer: Writer, node: ast.expr) -> Atom:
    atom = writer.write(node)
    if atom.dtype != BOOL:
        raise NotWrittenError
    return atom


def _conditional(writer: Writer, node: ast.IfExp) -> Atom | None:
    versions = writer.frame.versions
    if node in versions.choices or node in versions.decided:
        return None
    test = truth(writer, writer.write(node.test))
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
    atoms = tuple_of(writer, node.value)
    return subscript(writer, node) if atoms is None else item(writer, node, atoms)


def truth(writer: Writer, atom: Atom) -> str:
    """Return the text of a condition."""
    text = settled(writer, atom).text
    return text if atom.dtype is not None else f"{writer.runner}.truth({text}, {writer.constant(writer.statement)})"


RULES: dict[type[ast.AST], Callable[[Writer, Any], Atom | None]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.IfExp: _conditional,
    ast.Subscript: _subscript,
    ast.Call: call,
}
