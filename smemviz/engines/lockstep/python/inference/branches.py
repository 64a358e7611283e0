"""Branches and loops as Numba sees them: which ways there are, what it leaves out, and where they meet."""

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python.frame import ONE_TYPE_EACH, Frame, Language, Versions
from smemviz.engines.lockstep.python.inference.pruning import constant, decided, operands_left
from smemviz.engines.lockstep.python.inference.visit import Names, Study, Visit, key_of
from smemviz.engines.lockstep.python.merging import UNKNOWN, kind_of
from smemviz.engines.lockstep.python.statements import bind
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.engines.lockstep.values.ranges import Range
from smemviz.engines.lockstep.values.typing import Value
from smemviz.frontends.numba.sites.names import stored_names
from smemviz.frontends.numba.syntax import parameters, stored

_MOST_TURNS = 16


def versions_of(frame: Frame, arguments: Mapping[str, Value]) -> Versions:
    """Return the types of the variables of a function that is called with arguments."""
    if not _has_several(frame.function.node):
        return ONE_TYPE_EACH
    machine = frame.machine
    known: tuple[Versions, Value] | None = machine.known.studied.get(key_of(frame.tree, arguments))
    if known is not None:
        return known[0]
    if machine.study is None:
        rules = Language(
            {**frame.language.expressions, **_EXPRESSIONS}, {**frame.language.statements, **_STATEMENTS}, versions_of
        )
        machine.study = Study(machine, frame.language, rules)
    versions: Versions = machine.study.of(frame.tree, arguments)[0]
    return versions


@lru_cache(maxsize=256)
def _has_several(function: ast.FunctionDef) -> bool:
    """Whether a value of a function may have more than one type: it is assigned twice, or one of two."""
    names = [*parameters(function), *stored(function)]
    returns = sum(isinstance(n, ast.Return) for n in ast.walk(function))
    choices = any(isinstance(n, ast.IfExp | ast.BoolOp) for n in ast.walk(function))
    return choices or returns > 1 or len(names) != len(set(names))


def _assign(visit: Visit, node: ast.Assign) -> Mask:
    value = constant(visit, node.value)
    visit.attempt(node, partial(visit.study.real.statements[ast.Assign], visit, node))
    if value is not None:
        names = (target.id for target in node.targets if isinstance(target, ast.Name))
        visit.constants = {**visit.constants, **dict.fromkeys(names, value)}
    return visit.entry


def _branch(visit: Visit, node: ast.If) -> Mask:
    taken = decided(visit, node.test)
    visit.attempt(node.test, partial(visit.value, node.test))
    if taken is not None:
        return visit.block(node.body if taken else node.orelse, visit.entry)
    before, constants = dict(visit.here or {}), visit.constants
    visit.block(node.body, visit.entry)
    after, visit.here, visit.constants = visit.here, before, constants
    visit.block(node.orelse, visit.entry)
    visit.join((node, "after"), {(node, "body"): after, (node, "orelse"): visit.here})
    visit.constants = _unstored(constants, node)
    return visit.entry


def _loop(visit: Visit, node: ast.While | ast.For) -> Mask:
    """Go through a loop until its types stay; Python tests a ``while`` once before it and again after each turn."""
    test = node.test if isinstance(node, ast.While) else None
    item = visit.attempt(node.iter, partial(_item_of, visit, node.iter)) if isinstance(node, ast.For) else None
    continues = _continues(node)
    constants = _unstored(visit.constants, node)
    visit.constants = constants if continues else visit.constants
    first = None if test is None else decided(visit, test)
    if first is False:
        return visit.block(node.orelse, visit.entry)
    entry, turn, again = dict(visit.here or {}), None, None
    left: dict[ast.AST, Names] = {}
    reads: set[tuple[ast.AST, tuple[str, Any]]] = set()
    for number in range(_MOST_TURNS):
        before = dict(visit.kinds_at.get((node, "head"), {}))
        edges = _exits(left, ast.Continue) | {(node, "enter"): entry, (node, "turn"): None if again is False else turn}
        visit.join((node, "head"), edges)
        if number and before == visit.kinds_at[node, "head"]:
            break
        head, visit.constants = dict(visit.here or {}), constants
        visit.forget(node)
        visit.breaks.append({})
        if test is not None:
            visit.attempt(test, partial(visit.value, test))
        elif isinstance(node, ast.For) and item is UNKNOWN:
            visit.lose(node.target)
        elif isinstance(node, ast.For):
            visit.attempt(node.target, partial(bind, visit, node.target, item, node.iter))
        reads = _reads(visit, test)
        visit.block(node.body, visit.entry)
        turn, left = visit.here, visit.breaks.pop()
        again = None if test is None or turn is None else decided(visit, test)
    # The test before the loop and the one after a turn are one here: they may read names of two types.
    visit.unclear |= {name for _, (name, _) in _reads(visit, test) ^ reads}
    if first and again:
        visit.here = None
    elif first or again:  # the loop is left after a turn only, or before the first
        visit.here = entry if again else turn
    else:
        visit.here = head
    visit.constants = constants
    visit.block(node.orelse, visit.entry)
    visit.join((node, "end"), _exits(left, ast.Break) | {(node, "end"): visit.here})
    visit.constants = constants
    return visit.entry


