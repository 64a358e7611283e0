"""What a lesson tells a class, what a presenter shows, and what is to be fixed after it."""

import json
import re

import pytest
from helpers.lesson_answers import stage_of
from helpers.pseudo import forgotten, pseudo
from helpers.waiting import settle
from playwright.sync_api import expect

from smemviz.app.pages.learn.learn_page import learn_page, steps_of
from smemviz.app.pages.learn.task_panel import judged, task_href, task_in
from smemviz.engines.sandbox.run import run_text
from smemviz.i18n import speaking
from smemviz.lessons.course import LESSONS, TASKS, task_of


def test_a_task_is_found_by_the_url_and_nothing_else_is_one():
    assert task_in({"task": "race"}) is task_of("race")
    assert task_in({"task": "banks"}) is None
    assert task_in({}) is None


def test_what_is_said_is_the_witness_and_then_that_it_is_fixed():
    task = task_of("padding")
    said, look, trace, done = judged(task, run_text(task.source).recording)
    assert look == "task-verdict is-wrong"
    assert done is None
    assert "bank          0  1  2" in trace
    assert "why:" not in trace  # which the second hint says
    assert "to pass" not in trace  # which the task asks for
    with speaking("ko"):  # not half of it in each language
        assert judged(task, run_text(task.source).recording)[0][1].children == said[1].children
    solved = run_text(task.source.replace("PITCH = TILE", "PITCH = TILE + 1")).recording
    said, *rest = judged(task, solved)
    assert (said.children, *rest) == (
        "Fixed: the result is the same and the budget is kept.",
        "task-verdict is-right",
        "",
        "fix-padding",
    )


def test_what_is_said_of_a_race_does_not_give_its_fix_away():
    task = task_of("race")
    said, _look, trace, _done = judged(task, run_text(task.source).recording)
    assert said[1].children.endswith("with no barrier between")
    assert "total += held[t + k]" in trace
    assert "syncthreads" not in trace


def test_a_text_that_gave_nothing_and_one_of_no_task_are_not_judged():
    assert judged(task_of("race"), None) == judged(None, None) == ("", "task-verdict", "", None)


def test_lessons_lead_to_their_tasks_where_there_is_an_editor():
    assert str(learn_page("/learn")).count("Fix this kernel") == len(TASKS)
    assert task_href(task_of("race")) in str(learn_page("/learn/race"))
    assert "Fix this kernel" not in str(learn_page("/learn/banks"))
    for path in ("/learn", "/learn/race"):
        assert "Fix this kernel" not in str(learn_page(path, editor=False))


@pytest.mark.browser
def test_a_kernel_is_fixed_in_the_editor_and_kept_as_done(page):
    page.goto("/learn/padding")
    page.get_by_role("link", name="Fix this kernel").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(task_of("padding").goal)
    expect(page.locator("#editor-task-verdict")).to_contain_text("load of tile[tx, ty] in transpose is 32-way")
    hints = ("#editor-task-trace", "#why > :not([hidden]) p:first-child", "#why > :not([hidden]) p + p")
    for text, hint in zip(("Give me a hint", "Say why", "Show the fix"), hints, strict=True):
        expect(page.locator(hint)).to_be_hidden()
        page.get_by_text(text, exact=True).click()
        line, told = page.get_by_text(text, exact=True).bounding_box(), page.locator(hint).first.bounding_box()
        assert 0 < told["y"] - line["y"] - line["height"] < 12  # below its own line, on the screen
        assert told["y"] < 450
    expect(page.locator(hints[0])).to_contain_text("wavefront  1")
    page.locator(".cm-line", has_text="PITCH = TILE").click()
    page.keyboard.press("End")
    page.keyboard.type(" + 1")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#editor-task-verdict")).to_have_text("Fixed: the result is the same and the budget is kept.")
    assert "task=padding" in page.url
    page.reload()  # the link has the text, and the task
    expect(page.locator("#editor-task-verdict")).to_contain_text("Fixed")
    page.goto("/learn")
    expect(page.locator("#learn-count")).to_have_text(f"1 of {len(LESSONS) + len(TASKS)} done")


