"""A lesson on its page at 1440: whatever is written in its pictures is at least 10 pixels high, and none is covered."""

from __future__ import annotations

from itertools import pairwise

import pytest
from helpers.waiting import settle
from playwright.sync_api import Page

from smemviz.app.pages.learn.learn_page import href
from smemviz.lessons.course import LESSONS
from smemviz.lessons.lesson import SHOW, Lesson

pytestmark = pytest.mark.browser

SMALLEST = 10  # pixels
# The texts of cells: how large they are, and where.
TEXTS = """() => [...document.querySelectorAll(".learn-panel:not([hidden]) svg text")]
  .filter((one) => one.textContent.trim() && one.getClientRects().length)
  .map((one) => {
    const { a, b } = one.getScreenCTM(), { left, top, right, bottom } = one.getBoundingClientRect();
    const size = Math.hypot(a, b) * parseFloat(getComputedStyle(one).fontSize);
    const inCell = Boolean(one.closest(".textpoint, .heatmap-label, .hm"));
    return { text: one.textContent, size, inCell, left, top, right, bottom };
  })"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [1440, 1260])
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)
def test_nothing_in_the_pictures_of_a_lesson_is_small_or_covered(page: Page, lesson: Lesson, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for scene in lesson.scenes:
        page.goto(href(lesson, {**scene, "ANSWER": SHOW}))
        settle(page)
        texts = page.evaluate(TEXTS)
        assert [one for one in texts if round(one["size"], 1) < SMALLEST] == [], scene
        rows: dict[int, list[dict[str, float]]] = {}
        for one in texts:
            if one["inCell"]:
                rows.setdefault(round(one["top"] / 4), []).append(one)
        for row in rows.values():
            row.sort(key=lambda one: one["left"])
            assert [(a, b) for a, b in pairwise(row) if a["right"] > b["left"] + 1] == [], scene
