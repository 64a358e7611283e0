"""The catalogues against the code: nothing unused, every placeholder where it belongs, words that people look for."""

import re
from functools import cache
from pathlib import Path
from string import Formatter

import numpy as np
import pytest
from babel.messages.catalog import Catalog
from helpers.extracting import extracted, tool

from smemviz import i18n as language
from smemviz import messages as said
from smemviz.errors import InputError
from smemviz.i18n import (
    LANGUAGES,
    English,
    best_of,
    gettext,
    ngettext,
    pgettext,
    script_messages,
    speak,
    speaking,
    spoken,
)

TRANSLATED = [tag for tag in LANGUAGES if tag != "en"]


@pytest.fixture(scope="module")
def in_code():
    """Every message in the code by its key, English and context."""
    return {key(entry): entry for entry in extracted() if entry.id}


def in_catalogue(tag):
    return {key(entry): entry for entry in language._entries(tag) if entry.id}


def key(entry):
    return (tuple(entry.id) if isinstance(entry.id, (list, tuple)) else entry.id, entry.context)


def placeholders(text):
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def strings(entry):
    return [entry.string] if isinstance(entry.string, str) else list(entry.string)


def test_no_translation_is_unused_or_uncertain(in_code):
    for tag in TRANSLATED:
        there = in_catalogue(tag)
        assert [unused for unused in there if unused not in in_code] == []
        assert [entry.id for entry in there.values() if entry.fuzzy] == []
        assert list(language._entries(tag).obsolete) == []


def test_translations_have_the_placeholders_of_their_messages():
    for tag in TRANSLATED:
        wrong = []
        for (message, _), entry in in_catalogue(tag).items():
            wanted = placeholders(message if isinstance(message, str) else message[1])
            wrong += [(message, text) for text in strings(entry) if text and placeholders(text) != wanted]
        assert wrong == []


def catalogue(*entries):
    """Return a catalogue of messages, with what is to be their translations."""
    made = Catalog(locale="ko")
    for message, string in entries:
        made.add(message, string)
    return made


def test_korean_keeps_one_tone_within_a_message():
    """Who is asked to do something (-세요) is not told the rest of it in plain statements (-다)."""
    texts = [text for entry in in_catalogue("ko").values() for text in np.ravel(entry.string)]
    assert [text for text in texts if "세요" in text and re.search("(?<!니)다[.;,]", text)] == []


def test_a_catalogue_keeps_what_is_still_said_and_carries_nothing_over():
    there = catalogue(
        ("a bank", "뱅크"),
        ("two banks collide", "뱅크 두 개가 충돌한다"),
        (("{n} lane", "{n} lanes"), ("레인 {n}개",)),
        (("{n} word", "{n} words"), ("워드 {n}개",)),
        ("{n} tile", "타일 {n}개"),
        ("gone", "없음"),
    )
    now = catalogue(
        ("a bank", None),
        ("two banks collided", None),  # other words, though nearly the same
        (("{n} lane", "{n} lanes"), None),
        (("{n} word", "{n} words of a bank"), None),
        (("{n} tile", "{n} tiles"), None),
        ("new", None),
    )
    kept = {key(entry)[0]: entry.string for entry in tool().updated(there, now) if entry.id}
    assert kept == {
        "a bank": "뱅크",
        "two banks collided": "",
        ("{n} lane", "{n} lanes"): ("레인 {n}개",),
        ("{n} word", "{n} words of a bank"): "",
        ("{n} tile", "{n} tiles"): "",
        "new": "",
    }
    assert [entry.id for entry in there if entry.id and entry.fuzzy] == []
    assert list(there.obsolete) == []
    assert [key(entry)[0] for entry in tool().untranslated(there, now)] == [
        "two banks collided",
        ("{n} word", "{n} words of a bank"),
        ("{n} tile", "{n} tiles"),
        "new",
    ]


def test_a_catalogue_is_written_with_what_is_new_and_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(tool(), "catalogue_file", lambda tag: tmp_path / f"{tag}.po")
    monkeypatch.setattr(tool(), "ROOT", tmp_path)
    (tmp_path / "smemviz").mkdir()
    code = tmp_path / "smemviz" / "a.py"
    code.write_text('_("a bank")\nngettext("{n} lane", "{n} lanes", n)\n', encoding="utf-8")
    assert tool().main([]) == 0
    assert tool().main(["--release"]) == 1
    for tag in TRANSLATED:
        file = tmp_path / f"{tag}.po"
        text = file.read_text("utf-8").replace('msgid "a bank"\nmsgstr ""', 'msgid "a bank"\nmsgstr "뱅크"')
        file.write_text(text.replace('msgstr[0] ""', 'msgstr[0] "{n}"'), "utf-8")
    assert tool().main(["--release"]) == 0
    code.write_text('_("a bank")\n_("a lane")\n', encoding="utf-8")
    assert list(tool().shares()) == [(tag, 1, 2) for tag in TRANSLATED]
    assert tool().main([]) == 0
    assert [(entry.id, entry.string) for entry in tool().read("ko") if entry.id] == [("a bank", "뱅크"), ("a lane", "")]


