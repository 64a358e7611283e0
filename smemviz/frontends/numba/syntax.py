"""What is asked of syntax trees again and again: parameters, names that are assigned, values of constant expressions.

``evaluate`` is a small safe evaluator: numbers, arithmetic, names already known, dtype names and a few pure
functions. It never calls into the program, and what it makes is bounded: the text may come from anywhere.
"""

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from smemviz.frontends.program import MAX_BITS
from smemviz.model.layout.formulas import BINARY, COMPARE, UNARY
from smemviz.recordings.vocabulary import DTYPES


def positional(function: ast.FunctionDef) -> list[str]:
    """Return the parameters of a function that a call gives by their place."""
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]


def parameters(function: ast.FunctionDef) -> list[str]:
    """Return the parameters of a function, those that a call has to name and those with stars included."""
    starred = (argument for argument in (function.args.vararg, function.args.kwarg) if argument)
    return [*positional(function), *(argument.arg for argument in (*function.args.kwonlyargs, *starred))]


def stored(node: ast.AST) -> Iterator[str]:
    """Give the names that a piece of code assigns, each as often as it does."""
    return (part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))


def item_sources(source: ast.expr, count: int) -> list[ast.expr]:
    """Return what each of several targets is given: the items of a tuple that are written out, else all of it."""
    if isinstance(source, ast.Tuple) and not any(isinstance(item, ast.Starred) for item in source.elts):
        return source.elts if len(source.elts) == count else [source] * count
    return [source] * count


_MAX_DEPTH = 50
_MAX_DIGITS = 400


class DtypeName(str):
    """The name of a dtype, told apart from other text."""


def _bounded_power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and abs(a).bit_length() * max(b, 0) > MAX_BITS:
        raise OverflowError
    return a**b


def _bounded_shift(a: int, b: int) -> int:
    if b > MAX_BITS:
        raise OverflowError
    return a << b


def _bounded_round(value: float, digits: int | None = None) -> Any:
    if digits is not None and abs(digits) > _MAX_DIGITS:
        raise OverflowError
    return round(value, digits)


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    **BINARY,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _bounded_power,
    ast.LShift: _bounded_shift,
}
_CALLS: dict[str, Callable[..., Any]] = {
    "int": int,
    "float": float,
    "abs": abs,
    "min": min,
    "max": max,
    "round": _bounded_round,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.sqrt": math.sqrt,
    "math.gcd": math.gcd,
    "math.log2": math.log2,
}
_NUMBERS = {"math.pi": math.pi, "math.e": math.e}


def dotted_name(node: ast.expr) -> str:
    """Return ``a.b.c`` for a chain of attributes on a name, else an empty string."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def evaluate(node: ast.expr, scope: Mapping[str, object]) -> object:
    """Evaluate a constant expression; ``None`` for anything that is not one."""
    if _nests_deeper(
        node, _MAX_DEPTH
    ):  # in a branch not taken, too: whoever shows the expression goes through all of it
        return None
    try:
        return _evaluate(node, scope)
    except (_NotConstantError, ArithmeticError, TypeError, ValueError):
        return None


class _NotConstantError(Exception):
    pass


def _nests_deeper(node: ast.expr, depth: int) -> bool:
    level: list[ast.AST] = [node]
    while level and depth:
        level, depth = [child for node in level for child in ast.iter_child_nodes(node)], depth - 1
    return bool(level)


def _evaluate(node: ast.expr, scope: Mapping[str, object]) -> Any:
    value = _worth(node, scope)
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise OverflowError
    return value


def _worth(node: ast.expr, scope: Mapping[str, object]) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float()):
            return node.value
        case ast.Name() | ast.Attribute():
            name = dotted_name(node)
            if name in scope:
                return scope[name]
            if name in _NUMBERS:
                return _NUMBERS[name]
            last = name.rpartition(".")[2]
            if last in DTYPES:
                return DtypeName(last)
        case ast.BinOp() if type(node.op) in _BINARY:
            return _BINARY[type(node.op)](_number_of(node.left, scope), _number_of(node.right, scope))
        case ast.UnaryOp():
            return UNARY[type(node.op)](_number_of(node.operand, scope))
        case ast.IfExp():
            return _evaluate(node.body if _evaluate(node.test, scope) else node.orelse, scope)
        case ast.Compare(ops=[op], comparators=[right]) if type(op) in COMPARE:
            return COMPARE[type(op)](_evaluate(node.left, scope), _evaluate(right, scope))
        case ast.Call(keywords=[]) if dotted_name(node.func) in _CALLS:
            return _CALLS[dotted_name(node.func)](*(_number_of(a, scope) for a in node.args))
    raise _NotConstantError


def _number_of(node: ast.expr, scope: Mapping[str, object]) -> Any:
    """Evaluate an operand, which is a number: a dtype's name is text to Python, and grows when it is multiplied."""
    value = _evaluate(node, scope)
    if isinstance(value, str):
        raise _NotConstantError
    return value
