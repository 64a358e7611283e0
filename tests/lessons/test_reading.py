"""How answers are read, and how lessons and their knobs are named."""

from __future__ import annotations

import pytest

from smemviz.errors import InputError
from smemviz.lessons.course import LESSONS, lesson_of
from smemviz.lessons.lesson import read_answer


@pytest.mark.parametrize(
    ("slug", "text", "read"),
    [
        ("banks", " 007 ", "7"),
        ("compiler", "2,048", "2048"),
        ("banks", "１３", "13"),  # noqa: RUF001 - as Korean and Chinese keyboards write digits
        ("banks", "1000000000", "1000000000"),
        ("banks", "-0", "0"),
        ("words", "19,16 - 18", "16-19"),
        ("words", "", "none"),
        ("by-hand", "flat", "flat"),
    ],
)
def test_answers_are_read_as_people_write_them(slug: str, text: str, read: str) -> None:
    lesson = lesson_of(slug)
    assert read_answer(lesson.stage(lesson.values({})).question, text) == read


@pytest.mark.parametrize(
    ("slug", "text", "said"),
    [
        ("banks", "many", "Write a whole number."),
        ("banks", "1.5", "Write a whole number."),
        ("banks", "9" * 99, "Write a whole number."),
        ("words", "32", "Name lanes from 0 to 31, such as 4, 8-11."),
        ("words", "a", "Name lanes from 0 to 31, such as 4, 8-11."),
        ("by-hand", "diagonal", "Choose one."),
    ],
)
def test_what_is_no_answer_is_told_in_one_line(slug: str, text: str, said: str) -> None:
    lesson = lesson_of(slug)
    with pytest.raises(InputError) as refused:
        read_answer(lesson.stage(lesson.values({})).question, text)
    assert str(refused.value) == said


def test_lessons_are_found_by_number_and_name() -> None:
    assert [lesson.slug for lesson in LESSONS] == [
        *("why", "lanes", "sectors", "barrier", "race", "tiles"),
        *("banks", "rows", "columns", "words", "padding", "rectangles", "by-hand", "swizzle", "reduction", "compiler"),
    ]
    assert lesson_of("9") is lesson_of("columns") is LESSONS[8]
    with pytest.raises(InputError, match="no lesson '17'; there are 1 why, 2 lanes"):
        lesson_of("17")


def test_a_knob_of_the_url_that_is_not_offered_gives_way_and_one_of_the_command_line_is_refused() -> None:
    columns = lesson_of("columns")
    assert columns.values({"COLUMNS": "7", "FILE": "x"}) == {"COLUMNS": "32"}
    with pytest.raises(InputError, match="COLUMNS of the lesson columns is one of 8, 12, 16, 24, 32, 64, not 7"):
        columns.turned({"COLUMNS": "7"})
    with pytest.raises(InputError, match="the lesson columns has no knob IPAD; it has COLUMNS"):
        columns.turned({"IPAD": "1"})
