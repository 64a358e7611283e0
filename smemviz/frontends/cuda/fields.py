"""The fields of structures, as their definitions say them: names for what a launch passes by value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from smemviz.frontends.cuda.text.cuda_functions import parts
from smemviz.frontends.cuda.text.lexing import Token, closing, code

_KINDS = ("struct", "class")
_OF_NO_FIELD = {"static", "typedef", "using", "friend", "enum", "template", "static_assert", "operator"}
_NO_TYPES = {"const", "volatile", "__restrict__", "__restrict", "__grid_constant__", "typename", *_KINDS}
_BEHIND_NAME = {"{", ";", ":", ")", ",", ">", "="}
_VECTOR = {f"{kind}{n}": n for kind in ("float", "double", "int", "uint", "half") for n in (2, 3, 4)}


@dataclass(frozen=True)
class Declared:
    """What a parameter or a field is declared as: its name, the last word of its type, a pointer or an array of it."""

    name: str
    type: str
    pointer: bool = False
    array: bool = False


# The fields of a type by its name, none where they are not known.
Fields = Callable[[str], tuple[Declared, ...]]


def fields_of(source: str) -> Fields:
    """Return what tells the fields of the structures that a text defines; those with bases or unions are not known."""
    tokens = code(source)

    def fields(name: str) -> tuple[Declared, ...]:
        if name in _VECTOR:
            return tuple(Declared(letter, name.rstrip("234")) for letter in "xyzw"[: _VECTOR[name]])
        body = next(_bodies(tokens, name), None)
        return _fields(body) if body is not None else ()

    return fields


def declared(tokens: Sequence[Token]) -> Declared:
    """Return what a parameter's tokens, or those of a field with one name, say."""
    end = next((i for i, token in enumerate(tokens) if token.text in ("=", "{", "[")), len(tokens))
    names = [i for i, token in enumerate(tokens[:end]) if token.kind == "name" and token.text not in _NO_TYPES]
    if not names:
        return Declared("", "")
    last = names[0]
    while last + 2 < end and tokens[last + 1].text == "::":
        last += 2
    pointer = any(token.text == "*" for token in tokens[:end])
    array = end < len(tokens) and tokens[end].text == "["
    return Declared(tokens[names[-1]].text if names[-1] > last else "", tokens[last].text, pointer, array)


def _bodies(tokens: Sequence[Token], name: str) -> Iterator[Sequence[Token]]:
    """Give what is between the braces of the structures of a name that have no bases."""
    for at, token in enumerate(tokens):
        if token.text not in _KINDS:
            continue
        start = at + 1
        while start < len(tokens) and tokens[start].text not in _BEHIND_NAME:
            start = closing(tokens, start) + 1 if tokens[start].text == "(" else start + 1
        if start == len(tokens) or tokens[start].text != "{":
            continue
        last = closing(tokens, start)
        named = [word.text for word in tokens[at + 1 : start]]
        if at and tokens[at - 1].text == "typedef":
            named += [word.text for word in tokens[last + 1 : last + 2]]
        if name in named:
            yield tokens[start + 1 : last]


def _fields(body: Sequence[Token]) -> tuple[Declared, ...]:
    fields: list[Declared] = []
    for statement in _statements(body):
        words = [token.text for token in statement]
        if "union" in words:
            return ()
        if _OF_NO_FIELD & set(words) or "(" in words[: words.index("=") if "=" in words else len(words)]:
            continue
        first, *others = parts(statement)
        fields.append(declared(first))
        for other in others:
            name = next(token.text for token in other if token.kind == "name")
            array = any(token.text == "[" for token in other)
            fields.append(Declared(name, fields[-1].type, other[0].text == "*", array))
    return tuple(field for field in fields if field.name)  # a structure declared inside is none


def _statements(body: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Divide the body of a class at semicolons, and behind the braces of functions; labels go."""
    start = at = 0
    while at < len(body):
        text = body[at].text
        if text == ":" and at - start == 1 and body[start].text in ("public", "private", "protected"):
            start = at + 1
        elif text in ("(", "[", "{"):
            before = {token.text for token in body[start:at]}
            at = closing(body, at)
            if text == "{" and "(" in before and "=" not in before:
                start = at + 1
        elif text == ";":
            if at > start:
                yield body[start:at]
            start = at + 1
        at += 1
