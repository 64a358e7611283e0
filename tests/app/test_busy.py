"""A server that cannot run what is asked for now says when to ask again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from dash import Dash
from helpers.callbacks import send

from smemviz.app.factory import create_app
from smemviz.engines.sandbox import Supervisor
from smemviz.engines.sandbox import supervisor as supervisor_module
from smemviz.engines.sandbox.turns import MOST_OF_ONE, Ticket, Turns

TEXT = "from numba import cuda\n\n\ndef main():\n    pass\n"


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Turns:
    """Return the turns of a server at which somebody else's run never ends."""
    for name in ("_BUSY_SECONDS", "_QUEUE_SECONDS", "_NEXT_SECONDS"):
        monkeypatch.setattr(supervisor_module, name, 0.0)
    turns = Turns(1)
    assert turns.place(Ticket("another", "held")) == 0
    return turns


@pytest.fixture
def app(turns: Turns) -> Iterator[Dash]:
    supervisor = Supervisor(turns=turns)
    yield create_app(local=False, sandbox=supervisor)
    supervisor.close()


def test_a_knob_that_cannot_be_run_now_is_worth_asking_for_again(app: Dash) -> None:
    values = {"run.data": {"file": "stencil", "RADIUS": "2"}, "look.data": {"theme": "light"}}
    answer = send(app, "played.data", values, changed=["run.data"])
    assert (answer.status_code, answer.headers["Retry-After"], answer.mimetype) == (429, "5", "text/plain")
    assert answer.text == "stencil.py: the server is busy with other runs; try again in 5 s\n"


def test_a_text_that_may_not_even_wait_is_told_when_to_come_back(app: Dash) -> None:
    def run(at: str) -> Any:
        values = {"editor-text.data": {"source": TEXT, "at": at}, "run.data": {}}
        return send(app, "editor-answer.data", values, changed=["editor-text.data"])

    for n in range(MOST_OF_ONE):  # a place in the queue is an answer
        assert json.loads(run(str(n)).text)["response"]["editor-answer"]["data"]["waiting"] == n + 1
    answer = run("more")
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "30")
    assert answer.text == "editor.py: too many runs are waiting already; try again in 30 s\n"
