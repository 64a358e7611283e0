"""What each kind of statement becomes in the text of a loop."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from smemviz.engines.lockstep.python.alone import expressions
from smemviz.engines.lockstep.python.alone.arithmetic import converted, operate
from smemviz.engines.lockstep.python.alone.expressions import truth, write
from smemviz.engines.lockstep.python.alone.values import is_known
from smemviz.engines.lockstep.python.alone.writer import Atom, NotWrittenError, Writer
from smemviz.engines.lockstep.values.typing import FLOAT32, INT64

_LEFT_TO_THE_INTERPRETER = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Raise, ast.Assert)


def block(writer: Writer, body: Sequence[ast.stmt]) -> bool:
    """Write statements; return whether the thread may come to the end."""
    for statement in body:
        outer, writer.statement = writer.statement, statement
        rule = _RULES.get(type(statement))
        before = len(writer.lines), len(writer.accesses), writer.indent, set(writer.sure)
        assigned = {name: list(kinds) for name, kinds in writer.assigned.items()}
        try:
            goes_on = False if rule is None else rule(writer, statement)
            done = rule is not None
        except NotWrittenError:
            if not isinstance(statement, _LEFT_TO_THE_INTERPRETER):
                raise
            done = False
        if not done:
            lines, accesses, writer.indent, writer.sure = before
            writer.assigned = assigned
            del writer.lines[lines:], writer.accesses[accesses:]
            if not isinstance(statement, _LEFT_TO_THE_INTERPRETER):
                raise NotWrittenError
            goes_on = not isinstance(statement, ast.Return | ast.Raise)
            writer.leave(statement, ends=not goes_on)
        writer.statement = outer
        if not goes_on:
            return False
    return True


def _inner(writer: Writer, body: Callable[[], bool]) -> bool:
    """Write lines further in."""
    writer.indent += 1
    before = len(writer.lines)
    goes_on = body()
    if len(writer.lines) == before:
        writer.put("pass")
    writer.indent -= 1
    return goes_on


# -- assignments


def _expression(writer: Writer, node: ast.Expr) -> bool:
    if not isinstance(node.value, ast.Constant):
        raise NotWrittenError
    return True


def _assign(writer: Writer, node: ast.Assign) -> bool:
    if not all(isinstance(target, ast.Name | ast.Subscript) for target in node.targets):
        raise NotWrittenError
    value = write(writer, node.value)
    for target in node.targets:
        if isinstance(target, ast.Name):
            _name(writer, target, target.id, value)
        elif isinstance(target, ast.Subscript):
            _store(writer, target, value)
    return True


def _annotated(writer: Writer, node: ast.AnnAssign) -> bool:
    if not isinstance(node.target, ast.Name):
        raise NotWrittenError
    if node.value is not None:
        _name(writer, node.target, node.target.id, write(writer, node.value))
    return True


def _name(writer: Writer, node: ast.AST, name: str, value: Atom) -> None:
    """Assign to a variable, in the type that it is kept in there."""
    found = writer.frame.versions.kept.get(node)
    if found is not None:
        name = found[0]
        value = _converted(writer, value, found[1])
    writer.assign(name, value)


def _converted(writer: Writer, value: Atom, convert: Any) -> Atom:
    kind = convert.keywords["kind"]
    if isinstance(kind, np.dtype) and value[1] is not None and is_known(kind):
        return converted(writer, value, kind)
    return writer.let(f"R.open({writer.constant(convert)}({writer.opened(value)}))", None)


def moves(writer: Writer, node: ast.AST, edge: str) -> None:
    """Let what variables hold go on in the types that it meets others in."""
    for move in writer.frame.versions.moves.get((node, edge), ()):
        if writer.array(move.source):
            raise NotWrittenError
        source = writer.variable(move.source), writer.kinds.get(move.source)
        sure = move.source in writer.sure
        if not sure:
            writer.put(f"if {source[0]} is not U:")
            writer.indent += 1
        was_sure = move.target in writer.sure
        writer.assign(move.target, _converted(writer, source, move.convert))
        if not sure:
            writer.indent -= 1
            if not was_sure:
                writer.sure.discard(move.target)


def _moved(writer: Writer, node: ast.AST, edge: str) -> bool:
    moves(writer, node, edge)
    return True


def _store(writer: Writer, node: ast.Subscript, value: Atom) -> None:
    made = expressions.access(writer, node)
    if made is None or value[1] is None:
        raise NotWrittenError
    one, array, indices, inside = made
    if array.space == "constant" or (value[1].kind == "c" and array.dtype.kind != "c"):
        raise NotWrittenError
    writer.put(f"if {inside}:")
    _inner(writer, lambda: _put(writer, one, array, value))
    writer.put("else:")
    place = f"{writer.constant(node)}, V[{writer.constant(one.name)}], ({', '.join(indices)},)"
    writer.put(f"    R.store({place}, {writer.opened(value)})")


def _put(writer: Writer, one: Any, array: Any, value: Atom) -> bool:
    """Write a store whose place is known."""
    text, _ = converted(writer, value, array.dtype)
    expressions.note(writer, one, "store")
    if array.space == "shared" and one.node in writer.frame.tree.stores:
        writer.put(f"stored({text})")
    writer.put(f"m{one.number}[q{one.number}] = {text}")
    return True


def _augmented(writer: Writer, node: ast.AugAssign) -> bool:
    target = node.target
    if isinstance(target, ast.Name):
        old = writer.number(writer.kept(node, target.id), target, node)
        value = operate(writer, node, type(node.op), old, write(writer, node.value))
        _name(writer, target, target.id, value)
        return True
    made = expressions.access(writer, target) if isinstance(target, ast.Subscript) else None
    if made is None or made[1].space == "constant":
        raise NotWrittenError
    one, array, indices, inside = made
    near, held, old_name = writer.new(), writer.new(), writer.new()
    place = f"{writer.constant(target)}, V[{writer.constant(one.name)}]"
    writer.put(f"{near} = {inside}")
    writer.put(f"if {near}:")
    writer.indent += 1
    expressions.note(writer, one, "load")
    writer.put(f"{old_name} = m{one.number}[q{one.number}]")
    writer.indent -= 1
    writer.put("else:")
    writer.put(f"    {held}, {old_name} = R.locate({place}, ({', '.join(indices)},))")
    if array.dtype != FLOAT32 and array.dtype.kind in "iu":
        writer.put(f"    {old_name} = int({old_name})")
    new = operate(writer, node, type(node.op), (old_name, array.dtype), write(writer, node.value))
    if new[1] is None or (new[1].kind == "c" and array.dtype.kind != "c"):
        raise NotWrittenError
    writer.put(f"if {near}:")
    _inner(writer, lambda: _put(writer, one, array, new))
    writer.put("else:")
    writer.put(f"    R.write({place}, {held}, {writer.opened(new)})")
    return True


# -- ways


def _branch(writer: Writer, node: ast.If) -> bool:
    test = truth(writer, write(writer, node.test))
    before = set(writer.sure)
    ends = []
    for word, way, part in ((f"if {test}:", "body", node.body), ("else:", "orelse", node.orelse)):
        writer.put(word)
        writer.sure = set(before)
        ends.append((_inner(writer, lambda way=way, part=part: _way(writer, node, way, part)), writer.sure))  # type: ignore[misc]
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
    if node.orelse:
        raise NotWrittenError
    writer.enter()
    moves(writer, node, "enter")
    if isinstance(node, ast.While):
        writer.put("while True:")
        _inner(writer, lambda: _while(writer, node))
    else:
        _for(writer, node)
    writer.depth -= 1
    return True


def _while(writer: Writer, node: ast.While) -> bool:
    outer, writer.statement = writer.statement, node
    before = set(writer.sure)
    test = truth(writer, write(writer, node.test))
    writer.put(f"if not {test}:")
    _inner(writer, lambda: _ended(writer, node))
    writer.sure = set(before)
    _turn(writer, node)
    writer.sure = before
    writer.statement = outer
    return True


def _ended(writer: Writer, node: ast.While) -> bool:
    moves(writer, node, "end")
    writer.put("break")
    return False


def _for(writer: Writer, node: ast.For) -> None:
    call = node.iter
    simple = isinstance(call, ast.Call) and writer.frame.canonical(call.func) == "builtins.range" and not call.keywords
    if not simple or not isinstance(node.target, ast.Name) or not isinstance(call, ast.Call):
        raise NotWrittenError
    given = [write(writer, one) for one in call.args]
    if not 1 <= len(given) <= 3 or any(dtype is None or dtype.kind not in "iuf" for _, dtype in given):
        raise NotWrittenError
    ends = [converted(writer, one, INT64)[0] for one in given]
    number, target = writer.new(), node.target
    if len(ends) == 3:
        writer.put(f"if not {ends[2]}: R.no_step({writer.constant(call)})")
    before = set(writer.sure)
    writer.put(f"for {number} in range({', '.join(ends)}):")

    def turn() -> bool:
        _name(writer, target, target.id, (number, INT64))
        return _turn(writer, node)

    _inner(writer, turn)
    writer.sure = before
    writer.put("else:")
    _inner(writer, lambda: _moved(writer, node, "end"))


def _turn(writer: Writer, node: ast.For | ast.While) -> bool:
    """Write one turn, which is counted."""
    writer.put("it += 1")
    writer.put(f"if it >= due: due = R.due(it, {node.lineno})")
    if block(writer, node.body):
        moves(writer, node, "turn")
    return True


def _break(writer: Writer, node: ast.Break) -> bool:
    moves(writer, node, "leave")
    writer.put("break")
    return False


def _continue(writer: Writer, node: ast.Continue) -> bool:
    moves(writer, node, "leave")
    writer.put("continue")
    return False


_RULES: dict[type[ast.AST], Callable[[Writer, Any], bool]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _branch,
    ast.For: loop,
    ast.While: loop,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Pass: lambda writer, node: True,
    ast.Expr: _expression,
}
