"""The panels that explain the site one looks at, and suggest another layout with a command of ours in between."""

import json
from pathlib import Path

import pytest
from helpers.callbacks import send
from helpers.components import text
from helpers.fitting import fits
from helpers.measured_app import printing
from helpers.servers import until
from playwright.sync_api import expect

from smemviz.app.components.written_html import as_html
from smemviz.app.factory import create_app
from smemviz.app.library import Library
from smemviz.app.pages.kernel.suggest_panel import view_suggest
from smemviz.app.pages.kernel.why_panel import view_why
from smemviz.app.state import RunState
from smemviz.app.tasks import suggester as module
from smemviz.app.tasks.jobs import Job
from smemviz.app.tasks.suggester import Suggester, command
from smemviz.app.texts import Texts
from smemviz.paths import gallery, kernels_dir

RUN = {"file": "square", "kernel": "set_row_read_col"}


def shown(filling):
    (one,) = (part for part in filling["why.html"] if not part.hidden)
    return text(one.children)


def test_the_request_that_wastes_the_most_is_explained_first(served):
    filling = view_why(served, RUN, {"theme": "light"})
    assert shown(filling) == (
        "As written: Stride of 32 words. Neighbouring lanes are 32 words apart, 1 row down: "
        "gcd(32, 32) = 32, so 32 lanes fall into 1 of 32 banks, 32-way."
        "Fix. Pad the row of tile by 1, (32, 32) -> (32, 33) (128 bytes more), or swizzle to tile[r, c ^ r]: "
        "no excess is left at its 2 accesses, 992 before. Lesson: A pad of one · On every GPU"
    )


def test_another_site_has_its_own_explanation_and_needs_no_fix(served):
    filling = view_why(served, RUN, {"theme": "light", "site": "0"})
    assert shown(filling) == (
        "As written: Neighbouring lanes are 1 word apart, 1 column right: "
        "gcd(1, 32) = 1, so 32 lanes fall into 32 of 32 banks, one each. On every GPU"
    )


def test_it_counts_for_the_gpu_that_is_chosen(served):
    filling = view_why(served, RUN | {"cc": "1.3"}, {"theme": "light"})
    assert "bank 0 has to deliver 16 different words to lanes 0-15, 16-way" in shown(filling)


def test_a_refused_run_changes_nothing(served):
    assert view_why(served, RUN | {"BDIMX": "33"}, {"theme": "light"}) == {}


def test_a_launch_without_a_request_has_nothing_to_explain(tmp_path):
    file = tmp_path / "idle.py"
    file.write_text(
        "from numba import cuda\n\n@cuda.jit\ndef idle():\n    pass\n\ndef main():\n    idle[1, 32]()\n",
        encoding="utf-8",
    )
    library = Library([file])
    assert view_why(library, {"file": "idle"}, {"theme": "light"}) == {"why.html": []}


def said_first(file, kernel):
    filling = view_why(Library([kernels_dir() / file]), {"file": file.removesuffix(".py"), "kernel": kernel}, {})
    first, *others = filling["why.html"]
    assert not any("Fix." in text(other) for other in others)
    return [text(line) for line in first.children]


@pytest.mark.parametrize("file", ["mistakes.py", "mistakes.cu"])
def test_a_mistake_is_what_is_fixed_first_and_what_only_seems_right_is_said(file):
    in_cpp = file.endswith(".cu")
    a, b, line = ("a_tile[0][2]", "b_tile[2][0]", 93) if in_cpp else ("a_tile[0, 2]", "b_tile[2, 0]", 89)
    assert said_first(file, "corner_of_each_tile") == [
        f"Unwritten read. {a} is read, but nothing wrote it: the block has 4 threads and a_tile 1024 elements.",
        f"Also: {b} is read, but nothing wrote it: the block has 4 threads and b_tile 1024 elements. Show the access",
        "Fix. Start one thread for each element, or let each thread store several.",
        f"Line {line}: block (0, 0, 0), threads (0, 0, 0), (1, 0, 0), ... Show the access",
        "It stores 4 of the 1,024 elements of c, and the others keep what was there: where an earlier launch left the "
        "right result, this one seems right. Fill c with something else first, such as NaN.",
    ]
    reason, fix, where = said_first(file, "no_second_barrier")
    assert "with no barrier between." in reason
    assert fix.startswith("Fix. Put ")
    assert where.endswith(": block (0, 0, 0), threads (0, 2, 0), (0, 0, 0) Show the access")


