"""Operators in expressions: which threads evaluate an operand, and what the parts make together."""

import ast
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.memory import View
from smemviz.engines.lockstep.python.frame import Frame, short
from smemviz.engines.lockstep.python.merging import kind_of
from smemviz.engines.lockstep.values.masks import Optional
from smemviz.engines.lockstep.values.operators import NoRuleError, binary, truth, unary
from smemviz.engines.lockstep.values.typing import INT64_MAX, NotAScalarError, Value, dtype_of
from smemviz.frontends.numba.syntax import evaluate
from smemviz.messages import english
from smemviz.model.layout.formulas import COMPARE

_MOST_ITEMS = 1000
_MOST_LETTERS = 4096  # more are not put together before the kernel runs
_WRITTEN = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
_INVERTS_TRUE = sys.version_info < (3, 12)  # so Python makes -2 of ~True before Numba sees it


def _binary(frame: Frame, node: ast.BinOp) -> Value:
    written = _written_out(node)
    if written is not None:
        return frame.value(written)
    return apply(frame, node, type(node.op), frame.value(node.left), frame.value(node.right))


@lru_cache(maxsize=4096)
def _written_out(node: ast.BinOp) -> ast.Constant | None:
    """Return what Python computes before Numba sees it, of numbers and texts written out: in more than 64 bits."""
    if not all(isinstance(part, _WRITTEN) for part in ast.walk(node)):
        return None
    value: Any = evaluate(node, {})
    match node:
        case ast.BinOp(left=ast.Constant(value=str() as left), op=ast.Add(), right=ast.Constant(value=str() as right)):
            value = left + right
        case ast.BinOp(left=ast.Constant(value=str() as left), op=ast.Mult(), right=ast.Constant(value=int() as times)):
            value = left * times if len(left) * times <= _MOST_LETTERS else None
    fits = not isinstance(value, int) or -INT64_MAX - 1 <= value <= 2 * INT64_MAX + 1  # else Numba cuts it off as well
    return ast.copy_location(ast.Constant(value), node) if value is not None and fits else None


def apply(frame: Frame, node: ast.AST, op: type[ast.AST], left: Value, right: Value) -> Value:
    """Apply a binary operator at a node."""
    try:
        return binary(op, left, right)
    except NotAScalarError as error:
        if op is ast.Add and isinstance(left, tuple) and isinstance(right, tuple):
            return bounded(frame, node, left + right)
        if op is ast.Mult and isinstance(left, tuple) and type(right) is int:
            return bounded(frame, node, left * min(right, _MOST_ITEMS + 1))
        what = english("arithmetic with {what} ({code})", what=error.args[0], code=short(node))
        arrays = isinstance(left, View) or isinstance(right, View)
        raise frame.none_of_numba(node, what, english("a loop") if arrays else "") from None
    except NoRuleError as error:
        raise frame.wrong(node, english("Numba has no {what}; convert one side", what=error.args[0])) from None


def _unary(frame: Frame, node: ast.UnaryOp) -> Value:
    value = frame.value(node.operand)
    if isinstance(node.operand, ast.Constant) and type(value) is bool and _INVERTS_TRUE:
        value = int(value)
    try:
        return unary(type(node.op), value)
    except NotAScalarError as error:
        what = english("arithmetic with {what} ({code})", what=error.args[0], code=short(node))
        raise frame.none_of_numba(node, what) from None
    except NoRuleError as error:
        raise frame.wrong(node, english("Numba has no {what}; convert the operand", what=error.args[0])) from None


def _compare(frame: Frame, node: ast.Compare) -> Value:
    left = frame.value(node.left)
    outer = frame.mask
    result: Value = True
    for op, operand in zip(node.ops, node.comparators, strict=True):
        # An operand is evaluated only where the chain before it holds.
        if not isinstance(result, np.ndarray):
            if not result:
                break
        elif not is_pure(operand):
            frame.mask = outer.narrow(result)
            if not frame.mask.count:
                break
        right = frame.value(operand)
        test = comparison(frame, node, op, left, right)
        result = test if result is True else both(result, test)
        left = right
    frame.mask = outer
    return result


