"""Conditions in the text of a loop: whatever their parts are worth, all that is asked is whether they hold."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from smemviz.engines.lockstep.python.one_thread.atoms import NOTHING, Atom, union
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import settled, value
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.values.typing import BOOL, Dtype


def holds(writer: Writer, node: ast.expr) -> str:
    """Write an expression as a condition; return its text."""
    is_made_of_some = isinstance(node, ast.BoolOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))
    return truth(writer, writer.write(node, _condition if is_made_of_some else None))


def truth(writer: Writer, atom: Atom) -> str:
    """Return the text of a condition."""
    text = settled(writer, atom).text
    return text if atom.dtype is not None else f"{writer.runner}.truth({text}, {writer.constant(writer.statement)})"


def _condition(writer: Writer, node: ast.expr) -> Atom:
    match node:
        case ast.BoolOp():
            first, *others = _operands(writer, node)
            return _joined(writer, node, _condition(writer, first), others, _condition)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return Atom(f"(not {_condition(writer, operand).text})", BOOL)
    atom = value(writer, node)
    if atom.dtype is None:
        raise NotWrittenError
    return atom if atom.dtype == BOOL else Atom(f"({atom.text} != 0)", BOOL)


def _operands(writer: Writer, node: ast.BoolOp) -> Sequence[ast.expr]:
    """Return those operands of ``and`` or ``or`` that Numba keeps."""
    return writer.frame.versions.operands.get(node, node.values)


def boolean(writer: Writer, node: ast.BoolOp) -> Atom | None:
    """Write ``and`` or ``or``, which is worth one of its operands."""
    if node in writer.frame.versions.choices:
        return None
    first, *others = _operands(writer, node)
    atom = value(writer, first)
    if atom.dtype is None:
        raise NotWrittenError
    if atom.dtype == BOOL:
        return _joined(writer, node, atom, others, _truth_value)
    return _one_of(writer, node, atom, atom.dtype, others)


def _truth_value(writer: Writer, node: ast.expr) -> Atom:
    atom = writer.write(node)
    if atom.dtype != BOOL:
        raise NotWrittenError
    return atom


def _one_of(writer: Writer, node: ast.BoolOp, first: Atom, dtype: Dtype, others: Sequence[ast.expr]) -> Atom:
    """Write which number of one type ``and`` or ``or`` is worth."""
    result, word, indent = writer.new(), "" if isinstance(node.op, ast.And) else "not ", writer.indent
    writer.fork(f"{result} = {first.text}")
    spans = [first.within] if dtype.kind in "iu" else []
    for operand in others:
        writer.fork(f"if {word}{result}:")
        writer.indent += 1
        atom = value(writer, operand)
        if atom.dtype != dtype:
            raise NotWrittenError
        writer.fork(f"{result} = {atom.text}")
        spans += [atom.within] if spans else []
    writer.indent = indent
    return Atom(result, dtype, union(spans) if spans else None)


def _joined(
    writer: Writer, node: ast.BoolOp, made: Atom, others: Sequence[ast.expr], write: Callable[[Writer, ast.expr], Atom]
) -> Atom:
    """Write conditions, each evaluated where those before it do not decide."""
    word, question = ("and", "if {}:") if isinstance(node.op, ast.And) else ("or", "if not {}:")
    result, indent = "", writer.indent
    for operand in others:
        part = writer.aside(lambda operand=operand: write(writer, operand))  # type: ignore[misc]
        if part.is_short:
            made = Atom(f"({made.text} {word} {part.atom.text})", BOOL)
            continue
        # What has lines of its own is evaluated only where that is not decided.
        result = result or writer.new()
        writer.fork(f"{result} = {made.text}")
        writer.put(question.format(result))
        made = writer.add(part)
        writer.indent += 1
    if result:
        writer.fork(f"{result} = {made.text}")
    writer.indent = indent
    return Atom(result, BOOL) if result else made


def conditions(writer: Writer, node: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """Write conditions that all have to hold, each evaluated where those before it do; give each with its text."""
    operands: Sequence[ast.expr] = [node]
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        mark = writer.mark()
        try:
            for operand in _operands(writer, node):
                _condition(writer, operand)
            operands = _operands(writer, node)
        except NotWrittenError:
            pass
        writer.back(mark)
    for operand in operands:
        yield operand, holds(writer, operand)


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


# -- whether there is something


def decided(writer: Writer, node: ast.expr) -> bool | None:
    """Return how a condition ends that asks whether names stand for ``None``, and nothing before that; else None."""
    match node:
        case ast.BoolOp(op=op, values=values):
            goes_on = isinstance(op, ast.And)
            ends = (decided(writer, part) for part in values)
            return next((end for end in ends if end is not goes_on), goes_on)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            end = decided(writer, operand)
            return None if end is None else not end
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(None)]):
            nothing = is_nothing(writer, left)
            return None if nothing is None else nothing == isinstance(op, ast.Is)
    return None


def is_nothing(writer: Writer, node: ast.expr) -> bool | None:
    """Tell whether an expression stands for ``None``, None where that is not known."""
    if isinstance(node, ast.Constant):
        return node.value is None
    if not isinstance(node, ast.Name) or node.id not in writer.frame.names.locals:
        return None
    kind = writer.kinds.get(writer.variable_name(node, node.id))
    return None if kind is None else kind is NOTHING
