"""Sentences on what became of requests."""

from __future__ import annotations

import pytest

from smemviz.measure.ncu.sass import Counts
from smemviz.measure.ncu.verdicts import Subject, changed, moved_together


@pytest.mark.parametrize(("width", "parts"), [(8, "two floats (4 bytes each)"), (16, "two doubles (8 bytes each)")])
def test_a_complex_number_is_two_of_its_own_parts(width: int, parts: str) -> None:
    subject = Subject(("held[i]",), "load", "shared", width, 8, True)
    counts = {width // 2: Counts(16, 512, 16, 16, 0)}
    assert changed(subject, "", width // 2, counts, ()) == (
        f"each complex number of held[i] is {parts}: 8 -> 16 requests, 1 wavefront each"
    )
    assert moved_together(width) == f"One instruction moved both {parts.removeprefix('two ')} of a number."
