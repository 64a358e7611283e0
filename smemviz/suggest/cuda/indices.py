"""Another index at a use of a shared array in CUDA C++."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from smemviz.frontends.cuda.lexing import code
from smemviz.messages import english
from smemviz.model.layout.code import NAMES, declared_shape, with_names
from smemviz.model.layout.layouts import Layout
from smemviz.suggest.cuda.pitch import is_term
from smemviz.suggest.cuda.text import SourceText, Use
from smemviz.suggest.edits import Edit
from smemviz.suggest.rewrites import NotRewrittenError

_REPEATABLE = {"min", "max", "abs", "int", "unsigned", "sizeof", "static_cast", "__mul24", "__brev", "__popc"}
# What changes a variable, and a load, which would be one more access.
_CHANGES = {"++", "--", "[", "=", *(f"{sign}=" for sign in ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"))}
_NUMBER = re.compile(r"(\d+)[uUlL]*")


def new_index(text: SourceText, laid: Layout, parts: Sequence[str], use: Use) -> Edit:
    """Return the edit of one index.

    Args:
        text: the file.
        laid: the array as it is to lie.
        parts: the index to declare, as ``index_parts`` gives it.
        use: where the array is reached.

    Raises:
        NotRewrittenError: when it is not an index for each axis, or may not be written twice.
    """
    names = NAMES[len(laid.shape)]
    given = {name: text.at(span).strip() for name, span in zip(names, use.indices, strict=True)}
    flattened = len(parts) < len(names)
    span = (use.indices[0 if flattened else -1][0], use.indices[-1][1])
    numbers = {name: int(match[1]) for name, part in given.items() if (match := _NUMBER.fullmatch(part))}
    mixed = set(_names_in(parts[-1])) & set(names)
    if mixed <= set(numbers):
        place = laid.place(np.array(np.ravel_multi_index([numbers.get(name, 0) for name in names], laid.shape)))
        return text.edit(span, str(np.unravel_index(int(place), declared_shape(laid))[-1]))
    if not flattened and {numbers.get(name) for name in mixed - {names[-1]}} == {0}:
        return text.edit(span, given[names[-1]])  # mixed with 0 it stays
    times = Counter(name for part in parts for name in _names_in(part) if name in given)
    for name, part in given.items():
        if times[name] > 1:
            _check_repeatable(part, use.line)
    return text.edit(span, _filled(with_names(parts[-1], {name: name for name in names}), given))


def _filled(formula: str, given: dict[str, str]) -> str:
    """Write a formula of whole numbers, which C++ and Python have alike but for ``//``, with indices in it."""

    def written(match: re.Match[str]) -> str:
        part = given.get(match[0], match[0])
        return part if is_term(part) else f"({part})"

    return re.sub(r"[A-Za-z_]\w*", written, formula.replace("//", "/"))


def _names_in(text: str) -> list[str]:
    return re.findall(r"[A-Za-z_]\w*", text)


def _check_repeatable(index: str, line: int) -> None:
    """Refuse an index that may not be written twice.

    Raises:
        NotRewrittenError: naming it.
    """
    tokens = code(index)
    for at, token in enumerate(tokens):
        calls = token.text == "(" and at and tokens[at - 1].kind == "name" and tokens[at - 1].text not in _REPEATABLE
        if calls or token.text in _CHANGES:
            what = english("the index {code} would be written twice; give it a name first", code=index)
            raise NotRewrittenError(line, what)
