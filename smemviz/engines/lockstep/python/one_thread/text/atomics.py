"""Atomics in the text of a loop: one thread need not wait for any, several only where their order matters."""

from __future__ import annotations

import ast

import numpy as np

from smemviz.engines.lockstep.python.functions.atomics import ATOMICS
from smemviz.engines.lockstep.python.one_thread.atoms import Atom, of_load
from smemviz.engines.lockstep.python.one_thread.text import in_order
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import closed, converted, operate, settled, simple
from smemviz.engines.lockstep.python.one_thread.text.elements import reach
from smemviz.engines.lockstep.python.one_thread.text.named import REFUSALS
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.values.typing import Dtype

_ADDED: dict[str, type[ast.operator]] = {
    "add": ast.Add,
    "sub": ast.Sub,
    "and_": ast.BitAnd,
    "or_": ast.BitOr,
    "xor": ast.BitXor,
}
_SWAP = "cas"
_ORDERED = {"max": ">", "min": "<"}
_COUNTED = {"inc": "0 if {old} >= {top} else {old} + 1", "dec": "{old} - 1 if 0 < {old} <= {top} else {top}"}


def atomic(writer: Writer, node: ast.Call, name: str, *, used: bool = True) -> Atom | None:
    """Write an atomic on an element; its value is what the element held."""
    name = name.removeprefix("cuda.atomic.")
    if len(node.args) != (4 if name == _SWAP else 3) or name not in (*_ADDED, *_ORDERED, *_COUNTED, "exch", _SWAP):
        return None
    made = reach(writer, node.args[0], node.args[1])
    if made is None or made.array.space not in ("shared", "global"):
        return None
    if name in ("exch", _SWAP) and made.array.space == "shared" and _may_lock(writer):
        raise NotWrittenError
    dtype = made.array.dtype
    if dtype.name not in ATOMICS["exch" if name == _SWAP else name].dtypes:
        return None
    old, site = writer.new(), writer.frame.tree.atomics.get(node)
    operands = [_operand(writer, argument, dtype) for argument in node.args[2:]]
    update = "" if used or site is None else _in_any_order(writer, node, name, dtype)
    has_order = not update and (used or name != "exch")
    if has_order and not writer.in_order:
        writer.together = False  # threads that update one element would meet
    writer.stored.add(made.layout.access.name)
    in_order.wait(writer, made.array)
    writer.put(f"if {made.is_there if update and writer.several else made.inside}:")
    in_order.note(writer, made.layout.access, made.place, site)
    writer.indent += 1
    writer.put(f"{old} = {made.element}")
    writer.put(f"{made.element} = {_updated(writer, node, name, of_load(old, dtype), operands)}")
    writer.indent -= 1
    in_order.note_changed(writer, made.layout.access, made.place, site)
    made.note_unsafe(writer, site)
    writer.put("else:")
    call = f"{writer.constant(node)}, {writer.constant(used)}, {writer.constant(f'cuda.atomic.{name}')}"
    given = ", ".join(map(writer.opened, operands))
    far = f"{writer.runner}.atomic({call}, {made.layout.view}, {made.indices}, {given})"
    writer.astray(f"{old} = {closed(far, dtype) if used else far}", site)
    made.note(writer, site, update)
    return of_load(old, dtype)


def _may_lock(writer: Writer) -> bool:
    """Tell whether an element of shared memory may be a lock, which the interpreter looks at: that needs a fence."""
    functions = writer.frame.machine.table.root.functions
    return any("threadfence" in function.source for function in functions)


def _operand(writer: Writer, node: ast.expr, dtype: Dtype) -> Atom:
    given = writer.write(node)
    if given.dtype is None or given.dtype.kind == "c":
        raise NotWrittenError
    return simple(writer, converted(writer, given, dtype))


def _in_any_order(writer: Writer, node: ast.Call, name: str, dtype: Dtype) -> str:
    """Return what tells atomics that leave the same in an element in whichever order they are done; nothing if none do.

    Where a counter begins again has to be the same for all.
    """
    if name in ("exch", _SWAP) or (dtype.kind == "f" and name not in _ORDERED):
        return ""
    if name not in _COUNTED:
        return f"{'add' if name == 'sub' else name} {dtype}"
    top = node.args[2]
    if any(isinstance(part, ast.Call | ast.Subscript) for part in ast.walk(top)):
        return ""
    if any(isinstance(part, ast.Name) and part.id in writer.frame.names.locals for part in ast.walk(top)):
        return ""
    try:
        begins = writer.frame.value(top)
    except REFUSALS:
        raise NotWrittenError from None
    return "" if isinstance(begins, np.ndarray) else f"{name} {dtype} {begins}"


def _updated(writer: Writer, node: ast.Call, name: str, old: Atom, operands: list[Atom]) -> str:
    """Return the text of what an atomic stores."""
    operand = operands[-1]
    if name == _SWAP:
        return f"{operand.text} if {old.text} == {operands[0].text} else {old.text}"
    if name == "exch":
        return operand.text
    if name in _ORDERED:
        return f"{operand.text} if {operand.text} {_ORDERED[name]} {old.text} else {old.text}"
    if name in _COUNTED:
        return _COUNTED[name].format(old=old.text, top=operand.text)
    dtype = old.dtype
    assert dtype is not None
    new = converted(writer, operate(writer, node, _ADDED[name], old, operand), dtype)
    return new.text if new.loose else settled(writer, new).text
