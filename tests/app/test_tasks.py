"""What starts work on this machine from a page: one command at a time, and none where others reach the server."""

from __future__ import annotations

import subprocess
import time
from typing import Any

import pytest
from flask.testing import FlaskClient
from helpers.measured_app import printing

from smemviz.app.factory import create_app
from smemviz.app.pages.matmul.matmul_data import Products, ProductState
from smemviz.app.tasks import jobs as jobs_module
from smemviz.app.tasks.jobs import Job
from smemviz.app.tasks.runner import Tasks
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


def finish(tasks: Tasks[str, str]) -> None:
    end = time.monotonic() + 60
    while tasks.running():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_result_and_a_problem_are_kept_by_key() -> None:
    tasks = Tasks(Job(), read)
    for key, output in (("a", "first"), ("b", "bad"), ("c", "third")):
        assert tasks.start(key, printing(output))
        finish(tasks)
    assert [tasks.found(key) for key in "abc"] == ["first", None, "third"]
    assert [tasks.problem(key) for key in "abc"] == [None, "b: bad", None]
    assert tasks.latest == 2
    assert tasks.start("b", printing("better"))
    assert tasks.problem("b") is None
    finish(tasks)
    assert tasks.found("b") == "better"


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
    finish(one)
    assert one.found("a") is one.problem("a") is None
    assert other.start("b", printing("quick"))
    finish(other)
    assert (one.found("b"), other.found("b")) == (None, "quick")


def press(client: FlaskClient, app: Any, button: str) -> None:
    """Send what the page sends when a button is pressed."""
    output = next(name for name in app.callback_map if BUTTONS[button] in name)
    wanted = app.callback_map[output]
    values = {"n_clicks": 1, "n_intervals": 1}

    def filled(one: dict[str, str]) -> dict[str, Any]:
        value = QUERY if one["id"] in ("run", "drawn-run") else values.get(one["property"])
        return {**one, "value": value}

    asked = {
        "output": output,
        "outputs": [
            dict(zip(("id", "property"), name.split("."), strict=True)) for name in output.strip(".").split("...")
        ],
        "inputs": list(map(filled, wanted["inputs"])),
        "state": list(map(filled, wanted["state"])),
        "changedPropIds": [f"{button}.n_clicks"],
    }
    assert client.post("/_dash-update-component", json=asked).status_code == 200


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
    press(app.server.test_client(), app, button)
    assert [command[3] for command in started] == (
        [{"suggest": "suggest", "measure": "time"}.get(button, "sweep")] if local else []
    )


def test_for_others_products_are_counted_within_the_limits_of_the_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smemviz.app.library.run", None)  # the engine without limits
    counted = Products(Job(allowed=False), local=False).counted(ProductState(Size(16, 16, 16), 8, "16-8"))
    assert counted["naive"].size == Size(16, 16, 16)
