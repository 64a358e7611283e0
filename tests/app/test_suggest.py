"""The panel that suggests another layout, with a command of ours in place of ``smemviz suggest``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dash.development.base_component import Component
from helpers.callbacks import send
from helpers.components import text
from helpers.measured_app import printing
from helpers.servers import until

from smemviz.app.factory import create_app
from smemviz.app.library import Library
from smemviz.app.pages.kernel.suggest_panel import view_suggest
from smemviz.app.state import RunState
from smemviz.app.tasks import suggester as module
from smemviz.app.tasks.jobs import Job
from smemviz.app.tasks.suggester import Suggester, command
from smemviz.app.texts import Texts
from smemviz.paths import gallery

TILE = {"file": "transpose", "kernel": "tile"}
REDUCE = {"file": "reduce", "kernel": "neighbours_by_close_threads"}
PADDED = "leave 1 element of held unused after every 32, index i + i // 32 (32 bytes more)"
NOTE = "changes halves too: 180 -> 170 wavefronts"


@pytest.fixture(scope="module")
def library() -> Library:
    return Library(gallery())


def start(suggester: Suggester, library: Library, query: dict[str, str]) -> None:
    state = RunState.read(query)
    path = library.kernel_file(state.file)
    assert path is not None
    assert suggester.start(library.show(state), path, query["kernel"])


def an_answer(library: Library, **more: Any) -> str:
    """Write what ``smemviz suggest --json`` prints about the kernel of reduce.py."""
    shown = library.show(RunState.read(REDUCE))
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


def rows(table: Component) -> list[list[str]]:
    """Return the cells of a table, without its head."""
    _head, body = table.children
    return [[cell.children for cell in row.children] for row in body.children]


def test_the_command_is_our_own_on_one_kernel_with_the_constants_that_differ() -> None:
    assert command(Path("/a/square.py"), "turn", {"IPAD": 2})[2:] == [
        "smemviz", "suggest", "/a/square.py:turn", "--set", "IPAD=2", "--json",
    ]  # fmt: skip


def test_what_is_stored_for_this_text_is_shown_at_once(library: Library) -> None:
    filling = view_suggest(library, Suggester(), TILE)
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


def test_a_kernel_without_excess_has_no_panel(library: Library) -> None:
    filling = view_suggest(library, Suggester(), {"file": "transpose", "kernel": "padded_tile"})
    assert filling == {"suggest-panel.hidden": True, "suggest-poll.disabled": True}


def test_a_text_of_the_editor_has_no_panel_since_it_is_run_by_nobody_else() -> None:
    texts = Texts()
    library = Library(gallery(), texts)
    name = texts.add((Path(gallery()[0]).parent / "square.py").read_text(encoding="utf-8")).name
    filling = view_suggest(library, Suggester(), {"file": name, "kernel": "set_col_read_col"})
    assert filling == {"suggest-panel.hidden": True, "suggest-poll.disabled": True}


def test_nothing_is_searched_before_it_is_asked_for(library: Library) -> None:
    filling = view_suggest(library, Suggester(), REDUCE)
    assert filling["suggest-poll.disabled"] is True
    assert text(filling["suggestions.html"]).startswith("Counts what was recorded with every pad")


def test_what_is_found_here_is_shown_with_its_difference(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    suggester = Suggester()
    monkeypatch.setattr(module, "command", lambda *_: printing(an_answer(library)))
    start(suggester, library, REDUCE)
    until(lambda: not suggester.running())
    filling = view_suggest(library, suggester, REDUCE)
    table = filling["suggestions.html"][0].children
    assert rows(table) == [[PADDED, "600", "180", "180 in lockstep", "not timed"]]
    said = text(filling["suggestions.html"])
    assert f"{PADDED} changes halves too: 180 -> 170 wavefronts." in said
    assert said.endswith(f"Difference: {PADDED}--- a\n+++ b\n")


def test_a_suggestion_that_failed_says_so(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    suggester = Suggester()
    failed = {"lockstep": {"wavefronts": None, "problem": "line 9: 4 were promised", "notes": []}}
    printed = printing(an_answer(library, verified=failed))
    printed[2] += "sys.exit(1)\n"
    monkeypatch.setattr(module, "command", lambda *_: printed)
    start(suggester, library, REDUCE)
    until(lambda: not suggester.running())
    filling = view_suggest(library, suggester, REDUCE)
    assert rows(filling["suggestions.html"][0].children)[0][3] == "failed in lockstep"
    assert f"{PADDED}: line 9: 4 were promised." in text(filling["suggestions.html"])


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("no json", "its output cannot be read: Expecting value: line 1 column 1 (char 0)"),
        ('{"sha256": "other", "suggestions": [], "refused": [], "notes": []}', "the file changed meanwhile"),
    ],
)
def test_what_cannot_be_used_is_a_problem_in_words(
    library: Library, monkeypatch: pytest.MonkeyPatch, output: str, problem: str
) -> None:
    suggester = Suggester()
    monkeypatch.setattr(module, "command", lambda *_: printing(output))
    start(suggester, library, REDUCE)
    until(lambda: not suggester.running())
    said = text(view_suggest(library, suggester, REDUCE)["suggest-status.html"])
    assert said == f"Nothing can be suggested{problem}"


def test_it_can_be_cancelled(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    suggester = Suggester()
    monkeypatch.setattr(module, "command", lambda *_: printing("", seconds=600))
    start(suggester, library, REDUCE)
    filling = view_suggest(library, suggester, REDUCE)
    assert (filling["suggest.disabled"], filling["cancel-suggest.hidden"], filling["suggest-poll.disabled"]) == (
        True, False, False,
    )  # fmt: skip
    suggester.cancel()
    until(lambda: not suggester.running())
    assert view_suggest(library, suggester, REDUCE)["suggest-status.html"] == []


def test_one_thing_at_a_time_is_run_here_and_that_is_said(library: Library) -> None:
    job = Job()
    job.start("a measurement", printing("", seconds=600))
    suggester, state = Suggester(job), RunState.read(REDUCE)
    path = library.kernel_file("reduce")
    assert path is not None
    assert not suggester.start(library.show(state), path, REDUCE["kernel"])
    said = text(view_suggest(library, suggester, REDUCE, busy=True)["suggest-status.html"])
    assert said == "Something else is being measured; try again when that is done."
    job.cancel()


def test_what_others_may_not_start_is_not_said_to_be_busy() -> None:
    """The button is off for them; who asks all the same is told nothing that is not so."""
    app = create_app(local=False)
    values = {"drawn-run.data": REDUCE, "suggest.n_clicks": 1}
    answer = send(app, "suggest-panel.hidden", values, changed=["suggest.n_clicks"])
    assert answer.status_code == 200
    assert "Something else is being measured" not in answer.text
