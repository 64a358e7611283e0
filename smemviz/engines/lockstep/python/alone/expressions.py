"""What each kind of expression becomes in the text of a loop."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from smemviz.engines.lockstep.python.alone.accesses import Access
from smemviz.engines.lockstep.python.alone.arithmetic import ORDERS, closed, converted, operate, wrapped
from smemviz.engines.lockstep.python.alone.values import is_known, type_of
from smemviz.engines.lockstep.python.alone.writer import MAX, MIN, Array, Atom, NotWrittenError, Writer
from smemviz.engines.lockstep.python.functions import names
from smemviz.engines.lockstep.values.operators import NoRuleError, unary
from smemviz.engines.lockstep.values.typing import (
    BOOL,
    COMPLEX128,
    FLOAT32,
    FLOAT64,
    INT64,
    Dtype,
    NotAScalarError,
)
from smemviz.errors import SmemvizError
from smemviz.frontends.numba.functions import as_dtype

_REFUSALS = (SmemvizError, NotAScalarError, NoRuleError, ArithmeticError, LookupError, ValueError, TypeError)


def write(writer: Writer, node: ast.expr) -> Atom:
    """Write an expression; return the name of what it is worth."""
    rule = _RULES.get(type(node))
    before = len(writer.lines), len(writer.accesses), writer.indent
    try:
        atom = None if rule is None else rule(writer, node)
    except NotWrittenError:
        atom = None
    if atom is not None:
        return atom
    lines, accesses, writer.indent = before
    del writer.lines[lines:], writer.accesses[accesses:]
    return writer.interpreted(node)


# -- names and constants


def _constant(writer: Writer, node: ast.Constant) -> Atom | None:
    return _literal(writer, node.value)


def _literal(writer: Writer, value: object) -> Atom | None:
    dtype = type_of(value)
    if dtype is None or (type(value) is int and not MIN <= value <= MAX):
        return None
    if dtype == INT64 or (dtype == FLOAT64 and math.isfinite(float(value))):  # type: ignore[arg-type]
        return f"({value!r})" if str(value)[0] == "-" else repr(value), dtype
    return writer.constant(value), dtype


def _name(writer: Writer, node: ast.Name) -> Atom | None:
    if node.id in writer.frame.names.locals:
        return writer.number(writer.kept(node, node.id), node)
    return _bound(writer, node)


def _bound(writer: Writer, node: ast.expr) -> Atom | None:
    """Return what is worth the same throughout the loop, and evaluated before it."""
    key = ast.dump(node)
    if key not in writer.bound:
        try:
            dtype = type_of(writer.open(writer.frame.value(node)))
        except _REFUSALS:
            return None
        if dtype is None:
            return None
        writer.bound[key] = node, dtype, f"c{len(writer.bound)}"
    _, dtype, name = writer.bound[key]
    return name, dtype


def _attribute(writer: Writer, node: ast.Attribute) -> Atom | None:
    frame = writer.frame
    if frame.canonical(node) or frame.names.constant(node) is not None:
        return _bound(writer, node)
    if node.attr in ("size", "ndim") and _array(writer, node.value) is not None:
        return _bound(writer, node)
    if node.attr in ("real", "imag"):
        text, dtype = write(writer, node.value)
        if dtype == COMPLEX128:
            return writer.let(f"{text}.{node.attr}", FLOAT64)
        raise NotWrittenError
    return None


def _array(writer: Writer, node: ast.expr) -> tuple[str, Array] | None:
    """Return the variable and the array that an expression names."""
    if not isinstance(node, ast.Name) or node.id not in writer.frame.names.locals:
        return None
    name = writer.kept(node, node.id)
    array = writer.array(name)
    return None if array is None else (name, array)


# -- operators


def _binary(writer: Writer, node: ast.BinOp) -> Atom:
    return operate(writer, node, type(node.op), write(writer, node.left), write(writer, node.right))


def _unary(writer: Writer, node: ast.UnaryOp) -> Atom | None:
    if isinstance(node.operand, ast.Constant) and isinstance(node.operand.value, bool):
        return None
    text, dtype = write(writer, node.operand)
    if isinstance(node.op, ast.Not) and dtype is not None:
        return writer.let(f"not {text}", BOOL)
    if isinstance(node.op, ast.USub) and dtype == INT64:
        return (f"(-{text})", dtype) if text.isdigit() else wrapped(writer, f"-{text}")
    if isinstance(node.op, ast.USub) and dtype in (FLOAT64, FLOAT32):
        return writer.let(f"-{text}", dtype)
    if dtype is None:
        raise NotWrittenError
    try:
        result = type_of(unary(type(node.op), dtype.type(1)))
    except NoRuleError:
        raise NotWrittenError from None
    if result is None:
        raise NotWrittenError
    made = f"{writer.constant(unary)}({writer.constant(type(node.op))}, {writer.opened((text, dtype))})"
    return writer.let(closed(made, result), result)


def _compare(writer: Writer, node: ast.Compare) -> Atom | None:
    if not all(type(op) in ORDERS for op in node.ops):
        return None
    left, result = write(writer, node.left), ""
    for place, (op, operand) in enumerate(zip(node.ops, node.comparators, strict=True)):
        right = write(writer, operand)
        test = _pair(writer, node, op, left, right)
        if len(node.ops) == 1:
            return test
        result = result or writer.new()
        writer.put(f"{result} = {test[0]}")
        left = right
        if place + 1 < len(node.ops):
            writer.put(f"if {result}:")
            writer.indent += 1
    writer.indent -= len(node.ops) - 1
    return result, BOOL


def _pair(writer: Writer, node: ast.Compare, op: ast.cmpop, left: Atom, right: Atom) -> Atom:
    """Write a comparison of two numbers."""
    if left[1] is not None and right[1] is not None:
        return operate(writer, node, type(op), left, right)
    sides = f"{writer.opened(left)}, {writer.opened(right)}"
    return writer.let(f"R.compare({writer.constant(node)}, {writer.constant(op)}, {sides})", BOOL)


def _boolean(writer: Writer, node: ast.BoolOp) -> Atom | None:
    if node in writer.frame.versions.choices or node in writer.frame.versions.operands:
        return None
    result, word = writer.new(), "if" if isinstance(node.op, ast.And) else "if not"
    for place, operand in enumerate(node.values):
        text, dtype = write(writer, operand)
        if dtype != BOOL:
            raise NotWrittenError
        writer.put(f"{result} = {text}")
        if place + 1 < len(node.values):
            writer.put(f"{word} {result}:")
            writer.indent += 1
    writer.indent -= len(node.values) - 1
    return result, BOOL


def _conditional(writer: Writer, node: ast.IfExp) -> Atom | None:
    versions = writer.frame.versions
    if node in versions.choices or node in versions.decided:
        return None
    test, result, types = truth(writer, write(writer, node.test)), writer.new(), []
    for word, part in ((f"if {test}:", node.body), ("else:", node.orelse)):
        writer.put(word)
        writer.indent += 1
        text, dtype = write(writer, part)
        types.append(dtype)
        writer.put(f"{result} = {text}")
        writer.indent -= 1
    if types[0] != types[1] or types[0] is None:
        raise NotWrittenError
    return result, types[0]


def truth(writer: Writer, atom: Atom) -> str:
    """Return the text of a condition."""
    text, dtype = atom
    return text if dtype is not None else f"R.truth({text}, {writer.constant(writer.statement)})"


# -- elements


def access(writer: Writer, node: ast.Subscript) -> tuple[Access, Array, list[str], str] | None:
    """Write the indices of an element; return its access, its array, the indices, and the text of whether it is there.

    After that text its place has the name in it. None for what is no element of an array that is reached here.
    """
    found = _array(writer, node.value)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if found is None or found[1].way == "far" or len(parts) != found[1].axes or not parts:
        return None
    if any(isinstance(part, ast.Slice | ast.Starred) or _is_text(part) for part in parts):
        return None
    name, array = found
    writer.pure = False
    indices = []
    for part in parts:
        atom = write(writer, part)
        if atom[1] is None or atom[1].kind not in "iu":
            raise NotWrittenError
        indices.append(converted(writer, atom, INT64)[0])
    number = 2 * len(writer.accesses)
    made = Access(node, name, array.dtype, array.axes, number)
    writer.accesses.append((made, array.way))
    place = f"q{number}"
    inside = " and ".join(f"0 <= {index} < n{number}_{axis}" for axis, index in enumerate(indices))
    terms = " + ".join(f"{index} * s{number}_{axis}" for axis, index in enumerate(indices))
    writer.put(f"{place} = b{number} + {terms}")
    if array.way == "owned":
        inside += f" and ((w := o{number}[{place} + f{number}]) == me or not w)"
    return made, array, indices, inside


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, int)


def note(writer: Writer, made: Access, effect: str) -> None:
    """Write that an element is loaded or stored, where that is a request."""
    sites = writer.frame.tree.loads if effect == "load" else writer.frame.tree.stores
    if made.node in sites:
        writer.put(f"note(q{made.number} * @MANY + {made.number + (effect == 'store')})")


def _subscript(writer: Writer, node: ast.Subscript) -> Atom | None:
    if isinstance(node.value, ast.Attribute) and node.value.attr == "shape" and isinstance(node.slice, ast.Constant):
        return None if _array(writer, node.value.value) is None else _bound(writer, node)
    made = access(writer, node)
    if made is None:
        return None
    one, array, indices, inside = made
    result = writer.new()
    writer.put(f"if {inside}:")
    writer.indent += 1
    note(writer, one, "load")
    writer.put(f"{result} = m{one.number}[q{one.number}]")
    writer.indent -= 1
    writer.put("else:")
    far = f"R.load({writer.constant(node)}, V[{writer.constant(one.name)}], ({', '.join(indices)},))"
    writer.put(f"    {result} = {closed(far, array.dtype)}")
    return result, array.dtype


# -- calls


def _call(writer: Writer, node: ast.Call) -> Atom | None:
    frame = writer.frame
    if node in frame.tree.calls or node in frame.tree.declarations or node.keywords:
        return None
    if any(isinstance(one, ast.Starred) for one in node.args):
        return None
    name = frame.canonical(node.func)
    if name in ("cuda.grid", "cuda.gridsize") or (name == "builtins.len" and _array(writer, node.args[0]) is not None):
        return _bound(writer, node)
    rule = names.CALLS.get(name)
    if rule is not None and not (name.startswith("math.") or name in ("builtins.abs", "builtins.min", "builtins.max")):
        return None
    target = None if rule is not None else frame.names.constant(node.func)
    dtype = None if target is None or isinstance(target, str) else as_dtype(target)
    if rule is None and (dtype is None or len(node.args) != 1 or isinstance(node.args[0], ast.Constant)):
        return None
    given = [write(writer, one) for one in node.args]
    if any(one is None for _, one in given):
        raise NotWrittenError
    if rule is None:
        if dtype is None or not is_known(dtype) or dtype.kind == "c" or given[0][1].kind == "c":  # type: ignore[union-attr]
            raise NotWrittenError
        return converted(writer, given[0], dtype)
    try:
        result = type_of(writer.open(rule.run(frame, node, [one.type(1) for _, one in given if one is not None])))
    except _REFUSALS:
        raise NotWrittenError from None
    if result is None:
        raise NotWrittenError
    return _called(writer, name, node, given, result)


def _called(writer: Writer, name: str, node: ast.Call, given: list[Atom], result: Dtype) -> Atom:
    texts, types = [text for text, _ in given], {dtype for _, dtype in given}
    if types == {INT64} and len(given) == 2 and name in ("builtins.min", "builtins.max"):
        sign = "<" if name == "builtins.min" else ">"
        return writer.let(f"{texts[1]} if {texts[1]} {sign} {texts[0]} else {texts[0]}", INT64)
    if name == "math.sqrt" and types == {FLOAT64}:
        far = f"float({writer.constant(np.sqrt)}({texts[0]}))"
        return writer.let(f"{writer.constant(math.sqrt)}({texts[0]}) if {texts[0]} >= 0 else {far}", FLOAT64)
    arguments = ", ".join(writer.opened(atom) for atom in given)
    return writer.let(
        closed(f"R.call({writer.constant(node)}, {writer.constant(name)}, [{arguments}])", result), result
    )


_RULES: dict[type[ast.AST], Callable[[Writer, Any], Atom | None]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.IfExp: _conditional,
    ast.Subscript: _subscript,
    ast.Call: _call,
}