@pytest.mark.exhaustive
def test_every_lesson_has_its_answer_its_reason_and_what_is_said_to_wrong_ones():
    page = str(learn_page("/learn", teach=True))
    for lesson in LESSONS:
        stage = stage_of(lesson.slug)
        for said in (lesson.goal, f"It is {stage.answer}.", stage.because, f"/learn/{lesson.slug}?present=1"):
            assert repr(said)[1:-1] in page, (lesson.slug, said)
        assert "Wrong answers" in page
    assert "teach=1" in str(learn_page("/learn"))
    assert "It is " not in str(learn_page("/learn"))


def test_what_teachers_read_is_messages():
    with pseudo():
        texts = [text for text in forgotten(learn_page("/learn", teach=True), []) if "⟦" not in text]
    for text in texts:  # code, numbers and answers
        assert not any(word in text.split() for word in ("the", "is", "and")), text


@pytest.mark.browser
def test_a_student_saves_a_file_and_a_teacher_reads_a_class(page, tmp_path):
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
    expect(page.locator("#teach-class")).to_contain_text("other.json: is not a file of saved progress")
    assert not any("Ada" in body or "Bob" in body for body in asked)


SMALLEST, IN_CELLS = 18, 12  # pixels; of a lane or a dot in its cell
CELL = re.compile(r"L[\d-]+|[•▼]\d*")
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


def is_unfit(text):
    return text["out"] or text["size"] < (IN_CELLS if CELL.fullmatch(text["text"]) else SMALLEST)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)
@pytest.mark.browser
def test_the_last_row_can_read_every_slide_of_a_lesson(page, lesson):
    page.set_viewport_size({"width": 1280, "height": 720})
    page.emulate_media(reduced_motion="reduce")
    for step in steps_of(lesson):
        page.goto(step)
        settle(page)
        expect(page.locator(".js-plotly-plot .main-svg:visible").first).to_be_visible()
        page.wait_for_timeout(300)  # what is drawn is scaled a little later
        texts = page.evaluate(TEXTS)
        assert len(texts) > 5
        assert [one for one in texts if is_unfit(one)] == [], step


@pytest.mark.browser
def test_the_question_stands_above_what_it_asks_about_and_the_explanation_follows_the_answer(page):
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
    expect(page.locator(".learn-panel:visible")).to_have_count(1)
    text, picture = (page.locator(one).bounding_box() for one in ("#learn-text", "#learn-0-panel"))
    assert text is not None
    assert picture is not None
    assert text["x"] + text["width"] < picture["x"]
    page.keyboard.press("ArrowRight")
    expect(page.locator("#learn-set")).to_have_text("Words in a row: 16")
    expect(page.locator("#learn-0-figure .heatmaplayer image").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#learn-text")).to_be_visible()
    expect(page.locator("#learn-0-figure")).not_to_have_attribute("style", re.compile("width"))


@pytest.mark.parametrize("size", [(1440, 900), (1280, 800), (1024, 768)], ids=str)
@pytest.mark.browser
def test_a_screen_that_is_higher_than_a_slide_is_filled(page, size):
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(reduced_motion="reduce")
    for step in ("/learn/columns?present=1", "/learn/columns?ANSWER=show&present=1"):
        page.goto(step)
        settle(page)
        drawn = page.locator(".learn-panel:not([hidden]) .js-plotly-plot:visible")
        expect(drawn.locator(".main-svg").first).to_be_visible()
        page.wait_for_timeout(300)
        ends = drawn.evaluate_all("all => all.map((one) => one.getBoundingClientRect().bottom)")
        assert size[1] - 100 < max(ends) <= size[1], step
        if size[0] >= 1280:
            assert [one for one in page.evaluate(TEXTS) if is_unfit(one)] == [], step
    page.keyboard.press("Escape")
    expect(page.locator("#learn-0-figure")).not_to_have_attribute("style", re.compile("width"))
