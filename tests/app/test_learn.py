"""The Learn pages in a browser: answers, progress, a class, and paper."""

import re

import pytest
from playwright.sync_api import expect

from smemviz.app.pages.learn.learn_page import learn_page
from smemviz.app.pages.learn.learn_view import lesson_at, view_lesson
from smemviz.lessons.course import LESSONS, TASKS, lesson_of

pytestmark = pytest.mark.browser


def check(page, answer):
    page.get_by_label("Your answer").fill(answer)
    page.get_by_role("button", name="Check").click()


def test_a_wrong_answer_gets_a_hint_and_a_right_one_the_picture(page):
    page.goto("/learn/columns")
    expect(page.locator("#learn-question")).to_contain_text("How many wavefronts does that take?")
    expect(page.locator("#learn-scene-figure .heatmaplayer image").first).to_be_visible()
    expect(page.locator("#learn-scene-figure")).to_contain_text("L31")
    check(page, "8")
    expect(page.locator("#learn-feedback")).to_have_text(
        "Not 8. From lane to lane the address moves on by 32 words. All 32 words lie in the same bank."
    )
    expect(page.locator("#learn-pictures")).to_be_hidden()
    check(page, "32")
    expect(page.locator("#learn-feedback")).to_have_text("Right: 32.")
    expect(page.locator("#learn-because")).to_have_text(
        "All 32 words lie in the same bank. 32 wavefronts where 1 would do."
    )
    expect(page.locator("#learn-because")).to_be_focused()
    expect(page.locator("#learn-0-figure .heatmaplayer image").first).to_be_visible()
    expect(page.locator("#learn-scene-panel")).to_be_hidden()
    assert "ANSWER=32" in page.url


NAMES = """() => [...document.querySelectorAll("#learn-scene-figure .textpoint text")]
  .filter((one) => one.style.visibility !== "hidden").map((one) => one.getBoundingClientRect().width)"""


def test_on_a_phone_names_are_no_wider_than_their_cells_or_all_left_out(page):
    page.set_viewport_size({"width": 400, "height": 900})
    for lesson, shown in (("columns", False), ("banks", True)):
        page.goto(f"/learn/{lesson}")
        expect(page.locator("#learn-scene-figure .heatmaplayer image").first).to_be_visible()
        page.wait_for_function(f"""() => {{
            const names = ({NAMES})();
            return Boolean(names.length) === {str(shown).lower()} && names.every((width) => width < 13.5);
        }}""")  # of 20 cells each has 14 pixels


def test_enter_checks_and_show_me_gives_up(page):
    page.goto("/learn/rows")
    page.get_by_label("Your answer").press_sequentially("7")
    page.keyboard.press("Enter")
    expect(page.locator("#learn-feedback")).to_contain_text("Not 7.")
    page.get_by_role("button", name="Show me").click()
    expect(page.locator("#learn-feedback")).to_have_text("It is 1.")
    expect(page.locator("#learn-pictures")).to_be_visible()
    expect(page.locator(".learn-status")).to_have_text("")


def test_a_knob_turned_before_the_answer_asks_anew_and_after_it_moves_the_picture(page):
    page.goto("/learn/columns?ANSWER=5")
    expect(page.locator("#learn-feedback")).to_contain_text("Not 5.")
    page.get_by_text("16", exact=True).first.click()  # the knob, before numbers in pictures
    expect(page.locator("#learn-question")).to_contain_text("Rows are 16 words long")
    expect(page.locator("#learn-feedback")).to_have_text("")
    check(page, "16")
    expect(page.locator("#learn-because")).to_contain_text("16 wavefronts where 1 would do.")
    page.get_by_text("8", exact=True).first.click()
    expect(page.locator("#learn-because")).to_contain_text("8 wavefronts where 1 would do.")
    page.get_by_role("button", name="Ask me again").click()
    expect(page.locator("#learn-pictures")).to_be_hidden()
    expect(page.locator("#learn-because")).to_have_text("")
    page.go_back()
    expect(page.locator("#learn-because")).to_contain_text("8 wavefronts where 1 would do.")


def test_lanes_are_picked_and_an_index_is_chosen(page):
    page.goto("/learn/words")
    for lane in range(16, 20):
        page.locator(".learn-lanes label", has_text=re.compile(rf"^{lane}$")).click()
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#learn-feedback")).to_have_text("Right: 16-19.")
    page.goto("/learn/by-hand")
    page.get_by_label("tile[tx * BDIMY + ty]", exact=True).check()
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#learn-feedback")).to_contain_text("This index gives 32.")
    page.get_by_label("tile[tx * PITCH + ty]", exact=True).check()
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#learn-feedback")).to_contain_text("Right: tile[tx * PITCH + ty].")


