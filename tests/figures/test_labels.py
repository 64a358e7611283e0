from __future__ import annotations

from datetime import date

import pytest

from smemviz.i18n import speaking
from smemviz.wording.labels import count, day, duration, finding_name, lanes_named, number, operation_name, percent


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


def test_a_number_is_written_whole_where_it_is() -> None:
    values = (3.0, -1e6, 1e7, 0.12345, float("inf"), float("-inf"), 1e300)
    assert [number(value) for value in values] == ["3", "-1000000", "1e+07", "0.1235", "inf", "-inf", "1e+300"]


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


def test_a_noun_that_no_language_knows_is_refused() -> None:
    with pytest.raises(KeyError, match="wave"):
        count(1, "wave")


def test_words_of_the_schema_are_written_as_a_reader_would() -> None:
    assert [operation_name(op) for op in ("load", "atomic_add", "reduce_inc", "ldmatrix_x4")] == [
        "load",
        "atomic add",
        "reduce inc",
        "ldmatrix x4",
    ]
    assert [finding_name(kind) for kind in ("out_of_bounds", "not_known_yet")] == ["out of bounds", "not known yet"]
    assert [lanes_named(lanes) for lanes in ([3], [0, 1, 2, 7])] == ["lane 3", "lanes 0-2, 7"]


def test_a_day_is_written_as_its_language_does() -> None:
    written = {}
    for tag in ("en", "ko", "zh-Hans"):
        with speaking(tag):
            written[tag] = day(date(2025, 11, 21))
    assert written == {"en": "21 November 2025", "ko": "2025년 11월 21일", "zh-Hans": "2025年11月21日"}
