"""The shared arrays that a source of CUDA C++ declares, as far as its text tells sizes without a compiler."""

import math
from collections.abc import Iterator, Mapping
from itertools import accumulate

from smemviz.frontends.cuda.constants import UnreadableError, parse, read_constants, value_of
from smemviz.frontends.cuda.shapes import Element, SharedDeclaration, SharedStatement, shared_statements
from smemviz.frontends.cuda.text.cuda_functions import Function, find_functions
from smemviz.frontends.cuda.text.lexing import Lines, Token, code
from smemviz.recordings.vocabulary import ConstantValue

_ELEMENTS = {
    **{name: Element("float16", 1, 2) for name in ("half", "__half")},
    **{name: Element("int8", 1, 1) for name in ("char", "int8_t")},
    **{name: Element("int32", 1, 4) for name in ("int", "int32_t")},
    **{name: Element("uint32", 1, 4) for name in ("unsigned", "uint32_t")},
    **{f"float{n}": Element("float32", n, 4 * n) for n in (2, 3, 4)},
    **{f"int{n}": Element("int32", n, 4 * n) for n in (2, 3, 4)},
    "float": Element("float32", 1, 4),
    "double": Element("float64", 1, 8),
    "uint8_t": Element("uint8", 1, 1),
    "short": Element("int16", 1, 2),
    "double2": Element("float64", 2, 16),
}


def declared_shared(source: str) -> tuple[SharedDeclaration, ...]:
    """Return the declarations of a source whose type and sizes are plain; who uses one compares it with the PTX's."""
    tokens, functions, lines = code(source), find_functions(source), Lines(source)
    scope = {name: constant.value for name, constant in read_constants(source, {}).items()}
    return tuple(
        declaration
        for statement in shared_statements(tokens)
        for declaration in _declarations(statement, tokens, functions, lines, scope, source)
    )


def _declarations(
    statement: SharedStatement,
    tokens: list[Token],
    functions: tuple[Function, ...],
    lines: Lines,
    scope: Mapping[str, ConstantValue],
    source: str,
) -> Iterator[SharedDeclaration]:
    words = [token.text for token in tokens[statement.first + 1 : statement.last]]
    element = next((_ELEMENTS[word] for word in words if word in _ELEMENTS), None)
    if element is None or not {"long", "short", "unsigned"}.isdisjoint(words[1:]):
        return
    at = tokens[statement.first].start
    function = next((one.name for one in functions if one.body < at < one.end), "")
    for declarator in statement.declarators:
        try:
            extents = [value_of(parse(source[a:b]), scope) for a, b in declarator.extents if a < b]
        except UnreadableError:
            continue
        sizes = [element.size * size for size in accumulate([1, *extents[::-1]], lambda a, b: a * b)][::-1]
        line = lines.place(declarator.name.start)[0]
        if math.prod(extents) > 0:
            yield SharedDeclaration("", function, declarator.name.text, line, declarator.dynamic, element, tuple(sizes))