def comparison(frame: Frame, node: ast.expr, op: ast.cmpop, left: Value, right: Value) -> Value:
    """Compare two values, which may be tuples."""
    if (left is None or right is None) and isinstance(op, ast.Is | ast.IsNot):
        return _is_nothing(right if left is None else left) == isinstance(op, ast.Is)
    if (left is None or right is None) and isinstance(op, ast.Eq | ast.NotEq):
        return (left is right) == isinstance(op, ast.Eq)  # an Optional is not equal to None, even where it is that
    if isinstance(left, np.dtype) and isinstance(right, np.dtype | str):
        return _same_type(frame, node, op, left, right)
    if isinstance(op, ast.Is | ast.IsNot):
        if isinstance(left, View) and isinstance(right, View):
            return _is_same_array(left, right) == isinstance(op, ast.Is)
        try:
            same = comparison(frame, node, ast.Eq(), left, right) if dtype_of(left) == dtype_of(right) else False
        except NotAScalarError:
            raise frame.refuse(node, f"'is' ({short(node)})") from None
        return same if isinstance(op, ast.Is) else unary(ast.Not, same)
    if isinstance(op, ast.In | ast.NotIn) and isinstance(right, tuple):
        if any(kind_of(item) != kind_of(right[0]) for item in right):
            raise frame.none_of_numba(node, english("{code}, a tuple of several types", code=short(node)))
        absent: Value = True
        for item in right:
            absent = both(absent, comparison(frame, node, ast.NotEq(), left, item))
        return absent if isinstance(op, ast.NotIn) else unary(ast.Not, absent)
    if isinstance(op, ast.In | ast.NotIn):
        raise frame.left_out(node, f"'in' ({short(node)})")
    if isinstance(left, str) and isinstance(right, str) and type(op) in COMPARE:
        return COMPARE[type(op)](left, right)
    if isinstance(left, tuple) and isinstance(right, tuple) and not isinstance(op, ast.Eq | ast.NotEq):
        return _order(frame, node, op, left, right)
    if isinstance(left, tuple) and isinstance(right, tuple) and isinstance(op, ast.Eq | ast.NotEq):
        equal: Value = len(left) == len(right)
        for a, b in zip(left, right, strict=False):
            equal = both(equal, comparison(frame, node, ast.Eq(), a, b))
        return equal if isinstance(op, ast.Eq) else unary(ast.Not, equal)
    return apply(frame, node, type(op), left, right)


def _is_same_array(left: View, right: View) -> bool:
    same = left.memory is right.memory and np.array_equal(left.offset, right.offset)
    return same and (left.dtype, left.shape, left.strides) == (right.dtype, right.shape, right.strides)


def _same_type(frame: Frame, node: ast.expr, op: ast.cmpop, left: np.dtype[Any], right: np.dtype[Any] | str) -> bool:
    """Tell whether the types of two arrays are one; Numba has no other comparison of them."""
    if isinstance(right, str):
        what = english("{code}: Numba finds a type equal to no text; write another array's .dtype", code=short(node))
        raise frame.wrong(node, what)
    if not isinstance(op, ast.Eq | ast.Is):
        raise frame.none_of_numba(node, short(node), english("not (... == ...)"))
    return left == right


def _is_nothing(value: Value) -> Any:
    return ~value.there if isinstance(value, Optional) else value is None


def _order(frame: Frame, node: ast.expr, op: ast.cmpop, left: tuple[Value, ...], right: tuple[Value, ...]) -> Value:
    """Compare two tuples item by item: the first ones that differ decide."""
    if not left or not right:
        return apply(frame, node, type(op), len(left), len(right))
    equal = comparison(frame, node, ast.Eq(), left[0], right[0])
    rest = _order(frame, node, op, left[1:], right[1:])
    first = comparison(frame, node, op, left[0], right[0])
    if not isinstance(equal, np.ndarray):
        return rest if equal else first
    return frame.merged(node, equal, rest, first)


