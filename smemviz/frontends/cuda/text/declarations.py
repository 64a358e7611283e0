"""The declarations of a text outside functions and classes: what each declares, what it uses, for which processor."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from smemviz.frontends.cuda.text.lexing import Token, closing, directives, scan

SPECIFIERS = {"__global__", "__device__", "__constant__", "__shared__", "__managed__", "__host__"}
_ON_DEVICE = SPECIFIERS - {"__host__"} | {"constexpr"}
ATTRIBUTES = {"__launch_bounds__", "__align__", "__attribute__", "__cluster_dims__", "alignas", "decltype", "noexcept"}
ACCESS = {"public", "private", "protected"}
_CLASSES = ("struct", "class", "union", "enum")
_DEFINE = re.compile(r"\s*#\s*define\s+(\w+)(.*)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")

Kind = Literal["kernel", "device", "host", "other"]  # host: a function that no kernel can call


@dataclass(frozen=True)
class Declaration:
    """One declaration: its first character and the one after its last, the names it declares, and all in it."""

    start: int
    end: int
    kind: Kind
    names: frozenset[str]
    uses: frozenset[str]
    words: tuple[str, ...]  # outside brackets


def macros_of(texts: Iterable[str]) -> dict[str, set[str]]:
    """Return the words in what each macro of some texts stands for."""
    macros: dict[str, set[str]] = {}
    for text in texts:
        for token in directives(text):
            if match := _DEFINE.match(token.text):
                macros.setdefault(match[1], set()).update(_WORD.findall(match[2]))
    return macros


def specifiers_of(macros: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the macros that stand for ``__device__`` and its like, with what they stand for."""
    return {name: words & SPECIFIERS for name, words in macros.items() if words & SPECIFIERS}


@lru_cache(maxsize=1)  # a text is read twice, for both below
def _tokens(source: str) -> list[Token]:
    return [token for token in scan(source) if token.kind not in ("comment", "directive")]


def declarations(source: str, specifiers: Mapping[str, set[str]]) -> Iterator[Declaration]:
    """Give the declarations of a text, those in namespaces one by one."""
    tokens = _tokens(source)
    yield from _Reader(tokens, specifiers).declarations(0, len(tokens))


def host_members(source: str, specifiers: Mapping[str, set[str]]) -> Iterator[Declaration]:
    """Give the functions in classes that no kernel can call."""
    tokens = _tokens(source)
    yield from _Reader(tokens, specifiers).host_members(0, len(tokens))


def angle(tokens: Sequence[Token], at: int) -> int:
    """Return the number of the token that closes the ``<`` at ``at``."""
    depth = 0
    while at < len(tokens):
        text = tokens[at].text
        depth += (text == "<") - (text.count(">") if text in (">", ">>", ">>>") else 0)
        if depth <= 0:
            return at
        at = closing(tokens, at) + 1 if text == "(" else at + 1
    return len(tokens) - 1


class _Reader:
    def __init__(self, tokens: Sequence[Token], specifiers: Mapping[str, set[str]]) -> None:
        self.tokens = tokens
        self.specifiers = specifiers

    def declarations(self, at: int, end: int) -> Iterator[Declaration]:
        yield from (read.declaration() for read in self.read(at, end))

    def host_members(self, at: int, end: int, *, in_class: bool = False) -> Iterator[Declaration]:
        for read in self.read(at, end):
            declaration = read.declaration()
            if read.body is not None:
                yield from self.host_members(read.body + 1, closing(self.tokens, read.body), in_class=True)
            elif in_class and declaration.kind == "host" and self.tokens[read.at].text == "}":
                yield declaration

    def read(self, at: int, end: int) -> Iterator[_One]:
        """Read the declarations from a token to another, those in namespaces one by one."""
        while at < end:
            if self.tokens[at].text in (";", "}") or self._is_access(at, end):
                at += 1 if self.tokens[at].text in (";", "}") else 2
                continue
            inner = self._inner(at, end)
            if inner is not None:
                yield from self.read(inner + 1, last := closing(self.tokens, inner))
                at = last + 1
                continue
            read = _One(self, at, end)
            yield read
            at = read.at + 1

    def _is_access(self, at: int, end: int) -> bool:
        return self.tokens[at].text in ACCESS and at + 1 < end and self.tokens[at + 1].text == ":"

    def _inner(self, at: int, end: int) -> int | None:
        """Return the ``{`` of a namespace, or of ``extern "C"``, that begins here."""
        if self.tokens[at].text == "extern" and at + 2 < end and self.tokens[at + 2].text == "{":
            return at + 2
        first = at + 1 if self.tokens[at].text == "inline" else at
        if first < end and self.tokens[first].text == "namespace":
            for index in range(first, end):
                if self.tokens[index].text in ("{", "=", ";"):
                    return index if self.tokens[index].text == "{" else None
        return None


