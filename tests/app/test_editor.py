"""The editor as its users meet it: write, run, see, and be told at the line what is wrong."""

import gc
import json
import re
import weakref

import pytest
from helpers.made_kernels import SHORT
from helpers.pages import headline, knob
from helpers.waiting import eventually, settle
from playwright.sync_api import Route, expect

from smemviz.app import texts as texts_module
from smemviz.app.cache import size_of
from smemviz.app.factory import create_app
from smemviz.app.pages.editor_page import run_asked
from smemviz.app.texts import Texts
from smemviz.engines.sandbox import Supervisor, parse_text
from smemviz.engines.sandbox import supervisor as supervisor_module
from smemviz.engines.sandbox.sharing import Ticket, Turns
from smemviz.errors import BusyError, InputError, KernelFileError


def test_a_text_is_run_once_and_named_by_its_content(texts):
    said, printed, refused = run_asked(texts, SHORT)
    assert refused is None
    assert re.fullmatch(r"text-[0-9a-f]{16}", said["file"])
    assert re.fullmatch(r"Ran in \d+\.\d\d s: 1 launch\.", said["message"])
    assert printed == "stride 2\n"
    assert run_asked(texts, SHORT)[0]["file"] == said["file"]
    assert texts.run(said["file"], {"STRIDE": "4"}).printed == "stride 4\n"


def test_what_is_wrong_is_marked_at_its_line(texts):
    said, printed, refused = run_asked(texts, SHORT.replace("a[i]", "a[i"))
    assert isinstance(refused, KernelFileError)
    assert said["file"] is None
    assert [mark["line"] for mark in said["marks"]] == [11]
    assert said["message"].startswith("Line 11: is not valid Python")
    assert printed == ""


def test_a_mistake_in_a_kernel_is_a_warning_at_its_line_and_the_run_is_shown(texts):
    said, *_ = run_asked(texts, SHORT.replace("np.zeros(32,", "np.zeros(16,"))
    assert said["file"]
    assert said["message"].endswith("1 launch, 1 mistake.")
    assert [(mark["line"], mark["severity"]) for mark in said["marks"]] == [(11, "warning")]


def test_what_does_no_harm_is_only_pointed_at(texts):
    said, *_ = run_asked(texts, SHORT.replace("a[i]", "a[i - 1]"))
    assert said["message"].endswith(": 1 launch.")
    assert [(mark["line"], mark["severity"]) for mark in said["marks"]] == [(11, "info")]


def test_a_text_waits_for_its_turn_at_a_place_that_is_shown(texts, monkeypatch):
    monkeypatch.setattr(supervisor_module, "_QUEUE_SECONDS", 0.0)
    monkeypatch.setattr(supervisor_module, "_NEXT_SECONDS", 0.0)
    turns = Turns(1)
    held = Ticket("another", "held")
    assert turns.place(held) == 0
    queued = Texts(Supervisor(turns=turns))
    for _ in range(2):
        said, _, refused = run_asked(queued, SHORT, "17")
        assert (said["waiting"], said["message"], refused) == (1, "Waiting for its turn: place 1 in the queue", None)
    assert run_asked(queued, SHORT, "18")[0]["waiting"] == 2
    turns.done(held)
    assert run_asked(queued, SHORT, "17")[0]["message"].startswith("Ran in")
    queued.supervisor.close()


def test_a_text_that_one_process_was_given_is_found_by_another(texts, tmp_path):
    one, other = Texts(texts.supervisor, tmp_path), Texts(texts.supervisor, tmp_path)
    name = one.add(SHORT).name
    assert other.program(name).source == SHORT
    (tmp_path / name).write_text(SHORT.replace("STRIDE", "STRUDEL"))  # not what the name stands for
    with pytest.raises(InputError, match="this text is no longer here"):
        Texts(texts.supervisor, tmp_path).program(name)


