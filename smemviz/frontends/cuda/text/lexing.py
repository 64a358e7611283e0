"""The tokens of a CUDA C++ text, each with its place, or on a line of its own; nothing is preprocessed."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

Kind = Literal["comment", "text", "number", "name", "operator", "directive"]

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\f\v\r]+|\\\r?\n)
    |(?P<comment>//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/)
    |(?P<text>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')
    |(?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<operator><<<|>>>|<<=|>>=|->\*|\.\.\.|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.DOTALL | re.VERBOSE,
)
# A directive, and what may hide one.
_DIRECTIVE = re.compile(
    r"""^(?:[ \t\f\v\r]*/\*(?:[^*]|\*(?!/))*\*/)*(?P<directive>[ \t\f\v\r]*\#)
    |//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/
    |(?<!\w)(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+'
    |(?<!\w)\d(?:[eEpP][+-]|'?[\w.])*""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SPLICE = re.compile(r"\\\r?\n")
_CLOSING = {"{": "}", "(": ")", "[": "]"}


class Token(NamedTuple):
    """One token; ``start`` and ``end`` count characters of the text."""

    kind: Kind
    text: str
    start: int
    end: int


def scan(source: str) -> Iterator[Token]:
    """Give every token in order, comments and directives (a line that begins with #, with its continuations) too."""
    at, end = 0, len(source)
    while at < end:
        fresh, start = at == 0, at
        for match in _TOKEN.finditer(source, at):
            kind: Kind | Literal["blank"] = match.lastgroup  # type: ignore[assignment]
            begin, at = match.span()
            if kind == "blank":
                continue
            text = match[0]
            if text == "#" and fresh:
                at = _end_of_directive(source, begin)
                yield Token("directive", source[start:at], start, at)
                break
            if kind == "comment":
                start = at
            elif text.isspace():
                fresh, start = fresh or text == "\n", at
                continue
            else:
                fresh = False
            yield Token(kind, text, begin, at)


def directives(source: str) -> Iterator[Token]:
    """Give the directives of a text, as ``scan`` does, without looking at other tokens."""
    at = 0
    while (match := _DIRECTIVE.search(source, at)) is not None:
        start, at = match.start("directive"), match.end()
        if start >= 0:
            at = _end_of_directive(source, at)
            yield Token("directive", source[start:at], start, at)


def as_one_line(directive: Token) -> str:
    """Return a directive without comments, its continuations in its line."""
    return _COMMENT.sub(" ", _SPLICE.sub("", directive.text)).lstrip()


def code(source: str) -> list[Token]:
    """Return the tokens without comments."""
    return [token for token in scan(source) if token.kind != "comment"]


def closing(tokens: Sequence[Token], at: int) -> int:
    """Return the index of the token that closes the bracket at ``at``; the last token where none does."""
    opens, depth = tokens[at].text, 0
    closes = _CLOSING[opens]
    for index in range(at, len(tokens)):
        if tokens[index].kind == "operator":
            depth += (tokens[index].text == opens) - (tokens[index].text == closes)
            if depth == 0:
                return index
    return len(tokens) - 1


class Lines:
    """Where the lines of a text begin."""

    def __init__(self, source: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", source))]

    def place(self, at: int) -> tuple[int, int]:
        """Return line, from 1, and column, from 0, of a character."""
        line = bisect_right(self._starts, at)
        return line, at - self._starts[line - 1]

    def at(self, line: int, column: int) -> int:
        """Return which character of the text a place is."""
        return self._starts[line - 1] + column


def _end_of_directive(source: str, at: int) -> int:
    while True:
        stop = source.find("\n", at)
        if stop < 0:
            return len(source)
        if not source.endswith(("\\", "\\\r"), at, stop):
            return stop
        at = stop + 1


class Place(NamedTuple):
    """Where a token stands in the text that was written: line from 1, column from 0."""

    line: int
    column: int


def one_token_a_line(source: str) -> tuple[str, tuple[Place, ...]]:
    """Return the text with one token on each line, and the place of each of these lines in the text as it was.

    A directive keeps its lines, comments go.
    """
    lines = Lines(source)
    tokens: list[str] = []
    places: list[Place] = []
    for token in scan(source):
        if token.kind == "comment":
            continue
        line, column = lines.place(token.start)
        for number, part in enumerate(token.text.split("\n")):
            tokens.append(part)
            places.append(Place(line + number, 0 if number else column))
    return "\n".join(tokens) + "\n", tuple(places)
