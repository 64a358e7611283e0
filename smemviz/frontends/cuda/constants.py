"""The knobs of a ``.cu`` file: capitalised ``#define`` and ``constexpr`` with a number, and other numbers for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from smemviz.frontends.cuda.lexing import Lines, Token, code
from smemviz.frontends.cuda.values import UnreadableError, parse, value_of
from smemviz.frontends.numba.constants import Constant
from smemviz.recordings.dtypes import ConstantValue

_DEFINE = re.compile(r"#\s*define\s+([A-Z_][A-Z0-9_]*)(?!\()[ \t]+(.*)", re.DOTALL)
_NAME = re.compile(r"_?[A-Z][A-Z0-9_]*")
_COMMENT = re.compile(r"//.*|/\*.*?\*/", re.DOTALL)
_SPLICE = re.compile(r"\\\r?\n")


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
    for made in definitions(source):
        if made.name in constants:
            continue
        scope = {name: constant.value for name, constant in constants.items()}
        try:
            node = parse(made.text)
            value = overrides.get(made.name, value_of(node, scope))
        except UnreadableError:
            continue
        names = tuple(name for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", made.text)) if name in constants)
        constants[made.name] = Constant(made.name, value, type(value).__name__, made.line, made.text, names)
    return constants


def with_values(source: str, overrides: Mapping[str, ConstantValue]) -> str:
    """Return the text with other values for constants; no line moves."""
    for made in reversed(list(definitions(source))):
        if made.name in overrides:
            lines = "\n" * source.count("\n", made.start, made.end)
            source = source[: made.start] + _literal(overrides[made.name]) + lines + source[made.end :]
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
