"""Sentences made of phrases, each a message of its own, in the spoken language."""

from __future__ import annotations

from functools import reduce

from smemviz.language import _, spoken


def capital(text: str) -> str:
    """Begin a text as a sentence begins; English alone of our languages has capitals."""
    return text[0].upper() + text[1:] if spoken() == "en" else text


def clause(sentence: str) -> str:
    """Return a sentence as it stands inside of another."""
    within = sentence[0].lower() + sentence[1:] if spoken() == "en" else sentence
    return within.rstrip(".。")


def sentences(*said: str) -> str:
    """Write sentences one behind the other, leaving out empty ones."""
    return reduce(lambda before, after: _("{before} {after}", before=before, after=after), [one for one in said if one])


def clauses(*said: str) -> str:
    """Write parts of a sentence one behind the other."""
    return reduce(lambda before, after: _("{before}, {after}", before=before, after=after), said)


def items(*said: str) -> str:
    """Write a list whose items may have commas."""
    return reduce(lambda before, after: _("{before}; {after}", before=before, after=after), said)
