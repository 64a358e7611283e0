"""Calls in the text of a loop: conversions, functions of numbers, and atomics, which one thread need not wait for."""

from __future__ import annotations

import ast

from smemviz.engines.lockstep.python.functions import names
from smemviz.engines.lockstep.python.functions.atomics import ATOMICS
from smemviz.engines.lockstep.python.one_thread.atoms import Atom, of_load
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import (
    closed,
    converted,
    operate,
    settled,
    simple,
    value,
)
from smemviz.engines.lockstep.python.one_thread.text.elements import REFUSALS, array_of, bound, reach, shape_of
from smemviz.engines.lockstep.python.one_thread.text.functions import called, of_numbers
from smemviz.engines.lockstep.python.one_thread.text.inlined import inlined
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.python.one_thread.values import is_known, type_of
from smemviz.frontends.numba.functions import as_dtype

_ADDED: dict[str, type[ast.operator]] = {
    "add": ast.Add,
    "sub": ast.Sub,
    "and_": ast.BitAnd,
    "or_": ast.BitOr,
    "xor": ast.BitXor,
}
_ORDERED = {"max": ">", "min": "<"}


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
    of_array = name == "builtins.len" and len(node.args) == 1 and array_of(writer, node.args[0]) is not None
    if of_array and (sizes := shape_of(writer, node.args[0])) is not None:
        return sizes[0]
    if of_array or name in ("cuda.grid", "cuda.gridsize"):
        return bound(writer, node)
    rule = names.CALLS.get(name)
    if rule is None:
        return _conversion(writer, node)
    if rule.of_values is None and name not in ("builtins.min", "builtins.max"):
        return None
    given = [value(writer, argument) for argument in node.args]
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


def _conversion(writer: Writer, node: ast.Call) -> Atom | None:
    target = writer.frame.names.constant(node.func)
    dtype = None if target is None or isinstance(target, str) else as_dtype(target)
    if dtype is None or len(node.args) != 1:
        return None
    if isinstance(node.args[0], ast.Constant):
        return bound(writer, node)
    given = writer.write(node.args[0])
    if given.dtype is None or not is_known(dtype) or dtype.kind == "c" or given.dtype.kind == "c":
        raise NotWrittenError
    if (target is int and given.dtype.kind in "iu") or (target is float and given.dtype.kind == "f"):
        return given
    return converted(writer, given, dtype)


def atomic(writer: Writer, node: ast.Call, name: str, *, used: bool = True) -> Atom | None:
    """Write an atomic on an element; its value is what the element held."""
    name = name.removeprefix("cuda.atomic.")
    if len(node.args) != 3 or name not in (*_ADDED, *_ORDERED, "exch"):
        return None
    made = reach(writer, *node.args[:2])
    if made is None or made.array.space not in ("shared", "global"):
        return None
    dtype = made.array.dtype
    if dtype.name not in ATOMICS[name].dtypes:
        return None
    old, writer.together, site = writer.new(), False, writer.frame.tree.atomics.get(node)
    given = writer.write(node.args[2])
    if given.dtype is None or given.dtype.kind == "c":
        raise NotWrittenError
    given = simple(writer, converted(writer, given, dtype))
    writer.put(f"if {made.inside}:")
    writer.indent += 1
    writer.put(f"{old} = {made.element}")
    writer.put(f"{made.element} = {_updated(writer, node, name, of_load(old, dtype), given)}")
    writer.indent -= 1
    made.note_unsafe(writer, site)
    writer.put("else:")
    call = f"{writer.constant(node)}, {writer.constant(used)}, {writer.constant(f'cuda.atomic.{name}')}"
    far = f"{writer.runner}.atomic({call}, {made.layout.view}, {made.indices}, {writer.opened(given)})"
    writer.astray(f"{old} = {closed(far, dtype) if used else far}", site)
    made.note(writer, site)
    return of_load(old, dtype)


def _updated(writer: Writer, node: ast.Call, name: str, old: Atom, operand: Atom) -> str:
    """Return the text of what an atomic stores."""
    if name == "exch":
        return operand.text
    if name in _ORDERED:
        return f"{operand.text} if {operand.text} {_ORDERED[name]} {old.text} else {old.text}"
    dtype = old.dtype
    assert dtype is not None
    new = converted(writer, operate(writer, node, _ADDED[name], old, operand), dtype)
    return new.text if new.loose else settled(writer, new).text