ALL = len(LESSONS) + len(TASKS)


def test_progress_stays_in_the_browser_until_it_is_forgotten(page):
    page.goto("/learn")
    expect(page.locator("#learn-count")).to_have_text(f"0 of {ALL} done")
    expect(page.locator("#learn-forget")).to_be_hidden()
    page.goto("/learn/rows?ANSWER=1")  # who shared the link answered
    expect(page.locator("#learn-feedback")).to_contain_text("Right")
    expect(page.locator(".learn-status")).to_have_text("")
    page.goto("/learn/rows")
    check(page, "1")
    expect(page.locator(".learn-status")).to_have_text("Done")
    page.get_by_role("link", name="Down a column").click()
    expect(page.locator("#learn-title")).to_have_text("Down a column")
    check(page, "32")
    expect(page.locator(".learn-status")).to_have_text("Done")
    page.goto("/learn")
    page.reload()
    expect(page.locator("#learn-count")).to_have_text(f"2 of {ALL} done")
    assert page.evaluate("localStorage.getItem('learn-progress')") == '["rows","columns"]'
    page.get_by_role("button", name="Forget my progress").click()
    expect(page.locator("#learn-count")).to_have_text(f"0 of {ALL} done")
    page.reload()
    expect(page.locator("#learn-count")).to_have_text(f"0 of {ALL} done")


