"""A file that PTX names, and from a line of it, or a token, back to the text: its place, access and function."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

from smemviz.frontends.cuda.text.cuda_functions import Function, find_functions
from smemviz.frontends.cuda.text.lexing import Lines, Place, closing, code

_FARTHEST = 80  # tokens before a token in which the [ that it stands in is looked for
_KEYWORDS = ("return", "case", "else", "do", "throw", "sizeof")


@dataclass(frozen=True)
class Text:
    """A file that PTX names: its name, its text, the lines that the compiler saw, and the place of each of these.

    ``file`` is empty for the file of the program itself.
    """

    file: str
    source: str
    lines: str = ""
    places: tuple[Place, ...] = ()

    def place(self, line: int) -> Place | None:
        """Return the place of a line that PTX names, None where it names none."""
        return self.places[line - 1] if 0 < line <= len(self.places) else None

    def access(self, line: int, op: str = "load") -> Access | None:
        """Return the access that a line belongs to; where none is seen, the token itself."""
        place = self.place(line)
        if place is None:
            return None
        return self._accesses.at(*place, op=op) or Access("", "", *place, *place)

    def function(self, line: int, column: int) -> Function | None:
        """Return the function that a place lies in."""
        at = self._accesses.lines.at(line, column)
        return next((function for function in self._functions if function.start <= at < function.end), None)

    @cached_property
    def _accesses(self) -> Accesses:
        return Accesses(self.source)

    @cached_property
    def _functions(self) -> tuple[Function, ...]:
        return find_functions(self.source)


@dataclass(frozen=True)
class Access:
    """An expression that touches memory: the array's name as it is written, the text, and where it stands."""

    array: str
    source: str
    line: int
    column: int
    end_line: int
    end_column: int


class Accesses:
    """Finds the accesses of a text."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.lines = Lines(source)
        self._tokens = [token for token in code(source) if token.kind != "directive"]
        self._starts = [token.start for token in self._tokens]

    def at(self, line: int, column: int, *, op: str = "load") -> Access | None:
        """Return the subscript, dereference or call that the token at a place belongs to.

        A copy of a structure is at the place of what it copies; a store is what stands before the =.
        """
        start = self.lines.at(line, column)
        at = bisect_left(self._starts, start)
        if at == len(self._starts) or self._starts[at] != start:
            return None
        bracket = at if self._text(at) == "[" else self._bracket_around(at)
        is_call = self._text(at + 1) == "(" and op not in ("load", "store")
        of_index = bracket is not None and not is_call and not self._is_dereferenced(at)
        first, last, array = self._subscript(bracket) if of_index and bracket is not None else self._other(at)
        if op == "store" and self._text(first - 1) == "=":
            last = first - 2
            first, array = self._beginning(last)
            first -= self._is_dereferenced(first)
        begin, end = self._tokens[first].start, self._tokens[last].end
        (from_line, from_column), (to_line, to_column) = self.lines.place(begin), self.lines.place(end)
        text = " ".join(self._source[begin:end].split())
        return Access(array, text, from_line, from_column, to_line, to_column)

    def _text(self, at: int) -> str:
        return self._tokens[at].text if 0 <= at < len(self._tokens) else ""

    def _is_operand(self, at: int) -> bool:
        """Whether a token ends an operand, so that a * behind it multiplies."""
        ends = 0 <= at < len(self._tokens) and self._tokens[at].kind in ("name", "number")
        return (ends and self._text(at) not in _KEYWORDS) or self._text(at) in (")", "]")

    def _is_dereferenced(self, at: int) -> bool:
        return self._text(at - 1) == "*" and not self._is_operand(at - 2)

    def _bracket_around(self, at: int) -> int | None:
        """Return the innermost [ whose brackets a token stands in, or the ( of a pointer that is dereferenced."""
        depth = 0
        for index in range(at - 1, max(-1, at - _FARTHEST), -1):
            text = self._text(index)
            if text in (")", "]", "}"):
                depth += 1
            elif text in ("(", "[", "{"):
                if depth == 0 and (text != "(" or self._is_dereferenced(index)):
                    return None if text == "{" else index
                depth = max(0, depth - 1)
            elif text == ";":
                return None
        return None

    def _subscript(self, bracket: int) -> tuple[int, int, str]:
        """Return the first and last token of a subscript with all its brackets, or of *(...), and the array's name."""
        if self._text(bracket) == "(":
            return bracket - 1, closing(self._tokens, bracket), ""
        last = bracket
        while self._text(last) == "[":
            last = closing(self._tokens, last) + 1
        last -= 1
        while self._text(last + 1) == "." and self._tokens[last + 2].kind == "name" and self._text(last + 3) != "(":
            last += 2
        first, array = self._beginning(bracket - 1)
        return first, last, array

    def _beginning(self, last: int) -> tuple[int, str]:
        """Return the first token of an operand, such as ``s.of[1].x``, and the last name in it."""
        first, name = last, ""
        while True:
            while self._text(first) in ("]", ")"):
                first = self._opening(first) - 1
            if self._text(first) == ">":  # of a cast, whose name stands before it
                return self._opening(first) - 1, name
            if self._tokens[first].kind != "name" or self._text(first) in _KEYWORDS:
                return first + 1, name
            name = name or self._text(first)
            if self._text(first - 1) not in (".", "->", "::"):
                return first, name
            first -= 2

    def _other(self, at: int) -> tuple[int, int, str]:
        """Return the tokens of a call, of a dereference, or of what stands there alone."""
        if self._text(at + 1) == "(":
            return at, closing(self._tokens, at + 1), ""
        if self._is_dereferenced(at):
            return at - 1, at, self._text(at)
        return at, at, self._text(at) if self._tokens[at].kind == "name" else ""

    def _opening(self, at: int) -> int:
        closes, depth = self._text(at), 0
        opens = {"]": "[", ")": "(", ">": "<"}[closes]
        while at > 0:
            depth += (self._text(at) == closes) - (self._text(at) == opens)
            if depth == 0:
                return at
            at -= 1
        return 0
