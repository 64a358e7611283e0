"""The text of a ``.cu`` file for the host's compiler: kernels only say that they are called, lines stay.

A kernel's body becomes a call of ``smemviz::kernel`` with its parameters, that of a ``__device__`` function a trap,
and behind a variable of the device stands that it is one.
"""

import os
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from smemviz.frontends.cuda.host.launch_calls import with_calls
from smemviz.frontends.cuda.includes import included
from smemviz.frontends.cuda.text.cuda_functions import parts
from smemviz.frontends.cuda.text.declarations import ACCESS, ATTRIBUTES, SPECIFIERS, angle, macros_of, specifiers_of
from smemviz.frontends.cuda.text.lexing import Token, closing, scan

_VARIABLES = {"__device__", "__constant__", "__managed__"}
_NO_VARIABLE = {"struct", "class", "union", "template", "extern", "using", "typedef", "friend"}
_TYPE_WORDS = {"const", "volatile", "void", "bool", "char", "short", "int", "long", "unsigned", "signed", "float"}
_TYPE_WORDS |= {"double", "typename", "struct", "class", "enum", "__restrict__", "restrict"}
_WORD = re.compile(r"[A-Za-z_]\w*")
Edit = tuple[int, int, str]  # first character, the one after the last, and what stands there then


def host_text(source: str, file: str, specifiers: Mapping[str, set[str]]) -> str:
    """Return the text of a file, which compilers are to call by its own name.

    ``specifiers`` are the macros that stand for ``__device__`` and its like.
    """
    # What is for the host too stays as it is: large libraries have little else, and their tokens are many.
    ours = SPECIFIERS - {"__host__"} | {name for name, kinds in specifiers.items() if "__host__" not in kinds}
    is_plain = ours.isdisjoint(_WORD.findall(source))
    edits = [] if is_plain else sorted(_Rewriter(source, specifiers).edits(), reverse=True)
    for start, end, text in edits:
        lines = "\n" * (source.count("\n", start, end) - text.count("\n"))
        source = source[:start] + text + lines + source[end:]
    escaped = file.replace("\\", "\\\\").replace('"', '\\"')
    return f'#line 1 "{escaped}"\n{with_calls(source)}'


@dataclass(frozen=True)
class _Head:
    """What stands before the body, the value or the semicolon of a declaration, which is token ``end``."""

    words: tuple[str, ...]
    kinds: frozenset[str]
    parameters: int | None
    end: int


class _Rewriter:
    def __init__(self, source: str, specifiers: Mapping[str, set[str]]) -> None:
        self.tokens = [token for token in scan(source) if token.kind not in ("comment", "directive")]
        self.specifiers = specifiers

    def edits(self) -> Iterator[Edit]:
        at = start = 0
        while at < len(self.tokens):
            text = self.tokens[at].text
            before = self.tokens[at - 1].text if at else ""
            if text in (";", "{", "}") or (text == ":" and before in ACCESS):
                start = at + 1
            if self._kinds([text]) - {"__host__"} and before != "]":  # a lambda's own __device__ stays unread
                at = start = yield from self._declaration(start)
            else:
                at += 1

    def _kinds(self, words: Sequence[str]) -> frozenset[str]:
        return frozenset(kind for word in words for kind in {word} & SPECIFIERS or self.specifiers.get(word, set()))

    def _declaration(self, start: int) -> Generator[Edit, None, int]:
        """Give what a declaration becomes and return where the next begins."""
        head = self._head(start)
        at = self._tokens_at(head.end)
        if head.parameters is not None and at.text == "{":
            last = closing(self.tokens, head.end)
            body = at.start, self.tokens[last].end
            if "__global__" in head.kinds:
                yield from self._kernel(head, body)
            elif "__host__" in head.kinds or "constexpr" in head.words:
                return head.end + 1  # what is inside is read
            else:
                yield *body, "{ __builtin_trap(); }"
            return last + 1
        end = head.end
        while end < len(self.tokens) and self.tokens[end].text != ";":
            end = closing(self.tokens, end) + 1 if self.tokens[end].text in "{([" else end + 1
        if head.parameters is None and head.kinds & _VARIABLES and not _NO_VARIABLE & set(head.words):
            yield from self._variables(start, end, is_managed="__managed__" in head.kinds)
        return end + 1

    def _tokens_at(self, at: int) -> Token:
        return self.tokens[min(at, len(self.tokens) - 1)]

    def _head(self, start: int) -> _Head:
        at, words, parameters = start, list[str](), None
        while at < len(self.tokens):
            text = self.tokens[at].text
            is_operator = words[-1:] == ["operator"]
            if text in ATTRIBUTES and self._tokens_at(at + 1).text == "(":
                at = closing(self.tokens, at + 1)
            elif text == "<" and words[-1:] == ["template"]:
                at = angle(self.tokens, at)
            elif text == "(" and is_operator:
                words.append("()")
                at += 1
            elif text == "(":
                parameters = at if parameters is None else parameters
                at = closing(self.tokens, at)
            elif text == ":" and parameters is not None:
                return _Head(tuple(words), self._kinds(words), parameters, self._after_members(at))
            elif text in (";", "{") or (text in ("=", "[") and not is_operator):
                break
            else:
                words.append(text)
            at += 1
        return _Head(tuple(words), self._kinds(words), parameters, at)

    def _after_members(self, at: int) -> int:
        while at < len(self.tokens):
            text = self.tokens[at].text
            if text in ("(", "{"):
                at = closing(self.tokens, at)
                if self._tokens_at(at + 1).text == "{":
                    return at + 1
            at += 1
        return at

    def _kernel(self, head: _Head, body: tuple[int, int]) -> Iterator[Edit]:
        assert head.parameters is not None
        last = closing(self.tokens, head.parameters)
        passed = ""
        for number, part in enumerate(parts(self.tokens[head.parameters + 1 : last])):
            name, is_pack = _parameter(part)
            if name is None:
                name = f"smemviz_{number}"
                yield part[-1].end, part[-1].end, f" {name}"
            if name:
                passed += f", {name}{'...' if is_pack else ''}"
        yield *body, f"{{ struct here {{}}; ::smemviz::kernel(typeid(here){passed}); }}"

    def _variables(self, start: int, end: int, *, is_managed: bool) -> Iterator[Edit]:
        text = ""
        for part in parts(self.tokens[start:end]):
            if name := _declared(part):
                managed = "true" if is_managed else "false"
                text += (
                    f" [[maybe_unused]] static const int smemviz_{name} = "
                    f'::smemviz::declare("{name}", (void *)&{name}, sizeof({name}), {managed});'
                )
        place = self._tokens_at(end).end
        yield place, place, text