def test_the_latest_texts_are_found_by_other_processes(texts, tmp_path, monkeypatch):
    monkeypatch.setattr(texts_module, "_MOST_FILES", 2)
    made = Texts(texts.supervisor, tmp_path)
    names = [made.add(f"X = {n}\n").name for n in range(4)]
    assert len(list(tmp_path.iterdir())) == 2
    assert Texts(texts.supervisor, tmp_path).program(names[-1]).source == "X = 3\n"


def test_texts_are_taken_where_the_folder_for_them_is_gone(texts, tmp_path):
    made = Texts(texts.supervisor, tmp_path / "texts")
    (tmp_path / "texts").rmdir()
    assert made.program(made.add("X = 1\n").name).source == "X = 1\n"


def test_a_text_that_met_a_busy_editor_runs_when_it_is_asked_for_again(texts, monkeypatch):
    def busy(*arguments, **options):
        raise BusyError("the editor is busy")

    with monkeypatch.context() as patched:
        patched.setattr(texts.supervisor, "run", busy)
        assert run_asked(texts, SHORT)[0]["message"] == "the editor is busy"
    assert run_asked(texts, SHORT)[0]["message"].startswith("Ran in")


def test_of_a_text_that_is_refused_only_the_sentence_is_kept(texts):
    text = texts.add("X = 1\n")
    for _ in range(2):
        with pytest.raises(KernelFileError, match="no kernel here"):
            texts.run(text.name, {})
    program = weakref.ref(text.program)
    texts._texts.forget(text.name)
    del text
    gc.collect()
    assert program() is None


