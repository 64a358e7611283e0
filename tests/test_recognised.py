"""Texts that are known again: each of its own message, and nothing that was said by others."""

from string import Formatter

import pytest
from helpers.extracting import messages_said
from helpers.pseudo import pseudo

from smemviz.messages import english, pattern_of, recognised, say

# What stands in texts: code, a name, a sentence of Python, and some of our own.
VALUES = (
    *("tile[ty, tx + 1]", "kernel", "np.zeros((32, 32), np.float32)", "'NoneType' object is not callable"),
    *("(32, 1, 1)", "/tmp/kernels/mine.py", "which array x is cannot be told", "all 3 loads of a were left out"),
)
NUMBERS = {",": 1024, "d": 7, "f": 3.5, "g": 2.5}


@pytest.fixture(autouse=True)
def _bracketed():
    with pseudo():
        yield


def forms():
    """Return every message with each of its forms."""
    return [(one, form) for one in messages_said() for form in ([one] if isinstance(one, str) else one)]


def texts(form):
    """Yield texts of a message, each with another of the values."""
    fields = [(name, (spec or "")[-1:]) for _, name, spec, _ in Formatter().parse(form) if name is not None]
    for first in range(len(VALUES)):
        values = {name: NUMBERS.get(kind, VALUES[(first + i) % len(VALUES)]) for i, (name, kind) in enumerate(fields)}
        yield form.format_map(values)


@pytest.mark.exhaustive
def test_no_text_of_a_message_is_known_as_one_of_another():
    wrong = {}
    for message, form in forms():
        for text in texts(form):
            known = recognised(text)
            if known and known[0] != message:
                wrong[form] = (text, known[0])
    assert wrong == {}


@pytest.mark.exhaustive
def test_the_texts_of_all_but_the_most_general_messages_are_known():
    general = {pattern.message for pattern in (pattern_of(*one) for one in forms()) if pattern.general and pattern.open}
    unknown = {message for message, form in forms() if any(recognised(text) is None for text in texts(form))}
    assert unknown <= general
    assert len(general) < 25


def test_a_text_of_others_is_not_known():
    for text in [
        "TypeError: 'tile' is a list and not an array",
        "x is a list and y",
        "the array is read-only and cannot be changed",
        "SyntaxError: assignment to yield expression not possible",
        "line 3: invalid syntax",
        "square.py, line 3: invalid syntax",
        "Failed: 12 -> 13",
        "the text was cut off here",
    ]:
        assert recognised(text) is None
        assert say(text) is None


def test_a_race_is_known_with_what_each_thread_did():
    did = english("stored by thread {thread} at line {line}", thread=(3, 0, 0), line=5)
    does = english("loaded by thread {thread} at line {line}", thread=(4, 0, 0), line=9)
    what = english("{element} is {did} and {does}", element="tile[3]", did=did, does=does)
    message = "{what} with no barrier between"
    text = str(english(message, what=what))
    assert recognised(text) == (message, {"what": what})
    assert recognised(what) == ("{element} is {did} and {does}", {"element": "tile[3]", "did": did, "does": does})
    assert str(say(text)).count("⟦stored by thread ⟧") == 1


def test_what_the_compiler_left_out_is_known_in_its_short_sentences():
    accesses = english("{n:,} loads of {source}", n=1024, source="a[i]")
    what = english("all {accesses} were left out, because {why}", accesses=accesses, why="nothing loads a")
    text = english("{what}: {before:,} -> 0 requests", what=f"{what}; {what}", before=1024)
    assert recognised(text) == ("{what}: {before:,} -> 0 requests", {"what": f"{what}; {what}", "before": 1024})
    merged = english("{accesses} became one {instruction}", accesses=accesses, instruction="LDS.128")
    each = english(
        "{what}: {before:,} -> {after}, {amount} each", what=merged, before=4, after="1 request", amount="4 sectors"
    )
    assert (recognised(each) or ("",))[0] == "{what}: {before:,} -> {after}, {amount} each"
