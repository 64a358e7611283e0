"""Launches as calls: ``k<T><<<grid, block>>>(a)`` becomes ``(smemviz::configure(..., grid, block), k<T>(a))``."""

from collections.abc import Sequence

from smemviz.frontends.cuda.text.lexing import Token, closing, scan

_AFTER_WHICH_A_CALL_BEGINS = {"return", "else", "do"}


def with_calls(source: str, *, in_macro: bool = False) -> str:
    """Return a text with a call for each launch, in macros as well; lines stay."""
    if "<<<" not in source:
        return source
    edits: list[tuple[int, int, str]] = []
    tokens: list[Token] = []
    for token in scan(source):
        if token.kind == "directive" and "<<<" in token.text:
            hidden = token.text.replace("#", " ", 1)  # so that it is read as code
            text = with_calls(hidden, in_macro=True)
            sharp = token.text.index("#")
            edits.append((token.start, token.end, f"{text[:sharp]}#{text[sharp + 1 :]}"))
        elif token.kind not in ("comment", "directive"):
            tokens.append(token)
    for at, token in enumerate(tokens):
        if token.text == "<<<" and at:
            edits += _call(source, tokens, at, in_macro=in_macro)
    for start, end, text in sorted(edits, reverse=True):
        source = source[:start] + text + source[end:]
    return source


def _call(source: str, tokens: Sequence[Token], at: int, *, in_macro: bool) -> list[tuple[int, int, str]]:
    """Return what is put where for one launch; nothing for what is none."""
    end = _configuration_end(tokens, at)
    if end is None or end + 1 >= len(tokens) or tokens[end + 1].text != "(":
        return []
    first, parenthesis = _callee(tokens, at), tokens[end + 1]
    callee = source[tokens[first].start : tokens[at - 1].end]
    shape = source[tokens[at].end : tokens[end].start]
    between = source[tokens[end].end : parenthesis.start]
    text = f"(::smemviz::configure(__FILE__, __LINE__, {shape}), {callee}{between}"
    lost = source.count("\n", tokens[first].start, parenthesis.start) - text.count("\n")
    text += ("\\\n" if in_macro else "\n") * lost
    last = tokens[closing(tokens, end + 1)].end
    return [(tokens[first].start, parenthesis.start, text), (last, last, ")")]


def _configuration_end(tokens: Sequence[Token], at: int) -> int | None:
    depth = 0
    for index in range(at + 1, len(tokens)):
        text = tokens[index].text
        if text == ">>>" and depth == 0:
            return index
        depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        if text == ";" and depth == 0:
            return None
    return None


def _callee(tokens: Sequence[Token], at: int) -> int:
    first = at - 1
    if tokens[first].text in (">", ">>", ">>>"):
        first = _opening_angle(tokens, first) - 1
    elif tokens[first].text in (")", "]"):
        first = _opening(tokens, first)
        before = tokens[first - 1]
        if tokens[first].text == "[" or (before.kind == "name" and before.text not in _AFTER_WHICH_A_CALL_BEGINS):
            first -= 1
    while first >= 2 and tokens[first - 1].text in ("::", ".", "->") and tokens[first - 2].kind == "name":
        first -= 2
    while first >= 2 and tokens[first - 1].text == "::" and tokens[first - 2].text == ">":
        first = _opening_angle(tokens, first - 2) - 1
    if first and tokens[first - 1].text in ("::", "*"):
        outer = tokens[first - 2].text if first > 1 else ";"
        if tokens[first - 1].text == "::" or outer in (";", "{", "}", ")"):
            first -= 1
    return first


def _opening_angle(tokens: Sequence[Token], at: int) -> int:
    depth = 0
    while at > 0:
        text = tokens[at].text
        depth += (text.count(">") if text in (">", ">>", ">>>") else 0) - (text == "<")
        if depth <= 0:
            return at
        at = _opening(tokens, at) - 1 if text == ")" else at - 1
    return 0


def _opening(tokens: Sequence[Token], at: int) -> int:
    depth = 0
    for index in range(at, -1, -1):
        text = tokens[index].text
        depth += (text in (")", "]")) - (text in ("(", "["))
        if depth == 0:
            return index
    return 0
