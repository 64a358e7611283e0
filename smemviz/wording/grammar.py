"""Sentences made of phrases, each a message of its own, in the spoken language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from smemviz.i18n import _, pgettext, spoken


def capital(text: str) -> str:
    """Begin a text as a sentence begins; English alone of our languages has capitals."""
    return text[0].upper() + text[1:] if spoken() == "en" else text


def clause(sentence: str) -> str:
    """Return a sentence as it stands inside of another."""
    within = sentence[0].lower() + sentence[1:] if spoken() == "en" else sentence
    return within.rstrip(".。")


def sentences(*parts: str) -> str:
    """Write sentences one behind the other, leaving out empty ones."""
    spoken_of = [part for part in parts if part]
    return _joined(lambda before, after: _("{before} {after}", before=before, after=after), spoken_of)


def clauses(*parts: str) -> str:
    """Write parts of a sentence one behind the other."""
    return _joined(lambda before, after: _("{before}, {after}", before=before, after=after), parts)


def items(*parts: str) -> str:
    """Write a list whose items may have commas."""
    return _joined(lambda before, after: _("{before}; {after}", before=before, after=after), parts)


def names(*parts: str) -> str:
    """Write a list of names or numbers."""
    return pgettext("between names of one thing", ", ").join(parts)


def _joined(join: Callable[[str, str], str], parts: Sequence[str]) -> str:
    return reduce(join, parts) if parts else ""
