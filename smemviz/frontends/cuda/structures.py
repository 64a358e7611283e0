"""The fields of structures, and structures that a launch passes by value, ``Matrix{16, 16, 16, random(256)}``.

These are written into a text whose PTX has their bytes. NVRTC lays them out: each becomes a variable of the type that
the kernel takes, an array in it the address of another.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from smemviz.frontends.cuda.constants import parse
from smemviz.frontends.cuda.shapes import TYPES, Element, element_of
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


MAKERS = ("zeros", "ones", "full", "arange", "random", "ring")

_VALUE = "__smemviz_value_"
_OBJECT = re.compile(r"_Z16__smemviz_objectILi(?P<number>\d+)ELi(?P<kind>\d+)ELi(?P<size>\d+)E")
_ARRAY = re.compile(r'"__smemviz_array<(\d+)>"')
_NO_NARROWING = "#pragma nv_diag_error 2361"  # of 2.5 to an int in braces
_OWN_TYPE = re.compile(r'"__smemviz_parameter<.*?>::type" \(aka ("[^"]*")\)')
_TEMPLATES = (
    TYPES
    + """
template <int n, class F> struct __smemviz_parameter;
template <class R, class T, class... U> struct __smemviz_parameter<0, R(T, U...)> { typedef T type; };
template <int n, class R, class T, class... U> struct __smemviz_parameter<n, R(T, U...)>
    : __smemviz_parameter<n - 1, R(U...)> {};
template <class T> struct __smemviz_plain { typedef T type; };
template <class T> struct __smemviz_plain<const T> : __smemviz_plain<T> {};
template <class T> struct __smemviz_plain<volatile T> : __smemviz_plain<T> {};
template <> struct __smemviz_plain<void> { typedef unsigned char type; };
template <int number, int kind, int size, class T> extern __device__ T __smemviz_object;
template <int number> struct __smemviz_array {
    template <class T> constexpr operator T *() const {
        return &__smemviz_object<number, __smemviz<T>::at ? 0 : __smemviz<T>::kind,
            __smemviz<T>::at ? 8 : __smemviz<T>::size, typename __smemviz_plain<T>::type>;
    }
};
"""
)


@dataclass(frozen=True)
class Structure:
    """A structure as a launch writes it: its tokens, each with the field that it is a value of, and its arrays.

    ``fields`` are as C++ writes them behind a name, ``.elements``, empty where they are not known.
    """

    tokens: tuple[str, ...]
    fields: tuple[str, ...]
    arrays: tuple[ast.expr, ...]
    array_fields: tuple[str, ...]

    @property
    def designated(self) -> bool:
        """Whether it names its fields, which takes C++20."""
        return any(text == "." and before in ("{", ",") for before, text in pairwise(self.tokens))


class StructuresText:
    """A text with a variable for each structure that a kernel takes, ``values`` by the numbers of its parameters."""

    def __init__(self, source: str, kernel: str, values: Mapping[int, Structure]) -> None:
        lines = [*_TEMPLATES.splitlines(), *source.splitlines()]  # before any macro of the text
        lines.append(_NO_NARROWING)
        self._values = values
        self._places: dict[int, tuple[int, str]] = {}
        for parameter, value in values.items():
            lines.append(f"__device__ __smemviz_parameter<{parameter}, decltype({kernel})>::type {_VALUE}{parameter} =")
            for text, field in zip(value.tokens, value.fields, strict=True):
                lines.append(text)
                self._places[len(lines)] = parameter, field
            lines.append(";")
            self._places[len(lines)] = parameter, ""
        self.text = "\n".join(lines) + "\n"
        self.names = tuple(f"&{_VALUE}{parameter}" for parameter in values)

    def explained(self, line: int, what: str) -> tuple[int, str, str]:
        """Return which parameter's value a line is of, which field's, and what NVRTC says of it, arrays as written."""
        parameter, field = self._places.get(line, (min(self._values), ""))
        arrays = self._values[parameter].arrays
        what = _ARRAY.sub(lambda match: ast.unparse(arrays[int(match[1])]), what)
        return parameter, field, _OWN_TYPE.sub(r"\1", what)


def variable_of(parameter: int) -> str:
    """Return the name in the PTX of a parameter's value."""
    return f"{_VALUE}{parameter}"


def array_at(symbol: str) -> tuple[int, Element] | None:
    """Return the number of the array that a name in the PTX stands for, and what a field says that it is of."""
    match = _OBJECT.match(symbol)
    return (int(match["number"]), element_of(int(match["kind"]), int(match["size"]))) if match else None


def read_structure(tokens: Sequence[Token], parameter: Declared, fields: Fields) -> Structure:
    """Read an argument with braces.

    Raises:
        UnreadableError: for an array in it that is not read.
    """
    reader = _Reader(fields)
    reader.read(tokens, "", parameter)
    texts, places = zip(*reader.tokens, strict=True)
    return Structure(texts, places, tuple(array for array, _ in reader.arrays), tuple(at for _, at in reader.arrays))


class _Reader:
    """Goes through braces and keeps the field that each value is for."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self.tokens: list[tuple[str, str]] = []
        self.arrays: list[tuple[ast.expr, str]] = []

    def read(self, tokens: Sequence[Token], at: str, field: Declared) -> None:
        """Read the value of a field, ``at`` what is written behind the structure's name for it."""
        first = tokens[0]
        if len(tokens) > 2 and first.text in MAKERS and tokens[1].text == "(" and closing(tokens, 1) == len(tokens) - 1:
            self.tokens.append((f"__smemviz_array<{len(self.arrays)}>{{}}", at))
            self.arrays.append((parse(" ".join(token.text for token in tokens)), at))
            return
        brace = next((i for i, token in enumerate(tokens) if token.text == "{"), None)
        if brace is None or closing(tokens, brace) != len(tokens) - 1:
            self.tokens += [(token.text, at) for token in tokens]
            return
        self.tokens += [(token.text, at) for token in tokens[: brace + 1]]
        known = self._fields(field.type) if not (field.array or field.pointer) else ()
        for number, item in enumerate(parts(tokens[brace + 1 : -1])):
            if number:
                self.tokens.append((",", at))
            if item and item[0].text == ".":
                begin = 3 if item[2:] and item[2].text == "=" else 2
                inner = next((one for one in known if one.name == item[1].text), Declared(item[1].text, ""))
                place = f"{at}.{inner.name}"
                self.tokens += [(token.text, place) for token in item[:begin]]
                item = item[begin:]
            elif field.array:
                inner, place = Declared("", field.type), f"{at}[{number}]"
            elif number < len(known):
                inner, place = known[number], f"{at}.{known[number].name}"
            else:
                inner, place = Declared("", ""), at
            if item:
                self.read(item, place, inner)
                if (inner.array or self._fields(inner.type)) and item[-1].text != "}":
                    known = ()  # braces may be left out, and then what comes next is for a field of this one
        self.tokens.append(("}", at))
