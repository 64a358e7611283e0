"""What Numba decides when it compiles: conditions whose parts are constants, and the branch that it then leaves out."""

import ast
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python.inference.visit import REFUSALS, Visit
from smemviz.engines.lockstep.python.operations import is_pure
from smemviz.engines.lockstep.values.operators import truth
from smemviz.frontends.numba.sites.names import stored_names
from smemviz.frontends.numba.syntax import evaluate

_IS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {ast.Is: operator.is_, ast.IsNot: operator.is_not}


def decided(visit: Visit, test: ast.expr) -> bool | None:
    """Return how a condition ends that Numba decides when it compiles, None where it keeps both branches."""
    match test:
        case ast.BoolOp(op=op, values=values):
            return _together([decided(visit, value) for value in values], ending=isinstance(op, ast.Or))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            end = decided(visit, operand)
            return None if end is None else not end
        case ast.IfExp():
            taken = decided(visit, test.test)
            ends = {decided(visit, side) for side in _sides(test, taken)}
            return ends.pop() if len(ends) == 1 else None
        case ast.Compare(left=left, ops=ops, comparators=others):
            pairs = zip(pairwise([left, *others]), ops, strict=True)
            return _together([_compared(visit, test, op, *pair) for pair, op in pairs], ending=False)
        case ast.BinOp(left=left, op=op, right=right) if constant(visit, test) is None:
            return _truth(_computed(op, constant(visit, left), constant(visit, right)))
    return _truth(constant(visit, test))


def operands_left(visit: Visit, node: ast.BoolOp) -> list[ast.expr]:
    """Return those operands of ``and`` or ``or`` that may be its value: a decided one is, or is passed over."""
    ending, left = isinstance(node.op, ast.Or), []
    for operand in node.values[:-1]:
        end = _decided_value(visit, operand)
        if end is None or end is ending:
            left.append(operand)
        if end is ending:
            return left
    return [*left, node.values[-1]]


def constant(visit: Visit, node: ast.expr) -> object:
    """Return what an expression is that Numba knows when it compiles, None where it does not.

    It is written out, of the module, a name for such a one, how many dimensions an argument has, or all that is left of
    ``a if b else c`` and of ``a or b``.
    """
    match node:
        case ast.Constant():
            return node.value
        case ast.Name(id=name) if name in visit.names.locals:
            return visit.constants.get(name)
        case ast.Name():
            value = visit.names.constant(node)
            known = isinstance(value, bool | int | float | np.generic)
            return value if known and not visit.canonical(node).startswith("cuda.") else None
        case ast.Attribute(value=ast.Name(id=name), attr="ndim") if name not in stored_names(visit.function.node):
            array = (visit.here or {}).get(name)
            return array.ndim if isinstance(array, View) else None
        case ast.BoolOp():
            return _of_only(visit, operands_left(visit, node))
        case ast.IfExp():
            return _of_only(visit, _sides(node, decided(visit, node.test)))
        case ast.BinOp() | ast.UnaryOp():
            return _written_out(node)
    return None


def _of_only(visit: Visit, left: list[ast.expr]) -> object:
    return constant(visit, left[0]) if len(left) == 1 else None


def _decided_value(visit: Visit, node: ast.expr) -> bool | None:
    """Return how an operand ends that is a value; what is left of one that reads memory or calls is not told."""
    match node:
        case ast.UnaryOp(op=ast.Not()):
            return None
        case ast.IfExp():
            left = _sides(node, decided(visit, node.test))
            end = _decided_value(visit, left[0]) if len(left) == 1 else None
        case _:
            end = decided(visit, node)
    return end if is_pure(node) else None


@lru_cache(maxsize=4096)
def _written_out(node: ast.expr) -> object:
    """Return a number that Python computes before Numba sees it, None for anything else."""
    return evaluate(node, {})


def _sides(node: ast.IfExp, taken: bool | None) -> list[ast.expr]:
    return [node.body, node.orelse] if taken is None else [node.body if taken else node.orelse]


def _together(ends: list[bool | None], *, ending: bool) -> bool | None:
    """Return how conditions end of which the first that is ``ending`` decides."""
    return ending if ending in ends else None if None in ends else not ending


def _compared(visit: Visit, node: ast.Compare, op: ast.cmpop, left: ast.expr, right: ast.expr) -> bool | None:
    if any(isinstance(side, ast.Constant) and side.value is None for side in (left, right)):
        try:
            pair = ast.copy_location(ast.Compare(left, [op], [right]), node)
            return bool(truth(visit.study.real.expressions[ast.Compare](visit, pair)))
        except REFUSALS:
            return None
    return _truth(_computed(op, constant(visit, left), constant(visit, right)))


def _computed(op: ast.operator | ast.cmpop, left: object, right: object) -> object:
    """Return what an operator makes of two constants in Python, None where one is not known or it fails."""
    if left is None or right is None:
        return None
    if isinstance(op, ast.Is | ast.IsNot):
        return _IS[type(op)](left, right)
    left_node, right_node = ast.Name("left"), ast.Name("right")
    node = (
        ast.BinOp(left_node, op, right_node)
        if isinstance(op, ast.operator)
        else ast.Compare(left_node, [op], [right_node])
    )
    with np.errstate(all="ignore"):
        return evaluate(node, {"left": left, "right": right})


def _truth(value: object) -> bool | None:
    return None if value is None else bool(value)
