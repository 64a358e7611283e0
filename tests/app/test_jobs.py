"""A job runs a command of ours in a process; here the command is a few lines of Python."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from helpers.servers import alive, until

from smemviz.app.tasks.jobs import Job

SLEEP = "import time; print('asleep', file=__import__('sys').stderr, flush=True); time.sleep(600)"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_nothing_was_started_yet() -> None:
    assert Job().status().state == "idle"


def test_a_command_gives_its_output() -> None:
    job = Job()
    assert job.start("square", python("print('{}'); import sys; print('one of two', file=sys.stderr)"))
    status = job.wait(60)
    assert (status.state, status.key, status.output, status.message) == ("done", "square", "{}\n", "one of two")


def test_while_it_runs_it_tells_what_it_said_last_and_refuses_another() -> None:
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


def test_cancelling_ends_what_the_command_started_too() -> None:
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


def test_a_command_that_takes_too_long_is_stopped() -> None:
    job = Job(limit_seconds=0.3)
    job.start("slow", python(SLEEP))
    status = job.wait(60)
    assert (status.state, status.problem) == ("failed", "it was stopped after 0.3 s")
    assert status.seconds < 600


def test_a_failure_is_told_in_the_words_of_the_command() -> None:
    job = Job()
    job.start("bad", python("import sys; sys.exit('smemviz: no GPU here that Numba can use')"))
    status = job.wait(60)
    assert (status.state, status.problem, status.output) == ("failed", "smemviz: no GPU here that Numba can use", "")
    job.start("mute", python("import sys; sys.exit(3)"))
    assert job.wait(60).problem == "it ended with exit code 3"


def test_the_environment_is_added_to_the_servers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_THE_SERVER", "kept")
    job = Job(environment={"OF_THE_JOB": "added"})
    job.start("env", python("import os; print(os.environ['OF_THE_SERVER'], os.environ['OF_THE_JOB'])"))
    assert job.wait(60).output == "kept added\n"


def test_when_the_server_ends_so_does_the_command() -> None:
    code = (
        "import sys, time; from smemviz.app.tasks.jobs import Job; job = Job(); "
        f"job.start('left', [sys.executable, '-c', {SLEEP!r}]); print(job._run._process.pid)"
    )
    ended = subprocess.run(
        python(code), capture_output=True, text=True, timeout=60, check=True, env={**os.environ}
    ).stdout
    until(lambda: not alive(int(ended)))
