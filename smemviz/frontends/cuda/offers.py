"""Launches that the host code of a file makes, as the comments that would make them, their sizes worked out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from smemviz.frontends.cuda.constants import SIZES, UnreadableError, parse, value_of
from smemviz.frontends.cuda.structures import Declared, Fields, declared
from smemviz.frontends.cuda.text.cuda_functions import Function, parts
from smemviz.frontends.cuda.text.lexing import Token, closing, code
from smemviz.recordings.vocabulary import ConstantValue

_ALLOCATED = re.compile(r"cudaMalloc(?:Managed)?\s*\(\s*(?:\(\s*void\s*\*\s*\*\s*\)\s*)?&\s*(\w+)\s*,([^;]+)\)\s*[;)]")
_AXES = "xyz"
_MANY = "1024"


class Host:
    """What the variables of a file's host code are, as far as they are computed here: numbers, ``dim3`` and bytes."""

    def __init__(self, source: str, scope: Mapping[str, ConstantValue]) -> None:
        self._constants, self._scope = scope, dict(scope)
        self._shapes: dict[str, list[int]] = {}
        self._bytes: dict[str, int] = {}
        tokens = code(source)
        for at, token in enumerate(tokens):
            following = tokens[at + 1].text if at + 1 < len(tokens) else ""
            if token.kind != "name" or token.text in self._scope or token.text in self._shapes:
                continue
            if at and tokens[at - 1].text == "dim3" and following in ("(", "{", "="):
                self._define_shape(source, tokens, at)
            elif following == "=":
                self._define_number(source, tokens, at)
        for name, size in _ALLOCATED.findall(source):
            if (nbytes := self.number(size)) is not None:
                self._bytes.setdefault(name, nbytes)

    def _define_shape(self, source: str, tokens: Sequence[Token], at: int) -> None:
        opening = next((i for i in range(at, len(tokens)) if tokens[i].text in ("(", "{", ";")), at)
        if tokens[opening].text in ("(", "{"):
            sizes = [self.number(text) for text in _texts(source, tokens[opening + 1 : closing(tokens, opening)])]
            if sizes and None not in sizes:
                self._shapes[tokens[at].text] = [size for size in sizes if size is not None]

    def _define_number(self, source: str, tokens: Sequence[Token], at: int) -> None:
        end = next((i for i in range(at, len(tokens)) if tokens[i].text in (";", ",", ")")), at + 2)
        value = self.number(source[tokens[at + 1].end : tokens[end].start])
        if value is not None:
            self._scope[tokens[at].text] = value

    def number(self, text: str) -> int | None:
        """Compute an expression, None where that cannot be done here or it is no integer."""
        for name, sizes in self._shapes.items():
            for axis, size in zip(_AXES, (*sizes, 1, 1), strict=False):
                text = re.sub(rf"\b{name}\s*\.\s*{axis}\b", str(size), text)
        try:
            value = value_of(parse(text), self._scope)
        except UnreadableError:
            return None
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def shape(self, text: str) -> str | None:
        """Write a grid or a block with its numbers, or as it is where constants say them."""
        text = " ".join(text.split())
        if text in self._shapes:
            return f"dim3({', '.join(map(str, self._shapes[text]))})"
        if match := re.fullmatch(r"dim3\s*[({](.*)[)}]", text, re.DOTALL):
            sizes = [self.written_number(part) for part in _texts(match[1], code(match[1]))]
            known = [size for size in sizes if size]
            return f"dim3({', '.join(known)})" if known and len(known) == len(sizes) else None
        return self.written_number(text)

    def written_number(self, text: str) -> str | None:
        """Write a number, as it is where constants say it; None where it is not known."""
        try:
            value_of(parse(text), self._constants)
        except UnreadableError:
            value = self.number(text)
            return None if value is None else str(value)
        return " ".join(text.split())

    def elements(self, name: str, kind: str) -> str:
        """Return how many elements an array of the host has, a usual number where that is not known."""
        nbytes = self._bytes.get(name)
        return str(nbytes // SIZES[kind]) if nbytes and kind in SIZES else _MANY


def launches_of_host(
    source: str, kernels: Mapping[str, Function], fields: Fields, scope: Mapping[str, ConstantValue]
) -> Iterator[tuple[Function, str]]:
    """Give each launch that host code makes: its kernel, and the launch with numbers; of a pointer every kernel."""
    host, tokens = Host(source, scope), code(source)
    for at, token in enumerate(tokens):
        launching = token.text == "<<<"
        stop = next((i for i in range(at, len(tokens)) if tokens[i].text == ">>>"), None) if launching else None
        if stop is None or stop + 1 >= len(tokens) or tokens[stop + 1].text != "(":
            continue
        end = closing(tokens, stop + 1)
        shape = [host.shape(text) for text in _texts(source, tokens[at + 1 : stop])][:3]
        given = _texts(source, tokens[stop + 2 : end])
        for name, called in _callees(source, tokens, at, kernels):
            sizes = [size or usual for size, usual in zip(shape, ("1", "32", "0"), strict=False)]
            text = ", ".join(written(kernels[name], fields, host, given))
            yield kernels[name], f"{called}<<<{', '.join(sizes)}>>>({text})"


def _callees(
    source: str, tokens: Sequence[Token], at: int, kernels: Mapping[str, Function]
) -> Iterator[tuple[str, str]]:
    """Give the kernels that may be launched at a ``<<<``, and how each is written there."""
    first = at - 1
    if first >= 0 and tokens[first].text == ">":
        first = next((i for i in range(first, -1, -1) if tokens[i].text == "<"), 1) - 1
    if first < 0:
        return
    name = tokens[first].text
    if name in kernels:
        yield name, "".join(source[tokens[first].start : tokens[at].start].split())
        return
    taken = re.findall(rf"\b{re.escape(name)}(?:\)\s*\([^()]*\))?\s*=\s*&?\s*(\w+)", source)
    yield from ((one, one) for one in dict.fromkeys(taken) if one in kernels)


def written(kernel: Function, fields: Fields, host: Host, given: Sequence[str]) -> list[str]:
    """Return arguments for a kernel: arrays for its pointers, what the host gives for its numbers."""
    return [
        written_as(declared(declaration), fields, host, given[number] if number < len(given) else "")
        for number, declaration in enumerate(kernel.declarations)
    ]


def written_as(parameter: Declared, fields: Fields, host: Host, given: str = "") -> str:
    """Return an argument for a parameter: an array, a structure of such values, or the number that is given."""
    if parameter.pointer or parameter.array:
        return f"zeros({host.elements(given, parameter.type)})"
    if known := fields(parameter.type):
        return f"{parameter.type}{{{', '.join(written_as(field, fields, host) for field in known)}}}"
    return (host.written_number(given) if given else None) or _MANY


def _texts(source: str, tokens: Sequence[Token]) -> list[str]:
    return [source[part[0].start : part[-1].end] for part in parts(tokens) if part]