def _reads(visit: Visit, test: ast.expr | None) -> set[tuple[ast.AST, tuple[str, Any]]]:
    """Return the names that a test has read, and of which types."""
    parts = () if test is None else ast.walk(test)
    return {(part, visit.kinds[part]) for part in parts if part in visit.kinds}


def _exits(
    left: Mapping[ast.AST, Names], kind: type[ast.Break] | type[ast.Continue]
) -> dict[tuple[ast.AST, str], Names | None]:
    """Return what the names hold where a turn is left by ``break`` or by ``continue``."""
    return {(node, "leave"): names for node, names in left.items() if isinstance(node, kind)}


@lru_cache(maxsize=4096)
def _continues(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Continue) for part in ast.walk(node))


def _unstored(constants: Mapping[str, object], node: ast.AST) -> Mapping[str, object]:
    """Return the constants that a part of a function does not assign."""
    return {name: value for name, value in constants.items() if name not in stored_names(node)}


def _item_of(visit: Visit, node: ast.expr) -> Value:
    """Return what the target of a loop stands for."""
    name = visit.canonical(node.func) if isinstance(node, ast.Call) else ""
    if isinstance(node, ast.Call) and name in ("builtins.range", "builtins.enumerate", "builtins.zip"):
        if name == "builtins.range":
            for argument in node.args:
                visit.value(argument.value if isinstance(argument, ast.Starred) else argument)
            return 0
        if name == "builtins.zip":
            return tuple(_item_of(visit, argument) for argument in node.args)
        for start in (*node.args[1:], *(k.value for k in node.keywords)):
            visit.value(start)
        return 0, _item_of(visit, node.args[0])
    value = visit.value(node)
    if isinstance(value, Range):
        return 0
    if isinstance(value, View) and value.ndim == 1 and value.dtype.fields is None:
        return np.zeros((), value.dtype)[()]
    if isinstance(value, tuple) and value and all(kind_of(item) == kind_of(value[0]) for item in value):
        return value[0]
    return UNKNOWN


def _leave(visit: Visit, node: ast.Break | ast.Continue) -> Mask:
    if visit.breaks and visit.here is not None:
        visit.breaks[-1][node] = visit.here
    visit.here = None
    return visit.entry


def _return(visit: Visit, node: ast.Return) -> Mask:
    value = None if node.value is None else visit.attempt(node.value, partial(visit.value, node.value))
    visit.finish(node, value)
    return visit.entry


def _check(visit: Visit, node: ast.Assert) -> Mask:
    visit.attempt(node.test, partial(visit.value, node.test))
    return visit.entry


def _stop(visit: Visit, node: ast.Raise) -> Mask:
    visit.here = None
    return visit.entry


def _conditional(visit: Visit, node: ast.IfExp) -> Value:
    taken = decided(visit, node.test)
    visit.value(node.test)
    if taken is not None:
        visit.decided[node] = taken
        return visit.value(node.body if taken else node.orelse)
    return visit.choice(node, [visit.value(node.body), visit.value(node.orelse)])


def _boolean(visit: Visit, node: ast.BoolOp) -> Value:
    left = operands_left(visit, node)
    values = {value: visit.value(value) for value in node.values}
    if len(left) < len(values):
        visit.operands[node] = tuple(left)
    return visit.choice(node, [values[value] for value in left])


def _compare(visit: Visit, node: ast.Compare) -> Value:
    for side in (node.left, *node.comparators):
        visit.value(side)
    return False


_EXPRESSIONS: dict[type[ast.AST], Callable[[Any, Any], Value]] = {
    ast.IfExp: _conditional,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
}
_STATEMENTS: dict[type[ast.AST], Callable[[Any, Any], Mask]] = {
    ast.Assign: _assign,
    ast.If: _branch,
    ast.While: _loop,
    ast.For: _loop,
    ast.Break: _leave,
    ast.Continue: _leave,
    ast.Return: _return,
    ast.Assert: _check,
    ast.Raise: _stop,
}
