"""Whom a dashboard on its own machine answers, told by the headers that browsers send."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from smemviz.app import create_app

CALLBACKS = "/_dash-update-component"


@pytest.fixture(scope="module")
def client() -> FlaskClient:
    return create_app(editor=False).server.test_client()


# A port forwarded by ssh, an editor or a container comes with the port of the other end.
@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:9999", "LocalHost:80", "lab.localhost:8050", "127.0.0.1:8050", "127.1.2.3", "[::1]:1"],
)
def test_a_request_that_means_this_machine_is_answered(client: FlaskClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8050", "localhost.evil.example", "notlocalhost", "192.0.2.7:8050", "0.0.0.0:8050"],
)
@pytest.mark.parametrize("path", ["/", "/_dash-layout", "/assets/smemviz.css", "/no/such/page"])
def test_a_page_that_had_its_name_stand_for_this_machine_gets_one_line(
    client: FlaskClient, host: str, path: str
) -> None:
    answer = client.get(path, headers={"Host": host})
    assert (answer.status_code, answer.mimetype) == (403, "text/plain")
    assert answer.text == (
        f"smemviz listens on this machine only and was asked as {host}; open it as localhost or 127.0.0.1, or start it "
        "with --host and an address that others reach\n"
    )


@pytest.mark.parametrize("host", ["", "[::1", "a]b", "evil.example@127.0.0.1", "127.0.0.1/evil", "127.0.0.1 x"])
def test_what_is_no_host_is_nobody(client: FlaskClient, host: str) -> None:
    answer = client.get("/", headers={"Host": host})
    assert answer.status_code == 403
    assert "was asked as nobody;" in answer.text


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "", "http://localhost:3000", "http://[bad", "http://localhost.evil.example"],
)
def test_what_a_page_of_another_site_sends_is_refused(client: FlaskClient, origin: str) -> None:
    headers = {"Host": "localhost:8050", "Origin": origin}
    answer = client.post(CALLBACKS, headers=headers, json={})
    assert answer.status_code == 403
    assert answer.text == (
        f"smemviz takes nothing from {origin}, a page of another site; open it at http://localhost:8050/\n"
    )


@pytest.mark.parametrize("origin", [None, "http://localhost:9999", "https://localhost:9999"])
def test_what_its_own_pages_and_programs_send_is_taken(client: FlaskClient, origin: str | None) -> None:
    headers = {"Host": "localhost:9999"} | ({} if origin is None else {"Origin": origin})
    asked = {
        "output": "page.children",
        "outputs": {"id": "page", "property": "children"},
        "inputs": [{"id": "place", "property": "data", "value": {"path": "/no-such-page"}}],
        "state": [{"id": "run", "property": "data", "value": {}}, {"id": "look", "property": "data", "value": {}}],
        "changedPropIds": ["place.data"],
    }
    answer = client.post(CALLBACKS, headers=headers, json=asked)
    assert answer.status_code == 200
    assert "There is no such page." in answer.text


def test_a_server_open_to_others_is_asked_by_any_name() -> None:
    client = create_app(editor=False, local=False).server.test_client()
    assert client.get("/", headers={"Host": "lab.example"}).status_code == 200
