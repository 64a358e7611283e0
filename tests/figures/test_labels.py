from __future__ import annotations

import pytest

from smemviz.figures.labels import count, duration, percent


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0.0, "0.000 µs"),
        (0.0001, "under 0.001 µs"),
        (1.7486, "1.749 µs"),
        (12.345, "12.35 µs"),
        (994.04, "994.0 µs"),
        (1359.0, "1.359 ms"),
        (23_042_000.0, "23.04 s"),
    ],
)
def test_a_time_is_written_in_four_digits_and_its_unit(microseconds: float, text: str) -> None:
    assert duration(microseconds) == text


def test_a_share_is_written_whole_and_below_one_percent_with_a_digit() -> None:
    assert [percent(share) for share in (0.0, 0.0001, 0.004, 0.01, 0.666, 1.25)] == [
        "0 %",
        "under 0.1 %",
        "0.4 %",
        "1 %",
        "67 %",
        "125 %",
    ]


def test_a_count_has_its_noun_in_the_plural() -> None:
    assert [count(1, "launch"), count(2, "launch"), count(1024, "wavefront")] == [
        "1 launch",
        "2 launches",
        "1,024 wavefronts",
    ]
