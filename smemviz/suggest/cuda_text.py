"""The text of a ``.cu`` file as layouts are written into it: where a shared array is declared and reached."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from smemviz.frontends.cuda.constants import Definition, UnreadableError, definitions, parse, value_of
from smemviz.frontends.cuda.cuda_program import CudaProgram
from smemviz.frontends.cuda.shapes import Span, shared_statements
from smemviz.frontends.cuda.text.lexing import Lines, Token, closing, code, scan
from smemviz.messages import english
from smemviz.recordings.data import ArrayInfo
from smemviz.suggest.rewrites import Change, Edit, NotRewrittenError

_ATOMIC = re.compile(r"atomic[A-Z]\w*")


@dataclass(frozen=True)
class Declaration:
    """Where an array is declared: what stands in its brackets, and from where to where its name stands for it."""

    name: str
    line: int
    extents: tuple[Span, ...]
    scope: Span


@dataclass(frozen=True)
class Use:
    """One place that names the array, with what stands in the brackets that follow.

    ``pointer`` tells that its address is taken, other than by an atomic function; ``how`` is what is done with it
    where no bracket follows, empty where that needs no more than its size.
    """

    line: int
    indices: tuple[Span, ...]
    pointer: bool
    how: str = ""


class SourceText:
    """The text of a program."""

    def __init__(self, program: CudaProgram) -> None:
        self.program = program
        self.source = program.source
        self._lines = Lines(self.source)
        everything = list(scan(self.source))
        self.comments = [token for token in everything if token.kind == "comment"]
        self.directives = [token for token in everything if token.kind == "directive"]
        self._tokens = [token for token in everything if token.kind not in ("comment", "directive")]

    def at(self, span: Span) -> str:
        """Return a piece of the text."""
        return self.source[slice(*span)]

    def line(self, at: int) -> int:
        """Return the line of a character."""
        return self._lines.place(at)[0]

    def edit(self, span: Span, text: str) -> Edit:
        """Return the edit that puts a text in the place of a piece."""
        return Edit(*self._place(span[0]), *self._place(span[1]), text)

    def _place(self, at: int) -> tuple[int, int]:
        line, column = self._lines.place(at)
        return line, len(self.source[at - column : at].encode())

    def value(self, text: str) -> int | None:
        """Return the integer that an expression of constants is, None when it is none."""
        try:
            value = value_of(parse(text), self.program.values)
        except UnreadableError:
            return None
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def definition(self, name: str) -> Definition | None:
        """Return where a constant gets its value."""
        return next((definition for definition in definitions(self.source) if definition.name == name), None)

    def tokens(self, span: Span) -> list[Token]:
        """Return the tokens of a piece."""
        return [token for token in self._tokens if span[0] <= token.start < span[1]]

    def declaration(self, array: ArrayInfo) -> Declaration:
        """Find where an array of a launch is declared.

        Raises:
            NotRewrittenError: when its declaration is not in sight.
        """
        functions = self.program.definitions
        for statement in shared_statements(self._tokens):
            for declarator in statement.declarators:
                if declarator.name.text == array.name and self.line(declarator.name.start) == array.line:
                    inside = next((f for f in functions if f.body < declarator.name.start < f.end), None)
                    end = self._tokens[statement.last].end
                    return Declaration(
                        array.name, array.line, declarator.extents, (end, inside.end if inside else len(self.source))
                    )
        raise NotRewrittenError(
            array.line, english("no statement {code} declares it", code=f"__shared__ ... {array.name}[...]")
        )

    def uses(self, declared: Declaration) -> Iterator[Use]:
        """Give every place that names an array.

        Raises:
            NotRewrittenError: where a macro does.
        """
        for token in self.directives:
            if re.search(rf"\b{declared.name}\b", token.text):
                what = english("the macro here names {array}", array=declared.name)
                raise NotRewrittenError(self.line(token.start), what)
        tokens = self.tokens(declared.scope)
        for at, token in enumerate(tokens):
            if token.text == declared.name and (not at or tokens[at - 1].text not in (".", "->", "::")):
                yield self._use(tokens, at, len(declared.extents))

    def _use(self, tokens: list[Token], at: int, dimensions: int) -> Use:
        before = [tokens[at - back].text if at >= back else "" for back in (1, 2, 3)]
        indices: list[Span] = []
        end = at + 1
        while end < len(tokens) and tokens[end].text == "[" and len(indices) < dimensions:
            close = closing(tokens, end)
            indices.append((tokens[end].end, tokens[close].start))
            end = close + 1
        line = self.line(tokens[at].start)
        if not indices:
            return Use(line, (), False, "" if "sizeof" in before[:2] else _how(tokens, at))
        takes = before[0] == "&" and not (before[1][:1].isalnum() or before[1] in (")", "]", "_"))
        updates = before[1] == "(" and _ATOMIC.fullmatch(before[2])
        return Use(line, tuple(indices), takes and not updates)


def _how(tokens: list[Token], at: int) -> str:
    name = tokens[at].text
    before = tokens[at - 1].text if at else ""
    if before in ("(", ",") and tokens[at + 1].text in (",", ")"):
        callee = _callee(tokens, at)
        if callee:
            return english("{array} is passed to {function} here", array=name, function=callee)
    if before == "=":
        return english("{array} gets another name here", array=name)
    return english("{array} is used here as a whole", array=name)


def _callee(tokens: list[Token], at: int) -> str:
    """Return the function whose argument a token is, empty where it is none."""
    depth = 0
    for index in range(at - 1, 0, -1):
        text = tokens[index].text
        depth += text in (")", "]", "}")
        if text in ("(", "[", "{"):
            if depth == 0:
                before = tokens[index - 1]
                return before.text if text == "(" and before.kind == "name" else ""
            depth -= 1
        if text == ";":
            break
    return ""


_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"(\d+)[uUlL]*")
_SUM = re.compile(r"\(?\s*([A-Za-z_]\w*)\s*\+\s*(\w+)\s*\)?")
_LAUNCH_NOTE = re.compile(r"//\s*smemviz:")


def longer(text: SourceText, size: Span, more: int) -> Change:
    """Return the edits that make a size of a declaration so much larger, and the constants that they set."""
    written = text.at(size)
    if _NAME.fullmatch(written):
        change = as_pad(text, written, more)
        if change is not None:
            return change
    return (text.edit(size, more_text(text, written, more, size[0])),), {}


def more_text(text: SourceText, written: str, more: int, at: int) -> str:
    """Write a size that is so much larger: as a number, as a constant that is it, or as a sum.

    ``at`` is where it is to stand, which is behind the constants that it may name.
    """
    number = _NUMBER.fullmatch(written)
    if number:
        return str(int(number[1]) + more)
    there = _constant_for(text, written, more, at) if _NAME.fullmatch(written) else None
    if there is not None:
        return there
    added = _SUM.fullmatch(written)
    if added and added[2].isdigit() and written.count("(") == written.count(")") == 0:
        return f"{added[1]} + {int(added[2]) + more}"
    return f"{in_brackets(written)} + {more}"


def in_brackets(written: str) -> str:
    """Write an expression so that it can be a term of a sum."""
    tokens = [token.text for token in code(written)]
    depth, plain = 0, True
    for at, token in enumerate(tokens):
        depth += (token in ("(", "[")) - (token in (")", "]"))
        plain &= depth > 0 or token not in ("<<", ">>", "&", "|", "^", "?", "<", ">", "==", ",") or at == 0
    return written if plain else f"({written})"


def is_term(written: str) -> bool:
    """Tell whether an expression needs no brackets anywhere: a name, a number, a member, a call, or in brackets."""
    tokens = code(written)
    depth = 0
    for at, token in enumerate(tokens):
        opens = token.text in ("(", "[")
        if depth == 0 and not opens and not (token.kind in ("name", "number") or token.text in (".", "->", "::")):
            return False
        if depth == 0 and at and token.kind in ("name", "number") and tokens[at - 1].kind in ("name", "number"):
            return False
        if depth == 0 and token.text == "(" and at and tokens[at - 1].text == ")":
            return False
        depth += opens - (token.text in (")", "]"))
    return bool(tokens)


def as_pad(text: SourceText, name: str, more: int) -> Change | None:
    """Return the change of the part of a sum that is nothing but a pad: ``IPAD`` of ``PITCH (BDIMX + IPAD)``."""
    definition = text.definition(name)
    parts = _SUM.fullmatch(definition.text) if definition else None
    pad = text.program.constants.get(parts[2]) if parts else None
    own = text.definition(pad.name) if pad else None
    if definition is None or pad is None or own is None or not isinstance(pad.value, int):
        return None
    if not _NUMBER.fullmatch(own.text) or _is_used(text, pad.name, (definition.start, definition.end), own.start):
        return None
    now = pad.value + more
    edits = () if own.text == str(now) else (text.edit((own.start, own.end), str(now)),)
    return edits, {pad.name: now}


def _is_used(text: SourceText, name: str, but: Span, defined: int) -> bool:
    """Tell whether a constant is used outside of one place; ``defined`` is where its own value begins."""
    notes = [token for token in text.comments if _LAUNCH_NOTE.match(token.text)]
    pieces = [*text.tokens((0, len(text.source))), *text.directives, *notes]
    places = (
        token.start + match.start() for token in pieces for match in re.finditer(rf"\b{re.escape(name)}\b", token.text)
    )
    line = text.line(defined)
    return any(not but[0] <= at < but[1] and not (at < defined and text.line(at) == line) for at in places)


def _constant_for(text: SourceText, name: str, more: int, at: int) -> str | None:
    """Return a constant that is a name and a pad, and has the value: ``PITCH (TILE + 1)`` for TILE and 1."""
    value = text.program.values.get(name)
    if not isinstance(value, int):
        return None
    for constant in text.program.constants.values():
        definition = text.definition(constant.name)
        parts = _SUM.fullmatch(constant.text)
        if definition and definition.end < at and parts and parts[1] == name and constant.value == value + more:
            return constant.name
    return None


def row_factor(text: SourceText, index: Span, row: int) -> Span | None:
    """Return where an index ``a * ROW + b`` has its pitch, None where it is not of that form."""
    tokens = text.tokens(index)
    depth, plus, times = 0, [], []
    for at, token in enumerate(tokens):
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if depth == 0 and token.text == "+":
            plus.append(at)
        elif depth == 0 and token.text == "*":
            times.append(at)
        elif depth == 0 and token.kind == "operator" and token.text not in (".", "->", ")", "]"):
            return None
    if len(plus) != 1 or len(times) != 1:
        return None
    first, last = (0, plus[0]) if times[0] < plus[0] else (plus[0] + 1, len(tokens))
    for start, end in ((times[0] + 1, last), (first, times[0])):
        if start < end:
            span = tokens[start].start, tokens[end - 1].end
            if text.value(text.at(span)) == row:
                return span
    return None