class _One:
    """Reads one declaration; ``at`` is its last token then."""

    def __init__(self, reader: _Reader, start: int, end: int) -> None:
        self.tokens, self.specifiers = reader.tokens, reader.specifiers
        self.start, self.at, self.end = start, start, end
        self.words: list[str] = []
        self.names: set[str] = set()
        self.is_class = self.assigned = False
        self.parameters: int | None = None  # the ( of a function
        self.body: int | None = None  # the { of a class
        while self.at < end and not self._step():
            pass
        self.at = min(self.at, end - 1)

    def declaration(self) -> Declaration:
        inside = self.tokens[self.start : self.at + 1]
        uses = frozenset(token.text for token in inside if token.kind == "name")
        return Declaration(
            inside[0].start, inside[-1].end, self._kind(), frozenset(self.names), uses, tuple(self.words)
        )

    def _kind(self) -> Kind:
        specified = set(self.words) | {word for name in self.words for word in self.specifiers.get(name, ())}
        if "__global__" in specified:
            return "kernel"
        if _ON_DEVICE & specified:
            return "device"
        is_value = "const" in specified and self.tokens[self.at].text == ";"  # const float two(2.0f);
        is_function = self.parameters is not None and not self.assigned and not is_value
        return "host" if is_function and not self.is_class and not {"using", "typedef"} & specified else "other"

    def _step(self) -> bool:
        """Go on by a token or a bracket; tell whether the declaration ends here."""
        token, before = self.tokens[self.at], self.tokens[self.at - 1]
        text = token.text
        following = self.tokens[self.at + 1].text if self.at + 1 < self.end else ""
        if text == "<" and self.words[-1:] == ["template"]:
            self.at = angle(self.tokens, self.at)
        elif text in ATTRIBUTES:
            self.at = closing(self.tokens, self.at + 1) if following == "(" else self.at
        elif text == ";":
            return True
        elif text in ("(", "["):
            if before.kind == "name" and not self.assigned and (text == "[" or self.parameters is None):
                self.names.add(before.text)
            if text == "(" and self.parameters is None and not self.assigned and self.words[-1:] != ["operator"]:
                self.parameters = self.at
            self.at = closing(self.tokens, self.at)
        elif text == "{":
            return self._braces(before)
        else:
            self._word(token, following)
        self.at += 1
        return False

    def _braces(self, before: Token) -> bool:
        last = closing(self.tokens, self.at)
        if "enum" in self.words:
            self.names |= {token.text for token in self.tokens[self.at : last] if token.kind == "name"}
        is_initial = self._initializes(last)
        ends = self.parameters is not None and not self.assigned and not is_initial
        ends = ends and not (self.is_class and before.text != ")")
        if self.is_class and self.parameters is None and not self.assigned and "enum" not in self.words:
            self.body = self.at
        self.at = last if ends else last + 1
        return ends

    def _initializes(self, last: int) -> bool:
        """Tell whether the braces up to ``last`` hold the initial value of a member of a class."""
        return ":" in self.words and self.tokens[last + 1].text in ("{", ",") if last + 1 < self.end else False

    def _word(self, token: Token, following: str) -> None:
        if token.text == "=":
            self.assigned = self.assigned or self.words[-1:] != ["operator"]
        elif token.text in _CLASSES and self.parameters is None and not self.assigned:
            self.is_class = True
            self._name_class()
        is_first = not self.assigned or self.tokens[self.at - 1].text == ","  # int A = 1, B = 2;
        if token.kind == "name" and following in (",", ";", "=", "{") and is_first:
            self.names.add(token.text)
        self.words.append(token.text)

    def _name_class(self) -> None:
        after = self.at + 1
        while after < self.end and (
            self.tokens[after].text in (*_CLASSES, *ATTRIBUTES) or self.tokens[after].text.startswith("__")
        ):
            after = closing(self.tokens, after + 1) + 1 if self.tokens[after + 1].text == "(" else after + 1
        if after < self.end and self.tokens[after].kind == "name":
            self.names.add(self.tokens[after].text)
