"""How answers are read, what is said to wrong ones, and how lessons and their knobs are named."""

import re

import pytest
from helpers.lesson_answers import combinations, stage_of
from helpers.tiers import but

from smemviz.errors import InputError
from smemviz.lessons.course import LESSONS, lesson_of
from smemviz.lessons.lesson import read_answer


def test_answers_are_read_as_people_write_them():
    for slug, text, read in [
        ("banks", " 007 ", "7"),
        ("compiler", "2,048", "2048"),
        ("banks", "１３", "13"),  # noqa: RUF001 - as Korean and Chinese keyboards write digits
        ("banks", "1000000000", "1000000000"),
        ("banks", "-0", "0"),
        ("words", "19,16 - 18", "16-19"),
        ("words", "", "none"),
        ("by-hand", "flat", "flat"),
    ]:
        assert read_answer(stage_of(slug).question, text) == read


def test_what_is_no_answer_is_told_in_one_line():
    for slug, text, said in [
        ("banks", "many", "Write a whole number."),
        ("banks", "1.5", "Write a whole number."),
        ("banks", "9" * 99, "Write a whole number."),
        ("words", "32", "Name lanes from 0 to 31, such as 4, 8-11."),
        ("words", "a", "Name lanes from 0 to 31, such as 4, 8-11."),
        ("by-hand", "diagonal", "Choose one."),
    ]:
        with pytest.raises(InputError) as refused:
            read_answer(stage_of(slug).question, text)
        assert str(refused.value) == said


def test_lessons_are_found_by_number_and_name():
    assert [lesson.slug for lesson in LESSONS] == [
        *("why", "lanes", "banks", "rows", "columns", "words"),
        *("padding", "rectangles", "by-hand"),
        *("swizzle", "triton", "tensor-copies"),
        *("barrier", "race", "reduction"),
        *("sectors", "tiles", "reuse"),
        *("compiler", "occupancy", "matter"),
    ]
    assert lesson_of("5") is lesson_of("columns") is LESSONS[4]
    with pytest.raises(InputError, match="no lesson '22'; there are 1 why, 2 lanes"):
        lesson_of("22")


def test_a_lesson_builds_on_lessons_before_it():
    slugs = [lesson.slug for lesson in LESSONS]
    for number, lesson in enumerate(LESSONS):
        assert set(lesson.builds_on) <= set(slugs[:number])
        assert lesson.builds_on or lesson.slug in ("why", "lanes")


def test_a_knob_of_the_url_that_is_not_offered_gives_way_and_one_of_the_command_line_is_refused():
    columns = lesson_of("columns")
    assert columns.values({"COLUMNS": "7", "FILE": "x"}) == {"COLUMNS": "32"}
    with pytest.raises(InputError, match="COLUMNS of the lesson columns is one of 8, 12, 16, 24, 32, 64, not 7"):
        columns.turned({"COLUMNS": "7"})
    with pytest.raises(InputError, match="the lesson columns has no knob IPAD; it has COLUMNS"):
        columns.turned({"IPAD": "1"})


