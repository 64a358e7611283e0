"""What starts work on this machine from a page: one command at a time, and none where others reach the server."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from helpers.callbacks import send
from helpers.measured_app import printing
from helpers.servers import until

from smemviz.app.factory import create_app
from smemviz.app.pages.matmul.matmul_data import Products, ProductState
from smemviz.app.tasks import jobs as jobs_module
from smemviz.app.tasks.jobs import Job, Tasks
from smemviz.errors import InputError
from smemviz.recordings.sweep import Size

BUTTONS = {
    "suggest": "suggest-panel.hidden",
    "measure": "measure-area.hidden",
    "products-measure": "products-measure-area.hidden",
}
QUERY = {"file": "reduce", "kernel": "neighbours_by_close_threads"}


def read(key: str, output: str) -> str:
    if output == "bad\n":
        raise InputError(f"{key}: bad")
    return output.strip()


def test_a_result_and_a_problem_are_kept_by_key() -> None:
    tasks = Tasks(Job(), read)
    for key, output in (("a", "first"), ("b", "bad"), ("c", "third")):
        assert tasks.start(key, printing(output))
        until(lambda: not tasks.running())
    assert [tasks.result(key) for key in "abc"] == ["first", None, "third"]
    assert [tasks.problem(key) for key in "abc"] == [None, "b: bad", None]
    assert tasks.latest == 2
    assert tasks.start("b", printing("better"))
    assert tasks.problem("b") is None
    until(lambda: not tasks.running())
    assert tasks.result("b") == "better"


def test_two_that_share_a_job_wait_for_each_other_and_cancel_only_their_own() -> None:
    job = Job()
    one, other = Tasks(job, read), Tasks(job, read)
    assert one.start("a", printing("", seconds=600))
    assert not other.start("a", printing(""))
    assert other.running() is None
    other.cancel()
    now = one.running()
    assert now is not None
    assert (now.state, now.key) == ("running", "a")
    one.cancel()
    until(lambda: not one.running())
    assert one.result("a") is one.problem("a") is None
    assert other.start("b", printing("quick"))
    until(lambda: not other.running())
    assert (one.result("b"), other.result("b")) == (None, "quick")


@pytest.mark.parametrize("button", BUTTONS)
@pytest.mark.parametrize("local", [True, False])
def test_nothing_is_started_where_others_reach_the_server(
    button: str, local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []

    class Pretended(subprocess.Popen[str]):
        def __init__(self, command: list[str], **options: Any) -> None:
            started.append(command)
            super().__init__(printing(""), **options)

    monkeypatch.setattr("smemviz.app.tasks.stopwatch.Stopwatch._available", True)
    monkeypatch.setattr(jobs_module.subprocess, "Popen", Pretended)
    app = create_app(editor=False, local=local)
    values = {"run.data": QUERY, "drawn-run.data": QUERY, f"{button}.n_clicks": 1}
    assert send(app, BUTTONS[button], values, changed=[f"{button}.n_clicks"]).status_code == 200
    assert [command[3] for command in started] == (
        [{"suggest": "suggest", "measure": "time"}.get(button, "sweep")] if local else []
    )


@pytest.mark.exhaustive
def test_for_others_products_are_counted_within_the_limits_of_the_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smemviz.app.library.run", None)  # the engine without limits
    counted = Products(Job(allowed=False), local=False).counted(ProductState(Size(16, 16, 16), 8, "16-8"))
    assert counted["naive"].size == Size(16, 16, 16)
