"""Handouts, opened again: what stands on which page, in every language."""

import re
from itertools import product
from unicodedata import normalize

import pypdf
import pytest

from smemviz.i18n import LANGUAGES, gettext, speaking
from smemviz.lessons.course import LESSONS, lesson_of
from smemviz.lessons.handout import printed_to_fit


def pages(path):
    """Return the text of each page, with single spaces and no ligatures."""
    texts = [page.extract_text() for page in pypdf.PdfReader(path).pages]
    return [re.sub(r"\s+", " ", text).replace("ﬀ", "ff").replace("ﬂ", "fl").replace("ﬁ", "fi") for text in texts]


@pytest.mark.browser
@pytest.mark.usefixtures("image_browser")
def test_a_handout_asks_on_its_first_page_and_answers_on_the_next(tmp_path, command):
    out = tmp_path / "columns.pdf"
    command("handout", "columns", "-o", out)
    first, answer = pages(out)  # two pictures of 32 rows each
    assert f"Lesson 5 of {len(LESSONS)} Down a column" in first
    assert "Rows are 32 words long, and lane i loads tile[i, 0]. How many wavefronts does that take?" in first
    assert "32 wavefronts" not in first
    assert "It is 32." in answer
    assert "All 32 words lie in the same bank. 32 wavefronts where 1 would do." in answer
    assert "Tile" in answer
    assert "Banks by wavefront" in answer
    assert "number = lane" in answer
    assert all(not page.images for page in pypdf.PdfReader(out).pages)  # vectors


@pytest.mark.browser
@pytest.mark.usefixtures("image_browser")
def test_the_whole_course_is_one_file_with_its_goals_in_front(tmp_path, command):
    out = tmp_path / "course.pdf"
    command("handout", "--all", "-o", out)
    cover, *sheets = pages(out)
    assert len(sheets) == 2 * len(LESSONS)
    for number, lesson in enumerate(LESSONS, 1):
        assert f"{lesson.title} ({lesson.minutes} minutes)" in cover
        asks, answers = sheets[2 * number - 2 : 2 * number]
        assert f"Lesson {number} of {len(LESSONS)} {lesson.title}" in asks
        assert "Your answer" in asks
        assert "It is " in answers


@pytest.mark.exhaustive
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)
def test_the_pictures_of_every_answer_fit_its_page(lesson):
    for values in product(*(knob.options for knob in lesson.knobs)):
        stage = lesson.stage(dict(zip((knob.name for knob in lesson.knobs), values, strict=True)))
        printed = printed_to_fit([panel.figure for panel in stage.panels("light")])
        assert sum(one.height * one.scale for one in printed) <= 700  # of the 986 pixels between the margins of A4


@pytest.mark.browser
@pytest.mark.usefixtures("image_browser")
@pytest.mark.parametrize("tag", LANGUAGES)
def test_a_handout_speaks_the_language_it_is_asked_for(tag, tmp_path, command):
    out = tmp_path / "by-hand.pdf"
    command("handout", "by-hand", "--lang", tag, "-o", out)
    # a font draws 手 and the radical ⼿ with one glyph, and a reader of the file finds either
    first, last = (normalize("NFKC", text).replace(" ", "") for text in pages(out))
    with speaking(tag):
        assert gettext(lesson_of("by-hand").title).replace(" ", "") in first
        assert gettext("Your answer").replace(" ", "") in first
    assert "tile[tx*PITCH+ty]" in first
    assert "tile[tx*PITCH+ty]" in last
    assert pypdf.PdfReader(out).root_object.get("/Lang") == tag


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["22", "-o", "a.pdf"], "no lesson '22'; there are 1 why, 2 lanes, 3 banks"),
        (["3", "-o", "a.svg"], "a.svg: a handout ends in .pdf"),
        (["5", "--set", "COLUMNS=7", "-o", "a.pdf"], "COLUMNS of the lesson columns is one of 8, 12, 16, 24, 32, 64,"),
        (["--all", "--set", "COLUMNS=8", "-o", "a.pdf"], "--set turns a knob of one lesson; name it instead of --all"),
        (["3", "-o", "there.pdf"], "there.pdf: is there already; --force overwrites it"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_in_one_line_and_nothing_is_written(arguments, said, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.pdf").write_text("mine")
    err = command("handout", *arguments, code=2).err
    assert err.startswith(f"smemviz: {said}")
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["there.pdf"]


def test_without_a_browser_it_exits_3_and_writes_nothing(tmp_path, monkeypatch, command):
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "none"))
    err = command("handout", "3", "-o", tmp_path / "a.pdf", code=3).err
    assert err.count("\n") == 1
    assert "need Chrome or Chromium" in err or "need kaleido" in err
    assert list(tmp_path.iterdir()) == []