def test_a_presenter_steps_through_with_keys_and_leaves_with_escape(page):
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(reduced_motion="reduce")
    page.goto("/learn/5?theme=dark")  # by its number
    expect(page.locator("#learn-question")).to_contain_text("Rows are 32")
    page.keyboard.press("p")
    expect(page.locator(".site-header")).to_be_hidden()
    expect(page.locator("#learn-step")).to_have_text("Step 1 of 6")
    assert float(page.locator("#learn-question").evaluate("e => parseFloat(getComputedStyle(e).fontSize)")) >= 30
    page.keyboard.press("PageDown")
    expect(page.locator("#learn-because")).to_contain_text("32 wavefronts where 1 would do.")
    expect(page.locator("#learn-question")).to_be_hidden()
    page.wait_for_function(
        "() => [...document.querySelectorAll('#learn-panels .learn-panel')].map((one) => one.getBoundingClientRect())"
        ".every(({ right, bottom, width }) => width && right <= 1280 && bottom <= 800)"
    )
    page.keyboard.press("ArrowRight")
    expect(page.locator("#learn-text")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#learn-because")).to_contain_text("16 wavefronts where 1 would do.")
    expect(page.locator("#learn-set")).to_have_text("Words in a row: 16")
    page.keyboard.press("PageUp")
    expect(page.locator("#learn-step")).to_have_text("Step 3 of 6")
    for _step in range(4):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#learn-title")).to_have_text("One word for many lanes")
    expect(page.locator("#learn-step")).to_have_text("Step 1 of 5")
    assert "theme=dark" in page.url
    page.keyboard.press("Escape")
    expect(page.locator(".site-header")).to_be_visible()
    assert "present" not in page.url


def test_a_presenter_without_a_keyboard_has_buttons(page):
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto("/learn/why")
    expect(page.locator("#learn-question")).to_contain_text("Thread i adds up")
    expect(page.get_by_role("button", name="Step on")).to_be_hidden()
    page.get_by_role("button", name="Present").click()
    expect(page.get_by_role("button", name="Step back")).to_be_disabled()
    page.get_by_role("button", name="Step on").click()
    expect(page.locator("#learn-step")).to_have_text("Step 2 of 5")
    page.keyboard.press("Space")  # presses the button, once
    expect(page.locator("#learn-step")).to_have_text("Step 3 of 5")
    expect(page.locator("#learn-text")).to_be_visible()
    page.get_by_role("button", name="Step back").click()
    expect(page.locator("#learn-step")).to_have_text("Step 2 of 5")
    page.get_by_role("button", name="End the presentation").click()
    expect(page.locator("#learn-present")).to_be_focused()
    assert "present" not in page.url


def test_letter_keys_that_are_off_neither_begin_nor_end_a_presentation(page):
    page.goto("/learn/rows")
    expect(page.locator("#learn-question")).to_contain_text("A warp loads along a row")
    page.evaluate("document.documentElement.dataset.letterKeys = 'off'")
    page.keyboard.press("p")
    page.get_by_role("button", name="Present").click()
    expect(page.locator("#learn-step")).to_have_text("Step 1 of 5")
    page.keyboard.press("p")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#learn-step")).to_have_text("Step 2 of 5")
    page.keyboard.press("Escape")
    expect(page.locator(".site-header")).to_be_visible()


def test_an_answer_in_the_url_stands_in_its_box_and_another_language_keeps_it(page):
    page.goto("/learn/columns?COLUMNS=16&ANSWER=5")
    expect(page.get_by_label("Your answer")).to_have_value("5")
    check(page, "8")
    expect(page.locator("#learn-feedback")).to_contain_text("Not 8.")
    page.go_back()
    expect(page.get_by_label("Your answer")).to_have_value("5")
    page.goto("/learn/words?ANSWER=17,16&lang=ko")
    expect(page.locator("#learn-feedback")).to_contain_text("16-17")
    for lane in (16, 17):
        expect(page.locator(f".learn-lanes input[value='{lane}']")).to_be_checked()
    expect(page.locator(".learn-lanes input:checked")).to_have_count(2)
    page.goto("/learn/by-hand?ANSWER=flat&IPAD=2&lang=en")
    expect(page.get_by_label("tile[tx * BDIMY + ty]", exact=True)).to_be_checked()
    page.reload()
    expect(page.get_by_label("tile[tx * BDIMY + ty]", exact=True)).to_be_checked()


def test_whoever_works_with_keys_stays_where_the_answer_is_written(page):
    page.goto("/learn/rows")
    expect(page.locator("#learn-question")).to_contain_text("A warp loads along a row")
    answer = page.get_by_label("Your answer")
    answer.press_sequentially("7")
    answer.press("Enter")
    expect(page.locator("#learn-feedback")).to_contain_text("Not 7.")
    expect(answer).to_be_focused()
    answer.fill("")
    answer.press("Enter")
    expect(page.locator("#learn-feedback")).to_have_text("Write a whole number.")
    expect(answer).to_be_focused()
    answer.press_sequentially("1")
    answer.press("Enter")
    expect(page.locator("#learn-because")).to_be_focused()
    page.get_by_role("button", name="Ask me again").press("Enter")
    expect(answer).to_be_focused()
    expect(answer).to_have_value("")


def test_the_alternatives_of_a_picture_are_named_by_the_lesson(page):
    page.goto("/learn/rows?ANSWER=show")
    for n in (1, 2):
        expect(page.get_by_role("button", name=f"Table of A warp asks at once, picture {n}")).to_be_visible()


def test_a_question_says_nothing_of_its_answer(page):
    page.goto("/learn/compiler")
    expect(page.locator("#learn-question")).to_contain_text("8,192 times")
    assert "2,048" not in page.content()
    assert "2048" not in page.content()


def test_on_paper_there_is_the_lesson_and_no_button(page):
    page.goto("/learn/columns")
    expect(page.locator("#learn-question")).to_contain_text("Rows are 32")
    page.emulate_media(media="print")
    for hidden in (".site-header", "#learn-check", "#learn-pictures", ".learn-ways"):
        expect(page.locator(hidden)).to_be_hidden()
    expect(page.locator("#learn-question")).to_be_visible()
    expect(page.locator("#learn-set")).to_have_text("Words in a row: 32")


def test_a_lesson_that_is_not_there_is_told(page):
    page.goto("/learn/warps")
    expect(page.locator("#page")).to_contain_text("no lesson 'warps'; there are 1 why, 2 lanes")


def test_every_lesson_comes_without_a_picture_and_shows_it_when_asked_to():
    for lesson in LESSONS:
        assert learn_page(f"/learn/{lesson.slug}")
        asking = view_lesson(lesson, {}, "light")
        assert asking["learn-pictures.hidden"] is True
        assert asking["learn-scene-panel.hidden"] is False
        assert asking["learn-scene-title.children"]
        assert asking["learn-because.children"] == asking["learn-0-region.aria-label"] == ""
        shown = view_lesson(lesson, {"ANSWER": "show"}, "dark")
        assert shown["learn-0-panel.hidden"] is False
        assert shown["learn-scene-panel.hidden"] is True
        assert shown["learn-outcome.data"] == {"slug": lesson.slug, "outcome": "shown"}


def test_the_list_is_no_lesson():
    assert lesson_at("/learn") is None
    assert lesson_at("/learn/5") is lesson_of("columns")
