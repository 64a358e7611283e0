"""A lesson before a class, on a projector of 1280 x 720: all that is read is large enough, and all of it is seen."""

from __future__ import annotations

import re

import pytest
from helpers.waiting import settle
from playwright.sync_api import Page, expect

from smemviz.app.pages.learn.learn_page import steps_of
from smemviz.lessons.course import LESSONS
from smemviz.lessons.lesson import Lesson

pytestmark = pytest.mark.browser

SMALLEST = 18  # pixels
# Every text on the screen with its size as it is drawn there, and whether any of it lies outside.
TEXTS = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    const { left, top, right, bottom, width } = range.getBoundingClientRect();
    if (!walker.currentNode.textContent.trim() || !width || element.closest("script, style, noscript")) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const matrix = element.ownerSVGElement ? element.getScreenCTM() : null;
    const scale = matrix ? Math.hypot(matrix.b, matrix.d) : element.currentCSSZoom;
    const size = parseFloat(getComputedStyle(element).fontSize) * scale;
    const out = left < 0 || top < 0 || right > window.innerWidth || bottom > window.innerHeight;
    found.push({ text: walker.currentNode.textContent, size, out });
  }
  return found;
}"""


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)
def test_the_last_row_can_read_every_slide_of_a_lesson(page: Page, lesson: Lesson) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    page.emulate_media(reduced_motion="reduce")
    for step in steps_of(lesson):
        page.goto(step)
        settle(page)
        expect(page.locator(".js-plotly-plot .main-svg:visible, .learn-text:visible").first).to_be_visible()
        page.wait_for_timeout(300)  # what is drawn is scaled a little later
        texts = page.evaluate(TEXTS)
        assert len(texts) > 5
        assert [one for one in texts if one["size"] < SMALLEST or one["out"]] == [], step


def test_the_question_stands_above_what_it_asks_about_and_the_explanation_follows_the_answer(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto("/learn/columns?present=1")
    expect(page.locator("#learn-scene-figure .heatmaplayer image").first).to_be_visible()
    question, scene = (page.locator(one).bounding_box() for one in ("#learn-question", "#learn-scene-panel"))
    assert question is not None
    assert scene is not None
    assert question["y"] + question["height"] <= scene["y"]
    expect(page.locator("#learn-text")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#learn-1-figure .heatmaplayer image").first).to_be_visible()
    expect(page.locator("#learn-scene-panel")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#learn-text")).to_contain_text(
        "a bank conflict, n-way where n different words of one bank are wanted"
    )
    expect(page.locator("#learn-because")).to_contain_text("32 wavefronts where 1 would do.")
    expect(page.locator("#learn-panels")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#learn-set")).to_have_text("Words in a row: 16")
    expect(page.locator("#learn-0-figure .heatmaplayer image").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#learn-text")).to_be_visible()
    expect(page.locator("#learn-0-figure")).not_to_have_attribute("style", re.compile("width"))


@pytest.mark.parametrize("size", [(1440, 900), (1280, 800), (1024, 768)], ids=str)
def test_a_screen_that_is_higher_than_a_slide_is_filled(page: Page, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(reduced_motion="reduce")
    for step in ("/learn/columns?present=1", "/learn/columns?ANSWER=show&present=1"):
        page.goto(step)
        settle(page)
        page.wait_for_timeout(300)
        drawn = page.locator(".learn-panel:not([hidden]) .js-plotly-plot:visible")
        ends = drawn.evaluate_all("all => all.map((one) => one.getBoundingClientRect().bottom)")
        assert size[1] - 100 < max(ends) <= size[1], step
        if size[0] >= 1280:
            assert [one for one in page.evaluate(TEXTS) if one["size"] < SMALLEST or one["out"]] == [], step
    page.keyboard.press("Escape")
    expect(page.locator("#learn-0-figure")).not_to_have_attribute("style", re.compile("width"))
