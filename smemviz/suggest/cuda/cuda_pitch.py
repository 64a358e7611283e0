"""The sizes of a declaration in CUDA C++, made longer where they are written, and the pitch in a written index."""

from __future__ import annotations

import re

from smemviz.frontends.cuda.shapes import Span
from smemviz.frontends.cuda.text.lexing import code
from smemviz.suggest.cuda.cuda_text import SourceText
from smemviz.suggest.rewrites import Change

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