def both(left: Value, right: Value) -> Value:
    """Return where two conditions hold."""
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return left & right
    return bool(left) and bool(right)


def _boolean(frame: Frame, node: ast.BoolOp) -> Value:
    outer = frame.mask
    conjunction = isinstance(node.op, ast.And)
    first, *others = frame.versions.operands.get(node, node.values)
    result = frame.value(first)
    for operand in others:
        result = frame.chosen(node, result)
        test = truth(result)
        if not isinstance(test, np.ndarray):
            if test != conjunction:
                break
            result = frame.chosen(node, frame.value(operand))
            continue
        undecided = test if conjunction else ~test
        if not is_pure(operand) or _depends_on_the_path(frame, operand):
            frame.mask = outer.narrow(undecided)
            if not frame.mask.count:
                break
        right = frame.value(operand)
        result = frame.merged(node, undecided, right, result)
    frame.mask = outer
    return result


def _depends_on_the_path(frame: Frame, node: ast.expr) -> bool:
    """Tell whether a part is a variable that is nothing in some threads, or may not be assigned in them."""
    unassigned = frame.unassigned
    return any(
        (unassigned is not None and unassigned.may_mean_nothing(name))
        or isinstance(frame.variables.get(name), Optional)
        for name in _variables(node)
    )


@lru_cache(maxsize=4096)
def _variables(node: ast.expr) -> frozenset[str]:
    return frozenset(part.id for part in ast.walk(node) if isinstance(part, ast.Name))


def _conditional(frame: Frame, node: ast.IfExp) -> Value:
    outer = frame.mask
    test = truth(frame.value(node.test))
    test = frame.versions.decided.get(node, test)
    if not isinstance(test, np.ndarray):
        return frame.chosen(node, frame.value(node.body if test else node.orelse))
    then, other = outer.narrow(test), outer.narrow(~test)
    # A side that no thread takes has a type all the same, which a function that is called need not have then.
    if not other.count and _may_have_no_value(frame, node.orelse):
        return frame.chosen(node, frame.value(node.body))
    if not then.count and _may_have_no_value(frame, node.body):
        return frame.chosen(node, frame.value(node.orelse))
    frame.mask = then
    chosen = frame.value(node.body)
    frame.mask = other
    alternative = frame.value(node.orelse)
    frame.mask = outer
    if isinstance(chosen, View) and not (then.count and other.count):
        return chosen if then.count else alternative
    return frame.merged(node, test, chosen, alternative)


def _may_have_no_value(frame: Frame, node: ast.expr) -> bool:
    """Tell whether a side calls functions, or reads a variable that nobody has assigned."""
    if frame.unassigned is not None and any(map(frame.unassigned.means_nothing, _variables(node))):
        return True
    return any(call in frame.tree.calls for call in _calls(node))


@lru_cache(maxsize=4096)
def _calls(node: ast.expr) -> tuple[ast.Call, ...]:
    return tuple(part for part in ast.walk(node) if isinstance(part, ast.Call))


def bounded(frame: Frame, node: ast.AST, value: tuple[Value, ...]) -> Value:
    """Return a tuple; one with more items, those of tuples in it counted, than a kernel needs is refused."""
    if _count(value) > _MOST_ITEMS:
        raise frame.refuse(
            node, english("a tuple of more than {most:,} items ({code})", most=_MOST_ITEMS, code=short(node))
        )
    return value


def _count(value: tuple[Value, ...]) -> int:
    """Count the items of a tuple and of those in it, up to just above the limit."""
    count = len(value)
    for item in value:
        if count > _MOST_ITEMS:
            break
        if isinstance(item, tuple):
            count += _count(item)
    return count


@lru_cache(maxsize=4096)
def is_pure(node: ast.expr) -> bool:
    """Tell whether evaluating an expression makes no request and assigns nothing."""
    return not any(isinstance(n, ast.Subscript | ast.Call | ast.NamedExpr) for n in ast.walk(node))


EXPRESSIONS: dict[type[ast.AST], Callable[[Frame, Any], Value]] = {
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.IfExp: _conditional,
}
