"""The shared arrays that a text declares, as they are written: names, and what stands in their brackets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from smemviz.frontends.cuda.lexing import Token, closing

Span = tuple[int, int]  # first character, and the one after the last


@dataclass(frozen=True)
class Declarator:
    """One name of a declaration, and the characters in each of its brackets."""

    name: Token
    extents: tuple[Span, ...]

    @property
    def dynamic(self) -> bool:
        """Whether the launch says how large it is: a bracket is empty."""
        return any(start == end for start, end in self.extents)


@dataclass(frozen=True)
class SharedStatement:
    """A declaration of shared memory: ``first`` and ``last`` number its tokens, ``__shared__`` and the semicolon."""

    first: int
    last: int
    declarators: tuple[Declarator, ...]


def shared_statements(tokens: Sequence[Token]) -> Iterator[SharedStatement]:
    """Give the declarations of shared memory in order."""
    for first, token in enumerate(tokens):
        if token.text == "__shared__":
            last = _semicolon(tokens, first)
            yield SharedStatement(first, last, tuple(_declarators(tokens[first + 1 : last])))


def _semicolon(tokens: Sequence[Token], first: int) -> int:
    """Return the number of the semicolon that ends a declaration, which may declare the members of a class too."""
    index = first
    while index < len(tokens) and tokens[index].text != ";":
        index = closing(tokens, index) + 1 if tokens[index].text == "{" else index + 1
    return index if index < len(tokens) else first


def _behind_class(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return what is behind a class that a declaration declares: the names of what is of it."""
    for index, token in enumerate(tokens):
        if token.text == "{" and any(word.text in ("struct", "union", "class") for word in tokens[:index]):
            return tokens[closing(tokens, index) + 1 :]
        if token.text in ("=", "["):
            break
    return tokens


def _declarators(tokens: Sequence[Token]) -> Iterator[Declarator]:
    tokens = _behind_class(tokens)
    name: Token | None = None
    extents: list[Span] = []
    depth, done, index = 0, False, 0
    while index < len(tokens):
        token, text = tokens[index], tokens[index].text
        if depth == 0 and text == ",":
            if name:
                yield Declarator(name, tuple(extents))
            name, extents, done = None, [], False
        elif depth == 0 and text in ("=", "{"):
            done = True
        elif depth == 0 and text == "[" and not done:
            end = closing(tokens, index)
            inner = tokens[index + 1 : end]
            extents.append((inner[0].start, inner[-1].end) if inner else (token.end, token.end))
            index = end + 1
            continue
        elif depth == 0 and token.kind == "name" and not done and not extents:
            name = token
        if token.kind == "operator":
            depth += (text in "([{<") - (text in ")]}>") - 2 * (text == ">>")
        index += 1
    if name:
        yield Declarator(name, tuple(extents))