def _declared(part: Sequence[Token]) -> str:
    name = ""
    depth = 0
    for token in part:
        if depth == 0 and token.text in ("=", "[", "{", "("):
            break
        depth += (token.text == "<") - (token.text == ">")
        if depth == 0 and token.kind == "name":
            name = token.text
    return name


def _parameter(part: Sequence[Token]) -> tuple[str | None, bool]:
    """Return the name of a parameter, None where it has none and empty for ``void``, and whether it is a pack."""
    texts = [token.text for token in part]
    for at in range(len(texts) - 2):
        if texts[at] == "(" and texts[at + 1] in ("*", "&"):  # of a function or an array
            return next((token.text for token in part[at + 2 :] if token.kind == "name"), None), False
    if texts == ["void"]:
        return "", False
    words: list[str] = []
    depth = 0
    for token in part:
        if token.text in ("[", "=") and depth == 0:
            break
        depth += (token.text == "<") - (token.text == ">") - 2 * (token.text == ">>")
        if depth == 0:
            words.append(token.text if token.kind == "name" else f" {token.text}")
    types = [word for word in words[:-1] if not word.startswith(" ") and word not in ("const", "volatile", "typename")]
    is_named = words[-1][0] != " " and words[-1] not in _TYPE_WORDS and (bool(types) or " >" in words[:-1])
    return words[-1] if is_named and words[-2:-1] != [" ::"] else None, "..." in texts


def own_files(source: str, file: str, folders: Sequence[str]) -> dict[Path, str]:
    """Return the text of a file, and of every header that it includes from its folder or from ``folders``, by path."""
    path = Path(file).resolve()
    texts = {path: source}
    searched = [os.path.realpath(folder) for folder in folders]
    waiting = [path]
    while waiting:
        including = waiting.pop()
        for name, _line, quoted in included(texts[including], str(including)):
            found = find(name, including.parent if quoted else None, searched)
            if found is not None and found not in texts:
                texts[found] = found.read_text(encoding="utf-8-sig", errors="replace").replace("\r\n", "\n")
                waiting.append(found)
    return texts


def find(name: str, beside: Path | None, folders: Sequence[str]) -> Path | None:
    """Return a header as a compiler finds it: beside what includes it, then in each folder."""
    places = [*([str(beside)] if beside else []), *folders]
    paths = (os.path.normpath(os.path.join(place, name)) for place in places)
    return next((Path(path) for path in paths if os.path.isfile(path)), None)


def staged(texts: dict[Path, str], into: Path) -> dict[Path, Path]:
    """Write what the host's compiler reads in place of each file, and return where."""
    specifiers = specifiers_of(macros_of(texts.values()))
    places = {}
    for path, text in texts.items():
        places[path] = within(path, into)
        places[path].parent.mkdir(parents=True, exist_ok=True)
        places[path].write_text(host_text(text, path.as_posix(), specifiers), encoding="utf-8")
    return places


def within(path: Path, folder: Path) -> Path:
    """Return where a path of this machine is when another folder is its root."""
    return folder.joinpath(*path.parts[1:])
