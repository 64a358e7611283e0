"""The Learn page for teachers: the answers with their reasons, and the files of a class, read by the browser alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.pseudo import forgotten, pseudo
from playwright.sync_api import Page, expect

from smemviz.app.pages.learn.learn_page import learn_page
from smemviz.lessons.course import LESSONS


def test_every_lesson_has_its_answer_its_reason_and_what_is_said_to_wrong_ones() -> None:
    page = str(learn_page("/learn", teach=True))
    for lesson in LESSONS:
        stage = lesson.stage(lesson.values({}))
        for said in (lesson.goal, f"It is {stage.answer}.", stage.because, f"/learn/{lesson.slug}?present=1"):
            assert repr(said)[1:-1] in page, (lesson.slug, said)
        assert "Wrong answers" in page
    assert "teach=1" in str(learn_page("/learn"))
    assert "It is " not in str(learn_page("/learn"))


def test_what_teachers_read_is_messages() -> None:
    with pseudo():
        texts = [text for text in forgotten(learn_page("/learn", teach=True), []) if "⟦" not in text]
    for text in texts:  # code, numbers and answers
        assert not any(word in text.split() for word in ("the", "is", "and")), text


@pytest.mark.browser
def test_a_student_saves_a_file_and_a_teacher_reads_a_class(page: Page, tmp_path: Path) -> None:
    page.goto("/learn/rows")
    page.get_by_label("Your answer").fill("1")
    page.get_by_role("button", name="Check").click()
    expect(page.locator(".learn-status").first).to_have_text("Done")
    page.goto("/learn")
    page.get_by_label("Your name, for the file").fill("Ada L.")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save my progress").click()
    assert saved.value.suggested_filename == "smemviz-progress-Ada-L-.json"
    ada = tmp_path / "ada.json"
    saved.value.save_as(ada)
    kept = json.loads(ada.read_text("utf-8"))
    assert kept == {"smemviz": "progress", "schema": 1, "name": "Ada L.", "done": ["rows"]}
    bob, other = tmp_path / "bob.json", tmp_path / "other.json"
    bob.write_text(json.dumps(kept | {"name": "<b>Bob</b>", "done": ["rows", "fix-race"]}), "utf-8")
    other.write_text("[]", "utf-8")
    page.goto("/learn?teach=1")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.post_data or ""))
    page.locator("#teach-files input").set_input_files([bob, ada, other])
    rows = page.locator("#teach-class tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(2)).to_contain_text("2 students")
    expect(page.locator("#teach-class")).to_contain_text("<b>Bob</b>")
    expect(page.locator("#teach-class")).to_contain_text("other.json: is no saved progress")
    assert not any("Ada" in body or "Bob" in body for body in asked)
