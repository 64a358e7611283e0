"""The tokens of a CUDA C++ text, each with its place, or on a line of its own; nothing is preprocessed."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

Kind = Literal["comment", "text", "number", "name", "operator", "directive"]

_TOKEN = re.compile(
    r"""(?P<comment>//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/)
    |(?P<text>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')
    |(?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<operator><<<|>>>|<<=|>>=|->\*|\.\.\.|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.DOTALL | re.VERBOSE,
)
_BLANK = re.compile(r"[ \t\f\v\r]*")
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
    at, fresh, end = 0, True, len(source)
    while at < end:
        blank = _BLANK.match(source, at)
        assert blank is not None
        if fresh and source.startswith("#", blank.end()):
            stop = _end_of_directive(source, blank.end())
            yield Token("directive", source[at:stop], at, stop)
            at, fresh = stop, False
        elif source[at] == "\n":
            at, fresh = at + 1, True
        elif source[at].isspace():
            at += 1
        elif source.startswith(("\\\n", "\\\r\n"), at):
            at = source.index("\n", at) + 1
        else:
            match = _TOKEN.match(source, at)
            assert match is not None, "an operator is any character"
            kind: Kind = next(k for k in ("comment", "text", "number", "name", "operator") if match[k] is not None)
            yield Token(kind, match[0], at, match.end())
            at = match.end()
            fresh = fresh and kind == "comment"


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
        if not source[:stop].removesuffix("\r").endswith("\\"):
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
