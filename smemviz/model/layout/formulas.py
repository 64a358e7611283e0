"""Formulas typed by a user, ``column ^ row >> 1``, evaluated on whole arrays of integers.

A formula is Python, so it stands in a kernel as it is. Nothing of it is ever executed by Python: its syntax tree is
walked, and all it can do is integer arithmetic on the arrays that the caller names.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.errors import InputError
from smemviz.messages import english

UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: lambda value: ~(int(value) if isinstance(value, bool) else value),  # Python 3.12 warns of ~True
    ast.Not: operator.not_,
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
# All but the quotients and the shift to the left, whose results each language bounds in its own way.
BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}


Integers = NDArray[np.int64]

_MOST_CHARACTERS = 200  # also bounds how deeply a formula nests
_LARGEST = 2.0**62

_ARITHMETIC: dict[type[ast.operator], Callable[[Integers, Integers], Integers]] = BINARY | {
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
}
# What can outgrow 64 bits, and the same in floating point, where that shows.
_GROWS: dict[type[ast.operator], Callable[[NDArray[np.float64], Integers], NDArray[np.float64]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.LShift: lambda left, right: left * 2.0**right,
}
_CALLS: dict[str, Callable[[Integers, Integers], Integers]] = {"min": np.minimum, "max": np.maximum}


@dataclass(frozen=True)
class Formula:
    """One or several integer expressions, separated by commas; make it with ``formula``."""

    text: str

    def values(self, names: Mapping[str, Integers]) -> tuple[Integers, ...]:
        """Evaluate every expression on arrays of one shape; conditions count as 0 and 1.

        Raises:
            InputError: for a name that is not there, a division by zero, a number beyond 64 bits.
        """
        shape = np.broadcast_shapes(*(array.shape for array in names.values()))
        walk = _Walk(self.text, names)
        return tuple(np.broadcast_to(walk.value(part), shape) for part in _parts(self.text))


def formula(text: str) -> Formula:
    """Read a formula and write it as Python would.

    Raises:
        InputError: when it is too long or not one expression.
    """
    return Formula(", ".join(map(ast.unparse, _parts(text))))


def _parts(text: str) -> list[ast.expr]:
    if len(text) > _MOST_CHARACTERS:
        raise InputError(
            english("the formula has {n} characters; {most} are the most", n=len(text), most=_MOST_CHARACTERS)
        )
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise InputError(
            english("{text} is not a formula; write one as in Python, such as column ^ row", text=repr(text))
        ) from None
    return tree.elts if isinstance(tree, ast.Tuple) and tree.elts else [tree]


class _Walk:
    """Walks one formula."""

    def __init__(self, text: str, names: Mapping[str, Integers]) -> None:
        self.text, self.names = text, names

    def refuse(self, what: str) -> InputError:
        return InputError(f"{self.text}: {what}")

    def value(self, node: ast.expr) -> Integers:
        match node:
            case ast.Constant(value=bool() | int() as number) if abs(number) < _LARGEST:
                return np.array(number, np.int64)
            case ast.Name():
                if node.id in self.names:
                    return self.names[node.id]
                there = ", ".join(self.names)
                raise self.refuse(english("{name} is not known here; there are {there}", name=node.id, there=there))
            case ast.BinOp() if type(node.op) in _ARITHMETIC:
                return self.arithmetic(type(node.op), self.value(node.left), self.value(node.right))
            case ast.UnaryOp(op=ast.Not()):
                return _as_number(self.value(node.operand) == 0)
            case ast.UnaryOp():
                of_all: Callable[[Integers], Integers] = UNARY[type(node.op)]
                return of_all(self.value(node.operand))
            case ast.Compare():
                sides = [self.value(side) for side in (node.left, *node.comparators)]
                if all(type(op) in COMPARE for op in node.ops):
                    comparisons = [COMPARE[type(op)](*sides[i : i + 2]) for i, op in enumerate(node.ops)]
                    return _as_number(reduce(np.logical_and, comparisons))
            case ast.BoolOp():
                ends = isinstance(node.op, ast.Or)
                return reduce(
                    lambda left, right: np.where((left != 0) == ends, left, right), map(self.value, node.values)
                )
            case ast.IfExp():
                return np.where(self.value(node.test) != 0, self.value(node.body), self.value(node.orelse))
            case ast.Call(func=ast.Name(id=name), keywords=[], args=[_, _, *_]) if name in _CALLS:
                return reduce(_CALLS[name], map(self.value, node.args))
        what = ast.unparse(node)
        raise self.refuse(
            english(
                "{what} cannot be used in a formula, which has whole numbers, + - * // % & | ^ ~ << >>, comparisons, "
                "and, or, not, if else, min and max",
                what=what,
            )
        )

    def arithmetic(self, op: type[ast.operator], left: Integers, right: Integers) -> Integers:
        if op in (ast.FloorDiv, ast.Mod) and not right.all():
            raise self.refuse(english("divides by zero"))
        if op in (ast.LShift, ast.RShift) and not np.all((right >= 0) & (right < 63)):
            raise self.refuse(english("shifts by less than 0 or more than 62 bits"))
        if op in _GROWS and np.any(np.abs(_GROWS[op](left.astype(np.float64), right)) >= _LARGEST):
            raise self.refuse(english("grows beyond 64 bits"))
        return _ARITHMETIC[op](left, right)


def _as_number(condition: NDArray[np.bool_]) -> Integers:
    return condition.astype(np.int64)
