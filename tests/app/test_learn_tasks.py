"""Kernels to fix, in the editor: the witness until it passes, and then it is kept as done."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from smemviz.app.pages.learn.learn_page import learn_page
from smemviz.app.pages.learn.task_panel import judged, task_href, task_in
from smemviz.engines.sandbox.run import run_text
from smemviz.lessons.tasks import TASKS, task_of


def test_a_task_is_found_by_the_url_and_nothing_else_is_one() -> None:
    assert task_in({"task": "race"}) is task_of("race")
    assert task_in({"task": "banks"}) is None
    assert task_in({}) is None


def test_what_is_said_is_the_witness_and_then_that_it_is_fixed() -> None:
    task = task_of("padding")
    said, look, done = judged(task, run_text(task.source).recording)
    assert look == "task-verdict is-wrong"
    assert done is None
    assert "bank          0  1  2" in str(said[2].children)
    assert "why:" not in said[2].children  # which the second hint says
    assert "to pass" not in said[2].children  # which the task asks for
    solved = run_text(task.source.replace("PITCH = TILE", "PITCH = TILE + 1")).recording
    said, look, done = judged(task, solved)
    assert (said.children, look, done) == (
        "Fixed: it does the same and keeps the budget.",
        "task-verdict is-right",
        "fix-padding",
    )


def test_a_text_that_gave_nothing_and_one_of_no_task_are_not_judged() -> None:
    assert judged(task_of("race"), None) == judged(None, None) == ("", "task-verdict", None)


def test_lessons_lead_to_their_tasks_where_there_is_an_editor() -> None:
    assert str(learn_page("/learn")).count("Fix this kernel") == len(TASKS)
    assert task_href(task_of("race")) in str(learn_page("/learn/race"))
    assert "Fix this kernel" not in str(learn_page("/learn/banks"))
    for path in ("/learn", "/learn/race"):
        assert "Fix this kernel" not in str(learn_page(path, editor=False))


@pytest.mark.browser
def test_a_kernel_is_fixed_in_the_editor_and_kept_as_done(page: Page) -> None:
    page.goto("/learn/padding")
    page.get_by_role("link", name="Fix this kernel").click()
    expect(page.locator("#editor-task-title")).to_have_text("Fix this kernel")
    expect(page.locator("#editor-task-verdict")).to_contain_text("load of tile[tx, ty] in transpose is 32-way")
    pre, why = page.locator("#editor-task-verdict pre"), page.locator("#why > :not([hidden]) p")
    for hint, seen in (("", (0, 0)), ("Give me a hint", (1, 0)), ("Say why", (1, 1)), ("Show the fix", (1, 2))):
        if hint:
            page.get_by_text(hint, exact=True).click()
        expect(pre.filter(visible=True)).to_have_count(seen[0])
        expect(why.filter(visible=True)).to_have_count(seen[1])
    expect(pre).to_contain_text("wavefront  1")
    page.locator(".cm-line", has_text="PITCH = TILE").click()
    page.keyboard.press("End")
    page.keyboard.type(" + 1")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#editor-task-verdict")).to_have_text("Fixed: it does the same and keeps the budget.")
    assert "task=padding" in page.url
    page.reload()  # the link has the text, and the task
    expect(page.locator("#editor-task-verdict")).to_contain_text("Fixed")
    page.goto("/learn")
    expect(page.locator("#learn-count")).to_have_text("1 of 21 done")
