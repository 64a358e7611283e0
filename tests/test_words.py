"""The words that people read: those that they look for are there, and none that only the project itself uses."""

from __future__ import annotations

import re
from functools import cache

import pytest
from helpers.extracting import extracted

_OWN = re.compile(r"\b(cures?|cured|sites?|told|ladder)\b", re.IGNORECASE)


@cache
def messages() -> list[str]:
    ids = (entry.id for entry in extracted() if entry.id)
    forms = [form for one in ids for form in (one if isinstance(one, (tuple, list)) else (one,))]
    return [re.sub(r"\{[^}]*\}", "{}", form) for form in forms]


@pytest.mark.parametrize("term", ["coalesced", "transactions", "occupancy", "broadcast", "bank conflict", "fix"])
def test_a_term_that_readers_look_for_is_there(term: str) -> None:
    assert [text for text in messages() if re.search(rf"\b{term}\b", text, re.IGNORECASE)]


def test_no_message_uses_a_word_of_the_project_s_own() -> None:
    assert [text for text in messages() if _OWN.search(text)] == []
