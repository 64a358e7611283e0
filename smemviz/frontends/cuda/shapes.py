"""Shared arrays as a text declares them, and their sizes and element types and those of parameters, as compiled.

Comments that are put into its PTX say them; that is right for templates and for sizes computed in any way, which no
reader of the text would be.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from smemviz.frontends.cuda.sources import Text
from smemviz.frontends.cuda.text.cuda_functions import find_functions
from smemviz.frontends.cuda.text.lexing import Lines, Token, closing, code

_KINDS = {
    1: ("float", "double"),
    2: ("signed char", "short", "int", "long", "long long"),
    3: ("unsigned char", "unsigned short", "unsigned int", "unsigned long", "unsigned long long"),
    4: ("bool",),
}
_VECTORS = {
    1: ("float", "double"),
    2: ("char", "short", "int", "long", "longlong"),
    3: ("uchar", "ushort", "uint", "ulong", "ulonglong"),
}
_NAMES = {1: "float", 2: "int", 3: "uint"}
_COMMENT = re.compile(
    r"//@smemviz (?P<what>[SP]) (?P<numbers>[\d ]+)|\.(?:entry|func)\b[^;{]*?(?P<name>[\w$]+)\s*\(", re.M
)
_ASSEMBLY = re.compile(r"\t// begin inline asm\n\t//@smemviz [SP] [\d ]+\n\t// end inline asm\n")
Span = tuple[int, int]  # first character, and the one after the last


@dataclass(frozen=True)
class Element:
    """A type of C++ as NumPy has it: ``lanes`` numbers of a dtype, ``dtype`` empty where it is a class."""

    dtype: str
    lanes: int
    size: int


@dataclass(frozen=True)
class SharedDeclaration:
    """A shared array that a function declares, ``sizes`` in bytes: of all of it, of one row, ..., of one element.

    What is dynamic has no size of all of it. ``entry`` is the function of the PTX that it was seen in.
    """

    entry: str
    function: str
    name: str
    line: int
    dynamic: bool
    element: Element
    sizes: tuple[int, ...]

    @property
    def nbytes(self) -> int | None:
        """Bytes of all of it, None for a dynamic array."""
        return None if self.dynamic else self.sizes[0]

    def shape(self, nbytes: int) -> tuple[int, ...]:
        """Return the shape in numbers of the element's dtype; ``nbytes`` is how large a dynamic array is."""
        sizes = (nbytes, *self.sizes) if self.dynamic else self.sizes
        shape = tuple(outer // max(1, inner) for outer, inner in itertools.pairwise(sizes))
        lanes = (self.element.lanes,) if self.element.lanes > 1 else ()
        return (*shape, *lanes) or (1,)


class SharedPiece(NamedTuple):
    """A piece of the shared memory of a kernel of Triton, which is one array: its name, its line and its place."""

    name: str
    line: int
    offset: int
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel, ``element`` what it is or, for a pointer, what it points to."""

    name: str
    pointer: bool
    element: Element
    structure: bool = False


class SizesText:
    """The lines that the compiler sees of a program, by names, with what says the sizes, and what their PTX says.

    ``TYPES`` goes first.
    """

    def __init__(self, texts: Mapping[str, Text]) -> None:
        self._declared: list[tuple[str, str, int, bool]] = []  # function, name, line, whether it is dynamic
        self._parameters: list[str] = []
        self.texts = {name: self._with_sizes(text) for name, text in texts.items()}

    def read(self, ptx: str) -> tuple[tuple[SharedDeclaration, ...], dict[str, tuple[Parameter, ...]]]:
        """Return the shared arrays, and the parameters of each entry."""
        shared: list[SharedDeclaration] = []
        parameters: dict[str, list[Parameter]] = {}
        entry = ""
        for match in _COMMENT.finditer(ptx):
            if match["name"]:
                entry = match["name"]
                continue
            index, *numbers = map(int, match["numbers"].split())
            if match["what"] == "S":
                kind, *sizes = numbers
                element = element_of(kind, sizes[-1])
                shared.append(SharedDeclaration(entry, *self._declared[index], element, tuple(sizes)))
            else:
                pointer, kind, size = numbers
                structure = not pointer and ((kind == 0 and size != 2) or kind // 8 > 1)  # two bytes are a half
                parameter = Parameter(self._parameters[index], bool(pointer), element_of(kind, size), structure)
                parameters.setdefault(entry, []).append(parameter)
        return tuple(shared), {name: tuple(declared) for name, declared in parameters.items()}

    def _with_sizes(self, seen: Text) -> str:
        """Put a comment after each declaration of shared memory and at the start of each kernel, on their lines."""
        source = seen.lines
        if "__shared__" not in source and "__global__" not in source:
            return source
        functions = find_functions(source)
        lines, tokens = Lines(source), code(source)
        inserted: list[tuple[int, str]] = []
        outside: list[tuple[int, str]] = []  # where it is declared: what is before does not know it
        for statement in shared_statements(tokens):
            inside = next((f for f in functions if f.body < tokens[statement.first].start < f.end), None)
            for declarator in statement.declarators:
                name, line = declarator.name.text, seen.places[lines.place(declarator.name.start)[0] - 1].line
                text = _shared_comment(len(self._declared), name, len(declarator.extents), declarator.dynamic)
                self._declared.append((inside.name if inside else "", name, line, declarator.dynamic))
                if inside is None and not _in_body(tokens, statement.first):
                    outside.append((tokens[statement.last].end, text))
                else:
                    inserted.append((tokens[statement.last].end, text))
        for function in {function.name: function for function in functions if function.is_kernel}.values():
            text = "".join(comment for at, comment in outside if at <= function.body)
            for parameter in filter(None, function.parameters):
                expressions = [f"__smemviz<decltype({parameter})>::{what}" for what in ("at", "kind", "size")]
                text += _comment("P", len(self._parameters), expressions)
                self._parameters.append(parameter)
            inserted.append((function.body + 1, text))
        for place, text in sorted(inserted, key=lambda insertion: insertion[0], reverse=True):
            source = source[:place] + text + source[place:]
        return source


def _in_body(tokens: Sequence[Token], at: int) -> bool:
    """Tell whether a token stands in the body of a function, which may have no name: operator T *() const {."""
    depth = 0
    for index in range(at - 1, 0, -1):
        depth += (tokens[index].text == "}") - (tokens[index].text == "{")
        if depth < 0:
            return tokens[index - 1].text in (")", "const", "noexcept")
    return False


def without_sizes(ptx: str) -> str:
    """Return PTX without the comments that say the sizes."""
    return _ASSEMBLY.sub("", ptx)


def _shared_comment(number: int, name: str, rank: int, dynamic: bool) -> str:
    innermost = name + "[0]" * rank
    sizes = [f"sizeof({name}{'[0]' * axes})" for axes in range(int(dynamic), rank + 1)]
    kind = f"__smemviz<decltype({innermost})>::at ? 11 : __smemviz<decltype({innermost})>::kind"
    return _comment("S", number, [kind, *sizes])


def _comment(what: str, number: int, values: Sequence[str]) -> str:
    places = " ".join(f"%{i}" for i in range(len(values)))
    operands = ", ".join(f'"n"((int)({value}))' for value in values)
    return f' asm volatile("//@smemviz {what} {number} {places}" :: {operands});'


def element_of(kind: int, size: int) -> Element:
    """Return the type of a kind, as ``TYPES`` numbers them, and a size in bytes."""
    lanes, what = max(1, kind // 8), kind % 8
    if what in _NAMES:
        return Element(f"{_NAMES[what]}{8 * size // lanes}", lanes, size)
    if what == 4:
        return Element("bool", 1, size)
    # A class: half is the one of two bytes that matters, others are seen as words.
    if size <= 4 or size % 4:
        return Element(
            {1: "uint8", 2: "float16", 4: "uint32"}.get(size, "uint8"), 1 if size in (1, 2, 4) else size, size
        )
    return Element("uint32", size // 4, size)


def _types() -> str:
    """Return templates that tell a type's kind: 8 times its lanes, and what kind of number it has."""
    text = (
        "template <class T> struct __smemviz { enum { at = 0, kind = 0, size = sizeof(T) }; };"
        "template <class T> struct __smemviz<const T> : __smemviz<T> {};"
        "template <class T> struct __smemviz<volatile T> : __smemviz<T> {};"
        "template <class T> struct __smemviz<const volatile T> : __smemviz<T> {};"
        "template <class T> struct __smemviz<T &> : __smemviz<T> {};"
        "template <> struct __smemviz<void> { enum { at = 0, kind = 11, size = 1 }; };"
    )
    for pointer in ("T *", "T *const", "T *__restrict__", "T *const __restrict__"):
        text += (
            f"template <class T> struct __smemviz<{pointer}> "
            "{ enum { at = 1, kind = __smemviz<T>::at ? 11 : __smemviz<T>::kind, "
            "size = __smemviz<T>::at ? sizeof(T) : __smemviz<T>::size }; };"
        )
    kinds = [(name, 8 + kind) for kind, names in _KINDS.items() for name in names]
    kinds += [("char", 8 + 2)]
    kinds += [(f"{name}{n}", 8 * n + kind) for kind, names in _VECTORS.items() for name in names for n in (2, 3, 4)]
    for name, value in kinds:
        text += f"template <> struct __smemviz<{name}> {{ enum {{ at = 0, kind = {value}, size = sizeof({name}) }}; }};"
    return text + "\n"


TYPES = _types()


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
