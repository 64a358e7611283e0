"""What each kind of statement becomes in the text of a loop."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from smemviz.engines.lockstep.python.one_thread.arrays import Array, way_to
from smemviz.engines.lockstep.python.one_thread.atoms import Atom, of_load
from smemviz.engines.lockstep.python.one_thread.renamed import States, names_in
from smemviz.engines.lockstep.python.one_thread.text import in_order, loops, tuples
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import closed, operate, settled, simple, value
from smemviz.engines.lockstep.python.one_thread.text.atomics import atomic
from smemviz.engines.lockstep.python.one_thread.text.conditions import decided, holds
from smemviz.engines.lockstep.python.one_thread.text.elements import (
    fitting,
    reach_at,
    store,
    unpacked,
)
from smemviz.engines.lockstep.python.one_thread.text.inlined import (
    give,
    inlined,
    is_number,
    items_of,
    own_array,
    tuple_of,
)
from smemviz.engines.lockstep.python.one_thread.text.named import REFUSALS, is_used_there
from smemviz.engines.lockstep.python.one_thread.text.renamed import for_each, rename, unknown
from smemviz.engines.lockstep.python.one_thread.text.rows import (
    base_of,
    layout_of,
    record_at,
    record_named,
)
from smemviz.engines.lockstep.python.one_thread.text.stores import assign_element, fill
from smemviz.engines.lockstep.python.one_thread.text.variables import assign, inner, moves
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.python.waiting import is_idle

_LEFT_TO_THE_INTERPRETER = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Raise, ast.Assert)


def block(writer: Writer, body: Sequence[ast.stmt]) -> bool:
    """Write statements; return whether the thread may come to the end."""
    for at, statement in enumerate(body):
        name = unknown(writer, statement)
        if name is not None:
            return for_each(writer, name, partial(block, writer, body[at:]))
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
    if isinstance(call, ast.Call) and writer.frame.canonical(call.func) == "builtins.print":
        _print(writer, call)
        return True
    if not isinstance(call, ast.Constant) and not (isinstance(call, ast.Call) and is_idle(writer.frame, call)):
        raise NotWrittenError
    return True


def _print(writer: Writer, node: ast.Call) -> None:
    """Write that texts and numbers are printed: what one of several threads prints is kept until all is done."""
    if not writer.several or writer.in_order or node.keywords:
        raise NotWrittenError
    parts: list[Any] = []
    numbers: list[str] = []
    for argument in node.args:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            parts.append(argument.value)
            continue
        atom = value(writer, argument)
        if atom.dtype is None or atom.dtype.kind == "c":
            raise NotWrittenError
        parts.append(atom.dtype)
        numbers.append(atom.text)
    writer.put(f"{writer.runner}.prints({', '.join([writer.constant(tuple(parts)), *numbers])})")


def _assign(writer: Writer, node: ast.Assign) -> bool:
    if writer.scope is None and writer.renamed is not None and node in writer.renamed.pairs:
        return rename(writer, writer.renamed, writer.renamed.pairs[node])
    if own_array(writer, node) or _local_array(writer, node) or _named_part(writer, node):
        return True
    names = node.targets[0]
    if len(node.targets) == 1 and isinstance(names, ast.Tuple):
        return _unpacked(writer, names, node.value)
    if not all(isinstance(target, ast.Name | ast.Subscript | ast.Attribute) for target in node.targets):
        raise NotWrittenError
    atoms = tuple_of(writer, node.value)
    if atoms is not None and not is_number(writer, node.value, atoms):
        if len(node.targets) > 1 or not isinstance(names, ast.Name | ast.Subscript):
            raise NotWrittenError
        if isinstance(names, ast.Name):
            tuples.assign(writer, names, atoms)
        else:
            fill(writer, names, atoms, is_tuple=True)
        return True
    atom = writer.write(node.value) if atoms is None else atoms[0]
    if len(node.targets) > 1:
        atom = simple(writer, atom)
    for target in node.targets:
        _bind(writer, target, atom)
    return True


def _local_array(writer: Writer, node: ast.Assign) -> bool:
    """Note the declaration of a local array in the loop, the same one in every turn, that is used in its block only."""
    target, frame, call = node.targets[0], writer.frame, node.value
    if writer.scope is not None or not isinstance(target, ast.Name) or not isinstance(call, ast.Call):
        return False
    if frame.canonical(call.func) != "cuda.local.array":
        return False
    is_apart = len(node.targets) == 1 and target not in frame.versions.variables
    if not is_apart or not is_used_there(frame.function.node, target.id, most=1):
        raise NotWrittenError
    try:
        view = frame.value(call)
    except REFUSALS:
        raise NotWrittenError from None
    if way_to(frame.machine, view) != "free":
        raise NotWrittenError
    writer.declared[target.id], frame.variables[target.id] = call, view
    array = Array(view.dtype, view.ndim, "local", "free", unit=False, first=False)
    writer.stand(target.id, array)
    return True


def _named_part(writer: Writer, node: ast.Assign) -> bool:
    """Write a part of an array that a name stands for, or a record, where that is used in the same block."""
    target, frame = node.targets[0], writer.frame
    if len(node.targets) > 1 or not isinstance(target, ast.Name) or isinstance(node.value, ast.Name):
        return False
    mark, based = writer.mark(), base_of(writer, node.value)
    record = None if based or not writer.several else record_named(writer, node.value)
    if based is None and record is None:
        return False
    if target in frame.versions.variables or not is_used_there(frame.function.node, target.id):
        writer.back(mark)
        return False
    name = writer.inside(target.id)
    if based is not None:
        array, frame.variables[target.id] = based[1:]
        layout = layout_of(writer, based[0], array, is_by_index=array.in_a_row)
        writer.stand(name, replace(array, layout=layout))
    elif record is not None:
        part, frame.variables[target.id], writer.records[name] = record_at(writer, record)
        writer.stand(name, part)
    return True


def _bind(writer: Writer, target: ast.expr, atom: Atom) -> None:
    if isinstance(target, ast.Name):
        assign(writer, target, target.id, atom)
    elif isinstance(target, ast.Subscript | ast.Attribute):
        assign_element(writer, target, atom)
    else:
        raise NotWrittenError


def _unpacked(writer: Writer, target: ast.Tuple, right: ast.expr) -> bool:
    """Assign numbers to several targets: all of them are known before the first is assigned."""
    if isinstance(right, ast.Call) and writer.frame.canonical(right.func) == "builtins.divmod":
        return _quotient_and_rest(writer, target, right)
    based = base_of(writer, right)
    if based is not None and based[1].axes == 1:
        name, array, _ = based
        row = replace(array, layout=layout_of(writer, name, array, is_by_index=array.in_a_row))
        items: tuples.Items | None = tuple(unpacked(writer, right, row, len(target.elts)))
    else:
        items = items_of(writer, right)
    if items is None:
        raise NotWrittenError
    _bind_each(writer, target, items)
    return True


def _bind_each(writer: Writer, target: ast.Tuple, items: tuples.Items) -> None:
    if len(items) != len(target.elts):
        raise NotWrittenError
    for element, item in zip(target.elts, items, strict=True):
        if isinstance(item, Atom):
            _bind(writer, element, item)
        elif isinstance(element, ast.Tuple):
            _bind_each(writer, element, item)
        elif isinstance(element, ast.Name):
            tuples.assign(writer, element, tuples.numbers(item))
        else:
            raise NotWrittenError


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
    in_order.wait(writer, made.array)
    writer.put(f"if {near}:")
    in_order.note(writer, made.layout.access, made.place, site)
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
    taken = decided(writer, node.test)
    if taken is not None:
        return _way(writer, node, *(("body", node.body) if taken else ("orelse", node.orelse)), apart=False)
    test = holds(writer, node.test)
    before, states, loops_before = set(writer.sure), writer.states, len(writer.loops)
    ends: list[tuple[bool, set[str], States]] = []
    for word, way, part in ((f"if {test}:", "body", node.body), ("else:", "orelse", node.orelse)):
        empty = word == "else:" and not part and (node, way) not in writer.frame.versions.moves
        if empty and not (ends[0][0] and writer.has_to_note):
            ends.append((True, set(before), states))
            continue
        writer.sure, writer.states = set(before), states
        apart = len(writer.loops) > loops_before  # what was done before the loops of the other way goes before them
        write = partial(inner, writer, partial(_way, writer, node, way, part, apart=apart))
        ends.append((writer.part_ways(word, write), writer.sure, writer.states))
    if ends[0][0] or not empty:
        writer.all_noted()
    elif len(writer.loops) > loops_before:
        writer.flush()
    writer.states = frozenset().union(*(own for goes_on, _, own in ends if goes_on))
    sure = [assigned for goes_on, assigned, _ in ends if goes_on]
    writer.sure = set.intersection(*sure) if sure else before
    return bool(sure)


def _check(writer: Writer, node: ast.Assert) -> bool:
    """Write that a thread ends where a condition does not hold."""
    if node.msg is not None and names_in(node.msg) & writer.frame.names.locals:
        raise NotWrittenError  # which is refused
    writer.fork(f"if not {holds(writer, node.test)}:")
    inner(writer, lambda: _raise(writer, node))
    return True


def _raise(writer: Writer, node: ast.Assert | ast.Raise) -> bool:
    """Leave it to the interpreter that a thread ends with an error, and with it all that several threads do."""
    if writer.several:
        writer.put(f"{writer.runner}.end()")
    else:
        _leave(writer, node, ends=True)
    return False


def _way(writer: Writer, node: ast.If, way: str, part: Sequence[ast.stmt], *, apart: bool) -> bool:
    if apart:
        writer.flush()
    goes_on = block(writer, part)
    if goes_on:
        moves(writer, node, way)
    return goes_on


def loop(writer: Writer, node: ast.For | ast.While) -> bool:
    """Write a loop over a range, or one with a condition."""
    renamed, states = writer.renamed if writer.scope is None else None, writer.states
    turns, behind = ({}, {}) if renamed is None else (renamed.turns, renamed.behind)
    if renamed and node in turns and isinstance(node, ast.While) and names_in(node.test) & {*renamed.names}:
        raise NotWrittenError  # in each turn it may be another array

    def before(write: Callable[[], bool]) -> bool:
        writer.states = turns.get(node, states)
        return write()

    def otherwise(body: Sequence[ast.stmt]) -> bool:
        return before(partial(block, writer, body))

    goes_on = loops.write(writer, node, partial(before, partial(_turn, writer, node)), otherwise)
    writer.states = behind.get(node, states)
    return goes_on


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
    ast.Raise: _raise,
    ast.Assert: _check,
    ast.Pass: lambda writer, node: True,
    ast.Expr: _expression,
}