TILE = {"file": "transpose", "kernel": "tile"}
REDUCE = {"file": "reduce", "kernel": "neighbours_by_close_threads"}
PADDED = "leave 1 element of held unused after every 32, index i + i // 32 (32 bytes more)"
NOTE = "changes halves too: 180 -> 170 wavefronts"


def start(suggester, served, query):
    state = RunState.read(query)
    path = served.kernel_file(state.file)
    assert path is not None
    assert suggester.start(served.show(state), path, query["kernel"])


def an_answer(served, **more):
    """Write what ``smemviz suggest --json`` prints about the kernel of reduce.py."""
    shown = served.show(RunState.read(REDUCE))
    suggestion = {
        "kernel": REDUCE["kernel"], "array": "held", "line": 52, "layout": {"kind": "pad", "row": 32, "pad": 1},
        "more_bytes": 32, "constants": {}, "text": PADDED, "wavefronts": 600, "predicted": 180, "reason": None,
        "verified": {"lockstep": {"wavefronts": 180, "problem": None, "notes": [NOTE]}},
        "time": [], "complete": True, "diff": "--- a\n+++ b\n",
    }  # fmt: skip
    facts = {
        "file": "reduce.py",
        "sha256": shown.program.sha256,
        "suggestions": [suggestion | more],
        "refused": [],
        "notes": [],
    }
    return json.dumps(facts)


def rows(table):
    _head, body = table.children
    return [[cell.children for cell in row.children] for row in body.children]


def test_the_command_is_our_own_on_one_kernel_with_the_constants_that_differ():
    assert command(Path("/a/square.py"), "turn", {"IPAD": 2})[2:] == [
        "smemviz", "suggest", "/a/square.py:turn", "--set", "IPAD=2", "--json",
    ]  # fmt: skip


def test_what_is_stored_for_this_text_is_shown_at_once(served):
    filling = view_suggest(served, Suggester(), TILE)
    assert filling["suggest-panel.hidden"] is False
    table = filling["suggestions.html"][0].children
    assert rows(table) == [
        ["swizzle to held[r, c ^ r]", "6,336", "384", "384 in lockstep, 384 on the GPU, 384 by Nsight Compute",
         "1.873 µs → 1.450 µs"],
        [
            "pad the row of held by 1, (32, 32) -> (32, 33) (128 bytes more)", "6,336", "384",
            "384 in lockstep, 384 on the GPU, 384 by Nsight Compute", "1.873 µs → 1.423 µs",
        ],
    ]  # fmt: skip
    assert "recorded on an NVIDIA H200" in text(filling["suggestions.html"])


def test_a_kernel_without_excess_has_no_panel(served):
    filling = view_suggest(served, Suggester(), {"file": "transpose", "kernel": "padded_tile"})
    assert filling == {"suggest-panel.hidden": True, "suggest-poll.disabled": True}


def test_a_text_of_the_editor_has_no_panel_since_it_is_run_by_nobody_else():
    texts = Texts()
    served = Library(gallery(), texts)
    name = texts.add((Path(gallery()[0]).parent / "square.py").read_text(encoding="utf-8")).name
    filling = view_suggest(served, Suggester(), {"file": name, "kernel": "set_col_read_col"})
    assert filling == {"suggest-panel.hidden": True, "suggest-poll.disabled": True}


def test_nothing_is_searched_before_it_is_asked_for(served):
    filling = view_suggest(served, Suggester(), REDUCE)
    assert filling["suggest-poll.disabled"] is True
    assert text(filling["suggestions.html"]).startswith("Counts the recorded requests with every pad")


