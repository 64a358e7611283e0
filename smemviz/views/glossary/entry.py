"""A number that is explained: what it is, how it comes about, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Number:
    """A number by the names it goes by: what it says, and where it comes from.

    ``anchor`` is its place on the page; ``example`` is its value in the launch that examples are taken from.
    """

    anchor: str
    names: tuple[str, ...]
    meaning: str
    source: str
    example: str = ""


@dataclass(frozen=True)
class Section:
    """Numbers that belong together."""

    title: str
    numbers: tuple[Number, ...]
