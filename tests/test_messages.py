"""The catalogues against the code: nothing missing, nothing unused, and every placeholder where it belongs."""

from __future__ import annotations

import re
from string import Formatter
from typing import Any

import pytest
from extracting import tool

from smemviz import language
from smemviz.errors import InputError
from smemviz.language import LANGUAGES, best_of, gettext, ngettext, pgettext, script_messages, speak, speaking, spoken

TRANSLATED = [tag for tag in LANGUAGES if tag != "en"]


@pytest.fixture(scope="module")
def in_code() -> dict[Any, Any]:
    """Every message in the code by its key, English and context."""
    return {key(entry): entry for entry in tool().extracted() if entry.id}


def in_catalogue(tag: str) -> dict[Any, Any]:
    return {key(entry): entry for entry in language._entries(tag) if entry.id}


def key(entry: Any) -> tuple[Any, str | None]:
    return (tuple(entry.id) if isinstance(entry.id, (list, tuple)) else entry.id, entry.context)


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def strings(entry: Any) -> list[str]:
    return [entry.string] if isinstance(entry.string, str) else list(entry.string)


@pytest.mark.parametrize("tag", TRANSLATED)
def test_every_message_of_the_code_is_translated(tag: str, in_code: dict[Any, Any]) -> None:
    there = in_catalogue(tag)
    missing = [wanted for wanted in in_code if wanted not in there or not all(strings(there[wanted]))]
    assert missing == []


@pytest.mark.parametrize("tag", TRANSLATED)
def test_no_translation_is_unused_or_uncertain(tag: str, in_code: dict[Any, Any]) -> None:
    there = in_catalogue(tag)
    assert [unused for unused in there if unused not in in_code] == []
    assert [entry.id for entry in there.values() if entry.fuzzy] == []
    assert list(language._entries(tag).obsolete) == []


@pytest.mark.parametrize("tag", TRANSLATED)
def test_translations_have_the_placeholders_of_their_messages(tag: str) -> None:
    wrong = []
    for (message, _), entry in in_catalogue(tag).items():
        wanted = placeholders(message if isinstance(message, str) else message[1])
        wrong += [(message, text) for text in strings(entry) if text and placeholders(text) != wanted]
    assert wrong == []


@pytest.mark.parametrize("tag", TRANSLATED)
def test_the_catalogue_is_as_the_tool_writes_it(tag: str) -> None:
    written = {key(entry): entry.string for entry in tool().updated(tag) if entry.id}
    assert {at: entry.string for at, entry in in_catalogue(tag).items()} == written


def test_scripts_find_their_messages_and_no_others(in_code: dict[Any, Any]) -> None:
    wanted = {
        message
        for (message, _), entry in in_code.items()
        if any(file.endswith(".js") for file, _line in entry.locations)
    }
    assert wanted
    for tag in TRANSLATED:
        assert set(script_messages(tag)) == wanted
    assert script_messages("en") == {}


def test_messages_of_scripts_have_no_form_that_scripts_cannot_fill() -> None:
    for tag in TRANSLATED:
        for message, text in script_messages(tag).items():
            assert not re.search(r"\{[^}]*[:!][^}]*\}", message + text), message


def test_english_is_spoken_unless_another_is_asked_for() -> None:
    assert spoken() == "en"
    assert gettext("{n:,} of {most}", n=1234, most="2") == "1,234 of 2"
    assert ngettext("{n:,} lane of {name}", "{n:,} lanes of {name}", 1, name="a") == "1 lane of a"
    assert ngettext("{n:,} lane of {name}", "{n:,} lanes of {name}", 3200, name="a") == "3,200 lanes of a"
    assert pgettext("operation", "load") == "load"


def test_a_language_is_spoken_for_as_long_as_is_asked() -> None:
    with speaking("ko"):
        assert spoken() == "ko"
        with speaking("zh-Hans"):
            assert spoken() == "zh-Hans"
        assert spoken() == "ko"
    assert spoken() == "en"


def test_an_unknown_language_is_refused_in_a_line() -> None:
    with pytest.raises(InputError, match=r"^no language 'fr': take en, ko, zh-Hans$"):
        speak("fr")
    assert spoken() == "en"


@pytest.mark.parametrize(
    ("wanted", "tag"),
    [
        (["ko-KR", "en"], "ko"),
        (["zh-CN"], "zh-Hans"),
        (["zh_Hans_CN"], "zh-Hans"),
        (["fr", "de-AT", "KO"], "ko"),
        (["en-GB", "ko"], "en"),
        (["fr"], "en"),
        ([], "en"),
    ],
)
def test_the_first_wanted_language_that_is_spoken_here_is_taken(wanted: list[str], tag: str) -> None:
    assert best_of(wanted) == tag