def test_texts_and_runs_are_kept_as_long_as_there_is_room(texts, monkeypatch):
    one = size_of(parse_text(SHORT, "editor.py", texts.supervisor.limits))
    monkeypatch.setattr(texts_module, "_MOST_TEXTS", 4 * 5 * one // 2)  # a visitor gets a quarter: two, not three
    few = Texts(texts.supervisor)
    names = [few.add(f"{SHORT}# {n}\n").name for n in range(3)]
    assert few.program(names[1])
    assert few.program(names[2])
    with pytest.raises(InputError, match="this text is no longer here; run it again in the editor"):
        few.program(names[0])


def test_without_the_editor_its_page_is_not_there():
    for editor, there in ((True, True), (False, False)):
        app = create_app(editor=editor)
        assert ('href="/editor"' in app.server.test_client().get("/").text) is there
        assert ("editor-text" in str(app._callback_list)) is there


def test_nobody_sends_more_than_a_text_has():
    client = create_app().server.test_client()
    sent = client.post("/_dash-update-component", data=b"{" + b" " * (5 << 20), content_type="application/json")
    assert sent.status_code == 413


def open_with(page, text):
    page.goto("/editor")
    status(page, "Ran in")
    write(page, text)


def write(page, text):
    field = page.get_by_role("textbox", name="Text of the kernel file")
    field.fill(text)
    field.press("Control+Enter")


def status(page, text):
    expect(page.locator("#editor-status")).to_contain_text(text)


@pytest.mark.browser
def test_a_text_is_run_by_ctrl_enter_and_shown_as_any_kernel_is(page):
    open_with(page, SHORT)
    headline(page, "1 excess wavefront, all on line 11, 2-way")
    expect(page.locator("#editor-printed")).to_have_text("stride 2\n")
    expect(page.get_by_label("STRIDE", exact=True)).to_have_value("2")
    knob(page, "STRIDE", "8")
    headline(page, "7 excess wavefronts, all on line 11, 8-way")


@pytest.mark.browser
def test_an_error_greys_the_last_picture_and_what_was_written_is_there_when_one_comes_back(page):
    open_with(page, SHORT)
    headline(page, "1 excess wavefront, all on line 11, 2-way")
    write(page, SHORT.replace("threadIdx.x", "threadIdx.q"))
    status(page, "Line 10:")
    expect(page.locator(".cm-lintRange-error")).to_have_text("i = cuda.threadIdx.q")
    headline(page, "This cannot be run")
    expect(page.locator(".refusal")).to_contain_text("The pictures below are of the last run that worked, strided.")
    expect(page.locator("#results")).to_have_class("columns stale")
    expect(page.locator("#why")).to_be_hidden()
    page.get_by_role("link", name="Gallery").click()
    headline(page, "Shared memory, seen")
    page.get_by_role("link", name="Editor").click()
    expect(page.get_by_role("textbox", name="Text of the kernel file")).to_contain_text("i = cuda.threadIdx.q")
    write(page, SHORT)
    headline(page, "1 excess wavefront, all on line 11, 2-way")
    expect(page.locator("#results")).to_have_class("columns")
    expect(page.locator("#why")).to_be_visible()


@pytest.mark.browser
def test_a_reload_shows_what_was_there(page):
    open_with(page, SHORT)
    headline(page, "1 excess wavefront, all on line 11, 2-way")
    knob(page, "STRIDE", "8")
    shown = "7 excess wavefronts, all on line 11, 8-way"
    headline(page, shown)
    page.reload()
    headline(page, shown)
    expect(page.get_by_label("STRIDE", exact=True)).to_have_value("8")
    expect(page.locator("#tile svg").first).to_be_visible()


@pytest.mark.browser
def test_a_link_carries_the_text(page):
    open_with(page, SHORT.replace("STRIDE = 2", "STRIDE = 16"))
    headline(page, "15 excess wavefronts, all on line 11, 16-way")
    link = page.url.replace("file=", "nothing=")
    page.goto("/")
    page.goto(link)
    status(page, "Ran in")
    expect(page.get_by_role("textbox", name="Text of the kernel file")).to_contain_text("STRIDE = 16")
    headline(page, "15 excess wavefronts, all on line 11, 16-way")


@pytest.mark.browser
def test_a_link_without_a_text_says_so(page):
    page.goto("/editor#code=nonsense!")
    status(page, "The text in the link cannot be read")


@pytest.mark.browser
def test_the_gallery_files_are_starting_points(page):
    page.goto("/editor")
    status(page, "1 launch")
    page.get_by_role("textbox", name="Start from a file of the gallery").click()
    page.get_by_role("option", name="reverse", exact=True).click()
    status(page, "2 launches")
    expect(page.locator("#kernels a.kernel-link")).to_have_count(2)


@pytest.mark.browser
def test_escape_and_tab_leave_the_text(page):
    page.goto("/editor")
    status(page, "Ran in")
    field = page.get_by_role("textbox", name="Text of the kernel file")
    field.focus()
    field.press("Escape")
    field.press("Tab")
    expect(field).not_to_be_focused()


@pytest.mark.browser
def test_the_costs_of_accesses_stand_at_their_lines_and_move_with_them(page):
    page.set_viewport_size({"width": 1024, "height": 900})
    open_with(page, SHORT)
    line = page.locator(".cm-line", has_text="held[i * STRIDE] = a[i]")
    badges = line.locator(".badge")
    expect(badges).to_have_count(2)
    expect(badges).to_have_text(["2-way", "4 sectors, 4 per request"])
    expect(badges.first).to_be_in_viewport(ratio=1)
    number = badges.evaluate_all("all => all.findIndex((one) => one.getAttribute('aria-pressed') === 'false')")
    badges.nth(number).click()
    expect(badges.nth(number)).to_have_attribute("aria-pressed", "true")
    assert f"site={badges.nth(number).get_attribute('data-site')}" in page.url
    knob(page, "STRIDE", "8")
    expect(line).to_contain_text("8-way")
    page.get_by_role("textbox", name="Text of the kernel file").press("Control+Home")
    page.keyboard.type("# one more line\n")
    expect(line).to_contain_text("8-way")
    expect(page.locator(".cm-line", has=page.locator(".badge"))).to_have_count(1)
    expect(line).to_contain_text("2-way")  # it ran by itself, as another text with the constants that it has
    expect(page.locator(".old-badges")).to_have_count(0)


@pytest.mark.browser
def test_the_text_is_shown_once_and_scrolls_to_the_present_access(page):
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/editor?file=square")
    status(page, "6 launches")
    expect(page.locator("#source-panel")).to_be_hidden()
    page.locator("#kernels a", has_text="set_row_read_col_dyn_pad").click()
    expect(page.locator("#editor .badge[aria-pressed=true]")).to_have_text("1-way")
    expect(page.locator("#editor .badge[aria-pressed=true]")).to_be_in_viewport(ratio=1)
    write(page, SHORT.replace("a[i]", "a[i"))
    status(page, "Line 11")
    expect(page.locator("#source-panel")).to_be_hidden()


@pytest.mark.browser
def test_a_text_runs_when_the_typing_pauses(page):
    open_with(page, SHORT)
    headline(page, "1 excess wavefront, all on line 11, 2-way")
    page.get_by_role("textbox", name="Text of the kernel file").fill(SHORT.replace("STRIDE = 2", "STRIDE = 4"))
    expect(page.locator(".old-badges")).to_have_count(1)
    headline(page, "3 excess wavefronts, all on line 11, 4-way")
    expect(page.locator("#editor-printed")).to_have_text("stride 4\n")


@pytest.mark.browser
def test_a_late_answer_to_an_older_text_replaces_nothing(page):
    open_with(page, SHORT)
    expect(page.locator("#editor-printed")).to_have_text("stride 2\n")
    held: list[Route] = []

    def hold(route):
        asked = route.request.post_data or ""
        if "editor-answer.data" in asked and "STRIDE = 4" in asked and not held:
            held.append(route)
        else:
            route.continue_()

    page.route("**/_dash-update-component*", hold)
    write(page, SHORT.replace("STRIDE = 2", "STRIDE = 4"))
    eventually(page, lambda: len(held), 1)
    write(page, SHORT.replace("STRIDE = 2", "STRIDE = 8"))
    shown = "7 excess wavefronts, all on line 11, 8-way"
    headline(page, shown)
    with page.expect_response(lambda answer: answer.request == held[0].request):
        held[0].continue_()
    page.wait_for_timeout(1000)
    settle(page)
    headline(page, shown)
    expect(page.locator("#editor-printed")).to_have_text("stride 8\n")
    expect(page.locator(".line-badges")).to_contain_text("8-way")
    expect(page.get_by_role("textbox", name="Text of the kernel file")).to_contain_text("STRIDE = 8")


@pytest.mark.browser
def test_badges_of_a_line_that_leaves_no_room_stand_below_it(page):
    page.set_viewport_size({"width": 1200, "height": 900})
    page.goto("/editor?file=square")
    line = page.locator(".cm-line", has_text="out[idx] = tile[ty, tx]").first
    line.scroll_into_view_if_needed()
    below = page.locator("div.line-badges").first
    for width, fits in ((1200, False), (1024, True), (400, False)):
        page.set_viewport_size({"width": width, "height": 900})
        expect(line.locator(".badge")).to_have_count(2 * fits)
        if fits:
            continue
        expect(below.locator(".badge")).to_have_text(["1-way", "128 sectors, 4 per request"])
        above, under = line.bounding_box(), below.bounding_box()
        assert above is not None
        assert under is not None
        assert above["y"] + above["height"] <= under["y"] + 1
    number = page.locator(".cm-lineNumbers .cm-gutterElement", has_text=re.compile("^28$")).bounding_box()
    text = page.locator(".cm-line", has_text="out[idx] = tile[ty, tx]").first.locator(
        "xpath=following::div[@class='cm-line'][1]"
    )
    place = text.bounding_box()
    assert number is not None
    assert place is not None
    assert abs(number["y"] - place["y"]) < 2


@pytest.mark.browser
def test_what_will_stand_beside_the_text_is_shown_until_one_has_run(page):
    wrong = json.dumps({"text": SHORT.replace("a[i]", "a[i"), "link": None})
    page.add_init_script(f"localStorage.setItem('smemviz-draft', {json.dumps(wrong)})")
    page.goto("/editor")
    status(page, "Line 11: ")
    awaited = page.locator(".awaited")
    expect(awaited.get_by_role("heading")).to_have_text(["Tile", "Banks by wavefront"])
    write(page, SHORT)
    expect(page.locator("#tile svg")).to_be_visible()
    expect(awaited).to_be_hidden()
