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

from smemviz.language import N_, gettext, ngettext, said_messages, spoken

Message = str | tuple[str, str]  # one with a plural has both forms

_JOINTS = {"; ": N_("{before}; {after}"), " or ": N_("{before} or {after}")}
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


def nsaid(one: str, many: str, n: int, /, **values: Any) -> str:
    """Return the form of a message for ``n`` things, in English, as ``said`` does; ``{n}`` is the number."""
    return said(one if n == 1 else many, n=n, **values)


def say(text: str) -> str | None:
    """Return a text made by ``said`` in the spoken language, None where it is of no message that is known.

    So are texts of Python and Numba, and those of other versions. What a text is about stays before it, as in
    ``file:line: text``; several may be joined by semicolons, or by "or".
    """
    if spoken() == "en":
        return text
    return _whole(text) or _about(text) or _joined(text)


def recognised(text: str) -> tuple[Message, dict[str, Any]] | None:
    """Return the message that an English text was made of, and its values; of several the one that says most itself."""
    for pattern in _patterns(spoken()):
        values = pattern.values(text)
        if values is not None:
            return pattern.message, values
    return None


def _whole(text: str) -> str | None:
    message, values = recognised(text) or (None, {})
    if message is None:
        return None
    values = {name: (say(value) or value) if isinstance(value, str) else value for name, value in values.items()}
    if isinstance(message, str):
        return gettext(message, **values)
    return ngettext(*message, values.pop("n"), **values)


def _about(text: str) -> str | None:
    about, colon, rest = text.partition(": ")
    what = say(rest) if colon else None
    return what and f"{about}: {what}"


def _joined(text: str) -> str | None:
    for joint, message in _JOINTS.items():
        for place in re.finditer(joint, text):
            before = _whole(text[: place.start()])
            after = say(text[place.end() :]) if before else None
            if before and after:
                return gettext(message, before=before, after=after)
    return None


@dataclass(frozen=True)
class Pattern:
    """What the texts of a message look like. ``anchor`` is the longest piece that all of them have."""

    message: Message
    anchor: str
    own: int
    text: re.Pattern[str]
    readers: Mapping[str, Callable[[str], Any]]

    def values(self, text: str) -> dict[str, Any] | None:
        """Return the values in a text, numbers as such, or None when it is not of this message."""
        found = self.text.fullmatch(text) if self.anchor in text else None
        return found and {name: self.readers[name](value) for name, value in found.groupdict().items()}


def pattern_of(message: Message, form: str) -> Pattern:
    """Return what the texts of a message look like in one of its forms."""
    pieces, literals, readers = "", [], {}
    for literal, name, spec, _conversion in Formatter().parse(form):
        literals.append(literal)
        pieces += re.escape(literal)
        if name in readers:
            pieces += f"(?P={name})"
        elif name is not None:
            looks, readers[name] = _READERS[(spec or "")[-1:]]
            pieces += f"(?P<{name}>{looks})"
    return Pattern(message, max(literals, key=len), len("".join(literals)), re.compile(pieces, re.DOTALL), readers)


@cache
def _patterns(tag: str) -> tuple[Pattern, ...]:
    """Return the patterns of all messages, those that say most themselves first."""
    forms = [(one, form) for one in said_messages(tag) for form in ([one] if isinstance(one, str) else one)]
    return tuple(sorted((pattern_of(*form) for form in forms), key=lambda pattern: -pattern.own))
