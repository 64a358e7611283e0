"""The value of an expression that C++ computes before the program runs, and that Python can read too."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from smemviz.model.layout.operators import BINARY, COMPARE, UNARY
from smemviz.recordings.dtypes import ConstantValue

_SUFFIX = re.compile(
    r"(?<![\w.])((?:0[xX][0-9a-fA-F]+|\d[\d']*\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?))(?:[uUlL]+|[fF])\b"
)
_CAST = re.compile(r"(?<!sizeof)(?<!\w)\(\s*(?:unsigned\s+)?(?:int|unsigned|float|double|size_t|long|short|char)\s*\)")
_WORDS = {"&&": " and ", "||": " or ", "true": "True", "false": "False"}
_MOST_BITS = 64

SIZES = {
    **dict.fromkeys(("char", "int8_t", "uint8_t", "bool"), 1),
    **dict.fromkeys(("short", "half", "__half", "int16_t", "uint16_t"), 2),
    **dict.fromkeys(("int", "unsigned", "float", "int32_t", "uint32_t"), 4),
    **dict.fromkeys(("double", "long", "size_t", "int64_t", "uint64_t", "float2", "int2"), 8),
    **dict.fromkeys(("float4", "int4", "double2", "uint4"), 16),
}


class UnreadableError(Exception):
    """An expression that is none of those read here; its text says which part."""


def parse(text: str) -> ast.expr:
    """Read an expression of C++ as one of Python.

    Raises:
        UnreadableError: where it is not one of both.
    """
    text = _CAST.sub("", _SUFFIX.sub(lambda match: match[1].replace("'", ""), text))
    for word, python in _WORDS.items():
        text = text.replace(word, python) if not word.isalpha() else re.sub(rf"\b{word}\b", python, text)
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UnreadableError(text.strip()) from None


def value_of(node: ast.expr, scope: Mapping[str, ConstantValue], depth: int = 50) -> Any:
    """Compute an expression as C++ does: a quotient of integers is an integer.

    Raises:
        UnreadableError: naming what is not computed here.
    """
    match node:
        case ast.Constant(value=bool() | int() | float()):
            return node.value
        case ast.Name() if node.id in scope and not isinstance(scope[node.id], str):
            return scope[node.id]
        case ast.UnaryOp() if type(node.op) in UNARY and depth:
            return _bounded(UNARY[type(node.op)](value_of(node.operand, scope, depth - 1)), node)
        case ast.BinOp() if type(node.op) in _BINARY and depth:
            left, right = value_of(node.left, scope, depth - 1), value_of(node.right, scope, depth - 1)
            return _bounded(_computed(_BINARY[type(node.op)], node, left, right), node)
        case ast.Compare(ops=[op], comparators=[other]) if type(op) in COMPARE and depth:
            return COMPARE[type(op)](value_of(node.left, scope, depth - 1), value_of(other, scope, depth - 1))
        case ast.Call(func=ast.Name(id="sizeof"), args=[ast.Name(id=kind)]) if kind in SIZES:
            return SIZES[kind]
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _CALLS and depth:
            return _computed(_CALLS[name], node, *(value_of(argument, scope, depth - 1) for argument in node.args))
    raise UnreadableError(ast.unparse(node))


def _computed(call: Callable[..., Any], node: ast.expr, *values: float) -> Any:
    try:
        return call(*values)
    except (ArithmeticError, TypeError, ValueError):
        raise UnreadableError(ast.unparse(node)) from None


def _bounded(value: Any, node: ast.expr) -> Any:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise UnreadableError(ast.unparse(node))
    return value


def _quotient(a: float, b: float) -> float:
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return a / b


def _shift(a: int, b: int) -> int:
    if b > _MOST_BITS:
        raise OverflowError
    return a << b


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    **BINARY,
    ast.Div: _quotient,
    ast.Mod: lambda a, b: a - b * _quotient(a, b),
    ast.LShift: _shift,
}
_CALLS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "int": int, "float": float}
