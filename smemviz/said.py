"""English texts that are recorded and printed, and what they say in the language of those who read them on a page.

Recordings, the command line and JSON hold English. Where a page shows such a text, it is known again by the message
that it was made of: the values are taken out of it and put into the translation. ``tools/messages.py`` finds these
messages by ``said`` and notes them in the catalogues, so that texts of recordings and other processes are known, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from string import Formatter
from typing import Any

from smemviz.language import gettext, said_messages, spoken

_PLACE = re.compile(r"(.+?:\d+: )(.+)", re.DOTALL)  # of errors: file and line, and what is wrong there
# What a value looks like, by the end of its format, and how it is read.
_READERS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    ",": (r"-?\d[\d,]*", lambda text: int(text.replace(",", ""))),
    "d": (r"-?\d+", int),
    "f": (r"-?\d[\d,]*(?:\.\d+)?", lambda text: float(text.replace(",", ""))),
    "g": (r"-?\d[\d.]*(?:e[-+]\d+)?", float),
    "": (r".+?", str),
}


def said(message: str, /, **values: Any) -> str:
    """Return a message in English, whatever language is spoken, with values in place of its ``{names}``.

    The message is a literal, as for ``_``; a value may itself have been made by ``said``.
    """
    return message.format_map(values)


def say(text: str) -> str | None:
    """Return a text made by ``said`` in the spoken language, None where it is of no message that is known.

    So are texts of Python and Numba, and those of other versions. A place before the text, ``file:line:``, stays.
    """
    if spoken() == "en":
        return text
    known = recognised(text)
    if known is not None:
        message, values = known
        return gettext(message, **{name: _spoken_value(value) for name, value in values.items()})
    placed = _PLACE.fullmatch(text)
    what = say(placed[2]) if placed else None
    return placed[1] + what if placed and what else None


def recognised(text: str) -> tuple[str, dict[str, Any]] | None:
    """Return the message that an English text was made of, and its values; of several the one that says most itself."""
    for pattern in _patterns(spoken()):
        values = pattern.values(text)
        if values is not None:
            return pattern.message, values
    return None


@dataclass(frozen=True)
class Pattern:
    """What the texts of a message look like. ``anchor`` is the longest piece that all of them have."""

    message: str
    anchor: str
    own: int
    text: re.Pattern[str]
    readers: Mapping[str, Callable[[str], Any]]

    def values(self, text: str) -> dict[str, Any] | None:
        """Return the values in a text, numbers as such, or None when it is not of this message."""
        found = self.text.fullmatch(text) if self.anchor in text else None
        return found and {name: self.readers[name](value) for name, value in found.groupdict().items()}


def pattern_of(message: str) -> Pattern:
    """Return what the texts of a message look like."""
    pieces, literals, readers = "", [], {}
    for literal, name, form, _conversion in Formatter().parse(message):
        literals.append(literal)
        pieces += re.escape(literal)
        if name in readers:
            pieces += f"(?P={name})"
        elif name is not None:
            looks, readers[name] = _READERS[(form or "")[-1:]]
            pieces += f"(?P<{name}>{looks})"
    return Pattern(message, max(literals, key=len), len("".join(literals)), re.compile(pieces, re.DOTALL), readers)


@cache
def _patterns(tag: str) -> tuple[Pattern, ...]:
    return tuple(sorted(map(pattern_of, said_messages(tag)), key=lambda pattern: -pattern.own))


def _spoken_value(value: Any) -> Any:
    return (say(value) or value) if isinstance(value, str) else value