def test_lanes_that_a_hint_names_do_collide():
    for rows in [4, 8, 16, 32]:
        stage = stage_of("rectangles", BDIMY=str(rows))
        (right,) = stage.right
        for pad in range(int(right)):
            found = re.search(r"lanes (\d+) and (\d+) both ask bank (\d+)", stage.hint(str(pad)))
            one, other, bank = map(int, found.groups())
            words = [lane % rows * (32 + pad) + lane // rows for lane in (one, other)]  # down one column, then the next
            assert words[0] != words[1]
            assert [word % 32 for word in words] == [bank, bank]


# What is said to a wrong answer


def test_a_wrong_answer_gets_a_hint_of_its_own():
    for slug, knobs, given, said in [
        ("banks", {}, "45", "45 is the number of the word. After bank 31 comes bank 0 again."),
        ("banks", {}, "99", "There are 32 banks, numbered from 0 to 31."),
        (
            "banks", {}, "5",
            "That is its column. A row does not begin in bank 0 by itself: 40 words lie before this row.",
        ),
        (
            "lanes", {}, "53",
            "53 is the number of the thread in its block. Lanes are counted from 0 again in each warp.",
        ),
        ("lanes", {}, "83", "That counts along y first. Threads are numbered along x first, then along y."),
        ("why", {}, "6", "Those are its neighbours. The thread in the middle loads it, too."),
        ("barrier", {}, "59", "Elements are counted from 0: the last of 64 is 63."),
        ("race", {}, "0", "Lane 0 loads held[6], which thread 6 stored, of its own warp."),
        ("swizzle", {}, "11", "That is 5 + 6. ^ compares bit by bit: a bit of the result is 1 where the two differ."),
        ("reduction", {}, "1", "Lane 0 asks word 0, in bank 0. Lane 4 asks word 32, in bank 0 as well."),
        ("triton", {}, "16", "That is where the row begins. Its piece 0 is kept at place 2, 8 words further."),
        ("tensor-copies", {}, "8", "There the piece would be without a swizzle. Row 5 has its pieces exchanged."),
        ("tensor-copies", {}, "7", "That is the place in the row. A place has 4 words, each in a bank of its own."),
        (
            "tensor-copies", {}, "20",
            "A row has 32 words, so each begins in bank 0. A place has 4 words: multiply the place by it.",
        ),
        ("triton", {}, "8", "That is the place within the row, and the row itself begins in bank 16."),
        (
            "triton", {"ROW": "6"}, "3",
            "A row has 16 words, so row 6 begins in bank 0. Its piece 0 is at place 3, and a place has 4 words.",
        ),
        ("occupancy", {}, "7", "Each block takes 1 KiB more than it declares."),
        ("reuse", {}, "256", "The block has 256 threads, and 32 of them are a warp."),
        (
            "reuse", {}, "1",
            "Each thread loads b_tile[k, tx] for all k, whatever its ty. Which warps have a thread with tx = 0?",
        ),
        (
            "reuse", {"ARRAY": "a_tile"}, "8",
            "A warp has threads of 2 values of ty. Which warp has ty = 0?",
        ),
        (
            "matter", {}, "50",
            "A cycle for each excess wavefront: 992 at 1,980 MHz are 0.501 µs. The rest of 1.271 µs is the launch "
            "and the way to global memory, which remain.",
        ),
        (
            "matter", {}, "0",
            "A cycle for each excess wavefront: 992 at 1,980 MHz are 0.501 µs. Which part of 1.271 µs is that?",
        ),
        ("rows", {}, "32", "That is one for each lane. Banks work side by side: a wavefront serves many lanes."),
        (
            "rows", {"WIDTH": "16"}, "1",
            "The lanes ask for 512 bytes. A wavefront brings one word from each bank, 128 bytes.",
        ),
        (
            "columns", {"COLUMNS": "8"}, "1",
            "For that, each lane would need a bank of its own. Lanes 0, 1, 2, 3 are in 0, 8, 16, 24.",
        ),
        ("words", {}, "3", "Lane 3 does not collide with itself."),
        ("words", {}, "0", "Lane 0 asks for the same word as lane 3. A bank delivers it to all who want it."),
        ("words", {}, "8", "Lane 8 is in bank 16, lane 3 in bank 0."),
        ("words", {}, "16, 17", "2 lanes are right, but more of them collide."),
        ("words", {}, "none", "Some do. Lane 3 is in bank 0: who else wants another word of it?"),
        ("padding", {"IPAD": "2"}, "1", "Lane 0 is in bank 0, and so is lane 16."),
        (
            "rectangles", {}, "1",
            "With a pad of 1 word, lanes 1 and 16 both ask bank 1: the loads of the whole tile take 32 wavefronts "
            "where 16 would do.",
        ),
        ("rectangles", {}, "6", "6 words are enough, but so is a smaller pad."),
        (
            "rectangles", {"BDIMY": "32"}, "0",
            "With a pad of 0 words, lanes 0 and 1 both ask bank 0: the loads of the whole tile take 1,024 wavefronts "
            "where 32 would do.",
        ),
        (
            "by-hand", {}, "flat",
            "Lane 1 of warp 0 wants [1, 0], which lies at word 33. This index gives 32.",
        ),
        (
            "sectors", {}, "4",
            "Lane 1's address is 384 bytes after lane 0's, and a sector is 32 bytes. How many share one?",
        ),
        ("sectors", {}, "1", "The warp loads 128 bytes, and a sector has 32. That is too few sectors."),
        (
            "sectors", {"TILE": "8"}, "32",
            "Lanes 0 and 8 load from the same sector. Count a sector once, however many use it.",
        ),
        (
            "reduction", {}, "4",
            "That is how many banks are asked. What counts is how many words the busiest one has to deliver.",
        ),
        ("swizzle", {}, "195", "There are 32 banks, numbered from 0 to 31."),
        # The 1 / (block size x block size) that one finds written.
        (
            "tiles", {}, "256",
            "That is the number of threads in a block. But an element of a tile serves one row or column of them: 16.",
        ),
        (
            "compiler", {}, "8192",
            "That is how often the source asks for it. From k to k + 1 the address moves on by 4 bytes, and one "
            "instruction loads up to 16.",
        ),
    ]:  # fmt: skip
        stage = stage_of(slug, **knobs)
        assert stage.hint(read_answer(stage.question, given)).replace("\N{NO-BREAK SPACE}", " ") == said


@pytest.mark.parametrize("lesson", but([lesson_of("tiles"), lesson_of("reuse")], LESSONS), ids=lambda one: one.slug)
def test_no_wrong_answer_is_left_without_a_hint(lesson):
    for knobs in combinations(lesson):
        stage = stage_of(lesson.slug, **knobs)
        kind = stage.question.kind
        numbers = [str(n) for n in (-1, *range(34), 64, 128, 256, 2048, 8192, 9999999)]
        wrong = {
            "number": numbers,
            "lanes": ["none", "3", *(str(n) for n in range(32)), "0-31"],
            "choice": [option.value for option in stage.question.options],
        }[kind]
        for given in wrong:
            assert given in stage.right or stage.hint(given), knobs