@pytest.fixture
def half(tmp_path, monkeypatch):
    """Speak Korean with a catalogue that knows one message of each kind, and lacks another."""
    made = catalogue(
        ("a bank of {name}", "{name}의 뱅크"),
        ("a lane of {name}", ""),
        (("{n} word", "{n} words"), ("워드 {n}개",)),
        (("{n} byte", "{n} bytes"), ("",)),
    )
    made.add("Play", "", [("a.js", 1)])
    made.add("Stop", "정지", [("a.js", 2)])
    made.add("{what} is known, as it says enough", "{what}까지", auto_comments=[language.RECOGNISED])
    made.add("{what} is not told, as it says", "", auto_comments=[language.RECOGNISED])
    file = tmp_path / "ko.po"
    file.write_bytes(tool().written(made))
    monkeypatch.setattr(language, "catalogue_file", lambda tag: file)
    caches = (language._entries, language._catalogue, said._patterns)
    for kept in caches:
        kept.cache_clear()
    with speaking("ko"):
        yield
    for kept in caches:
        kept.cache_clear()


def test_what_is_not_translated_is_english_and_says_so(half):
    translated = [gettext("a bank of {name}", name="tile"), ngettext("{n} word", "{n} words", 2)]
    assert translated == ["tile의 뱅크", "워드 2개"]
    assert not any(isinstance(one, English) for one in translated)
    left = [
        gettext("a lane of {name}", name="tile"),
        gettext("not even in the catalogue"),
        ngettext("{n} byte", "{n} bytes", 1),
        ngettext("{n} byte", "{n} bytes", 2),
        pgettext("memory", "shared"),
    ]
    assert left == ["a lane of tile", "not even in the catalogue", "1 byte", "2 bytes", "shared"]
    assert all(isinstance(one, English) for one in left)
    assert script_messages("ko") == {"Stop": "정지"}


def test_a_recorded_text_is_told_only_where_its_message_is_translated(half):
    assert said.say("x is known, as it says enough") == "x까지"
    assert said.say("x is not told, as it says") is None


def test_scripts_look_up_messages_of_scripts_and_no_others(in_code):
    wanted = {
        message if isinstance(message, str) else message[0]
        for (message, _), entry in in_code.items()
        if any(file.endswith(".js") for file, _line in entry.locations)
    }
    assert wanted
    for tag in TRANSLATED:
        assert set(script_messages(tag)) <= wanted
    assert script_messages("en") == {}


def test_a_message_of_a_script_is_found_wherever_it_stands(in_code):
    """One in the arguments of another is not: give it a name first."""
    root = Path(language.__file__).parents[1]
    scripts = [path for folder in ("assets", "smemviz") for path in (root / folder).rglob("*.js")]
    said = {
        (path.name, text)
        for path in scripts
        if "codemirror" not in path.parts
        for text in re.findall(r'gettext\(\s*"((?:[^"\\]|\\.)*)"', path.read_text("utf-8"))
    }
    found = {
        (Path(file).name, message if isinstance(message, str) else message[0])
        for (message, _), entry in in_code.items()
        for file, _line in entry.locations
        if file.endswith(".js")
    }
    assert len(said) > 50
    assert said <= found
    assert script_messages("ko")["lane {lanes}"] == "레인 {lanes}"  # which Python counts: lanes {lanes}


def test_messages_of_scripts_have_no_form_that_scripts_cannot_fill():
    for tag in TRANSLATED:
        for message, text in script_messages(tag).items():
            assert not re.search(r"\{[^}]*[:!][^}]*\}", message + text), message


def test_english_is_spoken_unless_another_is_asked_for():
    assert spoken() == "en"
    assert gettext("{n:,} of {most}", n=1234, most="2") == "1,234 of 2"
    assert ngettext("{n:,} lane of {name}", "{n:,} lanes of {name}", 1, name="a") == "1 lane of a"
    assert ngettext("{n:,} lane of {name}", "{n:,} lanes of {name}", 3200, name="a") == "3,200 lanes of a"
    assert pgettext("operation", "load") == "load"


def test_a_language_is_spoken_for_as_long_as_is_asked():
    with speaking("ko"):
        assert spoken() == "ko"
        with speaking("zh-Hans"):
            assert spoken() == "zh-Hans"
        assert spoken() == "ko"
        with pytest.raises(InputError, match=r"^no language 'fr': take en, ko, zh-Hans$"):
            speak("fr")
    assert spoken() == "en"


def test_the_first_wanted_language_that_is_spoken_here_is_taken():
    for wanted, tag in [
        (["ko-KR", "en"], "ko"),
        (["zh-CN"], "zh-Hans"),
        (["zh_Hans_CN"], "zh-Hans"),
        (["fr", "de-AT", "KO"], "ko"),
        (["en-GB", "ko"], "en"),
        (["fr"], "en"),
        ([], "en"),
    ]:
        assert best_of(wanted) == tag


_OWN = re.compile(r"\b(cures?|cured|sites?|told|ladder)\b", re.IGNORECASE)


@cache
def messages():
    ids = (entry.id for entry in extracted() if entry.id)
    forms = [form for one in ids for form in (one if isinstance(one, (tuple, list)) else (one,))]
    return [re.sub(r"\{[^}]*\}", "{}", form) for form in forms]


def test_a_term_that_readers_look_for_is_there():
    for term in ["coalesced", "transactions", "occupancy", "broadcast", "bank conflict", "fix"]:
        assert [text for text in messages() if re.search(rf"\b{term}\b", text, re.IGNORECASE)]


def test_no_message_uses_a_word_of_the_project_s_own():
    assert [text for text in messages() if _OWN.search(text)] == []