def test_what_is_found_here_is_shown_with_its_difference(served, monkeypatch):
    suggester = Suggester()
    monkeypatch.setattr(module, "command", lambda *_: printing(an_answer(served)))
    start(suggester, served, REDUCE)
    until(lambda: not suggester.running())
    filling = view_suggest(served, suggester, REDUCE)
    table = filling["suggestions.html"][0].children
    assert rows(table) == [[PADDED, "600", "180", "180 in lockstep", "not timed"]]
    said = text(filling["suggestions.html"])
    assert f"{PADDED} changes halves too: 180 -> 170 wavefronts." in said
    assert said.endswith(f"Difference: {PADDED}--- a\n+++ b\nCopy the fix")
    assert 'data-code="--- a\n+++ b\n"' in as_html(filling["suggestions.html"])


def test_a_suggestion_that_failed_says_so(served, monkeypatch):
    suggester = Suggester()
    failed = {"lockstep": {"wavefronts": None, "problem": "line 9: 4 were promised", "notes": []}}
    printed = printing(an_answer(served, verified=failed))
    printed[2] += "sys.exit(1)\n"
    monkeypatch.setattr(module, "command", lambda *_: printed)
    start(suggester, served, REDUCE)
    until(lambda: not suggester.running())
    filling = view_suggest(served, suggester, REDUCE)
    assert rows(filling["suggestions.html"][0].children)[0][3] == "failed in lockstep"
    assert f"{PADDED}: line 9: 4 were promised." in text(filling["suggestions.html"])


def test_what_cannot_be_used_is_a_problem_in_words(served, monkeypatch):
    suggester = Suggester()
    output = '{"sha256": "other", "suggestions": [], "refused": [], "notes": []}'
    monkeypatch.setattr(module, "command", lambda *_: printing(output))
    start(suggester, served, REDUCE)
    until(lambda: not suggester.running())
    said = text(view_suggest(served, suggester, REDUCE)["suggest-status.html"])
    assert said == "Nothing can be suggestedthe file changed meanwhile"


def test_it_can_be_cancelled(served, monkeypatch):
    suggester = Suggester()
    monkeypatch.setattr(module, "command", lambda *_: printing("", seconds=600))
    start(suggester, served, REDUCE)
    filling = view_suggest(served, suggester, REDUCE)
    assert (filling["suggest.disabled"], filling["cancel-suggest.hidden"], filling["suggest-poll.disabled"]) == (
        True, False, False,
    )  # fmt: skip
    suggester.cancel()
    until(lambda: not suggester.running())
    assert view_suggest(served, suggester, REDUCE)["suggest-status.html"] == []


def test_one_thing_at_a_time_is_run_here_and_that_is_said(served):
    job = Job()
    job.start("a measurement", printing("", seconds=600))
    suggester, state = Suggester(job), RunState.read(REDUCE)
    path = served.kernel_file("reduce")
    assert path is not None
    assert not suggester.start(served.show(state), path, REDUCE["kernel"])
    said = text(view_suggest(served, suggester, REDUCE, busy=True)["suggest-status.html"])
    assert said == "Something else is being measured; try again when that is done."
    job.cancel()


def test_what_others_may_not_start_is_not_said_to_be_busy():
    """The button is off for them; who asks all the same is told nothing that is not so."""
    app = create_app(local=False)
    values = {"drawn-run.data": REDUCE, "suggest.n_clicks": 1}
    answer = send(app, "suggest-panel.hidden", values, changed=["suggest.n_clicks"])
    assert answer.status_code == 200
    assert "Something else is being measured" not in answer.text


@pytest.mark.browser
def test_one_click_suggests_runs_and_shows_the_difference(page):
    page.goto("/kernel?file=reduce&kernel=neighbours_by_close_threads")
    page.locator("#suggest-title").click()
    page.get_by_role("button", name="Suggest").click()
    row = page.locator("#suggestions tbody tr").first
    expect(row).to_contain_text("180 in lockstep")
    page.locator("#suggestions summary").first.click()
    expect(page.locator("#suggestions pre").first).to_contain_text("+    held[t ^ (t >> 5)] = values")
    page.set_viewport_size({"width": 400, "height": 900})
    fits(page, 400)
