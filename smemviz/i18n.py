"""The language that people are spoken to in: English, Korean or Simplified Chinese, chosen per request or export.

Messages are looked up by their English text with gettext's functions; ``locale/*.po`` holds the translations, which
``tools/messages.py`` keeps up with the code. Field terms stay as the field says them in each language. What nobody has
translated yet is said in English, and as ``English``, so that a page can mark it as such.
"""

import gettext as _gettext
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from smemviz.errors import InputError

LANGUAGES: Mapping[str, str] = {"en": "English", "ko": "한국어", "zh-Hans": "简体中文"}  # by tag, in their own words

# How the catalogues mark messages that pages know again by their English.
RECOGNISED = "Recorded and printed in English, and known by it: keep every {value}."


class English(str):
    """A text in English where another language is spoken, for want of a translation."""

    __slots__ = ()


_spoken: ContextVar[str] = ContextVar("language", default="en")


def spoken() -> str:
    """Return the tag of the language that is spoken now, as ``<html lang>`` wants it."""
    return _spoken.get()


def speak(tag: str) -> None:
    """Speak one of ``LANGUAGES`` from here on, in this thread or task."""
    if tag not in LANGUAGES:
        raise InputError(f"no language {tag!r}: take {', '.join(LANGUAGES)}")
    _spoken.set(tag)


@contextmanager
def speaking(tag: str) -> Iterator[None]:
    """Speak one of ``LANGUAGES`` for as long as this lasts."""
    before = spoken()
    speak(tag)
    try:
        yield
    finally:
        _spoken.set(before)


def best_of(preferred: Iterable[str]) -> str:
    """Return the first of some language tags that is spoken here; only primary subtags count: zh-CN gives zh-Hans."""
    by_primary = {tag.split("-")[0]: tag for tag in LANGUAGES}
    tags = (by_primary.get(tag.replace("_", "-").split("-")[0].lower()) for tag in preferred)
    return next((tag for tag in tags if tag), "en")


def gettext(message: str, /, **values: Any) -> str:
    """Return a message in the spoken language, with values in place of its ``{names}``, as ``str.format`` does."""
    return _filled(_catalogue(spoken()).gettext(message), values)


def ngettext(singular: str, plural: str, n: int, /, **values: Any) -> str:
    """Return the form of a message for ``n`` things; ``{n}`` is the number."""
    return _filled(_catalogue(spoken()).ngettext(singular, plural, n), {"n": n, **values})


def pgettext(context: str, message: str, /, **values: Any) -> str:
    """Return a message whose English alone does not tell what is meant."""
    return _filled(_catalogue(spoken()).pgettext(context, message), values)


def N_(message: str) -> str:  # noqa: N802 - gettext's name
    """Mark a message that is looked up later, where it is shown: the languages of those who read it differ."""
    return message


_ = gettext


def script_messages(tag: str) -> dict[str, str]:
    """Return the translations of what the browser's scripts say, by their English; scripts say the others in that."""
    if tag == "en":
        return {}
    of_scripts = (entry for entry in _entries(tag) if any(file.endswith(".js") for file, _line in entry.locations))
    # A script says the singular of what Python counts.
    forms = ((e.id, e.string) if isinstance(e.id, str) else (e.id[0], e.string[0]) for e in of_scripts if e.string)
    return {message: text for message, text in forms if text}


def english_messages(tag: str) -> list[str | tuple[str, str]]:
    """Return the messages of texts that are in English where they are recorded or printed, see ``messages.py``."""
    return [entry.id for entry in _entries(tag) if RECOGNISED in entry.auto_comments]


def _filled(text: str, values: Mapping[str, Any]) -> str:
    if not values:
        return text
    filled = text.format_map(values)
    return English(filled) if isinstance(text, English) else filled


class _Untranslated(_gettext.NullTranslations):
    """Gives back what a catalogue lacks, as English."""

    def gettext(self, message: str) -> str:
        return English(message)

    def ngettext(self, singular: str, plural: str, n: int) -> str:
        return English(singular if n == 1 else plural)

    def pgettext(self, context: str, message: str) -> str:
        return English(message)


@cache
def _catalogue(tag: str) -> _gettext.NullTranslations:
    if tag == "en":
        return _gettext.NullTranslations()
    from babel.messages.mofile import write_mo

    compiled = BytesIO()
    write_mo(compiled, _entries(tag))
    compiled.seek(0)
    catalogue = _gettext.GNUTranslations(compiled)
    catalogue.add_fallback(_Untranslated())
    return catalogue


@cache
def _entries(tag: str) -> Any:
    """Read a catalogue; Babel is slow to import, and English needs none."""
    from babel.messages.pofile import read_po

    with catalogue_file(tag).open("rb") as file:
        entries = read_po(file, locale=tag.replace("-", "_"))
    for entry in entries:
        if not all(entry.string):  # Babel would take the singular for a plural that has no translation
            entry.string = ""
    return entries


def catalogue_file(tag: str) -> Path:
    """Return the file of a language's translations."""
    return Path(__file__).parent / "locale" / f"{tag.replace('-', '_')}.po"
