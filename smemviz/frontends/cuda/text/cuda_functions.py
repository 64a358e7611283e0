"""The functions of a ``.cu`` file: which are kernels, which run on the device, and which on the host only."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from smemviz.frontends.cuda.text.declarations import angle
from smemviz.frontends.cuda.text.lexing import Lines, Token, closing, code

_DEVICE = {"__global__", "__device__", "__constant__", "__shared__", "__managed__", "constexpr"}
_BEFORE_BODY = {")", "const", "noexcept", "override"}
_OF_NO_FUNCTION = {"const", "typedef", "using", "template", "operator", "asm", "static_assert", "friend"}
_NO_NAMES = {"const", "void", "int", "float", "double", "char", "short", "long", "unsigned", "signed", "bool"}


@dataclass(frozen=True)
class Function:
    """A function with a body; ``start``, ``body`` and ``end`` are its first character, its ``{`` and after its ``}``.

    ``parameters`` are the names of its parameters, ``declarations`` the tokens of each, and ``template`` the names of
    those of its template, in order. One that is only declared has no body.
    """

    name: str
    line: int
    is_kernel: bool
    on_device: bool
    start: int
    body: int
    end: int
    parameters: tuple[str, ...]
    declarations: tuple[tuple[Token, ...], ...]
    template: tuple[str, ...]


def find_functions(source: str) -> tuple[Function, ...]:
    """Return the functions defined outside classes, in order."""
    return tuple(function for function in _declared(source) if function.body < function.end)


def find_kernels(source: str) -> tuple[Function, ...]:
    """Return the kernels defined outside classes, in order."""
    found = find_functions(source) if "__global__" in source else ()
    return tuple(function for function in found if function.is_kernel)


def _declared(source: str) -> Iterator[Function]:
    tokens = code(source)
    return _functions(tokens, 0, len(tokens), Lines(source))


def _functions(tokens: Sequence[Token], at: int, end: int, lines: Lines) -> Iterator[Function]:
    while at < end:
        if tokens[at].kind == "directive":
            at += 1
            continue
        at = yield from _item(tokens, at, end, lines)


def _item(tokens: Sequence[Token], at: int, end: int, lines: Lines) -> Generator[Function, None, int]:
    """Give the functions of one declaration and return where the next begins."""
    start, words, parenthesis, assigned = at, list[str](), -1, False
    while at < end:
        token = tokens[at]
        if token.kind == "directive":
            at += 1
            continue
        if token.text == "<" and words[-1:] == ["template"]:
            at = angle(tokens, at) + 1
            continue
        if token.text == ";":
            if parenthesis > start + 1 and not assigned and not _OF_NO_FUNCTION & set(words):
                yield _function(tokens, start, parenthesis, at, at, words, lines)
            return at + 1
        if token.text in ("(", "["):
            if token.text == "(" and at > start and tokens[at - 1].text not in ("__launch_bounds__", "__align__"):
                parenthesis = at
            at = closing(tokens, at) + 1
            continue
        assigned = assigned or token.text == "="
        if token.text == "{":
            last = closing(tokens, at)
            outer = "namespace" in words or (words[:1] == ["extern"] and len(words) == 2 and words[1][:1] == '"')
            if outer and parenthesis < 0:
                yield from _functions(tokens, at + 1, last, lines)
                return last + 1
            before = tokens[at - 1].text if at else ""
            if parenthesis >= 0 and not assigned and (before in _BEFORE_BODY or "->" in words):
                yield _function(tokens, start, parenthesis, at, last, words, lines)
                return last + 1
            at = last + 1
            continue
        words.append(token.text)
        at += 1
    return end


def _function(
    tokens: Sequence[Token], start: int, parenthesis: int, body: int, last: int, words: Sequence[str], lines: Lines
) -> Function:
    parenthesis = _parameter_list(tokens, start, parenthesis)
    name = tokens[parenthesis - 1]
    parameters = list(_named(tokens[parenthesis + 1 : closing(tokens, parenthesis)]))
    return Function(
        name=name.text,
        line=lines.place(name.start)[0],
        is_kernel="__global__" in words,
        on_device=bool(_DEVICE & set(words)),
        start=tokens[start].start,
        body=tokens[body].start if body < last else tokens[last].end,
        end=tokens[last].end,
        parameters=tuple(parameter for parameter, _ in parameters),
        declarations=tuple(tuple(declaration) for _, declaration in parameters),
        template=tuple(_template(tokens[start:parenthesis])),
    )


def _parameter_list(tokens: Sequence[Token], start: int, last: int) -> int:
    """Return the first ( of a declaration that follows a name other than an attribute's."""
    at = start
    while at < last:
        if tokens[at].text == "(":
            before = tokens[at - 1]
            if before.kind == "name" and not before.text.startswith("__"):
                return at
            at = closing(tokens, at)
        at += 1
    return last


def _named(tokens: Sequence[Token]) -> Iterator[tuple[str, list[Token]]]:
    """Give the name of each parameter of a list, empty where it has none, and its tokens."""
    for part in parts(tokens):
        names = []
        for token in part:
            if token.text in ("[", "="):
                break
            if token.kind == "name":
                names.append(token.text)
        if names and names != ["void"]:
            is_named = names[-1] not in _NO_NAMES and len(set(names) - {"const", "volatile", "typename"}) > 1
            yield names[-1] if is_named else "", part


def _template(tokens: Sequence[Token]) -> Iterator[str]:
    """Give the names of template parameters, if the declaration begins with ``template <...>``."""
    if len(tokens) < 3 or tokens[0].text != "template":
        return
    depth, inner = 0, list[Token]()
    for token in tokens[1:]:
        depth += {"<": 1, ">": -1, ">>": -2}.get(token.text, 0)
        if depth <= 0:
            break
        inner.append(token)
    yield from (name for name, _ in _named(inner[1:]))


def parts(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Divide tokens at the commas that stand in no bracket."""
    part, depth = list[Token](), 0
    for token in tokens:
        if token.kind == "directive":
            continue
        depth += token.text in ("(", "[", "{", "<")
        depth -= (token.text in (")", "]", "}", ">")) + 2 * (token.text == ">>")
        if token.text == "," and depth == 0:
            yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part
