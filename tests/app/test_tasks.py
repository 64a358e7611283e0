"""Commands that pages start: one at a time, none where others reach the server; here they are lines of Python."""

import json
import os
import subprocess
import sys

import pytest
from helpers.callbacks import send
from helpers.measured_app import printing
from helpers.servers import alive, until

from smemviz.app.factory import create_app
from smemviz.app.pages.matmul.matmul_data import Products, ProductState
from smemviz.app.tasks import jobs as jobs_module
from smemviz.app.tasks.jobs import Job, Tasks
from smemviz.errors import InputError
from smemviz.recordings.sweep import Size

SLEEP = "import time; print('asleep', file=__import__('sys').stderr, flush=True); time.sleep(600)"


def python(code):
    return [sys.executable, "-c", code]


def test_nothing_was_started_yet():
    assert Job().status().state == "idle"


def test_a_command_gives_its_output():
    job = Job()
    assert job.start("square", python("print('{}'); import sys; print('one of two', file=sys.stderr)"))
    status = job.wait(60)
    assert (status.state, status.key, status.output, status.message) == ("done", "square", "{}\n", "one of two")


def test_while_it_runs_it_tells_what_it_said_last_and_refuses_another():
    job = Job()
    job.start("first", python(SLEEP))
    until(lambda: job.status().message == "asleep")
    assert job.status().state == "running"
    assert job.status().seconds > 0
    assert not job.start("second", python("print(2)"))
    assert job.status().key == "first"
    job.cancel()
    assert job.wait(60).state == "cancelled"
    assert job.start("second", python("print(2)"))
    assert job.wait(60).output == "2\n"


def test_cancelling_ends_what_the_command_started_too():
    job = Job()
    child = (
        "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
        "print(p.pid, file=sys.stderr, flush=True); p.wait()"
    )
    job.start("parent", python(child))
    until(lambda: job.status().message.isdecimal())
    pid = int(job.status().message)
    assert alive(pid)
    job.cancel()
    assert job.wait(60).state == "cancelled"
    until(lambda: not alive(pid))


def test_a_command_that_takes_too_long_is_stopped():
    job = Job(limit_seconds=0.3)
    job.start("slow", python(SLEEP))
    status = job.wait(60)
    assert (status.state, status.problem) == ("failed", "it was stopped after 0.3 s")
    assert status.seconds < 600


def test_a_failure_is_told_in_the_words_of_the_command():
    job = Job()
    job.start("bad", python("import sys; sys.exit('smemviz: no GPU here that Numba can use')"))
    status = job.wait(60)
    assert (status.state, status.problem, status.output) == ("failed", "smemviz: no GPU here that Numba can use", "")
    job.start("mute", python("import sys; sys.exit(3)"))
    assert job.wait(60).problem == "it ended with exit code 3"


def test_the_environment_is_added_to_the_servers_own(monkeypatch):
    monkeypatch.setenv("OF_THE_SERVER", "kept")
    job = Job(environment={"OF_THE_JOB": "added"})
    job.start("env", python("import os; print(os.environ['OF_THE_SERVER'], os.environ['OF_THE_JOB'])"))
    assert job.wait(60).output == "kept added\n"


def test_when_the_server_ends_so_does_the_command():
    code = (
        "import sys, time; from smemviz.app.tasks.jobs import Job; job = Job(); "
        f"job.start('left', [sys.executable, '-c', {SLEEP!r}]); print(job._run._process.pid)"
    )
    ended = subprocess.run(
        python(code), capture_output=True, text=True, timeout=60, check=True, env={**os.environ}
    ).stdout
    until(lambda: not alive(int(ended)))


BUTTONS = {
    "suggest": "suggest-panel.hidden",
    "measure": "measure-area.hidden",
    "products-measure": "products-measure-area.hidden",
}
QUERY = {"file": "reduce", "kernel": "neighbours_by_close_threads"}


def read(key, output):
    if output == "bad\n":
        raise InputError(f"{key}: bad")
    if output == "no json\n":
        json.loads(output)
    return output.strip()


def test_a_result_and_a_problem_are_kept_by_key():
    tasks = Tasks(Job(), read)
    for key, output in (("a", "first"), ("b", "bad"), ("c", "third"), ("d", "no json")):
        assert tasks.start(key, printing(output))
        until(lambda: not tasks.running())
    assert [tasks.result(key) for key in "abcd"] == ["first", None, "third", None]
    unread = "its output cannot be read: Expecting value: line 1 column 1 (char 0)"
    assert [tasks.problem(key) for key in "abcd"] == [None, "b: bad", None, unread]
    assert tasks.latest == 2
    assert tasks.start("b", printing("better"))
    assert tasks.problem("b") is None
    until(lambda: not tasks.running())
    assert tasks.result("b") == "better"


def test_two_that_share_a_job_wait_for_each_other_and_cancel_only_their_own():
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
def test_nothing_is_started_where_others_reach_the_server(button, local, monkeypatch):
    started: list[list[str]] = []

    class Pretended(subprocess.Popen[str]):
        def __init__(self, command, **options):
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
def test_for_others_products_are_counted_within_the_limits_of_the_editor(monkeypatch):
    monkeypatch.setattr("smemviz.app.library.run", None)  # the engine without limits
    counted = Products(Job(allowed=False), local=False).counted(ProductState(Size(16, 16, 16), 8, "16-8"))
    assert counted["naive"].size == Size(16, 16, 16)
