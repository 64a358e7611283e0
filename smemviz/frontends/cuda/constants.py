"""The knobs of a ``.cu`` file: capitalised ``#define`` and ``constexpr`` with a number, and other numbers for them.

The value of an expression that C++ computes before the program runs is computed here where Python can read it too.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from smemviz.frontends.cuda.text.lexing import Lines, Token, code
from smemviz.frontends.program import Constant
from smemviz.model.layout.formulas import BINARY, COMPARE, UNARY
from smemviz.recordings.vocabulary import ConstantValue

_DEFINE = re.compile(r"#\s*define\s+([A-Z_][A-Z0-9_]*)(?!\()[ \t]+(.*)", re.DOTALL)
_NAME = re.compile(r"_?[A-Z][A-Z0-9_]*")
_COMMENT = re.compile(r"//.*|/\*.*?\*/", re.DOTALL)
_SPLICE = re.compile(r"\\\r?\n")
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


@dataclass(frozen=True)
class Definition:
    """The text of a constant's value, and which characters of the file it is."""

    name: str
    text: str
    line: int
    start: int
    end: int


def read_constants(source: str, overrides: Mapping[str, ConstantValue]) -> dict[str, Constant]:
    """Return the knobs in order of the file, with other values for some; of several definitions the first counts."""
    constants: dict[str, Constant] = {}
    for defined in definitions(source):
        if defined.name in constants:
            continue
        scope = {name: constant.value for name, constant in constants.items()}
        try:
            node = parse(defined.text)
            value = overrides.get(defined.name, value_of(node, scope))
        except UnreadableError:
            continue
        names = tuple(name for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", defined.text)) if name in constants)
        constants[defined.name] = Constant(defined.name, value, type(value).__name__, defined.line, defined.text, names)
    return constants


def with_values(source: str, overrides: Mapping[str, ConstantValue]) -> str:
    """Return the text with other values for constants; no line moves."""
    for defined in reversed(list(definitions(source))):
        if defined.name in overrides:
            lines = "\n" * source.count("\n", defined.start, defined.end)
            source = source[: defined.start] + _literal(overrides[defined.name]) + lines + source[defined.end :]
    return source


def _literal(value: ConstantValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"({value!r})" if isinstance(value, int | float) and value < 0 else repr(value)


def definitions(source: str) -> Iterator[Definition]:
    """Give the definitions of constants in order of the text."""
    lines = Lines(source)
    tokens = code(source)
    for at, token in enumerate(tokens):
        if token.kind == "directive":
            yield from _defined(token, lines)
        elif token.text in ("constexpr", "const"):
            yield from _declared(tokens, at, source, lines)


def _defined(token: Token, lines: Lines) -> Iterator[Definition]:
    match = _DEFINE.match(token.text)
    if match and not _SPLICE.search(token.text):
        text = _COMMENT.sub("", match[2]).strip()
        if text:
            start = token.start + match.start(2)
            yield Definition(match[1], text, lines.place(token.start)[0], start, start + len(match[2].rstrip()))


def _declared(tokens: list[Token], at: int, source: str, lines: Lines) -> Iterator[Definition]:
    """Give the constants of ``constexpr int NAME = value, OTHER = value;`` that stands at a token."""
    depth = 0
    index = at + 1
    while index + 2 < len(tokens) and tokens[index].text not in (";", "(", "{", ")", "}"):
        name = tokens[index]
        if name.kind == "name" and _NAME.fullmatch(name.text) and tokens[index + 1].text == "=":
            first = last = index + 2
            while last < len(tokens) and (depth or tokens[last].text not in (";", ",")):
                depth += tokens[last].text in ("(", "[", "{")
                depth -= tokens[last].text in (")", "]", "}")
                last += 1
            if last > first:
                start, end = tokens[first].start, tokens[last - 1].end
                yield Definition(name.text, source[start:end], lines.place(name.start)[0], start, end)
            index = last - 1  # what ends it is looked at next: a comma goes on, a semicolon does not
        index += 1


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
