"""English texts that are recorded and printed, and what they say in the language of those who read them on a page.

Recordings, the command line and JSON hold English. Where a page shows such a text, its values are put into the
translation of the message that it was made of. A text that comes from a file or from another process no longer knows
its message, and is known again by what it looks like. ``tools/messages.py`` finds these
messages by ``english`` and notes them in the catalogues, so that texts of recordings and other processes are known,
too.

A message that says little itself fits texts that were not made of it: ``{element} is {did} and {does}`` is half of
what Python and Numba say. Such a one is known only where one of its values is a text of another message, or as a value
of one.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from string import Formatter
from typing import Any, Self

from smemviz.i18n import N_, English, english_messages, gettext, ngettext, spoken

Message = str | tuple[str, str]  # one with a plural has both forms

_FEWEST_WORDS = 3  # with fewer of its own a message says little itself
_WORD = re.compile(r"[A-Za-z]{2,}")
_JOINTS = {"; ": N_("{before}; {after}"), " or ": N_("{before} or {after}")}
# What a value looks like, by the end of its format, and how it is read.
_READERS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    ",": (r"-?\d[\d,]*", lambda text: int(text.replace(",", ""))),
    "d": (r"-?\d+", int),
    "f": (r"-?\d[\d,]*(?:\.\d+)?", lambda text: float(text.replace(",", ""))),
    "g": (r"-?\d[\d.]*(?:e[-+]\d+)?", float),
    "": (r".+?", str),
}


class Said(str):
    """A text in English that knows the message that it was made of, and the values in it."""

    message: Message
    values: Mapping[str, Any]

    @classmethod
    def of(cls, message: str, /, **values: Any) -> Self:
        """Return a message with values in place of its ``{names}``."""
        return cls._made(message, message, values)

    @classmethod
    def of_several(cls, singular: str, plural: str, n: int, /, **values: Any) -> Self:
        """Return the form of a message for ``n`` things, with values in place of its ``{names}``."""
        return cls._made((singular, plural), singular if n == 1 else plural, {"n": n, **values})

    @classmethod
    def _made(cls, message: Message, form: str, values: Mapping[str, Any]) -> Self:
        text = cls(form.format_map(values))
        text.message, text.values = message, values
        return text


def english(message: str, /, **values: Any) -> str:
    """Return a message in English, whatever language is spoken, with values in place of its ``{names}``.

    The message is a literal, as for ``_``; a value may itself have been made by ``english``.
    """
    return Said.of(message, **values)


def nenglish(singular: str, plural: str, n: int, /, **values: Any) -> str:
    """Return the form of a message for ``n`` things, in English, as ``english`` does; ``{n}`` is the number."""
    return Said.of_several(singular, plural, n, **values)


def say(text: str) -> str | None:
    """Return a text made by ``english`` in the spoken language, None where it is of no message that is translated.

    So are texts of Python and Numba, and those that other versions put differently. What a text is about stays before
    it, as in ``file:line: text``; several may be joined by semicolons, or by "or".
    """
    return text if spoken() == "en" else _say(text, within=False)


def recognised(text: str, *, within: bool = False) -> tuple[Message, dict[str, Any]] | None:
    """Return the message that an English text was made of, and its values.

    Of several it is one that stands around a text of another message, else the one that says most itself. ``within`` is
    for a text that is a value of another message.
    """
    recognised_by = [
        (pattern, values)
        for pattern in _patterns(spoken())
        if (values := pattern.values(text)) is not None
        and (within or not (pattern.general and pattern.open) or _telling(values.values()))
    ]
    around = (candidate for candidate in recognised_by if candidate[0].around and _telling([candidate[1]["what"]]))
    pattern, values = next(around, recognised_by[0] if recognised_by else (None, {}))
    return (pattern.message, values) if pattern else None


def _telling(values: Iterable[Any]) -> bool:
    """Tell whether one of some values is, or begins with, a text that can be of one message only."""
    return any(_is_telling(value.partition("; ")[0]) for value in values if isinstance(value, str))


def _is_telling(text: str) -> bool:
    fits = ((pattern, pattern.values(text)) for pattern in _patterns(spoken()))
    return any(values is not None and (not pattern.general or _telling(values.values())) for pattern, values in fits)


def _say(text: str, *, within: bool) -> str | None:
    return _whole(text, within) or _about(text, within) or _joined(text, within)


def _whole(text: str, within: bool) -> str | None:
    known = (text.message, dict(text.values)) if isinstance(text, Said) else recognised(text, within=within)
    if known is None:
        return None
    message, values = known
    texts = {name: _say(value, within=True) for name, value in values.items() if isinstance(value, str)}
    values |= {name: translated for name, translated in texts.items() if translated}
    translated = (
        gettext(message, **values) if isinstance(message, str) else ngettext(*message, values.pop("n"), **values)
    )
    return None if isinstance(translated, English) else translated


def _about(text: str, within: bool) -> str | None:
    about, colon, rest = text.partition(": ")
    what = _say(rest, within=within) if colon else None
    return what and f"{about}: {what}"


def _joined(text: str, within: bool) -> str | None:
    for joint, message in _JOINTS.items():
        for place in re.finditer(joint, text):
            before = _whole(text[: place.start()], within)
            after = _say(text[place.end() :], within=within) if before else None
            if before and after:
                return gettext(message, before=before, after=after)
    return None


@dataclass(frozen=True)
class Pattern:
    """What the texts of a message look like.

    ``anchor`` is the longest piece that all of them have, ``own`` how much the message says itself: when that is next
    to nothing it is ``general``. An ``open`` one has values that can be any text, one that stands ``around`` another
    text begins with it, as its ``{what}``.
    """

    message: Message
    anchor: str
    own: int
    general: bool
    open: bool
    around: bool
    text: re.Pattern[str]
    readers: Mapping[str, Callable[[str], Any]]

    def values(self, text: str) -> dict[str, Any] | None:
        """Return the values in a text, numbers as such, or None when it is not of this message."""
        match = self.text.fullmatch(text) if self.anchor in text else None
        return match and {name: self.readers[name](value) for name, value in match.groupdict().items()}


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
    texts = sum(reader is str for reader in readers.values())
    words = len(_WORD.findall(" ".join(literals))) + len(readers) - texts  # a number tells as much as a word
    return Pattern(
        message,
        anchor=max(literals, key=len),
        own=len("".join(literals)),
        general=words < _FEWEST_WORDS,
        open=texts > 0,
        around=form.startswith("{what}"),
        text=re.compile(pieces, re.DOTALL),
        readers=readers,
    )


@cache
def _patterns(tag: str) -> tuple[Pattern, ...]:
    """Return the patterns of all messages, those that say most themselves first."""
    forms = [
        (message, form)
        for message in english_messages(tag)
        for form in ([message] if isinstance(message, str) else message)
    ]
    return tuple(sorted((pattern_of(*form) for form in forms), key=lambda pattern: -pattern.own))
