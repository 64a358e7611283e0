"""A server that cannot run what is asked for now says when to ask again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from smemviz.app.factory import create_app
from smemviz.engines.sandbox import Supervisor
from smemviz.engines.sandbox import supervisor as supervisor_module
from smemviz.engines.sandbox.turns import MOST_OF_ONE, Ticket, Turns

HEADERS = {"Host": "localhost"}
TEXT = "from numba import cuda\n\n\ndef main():\n    pass\n"


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Turns:
    """Return the turns of a server at which somebody else's run never ends."""
    for name in ("_BUSY_SECONDS", "_MOMENT_SECONDS", "_NEXT_SECONDS"):
        monkeypatch.setattr(supervisor_module, name, 0.0)
    turns = Turns(1)
    assert turns.place(Ticket("another", "held")) == 0
    return turns


@pytest.fixture
def client(turns: Turns) -> Iterator[FlaskClient]:
    supervisor = Supervisor(turns=turns)
    yield create_app(local=False, sandbox=supervisor).server.test_client()
    supervisor.close()


def ask(client: FlaskClient, part: str, values: dict[str, Any], changed: str) -> Any:
    """Ask as a page does that has these values."""
    known = {one["output"]: one for one in client.get("/_dash-dependencies", headers=HEADERS).json}
    output, callback = next((name, one) for name, one in known.items() if part in name)
    sent = {name: [one | {"value": values.get(one["id"])} for one in callback[name]] for name in ("inputs", "state")}
    outputs = [
        dict(zip(("id", "property"), one.split("@")[0].rsplit(".", 1), strict=True))
        for one in output.strip(".").split("...")
    ]
    asked = {
        "output": output,
        "outputs": outputs if output.startswith("..") else outputs[0],
        "changedPropIds": [changed],
        **sent,
    }
    return client.post("/_dash-update-component", headers=HEADERS, json=asked)


def turn_a_knob(client: FlaskClient) -> Any:
    run = {"file": "stencil", "RADIUS": "2"}
    return ask(client, "played.data", {"run": run, "look": {"theme": "light"}}, "run.data")


def test_a_knob_that_cannot_be_run_now_is_worth_asking_for_again(client: FlaskClient) -> None:
    answer = turn_a_knob(client)
    assert (answer.status_code, answer.headers["Retry-After"], answer.mimetype) == (429, "5", "text/plain")
    assert answer.text == "stencil.py: the server is busy with other runs; try again in 5 s\n"


def test_a_text_that_may_not_even_wait_is_told_when_to_come_back(client: FlaskClient, turns: Turns) -> None:
    def run(at: str) -> Any:
        return ask(
            client, "editor-answer.data", {"editor-text": {"source": TEXT, "at": at}, "run": {}}, "editor-text.data"
        )

    for n in range(MOST_OF_ONE):  # a place in the queue is an answer
        assert json.loads(run(str(n)).text)["response"]["editor-answer"]["data"]["waiting"] == n + 1
    answer = run("more")
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "30")
    assert answer.text == "editor.py: too many runs are waiting already; try again in 30 s\n"
