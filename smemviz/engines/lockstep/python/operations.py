"""Operators in expressions: which threads evaluate an operand, and what the parts make together."""

from __future__ import annotations

import ast
import sys
from functools import lru_cache
from typing import Any

import numpy as np

from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.python.merging import CannotMergeError, merge
from smemviz.engines.lockstep.values.operators import NoRuleError, binary, truth, unary
from smemviz.engines.lockstep.values.typing import NotAScalarError, Value, dtype_of
from smemviz.messages import said

_MOST_ITEMS = 1000
_INVERTS_TRUE = sys.version_info < (
    3,
    12,
)  # so Python makes -2 of ~True before Numba sees it


class Operations(Frame):
    """A frame that applies operators."""

    def value(self, node: ast.expr) -> Value:
        """Return what an expression is worth in the active threads; elsewhere it means nothing."""
        raise NotImplementedError

    def binary(self, node: ast.BinOp) -> Value:
        return self.apply(node, type(node.op), self.value(node.left), self.value(node.right))

    def apply(self, node: ast.AST, op: type[ast.AST], left: Value, right: Value) -> Value:
        """Apply a binary operator at a node."""
        try:
            return binary(op, left, right)
        except NotAScalarError as error:
            if op is ast.Add and isinstance(left, tuple) and isinstance(right, tuple):
                return self.bounded(node, left + right)
            raise self.refuse(
                node, said("arithmetic with {what} ({code})", what=error.args[0], code=short(node))
            ) from None
        except NoRuleError as error:
            raise self.wrong(node, said("Numba has no {what}; convert one side", what=error.args[0])) from None

    def unary(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        if isinstance(node.operand, ast.Constant) and type(value) is bool and _INVERTS_TRUE:
            value = int(value)
        try:
            return unary(type(node.op), value)
        except NotAScalarError as error:
            raise self.refuse(
                node, said("arithmetic with {what} ({code})", what=error.args[0], code=short(node))
            ) from None
        except NoRuleError as error:
            raise self.wrong(node, said("Numba has no {what}; convert the operand", what=error.args[0])) from None

    def compare(self, node: ast.Compare) -> Value:
        left = self.value(node.left)
        outer = self.mask
        result: Value = True
        for op, operand in zip(node.ops, node.comparators, strict=True):
            # An operand is evaluated only where the chain before it holds.
            if not isinstance(result, np.ndarray):
                if not result:
                    break
            elif not is_pure(operand):
                self.mask = outer.narrow(result)
                if not self.mask.count:
                    break
            right = self.value(operand)
            test = self.comparison(node, op, left, right)
            result = test if result is True else self.both(result, test)
            left = right
        self.mask = outer
        return result

    def comparison(self, node: ast.Compare, op: ast.cmpop, left: Value, right: Value) -> Value:
        if isinstance(op, ast.Is | ast.IsNot):
            if left is None or right is None:
                return (left is right) == isinstance(op, ast.Is)
            same = self.comparison(node, ast.Eq(), left, right) if dtype_of(left) == dtype_of(right) else False
            return same if isinstance(op, ast.Is) else unary(ast.Not, same)
        if isinstance(op, ast.In | ast.NotIn) and isinstance(right, tuple):
            absent: Value = True
            for item in right:
                absent = self.both(absent, self.comparison(node, ast.NotEq(), left, item))
            return absent if isinstance(op, ast.NotIn) else unary(ast.Not, absent)
        if isinstance(op, ast.In | ast.NotIn):
            raise self.refuse(node, f"'in' ({short(node)})")
        if isinstance(left, tuple) and isinstance(right, tuple) and isinstance(op, ast.Eq | ast.NotEq):
            equal: Value = len(left) == len(right)
            for a, b in zip(left, right, strict=False):
                equal = self.both(equal, self.comparison(node, ast.Eq(), a, b))
            return equal if isinstance(op, ast.Eq) else unary(ast.Not, equal)
        return self.apply(node, type(op), left, right)

    @staticmethod
    def both(one: Value, other: Value) -> Value:
        """Return where two conditions hold."""
        if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
            return one & other
        return bool(one) and bool(other)

    def boolean(self, node: ast.BoolOp) -> Value:
        outer = self.mask
        conjunction = isinstance(node.op, ast.And)
        result = self.value(node.values[0])
        for operand in node.values[1:]:
            test = truth(result)
            if not isinstance(test, np.ndarray):
                if test != conjunction:
                    break
                result = self.value(operand)
                continue
            undecided = test if conjunction else ~test
            if is_pure(operand):
                right = self.value(operand)
            else:
                self.mask = outer.narrow(undecided)
                if not self.mask.count:
                    break
                right = self.value(operand)
            result = self.merged(node, undecided, right, result)
        self.mask = outer
        return result

    def conditional(self, node: ast.IfExp) -> Value:
        outer = self.mask
        test = truth(self.value(node.test))
        if not isinstance(test, np.ndarray):
            return self.value(node.body if test else node.orelse)
        then, other = outer.narrow(test), outer.narrow(~test)
        if not other.count:
            return self.value(node.body)
        if not then.count:
            return self.value(node.orelse)
        self.mask = then
        one = self.value(node.body)
        self.mask = other
        two = self.value(node.orelse)
        self.mask = outer
        return self.merged(node, test, one, two)

    def merged(self, node: ast.AST, lanes: Any, new: Value, old: Value) -> Value:
        try:
            return merge(lanes, new, old)
        except CannotMergeError as error:
            raise self.refuse(node, f"{short(node)}: {error.args[0]}") from None

    def bounded(self, node: ast.AST, value: tuple[Value, ...]) -> Value:
        """Return a tuple; one with more items, those of tuples in it counted, than a kernel needs is refused."""
        if _count(value) > _MOST_ITEMS:
            raise self.refuse(
                node, said("a tuple of more than {most:,} items ({code})", most=_MOST_ITEMS, code=short(node))
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


def short(node: ast.AST) -> str:
    """Return the first line of a node's text, cut off where it is long."""
    text = ast.unparse(node).partition("\n")[0]
    return text if len(text) <= 60 else f"{text[:57]}..."
