"""What each kind of statement becomes in the text of a loop."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from smemviz.engines.lockstep.python.one_thread.atoms import Atom, of_load
from smemviz.engines.lockstep.python.one_thread.text import loops
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import closed, operate, settled, simple, value
from smemviz.engines.lockstep.python.one_thread.text.atomics import atomic
from smemviz.engines.lockstep.python.one_thread.text.elements import fitting, reach_at, row_of, store
from smemviz.engines.lockstep.python.one_thread.text.expressions import truth
from smemviz.engines.lockstep.python.one_thread.text.inlined import give, inlined, own_array
from smemviz.engines.lockstep.python.one_thread.text.variables import assign, inner, moves
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer

_LEFT_TO_THE_INTERPRETER = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Raise, ast.Assert)


def block(writer: Writer, body: Sequence[ast.stmt]) -> bool:
    """Write statements; return whether the thread may come to the end."""
    for statement in body:
        outer, writer.statement = writer.statement, statement
        rule = _RULES.get(type(statement))
        mark = writer.mark()
        try:
            goes_on = False if rule is None else rule(writer, statement)
            done = rule is not None
        except NotWrittenError:
            done = False
        if not done:
            if not isinstance(statement, _LEFT_TO_THE_INTERPRETER):
                raise NotWrittenError
            writer.back(mark)
            goes_on = not isinstance(statement, ast.Return | ast.Raise)
            _leave(writer, statement, ends=not goes_on)
        writer.statement = outer
        if not goes_on:
            return False
    return True


def _leave(writer: Writer, node: ast.stmt, *, ends: bool) -> None:
    """Have the interpreter do a statement, after which the thread may have ended, and surely has if it ``ends``."""
    stored = writer.hand_over(node)
    done = f"R.statement({writer.constant(node)})"
    if ends:
        writer.put(done)
        writer.end("False")
        return
    writer.put(f"if not {done}:")
    writer.indent += 1
    writer.end("False")
    writer.indent -= 1
    writer.take_back(stored)


# -- assignments


def _expression(writer: Writer, node: ast.Expr) -> bool:
    call = node.value
    if isinstance(call, ast.Call) and call in writer.frame.tree.calls:
        inlined(writer, call, used=False)
        return True
    if isinstance(call, ast.Call) and writer.frame.canonical(call.func).startswith("cuda.atomic."):
        if atomic(writer, call, writer.frame.canonical(call.func), used=False) is None:
            raise NotWrittenError
        return True
    if not isinstance(call, ast.Constant):
        raise NotWrittenError
    return True


def _assign(writer: Writer, node: ast.Assign) -> bool:
    if own_array(writer, node) or _named_row(writer, node):
        return True
    names = node.targets[0]
    if len(node.targets) == 1 and isinstance(names, ast.Tuple):
        return _unpacked(writer, names, node.value)
    if not all(isinstance(target, ast.Name | ast.Subscript | ast.Attribute) for target in node.targets):
        raise NotWrittenError
    atom = writer.write(node.value)
    if len(node.targets) > 1:
        atom = simple(writer, atom)
    for target in node.targets:
        _bind(writer, target, atom)
    return True


def _named_row(writer: Writer, node: ast.Assign) -> bool:
    """Write a row or slice that a name stands for, where that is used in the same block only."""
    target, frame = node.targets[0], writer.frame
    if len(node.targets) > 1 or not isinstance(target, ast.Name) or not isinstance(node.value, ast.Subscript):
        return False
    if target in frame.versions.variables or not _is_used_behind(frame.function.node, node, target.id):
        return False
    row = row_of(writer, node.value)
    if row is not None:
        writer.kinds[writer.inside(target.id)], frame.variables[target.id] = row
    return row is not None


def _is_used_behind(function: ast.AST, node: ast.Assign, name: str) -> bool:
    """Tell whether a statement alone assigns a name, and only what is behind it in its block reads it."""
    blocks = (getattr(part, field, []) for part in ast.walk(function) for field in ("body", "orelse"))
    behind = next(block[block.index(node) + 1 :] for block in blocks if isinstance(block, list) and node in block)
    everywhere, there = (
        [part for one in nodes for part in ast.walk(one) if isinstance(part, ast.Name) and part.id == name]
        for nodes in ([function], behind)
    )
    return len(everywhere) == len(there) + 1 and all(isinstance(part.ctx, ast.Load) for part in there)


def _bind(writer: Writer, target: ast.expr, atom: Atom) -> None:
    if isinstance(target, ast.Name):
        assign(writer, target, target.id, atom)
    elif isinstance(target, ast.Subscript | ast.Attribute):
        _store(writer, target, atom)
    else:
        raise NotWrittenError


def _unpacked(writer: Writer, target: ast.Tuple, right: ast.expr) -> bool:
    """Assign numbers to several targets: all of them are known before the first is assigned."""
    if isinstance(right, ast.Call) and right in writer.frame.tree.calls:
        atoms = inlined(writer, right)
        if len(atoms) != len(target.elts) or len(atoms) < 2:
            raise NotWrittenError
        for element, atom in zip(target.elts, atoms, strict=True):
            _bind(writer, element, atom)
        return True
    if isinstance(right, ast.Call) and writer.frame.canonical(right.func) == "builtins.divmod":
        return _quotient_and_rest(writer, target, right)
    if not isinstance(right, ast.Tuple) or len(right.elts) != len(target.elts):
        raise NotWrittenError
    if any(isinstance(element, ast.Starred) for element in (*right.elts, *target.elts)):
        raise NotWrittenError
    values = []
    for element in right.elts:
        atom = value(writer, element)
        values.append(atom if atom.is_literal else replace(atom, text=writer.let(atom.text, atom.dtype).text))
    for element, atom in zip(target.elts, values, strict=True):
        _bind(writer, element, atom)
    return True


def _quotient_and_rest(writer: Writer, target: ast.Tuple, call: ast.Call) -> bool:
    if len(call.args) != 2 or len(target.elts) != 2 or call.keywords:
        raise NotWrittenError
    left, right = (simple(writer, writer.write(argument)) for argument in call.args)
    made = [settled(writer, operate(writer, call, op, left, right)) for op in (ast.FloorDiv, ast.Mod)]
    for element, atom in zip(target.elts, made, strict=True):
        _bind(writer, element, replace(atom, text=writer.let(atom.text, atom.dtype).text))
    return True


def _annotated(writer: Writer, node: ast.AnnAssign) -> bool:
    if not isinstance(node.target, ast.Name):
        raise NotWrittenError
    if node.value is not None:
        assign(writer, node.target, node.target.id, writer.write(node.value))
    return True


def _store(writer: Writer, node: ast.expr, atom: Atom) -> None:
    made = reach_at(writer, node)
    if made is None:
        raise NotWrittenError
    place = f"{writer.constant(node)}, {made.layout.view}, {made.indices}"
    atom = atom if atom.loose else settled(writer, atom)  # an array rounds
    far = f"{writer.runner}.store({place}, {writer.opened(atom)})"
    store(writer, node, made, fitting(writer, made.array, atom), made.inside, far)


def _augmented(writer: Writer, node: ast.AugAssign) -> bool:
    target = node.target
    if isinstance(target, ast.Name):
        old = writer.number(writer.variable_name(node, target.id), target, node)
        assign(writer, target, target.id, operate(writer, node, type(node.op), old, writer.write(node.value)))
        return True
    made = reach_at(writer, target)
    if made is None or made.array.space == "constant":
        raise NotWrittenError
    site = writer.frame.tree.loads.get(target)
    near, held, old_name = writer.new(), writer.new(), writer.new()
    place = writer.constant(target)
    writer.put(f"{near} = {made.inside}")
    writer.put(f"if {near}:")
    writer.put(f"    {old_name} = {made.loaded}")
    made.note_unsafe(writer, site)
    writer.put("else:")
    writer.astray(f"{held}, {old_name} = {writer.runner}.locate({place}, {made.layout.view}, {made.indices})", site)
    writer.put(f"    {old_name} = {closed(old_name, made.array.dtype)}")
    made.note(writer, site)
    new = operate(writer, node, type(node.op), of_load(old_name, made.array.dtype), writer.write(node.value))
    new = new if new.loose else settled(writer, new)
    far = f"{writer.runner}.write({place}, {held}, {writer.opened(new)})"
    store(writer, target, made, fitting(writer, made.array, new), near, far)
    return True


# -- ways


def _branch(writer: Writer, node: ast.If) -> bool:
    test = truth(writer, writer.write(node.test))
    before = set(writer.sure)
    ends: list[tuple[bool, set[str]]] = []
    for word, way, part in ((f"if {test}:", "body", node.body), ("else:", "orelse", node.orelse)):
        empty = word == "else:" and not part and (node, way) not in writer.frame.versions.moves
        if empty and not (ends[0][0] and writer.has_to_note):
            ends.append((True, set(before)))
            continue
        writer.sure = set(before)
        write = partial(inner, writer, partial(_way, writer, node, way, part))
        ends.append((writer.part_ways(word, write), writer.sure))
    if ends[0][0] or not empty:
        writer.all_noted()
    sure = [assigned for goes_on, assigned in ends if goes_on]
    writer.sure = set.intersection(*sure) if sure else before
    return bool(sure)


def _way(writer: Writer, node: ast.If, way: str, part: Sequence[ast.stmt]) -> bool:
    goes_on = block(writer, part)
    if goes_on:
        moves(writer, node, way)
    return goes_on


def loop(writer: Writer, node: ast.For | ast.While) -> bool:
    """Write a loop over a range, or one with a condition."""
    return loops.write(writer, node, lambda: _turn(writer, node), partial(block, writer))


def _turn(writer: Writer, node: ast.For | ast.While) -> bool:
    """Write one turn."""
    if block(writer, node.body):
        moves(writer, node, "turn")
    return True


_RULES: dict[type[ast.AST], Callable[[Writer, Any], bool]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _branch,
    ast.For: loop,
    ast.While: loop,
    ast.Break: loops.leave,
    ast.Continue: loops.leave,
    ast.Return: give,
    ast.Pass: lambda writer, node: True,
    ast.Expr: _expression,
}
