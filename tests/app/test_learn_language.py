"""The lessons in a language in brackets: every text is a message, or data."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest
from helpers.pseudo import forgotten, pseudo
from helpers.tiers import one_in

from smemviz.app.pages.learn.learn_page import learn_page
from smemviz.app.pages.learn.learn_view import view_lesson
from smemviz.figures.drawing.cells import CHARACTERS
from smemviz.lessons.course import LESSONS, lesson_of
from smemviz.lessons.handout import handout_page
from smemviz.lessons.lesson import Lesson, lanes_of, read_answer

# Code, constants and files of the gallery, as they stand in questions and pictures.
DATA = [
    *("tile", "i", "tx", "ty", "PITCH", "BDIMX", "BDIMY", "IPAD", "out", "column", "row", "a_tile", "b_tile", "k"),
    *("square.py", "rectangle.py", "transpose.py", "matmul.py", "held", "lane", "float32", "int32", "S³", "T"),
    *("matrix", "matrix[column,\xa0row]", "held", "RADIUS", "stencil.py", "latency.py", "reverse.py", "reduce.py"),
    *("threadIdx.x", "threadIdx.y", "threadIdx.y\xa0*\xa0blockDim.x\xa0+\xa0threadIdx.x", "c\xa0^\xa0r", "c ^ r"),
    *("cuda.syncthreads()", "cuda.syncwarp()", "held[r,\xa0c\xa0^\xa0r]", "2\xa0*\xa0step\xa0*\xa0t", "static_reverse"),
    *("from_shared_memory", "load_columns_store_rows", "swizzled_tile", "tiled", "held[t\xa0+\xa06]"),
]


def answers(lesson: Lesson) -> list[str]:
    kind = lesson.stage(lesson.values({})).question.kind
    return {"number": ["1", "45", "32", "5", "99", "256", "8192", "x"], "lanes": ["none", "3", "0", "8", "16", "x"],
            "choice": ["flat", "column", "x"]}[kind]  # fmt: skip


def test_the_list_of_lessons() -> None:
    with pseudo():
        assert forgotten(learn_page("/learn"), DATA) == []


@pytest.mark.parametrize("lesson", one_in(8, LESSONS), ids=lambda lesson: lesson.slug)
def test_a_lesson_before_and_after_its_answer(lesson: Lesson) -> None:
    with pseudo():
        assert forgotten(learn_page(f"/learn/{lesson.slug}"), DATA) == []
        for given in ("", "show", *answers(lesson)):
            shown = view_lesson(lesson, {"ANSWER": given}, "light")
            for panel in ("scene", "1"):
                if _is_source(shown[f"learn-{panel}-figure.figure"]):
                    del shown[f"learn-{panel}-figure.figure"]
            texts = [value for name, value in shown.items() if name.endswith((".children", ".figure", ".aria-label"))]
            assert forgotten(texts, DATA) == []


def _is_source(figure: go.Figure) -> bool:
    return any(trace.meta == CHARACTERS for trace in figure.data)


@pytest.mark.exhaustive
def test_a_handout_has_the_question_before_the_answer() -> None:
    with pseudo():
        for lesson in LESSONS:
            values = lesson.values({})
            stage = lesson.stage(values)
            page = handout_page([(lesson, values, stage, [])])
            assert page.index("⟦Question⟧") < page.index("⟦It is ⟧")


def test_lanes_read_are_lanes_written() -> None:
    lesson = lesson_of("words")
    question = lesson.stage(lesson.values({})).question
    assert lanes_of(read_answer(question, "31, 4-6")) == [4, 5, 6, 31]
