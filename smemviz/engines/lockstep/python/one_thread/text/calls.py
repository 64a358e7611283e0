"""Calls in the text of a loop: conversions and functions of numbers."""

from __future__ import annotations

import ast

from smemviz.engines.lockstep.python.functions import names
from smemviz.engines.lockstep.python.functions.ufuncs import OPERATORS
from smemviz.engines.lockstep.python.one_thread.atoms import Atom
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import converted, literal, operate, settled, value
from smemviz.engines.lockstep.python.one_thread.text.atomics import atomic
from smemviz.engines.lockstep.python.one_thread.text.functions import called, of_numbers
from smemviz.engines.lockstep.python.one_thread.text.inlined import inlined, items_at_hand, tuple_of
from smemviz.engines.lockstep.python.one_thread.text.named import REFUSALS, array_of, bound
from smemviz.engines.lockstep.python.one_thread.text.rows import shape_of
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.python.one_thread.values import is_known, type_of
from smemviz.engines.lockstep.values.typing import INT64
from smemviz.frontends.numba.functions import as_dtype

_OF_TUPLES = "builtins.max", "builtins.min", "builtins.sum"


def call(writer: Writer, node: ast.Call) -> Atom | None:
    """Write a call of a function of numbers, None for any other."""
    frame = writer.frame
    if node in frame.tree.calls:
        atoms = inlined(writer, node)
        if len(atoms) != 1:
            raise NotWrittenError
        return atoms[0]
    if node in frame.tree.declarations or node.keywords:
        return None
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return None
    name = frame.canonical(node.func)
    if name.startswith("cuda.atomic."):
        return atomic(writer, node, name)
    is_length = name == "builtins.len" and len(node.args) == 1
    if is_length and (held := items_at_hand(writer, node.args[0])) is not None:
        return literal(writer, len(held))
    if is_length and (sizes := shape_of(writer, node.args[0])):
        return sizes[0]
    if (is_length and array_of(writer, node.args[0]) is not None) or name in ("cuda.grid", "cuda.gridsize"):
        return bound(writer, node)
    if name == "builtins.isinstance":
        return _is_instance(writer, node)
    module, _, of_it = name.partition(".")
    op = OPERATORS.get(of_it) if module == "operator" or name == "builtins.pow" else None
    if op is not None and len(node.args) == 2 and not issubclass(op, ast.Is | ast.IsNot):
        return settled(writer, operate(writer, node, op, *(value(writer, argument) for argument in node.args)))
    rule = names.CALLS.get(name)
    if rule is None:
        return _method(writer, node) or _conversion(writer, node)
    if rule.of_values is None and name not in _OF_TUPLES:
        return None
    items = tuple_of(writer, node.args[0]) if name in _OF_TUPLES and len(node.args) == 1 else None
    if name == "builtins.sum":
        return None if items is None else _sum(writer, node, items)
    given = [value(writer, argument) for argument in node.args] if items is None else items
    if any(atom.dtype is None for atom in given):
        raise NotWrittenError
    try:
        result = type_of(writer.open(rule.run(frame, node, [atom.dtype.type(1) for atom in given])))  # type: ignore[union-attr]
    except REFUSALS:
        raise NotWrittenError from None
    if result is None:
        raise NotWrittenError
    made = of_numbers(writer, name, given, result)
    if made is not None:
        return made
    if rule.of_values is None:
        raise NotWrittenError
    return called(writer, rule.of_values, given, result)


def _sum(writer: Writer, node: ast.Call, items: list[Atom]) -> Atom:
    made = Atom("0", INT64, (0, 0))
    for item in items:
        made = operate(writer, node, ast.Add, made, item)
    return made


def _is_instance(writer: Writer, node: ast.Call) -> Atom | None:
    """Write whether a variable is of one of some types, which is known from its own."""
    name, frame = node.args[0], writer.frame
    dtype = value(writer, name).dtype if isinstance(name, ast.Name) else None
    if dtype is None or not isinstance(name, ast.Name):
        return None
    held, version = frame.variables, frame.versions.variables.get(name)
    frame.variables = {**held, version[0] if version else name.id: writer.open(dtype.type(1))}
    try:
        return literal(writer, frame.value(node))
    except REFUSALS:
        return None
    finally:
        frame.variables = held


def _method(writer: Writer, node: ast.Call) -> Atom | None:
    """Write a method of a number, or of the type of an array."""
    if not isinstance(node.func, ast.Attribute):
        return None
    of, name = node.func.value, node.func.attr
    if name == "type" and len(node.args) == 1 and isinstance(of, ast.Attribute) and of.attr == "dtype":
        array = array_of(writer, of.value)
        return None if array is None else converted(writer, value(writer, node.args[0]), array[1].dtype)
    if name not in ("conjugate", "item") or node.args:
        return None
    number = value(writer, of)
    if number.dtype is None or (number.dtype.kind != "c" and name == "conjugate"):
        raise NotWrittenError
    return number if name == "item" else Atom(f"{number.text}.conjugate()", number.dtype)


def _conversion(writer: Writer, node: ast.Call) -> Atom | None:
    target = writer.frame.names.constant(node.func)
    dtype = None if target is None or isinstance(target, str) else as_dtype(target)
    if dtype is None or len(node.args) != 1:
        return None
    if isinstance(node.args[0], ast.Constant):
        return bound(writer, node)
    given = writer.write(node.args[0])
    if given.dtype is None or not is_known(dtype) or (given.dtype.kind == "c" and dtype.kind != "c"):
        raise NotWrittenError
    if (target is int and given.dtype.kind in "iu") or (target is float and given.dtype.kind == "f"):
        return given
    return converted(writer, given, dtype)
